#pragma once

// Large data from one of two ranks to the other: through the caller's cells, or by one copy that both make
// together (rooted_copy.hpp). Data that the reader can load is copied together where the caller's `direct`
// says so, other data where that was faster lately. The reader times both ways (copy_ways.hpp), from the
// first message on, and states in a word of its own which it wants for each size. The sender reads the word
// when it begins a call, and its first message says which way it takes, so a stale word does no harm.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/rooted_copy.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

/// The parameter of algorithms that can do so.
template <class Visitor>
void describe_once(Visitor& visitor, int& once) {
  visitor.integer("once", once, 0, 1,
                  "whether two ranks copy blocks of 1 MB and more together: those that `direct` leaves in "
                  "place, and by the "
                  "kernel others where that was faster lately; and whether `put` counts");
}
inline std::size_t faster_copy_footprint(int ranks, int once) {
  return once == 0
             ? 0
             : exposures_footprint(ranks) + static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>);
}

// Blocks on their way to a root, of one size that all know, may be copied together by any number of ranks if
// loads and stores reach both them and the root's buffer (`joins`). A sender of such a block first looks up
// the root's buffer, and its first message says what it does. The root publishes its buffer in every call
// with such blocks, so all count calls alike.
template <class Port>
class FasterCopy {
 public:
  /// `to_root`: whether blocks go to the root or from it. `joins`: from how many bytes on any ranks' blocks
  /// may be copied together; 0: never, but see `chooses`.
  FasterCopy(const Setup& setup, std::size_t offset, int once, bool to_root, int joins = 0)
      : copy_(setup, offset, piece, to_root),
        wanted_(setup.at<Strided<CounterLine>>(offset + exposures_footprint(setup.size()))),
        chooses_(once != 0 && setup.size() == 2),
        joins_(once == 0 || joins == 0 ? SIZE_MAX : static_cast<std::size_t>(joins)),
        rank_(setup.rank) {}

  /// Whether data of this size goes either way.
  bool chooses(std::size_t bytes) const { return chooses_ && bytes >= CopyWays::least_block; }
  /// Whether the root begins a call with blocks of this size by `begin_root`.
  bool begins(std::size_t bytes) const { return chooses(bytes) || joins(bytes); }
  /// Whether blocks of this size are copied together if both buffers are in reach.
  bool joins(std::size_t bytes) const { return bytes >= joins_; }
  /// On the sender: whether both copy it. `direct`: whether loads reach it, and it is best left in place.
  bool together(Port& port, Data data, std::size_t bytes, bool direct) const {
    if (!begins(bytes)) return false;
    return direct || (chooses(bytes) && !port.reachable(data, bytes) && port.exposable(data, bytes) &&
                      (port.load_relaxed(wanted_[1 - rank_].value.word) & bit_of(bytes)) != 0);
  }
  /// On the reader: notes how long the data took from its first message on; where that was tells the way.
  /// Data in reach has only one way.
  void took(Port& port, MessagePlace place, std::size_t bytes, std::int64_t ns) {
    if (place == MessagePlace::in_reach) return;
    ways_.took(place == MessagePlace::beyond_reach, bytes, ns);
    const std::uint64_t others = wants_ & ~bit_of(bytes);
    const std::uint64_t wants = ways_.copy_once(bytes) ? others | bit_of(bytes) : others;
    if (wants != wants_) port.store_relaxed(wanted_[rank_].value.word, wants);
    wants_ = wants;
  }

  /// @name On the root: where the other rank's block is or goes. It may be copied from `begin_root` on. A
  /// root that does not know yet which way a block comes may begin and not end, if the other rank calls
  /// `skip` instead of `exchange`. @{
  void begin_root(Port& port, std::uint64_t tag, Data block, std::size_t bytes) {
    copy_.begin_root(port, tag, block, bytes);
  }
  void end_root(Port& port, Data block, std::size_t bytes) {
    copy_.serve(port, 1 - rank_, block, 0, bytes);
    copy_.end_root(port);
  }
  /// @}
  /// On the other rank: copies its block.
  void exchange(Port& port, std::uint64_t tag, int root, Data block, std::size_t bytes) {
    copy_.exchange(port, tag, root, block, 0, bytes);
  }
  void skip() { copy_.skip(); }
  /// @name The parts of `end_root` and `exchange`, for ranks that decide between them, and blocks that are
  /// parts of what the root began with. @{
  void serve(Port& port, int r, Data buffer, std::size_t offset, std::size_t bytes) {
    copy_.serve(port, r, buffer, offset, bytes);
  }
  void finish_root(Port& port) { copy_.finish_root(port); }
  void await_end(Port& port, int r) { copy_.await_end(port, r); }
  Exposed begin(Port& port, std::uint64_t tag, int root, Data block, std::size_t bytes) {
    return copy_.begin(port, tag, root, block, bytes);
  }
  void copy(Port& port, int root, const Exposed& theirs, Data block, std::size_t offset, std::size_t bytes) {
    copy_.copy(port, root, theirs, block, offset, bytes);
  }
  /// @}

 private:
  /// Bytes that one side copies at a time.
  static constexpr std::size_t piece = std::size_t{64} << 10;

  static std::uint64_t bit_of(std::size_t bytes) { return std::uint64_t{1} << CopyWays::size_class(bytes); }

  RootedCopy<Port> copy_;
  Strided<CounterLine>* wanted_;  // by each rank: a bit for each size
  std::uint64_t wants_ = 0;       // this one
  CopyWays ways_{8};              // a group may be short-lived, and one copy may take three times as long
  bool chooses_;
  std::size_t joins_;
  int rank_;
};

}  // namespace phicoll
