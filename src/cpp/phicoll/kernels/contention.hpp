#pragma once

// All receivers copy one line of a common buffer into private lines at the same time. Source: 004
// section 3.2. Rank 0 owns the common buffer and is idle; the others are the receivers. Both addresses are
// drawn anew for every sample.

#include "phicoll/kernels/draw.hpp"
#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/meeting.hpp"

namespace phicoll {
namespace kernels {

struct Contention {
  static KernelFacts facts() {
    return {"contention", "ramos-hoefler-2013, section 3.2",
            "Ranks that copy one line of rank 0's at the same time.",
            "one receiver's own time from the common time stamp to the end of its copy"};
  }

  struct Parameters {
    LineState state = LineState::exclusive;
    LineState receive = LineState::exclusive;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_state(v, "state", p.state, "state of the common line; S, F: the first receiver holds it too");
    describe_state(v, "receive", p.receive, "state of the private lines; S, F: rank 0 holds them too");
  }

  static const char* ranks_allowed(const Parameters&, int ranks) {
    return ranks >= 2 ? nullptr : "2 or more: an owner and receivers";
  }
  static std::size_t footprint(const Parameters&, int ranks) {
    return Meeting::footprint(ranks) + static_cast<std::size_t>(ranks) * pool_lines * arch::line_bytes;
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters&, int) { return 1; }
  static std::size_t bytes(const Parameters&) { return arch::line_bytes; }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    for (int s = 0; s < run.samples; ++s) {
      const auto mark = static_cast<std::uint64_t>(s) + 1;
      unsigned char* const common = line(run, s, 0);
      unsigned char* const mine = line(run, s, run.rank);
      meeting.meet(port);
      if (run.rank == (owner_begins(p.state) ? 0 : 1)) begin_line(port, common, mark, p.state);
      if (owner_begins(p.receive)) {
        if (run.rank != 0) begin_line(port, mine, 0, p.receive);
      } else if (run.rank == 0) {
        for (int r = 1; r < run.ranks; ++r) begin_line(port, line(run, s, r), 0, p.receive);
      }
      if (has_two_holders(p.state) || has_two_holders(p.receive)) {
        meeting.meet(port);
        if (has_two_holders(p.state) && run.rank == (owner_begins(p.state) ? 1 : 0))
          share_lines(port, common, 1);
        if (p.receive == LineState::shared && run.rank == 0)
          for (int r = 1; r < run.ranks; ++r) share_lines(port, line(run, s, r), 1);
        if (p.receive == LineState::forward && run.rank != 0) share_lines(port, mine, 1);
      }
      if (run.rank == 0) {
        meeting.agree(port);
        continue;
      }
      const std::int64_t begin = meeting.start(port, samples);
      port.software(Software::copy);
      port.copy(mine, common, arch::line_bytes);
      port.fence();
      samples.ticks.push_back(port.ticks() - begin);
      if (count_wrong(port, mine, 1, mark) != 0) ++samples.wrong;
    }
  }

 private:
  template <class Port>
  static void begin_line(Port& port, unsigned char* line, std::uint64_t mark, LineState state) {
    write_lines(port, line, 1, mark);
    hold_lines(port, line, 1, state);
  }

  static constexpr std::size_t pool_lines = 512;
  static unsigned char* line(const KernelRun& run, int sample, int rank) {
    const auto pool = static_cast<std::size_t>(rank);
    Draw draw(run.seed, static_cast<std::uint64_t>(sample), pool);
    return run.memory + Meeting::footprint(run.ranks) +
           (pool * pool_lines + draw.below(pool_lines)) * arch::line_bytes;
  }
};

}  // namespace kernels
}  // namespace phicoll
