#pragma once

// What a rank of a group needs for messages, made when it first sends or receives one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "phicoll/group/heap.hpp"
#include "phicoll/group/rank_work.hpp"
#include "phicoll/messages/endpoint.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/ports/native_port.hpp"
#include "phicoll/waiting/stuck_search.hpp"

namespace phicoll {

class Member;

/// Channels in the group's heap, found by a table whose place is in the group's control. Rings are shorter in
/// a communicator whose messages begin when little of the heap is left: there may be thousands.
class GroupChannels final : public Channels {
 public:
  GroupChannels(Control& control, Heap& heap);
  bool ranks_may_stop() const override { return control_.shared(); }
  bool has_ended(int rank) const override;
  bool broken() const { return control_.broken(); }
  std::size_t ring_bytes() const override { return ring_bytes_; }
  Word<std::uint64_t>& place(int from, int to) override;
  Channel& at(std::uint64_t place) override;
  std::uint64_t make() override;
  unsigned char* bytes_at(std::uint64_t place) override;
  std::uint64_t make_bytes() override;
  bool room_for_pool() const override;
  /// What the heap needs if every rank sends to every other.
  static std::size_t all_pairs_bytes(int ranks);
  /// Gives back all of a group's channels; by the last rank to leave.
  static void give_back(Control& control, Heap& heap);

 private:
  struct Table {
    std::uint64_t ring_bytes;
    Word<std::uint64_t> place[1];  // one for each pair of ranks
    static std::size_t bytes(int ranks);
  };

  Control& control_;
  Heap& heap_;
  std::size_t ring_bytes_;
  Word<std::uint64_t>* table_;
};

/// A communicator's messages. A thread that moves them on holds their lock, and so skips those that another
/// thread is in a call of.
class Messages final : public Ongoing {
 public:
  explicit Messages(Member& owner);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  /// Waits until all that was sent has been received, or is in a channel.
  void send_all();
  bool pending() const override;
  bool under_way() const override { return under_way_.load(std::memory_order_relaxed); }
  bool go_on() override;
  bool take_in() override;
  void take_back(const Transfer& transfer) override;
  template <class Function>
  auto call(const Function& function) -> decltype(function());
  /// The transfer of blocking calls, used again by each.
  SharedTransfer spare(const Transfer& wanted);

  /// Holds the lock. At its end it is told whether something is under way.
  class Hold;

  mutable ThreadLock lock;  // what follows is used under it
  StuckSearch stuck;
  NativePort port;
  GroupChannels channels;
  Endpoint<NativePort> endpoint;

 private:
  /// What goes on within a wait of these messages, whose lock the waiting thread holds.
  class Within final : public Background {
   public:
    explicit Within(Messages& own) : own_(own) {}
    bool pending() const override { return own_.work_->pending(); }
    bool go_on() override { return own_.work_->go_on(); }
    bool take_in() override;
    bool has_several_communicators() const override { return own_.work_->has_several_communicators(); }
    Interpreter* interpreter() const override { return own_.work_->interpreter(); }

   private:
    Messages& own_;
  };
  bool take_in_locked();
  void tell_what_is_under_way();

  Member& owner_;
  Within within_;
  os::HomeProcess home_;
  SharedTransfer spare_;
  std::atomic<bool> under_way_{false};
  std::shared_ptr<RankWork> work_;
};

class Messages::Hold {
 public:
  explicit Hold(Messages& of) : of_(of), own_(of.lock) {}
  Hold(Messages& of, std::try_to_lock_t) : of_(of), own_(of.lock, std::try_to_lock) {}
  ~Hold() {
    if (own_) of_.tell_what_is_under_way();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return own_.owns_lock(); }

 private:
  Messages& of_;
  std::unique_lock<ThreadLock> own_;
};

}  // namespace phicoll
