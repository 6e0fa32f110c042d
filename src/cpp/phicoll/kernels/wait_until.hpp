#pragma once

// OpenSHMEM's point-to-point synchronisation, there and back, by all pairs at the same time: a rank stores a
// number in its partner's word by p, and waits by wait_until for the partner's number in its own word. A
// library's call costs `call` ticks before the store and before the wait; the latter are hidden while the
// answer is under way.

#include "phicoll/kernels/exchange.hpp"
#include "phicoll/kernels/one_sided.hpp"

namespace phicoll {
namespace kernels {

struct WaitUntil {
  static KernelFacts facts() {
    return {"wait-until", "OpenSHMEM 1.5, section 9.10", "Pairs of ranks: p and wait_until, there and back.",
            "half of a round trip, the mean of `turns`"};
  }

  struct Parameters {
    int call = 0;
    int turns = 1;
    Pairing pattern = Pairing::across;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_call(v, p.call);
    v.integer("turns", p.turns, 1, 4096, "round trips in a sample");
    describe_pairing(v, p.pattern);
  }

  static const char* ranks_allowed(const Parameters& p, int ranks) {
    return Exchange::ranks_allowed(p.pattern, ranks);
  }
  static std::size_t footprint(const Parameters&, int ranks) {
    return Meeting::footprint(ranks) + whole_pages(static_cast<std::size_t>(ranks) * sizeof(Strided<Flag>));
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters& p, int) { return 2 * p.turns; }
  static std::size_t bytes(const Parameters&) { return 0; }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    const int partner = partner_of(p.pattern, run.rank, run.ranks);
    const bool first = run.rank < partner;
    auto* const flags = reinterpret_cast<Strided<Flag>*>(run.memory + Meeting::footprint(run.ranks));
    Word<std::uint64_t>& mine = flags[run.rank].value.word;
    Word<std::uint64_t>& theirs = flags[partner].value.word;
    std::uint64_t turn = 0;
    const auto turns = static_cast<std::uint64_t>(p.turns);
    for (int s = 0; s < run.samples; ++s) {
      if (first)
        meeting.start(port, samples);
      else
        meeting.agree(port);
      const std::int64_t begin = port.ticks();
      for (const std::uint64_t end = turn + turns; turn < end;) {
        ++turn;
        if (first) tell(port, p.call, theirs, turn);
        call_library(port, p.call);
        if (port.wait(mine, at_least(turn), partner) != turn) ++samples.wrong;
        if (!first) tell(port, p.call, theirs, turn);
      }
      if (first) samples.ticks.push_back(port.ticks() - begin);
    }
  }

 private:
  using Flag = SoleWriterLine<std::uint64_t>;

  template <class Port>
  static void tell(Port& port, int call, Word<std::uint64_t>& word, std::uint64_t turn) {
    call_library(port, call);
    port.signal(word, turn);
  }
};

}  // namespace kernels
}  // namespace phicoll
