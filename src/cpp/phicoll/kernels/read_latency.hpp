#pragma once

// The time of a read by the line's state and owner. Source: 004 section 1.3.1 (BenchIT's
// cache line transfers): pseudo-random lines within different pages, 32 reads a sample, each of which needs
// the one before. Rank 0 reads; the owner is rank 1 or rank 0 itself; a line in state S or F has the next
// rank as its other holder: S where that one read last, F where the owner did (MESIF's last reader answers).

#include "phicoll/kernels/draw.hpp"
#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/meeting.hpp"

namespace phicoll {
namespace kernels {

struct ReadLatency {
  static KernelFacts facts() {
    return {"read-latency", "ramos-hoefler-2013, section 1.3.1",
            "Reads of lines in a known state at a known place.",
            "the mean of `reads` dependent reads of lines in distinct pages"};
  }

  enum class Owner : unsigned char { other, self };
  struct Parameters {
    LineState state = LineState::modified;
    Owner owner = Owner::other;
    int reads = 32;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_state(v, "state", p.state, "state of the lines in their owner's cache");
    v.choice("owner", p.owner, {"other", "self"}, "whose lines rank 0 reads: rank 1's or its own");
    v.integer("reads", p.reads, 1, lines_a_page, "dependent reads in a sample, each in a page of its own");
  }

  static const char* ranks_allowed(const Parameters& p, int ranks) {
    const int least = owner(p) + 1 + (has_two_holders(p.state) ? 1 : 0);
    if (ranks >= least) return nullptr;
    return least == 3 ? "3 or more: reader, owner and another holder" : "2 or more: reader and another rank";
  }
  static std::size_t footprint(const Parameters&, int ranks) {
    return Meeting::footprint(ranks) + pages * page_bytes;
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters& p, int) { return p.reads; }
  static std::size_t bytes(const Parameters&) { return 0; }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    unsigned char* const pool = run.memory + Meeting::footprint(run.ranks);
    const int owner = ReadLatency::owner(p);
    const auto reads = static_cast<std::uint32_t>(p.reads);
    const auto word = [pool](std::uint64_t offset) -> DataWord& {
      return *reinterpret_cast<DataWord*>(pool + offset);
    };
    for (int s = 0; s < run.samples; ++s) {
      Draw draw(run.seed, static_cast<std::uint64_t>(s), 0);
      const std::vector<std::uint32_t> page = draw.distinct(reads, pages);
      // Distinct places in the page too: lines at one place of many pages are one set of a cache, which holds
      // but a few of them.
      const std::vector<std::uint32_t> in_page = draw.distinct(reads, lines_a_page);
      const auto offset = [&page, &in_page](std::uint32_t i) {
        return page[i] * std::uint64_t{page_bytes} + in_page[i] * std::uint64_t{arch::line_bytes};
      };
      meeting.meet(port);
      const int begins = owner_begins(p.state) ? owner : owner + 1;
      if (run.rank == begins) {
        for (std::uint32_t i = 0; i < reads; ++i)
          port.store_relaxed(word(offset(i)), offset(i + 1 < reads ? i + 1 : 0));
        for (std::uint32_t i = 0; i < reads; ++i) hold_lines(port, pool + offset(i), 1, p.state);
      }
      meeting.meet(port);
      if (has_two_holders(p.state)) {
        if (run.rank == owner + (owner_begins(p.state) ? 1 : 0))
          for (std::uint32_t i = 0; i < reads; ++i) share_lines(port, pool + offset(i), 1);
        meeting.meet(port);
      }
      if (run.rank != 0) continue;
      const std::uint64_t first = offset(0);
      std::uint64_t at = first;
      const std::int64_t begin = port.ticks();
      for (std::uint32_t i = 0; i < reads; ++i) at = port.load_relaxed(word(at));
      samples.ticks.push_back(port.ticks() - begin);
      if (at != first) ++samples.wrong;
    }
  }

 private:
  static constexpr int lines_a_page = static_cast<int>(page_bytes / arch::line_bytes);
  static constexpr std::uint32_t pages = 128;
  static int owner(const Parameters& p) { return p.owner == Owner::other ? 1 : 0; }
};

}  // namespace kernels
}  // namespace phicoll
