// The cold start on a simulated machine: flags and slots in memory alone before each call.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/sim/engine/cold_start.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_kernels.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "refusals.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

const char* const phi = "xeon-phi-5110p";

double mean(const std::vector<Cycles>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Over several seeds: with one of them lines may lie so that ranks keep meeting, or never do.
constexpr std::uint64_t seeds = 8;

double barrier_ns(const Machine& machine, const std::string& text, int ranks, bool evicted) {
  CollectiveOptions options;
  options.window = true;
  options.evicted = evicted;
  options.simulation.start_skew = 500;  // ranks that enter at the very same time collide in every call
  const Shape shape = place_on_machine(machine, ranks, "scatter");
  double sum = 0;
  for (options.simulation.seed = 1; options.simulation.seed <= seeds; ++options.simulation.seed)
    sum += mean(simulate_collective(machine, measure::Work(), simulated_algorithm(Operation::barrier, text),
                                    shape, options)
                    .times(true));
  return sum / seeds * machine.ns(1);
}

double collective_ns(const Machine& machine, Operation operation, const std::string& text, int ranks,
                     std::size_t bytes, bool evicted) {
  CollectiveOptions options = testing::few_calls();
  options.window = true;
  options.evicted = evicted;
  const Shape shape = place_on_machine(machine, ranks, "scatter");
  const AlgorithmSpec spec = family(operation).parse(text);
  double sum = 0;
  for (options.simulation.seed = 1; options.simulation.seed <= seeds; ++options.simulation.seed) {
    const CollectiveRun run =
        simulate_collective(machine, testing::work_of(operation, bytes), spec, shape, options);
    EXPECT_EQ(run.verified, options.warm_up + options.calls) << text;
    sum += mean(run.times(true));
  }
  return sum / seeds * machine.ns(1);
}

double read_ns(const Machine& machine, kernels::LineState state) {
  const std::vector<double> ns = simulate_read_latency(machine, state, "middle", 50, 1);
  return std::accumulate(ns.begin(), ns.end(), 0.0) / static_cast<double>(ns.size());
}

TEST(ColdStart, LeavesNothingInAnyCache) {
  for (const char* const name : {phi, "sandy-bridge-e5-2670"}) {
    const Machine machine = load_machine(name);
    constexpr std::size_t lines = 50;
    SimOptions options;
    options.check = true;
    // Two contexts of each core, so that some drop the same lines.
    Simulation simulation(machine, place_on_machine(machine, 8, "compact"), lines * arch::line_bytes,
                          options);
    auto* const words = reinterpret_cast<Strided<CounterLine>*>(simulation.memory());
    simulation.run([&](SimPort& port) {
      for (std::size_t i = 0; 2 * i < lines; ++i) {
        if (i % 8 == static_cast<std::size_t>(port.rank())) port.store_release(words[i].value.word, i + 1);
        if (i % 3 != 0) port.load_acquire(words[i].value.word);
      }
      port.fence();
    });
    evict_all(simulation, lines * arch::line_bytes);
    for (std::size_t line = 0; line < lines; ++line)
      for (int core = 0; core < machine.p.cores; ++core)
        ASSERT_EQ(simulation.state(core, simulation.line_of(simulation.memory() + line * arch::line_bytes)),
                  LineState::invalid)
            << name << ", line " << line << ", core " << core;
    for (std::size_t i = 0; 2 * i < lines; ++i)
      EXPECT_EQ(words[i].value.word.atomic().load(std::memory_order_relaxed), i + 1) << "the values stay";
  }
}

// ramos-hoefler-2013, equation 4.1: a line that is written cold is fetched from memory, R_I, where a warm one
// is taken from the rank that polled it, R_R. A rank that polls fetches it from memory too, so a round may
// cost another R_I. Flags lie two lines apart: the prefetcher fetches those on neighbouring lines together.
TEST(ColdStart, CostsABarrierAFetchFromMemoryEachRound) {
  const Machine machine = load_machine(phi + std::string(":software.flags=pairs"));
  const double memory = read_ns(machine, kernels::LineState::invalid);
  const double remote = read_ns(machine, kernels::LineState::modified);
  ASSERT_LT(remote, memory);
  const struct { int ranks, rounds; } cases[] = {{2, 1}, {16, 4}, {60, 6}};
  for (const auto& c : cases) {
    const std::string text = "dissemination:ways=1:store=plain";
    const double warm = barrier_ns(machine, text, c.ranks, false);
    const double cold = barrier_ns(machine, text, c.ranks, true);
    EXPECT_GT(cold - warm, 0.5 * c.rounds * (memory - remote))
        << c.ranks << " ranks: " << warm << ", " << cold;
    EXPECT_LT(cold - warm, 2.0 * c.rounds * memory) << c.ranks << " ranks: " << warm << ", " << cold;
  }
}

// Equation 4.6: the root announces a message in a line that it fetches from memory, and so does each level.
TEST(ColdStart, CostsABroadcastToOneRankAFetchFromMemory) {
  const Machine machine = load_machine(phi);
  const double memory = read_ns(machine, kernels::LineState::invalid);
  const double warm = collective_ns(machine, Operation::broadcast, "flat", 2, 64, false);
  const double cold = collective_ns(machine, Operation::broadcast, "flat", 2, 64, true);
  EXPECT_NEAR(cold - warm, memory, 0.3 * memory) << warm << ", " << cold;
}

TEST(ColdStart, CostsCollectivesThatMoveDataMoreThanTheWarmOne) {
  const Machine machine = load_machine(phi);
  const struct {
    Operation operation;
    const char* text;
  } cases[] = {{Operation::broadcast, "model-tree"},
               {Operation::broadcast, "binomial"},
               {Operation::reduce, "send-receive-tree"},
               {Operation::allreduce, "recursive-doubling"}};
  for (const auto& c : cases) {
    const double warm = collective_ns(machine, c.operation, c.text, 30, 64, false);
    const double cold = collective_ns(machine, c.operation, c.text, 30, 64, true);
    EXPECT_GT(cold, warm) << to_string(c.operation) << " by " << c.text;
  }
}

TEST(ColdStart, IsTheSameInEveryRun) {
  const Machine machine = load_machine(phi);
  EXPECT_EQ(barrier_ns(machine, "static-tournament", 24, true),
            barrier_ns(machine, "static-tournament", 24, true));
}

TEST(ColdStart, NeedsWindows) {
  const Machine machine = load_machine(phi);
  const Shape shape = place_on_machine(machine, 2, "scatter");
  const auto refused = [](const std::string& definitions) {
    return "start: got 'evicted' with definition='" + definitions +
           "'; allowed: evicted with definition='window' alone: back-to-back calls leave no time to evict";
  };
  const std::string alone = refused("loop");
  CollectiveOptions barrier;
  barrier.evicted = true;
  EXPECT_EQ(refusal_of([&] {
              simulate_collective(machine, measure::Work(), simulated_algorithm(Operation::barrier, "tree"),
                                  shape, barrier);
            }),
            alone);
  CollectiveOptions data;
  data.evicted = true;
  EXPECT_EQ(refusal_of([&] {
              simulate_collective(machine, testing::work_of(Operation::broadcast, 64),
                                  family(Operation::broadcast).parse("flat"), shape, data);
            }),
            alone);
  SimulatedSettings settings;
  settings.machine = machine;
  settings.algorithms = {simulated_algorithm(Operation::barrier, "tree")};
  settings.ranks = {2};
  settings.start = "evicted";
  settings.definitions = {"loop", "window"};
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }), refused("loop,window"));
  settings.definitions = {"window"};
  EXPECT_EQ(plan_points(settings).size(), 1u);
  settings.start = "cold";
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }), "start: got 'cold'; allowed: warm, evicted");
}

TEST(ColdStart, ATaskKeepsIt) {
  SimulatedSettings settings;
  settings.machine = load_machine(phi);
  settings.algorithms = {simulated_algorithm(Operation::barrier, "tree")};
  settings.ranks = {2};
  settings.start = "evicted";
  settings.definitions = {"window"};
  EXPECT_EQ(parse_task(task_text(settings, "r")).settings.start, "evicted");
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
