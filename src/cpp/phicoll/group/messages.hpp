#pragma once

// What a rank of a group needs for messages, made when it first sends or receives one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/group/heap.hpp"
#include "phicoll/memory/native_port.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/memory/wait_board.hpp"
#include "phicoll/messages/endpoint.hpp"

namespace phicoll {

/// Channels in the group's heap, found by a table whose place is in the group's control.
class GroupChannels final : public Channels {
 public:
  GroupChannels(Control& control, Heap& heap);
  std::size_t ring_bytes() const override { return ring_bytes_; }
  Word<std::uint64_t>& place(int from, int to) override;
  Channel& at(std::uint64_t place) override;
  std::uint64_t make() override;
  /// What the heap needs if every rank sends to every other.
  static std::size_t all_pairs_bytes(int ranks);
  /// Gives back all of a group's channels; by the last rank to leave.
  static void give_back(Control& control, Heap& heap);

 private:
  Control& control_;
  Heap& heap_;
  std::size_t ring_bytes_;
  Word<std::uint64_t>* table_;
};

class Messages;

/// A lock among the threads of a rank, which waits without the interpreter's: who holds this one may need that.
class ThreadLock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock();
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// What a rank has begun on all its communicators, which goes on while it waits on any of them. A thread that goes on with a
/// communicator's messages holds their lock, so it leaves out those that another thread is in a call of.
class MessageWork final : public Background {
 public:
  bool pending() const override;
  bool go_on() override;
  void add(Messages& messages);
  void remove(Messages& messages);
  /// Takes back a transfer of any of them: its memory may go.
  void take_back(const Transfer& transfer);

 private:
  /// use(messages) of each that no other thread holds, until one returns true.
  template <class Use>
  bool any_of_free(const Use& use) const;

  mutable ThreadLock list_;  // taken before any Messages' lock
  std::vector<Messages*> all_;
};

class Messages {
 public:
  Messages(Control& control, Heap& heap, int rank, const Shape& shape, const WaitPolicy& wait,
           std::shared_ptr<MessageWork> work);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  /// Waits until all that was sent has been received, or is in a channel.
  void send_all();
  /// The transfer of a call that ends when the transfer is done, so that the next call can use it again.
  Endpoint<NativePort>::Shared spare(const Transfer& wanted);

  ThreadLock lock;  // what follows is used under it
  StuckSearch stuck;
  NativePort port;
  GroupChannels channels;
  Endpoint<NativePort> endpoint;

 private:
  Endpoint<NativePort>::Shared spare_;
  std::shared_ptr<MessageWork> work_;
};

}  // namespace phicoll
