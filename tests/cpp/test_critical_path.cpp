// The critical path, worked out by hand where that can be done, and without a gap everywhere; the timeline.

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/explaining/chrome_trace.hpp"
#include "phicoll/sim/explaining/critical_path.hpp"
#include "phicoll/sim/explaining/explanation.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/split.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using testing::flat_chip;
using testing::on_contexts;
using testing::one_a_core;

using W64 = Word<std::uint64_t>;
using Parts = std::vector<std::pair<Cause, Cycles>>;

SimOptions logged() {
  SimOptions options;
  options.log = true;
  options.check = true;
  options.wait.kind = WaitPolicy::Kind::spin;
  return options;
}

/// Ranks that do what a test says between the marks of call 0.
struct Scene {
  Scene(const Machine& m, const Shape& shape) : simulation(m, shape, 64 * 64, logged()) {
    for (int r = 0; r < shape.size(); ++r) cores.push_back(simulation.core_of(r));
  }
  W64& word(int line) { return *reinterpret_cast<W64*>(simulation.memory() + line * 64); }
  void place(int line, LineState state, const std::vector<int>& at) {
    simulation.place(simulation.memory() + line * 64, state, at);
  }
  /// Rank r arrives at `arrivals[r]`.
  CriticalPath path(const std::vector<Cycles>& arrivals, const std::function<void(SimPort&)>& body) {
    simulation.run([&](SimPort& port) {
      port.wait_until(arrivals[static_cast<std::size_t>(port.rank())]);
      simulation.mark(port.rank(), MarkKind::enter, 0);
      body(port);
      simulation.mark(port.rank(), MarkKind::leave, 0);
    });
    return critical_path(*simulation.log(), cores, 0);
  }

  Simulation simulation;
  std::vector<int> cores;
};

Parts parts_of(const PathLink& link) {
  Parts parts;
  for (const PathPart& part : link.parts) parts.emplace_back(part.cause, part.to - part.from);
  return parts;
}

/// Every cycle in one link and one part; nothing that the log can't tell.
::testing::AssertionResult tiles(const CriticalPath& path) {
  Cycles at = path.from;
  for (std::size_t l = 0; l < path.links.size(); ++l) {
    const PathLink& link = path.links[l];
    if (link.from != at || link.to <= at || link.parts.empty() ||
        (link.rank < 0 && link.kind != LinkKind::queue))
      return ::testing::AssertionFailure()
             << "link " << l << " from " << link.from << " to " << link.to << " behind " << at;
    for (const PathPart& part : link.parts) {
      if (part.from != at || part.to <= at || part.cause == Cause::unexplained)
        return ::testing::AssertionFailure() << to_string(part.cause) << " of link " << l << " from "
                                             << part.from << " to " << part.to << " behind " << at;
      at = part.to;
    }
    if (link.to != at)
      return ::testing::AssertionFailure()
             << "link " << l << " ends at " << link.to << ", its parts at " << at;
  }
  if (at != path.to) return ::testing::AssertionFailure() << "ends at " << at << " of " << path.to;
  Cycles sum = 0;
  for (const Cycles cycles : path.by_cause()) sum += cycles;
  if (sum != path.to - path.from) return ::testing::AssertionFailure() << "causes sum to " << sum;
  return ::testing::AssertionSuccess();
}

// A chip without distances, one directory service of 12: miss 24, inject 4, look-up 12, snoop 24,
// acknowledgement 4, fill 24 cycles.

TEST(CriticalPath, OneSignalStepByStep) {
  const Machine machine = flat_chip();
  Scene scene(machine, one_a_core(machine, 2));
  scene.place(0, LineState::modified, {1});  // the waiter's core
  const CriticalPath path = scene.path({100, 0}, [&](SimPort& port) {
    if (port.rank() == 0)
      port.signal(scene.word(0), std::uint64_t{1});
    else
      port.wait(scene.word(0), at_least(std::uint64_t{1}));
  });
  // The waiter's line is taken away at 144; its next look misses, and its read queues after the write.
  EXPECT_EQ(path.from, 100);
  EXPECT_EQ(path.to, 284);
  EXPECT_EQ(path.last_in, 0);
  EXPECT_EQ(path.last_out, 1);
  ASSERT_TRUE(tiles(path));
  ASSERT_EQ(path.links.size(), 3u);
  EXPECT_EQ(path.links[0].kind, LinkKind::store);
  EXPECT_EQ(path.links[0].rank, 0);
  EXPECT_EQ(parts_of(path.links[0]), (Parts{{Cause::request_trip, 28},
                                            {Cause::directory_service, 12},
                                            {Cause::forward_trip, 4},
                                            {Cause::snoop, 24},
                                            {Cause::go_ahead, 12},
                                            {Cause::fill, 24}}));
  EXPECT_EQ(path.links[1].kind, LinkKind::queue) << "until the writer's acknowledgement has come";
  EXPECT_EQ(path.links[1].rank, 0);
  EXPECT_EQ(parts_of(path.links[1]), (Parts{{Cause::release_trip, 4}}));
  EXPECT_EQ(path.links[2].kind, LinkKind::hear);
  EXPECT_EQ(path.links[2].rank, 1);
  EXPECT_EQ(path.links[2].core, 1);
  EXPECT_EQ(parts_of(path.links[2]), (Parts{{Cause::directory_service, 12},
                                            {Cause::forward_trip, 4},
                                            {Cause::snoop, 24},
                                            {Cause::go_ahead, 12},
                                            {Cause::fill, 24}}));
  EXPECT_EQ(path.hand_overs(), 1);
  EXPECT_EQ(path.by_cause()[static_cast<std::size_t>(Cause::line_busy)], 4);
}

TEST(CriticalPath, WithinACoreTheWaiterOnlyHasToLook) {
  const Machine machine = flat_chip();
  Scene scene(machine, on_contexts(machine, {0, 1}));
  scene.place(0, LineState::modified, {0});
  const CriticalPath path = scene.path({100, 0}, [&](SimPort& port) {
    if (port.rank() == 0)
      port.signal(scene.word(0), std::uint64_t{1});
    else
      port.wait(scene.word(0), at_least(std::uint64_t{1}));
  });
  ASSERT_TRUE(tiles(path));
  ASSERT_EQ(path.links.size(), 1u) << "the store is visible at once";
  EXPECT_EQ(path.links[0].kind, LinkKind::hear);
  EXPECT_EQ(path.links[0].rank, 1);
  // Looks are 9 cycles apart: at 99, and at 108 the value is there.
  EXPECT_EQ(parts_of(path.links[0]), (Parts{{Cause::look, 8}, {Cause::instructions, 9}}));
}

TEST(CriticalPath, AQueueOfAtomicsIsFollowedToWhoWasFirst) {
  const Machine machine = flat_chip(8);
  Scene scene(machine, one_a_core(machine, 3));
  scene.place(0, LineState::modified, {5});
  const CriticalPath path =
      scene.path({0, 0, 0}, [&](SimPort& port) { port.fetch_add(scene.word(0), std::uint64_t{1}); });
  ASSERT_TRUE(tiles(path));
  constexpr Cycles hand_over = 12 + 4 + 24 + 4 + 4 + 4 + 24 + 4;
  ASSERT_EQ(path.links.size(), 4u);
  EXPECT_EQ(path.links[0].kind, LinkKind::atomic) << "the first one's request is on its way";
  EXPECT_EQ(parts_of(path.links[0]), (Parts{{Cause::request_trip, 28}}));
  for (const std::size_t holder : {1u, 2u}) {
    EXPECT_EQ(path.links[holder].kind, LinkKind::queue);
    EXPECT_EQ(path.links[holder].to - path.links[holder].from, hand_over);
  }
  EXPECT_EQ(path.links[0].rank, path.links[1].rank);
  EXPECT_EQ(path.links[3].kind, LinkKind::atomic);
  EXPECT_EQ(path.links[3].rank, path.last_out);
  EXPECT_EQ(path.links[3].to - path.links[3].from, hand_over - 4 + 9);
  EXPECT_EQ(path.by_cause()[static_cast<std::size_t>(Cause::line_busy)], 2 * hand_over);
  EXPECT_EQ(path.in_queues()[static_cast<std::size_t>(Cause::snoop)], 2 * 24);
  EXPECT_EQ(path.to - path.from, 28 + 3 * hand_over - 4 + 9);
}

TEST(CriticalPath, StoresThatLeaveTheBufferOneByOneAreOneBehindTheOther) {
  Machine machine = flat_chip();
  machine.p.store_window = 1;
  Scene scene(machine, one_a_core(machine, 2));
  for (int line = 0; line < 4; ++line) scene.place(line, LineState::modified, {1});
  const CriticalPath path = scene.path({100, 0}, [&](SimPort& port) {
    if (port.rank() == 0)
      for (int line = 0; line < 4; ++line) port.signal(scene.word(line), std::uint64_t{1});
    else
      port.wait(scene.word(3), at_least(std::uint64_t{1}));
  });
  ASSERT_TRUE(tiles(path));
  EXPECT_EQ(path.to - path.from, 4 * 104 + 4 + 76);
  ASSERT_EQ(path.links.size(), 6u);
  for (std::size_t store = 0; store < 4; ++store) {
    EXPECT_EQ(path.links[store].kind, LinkKind::store);
    EXPECT_EQ(path.links[store].line, store);
    EXPECT_EQ(path.links[store].to - path.links[store].from, 104);
  }
}

TEST(CriticalPath, WhoComesLateIsNotHeldUpByWhoCameEarly) {
  // Rank 1's value was there long before rank 0 looked: the path is rank 0's own read.
  const Machine machine = flat_chip();
  Scene scene(machine, one_a_core(machine, 2));
  scene.place(0, LineState::modified, {1});
  const CriticalPath path = scene.path({1000, 0}, [&](SimPort& port) {
    if (port.rank() == 1)
      port.signal(scene.word(0), std::uint64_t{1});
    else
      port.wait(scene.word(0), at_least(std::uint64_t{1}));
  });
  ASSERT_TRUE(tiles(path));
  ASSERT_EQ(path.links.size(), 1u);
  EXPECT_EQ(path.links[0].kind, LinkKind::hear);
  EXPECT_EQ(path.links[0].rank, 0);
  EXPECT_EQ(path.to - path.from, 28 + 76);
  EXPECT_EQ(path.hand_overs(), 0);
}

TEST(CriticalPath, SenseReversingOfTwoRanksOnAFlatChip) {
  const Machine machine = flat_chip();
  ExplainOptions options;
  options.calls = 4;
  options.wait.kind = WaitPolicy::Kind::spin;
  const Explanation found = explain_collective(
      machine, simulated_algorithm(Operation::barrier, "sense-reversing"), one_a_core(machine, 2), options);
  ASSERT_TRUE(tiles(found.path));
  const std::vector<PathLink>& links = found.path.links;
  // The rank released last arrives last; its update takes the counter from the other, it resets the counter,
  // which it now owns, and stores the release word whole, without reading it.
  ASSERT_EQ(links.size(), 5u);
  const int releaser = found.path.last_in;
  EXPECT_EQ(found.path.last_out, 1 - releaser);
  const std::vector<std::pair<LinkKind, int>> steps = {{LinkKind::atomic, releaser},
                                                       {LinkKind::local, releaser},
                                                       {LinkKind::store, releaser},
                                                       {LinkKind::queue, releaser},
                                                       {LinkKind::hear, 1 - releaser}};
  const std::vector<Parts> parts = {{{Cause::request_trip, 28},
                                     {Cause::directory_service, 12},
                                     {Cause::forward_trip, 4},
                                     {Cause::snoop, 24},
                                     {Cause::go_ahead, 12},
                                     {Cause::fill, 24},
                                     {Cause::instructions, 9}},
                                    {{Cause::instructions, 8}},
                                    {{Cause::request_trip, 28},
                                     {Cause::directory_service, 12},
                                     {Cause::forward_trip, 4},
                                     {Cause::snoop, 24},
                                     {Cause::go_ahead, 12}},
                                    {{Cause::release_trip, 4}},
                                    {{Cause::directory_service, 12},
                                     {Cause::forward_trip, 4},
                                     {Cause::snoop, 24},
                                     {Cause::go_ahead, 12},
                                     {Cause::fill, 24}}};
  for (std::size_t l = 0; l < links.size(); ++l) {
    EXPECT_EQ(links[l].kind, steps[l].first) << l;
    EXPECT_EQ(links[l].rank, steps[l].second) << l;
    EXPECT_EQ(parts_of(links[l]), parts[l]) << l;
  }
  EXPECT_EQ(found.path.to - found.path.from, 113 + 8 + 80 + 4 + 76);
  EXPECT_EQ(found.path.hand_overs(), 1);
}

TEST(CriticalPath, NoSuchEpisode) {
  const Machine machine = flat_chip();
  Scene scene(machine, one_a_core(machine, 1));
  scene.path({0}, [](SimPort& port) { port.fence(); });
  EXPECT_THROW(critical_path(*scene.simulation.log(), scene.cores, 1), ArgumentError);
}

struct Setting {
  const char* machine;
  std::vector<int> ranks;
  bool window;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.machine << (setting.window ? " window" : " loop");
}

class EveryBarrier : public ::testing::TestWithParam<Setting> {};

TEST_P(EveryBarrier, HasAPathWithoutAGap) {
  const Setting& setting = GetParam();
  const Machine machine = load_machine(setting.machine);
  for (const AlgorithmInfo& info : family(Operation::barrier).algorithms()) {
    for (const int ranks : setting.ranks) {
      ExplainOptions options;
      options.calls = 3;
      options.window = setting.window;
      options.start_skew = 1000;
      options.wait.kind = WaitPolicy::Kind::pause;
      options.wait.pauses = 1;
      options.seed = static_cast<std::uint64_t>(ranks);
      options.log_all = true;
      const Explanation found =
          explain_collective(machine, simulated_algorithm(Operation::barrier, info.name),
                             place_on_machine(machine, ranks, "balanced"), options);
      for (int call = 0; call < options.calls; ++call) {
        const CriticalPath path = critical_path(*found.run.log, found.cores, call);
        ASSERT_TRUE(tiles(path)) << info.name << ", " << ranks << " ranks, call " << call;
        if (ranks > 1 && setting.window) {
          EXPECT_GE(path.links.size(), 2u) << info.name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OnMachines, EveryBarrier,
    ::testing::Values(
        Setting{"xeon-phi-5110p", {1, 2, 8, 61, 240}, false}, Setting{"xeon-phi-5110p", {8, 61, 240}, true},
        Setting{"xeon-phi-5110p:request.completion=data", {61}, false},
        Setting{"xeon-phi-5110p:directory.write_unlock=owner:directory.read_unlock=requester", {61}, false},
        Setting{"xeon-phi-5110p:ring.hop=0:directory.service=0:request.merge_writes=off", {61}, false},
        Setting{"xeon-phi-5110p:directory.responder=memory:core.store_buffer=1", {61}, false},
        Setting{"sandy-bridge-e5-2670", {2, 16}, false}));

TEST(CriticalPath, HasNoGapOnMachinesOfAnyNumbers) {
  const std::vector<AlgorithmInfo> all = family(Operation::barrier).algorithms();
  const int machines = testing::long_run() ? 2000 : 100;
  for (int i = 0; i < machines; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    const Machine machine = testing::random_chip(8, 1 + static_cast<int>(random.below(4)), random);
    const AlgorithmInfo& info = all[random.below(all.size())];
    const int ranks = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(machine.contexts())));
    ExplainOptions options;
    options.calls = 2;
    options.window = random.below(2) == 0;
    options.start_skew = 200;
    options.seed = random.below(1000);
    options.wait.kind = random.below(2) == 0 ? WaitPolicy::Kind::spin : WaitPolicy::Kind::pause;
    options.wait.pauses = 1;
    options.log_all = true;
    const Explanation found = explain_collective(machine, simulated_algorithm(Operation::barrier, info.name),
                                                 testing::anywhere(machine, ranks, random), options);
    for (int call = 0; call < options.calls; ++call)
      ASSERT_TRUE(tiles(critical_path(*found.run.log, found.cores, call)))
          << "machine " << i << ", " << info.name << ", " << ranks << " ranks, call " << call;
  }
}

// A ring's root is calls ahead, so that its part of a call comes long before the last rank's.
TEST(CriticalPath, OfTheExplainedCallAloneIsTheSameAsOfTheWholeLog) {
  const Machine machine = load_machine("xeon-phi-5110p");
  for (const char* const text : {"barrier dissemination 0", "barrier static-tournament 0", "broadcast ring 8",
                                 "broadcast ring 5000", "allreduce one-shot 512", "alltoall auto 64"}) {
    const std::vector<std::string> words = split(text, ' ');
    for (int call = -1; call < 8; call += 3) {
      ExplainOptions options;
      options.calls = 8;
      options.call = call;
      options.work.operation = measure::parse_call(words[0]).operation;
      options.work.bytes = std::stoull(words[2]);
      const AlgorithmSpec spec = family(options.work.operation).parse(words[1]);
      const Shape shape = place_on_machine(machine, 9, "balanced");
      const Explanation one = explain_collective(machine, spec, shape, options);
      options.log_all = true;
      const Explanation all = explain_collective(machine, spec, shape, options);
      EXPECT_EQ(explanation_text(one, 1000), explanation_text(all, 1000)) << text << ", call " << call;
      EXPECT_LT(one.run.log->operations.size(), all.run.log->operations.size()) << text << ", call " << call;
    }
  }
}

TEST(CriticalPath, OfDataHasNoGapAndNamesCopies) {
  const Machine machine = load_machine("xeon-phi-5110p");
  for (const char* const text : {"broadcast ring 8 ", "broadcast ring 5000", "allreduce one-shot 512",
                                 "allreduce auto 20000", "alltoall auto 64", "scan auto 1000"}) {
    const std::vector<std::string> words = split(text, ' ');
    for (const bool window : {false, true}) {
      ExplainOptions options;
      options.calls = 3;
      options.window = window;
      options.start_skew = 500;
      options.work.operation = measure::parse_call(words[0]).operation;
      options.work.bytes = std::stoull(words[2]);
      options.log_all = true;
      const Explanation found = explain_collective(machine, family(options.work.operation).parse(words[1]),
                                                   place_on_machine(machine, 9, "balanced"), options);
      for (int call = 0; call < options.calls; ++call)
        ASSERT_TRUE(tiles(critical_path(*found.run.log, found.cores, call))) << text;
      EXPECT_NE(explanation_text(found).find(options.work.text() + " by "), std::string::npos);
      EXPECT_NE(explanation_json(found).find("\"operation\":\"" + words[0]), std::string::npos);
      // Most of a copy of many lines is not unexplained.
      Cycles unexplained = 0, whole = 0;
      for (const PathLink& link : found.path.links)
        for (const PathPart& part : link.parts) {
          whole += part.to - part.from;
          if (part.cause == Cause::unexplained) unexplained += part.to - part.from;
        }
      EXPECT_LE(unexplained * 10, whole) << text;
    }
  }
}

TEST(Explanation, CountsWhatTheEpisodeDid) {
  const Machine machine = load_machine("xeon-phi-5110p");
  ExplainOptions options;
  const Explanation found =
      explain_collective(machine, simulated_algorithm(Operation::barrier, "dissemination"),
                         place_on_machine(machine, 60, "balanced"), options);
  // Six rounds of 60 signals: each takes the line from the waiter, which then reads it.
  std::int64_t writes = 0, reads = 0;
  for (const TransactionReport& t : found.transactions)
    (t.kind == Request::read || t.kind == Request::prefetch ? reads : writes) += t.count;
  EXPECT_NEAR(static_cast<double>(writes), 360, 60);
  EXPECT_NEAR(static_cast<double>(reads), 360, 60);
  // Counted from the first entry on, when others are not out of the call before yet.
  EXPECT_GE(found.counted.stores, 360 * options.calls);
  EXPECT_LE(found.counted.stores, 360 * (options.calls + 1));
  for (const LineReport& line : found.lines) {
    EXPECT_EQ(line.byte, line.line * 64u);
    EXPECT_LE(line.writers, 1);
  }
  for (const CentreReport& centre : found.centres) {
    EXPECT_GE(centre.mean, 0) << centre.name;
    EXPECT_LE(centre.mean, 1) << centre.name;
    if (centre.which >= 0) {
      EXPECT_GE(centre.busiest, centre.mean * 0.999999) << centre.name;
    }
  }
  EXPECT_TRUE(std::is_sorted(found.lines.begin(), found.lines.end(),
                             [](const LineReport& a, const LineReport& b) { return a.waited > b.waited; }));
  JsonValue value;
  ASSERT_TRUE(JsonValue::parse(explanation_json(found), &value));
  EXPECT_EQ(value["path"]["links"].list.size(), found.path.links.size());
  EXPECT_NE(explanation_text(found).find("critical path"), std::string::npos);
}

TEST(Explanation, IsTheSameEveryTime) {
  const Machine machine = load_machine("xeon-phi-5110p");
  const auto text = [&] {
    return explanation_json(explain_collective(machine,
                                               simulated_algorithm(Operation::barrier, "combining-tree"),
                                               place_on_machine(machine, 61, "balanced"), ExplainOptions{}));
  };
  EXPECT_EQ(text(), text());
}

TEST(Explanation, AnEpisodeThatIsNotThereIsRefused) {
  const Machine machine = flat_chip();
  ExplainOptions options;
  options.calls = 3;
  options.call = 3;
  EXPECT_THROW(explain_collective(machine, simulated_algorithm(Operation::barrier, "dissemination"),
                                  one_a_core(machine, 2), options),
               ArgumentError);
}

// --- the timeline ------------------------------------------------------------------------------------------

struct Slice {
  std::int64_t begin, end;
  std::string name;
};

void expect_a_sound_trace(const Explanation& found, bool all) {
  JsonValue trace;
  JsonFault fault;
  const std::string text = chrome_trace(found, all);
  ASSERT_TRUE(JsonValue::parse(text, &trace, &fault)) << fault.what << ", line " << fault.line;
  std::map<std::pair<int, int>, std::vector<Slice>> tracks;
  std::map<std::pair<int, int>, std::string> names;
  std::map<int, std::array<int, 2>> flows;
  std::vector<std::pair<std::pair<int, int>, std::int64_t>> ends;
  for (const JsonValue& event : trace["traceEvents"].list) {
    const std::pair<int, int> track{static_cast<int>(event["pid"].number),
                                    static_cast<int>(event["tid"].number)};
    const std::string& phase = event["ph"].string;
    const std::int64_t ns = std::llround(event["ts"].number * 1000);
    if (phase == "M") {
      if (event["name"].string == "thread_name") names[track] = event["args"]["name"].string;
    } else if (phase == "X") {
      const std::int64_t duration = std::llround(event["dur"].number * 1000);
      ASSERT_GE(ns, 0);
      ASSERT_GE(duration, 0);
      tracks[track].push_back(Slice{ns, ns + duration, event["name"].string});
    } else {
      ASSERT_TRUE(phase == "s" || phase == "f") << phase;
      ++flows[static_cast<int>(event["id"].number)][phase == "s" ? 0 : 1];
      ends.emplace_back(track, ns);
    }
  }
  EXPECT_FALSE(flows.empty());
  for (const auto& flow : flows) {
    EXPECT_EQ(flow.second[0], 1) << "arrow " << flow.first;
    EXPECT_EQ(flow.second[1], 1) << "arrow " << flow.first;
  }
  for (const auto& end : ends) {
    const std::vector<Slice>& slices = tracks[end.first];
    EXPECT_TRUE(std::any_of(slices.begin(), slices.end(),
                            [&](const Slice& slice) {
                              return slice.begin <= end.second && end.second <= slice.end &&
                                     slice.name.find("line") != std::string::npos;
                            }))
        << "an arrow's end at " << end.second << " ns lies in no operation of " << names[end.first];
  }
  for (auto& track : tracks) {
    EXPECT_FALSE(names[track.first].empty());
    std::vector<Slice>& slices = track.second;
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Slice> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back().end <= slice.begin) open.pop_back();
      if (!open.empty()) {
        ASSERT_LE(slice.end, open.back().end)
            << slice.name << " overlaps " << open.back().name << " on " << names[track.first];
      }
      open.push_back(slice);
    }
  }
}

TEST(ChromeTrace, IsSoundForEveryBarrier) {
  const Machine machine = load_machine("xeon-phi-5110p");
  for (const AlgorithmInfo& info : family(Operation::barrier).algorithms()) {
    SCOPED_TRACE(info.name);
    ExplainOptions options;
    options.calls = 3;
    const Explanation found = explain_collective(machine, simulated_algorithm(Operation::barrier, info.name),
                                                 place_on_machine(machine, 17, "balanced"), options);
    expect_a_sound_trace(found, false);
    expect_a_sound_trace(found, true);
  }
}

TEST(ChromeTrace, IsOfASaneSizeAt240Ranks) {
  const Machine machine = load_machine("xeon-phi-5110p");
  ExplainOptions options;
  options.calls = 3;
  for (const char* name : {"hybrid-dissemination", "dissemination"}) {
    const Explanation found = explain_collective(machine, simulated_algorithm(Operation::barrier, name),
                                                 place_on_machine(machine, 240, "balanced"), options);
    expect_a_sound_trace(found, false);
    EXPECT_LT(chrome_trace(found).size(), std::size_t{10} << 20) << name;
  }
}

TEST(ChromeTrace, APathThatCannotBeWrittenIsRefusedAndNothingIsLeftBehind) {
  EXPECT_THROW(check_trace_path("/nowhere/at/all.json"), ArgumentError);
  EXPECT_THROW(check_trace_path("/"), ArgumentError);
  const std::string path = "/tmp/phicoll-trace-" + std::to_string(::getpid()) + ".json";
  check_trace_path(path);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  const Machine machine = load_machine("xeon-phi-5110p");
  const Explanation found =
      explain_collective(machine, simulated_algorithm(Operation::barrier, "dissemination"),
                         place_on_machine(machine, 4, "balanced"), ExplainOptions{});
  EXPECT_EQ(write_chrome_trace(path, found), chrome_trace(found).size());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
