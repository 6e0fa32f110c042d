#pragma once

// What a collective does, counted: the same algorithm source runs on a port that counts instead of measuring.
// Counts are exact, deterministic and independent of the machine; docs/counting.md defines them with a worked
// example.
//
// All ranks enter a call together, in rank order. Each runs until it waits for a condition that does not hold
// yet; ranks continue in the order in which their conditions came to hold. A call begins when all ranks have
// left the last one. Two uncounted calls bring the flags into their steady state.

#include <cstdint>

namespace phicoll {

// Notifications are stores for others: each signal, and each other store or read-modify-write whose value
// another rank obtained in the same call. An edge leads from the writer of a word to a rank that obtained it
// in the same call, by a wait that it ended, a load or a read-modify-write; a wait's unsuccessful look adds
// none.
//
// Rounds: the edges on the longest path in time. Longest chain: the same with each notification counting one,
// so that one rank's signals, and read-modify-writes of one word, follow one another.

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
