#pragma once

// What a collective does, counted: the same algorithm source runs on a port which counts instead of measuring. Counts are
// exact, deterministic and independent of the machine; docs/counting.md has a worked example.
//
// All ranks enter a call together, in rank order. Each runs until it waits for a condition that does not hold yet;
// ranks go on in the order in which their conditions came to hold. A call begins when all have left the last one. Flags
// are in their steady state: two calls pass before the counted one.
//
// A *notification* is a store for others: every executed signal, signal_add and signal_or, and every other store or
// read-modify-write whose value another rank obtained in the same call (of a counter's arrivals, all but the last). A
// whole-line store is one notification, however many flags lie in the line.
//
// An *edge* leads from a rank that wrote a word to a rank that obtained it in the same call, by a wait that it ended, a
// load or a read-modify-write. The same value of the same word, obtained twice by one rank, is one edge. A look of a wait
// that has to go on is none.
//
// *Rounds* is the number of edges on the longest path through ranks in time: a rank's writes come after what it obtained
// before. Read-modify-writes of one word are simultaneous arrivals: a rank that obtains the word is one edge after each of
// them, and none of them is after another. A read-modify-write whose result the algorithm discards tells the rank nothing
// and adds no edge to its path.
//
// *Longest chain* is the longest path on which every notification counts one: a rank's signals follow one another, and
// read-modify-writes of one word queue.

#include <cstdint>

namespace phicoll {

/// One call, made once by each rank.
struct Counts {
  std::int64_t rounds = 0;
  std::int64_t longest_chain = 0;
  std::int64_t notifications = 0;
  std::int64_t edges = 0;
  std::int64_t edges_between_cpus = 0;   ///< whose ranks are not on one hardware context
  std::int64_t edges_between_cores = 0;  ///< the same for cores, caches and memory nodes
  std::int64_t edges_between_l3 = 0;
  std::int64_t edges_between_numa = 0;
  std::int64_t lines_written = 0;  ///< distinct 64-byte lines
  // Of message data. What travels in a word beside its flag is a notification and no data.
  std::int64_t transfers = 0;      ///< moves and combinations that algorithms asked for, however long
  std::int64_t bytes_read = 0;     ///< by all ranks
  std::int64_t bytes_written = 0;  ///< likewise
  /// Of the bytes read those that another rank had written or owns, and of the bytes written those in another
  /// rank's own memory.
  std::int64_t bytes_between = 0;
  std::int64_t combined = 0;  ///< elements that operators computed
  /// The most crossings between ranks on the way to any written byte: the steps of the longest chain of data,
  /// whatever the number of pieces.
  std::int64_t steps = 0;
  /// Edges of waits whose `from` named another rank than the one that wrote: 0, or the algorithm has a bug.
  std::int64_t wrong_hints = 0;

  friend bool operator==(const Counts& a, const Counts& b) {
    return a.rounds == b.rounds && a.longest_chain == b.longest_chain && a.notifications == b.notifications &&
           a.edges == b.edges && a.edges_between_cpus == b.edges_between_cpus &&
           a.edges_between_cores == b.edges_between_cores && a.edges_between_l3 == b.edges_between_l3 &&
           a.edges_between_numa == b.edges_between_numa && a.lines_written == b.lines_written &&
           a.transfers == b.transfers && a.bytes_read == b.bytes_read && a.bytes_written == b.bytes_written &&
           a.bytes_between == b.bytes_between && a.combined == b.combined && a.steps == b.steps &&
           a.wrong_hints == b.wrong_hints;
  }
};

}  // namespace phicoll
