#pragma once

// Reduce-scatter by pulling: each rank reads its block of every rank's blocks and combines them in rank
// order, as in the "tiled" reductions of shared-memory libraries. No step depends on another, every byte is
// read once, an operator need not commute, and every run gives the same bits.
//
// What peers read lies in the send buffer if their loads reach it (transfer=load-store), otherwise, or in
// place, in a buffer in shared memory, portion by portion; the owner decides and its line says where.

#include <cstdint>

#include "phicoll/collectives/reduce_scatter/block_pieces.hpp"
#include "phicoll/collectives/transport/in_rank_order.hpp"
#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct PairwiseReduceScatter : AlgorithmDefaults {
  struct Parameters {
    TransferWay transfer = TransferWay::load_store;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"pairwise", Origin::phicoll, "phicoll, after the usual direct algorithm",
            "each rank reads its block of all ranks and combines them in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("transfer", p.transfer, {"put-get", "load-store"},
                   "data is copied to shared memory, or read where it lies");
    visitor.integer("buffer", p.buffer, max_element_bytes, 1 << 24, "bytes of a rank's shared buffer");
  }
  static void limit(Parameters& p, const Shape& shape) { limit_buffer(p.buffer, shape.size(), 2); }
  static bool in_rank_order(const Parameters&) { return true; }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return ScratchBuffers::footprint(shape.size(), static_cast<std::size_t>(p.buffer)) +
           shown_footprint(shape.size(), 1);
  }

  // (1) The line is published (release) after the data; a rank that acquires it sees both.
  // (2) Each rank counts the portions that it has read (release). An owner ends a portion when all others
  //     have counted it (acquire): no rank reads its blocks or its line any more, and it may change them.
  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : scratch_(setup, 0, static_cast<std::size_t>(p.buffer)),
          shown_(setup, ScratchBuffers::footprint(setup.size(), static_cast<std::size_t>(p.buffer)), 1),
          at_(static_cast<std::size_t>(setup.size())),
          rank_(setup.rank),
          ranks_(setup.size()),
          bytes_(static_cast<std::size_t>(p.buffer)),
          transfer_(p.transfer) {}

    void operator()(Port& port, const Call& call) {
      shown_.begin(call);
      const std::size_t size = call.op.element_bytes;
      if (ranks_ == 1) return move_some(port, call.receive, call.send, call.block_count(0) * size);
      // In place, or with a result within the send buffer, it would be stored while others still read there.
      const std::size_t all = call.block_at(ranks_ - 1) + call.block_count(ranks_ - 1);
      const bool apart = call.receive.at + call.block_count(rank_) * size <= call.send.at ||
                         call.send.at + all * size <= call.receive.at;
      const bool direct =
          transfer_ == TransferWay::load_store && apart && port.reachable(call.send, all * size);
      for_portions(call, ranks_, bytes_ / size,
                   [&, direct](const BlockPortion& portion) { exchange(port, call, portion, direct); });
    }

   private:
    void exchange(Port& port, const Call& call, const BlockPortion& portion, bool direct) {
      ++portions_;
      const std::size_t size = call.op.element_bytes;
      std::size_t packed = 0;
      for (int r = portion.first; r < portion.end; ++r) {
        at_.data()[r] = packed;
        packed += portion.count(call, r) * size;
      }
      const Data buffer = scratch_.get(port, 0);
      if (!direct)
        for (int r = portion.first; r < portion.end; ++r)
          move_some(port, buffer + at_.data()[r], call.send + (call.block_at(r) + portion.at) * size,
                    portion.count(call, r) * size);
      shown_.show(port, 0, portions_, direct ? call.send : buffer, buffer,
                  direct ? whole_blocks : packed_blocks);
      const std::size_t mine = portion.count(call, rank_);
      if (mine != 0) {
        combine_in_rank_order(port, call.op, ranks_, call.receive + portion.at * size, mine,
                              [&](int r) { return operand(port, call, portion, r); });
      }
      shown_.count(port, 0, portions_);
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) shown_.await_count(port, r, 0, portions_);
    }

    // Rank r's operand for this rank's block.
    Data operand(Port& port, const Call& call, const BlockPortion& portion, int r) {
      const ShownPlaces places = shown_.look(port, r, 0, portions_);
      return places.note == packed_blocks
                 ? places.read + at_.data()[rank_]
                 : places.read + (call.block_at(rank_) + portion.at) * call.op.element_bytes;
    }

    // What a rank shows: its whole send buffer, or this portion of its blocks only.
    enum Note : std::uint64_t { whole_blocks = 1, packed_blocks = 2 };

    ScratchBuffers scratch_;
    Shown<Port> shown_;
    AlignedVector<std::size_t> at_;  // bytes in a packed portion in front of each block's
    std::uint64_t portions_ = 0;
    int rank_;
    int ranks_;
    std::size_t bytes_;
    TransferWay transfer_;
  };
};

}  // namespace phicoll
