#pragma once

// Rabenseifner's algorithm. Source: namashivayam-2014 section 5.1.4 ("RSAG"), with shmem_ptr there and in
// section 5.2. Two phases on the core of a fold: a reduce-scatter with doubling distances and halving ranges
// (in step s the ranks c and c xor 2^s each combine one half of their common range), and an allgather back.
// Ranges are halved by elements, the lower half to the rank whose bit is 0; counts below the number of ranks
// leave some empty, and their exchanges are flags only. Distances double from 1, so what is combined always
// belongs to neighbouring ranges of ranks, lower ones on the left: an operator need not commute, and as each
// element is combined by one bracketing, all ranks have the same bits.
//
// merge_middle=yes joins the last step of the first phase with the first step of the second: the pair at the
// largest distance exchanges its whole common range and has it combined at once, 2 floor(lg P) - 1 steps in
// all. left_computes=yes, with load/store: in that stage the lower rank alone combines, from its partner's
// array, and stores the range to both.
//
// put/get: halves are copied into boxes of the receiver, one for each step and phase, two cells deep. Implied
// credit: no rank ends a piece before all have begun it (PutBoxes).
//
// load/store: a rank's array is the caller's receive buffer (send in the first step) or, where peers cannot
// reach that, a buffer in shared memory. In the first phase each rank reads its half in the partner's array
// and combines it into its own: into the half that the partner does not read, so nothing is copied. In the
// second phase it stores its range into the partner's array, where it read in the same step of the first
// phase and no other rank ever does, and says so by `done` (release). That signal tells two things: what the
// partner lacked is there, and its first-phase data was read. So a rank that was told in all its steps has
// all, and no rank touches its arrays any more. Where both ranks combine the middle range, the results lie in
// a second buffer until both have read, unless what they read is the send buffers.

#include "phicoll/collectives/allreduce/transfer.hpp"

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
    visitor.choice("merge_middle", p.merge_middle, {"no", "yes"},
                   "the last step of the reduce-scatter and the first of the allgather are one");
    visitor.choice("left_computes", p.left_computes, {"no", "yes"},
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
    // Put and get have boxes: a message per phase and one for the fold, in two cells; the rest is for what rounding adds.
    if (p.transfer == TransferWay::put_get)
      limit_buffer(p.buffer, shape.size(), 10);
    else
      limit_buffer(p.buffer, shape.size(), 2, what_is_shown(shape.size()));
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
    return ScratchBuffers::footprint(ranks, static_cast<std::size_t>(p.buffer)) + what_is_shown(ranks);
  }
  static std::size_t what_is_shown(int ranks) { return shown_footprint(ranks, Fold(ranks).steps() + 1); }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : fold_(setup.size()),
          boxes_(setup, 0, capacities(p, setup.size()), 2, Credit::implied),
          scratch_(setup, 0, static_cast<std::size_t>(p.buffer)),
          shown_(setup, ScratchBuffers::footprint(setup.size(), static_cast<std::size_t>(p.buffer)),
                 fold_.steps() + 1),
          steps_(static_cast<std::size_t>(fold_.steps())),
          pieces_(p.transfer, p.buffer, setup.size()),
          rank_(setup.rank),
          merge_middle_(p.merge_middle == YesNo::yes),
          left_computes_(p.left_computes == YesNo::yes) {
      if (fold_.folded(rank_)) return;
      for (int s = 0; s < fold_.steps(); ++s) step(s).peer = fold_.rank(fold_.core(rank_) ^ (1 << s));
    }

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      shown_.begin(call);
      pieces_(
          port, call,
          [&](const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
            put_get(port, op, send, receive, count, n);
          },
          [&](const Operator& op, const PieceArrays& a) { load_store(port, op, a); });
    }

   private:
    /// Elements [begin, end).
    struct Range {
      std::size_t begin;
      std::size_t end;
      std::size_t count() const { return end - begin; }
    };
    struct Step {
      int peer = -1;
      Range common{0, 0};  // of both ranks, before the step
      Data write;          // the peer's array
    };

    Step& step(int s) { return steps_.data()[static_cast<std::size_t>(s)]; }
    // The parts of a step's common range that this rank and its peer go on with.
    Range kept(const Step& s, bool own) const {
      const std::size_t middle = s.common.begin + s.common.count() / 2;
      return (rank_ < s.peer) == own ? Range{s.common.begin, middle} : Range{middle, s.common.end};
    }
    // The steps that halve; the middle stage, if there is one, comes after them.
    int halving_steps() const { return merge_middle_ ? fold_.steps() - 1 : fold_.steps(); }

    void put_get(Port& port, const Operator& op, Data send, Data receive, std::size_t count,
                 std::uint64_t n) {
      const std::size_t size = op.element_bytes;
      const int side = 2 * fold_.steps();
      if (fold_.folded(rank_)) {
        boxes_.put(port, rank_ + 1, side, n, send, count * size);
        port.move(receive, boxes_.await(port, rank_, side, n, rank_ + 1), count * size);
        return;
      }
      Data mine = send;
      if (fold_.carries(rank_)) {
        port.combine(op, receive, boxes_.await(port, rank_, side, n, rank_ - 1), mine, count);
        mine = receive;
      }
      Range range{0, count};
      for (int s = 0; s < fold_.steps(); ++s) {
        Step& now = step(s);
        now.common = range;
        const bool middle = s >= halving_steps();
        const Range given = middle ? range : kept(now, false);
        if (!middle) range = kept(now, true);
        boxes_.put(port, now.peer, s, n, mine + given.begin * size, given.count() * size);
        const Data theirs = boxes_.await(port, rank_, s, n, now.peer);
        const std::size_t at = range.begin * size;
        combine_sides(port, op, receive + at, mine + at, theirs, now.peer < rank_, range.count());
        mine = receive;
      }
      for (int s = halving_steps() - 1; s >= 0; --s) {
        Step& now = step(s);
        const int box = fold_.steps() + s;
        boxes_.put(port, now.peer, box, n, receive + range.begin * size, range.count() * size);
        const Range other = kept(now, false);
        const Data theirs = boxes_.await(port, rank_, box, n, now.peer);
        move_some(port, receive + other.begin * size, theirs, other.count() * size);
        range = now.common;
      }
      if (fold_.carries(rank_)) boxes_.put(port, rank_ - 1, side, n, receive, count * size);
    }

    void load_store(Port& port, const Operator& op, const PieceArrays& a) {
      const std::size_t size = op.element_bytes;
      const int side = fold_.steps();
      const Data buffer = scratch_.get(port, 0);
      if (fold_.folded(rank_)) return load_store_folded(port, shown_, side, a, buffer, rank_ + 1);
      const Data home = a.receive_direct ? a.receive : buffer;
      Data mine = a.send;
      ShownPlaces aside;
      if (fold_.carries(rank_)) {
        aside = shown_.look(port, rank_ - 1, side, a.number);
        port.combine(op, home, aside.read, mine, a.count);
        mine = home;
      }
      Range range{0, a.count};
      for (int s = 0; s < halving_steps(); ++s) {
        Step& now = step(s);
        now.common = range;
        const Range given = kept(now, false);
        range = kept(now, true);
        show(port, s, a, mine, home, given, size);
        const ShownPlaces partner = shown_.look(port, now.peer, s, a.number);
        now.write = partner.write;
        const std::size_t at = range.begin * size;
        combine_sides(port, op, home + at, mine + at, partner.read + at, now.peer < rank_, range.count());
        mine = home;
      }
      if (merge_middle_) middle(port, op, a, mine, home, range);
      for (int s = halving_steps() - 1; s >= 0; --s) {
        Step& now = step(s);
        const std::size_t at = range.begin * size;
        move_some(port, now.write + at, home + at, range.count() * size);
        shown_.done(port, now.peer, s, a.number);
        shown_.await_done(port, s, a.number, now.peer);
        range = now.common;
      }
      move_some(port, a.receive, home, a.bytes);
      if (fold_.carries(rank_)) {
        port.move(aside.write, a.receive, a.bytes);
        shown_.done(port, rank_ - 1, side, a.number);
      }
    }

    // The peer reads `range` of `mine` and writes `home`. An operand in a send buffer that peers cannot reach must
    // first be brought to where they can.
    void show(Port& port, int s, const PieceArrays& a, Data mine, Data home, Range range, std::size_t size) {
      Data read = mine;
      if (mine == a.send && !a.send_direct) {
        const std::size_t at = range.begin * size;
        move_some(port, home + at, mine + at, range.count() * size);
        read = home;
      }
      shown_.show(port, s, a.number, read, home);
    }

    void middle(Port& port, const Operator& op, const PieceArrays& a, Data mine, Data home, Range range) {
      const int s = fold_.steps() - 1;
      const int peer = step(s).peer;
      const std::size_t at = range.begin * op.element_bytes;
      const std::size_t bytes = range.count() * op.element_bytes;
      const bool left = rank_ < peer;
      if (left_computes_ && left) {
        const ShownPlaces partner = shown_.look(port, peer, s, a.number);
        combine_sides(port, op, home + at, mine + at, partner.read + at, false, range.count());
        move_some(port, partner.write + at, home + at, bytes);
        shown_.done(port, peer, s, a.number);
        return;
      }
      show(port, s, a, mine, home, range, op.element_bytes);
      if (!left_computes_) {
        const ShownPlaces partner = shown_.look(port, peer, s, a.number);
        // Home may be written at once where the peer reads this rank's send buffer instead.
        const bool apart = mine != home && a.send_direct;
        const Data value = apart ? home + at : scratch_.get(port, 1);
        combine_sides(port, op, value, mine + at, partner.read + at, !left, range.count());
        shown_.done(port, peer, s, a.number);
        shown_.await_done(port, s, a.number, peer);
        move_some(port, home + at, value, bytes);
        return;
      }
      shown_.await_done(port, s, a.number, peer);
    }

    Fold fold_;
    PutBoxes<Port> boxes_;
    ScratchBuffers scratch_;
    Shown<Port> shown_;
    AlignedVector<Step> steps_;
    TransferPieces pieces_;
    int rank_;
    bool merge_middle_;
    bool left_computes_;
  };
};

}  // namespace phicoll
