#pragma once

// Rabenseifner's algorithm. Source: namashivayam-2014 section 5.1.4 ("RSAG"), with shmem_ptr there and in
// section 5.2. On the core of a fold: a reduce-scatter (halving.hpp), then an allgather, so all have the same
// bits. With fewer elements than ranks, empty ranges exchange only flags.
//
// merge_middle=yes joins the last step of the first phase with the first of the second: the pair at the
// largest distance combines its whole common range at once, 2 floor(lg P) - 1 steps in all.
// left_computes=yes, with load/store: there the lower rank alone combines, from its partner's array, and
// stores the range to both.

#include "phicoll/collectives/transport/halving.hpp"

namespace phicoll {

struct Rabenseifner : AlgorithmDefaults {
  struct Parameters {
    TransferWay transfer = TransferWay::load_store;
    YesNo merge_middle = YesNo::yes;
    YesNo left_computes = YesNo::no;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"rabenseifner", Origin::paper, "namashivayam-2014 section 5.1.4, RSAG",
            "a reduce-scatter of halving ranges at doubling distances, and an allgather back"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    describe_yes_no(visitor, "merge_middle", p.merge_middle,
                    "the last step of the reduce-scatter and the first of the allgather are one");
    describe_yes_no(visitor, "left_computes", p.left_computes,
                    "in the merged step the lower rank alone combines, and stores the result to both");
    describe_buffer(visitor, p.buffer);
  }
  static const char* refuse(const Parameters& p) {
    return p.left_computes == YesNo::yes &&
                   (p.transfer == TransferWay::put_get || p.merge_middle == YesNo::no)
               ? "left_computes=yes with transfer=load-store and merge_middle=yes only"
               : nullptr;
  }
  static void limit(Parameters& p, const Shape& shape) {
    // Put and get have boxes: a message per phase and one for the fold, in two cells; the rest is for what
    // rounding adds.
    if (p.transfer == TransferWay::put_get)
      limit_buffer(p.buffer, shape.size(), 10);
    else
      limit_buffer(p.buffer, shape.size(), 2, HalvingMemory::what_is_shown(shape.size()));
  }

  // Boxes of the first phase, of the second, of the fold. A half of m elements' range in step s has at most
  // m / 2^(s+1) + 1 elements, the whole of it m / 2^s + 1.
  static std::vector<std::size_t> capacities(const Parameters& p, int ranks) {
    const int steps = Fold(ranks).steps();
    const auto element = static_cast<std::size_t>(max_element_bytes);
    const auto buffer = static_cast<std::size_t>(p.buffer);
    std::vector<std::size_t> list;
    for (int phase = 0; phase < 2; ++phase)
      for (int s = 0; s < steps; ++s) {
        const bool whole = phase == 0 && s == steps - 1 && p.merge_middle == YesNo::yes;
        list.push_back(std::min(buffer, (buffer >> (whole ? s : s + 1)) + element));
      }
    list.push_back(buffer);
    return list;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    const int ranks = shape.size();
    if (p.transfer == TransferWay::put_get)
      return put_boxes_footprint(ranks, capacities(p, ranks), 2, Credit::implied);
    return HalvingMemory::footprint(ranks, static_cast<std::size_t>(p.buffer), 2);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : halving_(setup, static_cast<std::size_t>(p.buffer), 2),
          write_(static_cast<std::size_t>(halving_.fold.steps())),
          boxes_(setup, 0, capacities(p, setup.size()), 2, Credit::implied),
          pieces_(p.transfer, p.buffer, setup.size()),
          rank_(setup.rank),
          merge_middle_(p.merge_middle == YesNo::yes),
          left_computes_(p.left_computes == YesNo::yes) {}

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      halving_.shown.begin(call);
      pieces_(
          port, call,
          [&](const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
            put_get(port, op, send, receive, count, n);
          },
          [&](const Operator& op, const PieceArrays& a) { load_store(port, op, a); });
    }

   private:
    // The steps that halve; the middle stage, if there is one, comes after them.
    int halving_steps() const { return halving_.fold.steps() - (merge_middle_ ? 1 : 0); }

    // Halves are copied into boxes of the receiver, one for each step and phase, two cells deep. Implied
    // credit: no rank ends a piece before all have begun it (PutBoxes).
    void put_get(Port& port, const Operator& op, Data send, Data receive, std::size_t count,
                 std::uint64_t n) {
      const std::size_t size = op.element_bytes;
      const int side = 2 * halving_.fold.steps();
      if (halving_.fold.folded(rank_)) {
        boxes_.put(port, rank_ + 1, side, n, send, count * size);
        port.move(receive, boxes_.await(port, rank_, side, n, rank_ + 1), count * size);
        return;
      }
      Data mine = send;
      if (halving_.fold.carries(rank_)) {
        port.combine(op, receive, boxes_.await(port, rank_, side, n, rank_ - 1), mine, count);
        mine = receive;
      }
      ElementRange range{0, count};
      for (int s = 0; s < halving_.fold.steps(); ++s) {
        HalvingStep& now = halving_.step(s);
        now.common = range;
        const bool middle = s >= halving_steps();
        const ElementRange given = middle ? range : halving_.kept(now, false);
        if (!middle) range = halving_.kept(now, true);
        boxes_.put(port, now.peer, s, n, mine + given.begin * size, given.count() * size);
        const Data theirs = boxes_.await(port, rank_, s, n, now.peer);
        const std::size_t at = range.begin * size;
        combine_sides(port, op, receive + at, mine + at, theirs, now.peer < rank_, range.count());
        mine = receive;
      }
      for (int s = halving_steps() - 1; s >= 0; --s) {
        HalvingStep& now = halving_.step(s);
        const int box = halving_.fold.steps() + s;
        boxes_.put(port, now.peer, box, n, receive + range.begin * size, range.count() * size);
        const ElementRange other = halving_.kept(now, false);
        const Data theirs = boxes_.await(port, rank_, box, n, now.peer);
        move_some(port, receive + other.begin * size, theirs, other.count() * size);
        range = now.common;
      }
      if (halving_.fold.carries(rank_)) boxes_.put(port, rank_ - 1, side, n, receive, count * size);
    }

    // A rank's array is its receive buffer or, beyond reach, a buffer in shared memory.
    //
    // (1) In the second phase a rank stores its range into the partner's array, where only it ever reads, in
    //     the same step of the first phase.
    // (2) Its `done` then tells two things: what the partner lacked is there, and its first-phase data was
    //     read.
    // (3) A rank that was told in all its steps has everything, and its arrays to itself.
    // (4) Where both combine the middle range, results wait in a second buffer until both have read, unless
    //     they read send buffers.
    void load_store(Port& port, const Operator& op, const PieceArrays& a) {
      const int side = halving_.fold.steps();
      const Data buffer = halving_.scratch.get(port, 0);
      if (halving_.fold.folded(rank_))
        return load_store_folded(port, halving_.shown, side, a, buffer, rank_ + 1);
      const Data home = a.receive_direct ? a.receive : buffer;
      Data mine = a.send;
      ShownPlaces aside;
      if (halving_.fold.carries(rank_)) {
        aside = halving_.shown.look(port, rank_ - 1, side, a.number);
        port.combine(op, home, aside.read, mine, a.count);
        mine = home;
      }
      ElementRange range =
          halving_.halve(port, op, a, mine, home, home, halving_steps(),
                         [&](int s, Data write) { write_.data()[static_cast<std::size_t>(s)] = write; });
      if (merge_middle_) middle(port, op, a, mine, home, range);
      for (int s = halving_steps() - 1; s >= 0; --s) {
        const HalvingStep& now = halving_.step(s);
        give(port, s, a.number, write_.data()[static_cast<std::size_t>(s)], home, range, op.element_bytes);
        halving_.shown.await_done(port, s, a.number, now.peer);
        range = now.common;
      }
      move_some(port, a.receive, home, a.bytes);
      if (halving_.fold.carries(rank_)) {
        port.move(aside.write, a.receive, a.bytes);
        halving_.shown.done(port, rank_ - 1, side, a.number);
      }
    }

    void give(Port& port, int s, std::uint64_t number, Data write, Data home, ElementRange range,
              std::size_t size) {
      const std::size_t at = range.begin * size;
      move_some(port, write + at, home + at, range.count() * size);
      halving_.shown.done(port, halving_.step(s).peer, s, number);
    }

    void middle(Port& port, const Operator& op, const PieceArrays& a, Data mine, Data home,
                ElementRange range) {
      const int s = halving_.fold.steps() - 1;
      const int peer = halving_.step(s).peer;
      const std::size_t at = range.begin * op.element_bytes;
      if (left_computes_ && rank_ < peer) {
        const Data write = halving_.combine_shown(port, op, s, a.number, home, mine, range).write;
        return give(port, s, a.number, write, home, range, op.element_bytes);
      }
      halving_.show(port, s, a, mine, home, home, range, op.element_bytes);
      if (!left_computes_) {
        // Home may be written at once where the peer reads this rank's send buffer instead.
        const bool apart = mine != home && a.send_direct;
        const Data value = apart ? home + at : halving_.scratch.get(port, 1);
        const ShownPlaces partner = halving_.shown.look(port, peer, s, a.number);
        combine_sides(port, op, value, mine + at, partner.read + at, peer < rank_, range.count());
        halving_.shown.done(port, peer, s, a.number);
        halving_.shown.await_done(port, s, a.number, peer);
        return move_some(port, home + at, value, range.count() * op.element_bytes);
      }
      halving_.shown.await_done(port, s, a.number, peer);
    }

    Halving<Port> halving_;
    AlignedVector<Data> write_;  // the peers' arrays, by step
    PutBoxes<Port> boxes_;
    TransferPieces pieces_;
    int rank_;
    bool merge_middle_;
    bool left_computes_;
  };
};

}  // namespace phicoll
