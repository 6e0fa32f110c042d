#pragma once

// phicoll's allreduce through the levels of a machine: the ranks of a part (those that share a CPU, a core, a
// cache, a memory node or a package) send their operands to its leader, the leaders exchange theirs, and each
// gives the result to its part, piece by piece. Within a part nobody but the leader waits before the result
// comes, so the parts' next operands are under way while the leaders exchange.
//
// Operands are combined in rank order within a part, and the parts in the order of their leaders: the same
// brackets on every rank and in every run. For an operator that is not commutative the ranks of a part have
// to follow each other.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/entries.hpp"
#include "phicoll/collectives/hierarchy.hpp"
#include "phicoll/collectives/reduce/mailbox.hpp"

namespace phicoll {

struct HierarchicalAllreduce : DataAlgorithm {
  struct Parameters {
    Level group = Level::l3;
    int piece = 16384;
    int pieces = 8;
  };

  static AlgorithmFacts facts() {
    return {"hierarchical", Origin::phicoll, "phicoll",
            "to the leader of each part of the machine, between the leaders, and back, piece by piece"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_level(visitor, p.group);
    visitor.integer("piece", p.piece, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("pieces", p.pieces, 2, 4096, "pieces that a rank may be ahead");
  }

  static const char* unfit(const Parameters& p, const Shape& shape, const CallFacts& facts) {
    return facts.commutative || Parts(shape, p.group).in_order()
               ? nullptr
               : "a commutative operator, or parts whose ranks follow each other";
  }

  static void limit(Parameters& p, const Shape& shape) {
    while (p.pieces > 2 && footprint(p, shape) > std::size_t{16} << 20) p.pieces = std::max(2, p.pieces / 2);
    while (p.piece > max_element_bytes && footprint(p, shape) > std::size_t{16} << 20)
      p.piece = std::max(p.piece / 2, max_element_bytes + 0);
  }

  static MailboxReduce::Parameters up(const Parameters& p) {
    MailboxReduce::Parameters up;
    up.cell = p.piece;
    up.cells = p.pieces;
    return up;
  }
  static OneShotAllreduce::Parameters between(const Parameters& p) {
    OneShotAllreduce::Parameters between;
    between.cell = p.piece;
    between.cells = p.pieces;
    return between;
  }
  static RingBroadcast::Parameters down(const Parameters& p) {
    RingBroadcast::Parameters down;
    down.slots = 64;  // in each part
    down.cell = p.piece;
    down.cells = p.pieces;
    return down;
  }
  static std::size_t part_footprint(const Parameters& p, const Shape& part) {
    return MailboxReduce::footprint(up(p), part) + RingBroadcast::footprint(down(p), part);
  }
  /// The leaders' exchange, then what each part has.
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    const Parts parts(shape, p.group);
    std::size_t bytes = OneShotAllreduce::footprint(between(p), parts.shape_of_leaders(shape));
    for (std::size_t part = 0; part < parts.count(); ++part)
      bytes += part_footprint(p, parts.shape_of(shape, part));
    return bytes;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : parts_(setup.shape, p.group),
          part_(static_cast<std::size_t>(parts_.of[static_cast<std::size_t>(setup.rank)])),
          piece_(static_cast<std::size_t>(p.piece)) {
      const Shape leaders = parts_.shape_of_leaders(setup.shape);
      if (parts_.leaders[part_] == setup.rank)
        between_.reset(new OneShotAllreduce::Rank<Port>(
            HierarchicalAllreduce::between(p),
            Setup{static_cast<int>(part_), leaders, setup.memory, parts_.leaders.data()}));
      std::size_t at = OneShotAllreduce::footprint(HierarchicalAllreduce::between(p), leaders);
      for (std::size_t part = 0; part < part_; ++part)
        at += part_footprint(p, parts_.shape_of(setup.shape, part));
      const Shape own = parts_.shape_of(setup.shape, part_);
      const int index = parts_.index[static_cast<std::size_t>(setup.rank)];
      const int* const members = parts_.members[part_].data();
      up_.reset(new MailboxReduce::Rank<Port>(HierarchicalAllreduce::up(p),
                                              Setup{index, own, setup.memory + at, members}));
      at += MailboxReduce::footprint(HierarchicalAllreduce::up(p), own);
      down_.reset(new RingBroadcast::Rank<Port>(HierarchicalAllreduce::down(p),
                                                Setup{index, own, setup.memory + at, members}));
    }

    void operator()(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = call.elements_within(piece_);
      Call piece = call;
      piece.root = 0;
      // A piece's operands go up before the result of the piece in front of it comes down, on all but the
      // leaders, who have to combine first anyway.
      if (between_) {
        for (std::size_t at = 0; at < call.count; at += most) {
          const std::size_t count = std::min(most, call.count - at);
          piece.count = count;
          piece.send = call.send + at * size;
          piece.receive = call.receive + at * size;
          (*up_)(port, piece);
          piece.send = piece.receive;
          (*between_)(port, piece);
          give(port, call, at, count);
        }
        return;
      }
      std::size_t sent = 0;
      for (std::size_t at = 0; at < call.count; at += most) {
        for (int ahead = 0; ahead < 2 && sent < call.count && sent <= at + most; ++ahead, sent += most) {
          piece.count = std::min(most, call.count - sent);
          piece.send = call.send + sent * size;
          piece.receive = Data();
          (*up_)(port, piece);
        }
        give(port, call, at, std::min(most, call.count - at));
      }
    }

   private:
    void give(Port& port, const Call& call, std::size_t at, std::size_t count) {
      Call bytes;
      bytes.receive = call.receive + at * call.op.element_bytes;
      bytes.count = count * call.op.element_bytes;
      (*down_)(port, bytes);
    }

    Parts parts_;
    std::size_t part_;
    std::size_t piece_;
    std::unique_ptr<OneShotAllreduce::Rank<Port>> between_;
    std::unique_ptr<MailboxReduce::Rank<Port>> up_;
    std::unique_ptr<RingBroadcast::Rank<Port>> down_;
  };
};

}  // namespace phicoll
