#pragma once

// Buffers in shared memory that one rank fills and another empties: what put and get copy through.
//
// Every rank has the same boxes, each of a few cells. A cell is a sequence number and the payload, so that a
// single line carries a whole small message. Message n of a box (from 0, counted alike on all ranks) lies in
// cell n mod `cells`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

/// Bytes for `ranks` ranks with a box of `cells` cells for each capacity (bytes of payload).
inline std::size_t put_boxes_footprint(int ranks, const std::vector<std::size_t>& capacities, int cells,
                                       Credit credit) {
  std::size_t bytes = 0;
  for (const std::size_t capacity : capacities) {
    bytes += static_cast<std::size_t>(cells) * cell_stride(capacity);
    if (credit == Credit::acknowledged) bytes += sizeof(Strided<CounterLine>);
  }
  return static_cast<std::size_t>(ranks) * bytes;
}

// (1) `publish` stores n + 1, with the call's tag in its lowest 16 bits, with release after the payload. A
//     rank that acquires that very word in `await` sees the payload, which stays there by (2) or (3). If the
//     writer's call has another tag, `await` waits until the group finds the mismatch. Numbers only grow, so
//     nothing is ever reset.
template <class Port>
class PutBoxes {
 public:
  PutBoxes(const Setup& setup, std::size_t offset, const std::vector<std::size_t>& capacities, int cells,
           Credit credit)
      : memory_(setup.memory + offset),
        cells_(static_cast<std::uint64_t>(cells)),
        rank_(setup.rank),
        credit_(credit) {
    std::size_t at = 0;
    for (const std::size_t capacity : capacities) {
      boxes_.push_back(Box{at, cell_stride(capacity)});
      at += (credit == Credit::acknowledged ? sizeof(Strided<CounterLine>) : 0) +
            static_cast<std::size_t>(cells) * cell_stride(capacity);
    }
    rank_bytes_ = at;
  }

  /// Begins a call.
  void begin(const Call& call) { tag_ = call.tag; }
  // (2) A cell is filled again `cells` messages later. With Credit::acknowledged, `taken` releases that the
  //     payload was read and `open` acquires it: the reader's loads come before the writer's stores.
  // (3) With Credit::implied, the algorithm ensures that no rank opens message n before message n - cells was
  //     read. With two cells that holds wherever piece n ends on a rank only after all have begun it: a rank
  //     that opens message n has ended piece n - 1, so all have begun that one, and have ended piece n - 2
  //     before.

  /// The payload of the next message for `owner`'s box, once this rank may write it.
  Data open(Port& port, int owner, int box, std::uint64_t n) {
    PHICOLL_ASSERT(Port, static_cast<std::size_t>(box) < boxes_.size(),
                   "rank " + std::to_string(rank_) + " opens a box that there is not");
    if (credit_ == Credit::acknowledged && n >= cells_)
      port.wait(taken_line(owner, box)->word, at_least(n - cells_ + 1), owner);
    return port.shared(payload(owner, box, n));
  }
  void publish(Port& port, int owner, int box, std::uint64_t n) {
    port.signal(head(owner, box, n)->sequence, number(n));
  }
  /// Opens, fills and publishes the next message.
  void put(Port& port, int owner, int box, std::uint64_t n, Data from, std::size_t bytes) {
    PHICOLL_ASSERT(Port, bytes + sizeof(CellHead) <= boxes_.data()[static_cast<std::size_t>(box)].stride,
                   "rank " + std::to_string(rank_) + " puts " + std::to_string(bytes) +
                       " bytes into a box that is too small");
    const Data to = open(port, owner, box, n);
    if (bytes != 0) port.move(to, from, bytes);
    publish(port, owner, box, n);
  }
  /// The payload that `writer` put into `owner`'s box.
  Data await(Port& port, int owner, int box, std::uint64_t n, int writer) {
    port.wait(head(owner, box, n)->sequence, equal(number(n)), writer);
    return port.shared(payload(owner, box, n));
  }
  /// With Credit::acknowledged: this rank reads nothing more of the message in its own box.
  void taken(Port& port, int box, std::uint64_t n) {
    PHICOLL_ASSERT(Port, credit_ == Credit::acknowledged,
                   "rank " + std::to_string(rank_) + " acknowledges a box without a line for it");
    port.signal(taken_line(rank_, box)->word, n + 1);
  }

 private:
  struct Box {
    std::size_t at;      // after the rank's memory: the line of `taken`, if any, and the cells
    std::size_t stride;  // of a cell
  };

  std::uint64_t number(std::uint64_t n) const { return ((n + 1) << 16) | tag_; }
  unsigned char* box_at(int owner, int box) const {
    return memory_ + static_cast<std::size_t>(owner) * rank_bytes_ +
           boxes_.data()[static_cast<std::size_t>(box)].at;
  }
  CounterLine* taken_line(int owner, int box) const {
    return reinterpret_cast<CounterLine*>(box_at(owner, box));
  }
  CellHead* head(int owner, int box, std::uint64_t n) const {
    unsigned char* const cells =
        box_at(owner, box) + (credit_ == Credit::acknowledged ? sizeof(Strided<CounterLine>) : 0);
    return reinterpret_cast<CellHead*>(cells + static_cast<std::size_t>(n % cells_) *
                                                   boxes_.data()[static_cast<std::size_t>(box)].stride);
  }
  unsigned char* payload(int owner, int box, std::uint64_t n) const {
    return reinterpret_cast<unsigned char*>(head(owner, box, n)) + sizeof(CellHead);
  }

  unsigned char* memory_;
  AlignedVector<Box> boxes_;
  std::size_t rank_bytes_ = 0;
  std::uint64_t cells_;
  std::uint64_t tag_ = 0;
  int rank_;
  Credit credit_;
};

}  // namespace phicoll
