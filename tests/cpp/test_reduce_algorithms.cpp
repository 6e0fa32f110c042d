// The papers' reductions: every algorithm and parameter that changes its way, against a plain computation,
// for every root, counts around the borders of pieces, in place, in sequences without barriers between the
// calls and with roots that change from call to call.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "patience.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/reduce/model_tree.hpp"
#include "phicoll/collectives/reduce/piece_per_rank.hpp"
#include "phicoll/collectives/structure/level_tree.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "reduce_specs.hpp"

namespace phicoll {
namespace {

/// Affine maps modulo 2^32, composed: the order of operands matters, how they are bracketed does not.
struct Affine {
  std::uint32_t factor, term;
};
Affine operator*(Affine left, Affine right) {
  return Affine{left.factor * right.factor, left.factor * right.term + left.term};
}
void compose(void*, void* to, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Affine l, r;
    std::memcpy(&l, static_cast<const unsigned char*>(left) + i * sizeof l, sizeof l);
    std::memcpy(&r, static_cast<const unsigned char*>(right) + i * sizeof r, sizeof r);
    const Affine product = l * r;
    std::memcpy(static_cast<unsigned char*>(to) + i * sizeof product, &product, sizeof product);
  }
}
void add(void*, void* to, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Affine l, r;
    std::memcpy(&l, static_cast<const unsigned char*>(left) + i * sizeof l, sizeof l);
    std::memcpy(&r, static_cast<const unsigned char*>(right) + i * sizeof r, sizeof r);
    const Affine total{l.factor + r.factor, l.term ^ r.term};
    std::memcpy(static_cast<unsigned char*>(to) + i * sizeof total, &total, sizeof total);
  }
}

Affine operand(int rank, std::size_t i, int salt) {
  const auto r = static_cast<std::uint32_t>(rank);
  const auto s = static_cast<std::uint32_t>(salt);
  const auto n = static_cast<std::uint32_t>(i);
  return Affine{(r * 2654435761u + n * 40503u + s * 97u) | 1u, r * 7919u + n * 31u + s};
}

/// A buffer at an odd address between guards.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * zone + 1, guard) {}
  unsigned char* data() { return memory_.data() + zone + 1; }
  void put(int rank, std::size_t count, int salt) {
    for (std::size_t i = 0; i < count; ++i) {
      const Affine value = operand(rank, i, salt);
      std::memcpy(data() + i * sizeof value, &value, sizeof value);
    }
  }
  bool holds(int rank, std::size_t count, int salt) {
    Guarded other(bytes_);
    other.put(rank, count, salt);
    return memory_ == other.memory_;
  }
  bool guards_stand() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < zone + 1 || i >= zone + 1 + bytes_) && memory_[i] != guard) return false;
    return true;
  }

 private:
  static constexpr std::size_t zone = 64;
  static constexpr unsigned char guard = 0xa5;
  std::size_t bytes_;
  std::vector<unsigned char> memory_;
};

/// A call that this rank has made; its result is looked at when all calls are through.
struct Made {
  Guarded send, receive;
  std::size_t count;
  int root, salt;
  bool in_place;
  std::string spec;
};

class Sequence {
 public:
  Sequence(int rank, int ranks, bool ordered) : rank_(rank), ranks_(ranks), ordered_(ordered) {
    op_ = user_operator(sizeof(Affine), !ordered, ordered ? compose : add, nullptr);
  }

  template <class Reduce>
  void call(const std::string& spec, std::size_t count, int root, bool in_place, const Reduce& reduce) {
    const std::size_t bytes = count * sizeof(Affine);
    made_.push_back(Made{Guarded(bytes), Guarded(rank_ == root ? bytes : 0), count, root,
                         static_cast<int>(made_.size()) + 1, in_place && rank_ == root, spec});
    Made& made = made_.back();
    made.send.put(rank_, count, made.salt);
    if (made.in_place) made.receive.put(rank_, count, made.salt);
    reduce(made.in_place ? made.receive.data() : made.send.data(),
           rank_ == root ? made.receive.data() : nullptr, count, op_, root);
  }

  void check() {
    for (Made& made : made_) {
      const std::string what = made.spec + ", " + std::to_string(made.count) + " elements, root " +
                               std::to_string(made.root) + " of " + std::to_string(ranks_) + ", call " +
                               std::to_string(made.salt);
      if (!made.send.holds(rank_, made.count, made.salt)) throw Error("the operand was written: " + what);
      if (!made.receive.guards_stand()) throw Error("memory around the result was written: " + what);
      if (rank_ != made.root) continue;
      for (std::size_t i = 0; i < made.count; ++i) {
        Affine want = operand(0, i, made.salt);
        for (int r = 1; r < ranks_; ++r) {
          const Affine next = operand(r, i, made.salt);
          if (ordered_)
            want = want * next;
          else
            want = Affine{want.factor + next.factor, want.term ^ next.term};
        }
        if (std::memcmp(made.receive.data() + i * sizeof want, &want, sizeof want) != 0)
          throw Error("wrong at element " + std::to_string(i) + ": " + what);
      }
    }
    made_.clear();
  }

 private:
  int rank_;
  int ranks_;
  bool ordered_;
  Operator op_;
  std::vector<Made> made_;
};

// Elements are of 8 bytes: 256 bytes are 32 of them, 264 are 33.
const std::size_t counts[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 66, 67, 100, 131};

void run_all_roots_and_counts(const std::string& text, int ranks, bool ordered) {
  ThreadGroup group(ranks);
  const AlgorithmSpec spec = family(Operation::reduce).parse(text);
  group.run([&](Communicator& comm) {
    Sequence sequence(comm.rank(), comm.size(), ordered);
    const auto reduce = [&](const void* send, void* receive, std::size_t count, const Operator& op,
                            int root) {
      comm.reduce(send == receive ? nullptr : send, receive, count, op, root, &spec);
    };
    // The same root many times, then another for each call.
    for (int root = 0; root < comm.size(); ++root)
      for (const std::size_t count : counts) sequence.call(text, count, root, count % 2 == 0, reduce);
    for (const std::size_t count : counts)
      for (int root = comm.size() - 1; root >= 0; --root) sequence.call(text, count, root, false, reduce);
    sequence.call(text, 5000, comm.size() / 2, true, reduce);
    sequence.check();
  });
}

/// Of up to nine: trees of every form, full and not.
std::vector<int> numbers_of_ranks() {
  if (runs_all()) return {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return {1, 2, 3, 5, 8};
}

class EveryReduce : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryReduce, GivesTheResultAtAnyRootOfAnyCount) {
  for (const int ranks : numbers_of_ranks()) run_all_roots_and_counts(GetParam(), ranks, false);
}

TEST_P(EveryReduce, GivesTheSameBitsInEveryRun) {
  const AlgorithmSpec spec = family(Operation::reduce).parse(GetParam());
  const std::size_t count = 300;
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> result(count);
    ThreadGroup group(7);
    group.run([&](Communicator& comm) {
      std::vector<float> own(count);
      for (std::size_t i = 0; i < count; ++i)
        own[i] = 1.0f / static_cast<float>(3 + comm.rank() * 17 + static_cast<int>(i));
      comm.reduce(own.data(), result.data(), count, find_operator(Type::float32, Op::sum), 2, &spec);
    });
    if (run == 0) first = result;
    EXPECT_EQ(std::memcmp(first.data(), result.data(), count * sizeof(float)), 0);
  }
}

std::string spec_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Reduce, EveryReduce, ::testing::ValuesIn(all_reduce_specs()), spec_name);

class OrderedReduce : public ::testing::TestWithParam<std::string> {};

TEST_P(OrderedReduce, KeepsTheOrderOfRanks) {
  for (const int ranks : numbers_of_ranks()) run_all_roots_and_counts(GetParam(), ranks, true);
}
INSTANTIATE_TEST_SUITE_P(Reduce, OrderedReduce,
                         ::testing::ValuesIn(std::vector<std::string>(std::begin(ordered_specs),
                                                                      std::end(ordered_specs))),
                         spec_name);

TEST(Reduce, AlgorithmsThatDoNotKeepTheOrderRefuseOperatorsThatNeedIt) {
  CallFacts facts;
  facts.operation = Operation::reduce;
  facts.bytes = 64;
  const Shape shape = Shape::unknown(5);
  const Family& reduces = family(Operation::reduce);
  for (const char* const text : commutative_specs) {
    facts.commutative = true;
    EXPECT_TRUE(reduces.fits(reduces.parse(text), shape, facts)) << text;
    facts.commutative = false;
    EXPECT_FALSE(reduces.fits(reduces.parse(text), shape, facts)) << text;
    EXPECT_THROW(reduces.check_fit(reduces.parse(text), shape, facts), ArgumentError);
  }
  for (const char* const text : ordered_specs)
    EXPECT_TRUE(reduces.fits(reduces.parse(text), shape, facts)) << text;
}

TEST(Reduce, AllFitIntoTheDefaultRegionAt1024Ranks) {
  const Shape shape = Shape::unknown(1024);
  const Family& reduces = family(Operation::reduce);
  for (const AlgorithmInfo& info : reduces.algorithms())
    EXPECT_LE(reduces.footprint(reduces.parse(info.name), shape), std::size_t{64} << 20) << info.name;
  // Buffers for all other ranks beside each rank: fewer children, if the smallest pieces are too many.
  for (const char* const text :
       {"model-tree:buffers=parent:k1=1024", "model-tree:buffers=parent:k1=2:k2=1000:piece=256"})
    EXPECT_LE(reduces.footprint(reduces.parse(text), shape), std::size_t{32} << 20) << text;
}

// Elements larger than a line, of which a chunk holds four: fewer than there are ranks.
TEST(Reduce, SlicesOfTheLargestElementsKeepTheOrder) {
  using Large = std::array<Affine, max_element_bytes / sizeof(Affine)>;
  const auto compose_all = [](void*, void* to, const void* left, const void* right, std::size_t count) {
    compose(nullptr, to, left, right, count * std::tuple_size<Large>::value);
  };
  const Operator op = user_operator(sizeof(Large), false, compose_all, nullptr);
  const AlgorithmSpec spec = family(Operation::reduce).parse("sliced:chunk=1024:cells=4");
  ThreadGroup group(6);
  group.run([&](Communicator& comm) {
    for (const std::size_t count : {1, 3, 4, 5, 9, 41})
      for (int root = 0; root < comm.size(); ++root) {
        const auto element = [&](int rank, std::size_t i) {
          Large large;
          for (std::size_t k = 0; k < large.size(); ++k) large[k] = operand(rank, i * large.size() + k, root);
          return large;
        };
        std::vector<Large> data(count);
        for (std::size_t i = 0; i < count; ++i) data[i] = element(comm.rank(), i);
        const bool is_root = comm.rank() == root;
        comm.reduce(is_root ? nullptr : data.data(), is_root ? data.data() : nullptr, count, op, root, &spec);
        for (std::size_t i = 0; is_root && i < count; ++i) {
          Large expected = element(0, i);
          for (int r = 1; r < comm.size(); ++r) {
            const Large right = element(r, i);
            compose_all(nullptr, expected.data(), expected.data(), right.data(), 1);
          }
          if (std::memcmp(expected.data(), data[i].data(), sizeof(Large)) != 0)
            throw Error("element " + std::to_string(i) + " of " + std::to_string(count));
        }
      }
  });
}

// Calls of several algorithms in turn, on instances that live on; also with ranks enough for trees of three
// levels.
TEST(Reduce, AlgorithmsTakeTurnsWithoutBarriers) {
  for (const int ranks : {5, 24}) {
    ThreadGroup group(ranks);
    group.run([&](Communicator& comm) {
      Sequence sequence(comm.rank(), comm.size(), false);
      for (int round = 0; round < (ranks == 5 ? 6 : 2); ++round)
        for (const std::string& text : all_reduce_specs()) {
          const AlgorithmSpec spec = family(Operation::reduce).parse(text);
          sequence.call(
              text, static_cast<std::size_t>(37 * round + 1), (round * 3) % comm.size(), round % 2 == 0,
              [&](const void* send, void* receive, std::size_t count, const Operator& op, int root) {
                comm.reduce(send == receive ? nullptr : send, receive, count, op, root, &spec);
              });
        }
      sequence.check();
    });
  }
}

TEST(Reduce, TheMembersOfThePapersSetsExist) {
  for (const AlgorithmSet& set : sets_of<Operation::reduce>())
    for (const std::string& member : set.members)
      EXPECT_NO_THROW(family(Operation::reduce).parse(member)) << set.name << ": " << member;
}

/// Some ranks' memory is out of reach, as between processes that may not read each other's.
class HalfBlindPort : public NativePort {
 public:
  HalfBlindPort(const NativePort& port, unsigned blind) : NativePort(port), blind_(blind) {}
  bool exposable(Data data, std::size_t bytes) const {
    return (blind_ >> rank() & 1) == 0 && NativePort::exposable(data, bytes);
  }

 private:
  unsigned blind_;
};

TEST(PiecePerRankReduce, GoesThroughSlotsWhereOneBufferIsOutOfReach) {
  for (const bool ordered : {false, true})
    for (const int ranks : {2, 3, 5, 8}) {
      PiecePerRankReduce::Parameters p;
      p.least = 24;
      p.buffer = 256;
      p.order = ordered ? PiecePerRankReduce::Order::ranks : PiecePerRankReduce::Order::rotated;
      const Shape shape = Shape::unknown(ranks);
      const std::size_t bytes = PiecePerRankReduce::footprint(p, shape);
      std::vector<unsigned char> memory(bytes + 128);
      auto* const aligned = memory.data() + (128 - reinterpret_cast<std::uintptr_t>(memory.data()) % 128);
      ThreadGroup group(ranks);
      group.run([&](Communicator& comm) {
        Sequence sequence(comm.rank(), ranks, ordered);
        const NativePort native(comm.control(), comm.rank(), comm.wait_policy());
        PiecePerRankReduce::Rank<HalfBlindPort> algorithm(p, phicoll::Setup{comm.rank(), shape, aligned});
        unsigned salt = 0;
        for (const std::size_t count : counts)
          for (int root = 0; root < ranks; ++root) {
            // Nobody, one, all are out of reach, in turn.
            const unsigned blind[] = {0, 1u << (salt % static_cast<unsigned>(ranks)), ~0u};
            HalfBlindPort port(native, blind[salt++ % 3]);
            sequence.call("piece-per-rank", count, root, salt % 2 == 0,
                          [&](const void* send, void* receive, std::size_t n, const Operator& op, int at) {
                            Call call;
                            call.send = port.bind(send, n * op.element_bytes);
                            call.receive = port.bind(receive, n * op.element_bytes);
                            call.count = n;
                            call.root = at;
                            call.op = op;
                            algorithm(port, call);
                          });
          }
        sequence.check();
      });
    }
}

TEST(ModelTreeReduce, LevelsHaveTheLeastCostByThePapersConstants) {
  const LevelCost cost = reduction_level_cost(LineCosts(), contention_base(LineCosts()));
  struct Row {
    int ranks;
    std::vector<int> k;
  };
  // ramos-hoefler-2013 Table B.3 and the examples of section 4.4; ties may be broken in another way.
  const Row rows[] = {{2, {1}},        {3, {2}},        {6, {5}},        {7, {3, 1}},     {9, {4, 1}},
                      {12, {3, 3}},    {14, {4, 3}},    {18, {4, 4}},    {22, {3, 2, 2}}, {23, {5, 4}},
                      {24, {6, 3}},    {30, {3, 3, 2}}, {36, {3, 3, 3}}, {42, {6, 2, 2}}, {48, {4, 4, 2}},
                      {57, {6, 3, 2}}, {60, {4, 4, 3}}};
  for (const Row& row : rows) {
    const std::vector<int> found = best_reduction_levels(row.ranks, LineCosts(), ModelTreeReduce::levels);
    EXPECT_EQ(cost.of(found), cost.of(row.k)) << row.ranks;
    EXPECT_GE(level_tree_capacity(found, row.ranks), row.ranks);
  }
  EXPECT_EQ(family(Operation::reduce)
                .effective(family(Operation::reduce).parse("model-tree"), Shape::unknown(60))
                .text()
                .substr(0, 31),
            "model-tree:k1=4:k2=4:k3=3:k4=0:");
}

TEST(ModelTreeReduce, LevelsWithAGapAreRefused) {
  EXPECT_THROW(family(Operation::reduce).parse("model-tree:k1=3:k3=2"), ArgumentError);
  EXPECT_THROW(family(Operation::reduce).parse("model-tree:k2=2"), ArgumentError);
}

TEST(LevelTree, EveryNodeButTheRootIsTheChildOfItsParentAndOfNobodyElse) {
  for (const auto& k : std::vector<std::vector<int>>{{1}, {2, 2}, {3, 2}, {4, 4, 3}, {7}, {1, 5}})
    for (int nodes = 1; nodes <= 70; ++nodes) {
      std::vector<int> times(static_cast<std::size_t>(nodes), 0);
      for (int node = 0; node < nodes; ++node) {
        const LevelTreeNode one = level_tree_node(k, nodes, node);
        EXPECT_LE(static_cast<int>(one.children.size()), *std::max_element(k.begin(), k.end()));
        for (const int child : one.children) {
          ++times[static_cast<std::size_t>(child)];
          EXPECT_EQ(level_tree_node(k, nodes, child).parent, node);
        }
      }
      EXPECT_EQ(times[0], 0);
      for (int node = 1; node < nodes; ++node) EXPECT_EQ(times[static_cast<std::size_t>(node)], 1);
    }
}

}  // namespace
}  // namespace phicoll
