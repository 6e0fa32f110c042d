// A simulated result is the same to the last cycle on every host, whatever runs beside it: a few points are
// compared with what is written in sim_golden.txt, and the same points are run by several threads at once.
//
// The machine is the test's own, with every switch that draws from a seed, so that calibrating a shipped
// machine changes nothing here. Whoever changes the engine's timing on purpose writes the file again:
//     PHICOLL_TEST_REGENERATE=1 ctest -R test_sim_deterministic
// and looks at the difference.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

struct Point {
  const char* barrier;
  int ranks;
  Placement placement;
  std::uint64_t seed;
  const char* machine;  // chip, noisy or table
  bool window;
};

const std::vector<Point>& points() {
  static const std::vector<Point> all = {
      {"hybrid-dissemination", 61, Placement::balanced, 1, "chip", false},
      {"hybrid-dissemination", 61, Placement::balanced, 2, "chip", false},
      {"hybrid-dissemination", 240, Placement::balanced, 1, "chip", false},
      {"dissemination", 61, Placement::scatter, 1, "chip", false},
      {"dissemination:ways=3:store=plain", 240, Placement::compact, 1, "chip", true},
      {"sense-reversing", 61, Placement::balanced, 1, "chip", false},
      {"sense-reversing", 200, Placement::compact, 3, "noisy", true},
      {"combining-tree:arity=4:notify=global", 61, Placement::balanced, 1, "noisy", false},
      {"static-tournament", 120, Placement::scatter, 5, "noisy", true},
      {"centralized-bytes", 61, Placement::balanced, 1, "chip", false},
      {"tree", 16, Placement::compact, 1, "table", false},
      {"dissemination", 32, Placement::scatter, 1, "table", true},
  };
  return all;
}

Machine machine_of(const std::string& name) {
  if (name == "table") return testing::table_machine(16);
  Machine machine = testing::chip(61);
  if (name == "noisy") {
    machine.p.jitter = 40;
    machine.p.os_core = 0;
    machine.p.os_interval = 5000;
    machine.p.os_duration = 800;
    machine.p.prefetcher = Switch::on;
    machine.p.l1_kib = 1;
    machine.p.l2_kib = 2;
  }
  return machine;
}

std::string name_of(const Point& p) {
  return std::string(p.barrier) + " " + std::to_string(p.ranks) + " " + to_string(p.placement) + " " +
         std::to_string(p.seed) + " " + p.machine + (p.window ? " window" : " loop");
}

/// The cycles of all calls, a checksum over when every rank entered and left, and the events.
std::string result_of(const Point& p) {
  const Machine machine = machine_of(p.machine);
  CollectiveOptions options;
  options.calls = 5;
  options.window = p.window;
  options.simulation.seed = p.seed;
  options.simulation.wait.kind = WaitPolicy::Kind::spin;
  options.simulation.start_skew = p.window ? 500 : 0;
  const Shape shape = place_ranks(p.ranks, machine.places(), p.placement);
  const CollectiveRun run = simulate_collective(
      machine, measure::Work(), simulated_algorithm(Operation::barrier, p.barrier), shape, options);
  std::uint64_t sum = 0;
  for (const auto* times : {&run.entry, &run.exit})
    for (const Cycles time : *times) sum = mix_seed(sum, static_cast<std::uint64_t>(time));
  std::ostringstream text;
  for (const Cycles time : run.times(p.window)) text << time << ' ';
  text << "checksum " << sum << " events " << run.counters.events;
  return text.str();
}

std::string golden_file() {
  return PHICOLL_TEST_FOLDER "/sim_golden.txt";
}

TEST(SimDeterministic, EveryHostFindsTheSameCycles) {
  if (testing::from_environment("PHICOLL_TEST_REGENERATE", 0) == 1) {
    std::ofstream file(golden_file());
    for (const Point& p : points()) file << name_of(p) << ": " << result_of(p) << "\n";
    ASSERT_TRUE(file.good());
    GTEST_SKIP() << golden_file() << " was written again";
  }
  std::map<std::string, std::string> golden;
  std::ifstream file(golden_file());
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.rfind(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    golden[line.substr(0, colon)] = line.substr(colon + 2);
  }
  EXPECT_EQ(golden.size(), points().size());
  for (const Point& p : points())
    EXPECT_EQ(result_of(p), golden[name_of(p)])
        << name_of(p) << "; if the engine's timing was changed on purpose: PHICOLL_TEST_REGENERATE=1";
}

TEST(SimDeterministic, SimulationsBesideEachOtherDoNotMeet) {
  std::vector<std::string> alone;
  for (const Point& p : points()) alone.push_back(result_of(p));
  std::vector<std::vector<std::string>> beside(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < beside.size(); ++t)
    threads.emplace_back([&beside, t] {
      std::vector<std::string> results(points().size());
      // Each in an order of its own.
      for (std::size_t i = 0; i < points().size(); ++i) {
        const std::size_t which = (i * 5 + t * 3) % points().size();
        results[which] = result_of(points()[which]);
      }
      beside[t] = results;
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& results : beside) EXPECT_EQ(results, alone);
}

TEST(SimDeterministic, ASeedPlacesLinesAndTheLogChangesNothing) {
  const Machine machine = testing::chip(61);
  const Shape shape = place_ranks(61, machine.places(), Placement::balanced);
  const auto run = [&](std::uint64_t seed, bool log, bool check) {
    CollectiveOptions options;
    options.calls = 5;
    options.simulation.seed = seed;
    options.simulation.log = log;
    options.simulation.check = check;
    return simulate_collective(machine, measure::Work(),
                               simulated_algorithm(Operation::barrier, "dissemination"), shape, options)
        .exit;
  };
  EXPECT_NE(run(1, false, false), run(2, false, false));
  EXPECT_EQ(run(1, false, false), run(1, true, false)) << "a log only looks";
  EXPECT_EQ(run(1, false, false), run(1, false, true)) << "a check only looks";
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
