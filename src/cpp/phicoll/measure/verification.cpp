#include "phicoll/measure/verification.hpp"

#include <algorithm>

namespace phicoll {
namespace measure {

namespace {

constexpr int verify_episodes = 300;
constexpr int again_episodes = 100;  // in later launches
constexpr int least_episodes = 20;
constexpr double verify_timeout_s = 60;
constexpr double verify_cap_ns = 100e6;
constexpr double jitter_ns = 1000;

}  // namespace

void verify_point(LiveSet& set, Point& point, std::size_t place, std::uint64_t seed,
                  const StampClock& clock) {
  Step step = Step();
  step.kind = StepKind::verify;
  step.subject = point.index;
  step.place = place;
  step.calls = point.written ? again_episodes : verify_episodes;
  step.warmups = least_episodes;
  step.seed = seed;
  step.jitter_ns = jitter_ns;
  step.cap_ns = verify_cap_ns;
  set.workers->run(step, verify_timeout_s);
  point.verified = true;
  point.error.clear();
  point.observed.clear();
  double elapsed = 0;
  for (int r = 0; r < point.ranks; ++r) {
    const RankReport& report = set.workers->report(r);
    point.observed.push_back(report.cpu);
    point.episodes = report.calls;
    elapsed = std::max(elapsed, clock.to_ns(report.ticks));
    if (report.violated != 0 && point.error.empty()) {
      point.verified = false;
      point.error = report.error;
    }
    if (set.openmp) point.library = report.note;
  }
  point.estimate_ns = elapsed / static_cast<double>(std::max<std::uint64_t>(1, point.episodes));
}

}  // namespace measure
}  // namespace phicoll
