// Calls that do not fit, on a simulated machine: one rank's third call has another tag, all else is the same.
// What lies in boxes (put_boxes.hpp) and shown places (shown.hpp) must not be taken for that call's, whatever
// the interleaving.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/make.hpp"
#include "reduction_testing.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

constexpr std::size_t elements = 40;  // of 8 bytes: two pieces of buffers of 256 bytes
constexpr std::size_t element = 8;

/// The algorithms through boxes and shown places.
std::vector<AlgorithmSpec> subjects(Operation operation) {
  std::set<std::string> texts;
  std::vector<AlgorithmSpec> found;
  for (const AlgorithmSpec& spec : reduction_testing::all_specs(operation, true)) {
    if (spec.name == "one-shot" || spec.name == "sliced" || spec.name == "hierarchical" ||
        spec.name == "auto" || spec.name == "reduce-broadcast")
      continue;
    AlgorithmSpec small = spec;
    for (auto& value : small.values)
      if (value.first == "buffer") value.second = "256";
    if (texts.insert(small.text()).second) found.push_back(small);
  }
  return found;
}

/// Ranks that returned from a call that `culprit` makes with another tag, after two that fit. Throws Error if
/// nobody waits.
std::set<int> returned(const Machine& machine, const Shape& shape, Operation operation,
                       const AlgorithmSpec& spec, int culprit, std::uint64_t seed) {
  const Family& known = family(operation);
  const AlgorithmSpec effective = known.effective(spec, shape);
  const auto ranks = static_cast<std::size_t>(shape.size());
  const std::size_t memory = known.footprint(effective, shape);
  const std::size_t place = 512, of_a_rank = (ranks + 1) * place;
  SimOptions options;
  options.seed = seed;
  options.shuffle = true;
  options.start_skew = 700;
  options.check = true;
  std::vector<std::unique_ptr<AnyCollective<SimPort>>> algorithms;
  Simulation simulation(machine, shape, memory + ranks * of_a_rank, options);
  for (int r = 0; r < shape.size(); ++r)
    algorithms.push_back(
        make_collective<SimPort>(operation, effective, Setup{r, shape, simulation.memory()}));
  std::set<int> through;
  try {
    simulation.run([&](SimPort& port) {
      const int rank = port.rank();
      unsigned char* const own = simulation.memory() + memory + static_cast<std::size_t>(rank) * of_a_rank;
      const std::size_t blocks = operation == Operation::reduce_scatter ? ranks : 1;
      for (std::uint64_t number = 1; number <= 3; ++number) {
        Call call;
        call.op = find_operator(Type::int64, Op::sum);
        call.count = elements;
        call.tag = number == 3 && rank == culprit ? 4711 : number;
        call.send = port.bind(own, blocks * elements * element);
        call.receive = port.bind(own + ranks * place, elements * element);
        (*algorithms[static_cast<std::size_t>(rank)])(port, call);
      }
      through.insert(rank);
    });
  } catch (const DeadlockError&) {
    return through;
  }
  throw Error("nobody waits");
}

class SimMismatch : public ::testing::TestWithParam<Operation> {};
INSTANTIATE_TEST_SUITE_P(Operations, SimMismatch,
                         ::testing::Values(Operation::allreduce, Operation::scan, Operation::reduce_scatter),
                         [](const auto& operation) { return std::string(to_string(operation.param)); });

TEST_P(SimMismatch, NoRankTakesDataOfACallWithAnotherTag) {
  const Operation operation = GetParam();
  const Machine machine = testing::chip(12);
  const std::vector<AlgorithmSpec> specs = subjects(operation);
  ASSERT_GE(specs.size(), 2u);
  for (const AlgorithmSpec& spec : specs)
    for (const int ranks : {2, 3, 4, 6}) {
      const Shape shape = testing::one_a_core(machine, ranks);
      CallFacts facts;
      facts.operation = operation;
      facts.bytes = elements * element;
      if (!family(operation).fits(spec, shape, facts)) continue;
      for (const int culprit : {0, ranks - 1})
        for (std::uint64_t seed = 1; seed <= testing::draws(10); ++seed) {
          SCOPED_TRACE(spec.text() + ", ranks " + std::to_string(ranks) + ", rank " +
                       std::to_string(culprit) + ", seed " + std::to_string(seed));
          // Of a scan the ranks below the culprit need nothing of it, and the first one nothing of anybody.
          std::set<int> may;
          for (int r = 0; operation == Operation::scan && r < std::max(culprit, 1); ++r) may.insert(r);
          for (const int rank : returned(machine, shape, operation, spec, culprit, seed))
            EXPECT_EQ(may.count(rank), 1u) << "rank " << rank << " returned";
        }
    }
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
