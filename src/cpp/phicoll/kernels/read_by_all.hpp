#pragma once

// All ranks copy into private buffers at the same time: one line (or several) of one root, or lines of one
// another. Source: 000 section IV (figures 2, 3 and 4): a barrier before every access, 1,000 accesses. What
// is read has been written by its owner before every access; without that every access but the first would
// hit the reader's own cache. The instructions around a copy are those of 004's contention test.

#include "phicoll/kernels/draw.hpp"
#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/meeting.hpp"

namespace phicoll {
namespace kernels {

struct ReadByAll {
  static KernelFacts facts() {
    return {"read-by-all", "panigrahi-2014, section IV",
            "Ranks that read one line of a root, or distinct lines of one another, at the same time.",
            "one reader's own time from the common start to the end of its copy"};
  }

  enum class Pattern : unsigned char { root, next, second, fours };
  struct Parameters {
    Pattern pattern = Pattern::root;
    LineState state = LineState::modified;
    int lines = 1;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    v.choice("pattern", p.pattern, {"root", "next", "second", "fours"},
             "whose lines rank i copies: rank 0's, i + 1's (I), i + 2's (II), i + 2's within each four ranks "
             "(III)");
    describe_state(v, "state", p.state,
                   "state of the lines in their owner's cache; S, F: the owner's next rank holds them too");
    v.integer("lines", p.lines, 1, 1 << 16, "lines of 64 bytes that a rank copies");
  }

  static const char* ranks_allowed(const Parameters&, int ranks) {
    return ranks >= 2 ? nullptr : "2 or more: readers and whom they read from";
  }
  static std::size_t footprint(const Parameters& p, int ranks) {
    return Meeting::footprint(ranks) + static_cast<std::size_t>(ranks) * (pool_bytes(p) + private_bytes(p));
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters&, int) { return 1; }
  static std::size_t bytes(const Parameters& p) {
    return static_cast<std::size_t>(p.lines) * arch::line_bytes;
  }

  /// The rank whose lines `rank` copies; -1: none (the root of one line). A last group of less than four
  /// turns within itself, and one rank alone reads its neighbour's.
  static int source(Pattern pattern, int rank, int ranks) {
    const int group = rank / 4 * 4;
    const int members = ranks - group < 4 ? ranks - group : 4;
    switch (pattern) {
      case Pattern::root:
        return rank == 0 ? -1 : 0;
      case Pattern::next:
        return (rank + 1) % ranks;
      case Pattern::second:
        return ranks == 2 ? 1 - rank : (rank + 2) % ranks;
      case Pattern::fours:
        if (members == 1) return (rank + 1) % ranks;
        return group + (rank - group + (members == 2 ? 1 : 2)) % members;
    }
    return -1;
  }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    const auto lines = static_cast<std::size_t>(p.lines);
    const int source = ReadByAll::source(p.pattern, run.rank, run.ranks);
    const bool owns = p.pattern != Pattern::root || run.rank == 0;
    const int before = (run.rank + run.ranks - 1) % run.ranks;
    const bool helps = has_two_holders(p.state) && (p.pattern == Pattern::root ? run.rank == 1 : true);
    unsigned char* const mine = run.memory + Meeting::footprint(run.ranks) +
                                static_cast<std::size_t>(run.ranks) * pool_bytes(p) +
                                static_cast<std::size_t>(run.rank) * private_bytes(p);
    for (int s = 0; s < run.samples; ++s) {
      const auto mark = static_cast<std::uint64_t>(s) + 1;
      meeting.meet(port);
      if (owner_begins(p.state) ? owns : helps) {
        unsigned char* const begun = buffer(p, run, s, owner_begins(p.state) ? run.rank : before);
        write_lines(port, begun, lines, mark);
        hold_lines(port, begun, lines, p.state);
      }
      if (source >= 0) {
        // The private buffer stays in its owner's cache.
        write_lines(port, mine, lines, 0);
        port.fence();
      }
      if (has_two_holders(p.state)) {
        meeting.meet(port);
        if (p.state == LineState::shared ? helps : owns)
          share_lines(port, buffer(p, run, s, p.state == LineState::shared ? before : run.rank), lines);
      }
      if (source < 0) {
        meeting.agree(port);
        continue;
      }
      unsigned char* const theirs = buffer(p, run, s, source);
      const std::int64_t begin = meeting.start(port, samples);
      port.software(Software::copy);
      port.copy(mine, theirs, lines * arch::line_bytes);
      port.fence();
      samples.ticks.push_back(port.ticks() - begin);
      if (count_wrong(port, mine, lines, mark) != 0) ++samples.wrong;
    }
  }

 private:
  static std::size_t pool_lines(const Parameters& p) {
    const auto lines = static_cast<std::size_t>(p.lines);
    return lines < 64 ? 128 : 2 * lines;
  }
  static std::size_t pool_bytes(const Parameters& p) { return whole_pages(pool_lines(p) * arch::line_bytes); }
  static std::size_t private_bytes(const Parameters& p) { return whole_pages(bytes(p)); }
  static unsigned char* buffer(const Parameters& p, const KernelRun& run, int sample, int rank) {
    const auto pool = static_cast<std::size_t>(rank);
    Draw draw(run.seed, static_cast<std::uint64_t>(sample), pool);
    return run.memory + Meeting::footprint(run.ranks) + pool * pool_bytes(p) +
           draw.below(pool_lines(p) - static_cast<std::size_t>(p.lines) + 1) * arch::line_bytes;
  }
};

}  // namespace kernels
}  // namespace phicoll
