#pragma once

// Sends operands up a hierarchy. Each leader combines its part's operands with its own and sends the result
// to its leader at the next stage, until each rank at the top holds one.
//
// A leader's own operand is the left one; the others follow in rank order, stage by stage. So the brackets
// are the same on every rank and in every run, whatever the root. Where the ranks below each part are
// consecutive, that is rank order, which an operator that does not commute needs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

/// The reason why such a call cannot be served, or null.
inline const char* unfit_for_order(Grouping group, const Shape& shape, const CallFacts& facts) {
  return facts.commutative || Hierarchy(shape, group).in_order()
             ? nullptr
             : "a commutative operator, or parts whose ranks follow each other";
}

// One Mailbox serves all stages: a rank sends at most one message per piece, wherever it leads. A leader
// combines in the cell that it sends, so nothing is copied on the way and no rank needs memory of its own. If
// other CPUs are far, it combines in the first cell that it has read and copies the result past the caches,
// since lines that another CPU has just written are slow to read.
template <class Port>
class LevelOperands {
 public:
  /// A reduction's call cut into pieces, which are calls themselves.
  class Pieces {
   public:
    /// Pieces of at most `bytes`, which must hold one element.
    Pieces(const Call& call, std::size_t bytes)
        : call_(call),
          most_(call.elements_within(bytes)),
          count_(call.count <= most_ ? (call.count != 0 ? 1 : 0) : (call.count + most_ - 1) / most_) {
      PHICOLL_ASSERT(Port, most_ != 0 || call.count == 0, "a piece that holds no element");
    }

    std::size_t count() const { return count_; }
    Call operator[](std::size_t m) const {
      PHICOLL_ASSERT(Port, m < count_, "a piece behind the last");
      Call piece = call_;
      const std::size_t at = m * most_;
      piece.count = std::min(most_, call_.count - at);
      piece.send = call_.send + at * call_.op.element_bytes;
      if (call_.receive) piece.receive = call_.receive + at * call_.op.element_bytes;
      return piece;
    }

   private:
    const Call& call_;
    std::size_t most_;
    std::size_t count_;
  };

  /// `direct`: from how many bytes on ranks that lead no part leave their operands in place, where all ranks
  /// reach them.
  LevelOperands(const Hierarchy& levels, const Setup& setup, std::size_t offset, int cells, std::size_t bytes,
                const DirectParameters& direct = DirectParameters())
      : mailbox_(setup, offset, cells, bytes, direct) {
    const int last = levels.last_stage(setup.rank);
    for (int stage = 0; stage < last; ++stage)
      for (const int r : levels.part_around(stage, setup.rank))
        if (r != setup.rank) below_.push_back(r);
    ahead_ = std::min(levels.top() - last, cells - 1);
    if (ahead_ > 0) above_ = levels.part_around(last, setup.rank).front();
  }

  /// The call in pieces that a cell holds. Refers to the call.
  Pieces pieces(const Call& call) const { return Pieces(call, mailbox_.bytes()); }
  /// Whether this rank is one of those at the top.
  bool at_top() const { return ahead_ == 0; }
  /// The leader of the rank's part, unless the rank is at the top.
  int above() const { return above_; }
  /// The number of pieces that this rank sends up before it awaits the first result: one for each stage
  /// above, so that every stage has one to work on, but fewer than there are cells (see
  /// allreduce/hierarchical.hpp).
  std::size_t ahead() const { return static_cast<std::size_t>(ahead_); }

  /// Combines piece m of this rank and of those below it. Returns where the result lies: in `result`, or in
  /// `piece.send` if there are no ranks below. `piece.send` may be `result`. `keep`: the caller
  /// finishes the first rank's cell.
  Data gather(Port& port, const Call& piece, std::uint64_t m, Data result, bool keep = false) {
    Data left = piece.send;
    for (const int r : below_) {
      port.combine(piece.op, result, left, await(port, r, piece, m), piece.count);
      if (!keep || r != below_.front()) finish(port, r, m);
      left = result;
    }
    return left;
  }
  /// Whether this rank's operand of a call stays in place. It is then sent by send_direct and must not be
  /// overwritten, piece by piece, before the piece's result has come, and `settle`.
  bool direct(Port& port, const Call& call) const {
    return below_.empty() && mailbox_.direct(port, call.send, call.bytes(), mailbox_.bytes());
  }
  void send_direct(Port& port, const Call& piece, std::uint64_t m) {
    mailbox_.send_direct(port, m, piece.tag, piece.send);
  }
  /// Combines as `gather` does and sends the result to rank `to`.
  void send(Port& port, const Call& piece, std::uint64_t m, int to) {
    const std::size_t bytes = piece.bytes();
    const Data cell = mailbox_.open(port, m, bytes);
    const bool past_caches = !below_.empty() && bytes >= apart_bytes &&
                             mailbox_.stores(port, to) == Stores::handed_over && !port.near(bytes);
    const Data at = past_caches ? mailbox_.room(port, below_.front(), m, bytes) : cell;
    const Data result = gather(port, piece, m, at, past_caches);
    if (result != cell) port.move(cell, result, bytes, mailbox_.stores(port, to));
    if (past_caches) finish(port, below_.front(), m);
    mailbox_.send(port, m, piece.tag);
  }
  /// What rank `from` sent to this one, valid until `finish`.
  Data await(Port& port, int from, const Call& piece, std::uint64_t m) {
    return mailbox_.await(port, from, m, piece.tag, piece.bytes());
  }
  void finish(Port& port, int from, std::uint64_t m) { mailbox_.finish(port, from, m); }
  /// Comes before next_call, if operands may stay in place.
  void settle(Port& port) { mailbox_.settle(port); }
  /// Ends a call of `pieces` pieces.
  void next_call(std::size_t pieces) { mailbox_.next_call(pieces); }

 private:
  Mailbox<Port> mailbox_;
  std::vector<int> below_;
  int above_ = -1;
  int ahead_ = 0;
};

}  // namespace phicoll
