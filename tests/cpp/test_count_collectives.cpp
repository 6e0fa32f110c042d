// Counting collectives that move data: bytes, bytes between ranks, transfers, steps.

#include <gtest/gtest.h>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "phicoll/support/assert.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

Counts count(Operation operation, const std::string& spec, int ranks, std::size_t bytes, int root = 0) {
  return count_collective(testing::work_of(operation, bytes), family(operation).parse(spec),
                          Shape::unknown(ranks), root);
}

constexpr std::size_t kib = 1024;

// --- the books themselves, on a machine without an algorithm

class Books : public ::testing::Test {
 protected:
  Books() : machine_(Shape::unknown(2), 4096) {
    machine_.own(0, machine_.memory() + 1024, 1024);
    machine_.own(1, machine_.memory() + 2048, 1024);
    ports_.emplace_back(machine_, 0);
    ports_.emplace_back(machine_, 1);
  }
  Counts run(const std::function<void(CountPort&)>& first, const std::function<void(CountPort&)>& second) {
    return machine_.run_call(
        [&](int rank) { (rank == 0 ? first : second)(ports_[static_cast<std::size_t>(rank)]); }, {}, false);
  }
  Data shared(std::size_t at) { return Data{machine_.memory() + at}; }
  Data own(int rank, std::size_t at) {
    return Data{machine_.memory() + 1024 + 1024 * static_cast<std::size_t>(rank) + at};
  }
  CountMachine machine_;
  std::vector<CountPort> ports_;
};

TEST_F(Books, OnlyBytesThatAnotherWroteCross) {
  // Rank 0 writes 100 bytes into shared memory, rank 1 reads 60 of them and 40 that nobody wrote.
  const Counts counts = run([&](CountPort& port) { port.move(shared(0), own(0, 0), 100); },
                            [&](CountPort& port) { port.move(own(1, 0), shared(40), 100); });
  EXPECT_EQ(counts.transfers, 2);
  EXPECT_EQ(counts.bytes_read, 200);
  EXPECT_EQ(counts.bytes_written, 200);
  EXPECT_EQ(counts.bytes_between, 60);
  EXPECT_EQ(counts.steps, 1);
}

TEST_F(Books, DirectCopiesCrossOnceWhoeverMakesThem) {
  const auto nothing = [](CountPort&) {};
  const Counts fetched = run([&](CountPort& port) { port.move(own(0, 0), own(1, 0), 10); }, nothing);
  EXPECT_EQ(fetched.bytes_between, 10);
  EXPECT_EQ(fetched.steps, 1);
  // Put into the other's memory, which it then reads: it has crossed already.
  const Counts put = run([&](CountPort& port) { port.move(own(1, 0), own(0, 0), 10); },
                         [&](CountPort& port) { port.move(shared(0), own(1, 0), 10); });
  EXPECT_EQ(put.bytes_between, 10);
  EXPECT_EQ(put.steps, 1);
}

TEST_F(Books, StepsFollowTheDataThroughCombinations) {
  const Operator sum = find_operator(Type::int32, Op::sum);
  const Counts counts = run([&](CountPort& port) { port.move(shared(0), own(0, 0), 8); },
                            [&](CountPort& port) {
                              port.combine(sum, own(1, 0), shared(0), own(1, 0), 2);  // one step after it
                              port.move(shared(64), own(1, 0), 8);
                              port.move(own(0, 64), shared(64), 8);  // the second, into the other's memory
                            });
  EXPECT_EQ(counts.combined, 2);
  EXPECT_EQ(counts.steps, 2);
  EXPECT_EQ(counts.bytes_between, 16);
}

TEST_F(Books, OutsideIsAnError) {
  EXPECT_THROW(run([&](CountPort& port) { port.move(shared(4000), own(0, 0), 200); }, [](CountPort&) {}),
               AssertionFailed);
}

// --- algorithms

TEST(CountCollectives, OneBroadcastCrossesOnceToEachOther) {
  for (const int ranks : {2, 3, 8}) {
    const Counts ring = count(Operation::broadcast, "ring", ranks, 100 * kib);
    EXPECT_EQ(ring.bytes_between, static_cast<std::int64_t>(100 * kib) * (ranks - 1));
    EXPECT_EQ(ring.steps, 1);
    EXPECT_EQ(ring.bytes_read, static_cast<std::int64_t>(100 * kib) * ranks);
  }
  EXPECT_EQ(count(Operation::broadcast, "ring", 1, kib).bytes_between, 0);
}

TEST(CountCollectives, EveryAlgorithmMovesWhatItMust) {
  for (int o = 1; o < operations; ++o) {
    const auto operation = static_cast<Operation>(o);
    for (const AlgorithmSpec& spec : family(operation).parse_list("all"))
      for (const int ranks : {2, 5, 8}) {
        CallFacts facts;
        facts.operation = operation;
        facts.bytes = 8 * kib;
        facts.associative = false;
        const Shape shape = Shape::unknown(ranks);
        if (spec.name != "auto" && !family(operation).fits(spec, shape, facts)) continue;
        SCOPED_TRACE(std::string(to_string(operation)) + " " + spec.text() + " ranks " +
                     std::to_string(ranks));
        const Counts c = count_collective(testing::work_of(operation, 8 * kib), spec, shape);
        // Lower bounds: each rank but the root receives or gives a block; where all give to all, each gets
        // all blocks of the others or a whole reduction.
        const auto block = static_cast<std::int64_t>(8 * kib);
        std::int64_t least = block * (ranks - 1);
        if (operation == Operation::allgather || operation == Operation::alltoall ||
            operation == Operation::reduce_scatter)
          least = block * ranks * (ranks - 1);
        EXPECT_GE(c.bytes_between, least);
        EXPECT_GE(c.steps, 1);
        EXPECT_GT(c.transfers, 0);
      }
  }
}

// panigrahi-2014's rule for what reductions send: flat, each rank's operand crosses once to each that
// combines.
TEST(CountCollectives, OneShotAllreduceReadsAllOperandsOnAllRanks) {
  for (const int ranks : {2, 4, 7}) {
    const Counts c = count(Operation::allreduce, "one-shot", ranks, 4 * kib);
    EXPECT_EQ(c.bytes_between, static_cast<std::int64_t>(4 * kib) * ranks * (ranks - 1));
    EXPECT_EQ(c.steps, 1);
    EXPECT_EQ(c.combined, static_cast<std::int64_t>(kib) * ranks * (ranks - 1));
  }
}

// Recursive doubling: lg p steps for a power of two (003-06). For others folding adds one before and one
// after, which lie on one chain only where folded ranks meet (003-16).
TEST(CountCollectives, RecursiveDoublingTakesTheLogarithmInSteps) {
  for (const int ranks : {2, 4, 8, 16})
    EXPECT_EQ(count(Operation::allreduce, "recursive-doubling", ranks, 4 * kib).steps, ceil_log(2, ranks))
        << ranks;
  for (const int ranks : {3, 5, 6, 7, 9, 12, 15}) {
    const int lower = ceil_log(2, ranks) - 1;
    const auto steps = count(Operation::allreduce, "recursive-doubling", ranks, 4 * kib).steps;
    EXPECT_GE(steps, lower + 1) << ranks;
    EXPECT_LE(steps, lower + 2) << ranks;
  }
}

// Rabenseifner: lg p steps of reduce-scatter and lg p of allgather; merged in the middle one fewer (003-15).
TEST(CountCollectives, RabenseifnerTakesTwiceTheLogarithmAndOneLessWhenMerged) {
  for (const int ranks : {4, 8, 16}) {
    EXPECT_EQ(count(Operation::allreduce, "rabenseifner:merge_middle=no", ranks, 64 * kib).steps,
              2 * ceil_log(2, ranks))
        << ranks;
    EXPECT_EQ(count(Operation::allreduce, "rabenseifner:merge_middle=yes", ranks, 64 * kib).steps,
              2 * ceil_log(2, ranks) - 1)
        << ranks;
  }
}

// Its reduce: each rank combines a part and stores it to the root, one step after those of the
// reduce-scatter. Not halved, it is a tree.
TEST(CountCollectives, RabenseifnersReduceIsSharedAmongAllRanksOrATree) {
  const std::size_t bytes = 64 * kib;
  for (const int ranks : {2, 4, 8, 16}) {
    const auto others = static_cast<std::int64_t>(bytes) * (ranks - 1);
    const Counts shared = count(Operation::reduce, "rabenseifner:least=4", ranks, bytes);
    EXPECT_EQ(shared.steps, ceil_log(2, ranks) + 1) << ranks;
    EXPECT_EQ(shared.bytes_between, others + others / ranks) << ranks;
    const Counts tree = count(Operation::reduce, "rabenseifner:least=65536", ranks, bytes);
    EXPECT_EQ(tree.steps, ceil_log(2, ranks)) << ranks;
    EXPECT_EQ(tree.bytes_between, others) << ranks;
    for (const Counts& c : {shared, tree}) EXPECT_EQ(c.combined, others / 4) << ranks;
  }
}

// 002-25: AG issues P+1 DMAs a piece in a reduction: P operands in, the result out.
TEST(CountCollectives, PiecePerRankReduceMovesEachPieceInPPlusOneTransfers) {
  for (const int ranks : {2, 4, 8}) {
    const Counts c =
        count(Operation::reduce, "piece-per-rank", ranks, 4 * kib * static_cast<std::size_t>(ranks));
    EXPECT_GE(c.transfers, ranks * ranks) << ranks;
    EXPECT_LE(c.transfers, ranks * (ranks + 1)) << ranks;
  }
}

TEST(CountCollectives, BadArgumentsAreNamed) {
  const auto refused = [](std::size_t bytes, int root) -> std::string {
    try {
      count(Operation::reduce, "mailbox", 2, bytes, root);
    } catch (const ArgumentError& error) {
      return error.argument();
    }
    return "";
  };
  EXPECT_EQ(refused(6, 0), "size");
  EXPECT_EQ(refused(std::size_t{1} << 30, 0), "size");
  EXPECT_EQ(refused(8, 2).find("calls[0].root"), 0u);
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
