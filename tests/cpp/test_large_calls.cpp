// Large calls: the sizes from which `auto` copies gathers and scatters once, how ranks find the faster way,
// and a message that no 32-bit number counts. The latter with PHICOLL_TEST_LONG=1, where 8 GB are free.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "reduction_testing.hpp"

namespace phicoll {
namespace {

/// Word i of what a rank sends: no two places of a message are alike.
std::uint64_t word(int rank, std::size_t i, int salt) {
  return (i + 1) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank) * 1000003u +
         static_cast<std::uint64_t>(salt);
}

// Words of the message of rank `from`, the last one cut off where the bytes end.
void fill(unsigned char* to, std::size_t bytes, int from, int salt) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t one = word(from, at / 8, salt);
    if (bytes - at >= 8)  // of a fixed length: no call
      std::memcpy(to + at, &one, 8);
    else
      std::memcpy(to + at, &one, bytes - at);
  }
}
void check(const unsigned char* seen, std::size_t bytes, int from, int salt, const std::string& what) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t one = word(from, at / 8, salt);
    std::uint64_t found = one;
    if (bytes - at >= 8)
      std::memcpy(&found, seen + at, 8);
    else
      std::memcpy(&found, seen + at, bytes - at);
    if (found != one) throw Error("check: " + what + ": behind byte " + std::to_string(at));
  }
}

CallFacts facts_of(Operation operation, std::size_t bytes) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  return facts;
}

bool uses(Communicator& comm, const std::string& what) {
  const std::vector<std::string> made = comm.collectives().in_use();
  return std::any_of(made.begin(), made.end(),
                     [&](const std::string& one) { return one.compare(0, what.size(), what) == 0; });
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("check: " + what);
}

// Beside the rule's border: below it cells, from it on a single copy; every byte, for every root.
void gather_and_scatter(Communicator& comm) {
  constexpr std::size_t border = std::size_t{8} << 20;
  const auto ranks = static_cast<std::size_t>(comm.size());
  expect(comm.collectives().why(facts_of(Operation::gather, border - 1)).spec.name == "mailbox",
         "gather below 8 MB");
  expect(comm.collectives().why(facts_of(Operation::gather, border)).spec.name == "single-copy",
         "gather of 8 MB");
  expect(comm.collectives().why(facts_of(Operation::scatter, border)).spec.name == "single-copy",
         "scatter of 8 MB");
  for (const std::size_t bytes : {border, border + 13}) {
    std::vector<unsigned char> block(bytes), all(ranks * bytes);
    for (int root = 0; root < comm.size(); ++root) {
      const std::string what = std::to_string(bytes) + " bytes, root " + std::to_string(root) + ", rank " +
                               std::to_string(comm.rank());
      fill(block.data(), bytes, comm.rank(), root);
      comm.gather(block.data(), comm.rank() == root ? all.data() : nullptr, bytes, root);
      if (comm.rank() == root)
        for (int r = 0; r < comm.size(); ++r)
          check(all.data() + static_cast<std::size_t>(r) * bytes, bytes, r, root, "gather of " + what);
      if (comm.rank() == root)
        for (int r = 0; r < comm.size(); ++r)
          fill(all.data() + static_cast<std::size_t>(r) * bytes, bytes, r, root + 7);
      comm.scatter(comm.rank() == root ? all.data() : nullptr, block.data(), bytes, root);
      check(block.data(), bytes, comm.rank(), root + 7, "scatter of " + what);
    }
  }
  expect(uses(comm, "gather single-copy") && uses(comm, "scatter single-copy"), "a single copy");
}

class SingleCopyByRule : public ::testing::TestWithParam<int> {};

TEST_P(SingleCopyByRule, Processes) {
  fork_and_run(GetParam(), GroupOptions(), gather_and_scatter);
}
TEST_P(SingleCopyByRule, Threads) {
  ThreadGroup group(GetParam(), GroupOptions());
  group.run(gather_and_scatter);
}
INSTANTIATE_TEST_SUITE_P(Ranks, SingleCopyByRule, ::testing::Values(2, 3));

TEST(ChoiceOfTwoRanks, MayCopyOnceFromOneMegabyteOnAndDoesFromEight) {
  for (const Operation operation : {Operation::gather, Operation::scatter}) {
    const auto chosen = [operation](std::size_t bytes) {
      return choose(Shape::unknown(2), facts_of(operation, bytes));
    };
    EXPECT_EQ(chosen(std::size_t{1} << 20).least, std::size_t{1} << 20);
    const AlgorithmSpec either = chosen(std::size_t{2} << 20).spec;
    EXPECT_EQ(either.name, "mailbox");
    EXPECT_NE(either.text().find("once=1"), std::string::npos) << either.text();
    EXPECT_EQ(chosen(std::size_t{16} << 20).spec.name, "single-copy");
  }
}

// A single copy of less is never compared with the cells.
TEST(ChoiceOfRanksThatShareCpus, MayCopyAlltoallsOnceWhereBothWaysAreTried) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    std::vector<CpuLocation> places;
    for (int r = 0; r < ranks; ++r) places.push_back(CpuLocation{r % (ranks / 2), r % (ranks / 2), 0, 0, 0});
    const Shape shape(places);
    EXPECT_EQ(choose(shape, facts_of(Operation::alltoall, std::size_t{4} << 20)).spec.name, "single-copy");
    for (std::size_t bytes = std::size_t{4} << 20; bytes >= 64; bytes = bytes * 15 / 16) {
      const AlgorithmSpec spec = choose(shape, facts_of(Operation::alltoall, bytes)).spec;
      if (spec.name != "single-copy") break;
      EXPECT_NE(spec.text().find("choose=1"), std::string::npos) << spec.text();
      EXPECT_GE(static_cast<std::size_t>(ranks) * bytes, CopyWays::least_bytes) << ranks << " ranks";
    }
  }
}

// The first calls of a size go both ways by turns: a ring and one copy. Roots change, blocks are no multiple
// of a line.
void whichever_is_faster(Communicator& comm) {
  const AlgorithmSpec ring = family(Operation::broadcast).parse("ring:cell=65536:cells=16:once=1");
  const AlgorithmSpec copy = family(Operation::alltoall).parse("single-copy:choose=1:cell=65536:cells=4");
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t bytes = (std::size_t{2} << 20) + 13;
  std::vector<unsigned char> message(bytes), sent(ranks * bytes), got(ranks * bytes);
  const auto block = [bytes](std::vector<unsigned char>& of, int r) {
    return of.data() + static_cast<std::size_t>(r) * bytes;
  };
  for (int turn = 0; turn < 10; ++turn) {
    const std::string what = "turn " + std::to_string(turn) + ", rank " + std::to_string(comm.rank());
    const int root = turn / 2 % comm.size();
    if (comm.rank() == root) fill(message.data(), bytes, root, turn);
    comm.broadcast(message.data(), bytes, root, &ring);
    check(message.data(), bytes, root, turn, "broadcast, " + what);
    for (int r = 0; r < comm.size(); ++r) fill(block(sent, r), bytes, comm.rank(), turn + 100 * r);
    comm.alltoall(sent.data(), got.data(), bytes, &copy);
    for (int r = 0; r < comm.size(); ++r)
      check(block(got, r), bytes, r, turn + 100 * comm.rank(), "alltoall, " + what);
  }
}

class WhicheverIsFaster : public ::testing::TestWithParam<int> {};

TEST_P(WhicheverIsFaster, Processes) {
  fork_and_run(GetParam(), GroupOptions(), whichever_is_faster);
}
TEST_P(WhicheverIsFaster, ProcessesThatTheKernelRefuses) {
  GroupOptions options;
  options.cross_copies = false;
  fork_and_run(GetParam(), options, whichever_is_faster);
}
TEST_P(WhicheverIsFaster, Threads) {
  ThreadGroup group(GetParam(), GroupOptions());
  group.run(whichever_is_faster);
}
INSTANTIATE_TEST_SUITE_P(Ranks, WhicheverIsFaster, ::testing::Values(2, 3, 5));

// The same of a gather and a scatter between two ranks, whose readers choose; the larger blocks are in
// pieces.
void whichever_the_reader_wants(Communicator& comm) {
  const AlgorithmSpec gather = family(Operation::gather).parse("mailbox:cell=65536:cells=16:once=1");
  const AlgorithmSpec scatter = family(Operation::scatter).parse("mailbox:cell=65536:cells=16:once=1");
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t bytes : {(std::size_t{1} << 20) + 13, std::size_t{3} << 20}) {
    std::vector<unsigned char> block(bytes), all(ranks * bytes);
    for (int turn = 0; turn < 48; ++turn) {
      const std::string what = std::to_string(bytes) + " bytes, turn " + std::to_string(turn) + ", rank " +
                               std::to_string(comm.rank());
      const int root = turn % 3 % comm.size();
      const bool in_place = comm.rank() == root && turn % 5 == 4;
      unsigned char* const own = all.data() + static_cast<std::size_t>(comm.rank()) * bytes;
      fill(in_place ? own : block.data(), bytes, comm.rank(), turn);
      comm.gather(in_place ? nullptr : block.data(), comm.rank() == root ? all.data() : nullptr, bytes, root,
                  &gather);
      for (int r = 0; comm.rank() == root && r < comm.size(); ++r)
        check(all.data() + static_cast<std::size_t>(r) * bytes, bytes, r, turn, "gather, " + what);
      for (int r = 0; comm.rank() == root && r < comm.size(); ++r)
        fill(all.data() + static_cast<std::size_t>(r) * bytes, bytes, r, turn + 100);
      comm.scatter(comm.rank() == root ? all.data() : nullptr, in_place ? nullptr : block.data(), bytes, root,
                   &scatter);
      check(in_place ? own : block.data(), bytes, comm.rank(), turn + 100, "scatter, " + what);
    }
  }
}

class WhicheverTheReaderWants : public ::testing::TestWithParam<int> {};

TEST_P(WhicheverTheReaderWants, Processes) {
  fork_and_run(GetParam(), GroupOptions(), whichever_the_reader_wants);
}
TEST_P(WhicheverTheReaderWants, ProcessesThatTheKernelRefuses) {
  GroupOptions options;
  options.cross_copies = false;
  fork_and_run(GetParam(), options, whichever_the_reader_wants);
}
TEST_P(WhicheverTheReaderWants, Threads) {
  ThreadGroup group(GetParam(), GroupOptions());
  group.run(whichever_the_reader_wants);
}
INSTANTIATE_TEST_SUITE_P(Ranks, WhicheverTheReaderWants, ::testing::Values(2, 3));

// Blocks that loads reach are copied by both of two ranks; a rank's other buffer may be beyond reach, in any
// turn.
void from_both_sides(Communicator& comm) {
  const AlgorithmSpec gather =
      family(Operation::gather).parse("mailbox:cell=65536:cells=16:once=1:direct=1048576");
  const AlgorithmSpec scatter =
      family(Operation::scatter).parse("mailbox:cell=65536:cells=16:once=1:direct=1048576");
  const std::size_t bytes = (std::size_t{1} << 20) + 13;
  std::vector<unsigned char> own_block(bytes), own_all(2 * bytes);
  auto* const heap_block = static_cast<unsigned char*>(comm.allocate(bytes));
  auto* const heap_all = static_cast<unsigned char*>(comm.allocate(2 * bytes));
  for (int turn = 0; turn < 32; ++turn) {
    const std::string what = "turn " + std::to_string(turn) + ", rank " + std::to_string(comm.rank());
    const int root = turn / 16;
    const bool is_root = comm.rank() == root;
    unsigned char* const block = (turn & (is_root ? 1 : 2)) != 0 ? heap_block : own_block.data();
    unsigned char* const all = (turn & (is_root ? 4 : 8)) != 0 ? heap_all : own_all.data();
    fill(block, bytes, comm.rank(), turn);
    comm.gather(block, is_root ? all : nullptr, bytes, root, &gather);
    for (int r = 0; is_root && r < 2; ++r)
      check(all + static_cast<std::size_t>(r) * bytes, bytes, r, turn, "gather, " + what);
    for (int r = 0; is_root && r < 2; ++r)
      fill(all + static_cast<std::size_t>(r) * bytes, bytes, r, turn + 100);
    comm.scatter(is_root ? all : nullptr, block, bytes, root, &scatter);
    check(block, bytes, comm.rank(), turn + 100, "scatter, " + what);
  }
  comm.release(heap_block);
  comm.release(heap_all);
}

// Blocks that lie in reach are stored where they go, if that is in reach, too; any rank's buffers may be
// beyond it.
void put_where_they_go(Communicator& comm) {
  const AlgorithmSpec specs[] = {
      family(Operation::gather).parse("mailbox:cell=65536:cells=16:once=1:direct=400000:put=1000"),
      family(Operation::allgather).parse("one-shot:cell=65536:cells=2:direct=1000:put=1000"),
      family(Operation::alltoall).parse("one-shot:cell=262144:cells=2:direct=1000:put=1000"),
      family(Operation::allgather).parse("one-shot:cell=262144:cells=1:direct=1000:put=1000"),
      family(Operation::alltoall).parse("one-shot:cell=262144:cells=1:direct=1000:put=1000")};
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  const std::size_t bytes = (std::size_t{300} << 10) + 13;
  std::vector<unsigned char> own_send(ranks * bytes), own_receive(ranks * bytes);
  auto* const heap_send = static_cast<unsigned char*>(comm.allocate(ranks * bytes));
  auto* const heap_receive = static_cast<unsigned char*>(comm.allocate(ranks * bytes));
  for (unsigned turn = 0; turn < 64; ++turn) {
    const std::string what = "turn " + std::to_string(turn) + ", rank " + std::to_string(me);
    // Each of the first three ranks takes its buffers from two of the turn's bits.
    const unsigned bits = turn >> 2 * std::min<std::size_t>(me, 2);
    unsigned char* const send = (bits & 1) != 0 ? heap_send : own_send.data();
    unsigned char* const receive = (bits & 2) != 0 ? heap_receive : own_receive.data();
    const std::size_t count = turn % 3 == 0 ? 999 : bytes;
    for (const AlgorithmSpec& spec : specs) {
      const std::size_t which = static_cast<std::size_t>(&spec - specs);
      const bool each = which == 2 || which == 4;
      for (std::size_t r = 0; r < (each ? ranks : 1); ++r)
        fill(send + r * count, count, comm.rank(), static_cast<int>(turn + 100 * r + 1000 * which));
      std::memset(receive, 0, ranks * count);
      const int root = static_cast<int>(turn) % comm.size();
      if (which == 0)
        comm.gather(send, comm.rank() == root ? receive : nullptr, count, root, &spec);
      else if (each)
        comm.alltoall(send, receive, count, &spec);
      else
        comm.allgather(send, receive, count, &spec);
      for (std::size_t r = 0; r < ranks && (which != 0 || comm.rank() == root); ++r)
        check(receive + r * count, count, static_cast<int>(r),
              static_cast<int>(turn + (each ? 100 * me : 0) + 1000 * which), spec.text() + ", " + what);
    }
  }
  comm.release(heap_send);
  comm.release(heap_receive);
}

TEST(LargeCalls, BlocksInReachArePutWhereTheyGo) {
  for (const int ranks : {2, 3, 5}) {
    GroupOptions options;
    fork_and_run(ranks, options, put_where_they_go);
    ThreadGroup(ranks, options).run(put_where_they_go);
    options.cross_copies = false;
    fork_and_run(ranks, options, put_where_they_go);
  }
}

TEST(LargeCalls, TwoRanksCopyReachableBlocksFromBothSides) {
  GroupOptions options;
  fork_and_run(2, options, from_both_sides);
  ThreadGroup(2, options).run(from_both_sides);
  options.cross_copies = false;
  fork_and_run(2, options, from_both_sides);
}

// Two ranks' reductions go any way, operands and results lie in the heap or not, in any mixture, some in
// place.
void combined_any_way(Communicator& comm) {
  const AlgorithmSpec specs[] = {
      family(Operation::reduce).parse("mailbox:cell=8192:cells=16:put=65536"),
      family(Operation::allreduce).parse("sliced:chunk=65536:cells=8:direct=65536:whole=65536"),
      family(Operation::allreduce).parse("sliced:chunk=65536:cells=8:direct=65536:put=65536"),
      family(Operation::allreduce).parse("one-shot:cell=524288:cells=1:put=65536"),
      family(Operation::allreduce).parse("one-shot:cell=65536:cells=2:direct=300000:put=65536")};
  const Operator op = reduction_testing::operator_of(reduction_testing::Kind::affine);
  const std::size_t most = (std::size_t{1} << 20) + 8 * 37;
  std::vector<unsigned char> own_send(most), own_receive(most), wanted(most), mine(most), theirs(most);
  auto* const heap_send = static_cast<unsigned char*>(comm.allocate(most));
  auto* const heap_receive = static_cast<unsigned char*>(comm.allocate(most));
  const int rank = comm.rank();
  for (unsigned turn = 0; turn < 96; ++turn) {
    const std::size_t bytes = turn % 3 == 2 ? (std::size_t{128} << 10) + 8 * (turn % 7) : most;
    unsigned char* const send = (turn >> (2 * rank) & 1) != 0 ? heap_send : own_send.data();
    unsigned char* const receive = (turn >> (2 * rank) & 2) != 0 ? heap_receive : own_receive.data();
    const bool in_place = (turn + static_cast<unsigned>(rank)) % 5 == 4;
    const int root = static_cast<int>(turn / 2 % 2);
    for (const AlgorithmSpec& spec : specs) {
      const int salt = static_cast<int>(turn + 100 * (&spec - specs));
      const bool everywhere = &spec != specs, gets = everywhere || rank == root;
      fill(mine.data(), bytes, rank, salt);
      fill(theirs.data(), bytes, 1 - rank, salt);
      op.kernel(nullptr, wanted.data(), rank == 0 ? mine.data() : theirs.data(),
                rank == 0 ? theirs.data() : mine.data(), bytes / 8);
      const void* const operand = in_place && gets ? nullptr : send;
      std::memcpy(operand == nullptr ? receive : send, mine.data(), bytes);
      if (everywhere)
        comm.allreduce(operand, receive, bytes / 8, op, &spec);
      else
        comm.reduce(operand, gets ? receive : nullptr, bytes / 8, op, root, &spec);
      // The caller may write its operand again at once.
      if (operand != nullptr) std::memset(send, 0x5a, bytes);
      expect(!gets || std::memcmp(receive, wanted.data(), bytes) == 0,
             spec.text() + ", turn " + std::to_string(turn) + ", rank " + std::to_string(rank));
      // So may the next call, elsewhere.
      std::memset(receive, 0x3c, bytes);
    }
  }
  comm.release(heap_send);
  comm.release(heap_receive);
}

TEST(LargeCalls, TwoRanksCombineAnyWay) {
  fork_and_run(2, GroupOptions(), combined_any_way);
  ThreadGroup(2, GroupOptions()).run(combined_any_way);
}

// The second call of a size is copied once; the ranks that are there take pieces from each other.
TEST(LargeCalls, ABroadcastsRootDoesNotWaitForALateRank) {
  fork_and_run(3, GroupOptions(), [](Communicator& comm) {
    if (!comm.control().cross_copies()) return;
    const AlgorithmSpec ring = family(Operation::broadcast).parse("ring:cell=65536:cells=16:once=1");
    std::vector<unsigned char> message(std::size_t{4} << 20);
    comm.broadcast(message.data(), message.size(), 0, &ring);
    if (comm.rank() == 0) fill(message.data(), message.size(), 0, 1);
    char word = 0;
    if (comm.rank() == 2) comm.receive(&word, 1, 0);
    comm.broadcast(message.data(), message.size(), 0, &ring);
    if (comm.rank() == 0) {
      comm.send(&word, 1, 2);
      fill(message.data(), message.size(), 0, 2);
    }
    if (comm.rank() != 0) check(message.data(), message.size(), 0, 1, "a late rank's message");
  });
}

// Two ranks, lengths and places beyond 2^31: through cells, in one copy, down a tree (the others take
// minutes).
TEST(LargeCalls, ABroadcastOf2GiB) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer takes as much memory again, several times";
#endif
  const char* const long_run = std::getenv("PHICOLL_TEST_LONG");
  if (long_run == nullptr || std::string(long_run) != "1") GTEST_SKIP() << "only with PHICOLL_TEST_LONG=1";
  if (os::memory_available() < std::size_t{8} << 30) GTEST_SKIP() << "less than 8 GB of memory are free";
  const std::size_t bytes = (std::size_t{1} << 31) + 4099;
  const auto all = [bytes](Communicator& comm) {
    std::vector<unsigned char> message(bytes);
    int salt = 0;
    for (const char* const name : {"auto", "single-copy", "binomial"}) {
      const AlgorithmSpec spec = family(Operation::broadcast).parse(name);
      const int root = ++salt % comm.size();
      if (comm.rank() == root) fill(message.data(), bytes, root, salt);
      comm.broadcast(message.data(), bytes, root, &spec);
      check(message.data(), bytes, root, salt, std::string(name) + " of 2 GiB");
    }
  };
  GroupOptions options;
  options.memory_limit = std::size_t{256} << 20;
  fork_and_run(2, options, all);
}

TEST(CopyWays, TriesBothAndTakesTheFaster) {
  CopyWays ways;
  EXPECT_FALSE(ways.knows(3 << 20));
  const auto copied_once = [&](std::size_t bytes, int times, std::int64_t ring_ns, std::int64_t once_ns) {
    int found = 0;
    for (int i = 0; i < times; ++i) {
      const bool once = ways.copy_once(bytes);
      found += once;
      ways.took(once, bytes, once ? once_ns : ring_ns);
    }
    return found;
  };
  constexpr std::size_t bytes = 3 << 20;
  EXPECT_EQ(copied_once(bytes, 8, 100, 80), 4);
  EXPECT_EQ(copied_once(bytes, 120, 100, 80), 120);
  EXPECT_EQ(copied_once(2 * bytes, 8, 80, 100), 4);  // another size
  EXPECT_EQ(copied_once(2 * bytes, 120, 80, 100), 1);
  EXPECT_TRUE(ways.knows(bytes));
  EXPECT_TRUE(ways.once_was_faster(bytes));
  EXPECT_FALSE(ways.once_was_faster(2 * bytes));
  // The receiver's buffers are others now: found out as the ring is tried again.
  EXPECT_GT(copied_once(bytes, 128, 100, 500), 0);
  EXPECT_LT(copied_once(bytes, 128, 100, 500), 4);
}

TEST(CopyWays, TriesOneCopyAsSeldomAsItIsTold) {
  CopyWays ways(8);
  constexpr std::size_t bytes = 3 << 20;
  for (int i = 0; i < 32; ++i) {
    const bool once = ways.copy_once(bytes);
    EXPECT_EQ(once, i % 8 == 7) << i;
    ways.took(once, bytes, once ? 80 : 100);
  }
  EXPECT_TRUE(ways.copy_once(bytes));  // now that it is the faster
}

TEST(CopyWays, EndsItsTrialOnceOneWayIsFarBehind) {
  constexpr std::size_t bytes = 3 << 20;
  const auto ends = [](std::int64_t once_ns, int after) {
    CopyWays ways(8);
    for (int i = 0; i < 60; ++i) {
      const bool once = ways.copy_once(bytes);
      EXPECT_EQ(once, i < after ? i % 8 == 7 : once_ns < 100) << once_ns << ", call " << i;
      ways.took(once, bytes, once ? once_ns : 100);
    }
  };
  ends(50, 16);
  ends(200, 16);
  ends(300, 8);
}

}  // namespace
}  // namespace phicoll
