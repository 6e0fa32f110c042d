// Every scan algorithm, inclusive and exclusive: results, borders of pieces, in place, threads and processes,
// sequences without barriers.

#include "reduction_testing.hpp"

namespace phicoll {
namespace {

using namespace reduction_testing;

constexpr Operation operation = Operation::scan;
const std::vector<Kind> kinds = {Kind::int_sum, Kind::float_sum, Kind::affine, Kind::wide};

/// One call, checked on this rank. Returns the hash of the result's bits.
std::uint64_t check(Communicator& comm, const AlgorithmSpec& spec, Kind kind, std::size_t count,
                    bool in_place, bool exclusive, std::uint64_t salt) {
  const Operator op = operator_of(kind);
  const int rank = comm.rank();
  const Bytes own = input(kind, rank, count, salt);
  Guarded send(own.size()), receive(own.size());
  (in_place ? receive : send).fill(own);
  const Bytes before(receive.data(), receive.data() + own.size());
  const unsigned char* const from = in_place ? nullptr : send.data();
  if (exclusive)
    comm.exscan(from, receive.data(), count, op, &spec);
  else
    comm.scan(from, receive.data(), count, op, &spec);
  const std::string what = spec.text() + (exclusive ? ", exclusive" : ", inclusive") + ", operator " +
                           std::to_string(static_cast<int>(kind)) + ", " + std::to_string(count) +
                           " elements, in place " + std::to_string(in_place) + ", rank " +
                           std::to_string(rank) + " of " + std::to_string(comm.size());
  if (exclusive && rank == 0)
    require(receive.holds(before), what + ": rank 0's buffer written");
  else
    require(equivalent(kind, receive.data(), combined(kind, 0, exclusive ? rank : rank + 1, count, salt)),
            what + ": result");
  require(send.whole() && receive.whole(), what + ": written beside the buffer");
  require(in_place || send.holds(own), what + ": send buffer written");
  return add_to_hash(count, receive.data(), own.size());
}

void every_algorithm(Communicator& comm, const std::vector<AlgorithmSpec>& specs,
                     const std::vector<std::size_t>& counts) {
  std::uint64_t salt = 0;
  for (const AlgorithmSpec& spec : specs)
    for (const std::size_t count : counts)
      for (const bool exclusive : {false, true})
        for (const bool in_place : {false, true}) {
          ++salt;
          const Kind kind = kinds[(salt + salt / 4) % kinds.size()];
          if (!serves(spec, comm.shape(), facts_of(operation, kind, count))) continue;
          check(comm, spec, kind, count, in_place, exclusive, salt);
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
    const std::size_t count = random.below(random.below(4) == 0 ? 300 : 20);
    const bool in_place = random.below(2) != 0;
    const bool exclusive = random.below(2) != 0;
    const std::uint64_t salt = random.below(1000);
    delay();
    hash = hash * 31 + check(comm, spec, kind, count, in_place, exclusive, salt);
  }
  return hash;
}

TEST(Scan, EveryAlgorithmByThreads) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  EXPECT_GE(specs.size(), 3u);
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) {
      every_algorithm(comm, specs, {0, 1, 2, 7, 31, 32, 33, 64, 65, 129});
    });
  }
}

TEST(Scan, EveryAlgorithmByProcesses) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 3, 6}) {
    SCOPED_TRACE(ranks);
    fork_and_run(ranks, options(), [&](Communicator& comm) { every_algorithm(comm, specs, {0, 1, 33, 65}); });
  }
}

TEST(Scan, DefaultPieces) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, false);
  for (const int ranks : {2, 5}) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) {
      every_algorithm(comm, specs, {64, 65, 4097});
    });
  }
}

TEST(Scan, SequencesWithoutBarriersAreTheSameInEveryRun) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 3, 5, 8}) {
    SCOPED_TRACE(ranks);
    std::vector<std::vector<std::uint64_t>> runs;
    for (const std::uint64_t delays : {1u, 2u}) {
      runs.emplace_back(static_cast<std::size_t>(ranks));
      ThreadGroup(ranks, options()).run([&](Communicator& comm) {
        runs.back()[static_cast<std::size_t>(comm.rank())] =
            random_sequence(comm, specs, sanitized() ? 60 : 200, static_cast<std::uint64_t>(ranks), delays);
      });
    }
    EXPECT_EQ(runs[0], runs[1]);
  }
}

// Nobody tells rank 0 anything but that its pieces were read: it may be many calls ahead.
TEST(Scan, AChainWhoseLastRankIsLate) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  ThreadGroup(4, options()).run([&](Communicator& comm) {
    for (const AlgorithmSpec& spec : specs)
      for (std::uint64_t i = 0; i < 30; ++i) {
        if (comm.rank() == 3 && i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        check(comm, spec, Kind::affine, 40, false, i % 2 == 0, i);
      }
  });
}

TEST(Scan, FootprintsOfAThousandRanksFit) {
  const Shape shape = Shape::unknown(1024);
  for (const AlgorithmSpec& spec : all_specs(operation, false)) {
    const AlgorithmSpec effective = family(operation).effective(spec, shape);
    EXPECT_LE(family(operation).footprint(effective, shape), std::size_t{64} << 20) << spec.text();
  }
}

}  // namespace
}  // namespace phicoll
