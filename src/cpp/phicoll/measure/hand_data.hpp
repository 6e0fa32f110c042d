#pragma once

// The hand-written reference for operations on eight bytes between two ranks with a CPU each: inlined where
// they are timed, without checks or parameters (see hand_loops.hpp).

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/message_buffers.hpp"

namespace phicoll {
namespace measure {

/// Two ranks exchange eight bytes, each with the call's number beside them. Both ranks' cells for one call
/// lie in one line, as in HandOneLine. Two pairs of cells in turn are enough: no rank can be two calls ahead.
class HandExchange {
 public:
  HandExchange(unsigned char* memory, int rank)
      : own_(reinterpret_cast<Cell*>(memory) + rank), other_(reinterpret_cast<Cell*>(memory) + 1 - rank) {}

  /// Returns the other rank's value.
  std::uint64_t operator()(std::uint64_t value) {
    const std::uint64_t call = ++calls_;
    const std::size_t at = (call & 1) * 2;
    own_[at].value.store(value, std::memory_order_relaxed);
    own_[at].call.store(call, std::memory_order_release);
    const Cell* const other = other_ + at;
    while (other->call.load(std::memory_order_acquire) != call) {
    }
    return other->value.load(std::memory_order_relaxed);
  }

 private:
  struct Cell {
    HandWord value;
    HandWord call;
  };
  Cell* own_;
  Cell* other_;
  std::uint64_t calls_ = 0;
};

/// One rank passes eight bytes to the other through a ring of slots, each with the call's number beside its
/// value, four slots to a line. The writer runs ahead; the reader reports each half of the ring that it has
/// read.
class HandPipe {
 public:
  static constexpr std::uint64_t slots = 64;

  HandPipe(unsigned char* memory)
      : read_(&reinterpret_cast<HandLine*>(memory)[0].words[0]),
        ring_(reinterpret_cast<Slot*>(memory + 2 * sizeof(HandLine))) {}
  static std::size_t footprint() { return 2 * sizeof(HandLine) + slots * sizeof(Slot); }

  void write(std::uint64_t value) {
    const std::uint64_t call = ++calls_;
    // Before a half is overwritten it must have been read.
    if (call % (slots / 2) == 1 && call > slots / 2)
      while (read_->load(std::memory_order_acquire) + slots / 2 < call - 1) {
      }
    Slot& slot = ring_[call % slots];
    slot.value.store(value, std::memory_order_relaxed);
    slot.call.store(call, std::memory_order_release);
  }
  std::uint64_t read() {
    const std::uint64_t call = ++calls_;
    const Slot& slot = ring_[call % slots];
    while (slot.call.load(std::memory_order_acquire) != call) {
    }
    const std::uint64_t value = slot.value.load(std::memory_order_relaxed);
    if (call % (slots / 2) == 0) read_->store(call, std::memory_order_release);
    return value;
  }

 private:
  struct Slot {
    HandWord value;
    HandWord call;
  };
  HandWord* read_;
  Slot* ring_;
  std::uint64_t calls_ = 0;
};

inline std::uint64_t load_eight(const unsigned char* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Adds two floats to two floats.
inline void add_floats(unsigned char* to, std::uint64_t left, std::uint64_t right) {
  float a[2], b[2];
  std::memcpy(a, &left, sizeof a);
  std::memcpy(b, &right, sizeof b);
  a[0] += b[0];
  a[1] += b[1];
  std::memcpy(to, a, sizeof a);
}

/// The operations that are written here.
inline bool has_hand_call(Operation operation) {
  constexpr Operation written[] = {Operation::broadcast, Operation::reduce, Operation::allreduce,
                                   Operation::allgather, Operation::alltoall};
  return std::find(std::begin(written), std::end(written), operation) != std::end(written);
}

/// Hands `use` the hand-written call for `buffers.work()`. Returns false if there is none.
template <class Use>
bool with_hand_call(unsigned char* memory, int rank, const MessageBuffers& buffers, Use&& use) {
  unsigned char* const send = buffers.send();
  unsigned char* const receive = buffers.receive();
  HandExchange exchange(memory, rank);
  HandPipe pipe(memory);
  switch (buffers.work().operation) {
    case Operation::broadcast:
      use([=]() mutable {
        if (rank == 0) {
          pipe.write(load_eight(send));
        } else {
          const std::uint64_t value = pipe.read();
          std::memcpy(receive, &value, sizeof value);
        }
      });
      return true;
    case Operation::reduce:
      use([=]() mutable {
        if (rank == 1)
          pipe.write(load_eight(send));
        else
          add_floats(receive, load_eight(send), pipe.read());
      });
      return true;
    case Operation::allreduce:
      use([=]() mutable {
        const std::uint64_t mine = load_eight(send);
        const std::uint64_t theirs = exchange(mine);
        add_floats(receive, rank == 0 ? mine : theirs, rank == 0 ? theirs : mine);
      });
      return true;
    case Operation::allgather:
      use([=]() mutable {
        const std::uint64_t mine = load_eight(send);
        const std::uint64_t theirs = exchange(mine);
        std::memcpy(receive + 8 * rank, &mine, sizeof mine);
        std::memcpy(receive + 8 * (1 - rank), &theirs, sizeof theirs);
      });
      return true;
    case Operation::alltoall:
      use([=]() mutable {
        const std::uint64_t theirs = exchange(load_eight(send + 8 * (1 - rank)));
        std::memcpy(receive + 8 * rank, send + 8 * rank, 8);
        std::memcpy(receive + 8 * (1 - rank), &theirs, sizeof theirs);
      });
      return true;
    default:
      return false;
  }
}

}  // namespace measure
}  // namespace phicoll
