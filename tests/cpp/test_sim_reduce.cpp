// The papers' reductions on simulated machines: sequences of calls without barriers between them, with roots,
// counts and delays drawn anew for each, on chips drawn likewise. A simulation is one order of events that
// real threads hardly ever take; every result is compared with a plain computation, and guards around buffers
// are watched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "reduce_specs.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

class SimulatedReduce : public ::testing::TestWithParam<std::string> {};

Program draw(const std::string& algorithm, Random& random, int ranks, std::uint64_t seed) {
  const auto upto = [&random](std::size_t most) { return static_cast<std::size_t>(random.below(most + 1)); };
  Program program;
  program.ranks = ranks;
  program.seed = seed;
  program.buffers = {1100, 1100};
  const std::size_t last_root = static_cast<std::size_t>(ranks) - 1;
  for (int i = 0; i < 10; ++i) {
    ProgramCall call;
    call.operation = Operation::reduce;
    call.algorithm = algorithm;
    // The same root several times as often as another.
    call.root = i == 0 || upto(2) == 0 ? static_cast<int>(upto(last_root)) : program.calls.back().root;
    call.type = Type::int32;
    call.op = upto(1) == 0 ? Op::sum : Op::max;
    call.count = upto(3) == 0 ? upto(3) : 60 + upto(200);
    call.in_place = upto(2) == 0;
    call.fill = 1 + seed * 100 + static_cast<std::uint64_t>(i);
    if (upto(1) == 0)
      for (int r = 0; r < ranks; ++r) call.delays.push_back(static_cast<int>(upto(3) == 0 ? upto(60) : 0));
    program.calls.push_back(call);
  }
  return program;
}

TEST_P(SimulatedReduce, GivesTheResultInSequencesWithChangingRoots) {
  for (int i = 0; i < testing::draws(24); ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    Random random(seed);
    const int ranks = 2 + i % 8;
    const Machine machine = i % 3 == 0 ? testing::chip(12) : testing::random_chip(4, 4, random);
    const Program program = draw(GetParam(), random, ranks, seed);
    SimOptions options;
    options.seed = seed;
    options.start_skew = 3000;
    options.shuffle = i % 2 == 0;
    SCOPED_TRACE(GetParam() + ", seed " + std::to_string(seed) + ", ranks " + std::to_string(ranks));
    const Shape shape = testing::anywhere(machine, ranks, random);
    ASSERT_NO_THROW(
        check_same(program.expected(), run_program_simulated(program, machine, shape, options).buffers));
  }
}

std::string spec_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Reduce, SimulatedReduce, ::testing::ValuesIn(all_reduce_specs()), spec_name);

}  // namespace
}  // namespace sim
}  // namespace phicoll
