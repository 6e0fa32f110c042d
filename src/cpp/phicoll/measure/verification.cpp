#include "phicoll/measure/verification.hpp"

#include <algorithm>

#include "phicoll/memory/untrusted.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr int verify_calls = 300;
constexpr int again_calls = 100;  // in later launches
constexpr int least_calls = 20;
constexpr double verify_timeout_s = 60;
constexpr double verify_cap_ns = 100e6;

// The calls that verify a subject that moves data. Every result is checked whole, so large ones get fewer
// calls: some 16 MB in all, but at least two calls.
std::uint64_t data_calls(const Work& work, int ranks, bool again) {
  constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
  const auto all = std::max<std::uint64_t>(1, work.bytes) * static_cast<std::uint64_t>(ranks * ranks);
  return std::min<std::uint64_t>(std::max<std::uint64_t>(most_bytes / all, 2), again ? 16 : 64);
}

}  // namespace

void verify_point(LiveSet& set, Point& point, std::size_t place, std::uint64_t seed) {
  Step step = Step();
  step.kind = StepKind::verify;
  step.work = point.subject.work;
  set_algorithm(step, point.subject.text());
  step.place = place;
  step.calls = point.written ? again_calls : verify_calls;
  if (step.work.moves_data()) step.calls = data_calls(step.work, point.ranks, point.written);
  step.warmups = least_calls;
  step.seed = seed;
  step.jitter_ns = usual_jitter_ns;
  step.cap_ns = verify_cap_ns;
  set.workers->run(step, verify_timeout_s);
  point.verified = true;
  point.error.clear();
  point.observed.clear();
  point.estimate_ns = 0;
  point.write_ns = 0;
  for (int r = 0; r < point.ranks; ++r) {
    const RankReport& report = set.workers->report(r);
    point.observed.push_back(report.cpu);
    point.verified_calls = report.calls;
    point.estimate_ns = std::max(point.estimate_ns, report.call_ns);
    point.write_ns = std::max(point.write_ns, report.write_ns);
    if (report.violated != 0 && point.error.empty()) {
      point.verified = false;
      point.error = untrusted_text(report.error);
    }
    if (set.openmp) point.library = untrusted_text(report.note);
  }
}

}  // namespace measure
}  // namespace phicoll
