// Every broadcast that is registered, and the parameters that change its structure: every byte arrives and no
// other is touched, whoever is root, whatever the size, however ranks are delayed, whatever broadcast came
// before, between threads, between processes, and between processes of which some cannot reach the others'
// memory.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/collectives/broadcast/model_tree.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {
namespace {

const Family& broadcasts() {
  return family(Operation::broadcast);
}

std::vector<AlgorithmSpec> registered() {
  std::vector<AlgorithmSpec> specs;
  for (const AlgorithmInfo& info : broadcasts().algorithms()) specs.push_back(broadcasts().parse(info.name));
  return specs;
}

/// What changes an algorithm's structure, with pieces so small that short messages have many.
std::vector<AlgorithmSpec> variants() {
  std::vector<AlgorithmSpec> specs;
  for (const char* const text : {
           "centralized:region=128",
           "centralized:region=192:reset=unset",
           "double-buffered:region=256",
           "double-buffered:region=128:reset=unset",
           "double-buffered:region=128:flags=bytes:reset=unset",
           "tree-copy:degree=2:piece=64:buffers=1",
           "tree-copy:degree=1:piece=64:trailing=barrier",
           "one-to-all-shifted:shift=3:degree=2",
           "one-to-all-shifted:shift=0:trailing=barrier",
           "root-copies:chunk=64:degree=2:trailing=barrier",
           "piece-per-rank:minimum=64:chunk=64:trailing=barrier",
           "local-store-tree:degree=1:piece=64",
           "local-store-tree:degree=4:piece=64:buffers=1:small=header",
           "local-store-tree:piece=128:buffers=3:trailing=barrier",
           "paper-002:large=64:few=2:trailing=barrier",
           "flat:driven=sender:ack=line-per-child:piece=64",
           "flat:ack=line-per-child:complete=children:piece=64:occupied=yes",
           "binomial:driven=sender:ack=line-per-child:complete=children:piece=64:buffers=1",
           "k-nomial:degree=4:complete=children:piece=64:buffers=3",
           "fibonacci:overhead=quarter:ack=line-per-child:piece=64",
           "model-tree:k1=2:k2=1:k3=2:piece=64:occupied=yes",
           "pipelined-slices:slice=64",
           "flat-large:ack=line-per-child:piece=128:buffers=3",
           "ring:cell=64:cells=2",
       })
    specs.push_back(broadcasts().parse(text));
  return specs;
}

/// Around what fits into a word, a header line, lines, and the pieces of the variants.
const std::vector<std::size_t> small_counts = {0,  1,   7,   8,   9,   47,  48,  49,  63,  64,
                                               65, 127, 128, 129, 191, 193, 256, 257, 1000};
/// Around the default pieces, regions and thresholds.
const std::vector<std::size_t> large_counts = {4097,  8191,  8192,  16383, 16384, 16385,
                                               32768, 32769, 49153, 65537, 200003};

std::uint32_t next(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

/// A rank's buffer, at any alignment, in memory that may be the group's heap, between zones that stay.
class Buffer {
 public:
  Buffer(Communicator& comm, std::size_t most, bool in_heap)
      : comm_(comm), own_(in_heap ? 0 : most + 2 * zone), heap_(nullptr), most_(most) {
    if (in_heap) {
      heap_ = comm.allocate(most + 2 * zone);
      if (heap_ == nullptr) throw Error("check: no heap");
    }
    std::memset(memory(), guard, most_ + 2 * zone);
  }
  ~Buffer() {
    if (heap_ != nullptr) comm_.release(heap_);
  }

  /// One broadcast: the root's message or garbage goes in, the root's message must come out.
  void check(const AlgorithmSpec& spec, std::size_t count, int root, std::size_t shift, std::uint32_t salt) {
    unsigned char* const data = memory() + zone + shift;
    if (comm_.rank() == root)
      for (std::size_t i = 0; i < count; ++i) data[i] = byte(i, salt);
    else
      std::memset(data, 0xee, count);
    comm_.broadcast(data, count, root, &spec);
    for (std::size_t i = 0; i < count; ++i)
      if (data[i] != byte(i, salt)) fail(spec, count, root, "byte " + std::to_string(i));
    for (std::size_t i = 1; i <= guarded; ++i)
      if (data[-static_cast<std::ptrdiff_t>(i)] != guard || data[count + i - 1] != guard)
        fail(spec, count, root, "the zone around the buffer");
    std::memset(data, guard, count);
  }

 private:
  static constexpr std::size_t zone = 256;
  static constexpr std::size_t guarded = 128;
  static constexpr unsigned char guard = 0x5c;

  unsigned char* memory() { return heap_ != nullptr ? static_cast<unsigned char*>(heap_) : own_.data(); }
  static unsigned char byte(std::size_t i, std::uint32_t salt) {
    return static_cast<unsigned char>((i * 2654435761u >> 7) + i + salt);
  }
  [[noreturn]] void fail(const AlgorithmSpec& spec, std::size_t count, int root, const std::string& what) {
    throw Error("check: " + spec.text() + ", " + std::to_string(count) + " bytes, root " +
                std::to_string(root) + ", rank " + std::to_string(comm_.rank()) + " of " +
                std::to_string(comm_.size()) + ": " + what);
  }

  Communicator& comm_;
  std::vector<unsigned char> own_;
  void* heap_;
  std::size_t most_;
};

void perhaps_delay(std::uint32_t draw) {
  if (draw % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(draw / 16 % 200));
  if (draw % 16 == 1) std::this_thread::yield();
}

/// `heap`: which ranks have their buffers in the group's heap, a bit for each rank modulo 8.
void all_broadcasts(Communicator& comm, unsigned heap) {
  const int ranks = comm.size();
  Buffer buffer(comm, 200100, (heap >> (comm.rank() % 8) & 1u) != 0);
  std::uint32_t delays = 77u + static_cast<std::uint32_t>(comm.rank());
  std::uint32_t salt = 0;
  const auto one = [&](const AlgorithmSpec& spec, std::size_t count, int root) {
    ++salt;
    perhaps_delay(next(delays));
    buffer.check(spec, count, root, (salt + static_cast<std::uint32_t>(comm.rank())) % 67, salt);
  };
  const std::vector<AlgorithmSpec> defaults = registered(), changed = variants();
  for (const AlgorithmSpec& spec : defaults) {
    for (int root = 0; root < ranks; ++root) one(spec, 5, root);
    for (std::size_t count : small_counts) one(spec, count, static_cast<int>(salt % 5) % ranks);
    for (std::size_t count : large_counts) one(spec, count, static_cast<int>(salt) % ranks);
  }
  for (const AlgorithmSpec& spec : changed) {
    for (int root = 0; root < ranks; ++root) one(spec, 100, root);
    for (std::size_t count : small_counts) one(spec, count, static_cast<int>(salt) % ranks);
  }
  // All mixed: each call meets what others have left under way. The same draws on all ranks.
  std::uint32_t draw = 2024;
  for (int turn = 0; turn < 150; ++turn) {
    const bool plain = next(draw) % 3 == 0;
    const std::vector<AlgorithmSpec>& specs = plain ? defaults : changed;
    const AlgorithmSpec& spec = specs[next(draw) % specs.size()];
    const std::size_t count = plain && next(draw) % 4 == 0 ? large_counts[next(draw) % large_counts.size()]
                                                           : small_counts[next(draw) % small_counts.size()];
    one(spec, count, static_cast<int>(next(draw)) % ranks);
  }
}

GroupOptions small_heap() {
  GroupOptions options;
  options.heap_limit = std::size_t{16} << 20;
  options.timeout_ms = 60000;
  return options;
}

class EveryBroadcast : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EveryBroadcast, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 17));

TEST_P(EveryBroadcast, Threads) {
  ThreadGroup(GetParam(), small_heap()).run([](Communicator& comm) { all_broadcasts(comm, 0); });
}

// By the kernel's help where it allows that, else through shared memory.
TEST_P(EveryBroadcast, Processes) {
  fork_and_run(GetParam(), small_heap(), [](Communicator& comm) { all_broadcasts(comm, 0); });
}

// Each owner decides: some buffers can be reached, those of the other ranks cannot.
TEST_P(EveryBroadcast, ProcessesOfWhichSomeCannotBeReached) {
  GroupOptions options = small_heap();
  options.cross_copies = false;
  fork_and_run(GetParam(), options, [](Communicator& comm) { all_broadcasts(comm, 0x35); });
}

TEST(Broadcast, FootprintsAreBounded) {
  const Shape shape = Shape::unknown(max_ranks);
  for (const AlgorithmSpec& spec : registered())
    EXPECT_LE(broadcasts().footprint(spec, shape), std::size_t{64} << 20) << spec.text();
  const AlgorithmSpec large = broadcasts().parse("local-store-tree:piece=1048576:buffers=64");
  EXPECT_LE(broadcasts().footprint(large, shape), std::size_t{64} << 20);
}

TEST(Broadcast, EffectiveParametersAreInEffect) {
  for (int ranks : {1, 2, 3, 6, 64}) {
    const Shape shape = Shape::unknown(ranks);
    for (const AlgorithmSpec& spec : registered()) {
      const AlgorithmSpec once = broadcasts().effective(spec, shape);
      EXPECT_EQ(broadcasts().effective(once, shape).text(), once.text());
      EXPECT_EQ(broadcasts().footprint(once, shape), broadcasts().footprint(spec, shape)) << spec.text();
    }
  }
  const auto effective = [](const char* text, int ranks) {
    const std::string all = broadcasts().effective(broadcasts().parse(text), Shape::unknown(ranks)).text();
    return all.substr(0, all.find(":driven"));
  };
  EXPECT_EQ(effective("model-tree", 30), "model-tree:k1=5:k2=5:k3=0:k4=0:k5=0:k6=0");
  EXPECT_EQ(effective("model-tree:k1=9:k2=9", 4), "model-tree:k1=3:k2=0:k3=0:k4=0:k5=0:k6=0");
  EXPECT_EQ(effective("model-tree:k1=2:k2=2", 20), "model-tree:k1=2:k2=9:k3=0:k4=0:k5=0:k6=0");
}

TEST(Broadcast, WrongPairingsAreRefused) {
  EXPECT_THROW(broadcasts().parse("flat:driven=sender"), ArgumentError);
  EXPECT_THROW(broadcasts().parse("model-tree:k2=3"), ArgumentError);
}

TEST(Broadcast, PapersSetsNameRegisteredAlgorithms) {
  EXPECT_EQ(broadcasts().parse_list("paper-000").size(), 2u);
  EXPECT_EQ(broadcasts().parse_list("velamati-2007").size(), 20u);
  EXPECT_EQ(broadcasts().parse_list("paper-004").size(), 9u);
}

// ramos-hoefler-2013, Table B.1 and section 4.4.
TEST(BroadcastTrees, TheModelGivesThePapersLevels) {
  using Levels = std::vector<int>;
  const auto best = [](int ranks) {
    return best_broadcast_levels(ranks, LineCosts(), ModelTreeBroadcast::levels);
  };
  EXPECT_EQ(best(1), Levels());
  EXPECT_EQ(best(2), Levels({1}));
  EXPECT_EQ(best(8), Levels({7}));
  EXPECT_EQ(best(9), Levels({3, 2}));
  EXPECT_EQ(best(13), Levels({3, 3}));
  EXPECT_EQ(best(21), Levels({4, 4}));
  EXPECT_EQ(best(30), Levels({5, 5}));
  EXPECT_EQ(best(37), Levels({6, 5}));
  EXPECT_EQ(best(40), Levels({3, 3, 3}));
  EXPECT_EQ(best(41), Levels({4, 3, 2}));
  EXPECT_EQ(best(43), Levels({6, 6}));
  EXPECT_EQ(best(53), Levels({4, 3, 3}));
  EXPECT_EQ(best(60), Levels({4, 4, 3}));
  for (int ranks : {100, 244, 500, 1024})
    EXPECT_LE(best(ranks).size(), std::size_t{ModelTreeBroadcast::levels});
}

std::vector<int> parents(const RankTree& tree) {
  std::vector<int> all;
  for (int r = 1; r < tree.size(); ++r) all.push_back(tree.parent(r));
  return all;
}

TEST(BroadcastTrees, Shapes) {
  using Parents = std::vector<int>;
  EXPECT_EQ(parents(flat_tree(4)), Parents({0, 0, 0}));
  EXPECT_EQ(parents(k_nomial_tree(5, 1)), Parents({0, 1, 2, 3}));
  EXPECT_EQ(parents(k_nomial_tree(8, 2)), Parents({0, 0, 1, 0, 1, 2, 3}));
  EXPECT_EQ(parents(k_nomial_tree(9, 3)), Parents({0, 0, 0, 1, 2, 0, 1, 2}));
  // o = 1, L = 2: rank 1, sent to at 0, sends from 4 on, together with the root's fifth message.
  EXPECT_EQ(parents(fibonacci_tree(10, 1, 2)), Parents({0, 0, 0, 0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(parents(level_tree(10, {3, 2})), Parents({0, 0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(parents(level_tree(8, {3, 2})), Parents({0, 0, 0, 1, 1, 2, 3}));
  const RankTree tree = k_nomial_tree(8, 2);
  EXPECT_EQ(std::vector<int>(tree.begin(1), tree.end(1)), std::vector<int>({3, 5}));
}

}  // namespace
}  // namespace phicoll
