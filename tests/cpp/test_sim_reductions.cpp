// Allreduce, scan and reduce-scatter on a simulated machine by every algorithm with every choice of its
// parameters: results are compared with a plain computation, and what the papers say of their costs is seen.

#include "phicoll/sim/running/sim_collectives.hpp"
#include "reduction_testing.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using reduction_testing::all_specs;
using testing::chip;
using testing::one_a_core;

// simulate_collective throws where a byte is wrong.
void every_spec(Operation operation, bool exclusive) {
  const Machine machine = chip(12);
  for (const AlgorithmSpec& spec : all_specs(operation, true))
    for (const int ranks : {2, 3, 5, 6}) {
      const Shape shape = one_a_core(machine, ranks);
      std::uint64_t seed = 0;
      for (const std::size_t bytes : {4u, 12u, 772u}) {
        CallFacts facts;
        facts.operation = operation;
        facts.bytes = bytes;
        if (spec.name != "auto" && !family(operation).fits(spec, shape, facts)) continue;
        CollectiveOptions options = testing::few_calls();
        measure::Work work = testing::work_of(operation, bytes);
        work.type = Type::int32;
        work.exclusive = exclusive;
        work.fresh = ++seed % 2 == 0;
        options.calls = 3;
        options.simulation.start_skew = 700;
        options.simulation.seed = seed;
        SCOPED_TRACE(spec.text() + " ranks " + std::to_string(ranks) + " bytes " + std::to_string(bytes));
        EXPECT_EQ(simulate_collective(machine, work, spec, shape, options).verified, 4);
      }
    }
}

TEST(SimReductions, EveryAllreduceWithEveryChoice) {
  every_spec(Operation::allreduce, false);
}
TEST(SimReductions, EveryScanWithEveryChoice) {
  every_spec(Operation::scan, false);
  every_spec(Operation::scan, true);
}
TEST(SimReductions, EveryReduceScatterWithEveryChoice) {
  every_spec(Operation::reduce_scatter, false);
}

// Ranks wish what their own clocks say.
TEST(SimReductions, TwoRanksCombineEitherWay) {
  const Machine machine = chip(12);
  const AlgorithmSpec spec = family(Operation::allreduce).parse("sliced:chunk=1024:cells=4:whole=512");
  for (const std::size_t bytes : {1020u, 1024u, 3092u}) {
    CollectiveOptions options = testing::few_calls();
    measure::Work work = testing::work_of(Operation::allreduce, bytes);
    work.type = Type::int32;
    options.calls = 20;
    options.simulation.start_skew = 700;
    options.simulation.seed = bytes;
    SCOPED_TRACE(bytes);
    EXPECT_EQ(simulate_collective(machine, work, spec, one_a_core(machine, 2), options).verified, 21);
  }
}

double mean_cycles(const std::string& spec, int ranks, std::size_t bytes) {
  const Machine machine = chip(60);
  CollectiveOptions options = testing::few_calls();
  options.window = true;
  measure::Work work = testing::work_of(Operation::allreduce, bytes);
  work.type = Type::int32;
  const std::vector<Cycles> times =
      simulate_collective(machine, work, family(Operation::allreduce).parse(spec), one_a_core(machine, ranks),
                          options)
          .times(true);
  double sum = 0;
  for (const Cycles time : times) sum += static_cast<double>(time);
  return sum / static_cast<double>(times.size());
}

// namashivayam-2014 section 5.1.5 and figure 7: the flat tree is the slowest, recursive doubling is the
// better one for small arrays and Rabenseifner's algorithm for large ones.
TEST(SimReductions, TheOrderOfThePapersAlgorithms) {
  for (const char* const transfer : {":transfer=put-get", ":transfer=load-store"}) {
    const auto time = [&](const char* name, std::size_t bytes) {
      return mean_cycles(name + std::string(transfer), 16, bytes);
    };
    EXPECT_LT(time("recursive-doubling", 64), time("flat-tree", 64)) << transfer;
    EXPECT_LT(time("recursive-doubling", 64), time("rabenseifner", 64)) << transfer;
    EXPECT_LT(time("rabenseifner", 32768), time("recursive-doubling", 32768)) << transfer;
    EXPECT_LT(time("rabenseifner", 32768), time("flat-tree", 32768)) << transfer;
  }
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
