#include "phicoll/shmem/world.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "phicoll/shmem/settings.hpp"

namespace phicoll {
namespace shmem {

namespace {

constexpr std::size_t usual_heap = std::size_t{256} << 20;
constexpr std::size_t least_heap = std::size_t{1} << 20;
// What a group that is not launched has besides its symmetric memory, for teams.
constexpr std::size_t spare = std::size_t{64} << 20;

#ifdef NDEBUG
constexpr bool checked_by_default = false;
#else
constexpr bool checked_by_default = true;
#endif

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

World::World(const Options& options)
    : own_group_(options.group == nullptr),
      group_(options.group),
      checks_(errors_are_thrown() || setting("PHICOLL_SHMEM_CHECK", checked_by_default)) {
  find_group(options);
  comm_ = &group_->communicator();
  share_memory(options);
  team_.reset(new Team);
  team_->comm = &comm();
  for (int pe = 0; pe < n_pes(); ++pe) team_->pes.push_back(pe);
  team_->deltas = deltas();
  team_->handle = {my_pe(), n_pes(), team_.get()};
}

World::~World() = default;

void World::close() {
  active_sets_.clear();
  teams_.clear();
  for (const shmem_ctx_t ctx : team_->contexts) delete ctx;
  team_->contexts.clear();
  removed_.clear();
  heap_.reset();
  if (own_group_)
    group_->pause();
  else
    group_.reset();
}

void World::open_again(const Options& options) {
  if (own_group_)
    group_->resume();
  else
    group_ = options.group;
  comm_ = &group_->communicator();
  start_heap();
  comm().barrier();
}

// A program that no launcher started is a group of one.
void World::find_group(const Options& options) {
  const char* const given = os::environment("PHICOLL_WAIT");
  if (given != nullptr && *given != '\0') wait_ = parse_wait_policy(given);
  if (group_ != nullptr) return;
  if (os::environment("PHICOLL_GROUP_FD") != nullptr) {
    group_ = ProcessGroup::from_environment(wait_);
    return;
  }
  GroupOptions alone;
  const std::size_t wanted = options.heap_bytes != 0 ? options.heap_bytes : symmetric_size();
  const std::size_t heap = wanted != 0 ? wanted : usual_heap;
  alone.heap_limit = Heap::footprint(heap) + find_data_segment().bytes + spare;
  alone.wait = wait_;
  const os::SharedMemory memory = ProcessGroup::create_memory(1, alone);
  group_ = ProcessGroup::join(fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 3), 0, wait_);
}

/// What PE 0 decides for all.
struct World::Plan {
  std::uint64_t heap_bytes;
  std::uint64_t offset;  // of all PEs' memory in the group's; 0: there was none
  std::uint64_t free;    // for the error
  std::uint64_t huge;    // whether the heaps have huge pages
};

/// From one PE's heap to the next in the group's memory.
std::size_t World::heap_stride(const Plan& plan) {
  const std::size_t footprint = Heap::footprint(plan.heap_bytes);
  return plan.huge != 0 ? (footprint + huge_page - 1) / huge_page * huge_page : footprint;
}

void World::share_memory(const Options& options) {
  Communicator& all = comm();
  const auto pes = static_cast<std::size_t>(n_pes());
  const auto me = static_cast<std::size_t>(my_pe());

  // The data segment moves if all PEs have one of the same size.
  if (options.data_segment && setting("PHICOLL_SHMEM_DATA", true)) data_ = find_data_segment();
  const char* const data_setting = os::environment("PHICOLL_SHMEM_DATA");
  if (data_setting != nullptr && std::strcmp(data_setting, "copy") == 0)
    data_.why_not = "PHICOLL_SHMEM_DATA=copy";
  struct Mine {
    std::uint64_t bytes, address, movable;
  };
  const Mine mine = {data_.bytes, reinterpret_cast<std::uintptr_t>(data_.at),
                     data_.why_not.empty() ? 1u : 0u};
  std::vector<Mine> theirs(pes);
  all.allgather(&mine, theirs.data(), sizeof mine);
  bool move = data_.bytes != 0;
  for (const Mine& one : theirs) {
    data_addresses_.push_back(one.address);
    if (one.bytes != mine.bytes)
      throw ArgumentError("program",
                          "programs whose data segments have " + std::to_string(mine.bytes) + " and " +
                              std::to_string(one.bytes) + " bytes",
                          "the same program on all PEs");
    move = move && one.movable != 0;
  }
  const std::size_t data_bytes = move ? data_.bytes : 0;
  if (!move && data_.bytes != 0 && me == 0 && standard_setting("DEBUG") != nullptr)
    std::printf("phicoll: globals are put and got by copies between processes: %s\n", data_.why_not.c_str());

  Plan plan = {0, 0, all.heap_free_bytes(), 0};
  if (me == 0) {
    const std::size_t given = options.heap_bytes != 0 ? options.heap_bytes : symmetric_size();
    // An eighth of the group's memory stays for teams.
    const std::size_t room = (plan.free - plan.free / 8) / pes;
    const std::size_t besides = Heap::footprint(usual_heap) - usual_heap + data_bytes +
                                (huge_pages_wanted() ? 2 * huge_page : 2 * page);
    plan.heap_bytes = given != 0
                          ? std::max(given, least_heap)
                          : std::max(least_heap, std::min(usual_heap, room > besides ? room - besides : 0));
    plan.heap_bytes = whole_pages(plan.heap_bytes);
    plan.huge = huge_pages_wanted() && plan.heap_bytes >= huge_page ? 1 : 0;
    try {
      const std::size_t bytes = pes * (heap_stride(plan) + data_bytes) + (plan.huge != 0 ? huge_page : 0);
      plan.offset = all.control().offset_of(all.allocate(bytes, false));
    } catch (const ResourceError&) {
      // All PEs raise.
    }
  }
  all.broadcast(&plan, sizeof plan, 0);
  heap_bytes_ = plan.heap_bytes;
  heap_footprint_ = Heap::footprint(heap_bytes_);
  const std::size_t front = Heap::data_offset(heap_bytes_);
  if (plan.offset == 0)
    throw ResourceError("SHMEM_SYMMETRIC_SIZE: " + std::to_string(heap_bytes_) + " bytes for each of " +
                        std::to_string(pes) + " PEs, with " + std::to_string(data_bytes) +
                        " of the program's data, are more than the group's memory has free, " +
                        std::to_string(plan.free) + "; ask for less or give oshrun more by --heap");
  // Huge pages want the heaps' data at multiples of their size in the file, as it is in memory.
  const std::size_t place =
      plan.huge != 0 ? (plan.offset + front + huge_page - 1) / huge_page * huge_page - front : plan.offset;
  std::vector<FilePlaces> places;
  for (std::size_t pe = 0; pe < pes; ++pe)
    places.push_back({place + pe * heap_stride(plan), place + pes * heap_stride(plan) + pe * data_bytes});
  group_heap_ = all.control().at(places[me].heap);
  group_data_ = all.control().at(places[me].data);

  const int descriptor = group_->memory().descriptor();
  std::string trouble;
  try {
    segments_.reset(new Segments(descriptor, places, my_pe(), heap_footprint_, front, data_, data_bytes));
  } catch (const ResourceError& error) {
    trouble = error.what();
  }
  // Each of them, or none.
  std::uint8_t fits = segments_ != nullptr ? 1 : 0;
  all.allreduce(nullptr, &fits, 1, find_operator(Type::uint8, Op::min));
  if (fits == 0)
    throw ResourceError(trouble.empty() ? "symmetric memory: another PE has no room for it" : trouble);

  huge_ = plan.huge != 0;
  start_heap();
  if (data_bytes != 0) {
    segments_->move_data();
    data_moved_ = true;
  }
  all.barrier();
}

// The memory may have been used before; the allocator starts from zeros.
void World::start_heap() {
  Communicator& all = comm();
  const std::size_t front = Heap::data_offset(heap_bytes_);
  all.reserve(group_heap_, front);
  std::memset(segments_->heap(), 0, front);
  Heap::prepare(segments_->heap(), heap_bytes_);
  heap_.reset(new Heap(all.control(), my_pe(), segments_->heap(),
                       [this, &all](std::size_t offset, std::size_t bytes) {
                         all.reserve(group_heap_ + offset, bytes);
                         if (huge_) segments_->make_huge(offset, bytes);
                       }));
}

std::uintptr_t World::data_address(const void* address, int pe) const {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data_.at) +
         data_addresses_[static_cast<std::size_t>(pe)];
}

void World::check_same(const char* argument, std::uint64_t value) {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(n_pes()));
  comm().allgather(&value, values.data(), sizeof value);
  for (std::size_t pe = 0; pe < values.size(); ++pe)
    if (values[pe] != value)
      throw ArgumentError(argument,
                          std::to_string(value) + " on PE " + std::to_string(my_pe()) + " and " +
                              std::to_string(values[pe]) + " on PE " + std::to_string(pe),
                          "the same on all PEs");
}

NativePort World::waiting_port() const {
  NativePort port(comm().control(), comm().rank(), wait_);
  port.set_background(&comm().background());
  return port;
}

void World::look() const {
  guarded("test", [this] {
    if (comm().in_own_process()) comm().look();
  });
}

}  // namespace shmem
}  // namespace phicoll
