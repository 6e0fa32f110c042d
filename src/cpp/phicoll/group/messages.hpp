#pragma once

// What a rank of a group needs for messages, made when it first sends or receives one.

#include <cstddef>
#include <cstdint>
#include <memory>

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

class Messages {
 public:
  Messages(Control& control, Heap& heap, int rank, const Shape& shape, const WaitPolicy& wait);
  /// A transfer for a call that ends when the transfer is done, so that the next one finds it free again.
  Endpoint<NativePort>::Shared spare();

  StuckSearch stuck;
  NativePort port;
  GroupChannels channels;
  Endpoint<NativePort> endpoint;

 private:
  Endpoint<NativePort>::Shared spare_;
};

}  // namespace phicoll
