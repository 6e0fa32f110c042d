// Every reduce-scatter algorithm, regular and with blocks of different lengths: results, borders of portions,
// in place, threads and processes, sequences without barriers.

#include "reduction_testing.hpp"

namespace phicoll {
namespace {

using namespace reduction_testing;

constexpr Operation operation = Operation::reduce_scatter;
const std::vector<Kind> kinds = {Kind::int_sum, Kind::float_sum, Kind::affine, Kind::wide};

using Counts = std::vector<std::size_t>;

/// One call, checked on this rank; regular if all counts are equal and `regular` asks for it. Returns the
/// hash of the result's bits.
std::uint64_t check(Communicator& comm, const AlgorithmSpec& spec, Kind kind, const Counts& counts,
                    bool regular, bool in_place, std::uint64_t salt, const InHeap& heap = InHeap()) {
  const Operator op = operator_of(kind);
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::size_t total = 0, first = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r < rank) first += counts[r];
    total += counts[r];
  }
  const Bytes own = input(kind, comm.rank(), total, salt);
  const std::size_t result_bytes = counts[rank] * op.element_bytes;
  Guarded send(own.size(), heap.send), receive(in_place ? own.size() : result_bytes, heap.receive);
  (in_place ? receive : send).fill(own);
  const unsigned char* const from = in_place ? nullptr : send.data();
  if (regular)
    comm.reduce_scatter_block(from, receive.data(), counts[0], op, &spec);
  else
    comm.reduce_scatter(from, receive.data(), counts.data(), op, &spec);
  std::string what = spec.text() + ", operator " + std::to_string(static_cast<int>(kind)) + ", counts";
  for (const std::size_t count : counts) what += " " + std::to_string(count);
  what += ", in place " + std::to_string(in_place) + ", rank " + std::to_string(rank);
  const Bytes all = combined(kind, 0, comm.size(), total, salt);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * op.element_bytes);
  require(equivalent(kind, receive.data(), Bytes(begin, begin + static_cast<std::ptrdiff_t>(result_bytes))),
          what + ": result");
  require(send.whole() && receive.whole(), what + ": written beside the buffer");
  require(in_place || send.holds(own), what + ": send buffer written");
  return add_to_hash(total, receive.data(), result_bytes);
}

/// Blocks of different lengths, some empty, drawn alike on all ranks.
Counts uneven(int ranks, std::size_t most, Random& random) {
  Counts counts;
  for (int r = 0; r < ranks; ++r)
    counts.push_back(random.below(3) == 0 ? 0 : static_cast<std::size_t>(random.below(most + 1)));
  return counts;
}

void every_algorithm(Communicator& comm, const std::vector<AlgorithmSpec>& specs,
                     const std::vector<std::size_t>& lengths) {
  std::uint64_t salt = 0;
  Random random(11);
  for (const AlgorithmSpec& spec : specs)
    for (const std::size_t count : lengths)
      for (const bool regular : {true, false})
        for (const bool in_place : {false, true}) {
          ++salt;
          const Kind kind = kinds[(salt + salt / 4) % kinds.size()];
          const Counts counts = regular ? Counts(static_cast<std::size_t>(comm.size()), count)
                                        : uneven(comm.size(), count, random);
          if (!serves(spec, comm.shape(), facts_of(operation, kind, count))) continue;
          check(comm, spec, kind, counts, regular, in_place, salt);
        }
}

std::uint64_t random_sequence(Communicator& comm, const std::vector<AlgorithmSpec>& specs, int calls,
                              std::uint64_t seed, std::uint64_t delay_seed) {
  Random random(seed);
  Delays delay(delay_seed * 64 + static_cast<std::uint64_t>(comm.rank()));
  std::uint64_t hash = 0;
  for (int i = 0; i < calls; ++i) {
    const AlgorithmSpec& spec = specs[random.below(specs.size())];
    const Kind kind = kinds[random.below(kinds.size())];
    const Counts counts = uneven(comm.size(), random.below(4) == 0 ? 60 : 6, random);
    const bool in_place = random.below(2) != 0;
    const std::uint64_t salt = random.below(1000);
    if (!serves(spec, comm.shape(), facts_of(operation, kind, 8))) continue;
    delay();
    hash = hash * 31 + check(comm, spec, kind, counts, false, in_place, salt);
  }
  return hash;
}

TEST(ReduceScatter, EveryAlgorithmByThreads) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  EXPECT_GE(specs.size(), 4u);
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) {
      every_algorithm(
          comm, specs,
          ranks < 6 ? std::vector<std::size_t>{0, 1, 2, 7, 31, 33, 65} : std::vector<std::size_t>{1, 5, 17});
    });
  }
}

TEST(ReduceScatter, EveryAlgorithmByProcesses) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 3, 6}) {
    SCOPED_TRACE(ranks);
    fork_and_run(ranks, options(), [&](Communicator& comm) { every_algorithm(comm, specs, {0, 1, 17}); });
  }
}

TEST(ReduceScatter, BlocksInTheHeapOfSomeRanks) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  fork_and_run(5, options(), [&](Communicator& comm) {
    Random random(5);
    for (const AlgorithmSpec& spec : specs)
      for (std::uint64_t salt = 0; salt < 8; ++salt)
        check(comm, spec, Kind::int_sum, uneven(5, 40, random), false, salt % 2 != 0, salt,
              InHeap(comm, salt));
  });
}

TEST(ReduceScatter, DefaultPortions) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, false);
  for (const int ranks : {2, 5}) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) { every_algorithm(comm, specs, {64, 1025}); });
  }
}

TEST(ReduceScatter, SequencesWithoutBarriersAreTheSameInEveryRun) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 3, 5, 8}) {
    SCOPED_TRACE(ranks);
    std::vector<std::vector<std::uint64_t>> runs;
    for (const std::uint64_t delays : {1u, 2u}) {
      runs.emplace_back(static_cast<std::size_t>(ranks));
      ThreadGroup(ranks, options()).run([&](Communicator& comm) {
        runs.back()[static_cast<std::size_t>(comm.rank())] =
            random_sequence(comm, specs, sanitized() ? 40 : 100, static_cast<std::uint64_t>(ranks), delays);
      });
    }
    EXPECT_EQ(runs[0], runs[1]);
  }
}

// In place, a block after empty ones begins where the result of its rank goes.
TEST(ReduceScatter, InPlaceBehindEmptyBlocks) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  ThreadGroup(4, options()).run([&](Communicator& comm) {
    for (const AlgorithmSpec& spec : specs)
      for (const Counts& counts : {Counts{0, 0, 0, 90}, Counts{0, 70, 1, 70}, Counts{1, 0, 90, 0}})
        check(comm, spec, Kind::int_sum, counts, false, true, 3);
  });
}

TEST(ReduceScatter, FootprintsOfAThousandRanksFit) {
  const Shape shape = Shape::unknown(1024);
  for (const AlgorithmSpec& spec : all_specs(operation, false)) {
    const AlgorithmSpec effective = family(operation).effective(spec, shape);
    EXPECT_LE(family(operation).footprint(effective, shape), std::size_t{64} << 20) << spec.text();
  }
}

}  // namespace
}  // namespace phicoll
