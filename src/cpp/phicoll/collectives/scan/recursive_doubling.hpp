#pragma once

// Scan by recursive doubling, for short messages: in step s rank r gives what it has, the combination of the
// 2^s ranks up to itself, to rank r + 2^s and combines what it gets from rank r - 2^s with it. ceil(lg P)
// steps. Combined values always belong to neighbouring ranges of ranks, the lower ones on the left: an
// operator need not commute, and the brackets are the same in every run. Source: Hillis, Steele: Data
// parallel algorithms (1986), the partial sums there.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/transport/put_boxes.hpp"

namespace phicoll {

struct RecursiveDoublingScan : AlgorithmDefaults {
  struct Parameters {
    int buffer = 16384;
  };

  static AlgorithmFacts facts() {
    return {"recursive-doubling", Origin::phicoll, "Hillis and Steele 1986, partial sums",
            "each rank combines what it has with that of the rank 2^s below it"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("buffer", p.buffer, max_element_bytes, 1 << 24, "bytes of a piece");
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_bytes(p.buffer, max_element_bytes, [&] { return footprint(p, shape); });
  }
  static std::vector<std::size_t> capacities(const Parameters& p, int ranks) {
    return std::vector<std::size_t>(static_cast<std::size_t>(ceil_log(2, ranks)),
                                    static_cast<std::size_t>(p.buffer));
  }
  static std::size_t boxes_footprint(const Parameters& p, int ranks) {
    return put_boxes_footprint(ranks, capacities(p, ranks), 2, Credit::acknowledged);
  }
  static std::size_t own_bytes(const Parameters& p) {
    return arch::whole_strides(static_cast<std::size_t>(p.buffer));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return boxes_footprint(p, shape.size()) + static_cast<std::size_t>(shape.size()) * own_bytes(p);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : boxes_(setup, 0, capacities(p, setup.size()), 2, Credit::acknowledged),
          running_(setup.memory + boxes_footprint(p, setup.size()) +
                   static_cast<std::size_t>(setup.rank) * own_bytes(p)),
          bytes_(static_cast<std::size_t>(p.buffer)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = bytes_ / size;
      for (std::size_t at = 0; at < call.count; at += most) {
        const std::size_t count = std::min(most, call.count - at);
        if (call.exclusive)
          exclusive(port, call.op, call.send + at * size, call.receive + at * size, count);
        else
          inclusive(port, call.op, call.send + at * size, call.receive + at * size, count);
        ++pieces_;
      }
    }

   private:
    // (1) A rank has a box for each step, two cells deep. The publishing store (release) makes what precedes
    //     it visible to the rank that awaits it (acquire).
    // (2) From higher ranks comes only the acknowledgement (release) that low ranks await (acquire) before
    //     they fill a cell again.
    // (3) The running combination lies in the receive buffer; in an exclusive scan, in the rank's own buffer
    //     in shared memory, which no other rank touches.
    void inclusive(Port& port, const Operator& op, Data send, Data receive, std::size_t count) {
      const std::size_t bytes = count * op.element_bytes;
      Data running = send;
      for (int s = 0, distance = 1; distance < ranks_; ++s, distance *= 2) {
        if (rank_ + distance < ranks_) boxes_.put(port, rank_ + distance, s, pieces_, running, bytes);
        if (rank_ < distance) continue;
        const Data before = boxes_.await(port, rank_, s, pieces_, rank_ - distance);
        port.combine(op, receive, before, running, count);
        boxes_.taken(port, s, pieces_);
        running = receive;
      }
      if (running != receive) port.move(receive, running, bytes);
    }

    // The result is the combination of all that came; the running one also has this rank's operand on its
    // right.
    void exclusive(Port& port, const Operator& op, Data send, Data receive, std::size_t count) {
      const std::size_t bytes = count * op.element_bytes;
      const Data buffer = port.shared(running_);
      Data running = send;
      bool any = false;
      for (int s = 0, distance = 1; distance < ranks_; ++s, distance *= 2) {
        if (rank_ + distance < ranks_) boxes_.put(port, rank_ + distance, s, pieces_, running, bytes);
        if (rank_ < distance) continue;
        const Data before = boxes_.await(port, rank_, s, pieces_, rank_ - distance);
        // In place the operand lies where the result goes: it is combined first.
        if (rank_ + 2 * distance < ranks_) {
          port.combine(op, buffer, before, running, count);
          running = buffer;
        }
        if (any)
          port.combine(op, receive, before, receive, count);
        else
          port.move(receive, before, bytes);
        any = true;
        boxes_.taken(port, s, pieces_);
      }
    }

    PutBoxes<Port> boxes_;
    unsigned char* running_;
    std::uint64_t pieces_ = 0;
    std::size_t bytes_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
