#pragma once

// Rings of cells through which ranks publish pieces of data in lockstep. A cell holds a sequence number, the
// call's tag and the payload, so that a single line carries a whole small message.
//
// Steps count from 0, alike on all ranks, since all make the same calls with the same counts. Step t uses
// cell t mod `cells` of its writer's ring. Which store makes what visible to whom stands in steps (1) to (5)
// below.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/direct.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

enum class Credit : unsigned char { acknowledged, implied };

/// The default limit for all rings of one algorithm together. A group's region then holds a dozen algorithms;
/// the least recently used ones make room for others.
///
/// With few ranks, rings are longer than a rank's cache: by the time a cell is written again, its lines have
/// left its readers' caches, and taking them back is cheap (docs/bench/behind-the-code.md).
constexpr std::size_t rings_bytes = std::size_t{4} << 20;
/// rings_bytes and room for the heads of the cells.
constexpr std::size_t rings_most = rings_bytes + (std::size_t{1} << 18);

/// How a piece for rank `to` is stored now, if the shape says `usual`.
template <class Port>
inline Stores stores_now(const Port& port, Stores usual, int to) {
  return usual == Stores::handed_over && port.beside(to) ? Stores::cached : usual;
}

/// How a piece for one reader is stored into a cell: a reader on the same CPU finds it in the cache.
inline Stores piece_stores(const Shape& shape, int from, int to) {
  return shape.share_cpu(from, to) ? Stores::cached : Stores::handed_over;
}
/// How a piece that all other ranks read is stored into a cell.
inline Stores piece_stores(const Shape& shape, int from) {
  for (int r = 0; r < shape.size(); ++r)
    if (!shape.share_cpu(from, r)) return Stores::handed_over;
  return Stores::cached;
}

/// What precedes every cell's payload.
struct CellHead {
  Word<std::uint64_t> sequence;
  Word<std::uint64_t> tag;  ///< Call::tag
};

/// Two ranks' pieces of more than a line with their head, up to so many bytes, travel in one go: a reader
/// asks for all their lines while it waits. Larger pieces would be taken from a writer that is not done with
/// them. Figures: docs/bench/behind-the-code.md.
constexpr std::size_t behind_head = arch::line_bytes - sizeof(CellHead) + 1;  // the smallest such piece
constexpr std::size_t together_bytes = 256;

/// A cell whose piece stays in its writer's memory. `room`: where the others may put theirs, if the algorithm
/// asks.
struct DirectCell {
  CellHead head;
  ExposedWords payload;
  ExposedWords room;
};

/// Payloads of at least this many bytes begin at a line, because only whole lines can bypass the caches. The
/// number is the same on every machine, so that simulated layouts do not depend on the host.
constexpr std::size_t apart_bytes = 1024;

inline std::size_t cell_stride(std::size_t bytes) {
  const std::size_t head = bytes >= apart_bytes ? arch::line_bytes : sizeof(CellHead);
  return arch::whole_strides(head + bytes);
}
static_assert(sizeof(DirectCell) <= arch::stride_bytes, "any cell has room for a handle");

/// Where a piece lies in its cell of `bytes`. A piece that fills only a part of its cell uses a different
/// part in each turn of the ring, so that in bytes the ring is as long for it as for whole pieces (see
/// rings_bytes).
inline std::size_t payload_at(std::size_t bytes, std::uint64_t turn, std::size_t piece) {
  if (piece < apart_bytes) return sizeof(CellHead);
  const std::size_t room = arch::whole_lines(piece);
  std::size_t parts = 1;
  while (parts * room * 2 <= bytes) parts *= 2;
  return arch::line_bytes + static_cast<std::size_t>(turn & (parts - 1)) * room;
}

/// Bytes of Cells with `bytes` of payload each. `rings` is 1 (ranks write the steps of one ring in turn) or
/// the number of ranks (each has its own).
inline std::size_t cells_footprint(int ranks, int rings, int cells, std::size_t bytes) {
  return static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>) +
         static_cast<std::size_t>(rings) * static_cast<std::size_t>(cells) * cell_stride(bytes);
}

/// The largest number of cells that fit into `most` bytes: at most `wanted`, and two or more unless `wanted`
/// is one.
inline int cells_within(int ranks, int rings, int wanted, std::size_t bytes, std::size_t most = rings_most) {
  while (wanted > 2 && cells_footprint(ranks, rings, wanted, bytes) > most)
    wanted = wanted / 2 > 2 ? wanted / 2 : 2;
  return wanted;
}

/// The parameter `cells` of algorithms that can do with one cell a rank (5 above).
template <class Visitor>
void describe_cells(Visitor& visitor, int& cells) {
  visitor.integer(
      "cells", cells, 1, 4096,
      "cells of a rank, used in turn; 1 (two ranks only): each rank next writes where it has just read");
}

/// Limits one ring per rank: fewer cells first, then smaller ones, down to `least` bytes. One cell is for two
/// ranks only.
inline void limit_cells(int ranks, int& cells, int& bytes, int least) {
  if (ranks != 2 && cells < 2) cells = 2;
  cells = cells_within(ranks, ranks, cells, static_cast<std::size_t>(bytes));
  while (bytes / 2 >= least &&
         cells_footprint(ranks, ranks, cells, static_cast<std::size_t>(bytes)) > rings_most)
    bytes /= 2;
}

/// The cell of a ring that a step uses, and the number of turns before it. A division takes as long as the
/// rest of a small message; rings of 2^k cells need none.
class Turns {
 public:
  explicit Turns(int cells) : cells_(static_cast<std::uint64_t>(cells)) {
    PHICOLL_ASSERT(ThisBuild, cells >= 0, "a ring of " + std::to_string(cells) + " cells");
    while ((std::uint64_t{1} << shift_) < cells_) ++shift_;
    power_of_two_ = (std::uint64_t{1} << shift_) == cells_;
  }
  std::uint64_t cells() const { return cells_; }
  std::uint64_t cell(std::uint64_t step) const {
    return __builtin_expect(power_of_two_, 1) ? step & (cells_ - 1) : step % cells_;
  }
  std::uint64_t turn(std::uint64_t step) const {
    return __builtin_expect(power_of_two_, 1) ? step >> shift_ : step / cells_;
  }

 private:
  std::uint64_t cells_;
  unsigned shift_ = 0;
  bool power_of_two_ = true;
};

template <class Port>
class Cells {
 public:
  /// `direct`: see describe_direct.
  Cells(const Setup& setup, std::size_t offset, int rings, int cells, std::size_t bytes, Credit credit,
        const DirectParameters& direct = DirectParameters())
      : finished_(setup.at<Strided<CounterLine>>(offset)),
        memory_(setup.memory + offset +
                static_cast<std::size_t>(setup.size()) * sizeof(Strided<CounterLine>)),
        ring_bytes_(rings == 1 ? 0 : static_cast<std::size_t>(cells) * cell_stride(bytes)),
        stride_(cell_stride(bytes)),
        bytes_(bytes),
        turns_(cells),
        half_(cells / 2),
        ranks_(setup.size()),
        rank_(setup.rank),
        hint_(setup.hint()),
        credit_(credit),
        swaps_(cells == 1 && setup.size() == 2),
        direct_(direct),
        // Swapped cells: their lines are in this rank's cache already.
        stores_(swaps_ ? Stores::cached : piece_stores(setup.shape, setup.rank)) {
    PHICOLL_ASSERT(Port, rings == 1 || rings == ranks_,
                   std::to_string(rings) + " rings of cells for " + std::to_string(ranks_) + " ranks");
    PHICOLL_ASSERT(Port, cells >= 2 || (cells == 1 && (ranks_ <= 2 || rings == 1)),
                   "too few cells to be written in turns: " + std::to_string(cells));
    PHICOLL_ASSERT(Port, reinterpret_cast<std::uintptr_t>(finished_) % arch::line_bytes == 0,
                   "cells that begin inside a line, at byte " + std::to_string(offset));
    for (int r = 0; r < ranks_; ++r)
      stores_to_.push_back(swaps_ ? Stores::cached : piece_stores(setup.shape, rank_, r));
  }

  std::size_t bytes() const { return bytes_; }
  /// How pieces that all others read are best stored into cells.
  Stores stores() const { return stores_; }
  /// How pieces that only rank `to` reads are best stored into cells.
  Stores stores(const Port& port, int to) const {
    return stores_now(port, stores_to_[static_cast<std::size_t>(to)], to);
  }

  /// Whether open() would not wait.
  bool opens(Port& port, std::uint64_t step) const {
    if (step < free_until_ || step < turns_.cells() || credit_ == Credit::implied) return true;
    for (int r = 0; r < ranks_; ++r)
      if (r != rank_ && port.load_acquire(finished_[r].value.word) < step - turns_.cells() + 1) return false;
    return true;
  }
  // (2) A cell is written again `cells` steps later. With Credit::acknowledged, `finish` stores with release
  //     how many steps a rank has read to their end, every cells/2 steps; `open` acquires that from every
  //     other rank once the last credit seen is used up: their loads come before the writer's stores.
  // (3) With Credit::implied, the algorithm ensures that no rank opens step t before all have finished step t
  //     - cells. With two cells that holds where every rank awaits every other's piece in every step.

  /// The payload of this rank's next cell, once it may be written. `piece` is its size in bytes, equal for
  /// all ranks that open or await it.
  Data open(Port& port, std::uint64_t step, std::size_t piece) {
    PHICOLL_ASSERT(Port, piece <= bytes_, acts("opens a cell that is too small", piece));
    if (step >= free_until_ && credit_ == Credit::acknowledged) wait_for_credit(port, step);
    return payload(port, rank_, step, piece);
  }
  // (1) Stores t + 1 with release after the tag and the payload. A rank that acquires it in `await` sees
  //     both. Numbers only grow, so nothing is ever reset.
  void publish(Port& port, std::uint64_t step, std::uint64_t tag) {
    CellHead* const head = head_of(rank_, step);
    port.store_relaxed(head->tag, tag);
    port.signal(head->sequence, step + 1);  // (1)
  }
  /// Whether this rank's pieces of a call, the `bytes` at `data`, stay in place. If so, publish them by
  /// publish_direct instead of open and publish, and do not overwrite them before `settle`.
  bool direct(Port& port, Data data, std::size_t bytes) const { return direct_(port, data, bytes, bytes); }
  [[gnu::noinline]] void publish_direct(Port& port, std::uint64_t step, std::uint64_t tag, Data piece) {
    PHICOLL_ASSERT(Port, bool(piece), acts("publishes unbound data", 0));
    if (step >= free_until_ && credit_ == Credit::acknowledged) wait_for_credit(port, step);
    reinterpret_cast<DirectCell*>(cell(rank_, step))->payload.store(port, port.expose(piece));
    publish(port, step, tag | direct_bit);
    given_ = true;
  }
  /// As above, and says where the others may put their pieces (nothing: nowhere).
  void publish_direct(Port& port, std::uint64_t step, std::uint64_t tag, Data piece, const Exposed& room) {
    if (step >= free_until_ && credit_ == Credit::acknowledged) wait_for_credit(port, step);
    reinterpret_cast<DirectCell*>(cell(rank_, step))->room.store(port, room);
    publish_direct(port, step, tag, piece);
  }
  /// Publishes a piece that all others read, in place or through a cell.
  [[gnu::always_inline]] void offer(Port& port, std::uint64_t step, std::uint64_t tag, Data from,
                                    std::size_t piece, bool direct) {
    if (direct) return publish_direct(port, step, tag, from);
    port.move(open(port, step, piece), from, piece, stores_);
    publish(port, step, tag);
  }
  /// What `writer` has published: its cell from byte `at` on, or a piece that stays in place from byte
  /// `direct_at` on. If the writer's call has another tag, this waits until the group finds the mismatch.
  Data await(Port& port, int writer, std::uint64_t step, std::uint64_t tag, std::size_t piece,
             std::size_t at = 0, std::size_t direct_at = 0) {
    PHICOLL_ASSERT(Port, writer >= 0 && writer < ranks_, acts("awaits a piece of no rank", 0));
    PHICOLL_ASSERT(Port, at <= piece, acts("looks behind the end of a piece", piece));
    CellHead* const head = head_of(writer, step);
    // Only on x86, where there is a gap between looks.
    if (arch::hand_over_bytes != SIZE_MAX && ranks_ == 2 && piece >= behind_head && piece <= together_bytes)
      port.wait_for_more(head->sequence, at_least(step + 1), hint_(writer),
                         reinterpret_cast<const unsigned char*>(head) + arch::line_bytes,
                         piece - behind_head + 1);
    else
      port.wait(head->sequence, at_least(step + 1), hint_(writer));
    const std::uint64_t theirs = port.load_relaxed(head->tag);
    if (__builtin_expect(theirs != tag, 0)) {
      if (theirs == (tag | direct_bit)) return take_direct(port, writer, step, direct_at);
      port.wait(head->tag, equal(tag));
    }
    return payload(port, writer, step, piece) + at;
  }
  /// How many pieces that stay in place this rank has awaited in this call.
  unsigned taken() const { return taken_; }
  /// The last such piece.
  const Exposed& taken_piece() const { return taken_piece_; }
  /// Where its writer has room for pieces of this rank's, if it says so.
  Exposed taken_room(Port& port) const {
    PHICOLL_ASSERT(Port, taken_cell_ != nullptr,
                   acts("asks for the room of a piece that it has not taken", 0));
    return taken_cell_->room.load(port);
  }
  /// Says that nobody reads this rank's piece in place any more, so `settle` need not wait.
  void take_back() { given_ = false; }
  /// Ends a call whose last step is `steps` - 1: this rank reads nothing more of it.
  void through(Port& port, std::uint64_t steps) {
    if (__builtin_expect(taken_ != 0, 0)) port.signal(finished_[rank_].value.word, steps);
    taken_ = 0;
  }
  // (4) A piece may stay in its writer's memory (direct.hpp); its cell then holds a handle. At the call's end
  //     each rank that has read such a piece stores with release up to which step it has read (`through`, in
  //     the word of 2).
  // (4a) The writer acquires that from all others here, unless it knows otherwise that all have read the
  //      piece (`take_back`): their loads come before whatever it stores after the call.
  // (4b) So every rank awaits all pieces of a rank that leaves one in place, wanted or not.

  /// Ends a call as `through` does, and waits until no other rank reads this rank's memory any more.
  void settle(Port& port, std::uint64_t steps) {
    if (__builtin_expect(given_ || taken_ != 0, 0)) settle_direct(port, steps);
  }
  /// Ends a step: this rank reads nothing more of it or of earlier ones.
  void finish(Port& port, std::uint64_t step) {
    if (credit_ == Credit::implied || half_.cell(step + 1) != 0) return;
    port.signal(finished_[rank_].value.word, step + 1);  // (2)
  }
  /// The payload of this rank's own published cell, for itself to read.
  Data own(Port& port, std::uint64_t step, std::size_t piece) { return payload(port, rank_, step, piece); }

 private:
  std::string acts(const char* how, std::size_t bytes) const {
    return "rank " + std::to_string(rank_) + " " + how +
           (bytes != 0 ? ", " + std::to_string(bytes) + " bytes" : "");
  }
  [[gnu::noinline]] Data take_direct(Port& port, int writer, std::uint64_t step, std::size_t at) {
    ++taken_;
    taken_cell_ = reinterpret_cast<DirectCell*>(cell(writer, step));
    taken_piece_ = taken_cell_->payload.load(port);
    return port.view(taken_piece_, at);
  }
  [[gnu::noinline]] void settle_direct(Port& port, std::uint64_t steps) {
    through(port, steps);
    for (int r = 0; given_ && r < ranks_; ++r)
      if (r != rank_) port.wait(finished_[r].value.word, at_least(steps), hint_(r));  // (4a)
    given_ = false;
  }
  // (5) Two ranks with one cell each and no credits swap cells at every step: each writes its piece of step t
  //     + 1 where it has just read its peer's piece of step t. The peer published that piece (1) and does not
  //     touch the cell again until it reads step t + 1 there.
  // (5a) So a rank writes without asking if it has read its peer's piece and never reads its own, which may
  //      be overwritten.
  // (5b) A line then moves between caches once a step; with fixed cells the writer would have to take it
  //      back.
  unsigned char* cell(int writer, std::uint64_t step) const {
    const auto ring = static_cast<std::uint64_t>(writer) ^ (swaps_ & step);
    return memory_ + static_cast<std::size_t>(ring) * ring_bytes_ +
           static_cast<std::size_t>(turns_.cell(step)) * stride_;
  }
  Data payload(Port& port, int writer, std::uint64_t step, std::size_t piece) const {
    // Ranks that swap cells put every piece at the same place, whose lines they have just read.
    const std::uint64_t turn = swaps_ != 0 ? 0 : turns_.turn(step);
    return port.shared(cell(writer, step) + payload_at(bytes_, turn, piece));
  }
  CellHead* head_of(int writer, std::uint64_t step) const {
    return reinterpret_cast<CellHead*>(cell(writer, step));
  }

  // Steps below `cells` are free from the start. Acknowledgements are multiples of cells/2, so one of at
  // least t - cells + 1 is certain to come before step t is opened.
  void wait_for_credit(Port& port, std::uint64_t step) {
    if (step < turns_.cells()) {
      free_until_ = turns_.cells();
      return;
    }
    std::uint64_t least = UINT64_MAX;
    for (int r = 0; r < ranks_; ++r) {
      if (r == rank_) continue;
      const std::uint64_t seen =
          port.wait(finished_[r].value.word, at_least(step - turns_.cells() + 1), hint_(r));
      if (seen < least) least = seen;
    }
    free_until_ = least == UINT64_MAX ? UINT64_MAX : least + turns_.cells();
  }

  Strided<CounterLine>* finished_;
  unsigned char* memory_;
  std::size_t ring_bytes_;
  std::size_t stride_;
  std::size_t bytes_;
  Turns turns_;
  Turns half_;
  int ranks_;
  int rank_;
  Hint hint_;
  Credit credit_;
  std::uint64_t swaps_;  // 1: two ranks that swap cells at every step, else 0
  bool given_ = false;   // whether a piece of this call stays in this rank's memory
  unsigned taken_ = 0;   // pieces in other ranks' memory that this rank awaited
  const DirectCell* taken_cell_ = nullptr;
  Exposed taken_piece_{0, 0, 0};
  Direct direct_;
  Stores stores_;
  AlignedVector<Stores> stores_to_;
  std::uint64_t free_until_ = 0;
};

}  // namespace phicoll
