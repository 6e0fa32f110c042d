#pragma once

// The time of giving a CPU to another rank on it: ranks that share one CPU pass a word from each to the next,
// and yield until it comes. Beyond the yields a hand-over is a load and a store in the cache of that CPU.
// Source: phicoll's own; the papers have a hardware context for each rank.

#include "phicoll/kernels/hand_over.hpp"
#include "phicoll/kernels/kernel_run.hpp"

namespace phicoll {
namespace kernels {

struct Switch {
  static KernelFacts facts() {
    return {"switch", "phicoll", "Ranks of one CPU that hand a word on by yielding.",
            "rank 0: `turns` times round all ranks, by the hand-overs in it"};
  }

  struct Parameters {
    int turns = 16;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    v.integer("turns", p.turns, 1, 1 << 16, "times that the word goes round in a sample");
  }

  static const char* ranks_allowed(const Parameters&, int ranks) {
    return ranks >= 2 ? nullptr : "2 or more: ranks that share a CPU";
  }
  static std::size_t footprint(const Parameters&, int) { return page_bytes; }
  static const char* where(const Parameters&) { return "same-cpu"; }
  static int per_sample(const Parameters& p, int ranks) { return p.turns * ranks; }
  static std::size_t bytes(const Parameters&) { return 0; }

  // No meeting between two samples: the word brings the ranks together, and a rank that polled at a meeting
  // without yielding would keep the others from coming to it.
  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    constexpr std::uint64_t warm_up = 8;
    Word<std::uint64_t>& word = reinterpret_cast<Strided<CounterLine>*>(run.memory)->value.word;
    const auto turns = static_cast<std::uint64_t>(p.turns);
    const auto ranks = static_cast<std::uint64_t>(run.ranks);
    hand_on<YieldLook>(port, word, run.rank, run.ranks, 0, warm_up);
    std::uint64_t at = warm_up * ranks;
    for (int s = 0; s < run.samples; ++s, at += turns * ranks) {
      // From rank 0's turn to its turn again: the last rank has handed the word on to it when it begins.
      while (run.rank == 0 && port.load_acquire(word) != at) YieldLook::turn(port);
      const std::int64_t begin = port.ticks();
      hand_on<YieldLook>(port, word, run.rank, run.ranks, at, turns);
      while (run.rank == 0 && port.load_acquire(word) != at + turns * ranks) YieldLook::turn(port);
      if (run.rank == 0) samples.ticks.push_back(port.ticks() - begin);
    }
  }
};

}  // namespace kernels
}  // namespace phicoll
