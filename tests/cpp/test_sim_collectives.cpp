// Collectives that move data on simulated machines: results, times and their reasons.

#include <gtest/gtest.h>

#include <algorithm>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using testing::chip;
using testing::flat_chip;
using testing::one_a_core;

std::vector<Operation> data_operations() {
  std::vector<Operation> found;
  for (int o = 1; o < operations; ++o) {
    try {
      family(static_cast<Operation>(o));
      found.push_back(static_cast<Operation>(o));
    } catch (const Error&) {
    }
  }
  return found;
}

std::vector<AlgorithmSpec> algorithms_of(Operation operation) {
  return family(operation).parse_list("all");
}

bool serves(Operation operation, const AlgorithmSpec& spec, const Shape& shape, std::size_t bytes) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  facts.associative = false;
  return spec.name == "auto" || family(operation).fits(spec, shape, facts);
}

// simulate_collective compares every result with a plain computation and throws where it differs.
TEST(SimCollectives, EveryAlgorithmGivesTheRightBytesLoopAndWindowFreshAndReused) {
  const Machine machine = chip(12);
  for (const Operation operation : data_operations())
    for (const AlgorithmSpec& spec : algorithms_of(operation))
      for (const int ranks : {1, 2, 5, 8}) {
        int drawn = ranks;
        for (const std::size_t bytes : {0u, 8u, 60u, 1000u, 20000u}) {
          const Shape shape = one_a_core(machine, ranks);
          if (!serves(operation, spec, shape, bytes)) continue;
          ++drawn;
          CollectiveOptions options = testing::few_calls();
          options.calls = 3;
          options.window = (drawn & 1) != 0;
          measure::Work work = testing::work_of(operation, bytes);
          work.fresh = (drawn & 2) == 0;
          options.root = (ranks - 1) / 2;
          options.simulation.start_skew = 500;
          options.simulation.seed = static_cast<std::uint64_t>(drawn);
          SCOPED_TRACE(std::string(to_string(operation)) + " " + spec.text() + " ranks " +
                       std::to_string(ranks) + " bytes " + std::to_string(bytes));
          const CollectiveRun run = simulate_collective(machine, work, spec, shape, options);
          EXPECT_EQ(run.verified, 4);
          EXPECT_FALSE(run.timing_only);
          // Nothing to say to others may cost nothing; all else costs something, every time.
          const Cycles least = ranks > 1 && bytes > 0 ? 1 : 0;
          for (const Cycles time : run.times(options.window)) EXPECT_GE(time, least);
        }
      }
}

// The root of a ring is calls ahead of its readers at first, so that a reader's pace alone is not what a call
// costs: no call of a loop is free, and all together cost what the slowest rank took beyond its writing.
TEST(SimCollectives, FirstCallsOfALoopInWhichTheRootRunsAheadAreNotFree) {
  const Machine machine = chip(12);
  for (const char* const text : {"ring:cell=1024:cells=64", "ring:cell=4096:cells=8", "single-copy"})
    for (const std::size_t bytes : {8u, 4096u, 32768u})
      for (const int warm_up : {0, 1}) {
        SCOPED_TRACE(std::string(text) + " bytes " + std::to_string(bytes));
        CollectiveOptions options = testing::few_calls();
        options.warm_up = warm_up;
        options.calls = 7;
        const int ranks = 4;
        const CollectiveRun run = simulate_collective(machine, testing::work_of(Operation::broadcast, bytes),
                                                      family(Operation::broadcast).parse(text),
                                                      one_a_core(machine, ranks), options);
        Cycles whole = 0;
        Cycles writing = 0;
        for (std::size_t r = 0; r < 4; ++r) {
          Cycles of_rank = 0;
          for (std::size_t e = 0; e < 7; ++e) of_rank += run.prepared[e * 4 + r];
          writing = std::max(writing, of_rank);
          whole = std::max(whole, run.exit[6 * 4 + r] - run.started[r]);
        }
        Cycles sum = 0;
        for (const Cycles time : run.times(false)) {
          EXPECT_GT(time, 0);
          sum += time;
        }
        EXPECT_EQ(sum, whole - writing);
      }
}

TEST(SimCollectives, TheSameSeedGivesTheSameCycles) {
  const Machine machine = chip(12);
  const AlgorithmSpec spec = family(Operation::allreduce).parse("auto");
  const auto times = [&](std::uint64_t seed) {
    CollectiveOptions options = testing::few_calls();
    options.simulation.seed = seed;
    return simulate_collective(machine, testing::work_of(Operation::allreduce, 4096), spec,
                               one_a_core(machine, 7), options)
        .times(false);
  };
  EXPECT_EQ(times(3), times(3));
  EXPECT_NE(times(3), times(4));
}

TEST(SimCollectives, AboveTheLimitBytesDoNotMoveAndTimesAreTheSame) {
  const Machine machine = chip(12);
  for (const Operation operation : {Operation::broadcast, Operation::allreduce}) {
    CollectiveOptions options = testing::few_calls();
    const auto run = [&] {
      return simulate_collective(machine, testing::work_of(operation, 65536), family(operation).parse("auto"),
                                 one_a_core(machine, 6), options);
    };
    const CollectiveRun backed = run();
    options.ghost_above = 100000;
    const CollectiveRun ghost = run();
    EXPECT_TRUE(ghost.timing_only);
    EXPECT_EQ(ghost.verified, 0);
    EXPECT_GT(ghost.twin_bytes, 0u);
    EXPECT_LT(ghost.twin_bytes, 65536u);
    EXPECT_EQ(ghost.times(false), backed.times(false));
    EXPECT_EQ(ghost.entry, backed.entry);
  }
}

TEST(SimCollectives, CombiningTakesItsInstructions) {
  CollectiveOptions options = testing::few_calls();
  options.window = true;
  const auto median = [&](int instructions) {
    Machine machine = flat_chip();
    machine.p.combine_instructions = instructions;
    const auto times =
        simulate_collective(machine, testing::work_of(Operation::allreduce, 8192),
                            family(Operation::allreduce).parse("one-shot"), one_a_core(machine, 2), options)
            .times(true);
    return times[times.size() / 2];
  };
  // 128 lines of two operands, an instruction each and two cycles an instruction; what overlaps with
  // transfers costs less.
  const Cycles more = median(34) - median(2);
  EXPECT_GT(more, 128 * 2 * 32);
  EXPECT_LE(more, 128 * 2 * 32 * 2 * 2 + 1000);  // cells begin inside a line: two for each
}

TEST(SimCollectives, BadArgumentsAreNamed) {
  const Machine machine = chip(4);
  const Shape shape = one_a_core(machine, 2);
  const auto allreduce = family(Operation::allreduce).parse("auto");
  const auto refused = [&](Operation operation, std::size_t bytes, int root) -> std::string {
    CollectiveOptions options = testing::few_calls();
    options.root = root;
    try {
      simulate_collective(machine, testing::work_of(operation, bytes), allreduce, shape, options);
    } catch (const ArgumentError& error) {
      return error.argument();
    }
    return "";
  };
  EXPECT_EQ(refused(Operation::allreduce, 7, 0), "size");
  EXPECT_EQ(refused(Operation::allreduce, 8, 2), "root");
  EXPECT_EQ(refused(Operation::allreduce, std::size_t{1} << 30, 0), "size");
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
