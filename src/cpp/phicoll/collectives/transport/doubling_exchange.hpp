#pragma once

// The exchange that recursive doubling and the Bruck variant of namashivayam-2014 share: floor(lg P) steps on
// the core of a fold. In each a rank gives its value so far to one peer and combines it with that of another
// (or the same) peer.

#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct DoublingStep {
  int to;             ///< the rank that reads this rank's value
  int from;           ///< whose value this rank reads
  bool theirs_first;  ///< it is the left operand
};

struct DoublingExchangeMemory {
  static int slots(int ranks) { return Fold(ranks).steps() + 1; }
  /// Buffers a rank, for limit_buffer.
  static int buffers(TransferWay transfer, int ranks) {
    return transfer == TransferWay::put_get ? 2 * slots(ranks) : 2;
  }
  static TransferMemory of(TransferWay transfer, int ranks, int buffer) {
    const auto bytes = static_cast<std::size_t>(buffer);
    return {transfer, std::vector<std::size_t>(static_cast<std::size_t>(slots(ranks)), bytes), bytes,
            slots(ranks)};
  }
};

/// What algorithms by that exchange share; their parameters have `transfer` and `buffer`.
struct DoublingAllreduce : AlgorithmDefaults {
  template <class Parameters>
  static void limit(Parameters& p, const Shape& shape) {
    limit_buffer(p.buffer, shape.size(), DoublingExchangeMemory::buffers(p.transfer, shape.size()));
  }
  template <class Parameters>
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return DoublingExchangeMemory::of(p.transfer, shape.size(), p.buffer).footprint(shape.size());
  }
};

template <class Port>
class DoublingExchange : public PiecewiseTransfer<Port> {
 public:
  using PiecewiseTransfer<Port>::boxes;
  using PiecewiseTransfer<Port>::scratch;
  using PiecewiseTransfer<Port>::shown;

  /// `copied`: load_store copies what it reads, and combines the copy.
  DoublingExchange(const Setup& setup, TransferWay transfer, int buffer, bool copied = false)
      : PiecewiseTransfer<Port>(setup, DoublingExchangeMemory::of(transfer, setup.size(), buffer)),
        fold(setup.size()),
        rank(setup.rank),
        copied_(copied) {}

  void operator()(Port& port, const Call& call) {
    (*this)(port, call, [&](const Operator& op, const PieceArrays& a) { load_store(port, op, a); });
  }
  /// With another way to load and store.
  template <class LoadStore>
  void operator()(Port& port, const Call& call, LoadStore load_store) {
    PiecewiseTransfer<Port>::operator()(
        port, call,
        [&](const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
          put_get(port, op, send, receive, count, n);
        },
        load_store);
  }

  // The value is copied into a box of the receiver, one for each step and two cells deep. Implied credit: no
  // rank ends a piece before all have begun it (PutBoxes).
  void put_get(Port& port, const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
    const std::size_t bytes = count * op.element_bytes;
    const int side = fold.steps();
    if (fold.folded(rank)) {
      boxes.put(port, rank + 1, side, n, send, bytes);
      port.move(receive, boxes.await(port, rank, side, n, rank + 1), bytes);
      return;
    }
    Data mine = send;
    if (fold.carries(rank)) {
      port.combine(op, receive, boxes.await(port, rank, side, n, rank - 1), mine, count);
      mine = receive;
    }
    int box = 0;
    for (const DoublingStep& step : steps) {
      boxes.put(port, step.to, box, n, mine, bytes);
      const Data theirs = boxes.await(port, rank, box, n, step.from);
      combine_sides(port, op, receive, mine, theirs, step.theirs_first, count);
      mine = receive;
      ++box;
    }
    if (fold.carries(rank)) boxes.put(port, rank - 1, side, n, receive, bytes);
  }

  // Values are read where they lie, or copied first (copied_), alternately in two buffers; within reach, the
  // first is read in the sender's array and the last made in the receiver's.
  //
  // (1) A buffer is written again two values later, when its reader has said that it is done.
  // (2) A rank that has ended a piece has heard this from all its readers, so nothing that is read lies in
  //     memory that the caller has got back.
  // (3) In place, the last value overwrites the first. With a single step both would be in flight: the first
  //     is copied.
  void load_store(Port& port, const Operator& op, const PieceArrays& a) {
    const int last = fold.steps() - 1;
    const int side = fold.steps();
    if (fold.folded(rank)) return load_store_folded(port, shown, side, a, scratch.get(port, 0), rank + 1);
    Data mine = a.send;
    int next = 1;
    ShownPlaces aside;
    if (fold.carries(rank)) {
      aside = shown.look(port, rank - 1, side, a.number);
      const Data value = scratch.get(port, 0);
      if (copied_) port.move(value, aside.read, a.bytes);
      port.combine(op, value, copied_ ? value : aside.read, mine, a.count);
      mine = value;
    } else if (!a.send_direct || (a.send == a.receive && last == 0)) {
      mine = scratch.get(port, 0);
      port.move(mine, a.send, a.bytes);
    }
    for (int s = 0; s <= last; ++s) {
      const DoublingStep& step = steps.data()[static_cast<std::size_t>(s)];
      shown.show(port, s, a.number, mine, mine);
      const Data theirs = shown.look(port, step.from, s, a.number).read;
      // What the new value overwrites was shown in the step before.
      if (s > 0) await_reader(port, s - 1, a.number);
      const Data value = s == last ? a.receive : scratch.get(port, next);
      if (copied_) {
        port.move(value, theirs, a.bytes);
        shown.done(port, step.from, s, a.number);
        combine_sides(port, op, value, mine, value, step.theirs_first, a.count);
      } else {
        combine_sides(port, op, value, mine, theirs, step.theirs_first, a.count);
        shown.done(port, step.from, s, a.number);
      }
      mine = value;
      next = 1 - next;
    }
    if (fold.carries(rank)) {
      port.move(aside.write, mine, a.bytes);
      shown.done(port, rank - 1, side, a.number);
    }
    await_reader(port, last, a.number);
  }

  Fold fold;
  AlignedVector<DoublingStep> steps;
  int rank;

 private:
  void await_reader(Port& port, int step, std::uint64_t number) {
    shown.await_done(port, step, number, steps.data()[static_cast<std::size_t>(step)].to);
  }

  bool copied_;
};

}  // namespace phicoll
