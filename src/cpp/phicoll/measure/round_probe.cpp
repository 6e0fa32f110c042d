#include "phicoll/measure/round_probe.hpp"

#include <algorithm>
#include <utility>

#include "phicoll/support/random.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr double probe_timeout_s = 30;
constexpr std::size_t most_far_pairs = 4;

// A read that takes less than this many L1 hits never left the core. Two CPUs that were one core showed 2.8
// between processes and 4.9 between threads; the fastest read from another core was 18.
constexpr double same_core_hits = 8;

struct RankPair {
  int a = -1;
  int b = -1;
};

// Up to `most` pairs of ranks on distinct CPUs, each pair of CPUs once.
std::vector<RankPair> far_pairs(const Shape& shape, Random& random, std::size_t most) {
  std::vector<int> ranks;
  for (int r = 0; r < shape.size(); ++r) ranks.push_back(r);
  random.shuffle(ranks);
  std::vector<RankPair> pairs;
  std::vector<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < ranks.size() && pairs.size() < most; ++i)
    for (std::size_t j = i + 1; j < ranks.size() && pairs.size() < most; ++j) {
      const int a = shape[ranks[i]].cpu;
      const int b = shape[ranks[j]].cpu;
      if (a == b) continue;
      const std::pair<int, int> cpus(std::min(a, b), std::max(a, b));
      if (std::find(seen.begin(), seen.end(), cpus) != seen.end()) continue;
      seen.push_back(cpus);
      pairs.push_back(RankPair{ranks[i], ranks[j]});
    }
  return pairs;
}

RankPair near_pair(const Shape& shape, Random& random) {
  std::vector<RankPair> pairs;
  for (int a = 0; a < shape.size(); ++a)
    for (int b = a + 1; b < shape.size(); ++b)
      if (shape[a].cpu == shape[b].cpu) pairs.push_back(RankPair{a, b});
  if (pairs.empty()) return RankPair();
  return pairs[static_cast<std::size_t>(random.below(pairs.size()))];
}

double median_or(const std::vector<double>& values, double otherwise) {
  return values.empty() ? otherwise : median(values);
}

}  // namespace

const char* RoundProbe::label() const {
  return read_ns < same_core_hits * local_ns ? "same-core" : "remote";
}

void RoundProbe::add_to(JsonObject& fields) const {
  fields.add("label", label());
  fields.add_if(local_ns >= 0, "local_ns", local_ns, 2);
  fields.add_if(read_ns >= 0, "read_ns", read_ns, 2);
  fields.add_if(pingpong_ns >= 0, "pingpong_ns", pingpong_ns, 2);
  fields.add_if(switch_ns >= 0, "switch_ns", switch_ns, 2);
}

RoundProbe probe_round(LiveSet& set, std::size_t place, std::uint64_t seed) {
  Random random(seed);
  Step step = Step();
  step.place = place;
  step.seed = random.next();

  step.kind = StepKind::probe_alone;
  step.pair[0] = step.pair[1] = 0;
  set.workers->run(step, probe_timeout_s);
  RoundProbe probe;
  probe.local_ns = set.workers->report(0).local_ns;
  set.empty_ns = set.workers->report(0).empty_ns;

  std::vector<double> reads, pings;
  step.kind = StepKind::probe_far;
  step.calls = 64;
  for (const RankPair& pair : far_pairs(set.shape, random, most_far_pairs)) {
    step.pair[0] = pair.a;
    step.pair[1] = pair.b;
    set.workers->run(step, probe_timeout_s);
    pings.push_back(set.workers->report(pair.a).pingpong_ns);
    reads.push_back(set.workers->report(pair.b).read_ns);
    probe.pairs.push_back(JsonObject()
                              .raw("cpus", json_integers({set.shape[pair.a].cpu, set.shape[pair.b].cpu}))
                              .add("pingpong_ns", pings.back(), 2)
                              .add("read_ns", reads.back(), 2)
                              .text());
  }
  const RankPair near = near_pair(set.shape, random);
  if (near.a >= 0) {
    step.kind = StepKind::probe_near;
    step.calls = 64;
    step.pair[0] = near.a;
    step.pair[1] = near.b;
    set.workers->run(step, probe_timeout_s);
    probe.switch_ns = set.workers->report(near.a).switch_ns;
  }
  probe.read_ns = median_or(reads, -1);
  probe.pingpong_ns = median_or(pings, -1);
  return probe;
}

double CopyLimit::best_ns() const {
  double best = -1;
  for (const double one : ns)
    if (one >= 0 && (best < 0 || one < best)) best = one;
  return best;
}

JsonObject CopyLimit::json() const {
  JsonObject object;
  object.add("size_bytes", work.bytes).add("buffers", work.buffers()).add("bytes", bytes);
  object.add_if(best_ns() >= 0, "ns", best_ns(), 2);
  JsonObject ways;
  for (int way = 0; way < copy_ways; ++way)
    if (ns[way] >= 0) ways.add(to_string(static_cast<CopyWay>(way)), ns[way], 0);
  return object.raw("ways", ways.text());
}

CopyLimit probe_copy(LiveSet& set, const Work& work, std::size_t place, std::uint64_t seed,
                     const StampClock& clock) {
  Step step = Step();
  step.kind = StepKind::probe_copy;
  step.work = work;
  step.place = place;
  step.seed = seed;
  set.workers->run(step, 4 * probe_timeout_s);
  CopyLimit limit;
  limit.work = work;
  limit.bytes = moved_bytes(work, set.shape.size());
  StepBoard& board = set.workers->board();
  const int repeats = copy_repeats(work, set.shape.size());
  for (int way = 0; way < copy_ways; ++way) {
    std::vector<double> ns;
    for (int i = 0; i < repeats; ++i) {
      std::uint64_t first = UINT64_MAX;
      std::uint64_t last = 0;
      for (int r = 0; r < set.shape.size(); ++r) {
        first = std::min(first, board.entries(r)[way * repeats + i]);
        last = std::max(last, board.exits(r)[way * repeats + i]);
      }
      if (first != 0) ns.push_back(clock.to_ns(last - first));
    }
    limit.ns[way] = ns.size() == static_cast<std::size_t>(repeats) ? median(ns) : -1;
  }
  return limit;
}

}  // namespace measure
}  // namespace phicoll
