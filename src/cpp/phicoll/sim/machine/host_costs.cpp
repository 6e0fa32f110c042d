#include "phicoll/sim/machine/host_costs.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <set>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/kernels/hand_over.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/text_file.hpp"
#include "phicoll/os/topology.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace sim {

namespace {

constexpr std::int64_t timeout_ms = 30000;

std::string cpus_text(const std::vector<int>& cpus) {
  std::string text;
  for (const int cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

HostCost cost_of(std::vector<double> launches, const std::string& how) {
  HostCost cost;
  if (launches.empty()) return cost;
  cost.ns = median(launches);
  cost.low_ns = smallest(launches);
  cost.high_ns = largest(launches);
  cost.how = how;
  return cost;
}

/// A thread on one CPU, alone in its group.
void run_on(int cpu, const std::function<void()>& body) {
  GroupOptions options;
  options.placement = std::to_string(cpu);
  ThreadGroup(1, options).run([&](Communicator&) { body(); });
}

/// The best of a few batches, in nanoseconds a turn: an interrupt can only lengthen them.
double best_of(int turns, const std::function<void()>& batch) {
  double best = 1e30;
  batch();
  for (int i = 0; i < 9; ++i) {
    const std::uint64_t start = arch::cycles();
    batch();
    best = std::min(best, static_cast<double>(arch::cycles() - start));
  }
  return best * os::cycle_clock().ns_per_cycle / turns;
}

/// Dependent reads of `bytes` of lines in random order. The lines are in the caches after the first pass.
double chase_ns(std::size_t bytes, std::uint64_t seed) {
  struct alignas(arch::line_bytes) Line {
    const Line* next = nullptr;
  };
  const std::size_t count = bytes / sizeof(Line);
  std::vector<unsigned char> memory(bytes + sizeof(Line));
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(Line);
  Line* const lines = reinterpret_cast<Line*>(memory.data() + (sizeof(Line) - past) % sizeof(Line));
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  Random(seed).shuffle(order);
  for (std::size_t i = 0; i < count; ++i) {
    Line* const line = new (lines + order[i]) Line;
    line->next = lines + order[(i + 1) % count];
  }
  const Line* at = lines;
  return best_of(static_cast<int>(count), [&] {
    for (std::size_t i = 0; i < count; ++i) {
      at = at->next;
      __asm__ __volatile__("" : "+r"(at));  // each read needs the one before and is really made
    }
  });
}

/// Adds a line of floats to another. Both blocks lie in the first level, as a reduction's do.
double combine_ns() {
  constexpr std::size_t lines = 64;
  std::vector<float> left(lines * arch::line_bytes / sizeof(float), 1.0F);
  std::vector<float> right(left.size(), 2.0F);
  const Operator sum = find_operator(Type::float32, Op::sum);
  return best_of(static_cast<int>(lines) * 16, [&] {
    for (int turn = 0; turn < 16; ++turn)
      sum.kernel(sum.context, left.data(), left.data(), right.data(), left.size());
  });
}

/// Polls without a pause, but yields the CPU when the other rank seems not to run.
struct PatientLook {
  template <class Port>
  static void turn(Port&) {
    static thread_local int looks = 0;
    if (++looks % 65536 == 0) sched_yield();
  }
};

double hand_over_ns(int a, int b) {
  constexpr std::uint64_t turns = 200;
  GroupOptions options;
  options.placement = cpus_text({a, b});
  options.timeout_ms = timeout_ms;
  Strided<CounterLine> place;
  Word<std::uint64_t>& word = place.value.word;
  word.atomic().store(0, std::memory_order_relaxed);
  double best = 1e30;
  ThreadGroup(2, options).run([&](Communicator& communicator) {
    NativePort port(communicator.control(), communicator.rank(), options.wait);
    std::uint64_t at = 0;
    for (int repeat = 0; repeat < 9; ++repeat, at += 2 * turns) {
      communicator.barrier();
      const std::uint64_t start = arch::cycles();
      kernels::hand_over<PatientLook>(port, word, communicator.rank() == 0, at, turns);
      if (communicator.rank() == 0) best = std::min(best, static_cast<double>(arch::cycles() - start));
    }
  });
  return best * os::cycle_clock().ns_per_cycle / (2.0 * turns);
}

class HostMeter {
 public:
  explicit HostMeter(const HostCostOptions& options) : options_(options) {
    const std::vector<int> allowed = os::allowed_cpus();
    for (const os::CpuPlace& place : os::read_topology()) {
      all_.push_back(place);
      if (std::find(allowed.begin(), allowed.end(), place.cpu) != allowed.end()) usable_.push_back(place);
    }
    if (usable_.empty()) throw ResourceError("no CPU of the topology may be used");
    choose();
  }

  HostCosts measure() {
    HostCosts costs;
    describe(&costs);
    const int cpu = usable_[0].cpu;
    const auto l1_bytes = static_cast<std::size_t>(costs.l1_kib > 0 ? costs.l1_kib : 32) * 1024;
    const auto l2_bytes = static_cast<std::size_t>(costs.l2_kib > 0 ? costs.l2_kib : 256) * 1024;
    std::vector<double> l1, l2, atomic, pause, combine;
    for (int launch = 0; more(launch); ++launch)
      run_on(cpu, [&] {
        const std::uint64_t seed = mix_seed(options_.seed, static_cast<std::uint64_t>(launch));
        l1.push_back(chase_ns(l1_bytes / 2, seed));
        // If the lines fill the first level four times, hardly any read in random order hits it; the second
        // level, if larger, still has them all.
        l2.push_back(chase_ns(std::min(4 * l1_bytes, l2_bytes * 3 / 4), seed));
        std::atomic<std::uint64_t> word{0};
        atomic.push_back(best_of(1000, [&word] {
          for (int i = 0; i < 1000; ++i) word.fetch_add(1, std::memory_order_acq_rel);
        }));
        pause.push_back(best_of(1000, [] {
          for (int i = 0; i < 1000; ++i) arch::pause();
        }));
        combine.push_back(combine_ns());
      });
    const std::string on = " on CPU " + std::to_string(cpu);
    costs.l1_hit = cost_of(l1, "a chase through half of the first-level cache" + on);
    costs.l2_hit = cost_of(l2, "a chase through more than the first-level cache holds" + on);
    costs.atomic = cost_of(atomic, "additions to one word" + on);
    costs.pause = cost_of(pause, "polite turns" + on);
    costs.combine = cost_of(combine, "sums of float32 blocks of 64 lines, a line," + on);
    std::vector<double> hand_overs;
    if (!near_.empty())
      for (int launch = 0; more(launch); ++launch) {
        const std::vector<int>& pair = near_[static_cast<std::size_t>(launch) % near_.size()];
        hand_overs.push_back(hand_over_ns(pair[0], pair[1]));
      }
    costs.hand_over = cost_of(hand_overs, "a word handed over, one way," + of(near_));
    return costs;
  }

 private:
  bool more(int launch) const {
    return launch == 0 || (launch < options_.launches &&
                           static_cast<double>(os::now_ns() - start_ns_) < options_.budget_s * 1e9);
  }

  // Pairs of CPUs on distinct cores of a package: the first, and those as far apart as can be and half of it.
  void choose() {
    std::vector<os::CpuPlace> cores;
    std::set<int> seen;
    for (const os::CpuPlace& place : usable_)
      if (place.core < 0 || seen.insert(place.core).second) cores.push_back(place);
    const std::size_t count = cores.size();
    for (const std::size_t distance : {std::size_t{1}, count / 2, count - 1})
      for (std::size_t i = 0; i + distance < count && distance > 0; ++i) {
        if (cores[i].package != cores[i + distance].package) continue;
        const std::vector<int> pair = {cores[i].cpu, cores[i + distance].cpu};
        if (std::find(near_.begin(), near_.end(), pair) == near_.end()) near_.push_back(pair);
        break;  // one pair of each distance
      }
  }

  void describe(HostCosts* costs) const {
    costs->cpu = os::cpu_model();
    char date[16] = "";
    const std::time_t now = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&now, &utc);
    std::strftime(date, sizeof date, "%Y-%m-%d", &utc);
    costs->date = date;
    std::set<int> cores, packages;
    int unknown = 0;
    for (const os::CpuPlace& place : all_) {
      if (place.core < 0)
        ++unknown;
      else
        cores.insert(place.core);
      packages.insert(place.package);
    }
    costs->cores = static_cast<int>(cores.size()) + unknown;
    costs->contexts_per_core = (static_cast<int>(all_.size()) + costs->cores - 1) / costs->cores;
    costs->packages = static_cast<int>(packages.size());
    if (costs->cores % costs->packages != 0) costs->packages = 1;
    costs->clock_is_counter = os::cycle_counter_is_clock();
    if (costs->clock_is_counter)
      costs->clock_mhz = static_cast<int>(std::lround(1000.0 / os::cycle_clock().ns_per_cycle));
    const int cpu = usable_[0].cpu;
    int index = 0;
    for (const os::Cache& cache : os::read_caches(cpu)) {
      const std::string folder =
          "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index++);
      if (cache.type == "Instruction" || cache.level > 2) continue;
      const int ways = static_cast<int>(os::read_integer(folder + "/ways_of_associativity", 0));
      (cache.level == 1 ? costs->l1_kib : costs->l2_kib) = static_cast<int>(cache.size_bytes / 1024);
      (cache.level == 1 ? costs->l1_ways : costs->l2_ways) = ways;
    }
  }

  static std::string of(const std::vector<std::vector<int>>& sets) {
    std::string text = " CPUs";
    for (const std::vector<int>& set : sets) text += (set == sets[0] ? " " : "; ") + cpus_text(set);
    return text;
  }

  const HostCostOptions options_;
  const std::int64_t start_ns_ = os::now_ns();
  std::vector<os::CpuPlace> all_, usable_;
  std::vector<std::vector<int>> near_;
};

}  // namespace

const HostCost* HostCosts::find(const std::string& name) const {
  const struct {
    const char* name;
    const HostCost* cost;
  } costs[] = {{"l1_hit", &l1_hit},
               {"l2_hit", &l2_hit},
               {"atomic", &atomic},
               {"pause", &pause},
               {"combine", &combine},
               {"near_modified", &near_modified},
               {"near_exclusive", &near_exclusive},
               {"near_shared", &near_shared},
               {"far_modified", &far_modified},
               {"far_exclusive", &far_exclusive},
               {"far_shared", &far_shared},
               {"memory", &memory},
               {"hand_over", &hand_over}};
  for (const auto& one : costs)
    if (name == one.name) return one.cost;
  return nullptr;
}

HostCost* HostCosts::find(const std::string& name) {
  return const_cast<HostCost*>(static_cast<const HostCosts&>(*this).find(name));
}

HostCosts measure_host_costs(const HostCostOptions& options) {
  return HostMeter(options).measure();
}

}  // namespace sim
}  // namespace phicoll
