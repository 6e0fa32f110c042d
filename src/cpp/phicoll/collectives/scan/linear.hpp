#pragma once

// Scan along a chain: rank r takes from rank r - 1 what ranks 0 to r - 1 have combined, combines its own
// operand with it and passes that on, piece by piece, so that all ranks work on a long message at once: a
// linear pipeline. Work and traffic are the least that a scan can have; a short message takes P - 1 steps.
// Operands are combined in rank order from the left: an operator need not commute, and every run gives the
// same bits.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/transport/put_boxes.hpp"

namespace phicoll {

struct LinearScan : AlgorithmDefaults {
  struct Parameters {
    int buffer = 16384;
    int cells = 4;
  };

  static AlgorithmFacts facts() {
    return {"linear", Origin::phicoll, "phicoll, the usual pipelined chain",
            "each rank combines what the one before it passes on, piece by piece"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("buffer", p.buffer, max_element_bytes, 1 << 24, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 256, "pieces that a rank may be ahead of the next one");
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_bytes(p.buffer, max_element_bytes, [&] { return footprint(p, shape); });
  }
  static bool in_rank_order(const Parameters&) { return true; }
  static std::vector<std::size_t> capacities(const Parameters& p) {
    return std::vector<std::size_t>(1, static_cast<std::size_t>(p.buffer));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return put_boxes_footprint(shape.size(), capacities(p), p.cells, Credit::acknowledged);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : boxes_(setup, 0, capacities(p), p.cells, Credit::acknowledged),
          bytes_(static_cast<std::size_t>(p.buffer)),
          rank_(setup.rank),
          last_(setup.rank == setup.size() - 1) {}

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = bytes_ / size;
      for (std::size_t at = 0; at < call.count; at += most)
        piece(port, call, at * size, std::min(most, call.count - at));
    }

   private:
    // (1) A rank puts its combination into a box of the next rank, `cells` pieces deep. The publishing store
    //     (release) makes what precedes it visible to the rank that awaits it (acquire).
    // (2) Only the reader's acknowledgement (release) comes back along the chain; the writer awaits it
    //     (acquire) before it fills a cell again. So a rank may run ahead by `cells` pieces, over any number
    //     of calls.
    void piece(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const std::uint64_t n = pieces_++;
      const std::size_t bytes = count * call.op.element_bytes;
      const Data own = call.send + at;
      const Data result = call.receive + at;
      if (rank_ == 0) {
        if (!last_) boxes_.put(port, 1, 0, n, own, bytes);
        if (!call.exclusive && own != result) port.move(result, own, bytes);
        return;
      }
      const Data before = boxes_.await(port, rank_, 0, n, rank_ - 1);
      if (call.exclusive) {
        // In place the rank's operand lies where the result goes, so it is used first.
        if (!last_) {
          port.combine(call.op, boxes_.open(port, rank_ + 1, 0, n), before, own, count);
          boxes_.publish(port, rank_ + 1, 0, n);
        }
        port.move(result, before, bytes);
      } else {
        port.combine(call.op, result, before, own, count);
        if (!last_) boxes_.put(port, rank_ + 1, 0, n, result, bytes);
      }
      boxes_.taken(port, 0, n);
    }

    PutBoxes<Port> boxes_;
    std::uint64_t pieces_ = 0;
    std::size_t bytes_;
    int rank_;
    bool last_;
  };
};

}  // namespace phicoll
