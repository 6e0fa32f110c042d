#pragma once

// What one PE keeps from shmem_init to shmem_finalize, and for a later shmem_init: its group, everybody's
// symmetric memory, the teams.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "phicoll/group/heap.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/shmem/communicator.hpp"
#include "phicoll/shmem/segments.hpp"
#include "phicoll/shmem/team.hpp"

namespace phicoll {
namespace shmem {

class World {
 public:
  explicit World(const Options& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /// After the last shmem_finalize. Teams are gone; the memory stays, as the program's globals lie in it.
  void close();
  /// A later shmem_init: the heap is empty again, and as large as it was. Collective.
  void open_again(const Options& options);

  int my_pe() const { return comm().rank(); }
  int n_pes() const { return comm().size(); }
  Communicator& comm() const { return *comm_; }
  Team& team() { return *team_; }
  std::shared_ptr<const void> mapped_memory() const { return segments_; }
  bool checks() const { return checks_; }

  /// Which memory a symmetric address is in.
  enum class Where { nowhere, heap, data };
  Where where(const void* address, std::size_t bytes) const {
    const auto within = [&](const unsigned char* from, std::size_t size) {
      const std::size_t offset =
          reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(from);
      return offset < size && bytes <= size - offset;
    };
    if (within(segments_->heap(), heap_footprint_)) return Where::heap;
    if (within(data_.at, data_.bytes)) return Where::data;
    return Where::nowhere;
  }
  /// Whether loads and stores reach the data segments: they were moved, or there are none.
  bool data_is_shared() const { return data_moved_ || data_.bytes == 0; }
  std::ptrdiff_t delta(int pe) const { return segments_->deltas()[static_cast<std::size_t>(pe)]; }
  const std::vector<std::ptrdiff_t>& deltas() const { return segments_->deltas(); }
  /// The address in its own process of PE `pe`'s copy of an object in the data segment.
  std::uintptr_t data_address(const void* address, int pe) const;
  /// Symmetric memory's address in the group's algorithms, by which all ranks see that they reach it. Other
  /// addresses are unchanged.
  const void* as_group_memory(const void* address) const {
    const auto* const at = static_cast<const unsigned char*>(address);
    switch (where(address, 1)) {
      case Where::heap:
        return group_heap_ + (at - segments_->heap());
      case Where::data:
        if (data_moved_) return group_data_ + (at - data_.at);
        break;
      case Where::nowhere:
        break;
    }
    return address;
  }
  /// A number for the place of symmetric memory that loads and stores reach, the same for all PEs' copies; 0:
  /// other memory.
  std::uint64_t place_of(const void* address, std::size_t bytes) const {
    const auto* const at = static_cast<const unsigned char*>(address);
    const Where found = where(address, bytes);
    if (found == Where::heap) return 2 * static_cast<std::uint64_t>(at - segments_->heap()) + 1;
    if (found == Where::data && data_moved_) return 2 * static_cast<std::uint64_t>(at - data_.at) + 2;
    return 0;
  }
  void* as_group_memory(void* address) const {
    return const_cast<void*>(as_group_memory(static_cast<const void*>(address)));
  }

  /// @name The symmetric heap Each PE has an allocator of its own; all PEs make the same calls, so their
  /// answers are at the same offsets. @{
  Heap& heap() { return *heap_; }
  std::size_t heap_bytes() const { return heap_bytes_; }
  /// Bytes from the start of the own heap: the same for all PEs' copies of an object.
  std::uint64_t heap_offset(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(segments_->heap());
  }
  /// Throws ArgumentError if the PEs give different values.
  void check_same(const char* argument, std::uint64_t value);
  /// @}

  /// A wait of this PE: until look() holds, by the group's ways of waiting, for a PE that stores without
  /// waking anyone. Ends with the group.
  template <class Look>
  void wait(Look look) const {
    const NativePort port = waiting_port();
    for (unsigned left = port.looks_in_place(); left != 0; --left) {
      if (look()) return;
      arch::look_gap();
    }
    NativePort::Patience patience;
    while (!look()) port.take_turn(patience);
  }

  /// To be called when a call has looked in vain and does not wait: what else the PE has begun, by phicoll's
  /// own calls, goes on.
  void look() const;

  /// @name Teams
  /// @{
  shmem_team_t add_team(Team& parent, const std::vector<int>& members, std::unique_ptr<Communicator> comm);
  void remove_team(Team& team);
  /// Of a context that its team no longer lists.
  void remove_context(shmem_ctx_t ctx);
  /// Whether it is a team's, or a context's, that is not destroyed. Looks at no memory of the handle.
  bool knows(shmem_team_t team) const;
  bool knows(shmem_ctx_t ctx) const;
  /// The team of an active set, made by its PEs' first call and kept. Throws ArgumentError.
  Team& active_set(int start, int log_stride, int size) {
    if (start == 0 && log_stride == 0 && size == n_pes()) return *team_;
    return other_active_set(start, log_stride, size);
  }
  /// @}

 private:
  struct Plan;
  template <class Found>
  bool any_team(Found found) const;
  NativePort waiting_port() const;
  Team& other_active_set(int start, int log_stride, int size);
  std::unique_ptr<Team> make_team(Team& parent, const std::vector<int>& members,
                                  std::unique_ptr<Communicator> comm);
  void find_group(const Options& options);
  static std::size_t heap_stride(const Plan& plan);
  void share_memory(const Options& options);
  void start_heap();

  const bool own_group_;  // or one that the caller keeps
  std::shared_ptr<ProcessGroup> group_;
  Communicator* comm_ = nullptr;  // the group's
  bool checks_;
  WaitPolicy wait_;
  std::size_t heap_bytes_ = 0;
  std::size_t heap_footprint_ = 0;
  DataSegment data_;
  bool data_moved_ = false;
  bool huge_ = false;                           // whether the heaps have huge pages
  std::vector<std::uintptr_t> data_addresses_;  // of all PEs
  unsigned char* group_heap_ = nullptr;         // the PE's memory in the group's own mapping
  unsigned char* group_data_ = nullptr;
  std::shared_ptr<Segments> segments_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<Team> team_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::map<std::vector<int>, std::unique_ptr<Team>> active_sets_;  // by their PEs
  std::vector<std::unique_ptr<phicoll_shmem_ctx>> removed_;        // contexts, in checked mode
  std::mutex removed_mutex_;
};

/// The PE's, or null before shmem_init and after shmem_finalize. Hidden: found by one load.
extern World* the_world __attribute__((visibility("hidden")));
/// Ends the program with a word.
[[noreturn, gnu::cold]] void end_without_world();
/// The PE's, for functions that need one.
inline World& world() {
  if (__builtin_expect(the_world == nullptr, 0)) end_without_world();
  return *the_world;
}

/// Whether throw_errors() was called.
bool errors_are_thrown();
/// Ends the program: prints "phicoll: PE 2: <what>" and breaks the group, so that the other PEs end too. Or
/// throws Error.
[[noreturn]] void end_with(const std::string& what);
/// The same for bad input: ends the program with "<argument>: got <got>; allowed: <allowed>", or throws
/// ArgumentError.
[[noreturn]] void refuse(const std::string& argument, const std::string& got, const std::string& allowed);
/// Ends this PE silently if another one called shmem_global_exit, as `what` then says.
void end_after_global_exit(const std::string& what);
/// In a handler: ends the program because of the exception, or passes it on.
[[noreturn, gnu::cold]] void end_with_exception(const char* function);
/// Calls f. An exception of f ends the program, or is passed on.
template <class F>
auto guarded(const char* function, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception&) {
    // Apart, so that a small call saves no registers for it.
    end_with_exception(function);
  }
}

}  // namespace shmem
}  // namespace phicoll
