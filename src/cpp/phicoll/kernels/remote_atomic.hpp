#pragma once

// OpenSHMEM's atomics on a word of another rank, by all pairs at the same time. A rank has one operation
// under way at a time. A library's call around it costs `call` ticks. The operation itself is a locked
// instruction on the word, natively and on the Xeon Phi; fetch is a load and set a store.

#include "phicoll/kernels/exchange.hpp"
#include "phicoll/kernels/one_sided.hpp"

namespace phicoll {
namespace kernels {

struct RemoteAtomic {
  static KernelFacts facts() {
    return {"atomic", "OpenSHMEM 1.5, section 9.8",
            "Pairs of ranks: atomic operations on a word of another rank.",
            "the time of `transfers` operations / `transfers`"};
  }

  enum class Operation : unsigned char { fetch_add, compare_swap, swap, set, fetch };
  enum class On : unsigned char { partner, shared, root };
  struct Parameters {
    Operation operation = Operation::fetch_add;
    On on = On::partner;
    int call = 0;
    int transfers = 1;
    Pairing pattern = Pairing::across;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    v.choice("operation", p.operation, {"fetch-add", "compare-swap", "swap", "set", "fetch"},
             "compare-swap expects the value seen last and stores one more");
    v.choice(
        "on", p.on, {"partner", "shared", "root"},
        "the lower rank of a pair on its partner's word; both ranks on that word; all ranks on one word");
    describe_call(v, p.call);
    v.integer("transfers", p.transfers, 1, 4096, "operations in a sample, one after another");
    describe_pairing(v, p.pattern);
  }

  static const char* ranks_allowed(const Parameters& p, int ranks) {
    return Exchange::ranks_allowed(p.pattern, ranks);
  }
  static std::size_t footprint(const Parameters&, int ranks) {
    return Meeting::footprint(ranks) + whole_pages(static_cast<std::size_t>(ranks) * 2 * page_bytes);
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters& p, int) { return p.transfers; }
  static std::size_t bytes(const Parameters&) { return 0; }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    const int partner = partner_of(p.pattern, run.rank, run.ranks);
    const int owner = p.on == On::root ? 0 : std::max(run.rank, partner);
    const bool operates = p.on != On::partner || run.rank < partner;
    DataWord& target = word(run, owner, false);
    DataWord& successes = word(run, run.rank, true);
    // The first round is not a sample: it brings the lines to where operations leave them.
    for (int s = 0; s <= run.samples; ++s) {
      const std::uint64_t start = (static_cast<std::uint64_t>(s) + 1) << 32;
      if (run.rank == owner) port.store_relaxed(target, start);
      port.fence();
      std::uint64_t seen = start;
      std::uint64_t done = 0;
      if (operates) {
        meeting.start(port, samples);
        const std::int64_t begin = port.ticks();
        for (int i = 0; i < p.transfers; ++i) {
          call_library(port, p.call);
          done += operate(port, p.operation, target, seen, start) ? 1 : 0;
        }
        const std::int64_t end = port.ticks();
        if (s != 0) samples.ticks.push_back(end - begin);
      } else {
        meeting.agree(port);
      }
      port.store_relaxed(successes, done);
      meeting.meet(port);
      if (seen >> 32 != start >> 32)
        ++samples.wrong;  // an operation returned what was not in this round's word
      if (run.rank != owner) continue;
      std::uint64_t expected = start;
      for (int r = 0; r < run.ranks; ++r)
        if (p.on == On::root || r == owner || r == partner) expected += port.load_relaxed(word(run, r, true));
      if (port.load_relaxed(target) != expected) ++samples.wrong;
    }
  }

 private:
  /// Whether the word was raised by one; `seen` is what was in it last, as far as this rank knows.
  template <class Port>
  static bool operate(Port& port, Operation operation, DataWord& target, std::uint64_t& seen,
                      std::uint64_t start) {
    switch (operation) {
      case Operation::fetch_add:
        seen = port.fetch_add(target, std::uint64_t{1});
        return true;
      case Operation::compare_swap: {
        std::uint64_t expected = seen;
        const bool swapped = port.compare_exchange(target, expected, seen + 1);
        seen = swapped ? seen + 1 : expected;
        return swapped;
      }
      case Operation::swap:
        seen = port.exchange(target, start);
        return false;
      case Operation::set:
        port.store_relaxed(target, start);
        return false;
      case Operation::fetch:
        seen = port.load_relaxed(target);
        return false;
    }
    return false;
  }

  /// `rank`'s word that is operated on, or with `raised` how often `rank` raised one: a page each, so that no
  /// two share a line.
  static DataWord& word(const KernelRun& run, int rank, bool raised) {
    return *reinterpret_cast<DataWord*>(run.memory + Meeting::footprint(run.ranks) +
                                        (static_cast<std::size_t>(rank) * 2 + (raised ? 1 : 0)) * page_bytes);
  }
};

}  // namespace kernels
}  // namespace phicoll
