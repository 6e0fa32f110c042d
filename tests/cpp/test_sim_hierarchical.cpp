// The collectives that go through the levels of a machine, on simulated machines and on the counting port:
// results against a plain computation, what crosses between the parts, and when the simulated time is worth
// it.

#include <gtest/gtest.h>

#include <string>

#include "level_shapes.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using level_shapes::machine;

/// Every operation from every root, counts around the borders of pieces, in place, in one sequence.
Program program_of(int ranks, const std::string& spec, int roots_apart) {
  Program program;
  program.ranks = ranks;
  program.seed = static_cast<std::uint64_t>(ranks);
  program.buffers = {4096, 4096};
  int turn = 0;
  for (int root = 0; root < ranks; root += roots_apart)
    for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{700}})
      for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce}) {
        ProgramCall call;
        call.operation = operation;
        call.algorithm = spec;
        call.root = root;
        call.type = Type::uint32;
        call.op = Op::sum;
        call.count = count;
        call.in_place = operation != Operation::broadcast && ++turn % 3 == 0;
        program.calls.push_back(call);
      }
  return program;
}

const char* const small_pieces = "hierarchical:group=nested:piece=256:pieces=2";

TEST(SimHierarchical, EveryShapeGivesTheRightBytesOnTheCountingPort) {
  for (const level_shapes::Named& one : level_shapes::all()) {
    SCOPED_TRACE(one.name);
    const Program program = program_of(one.shape.size(), small_pieces, 1);
    check_same(program.expected(), run_program_counted(program, one.shape).buffers);
  }
}

// 60 cores of four: a stage of cores, and one between their leaders.
TEST(SimHierarchical, TheCountingMachineOfSixtyCoresOfFour) {
  for (const int ranks : {61, 118, 240})
    for (const Placement placement : {Placement::compact, Placement::balanced}) {
      if (ranks > 61 && placement == Placement::balanced && !testing::long_run()) continue;
      SCOPED_TRACE(ranks);
      const Shape shape = place_ranks(ranks, uniform_machine(60, 4), placement);
      const Program program = program_of(ranks, "hierarchical:group=nested", ranks / 2);
      check_same(program.expected(), run_program_counted(program, shape).buffers);
    }
}

TEST(SimHierarchical, PackagesAndCoresOfASimulatedMachine) {
  const Machine table = testing::table_machine(8);
  Random random(5);
  for (const int ranks : {2, 3, 7, 12, 16})
    for (const bool shuffle : {false, true}) {
      SCOPED_TRACE(ranks);
      const Program program = program_of(ranks, small_pieces, ranks < 8 ? 1 : 5);
      SimOptions options;
      options.seed = static_cast<std::uint64_t>(ranks);
      options.start_skew = 2000;
      options.shuffle = shuffle;
      const Shape shape = shuffle ? testing::anywhere(table, ranks, random)
                                  : place_ranks(ranks, table.places(), Placement::balanced);
      check_same(program.expected(), run_program_simulated(program, table, shape, options).buffers);
    }
}

// What the stages are for: of a message each package but the root's gets every byte once.
TEST(SimHierarchical, ABroadcastCrossesOnceBetweenThePartsOfALevel) {
  const Shape shape = place_ranks(16, machine(2, 2, 1, 4, 1), Placement::compact);
  const auto crossing = [&](const char* spec) {
    return count_collective(testing::work_of(Operation::broadcast, 32768),
                            family(Operation::broadcast).parse(spec), shape);
  };
  // Each of the 15 gets it from another rank, whatever the way; the way is longer by the levels.
  EXPECT_EQ(crossing("ring").bytes_between, 15 * 32768);
  EXPECT_EQ(crossing("hierarchical:group=nested").bytes_between, 15 * 32768);
  EXPECT_EQ(crossing("ring").steps, 1);
  EXPECT_EQ(crossing("hierarchical:group=package").steps, 2);
  EXPECT_EQ(crossing("hierarchical:group=nested").steps, 3);
}

TEST(SimHierarchical, AReduceLetsTheRootCombineOnlyWhatComesFromTheTop) {
  const Shape shape = place_ranks(16, machine(2, 2, 1, 4, 1), Placement::compact);
  for (const int root : {0, 4, 8, 15}) {
    const auto counts =
        count_collective(testing::work_of(Operation::reduce, 4096),
                         family(Operation::reduce).parse("hierarchical:group=nested"), shape, root);
    // 15 combinations of 1024 elements, and every operand crosses once; a root of which nothing comes to the
    // top itself gets one more.
    EXPECT_EQ(counts.combined, 15 * 1024) << root;
    EXPECT_EQ(counts.bytes_between, (root == 0 || root == 8 ? 15 : 16) * 4096) << root;
    EXPECT_EQ(counts.steps, 3) << root;
  }
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
