#pragma once

// What a rank of a group needs for messages, made when it first sends or receives one.

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
  /// Gives back all of a group's channels; by the last rank to leave.
  static void give_back(Control& control, Heap& heap);

 private:
  Control& control_;
  Heap& heap_;
  std::size_t ring_bytes_;
  Word<std::uint64_t>* table_;
};

class Messages;

/// What a rank has begun on all its communicators, which goes on while it waits on any of them.
class MessageWork final : public Background {
 public:
  bool pending() const override;
  bool go_on() override;
  void add(Messages& messages) { all_.push_back(&messages); }
  void remove(Messages& messages);

 private:
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

  StuckSearch stuck;
  NativePort port;
  GroupChannels channels;
  Endpoint<NativePort> endpoint;

 private:
  Endpoint<NativePort>::Shared spare_;
  std::shared_ptr<MessageWork> work_;
};

}  // namespace phicoll
