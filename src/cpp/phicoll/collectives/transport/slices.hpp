#pragma once

// Reductions of middle and large messages, in chunks that stay in the caches and slices that share the work.
// Every rank publishes its operand, all but its own slice or in place, and combines one slice of all operands
// in rank order. The operation decides which ranks publish and take the slices' results
// (allreduce/sliced.hpp, reduce/sliced.hpp).
//
// A chunk takes two steps of Cells: its operands (even) and its results (odd). Each chunk's operands are
// published before the previous chunk is finished. Steps count on from call to call.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct SliceParameters {
  int chunk = 65536;
  int cells = 32;
  DirectParameters direct;
  int put = 0;
};

/// The base of all algorithms by slices.
struct SlicedAlgorithm : AlgorithmDefaults {
  using Parameters = SliceParameters;

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("chunk", p.chunk, 1024, 1 << 22, "bytes of a chunk of the message");
    visitor.integer("cells", p.cells, 4, 4096, "cells of a rank, used in turn: two a chunk");
    describe_direct(visitor, p.direct);
  }
  static void limit(Parameters& p, const Shape& shape) {
    p.cells = std::max(
        4, cells_within(shape.size(), shape.size(), p.cells / 2 * 2, static_cast<std::size_t>(p.chunk)));
    while (p.chunk > 1024 && footprint(p, shape) > rings_most) p.chunk /= 2;
  }
  static bool in_rank_order(const Parameters&) { return true; }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_footprint(shape.size(), shape.size(), p.cells, static_cast<std::size_t>(p.chunk));
  }
};

/// Elements [at, at + count) of a call.
struct SliceChunk {
  std::size_t at;
  std::size_t count;
  std::uint64_t step;  ///< the step of its operands; its results take the next
};

template <class Port>
class Slices {
 public:
  Slices(const SliceParameters& p, const Setup& setup, Credit credit)
      : cells_(setup, 0, setup.size(), p.cells, static_cast<std::size_t>(p.chunk), credit, p.direct),
        order_(setup),
        stores_(setup.shape),
        put_(setup.size() == 2 ? p.put : 0),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  /// Carries out a call of two ranks or more: publishes the operands, and calls `finish(chunk)` for each
  /// chunk in turn once its operands and those of the next chunk are published.
  template <class Finish>
  void each_chunk(Port& port, const Call& call, const Finish& finish) {
    const std::size_t most = call.elements_within(cells_.bytes());
    PHICOLL_ASSERT(Port, ranks_ >= 2, "slices of one rank");
    PHICOLL_ASSERT(Port, most != 0 || call.count == 0, "a chunk that holds no element");
    if (call.count == 0) return;
    room_ = room_for_results(port, put_, call.bytes(), call.send, call.receive);
    const bool direct = room_ || (call.send != call.receive && cells_.direct(port, call.send, call.bytes()));
    publish(port, call, {0, std::min(most, call.count), steps_}, direct);
    for (std::size_t at = 0; at < call.count; at += most, steps_ += 2) {
      const std::size_t next = at + most;
      if (next < call.count)
        publish(port, call, {next, std::min(most, call.count - next), steps_ + 2}, direct);
      finish(SliceChunk{at, std::min(most, call.count - at), steps_});
    }
    cells_.settle(port, steps_);
  }

  /// Bytes of this rank's slice.
  std::size_t bytes(const Call& call, const SliceChunk& chunk) const {
    const std::size_t size = call.op.element_bytes;
    return (begin(rank_ + 1, chunk.count, size) - begin(rank_, chunk.count, size)) * size;
  }
  /// Where this rank's slice lies in a buffer of the call.
  Data in(Data buffer, const Call& call, const SliceChunk& chunk) const {
    const std::size_t size = call.op.element_bytes;
    return buffer + (chunk.at + begin(rank_, chunk.count, size)) * size;
  }

  /// The cell for the result of this rank's slice; call it when this rank has seen all operands.
  Data open_result(Port& port, const Call& call, const SliceChunk& chunk) {
    const unsigned taken = cells_.taken();
    for (const int r : order_)
      cells_.await(port, r, chunk.step, call.tag, chunk.count * call.op.element_bytes);
    others_room_ = room_ && cells_.taken() != taken ? cells_.taken_room(port) : Exposed{0, 0, 0};
    return cells_.open(port, chunk.step + 1, chunk.count * call.op.element_bytes);
  }
  /// The other rank's `receive`, after open_result, where two ranks both have room for results. Each then
  /// puts its slice's result there (`put_result`) and awaits the other's (`await_result`), and nobody takes a
  /// result.
  const Exposed& others_room() const { return others_room_; }
  void put_result(Port& port, const Call& call, const SliceChunk& chunk, const Exposed& to) {
    const std::size_t at = static_cast<std::size_t>(in(call.receive, call, chunk).at - call.receive.at);
    const std::size_t mine = bytes(call, chunk);
    if (mine != 0) port.move(port.view(to, at), call.receive + at, mine, handed(stores_(call.bytes())));
    publish_result(port, call, chunk);
  }
  void await_result(Port& port, const Call& call, const SliceChunk& chunk) {
    cells_.await(port, 1 - rank_, chunk.step + 1, call.tag, chunk.count * call.op.element_bytes);
  }
  /// Combines this rank's slice of all operands in rank order: up to its own operand into `before_own`, from
  /// there on into `to`.
  void combine(Port& port, const Call& call, const SliceChunk& chunk, Data to, Data before_own) {
    const std::size_t size = call.op.element_bytes;
    const std::size_t first = begin(rank_, chunk.count, size);
    const std::size_t mine = begin(rank_ + 1, chunk.count, size) - first;
    if (mine == 0) return;
    const Data own = call.send + (chunk.at + first) * size;
    const auto operand = [&, size, first](int r) {
      return r == rank_ ? own
                        : cells_.await(port, r, chunk.step, call.tag, chunk.count * size) + first * size;
    };
    Data left = operand(0);
    for (int r = 1; r < ranks_; ++r) {
      const Data result = r < rank_ ? before_own : to;
      port.combine(call.op, result, left, operand(r), mine);
      left = result;
    }
  }
  void publish_result(Port& port, const Call& call, const SliceChunk& chunk) {
    cells_.publish(port, chunk.step + 1, call.tag);
  }
  /// Publishes a result that lies at its place in `receive`: copied to the cell that was opened for it, or
  /// left there.
  void publish_received(Port& port, const Call& call, const SliceChunk& chunk, Data cell) {
    const std::size_t mine = bytes(call, chunk);
    const Data result = in(call.receive, call, chunk);
    if (mine != 0 && cells_.direct(port, call.receive, call.bytes()))
      return cells_.publish_direct(port, chunk.step + 1, call.tag, result);
    if (mine != 0) port.move(cell, result, mine, cells_.stores());
    publish_result(port, call, chunk);
  }
  /// Takes the results of all other slices.
  void take(Port& port, const Call& call, const SliceChunk& chunk) {
    const std::size_t size = call.op.element_bytes;
    for (const int r : order_) {
      const std::size_t first = begin(r, chunk.count, size);
      const std::size_t theirs = begin(r + 1, chunk.count, size) - first;
      const Data result = cells_.await(port, r, chunk.step + 1, call.tag, chunk.count * size);
      if (theirs != 0)
        port.move(call.receive + (chunk.at + first) * size, result, theirs * size, stores_(call.bytes()));
    }
  }
  /// Says that this rank reads nothing more of this step and of those before it.
  void finish(Port& port, std::uint64_t step) { cells_.finish(port, step); }

 private:
  // Elements before slice r. Slices are whole lines where the chunk is long enough.
  std::size_t begin(int r, std::size_t count, std::size_t size) const {
    const std::size_t line = std::max<std::size_t>(1, arch::line_bytes / size);
    const std::size_t lines = (count + line - 1) / line;
    const std::size_t first = lines * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks_) * line;
    return std::min(first, count);
  }

  void publish(Port& port, const Call& call, const SliceChunk& chunk, bool direct) {
    const std::size_t size = call.op.element_bytes;
    if (direct && put_ != 0)
      return cells_.publish_direct(port, chunk.step, call.tag, call.send + chunk.at * size, room_);
    if (direct) return cells_.publish_direct(port, chunk.step, call.tag, call.send + chunk.at * size);
    const Data cell = cells_.open(port, chunk.step, chunk.count * size);
    const Data from = call.send + chunk.at * size;
    // Neighbouring slices that are stored alike are moved at once.
    for (int r = 0, end; r < ranks_; r = end) {
      end = r + 1;
      if (r == rank_) continue;
      const Stores stores = cells_.stores(port, r);
      while (end < ranks_ && end != rank_ && cells_.stores(port, end) == stores) ++end;
      const std::size_t at = begin(r, chunk.count, size) * size;
      const std::size_t bytes = begin(end, chunk.count, size) * size - at;
      if (bytes != 0) port.move(cell + at, from + at, bytes, stores);
    }
    cells_.publish(port, chunk.step, call.tag);
  }

  Cells<Port> cells_;
  PeerOrder order_;
  ResultStores stores_;
  Exposed room_{0, 0, 0};  // in this call
  Exposed others_room_{0, 0,
                       0};  // with the operands of the last chunk that was seen, if this rank has room, too
  int put_;
  std::uint64_t steps_ = 0;
  int rank_;
  int ranks_;
};

}  // namespace phicoll
