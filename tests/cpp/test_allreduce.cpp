// Every allreduce algorithm with every choice of its parameters: results, the same bits on all ranks and in
// all runs, borders of pieces, in place, threads and processes, sequences without barriers.

#include "reduction_testing.hpp"

namespace phicoll {
namespace {

using namespace reduction_testing;

constexpr Operation operation = Operation::allreduce;

/// One call, checked on this rank. Returns the hash of the result's bits.
std::uint64_t check(Communicator& comm, const AlgorithmSpec& spec, Kind kind, std::size_t count,
                    bool in_place, std::uint64_t salt, const InHeap& heap = InHeap()) {
  const Operator op = operator_of(kind);
  const Bytes own = input(kind, comm.rank(), count, salt);
  Guarded send(own.size(), heap.send), receive(own.size(), heap.receive);
  (in_place ? receive : send).fill(own);
  comm.allreduce(in_place ? nullptr : send.data(), receive.data(), count, op, &spec);
  const std::string what = spec.text() + ", operator " + std::to_string(static_cast<int>(kind)) + ", " +
                           std::to_string(count) + " elements, in place " + std::to_string(in_place) +
                           ", rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size());
  require(equivalent(kind, receive.data(), combined(kind, 0, comm.size(), count, salt)), what + ": result");
  require(send.whole() && receive.whole(), what + ": written beside the buffer");
  require(in_place || send.holds(own), what + ": send buffer written");
  return add_to_hash(count, receive.data(), own.size());
}

const std::vector<Kind> kinds = {Kind::int_sum, Kind::float_sum, Kind::affine, Kind::wide};

/// Every algorithm that serves, one after the other without barriers; the hash of all results.
std::uint64_t every_algorithm(Communicator& comm, const std::vector<AlgorithmSpec>& specs,
                              const std::vector<std::size_t>& counts) {
  std::uint64_t hash = 0, salt = 0;
  for (const AlgorithmSpec& spec : specs)
    for (const std::size_t count : counts)
      for (const bool in_place : {false, true}) {
        const Kind kind = kinds[++salt % kinds.size()];
        if (!serves(spec, comm.shape(), facts_of(operation, kind, count))) continue;
        hash = hash * 31 + check(comm, spec, kind, count, in_place, salt);
      }
  return hash;
}

/// `calls` calls drawn from `seed` alike on all ranks, with delays of each rank's own.
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
    const std::uint64_t salt = random.below(1000);
    if (!serves(spec, comm.shape(), facts_of(operation, kind, count))) continue;
    delay();
    hash = hash * 31 + check(comm, spec, kind, count, in_place, salt);
  }
  return hash;
}

/// The least and the greatest hash of all ranks are one.
void require_alike(Communicator& comm, std::uint64_t hash) {
  std::uint64_t extremes[2];
  comm.allreduce(&hash, &extremes[0], 1, find_operator(Type::uint64, Op::min));
  comm.allreduce(&hash, &extremes[1], 1, find_operator(Type::uint64, Op::max));
  require(extremes[0] == extremes[1], "other bits on some rank");
}

const std::vector<std::size_t> border_counts = {0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 129};
const std::vector<std::size_t> few_counts = {1, 33, 65};
const std::vector<int> rank_counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};

TEST(Allreduce, EveryAlgorithmByThreads) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  EXPECT_GT(specs.size(), 15u);
  for (const int ranks : rank_counts) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) {
      require_alike(comm, every_algorithm(comm, specs, ranks < 6 ? border_counts : few_counts));
    });
  }
}

TEST(Allreduce, EveryAlgorithmByProcesses) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 3, 5, 6}) {
    SCOPED_TRACE(ranks);
    fork_and_run(ranks, options(), [&](Communicator& comm) {
      require_alike(comm, every_algorithm(comm, specs, {0, 1, 33, 65}));
    });
  }
}

TEST(Allreduce, DefaultPieces) {
  std::vector<AlgorithmSpec> specs = all_specs(operation, false);
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    ThreadGroup(ranks, options()).run([&](Communicator& comm) {
      require_alike(comm, every_algorithm(comm, specs, {1, 260, 1023}));
    });
  }
}

TEST(Allreduce, SequencesWithoutBarriersAreTheSameInEveryRun) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 5, 8}) {
    SCOPED_TRACE(ranks);
    std::vector<std::uint64_t> runs;
    for (const std::uint64_t delays : {1u, 2u}) {
      std::vector<std::uint64_t> hashes(static_cast<std::size_t>(ranks));
      ThreadGroup(ranks, options()).run([&](Communicator& comm) {
        hashes[static_cast<std::size_t>(comm.rank())] =
            random_sequence(comm, specs, sanitized() ? 50 : 100, static_cast<std::uint64_t>(ranks), delays);
      });
      for (const std::uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]);
      runs.push_back(hashes[0]);
    }
    EXPECT_EQ(runs[0], runs[1]);
  }
}

// Some ranks' arrays are read and written where they lie, others' are not reached: any mixture works
// together.
TEST(Allreduce, ArraysInTheHeapOfSomeRanks) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 5}) {
    SCOPED_TRACE(ranks);
    fork_and_run(ranks, options(), [&](Communicator& comm) {
      std::uint64_t hash = 0, salt = 0;
      for (const AlgorithmSpec& spec : specs)
        for (const std::size_t count : {std::size_t{1}, std::size_t{65}})
          for (const bool in_place : {false, true}) {
            ++salt;
            if (!serves(spec, comm.shape(), facts_of(operation, Kind::int_sum, count))) continue;
            hash = hash * 31 + check(comm, spec, Kind::int_sum, count, in_place, salt, InHeap(comm, salt));
          }
      require_alike(comm, hash);
    });
  }
}

TEST(Allreduce, SequencesBetweenProcesses) {
  const std::vector<AlgorithmSpec> specs = all_specs(operation, true);
  for (const int ranks : {2, 5}) {
    SCOPED_TRACE(ranks);
    fork_and_run(ranks, options(),
                 [&](Communicator& comm) { require_alike(comm, random_sequence(comm, specs, 80, 77, 3)); });
  }
}

TEST(Allreduce, BruckSaysThatItsBitsDiffer) {
  const AlgorithmSpec bruck = family(operation).parse("bruck");
  const Shape shape = Shape::unknown(6);
  EXPECT_TRUE(serves(bruck, shape, facts_of(operation, Kind::int_sum, 8)));
  EXPECT_FALSE(serves(bruck, shape, facts_of(operation, Kind::affine, 8)));
  const CallFacts floats = facts_of(operation, Kind::float_sum, 8);
  EXPECT_FALSE(serves(bruck, shape, floats));
  EXPECT_TRUE(serves(family(operation).parse("bruck:bit_identical=no"), shape, floats));
  // A caller that accepts this gets a result that is right but for the last bits.
  for (const char* const text :
       {"bruck:transfer=put-get:bit_identical=no", "bruck:transfer=load-store:bit_identical=no"})
    ThreadGroup(6, options()).run([&](Communicator& comm) {
      const AlgorithmSpec spec = family(operation).parse(text);
      Bytes send = input(Kind::float_sum, comm.rank(), 8, 5);
      Bytes receive(send.size());
      comm.allreduce(send.data(), receive.data(), 8, operator_of(Kind::float_sum), &spec);
      require(equivalent(Kind::float_sum, receive.data(), combined(Kind::float_sum, 0, 6, 8, 5)), text);
    });
}

TEST(Allreduce, TheSetOfThePaper) {
  const std::vector<AlgorithmSpec> specs = family(operation).parse_list("paper-003");
  EXPECT_EQ(specs.size(), 15u);
  EXPECT_EQ(family(operation).parse_list("namashivayam-2014").size(), specs.size());
}

TEST(Allreduce, FootprintsOfAThousandRanksFit) {
  const Shape shape = Shape::unknown(1024);
  for (const AlgorithmSpec& spec : all_specs(operation, false)) {
    const AlgorithmSpec effective = family(operation).effective(spec, shape);
    EXPECT_LE(family(operation).footprint(effective, shape), std::size_t{64} << 20) << spec.text();
  }
}

}  // namespace
}  // namespace phicoll
