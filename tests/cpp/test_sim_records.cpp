// Simulated sweeps taken apart into points, and a point's records.

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "phicoll/errors.hpp"
#include "phicoll/sim/running/point_budget.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "refusals.hpp"
#include "sim_testing.hpp"

using namespace phicoll;
using namespace phicoll::sim;

namespace {

SimulatedSettings small_settings(const std::string& algorithm = "dissemination") {
  SimulatedSettings settings;
  settings.machine = load_machine("xeon-phi-5110p");
  bool left_out = false;
  settings.algorithms = simulated_algorithms(Operation::barrier, algorithm, &left_out);
  settings.ranks = {8};
  settings.calls = 3;
  return settings;
}

std::vector<JsonValue> parse(const std::vector<std::string>& lines) {
  std::vector<JsonValue> records;
  for (const std::string& line : lines) {
    records.emplace_back();
    EXPECT_TRUE(JsonValue::parse(line, &records.back())) << line;
  }
  return records;
}

TEST(SimRecords, PointThenRoundsWithTheirSamples) {
  SimulatedSettings settings = small_settings();
  settings.rounds = 2;
  settings.definitions = {"loop", "window"};
  const PointRecords found = simulate_point(settings, plan_points(settings).at(0), "0123456789abcdef");
  EXPECT_TRUE(found.verified);
  EXPECT_EQ(found.samples, 4);
  const std::vector<JsonValue> records = parse(found.lines);
  std::vector<std::string> kinds;
  for (const JsonValue& record : records) {
    kinds.push_back(record["kind"].string);
    EXPECT_EQ(record["run"].string, "0123456789abcdef");
    EXPECT_EQ(record["schema"].number, 1);
  }
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"point", "round", "sample", "sample", "round", "sample", "sample"}));
  EXPECT_EQ(records[0]["mode"].string, "simulated");
  EXPECT_EQ(records[0]["machine"].string, "xeon-phi-5110p");
  EXPECT_EQ(records[0]["machine_digest"].string, settings.machine.digest);
  EXPECT_EQ(records[0]["clock_mhz"].number, settings.machine.p.clock_mhz);
  EXPECT_EQ(records[0]["store"].string, "no-read");
  EXPECT_EQ(records[0]["cpus"].list.size(), 8u);
  EXPECT_TRUE(records[0]["verified"].boolean);
  EXPECT_EQ(records[0]["verification"]["calls"].number, 12);
  EXPECT_EQ(records[1]["seed"].number, static_cast<double>(round_seed(1, 0)));
  EXPECT_NE(records[1]["seed"].number, records[4]["seed"].number);
  EXPECT_TRUE(records[1]["label"].is_null());
  for (const std::size_t at : {2u, 3u, 5u, 6u}) {
    const JsonValue& sample = records[at];
    ASSERT_EQ(sample["cycles"].list.size(), 3u);
    EXPECT_NEAR(sample["value_ns"].number,
                sample["value_cycles"].number * 1000 / settings.machine.p.clock_mhz, 0.01);
    EXPECT_GT(sample["counters"]["events"].number, 0);
    EXPECT_GT(sample["counters"]["requests"]["write_no_read"].number, 0);
    EXPECT_GT(sample["counters"]["busiest"]["directory"].number, 0);
    EXPECT_LE(sample["counters"]["busiest"]["issue_port"].number, 1);
  }
  double sum = 0;
  for (const JsonValue& cycles : records[2]["cycles"].list) sum += cycles.number;
  EXPECT_NEAR(records[2]["value_cycles"].number, sum / 3, 1e-3);
}

TEST(SimRecords, SameSeedSameBytesInAnyThread) {
  SimulatedSettings settings = small_settings("all");
  settings.definitions = {"loop", "window"};
  const std::vector<SimulatedPoint> points = plan_points(settings);
  std::vector<PointRecords> first(points.size()), second(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) first[i] = simulate_point(settings, points[i], "r");
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < points.size(); i = next++)
        second[points.size() - 1 - i] = simulate_point(settings, points[points.size() - 1 - i], "r");
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(first[i].lines, second[i].lines);
}

TEST(SimRecords, AnotherSeedIsAnotherResult) {
  SimulatedSettings settings = small_settings();
  std::set<std::string> values;
  for (settings.seed = 1; settings.seed <= 8; ++settings.seed)
    values.insert(
        parse(simulate_point(settings, plan_points(settings).at(0), "r").lines)[2]["cycles"].text());
  EXPECT_GT(values.size(), 4u);
}

TEST(SimRecords, ATaskIsAllThatAPointTakes) {
  SimulatedSettings settings = small_settings("dissemination:ways=3:wait=pause(5)");
  settings.machine = load_machine("xeon-phi-5110p:ring.hop=0:directory.responder=memory");
  settings.seed = (std::uint64_t{1} << 53) - 1;
  settings.skew_ns = 0.5;
  settings.placement = "0,4,8-13";
  settings.definitions = {"window"};
  const SimulatedPoint point = plan_points(settings).at(0);
  const SimulatedTask task = parse_task(task_text(settings, "r"));
  const SimulatedPoint same = parse_point(task_text(point));
  EXPECT_EQ(task.settings.machine.name, "xeon-phi-5110p:ring.hop=0:directory.responder=memory");
  EXPECT_EQ(task_text(task.settings, task.run), task_text(settings, "r"));
  EXPECT_EQ(task_text(same), task_text(point));
  EXPECT_EQ(simulate_point(task.settings, same, task.run).lines, simulate_point(settings, point, "r").lines);
  EXPECT_THROW(parse_task("{"), Error);
  EXPECT_THROW(parse_point("{"), Error);
}

TEST(SimRecords, WhatIsThereIsNotSimulatedAgain) {
  SimulatedSettings settings = small_settings("dissemination,tree");
  settings.ranks = {4, 8};
  settings.rounds = 2;
  std::vector<SimulatedPoint> points = plan_points(settings);
  ASSERT_EQ(points.size(), 4u);
  std::vector<JsonValue> records = parse(simulate_point(settings, points[0], "r").lines);
  std::vector<std::string> part = simulate_point(settings, points[2], "r").lines;
  part.resize(3);  // point, round, sample: cut off in the second round
  for (JsonValue& record : parse(part)) records.push_back(std::move(record));
  const EarlierPoints earlier = drop_done(&points, records, "r");
  EXPECT_EQ(earlier.points, 2);
  EXPECT_EQ(earlier.samples, 3);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].number, 1);
  EXPECT_EQ(points[1].number, 2);
  ASSERT_EQ(points[1].steps.size(), 1u);
  EXPECT_EQ(points[1].steps[0].round, 1);
}

TEST(SimRecords, AFailureIsPartOfThePointAndEndsIt) {
  SimulatedSettings settings = small_settings();
  settings.rounds = 3;
  int round = 0;
  const PointRecords found =
      simulate_point(settings, plan_points(settings).at(0), "r", nullptr, nullptr,
                     [&](const Machine& machine, const measure::Work& work, const AlgorithmSpec& spec,
                         const Shape& shape, const CollectiveOptions& options) {
                       if (round++ == 1) throw DeadlockError("simulation: rank 3 waits for ever\nfor rank 2");
                       return simulate_collective(machine, work, spec, shape, options);
                     });
  EXPECT_EQ(round, 2);
  EXPECT_FALSE(found.verified);
  EXPECT_EQ(found.samples, 1);
  const std::vector<JsonValue> records = parse(found.lines);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_FALSE(records[0]["verified"].boolean);
  EXPECT_EQ(records[0]["verification"]["error"].string, "simulation: rank 3 waits for ever\nfor rank 2");
  EXPECT_EQ(records[2]["round"].number, 0);
}

TEST(SimRecords, StopsBetweenSteps) {
  const SimulatedSettings settings = small_settings();
  const std::atomic<bool> stop{true};
  const PointRecords found = simulate_point(settings, plan_points(settings).at(0), "r", &stop);
  EXPECT_TRUE(found.lines.empty());
  EXPECT_TRUE(found.verified);
}

TEST(SimRecords, RefusesByName) {
  bool left_out = false;
  EXPECT_NE(refusal_of([&] {
              simulated_algorithms(Operation::barrier, "std-barrier", &left_out);
            }).find("simulated form"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              simulated_algorithms(Operation::barrier, "references", &left_out);
            }).find("algorithm: got"),
            std::string::npos);
  EXPECT_EQ(simulated_algorithms(Operation::barrier, "tree,references", &left_out).size(), 1u);
  EXPECT_TRUE(left_out);
  SimulatedSettings settings = small_settings();
  settings.ranks = {241};
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }),
            "ranks: got 241; allowed: 1 to 240, the contexts of xeon-phi-5110p");
  settings.ranks = {3};
  settings.placement = "sideways";
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }).find("placement: got"), 0u);
  settings.placement = "0,999";
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }).find("placement: got"), 0u);
  settings.placement = "0,4";
  EXPECT_EQ(refusal_of([&] { plan_points(settings); }).find("ranks: got 3"), 0u);
}

TEST(SimRecords, ADefaultBudgetThatIsTooShortIsTold) {
  SimulatedSettings settings = small_settings("dissemination,tree");
  settings.ranks = {2, 3, 4, 5, 240};
  settings.budget_s = 40;
  const std::vector<SimulatedPoint> points = plan_points(settings);
  PointBudget budget(settings, points);
  EXPECT_EQ(budget.estimate(0.5) + budget.estimate(30), "");  // nothing is simulated yet
  budget.done(0);
  EXPECT_EQ(budget.estimate(3), "");  // too early to say
  const std::string note = budget.estimate(30);
  EXPECT_EQ(note.find("note: all points take about "), 0u) << note;
  EXPECT_NE(note.find(" s; the budget ends the run after 40 s"), std::string::npos) << note;
  EXPECT_EQ(budget.estimate(35), "");  // once
  EXPECT_FALSE(budget.over(39));
  EXPECT_TRUE(budget.over(40));
  EXPECT_NE(budget.left_out({1, 2, 3, 4, 5, 6, 7, 8, 9}).find("; and 3 more"), std::string::npos);
  settings.estimate = false;  // a budget that was given
  PointBudget given(settings, points);
  given.done(0);
  EXPECT_EQ(given.estimate(30), "");
}

TEST(SimRecords, AutoIsStoredAsItsChoiceWouldBe) {
  SimulatedSettings settings = small_settings("auto,hybrid-dissemination");
  settings.ranks = {64};
  const std::vector<SimulatedPoint> points = plan_points(settings);
  const std::vector<JsonValue> chosen = parse(simulate_point(settings, points[0], "r").lines);
  const std::vector<JsonValue> named = parse(simulate_point(settings, points[1], "r").lines);
  EXPECT_EQ(chosen[0]["spec"].string, "auto");
  EXPECT_EQ(chosen[0]["effective"].text(), named[0]["effective"].text());
  EXPECT_EQ(chosen[0]["store"].string, "no-read");
  EXPECT_EQ(chosen[2]["cycles"].text(), named[2]["cycles"].text());
}

// --- operations that move data

SimulatedSettings data_settings(Operation operation, const std::string& algorithm,
                                const std::vector<std::uint64_t>& sizes) {
  SimulatedSettings settings = small_settings();
  bool left_out = false;
  settings.algorithms = simulated_algorithms(operation, algorithm, &left_out);
  settings.works =
      simulated_works(sim::testing::work_of(operation, 0), sizes, {"fresh", "reused"}, "float64", "sum");
  return settings;
}

TEST(SimRecords, DataOperationsSaySizeBuffersAndWhatWasCompared) {
  SimulatedSettings settings = data_settings(Operation::allreduce, "one-shot,auto", {8, 4096});
  settings.definitions = {"loop", "window"};
  const std::vector<SimulatedPoint> points = plan_points(settings);
  ASSERT_EQ(points.size(), 8u);
  EXPECT_EQ(points[5].title(), "allreduce 4096 fresh float64 sum by auto with 8 ranks");
  const PointRecords found = simulate_point(settings, points[5], "0123456789abcdef");
  EXPECT_TRUE(found.verified) << found.error;
  const std::vector<JsonValue> records = parse(found.lines);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0]["operation"].string, "allreduce");
  EXPECT_EQ(records[0]["size_bytes"].number, 4096);
  EXPECT_EQ(records[0]["buffers"].string, "fresh");
  EXPECT_EQ(records[0]["type"].string, "float64");
  EXPECT_EQ(records[0]["op"].string, "sum");
  EXPECT_FALSE(records[0]["timing_only"].boolean);
  EXPECT_FALSE(records[0]["chosen"]["why"].string.empty());
  EXPECT_EQ(records[0]["verification"]["calls"].number, 10);
  EXPECT_GT(records[2]["value_cycles"].number, 0);
  // A point as text gives the same lines.
  const SimulatedTask task = parse_task(task_text(settings, "0123456789abcdef"));
  EXPECT_EQ(simulate_point(task.settings, parse_point(task_text(points[5])), task.run).lines, found.lines);
}

TEST(SimRecords, LargeDataIsTimingOnlyWithATwin) {
  SimulatedSettings settings = data_settings(Operation::broadcast, "ring", {9 << 20});
  settings.calls = 1;
  settings.warm_up = 0;
  const PointRecords found = simulate_point(settings, plan_points(settings).at(0), "0123456789abcdef");
  EXPECT_TRUE(found.verified) << found.error;
  const JsonValue point = parse(found.lines)[0];
  EXPECT_TRUE(point["timing_only"].boolean);
  EXPECT_GT(point["twin_bytes"].number, 0);
  EXPECT_EQ(point["verification"]["calls"].number, 0);
}

TEST(SimRecords, DataThatCannotBeSimulatedIsRefused) {
  EXPECT_NE(refusal_of([] { data_settings(Operation::broadcast, "hand-pair", {8}); }).find("algorithm"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { data_settings(Operation::allreduce, "auto", {7}); }).find("size"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { data_settings(Operation::broadcast, "ring", {}); }).find("size"),
            std::string::npos);
}

}  // namespace
