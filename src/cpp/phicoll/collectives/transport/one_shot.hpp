#pragma once

// What the one-shot exchanges share: words for small calls, a ring of cells a rank for pieces of larger ones,
// and their parameters. Two cells a rank need no acknowledgements: a rank that opens step t has awaited every
// rank's piece of step t - 1, published after that rank had read all of step t - 2. Two ranks need only one
// each (cells.hpp, 5).

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/collectives/transport/words.hpp"

namespace phicoll {

template <int default_cell>
struct OneShotAlgorithm : AlgorithmDefaults {
  struct Parameters {
    int cell = default_cell;
    int cells = 128;
    DirectParameters direct;
    int put = 0;
  };

  template <class Visitor>
  static void describe_one_shot(Visitor& visitor, Parameters& p, int least, const char* cell) {
    visitor.integer("cell", p.cell, least, 1 << 20, cell);
    describe_cells(visitor, p.cells);
    describe_direct(visitor, p.direct);
    describe_put(visitor, p.put);
  }
  static std::size_t footprint(const Parameters& p, int ranks) {
    return words_footprint(ranks) + cells_footprint(ranks, ranks, p.cells, static_cast<std::size_t>(p.cell));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) { return footprint(p, shape.size()); }
  static const void* first_line(const Setup& setup) { return words_line(setup); }
};

template <class Port>
class OneShotRank {
 protected:
  template <class Parameters>
  OneShotRank(const Parameters& p, const Setup& setup)
      : words_(setup, 0),
        cells_(setup, words_footprint(setup.size()), setup.size(), p.cells, static_cast<std::size_t>(p.cell),
               Credit::implied, p.direct),
        order_(setup),
        put_(p.put),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  Words<Port> words_;
  Cells<Port> cells_;
  PeerOrder order_;
  int put_;
  std::uint64_t steps_ = 0;
  int rank_;
  int ranks_;
};

/// An exchange of blocks: in every step each rank publishes a piece for the others and takes one of each
/// other. Exchange says what a piece is:
///
///     bool uneven(call), std::size_t most(call), bool in_words(bytes)   // of the call's blocks
///     void publish_word(port, call), take_words(port, call)             // a call in words
///     std::size_t piece_bytes(), piece(call, r, at)            // at most, and rank r's at `at`
///     Data block_for(call, r)                                           // in `send`
///     Stores stores(bytes)                                              // of results
///     bool direct(port, call), Exposed room(port, call)
///     void fill(port, call, at, bytes), Data await(port, call, r, step, bytes)
template <class Exchange, class Port>
class OneShotBlocks : protected OneShotRank<Port> {
 public:
  void operator()(Port& port, const Call& call) {
    const std::size_t most = self().most(call);
    if (!self().in_words(most)) return pieces(port, call, most);
    if (most == 0) return;
    self().publish_word(port, call);
    self().take_words(port, call);
  }
  Started start(Port& port, const Call& call) {
    if (self().uneven(call)) return Started::no;
    if (!self().in_words(call.count)) return start_piece(port, call);
    if (call.count == 0) return Started::whole;
    self().publish_word(port, call);
    return Started::half;
  }
  void complete(Port& port, const Call& call) {
    if (!self().in_words(call.count)) return complete_piece(port, call);
    self().take_words(port, call);
  }

 protected:
  using OneShotRank<Port>::OneShotRank;
  using OneShotRank<Port>::cells_;
  using OneShotRank<Port>::put_;
  using OneShotRank<Port>::steps_;
  using OneShotRank<Port>::rank_;

 private:
  Exchange& self() { return static_cast<Exchange&>(*this); }

  // Calls of their own, so that the small case saves few registers.
  [[gnu::noinline]] Started start_piece(Port& port, const Call& call) {
    if (call.count > self().piece_bytes()) return Started::no;  // one piece of each
    if (call.count == 0) return Started::whole;
    const bool direct = self().direct(port, call);
    const bool copies = call.receive + call.block_at(rank_) != self().block_for(call, rank_);
    if (direct ? put_ != 0 || copies : static_cast<bool>(self().room(port, call))) return Started::no;
    publish(port, call, 0, self().stores(call.count), direct, Exposed{0, 0, 0});
    return Started::half;
  }
  [[gnu::noinline]] void complete_piece(Port& port, const Call& call) {
    take(port, call, 0, self().stores(call.count), false);
    cells_.through(port, steps_);
    cells_.settle(port, steps_);
  }
  // Two ranks that have room for each other's pieces put them into the other's `receive`. Nobody reads the
  // sender's lines then, so it need not take them back when it next writes to them.
  //  1. The writer stores its piece before it says that it is through; the reader acquires that word.
  //  2. The reader stores its handle once it is done with what `receive` held before; the writer acquires
  //     the handle before it stores.
  [[gnu::noinline]] void pieces(Port& port, const Call& call, std::size_t most) {
    const Exposed room = self().room(port, call);
    const bool direct = room || self().direct(port, call);
    const Stores stores = self().stores(most);
    for (std::size_t at = 0; at < most; at += self().piece_bytes()) {
      publish(port, call, at, stores, direct, room);
      take(port, call, at, stores, static_cast<bool>(room));
    }
    cells_.through(port, steps_);
    if (direct) keep_own(port, call, 0, call.count, stores);
    cells_.settle(port, steps_);
  }
  // Done while the others' pieces are on their way. If peers read this rank's pieces in place, it comes
  // last: the copy would take lines out of the cache that they are read from.
  void keep_own(Port& port, const Call& call, std::size_t at, std::size_t bytes, Stores stores) {
    const Data own = call.receive + call.block_at(rank_);
    const Data from = self().block_for(call, rank_);
    if (bytes != 0 && own != from) port.move(own + at, from + at, bytes, stores);
  }
  void publish(Port& port, const Call& call, std::size_t at, Stores stores, bool direct,
               const Exposed& room) {
    const std::size_t own = self().piece(call, rank_, at);
    if (own == 0 || !direct)
      self().fill(port, call, at, own);
    else if (put_ != 0)
      cells_.publish_direct(port, steps_, call.tag, call.send + at, room);
    else
      cells_.publish_direct(port, steps_, call.tag, call.send + at);
    if (!direct) keep_own(port, call, at, own, stores);
  }
  void take(Port& port, const Call& call, std::size_t at, Stores stores, bool room) {
    const std::uint64_t step = steps_++;
    for (const int r : this->order_) {
      const std::size_t bytes = self().piece(call, r, at);
      const unsigned taken = cells_.taken();
      const Data theirs = self().await(port, call, r, step, bytes);
      if (room && cells_.taken() != taken) {
        if (const Exposed to = cells_.taken_room(port)) {
          port.move(port.view(to, call.block_at(rank_) + at), self().block_for(call, r) + at, bytes,
                    handed(stores));
          continue;
        }
      }
      if (bytes != 0) port.move(call.receive + (call.block_at(r) + at), theirs, bytes, stores);
    }
  }
};

}  // namespace phicoll
