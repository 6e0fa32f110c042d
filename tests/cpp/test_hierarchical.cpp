// The collectives that go through the levels of a machine, on machines that are made up: how ranks are
// grouped, and the results on threads that are held up between any two of their steps, against a plain
// computation: every root, counts around the borders of pieces, in place, an operator that does not commute,
// sequences without barriers between the calls.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "delay_port.hpp"
#include "level_shapes.hpp"
#include "patience.hpp"
#include "phicoll/collectives/allreduce/hierarchical.hpp"
#include "phicoll/collectives/broadcast/hierarchical.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/reduce/hierarchical.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "reduction_testing.hpp"

namespace phicoll {
namespace {

using namespace reduction_testing;
using level_shapes::machine;
using level_shapes::on;
using Parts = Hierarchy::Parts;

std::vector<Parts> stages_of(const Hierarchy& levels) {
  std::vector<Parts> stages;
  for (int stage = 0; stage <= levels.top(); ++stage) stages.push_back(levels.parts(stage));
  return stages;
}

TEST(Hierarchy, HasAStageForEachLevelThatSplits) {
  const Shape shape = on(machine(2, 2, 2, 2, 2), {0, 0, 1, 2, 4, 8, 16, 24});
  EXPECT_EQ(stages_of(Hierarchy(shape, Grouping::nested)),
            (std::vector<Parts>{{{0, 1}, {2}, {3}, {4}, {5}, {6}, {7}},  // share a CPU
                                {{0, 2}, {3}, {4}, {5}, {6}, {7}},       // a core
                                {{0, 3}, {4}, {5}, {6}, {7}},            // an L3
                                {{0, 4}, {5}, {6}, {7}},                 // a memory node
                                {{0, 5}, {6, 7}},                        // a package
                                {{0, 6}}}));
  EXPECT_EQ(stages_of(Hierarchy(shape, Grouping::l3)),
            (std::vector<Parts>{{{0, 1, 2, 3}, {4}, {5}, {6}, {7}}, {{0, 4, 5, 6, 7}}}));
}

TEST(Hierarchy, LeavesOutWhatSplitsNothingFurther) {
  // A core a rank, and package, node and cache are one.
  EXPECT_EQ(stages_of(Hierarchy(on(machine(2, 1, 1, 4, 2), {0, 2, 8, 10}), Grouping::nested)),
            (std::vector<Parts>{{{0, 1}, {2, 3}}, {{0, 2}}}));
  const std::vector<Parts> together = {{{0, 1, 2}}};
  EXPECT_EQ(stages_of(Hierarchy(Shape::unknown(3), Grouping::nested)), together);
  EXPECT_EQ(stages_of(Hierarchy(on(machine(1, 1, 1, 4, 1), {0, 1, 2}), Grouping::nested)), together);
  EXPECT_EQ(stages_of(Hierarchy(on(machine(4, 1, 1, 1, 1), {0, 1, 2}), Grouping::package)), together);
  EXPECT_EQ(stages_of(Hierarchy(Shape::unknown(1), Grouping::nested)), (std::vector<Parts>{{{0}}}));
}

TEST(Hierarchy, PartsLieWithinPartsWhereTheLevelsOfTheMachineDoNot) {
  // Two caches, each with ranks of both packages.
  std::vector<CpuLocation> places = machine(1, 1, 2, 4, 1);
  for (std::size_t r = 0; r < places.size(); ++r) places[r].package = static_cast<int>(r % 2);
  places[4].package = 1;
  EXPECT_EQ(stages_of(Hierarchy(Shape(places), Grouping::nested)),
            (std::vector<Parts>{{{0, 1, 2, 3}, {4, 5, 6, 7}}, {{0, 4}}}));
}

TEST(Hierarchy, KnowsTheChainOfEachRank) {
  const Hierarchy levels(on(machine(2, 1, 2, 2, 1), {6, 0, 2, 1, 4, 7}), Grouping::nested);
  EXPECT_EQ(stages_of(levels), (std::vector<Parts>{{{0, 5}, {1, 3}, {2}, {4}}, {{0, 4}, {1, 2}}, {{0, 1}}}));
  EXPECT_FALSE(levels.in_order());
  const std::vector<int> last = {2, 2, 1, 0, 1, 0};
  for (int r = 0; r < 6; ++r) EXPECT_EQ(levels.last_stage(r), last[static_cast<std::size_t>(r)]) << r;
  EXPECT_EQ(levels.place_of(0, 3), 1);
  EXPECT_EQ(levels.part_of(1, 3), 1);  // its leader's, rank 1
  EXPECT_EQ(levels.place_of(1, 3), 0);
  EXPECT_EQ(levels.place_of(2, 3), 1);
  EXPECT_TRUE(Hierarchy(on(machine(2, 1, 2, 2, 1), {0, 1, 2, 6, 7}), Grouping::nested).in_order());
  // In order by cache, but not by package.
  EXPECT_FALSE(Hierarchy(on(machine(2, 1, 2, 2, 1), {0, 1, 4, 5, 2, 3}), Grouping::nested).in_order());
}

struct Freed {
  void operator()(unsigned char* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<unsigned char, Freed>;

template <class Algorithm>
Memory memory_for(const typename Algorithm::Parameters& p, const Shape& shape) {
  const std::size_t bytes = Algorithm::footprint(p, shape);
  Memory memory(static_cast<unsigned char*>(allocate_strided(bytes + 1)));
  std::memset(memory.get(), 0, bytes + 1);
  return memory;
}

/// `calls(rank, port)` on a thread for each rank of a shape, held up now and then.
template <class Calls>
void on_threads(const Shape& shape, const Calls& calls) {
  GroupOptions options;
  options.heap_limit = 0;
  options.timeout_ms = 60000;
  ThreadGroup(shape.size(), options).run([&](Communicator& comm) {
    DelayPort port(comm.control(), comm.rank(), 4711u + 31u * static_cast<unsigned>(comm.rank()), false);
    calls(comm.rank(), port);
    comm.barrier();
  });
}

/// Pieces of a few elements, as few as a rank may be ahead, so that a call goes round its rings.
template <class Algorithm>
typename Algorithm::Parameters small(Grouping group, int piece, int pieces) {
  typename Algorithm::Parameters p;
  p.group = group;
  p.piece = piece;
  p.pieces = pieces;
  return p;
}

constexpr Grouping groupings[] = {Grouping::cpu,  Grouping::core,    Grouping::l3,
                                  Grouping::numa, Grouping::package, Grouping::nested};
constexpr int turns(int usual) {
  return sanitized() ? usual / 3 : usual;
}

class OnMadeUpMachines : public ::testing::TestWithParam<level_shapes::Named> {};
INSTANTIATE_TEST_SUITE_P(Shapes, OnMadeUpMachines, ::testing::ValuesIn(level_shapes::all()),
                         [](const auto& named) {
                           std::string name = named.param.name;
                           for (char& c : name)
                             if (c == ' ' || c == ',') c = '_';
                           return name;
                         });

TEST_P(OnMadeUpMachines, BroadcastFromEveryRoot) {
  const Shape& shape = GetParam().shape;
  for (const Grouping group : groupings) {
    const auto p = small<HierarchicalBroadcast>(group, 64, 2);
    const Memory memory = memory_for<HierarchicalBroadcast>(p, shape);
    const std::size_t counts[] = {1, 8, 9, 63, 64, 65, 72, 128, 129, 300, 0, 500};
    on_threads(shape, [&](int rank, DelayPort& port) {
      HierarchicalBroadcast::Rank<DelayPort> broadcast(p, phicoll::Setup{rank, shape, memory.get()});
      for (int turn = 0; turn < turns(45); ++turn) {
        Call call;
        // By threes the same root: both one that goes on and one that takes over.
        call.root = (turn / 3 * 5 + turn / 18) % shape.size();
        call.count = counts[(turn * 7 + turn / 11) % 12];
        Bytes wanted(call.count);
        for (std::size_t i = 0; i < call.count; ++i)
          wanted[i] = static_cast<unsigned char>(i * 37 + i / 251 + static_cast<std::size_t>(turn) * 11);
        Guarded buffer(call.count);
        if (rank == call.root) buffer.fill(wanted);
        call.receive = port.bind(buffer.data(), call.count);
        broadcast(port, call);
        require(buffer.holds(wanted) && buffer.whole(),
                "group " + std::to_string(static_cast<int>(group)) + ", turn " + std::to_string(turn) +
                    ", root " + std::to_string(call.root) + ", rank " + std::to_string(rank));
      }
    });
  }
}

/// The operands of an allreduce or a reduce and what has to come of them.
struct Reduction {
  Reduction(Kind kind_, std::size_t count_, int rank, int ranks, bool in_place_, std::uint64_t salt)
      : kind(kind_),
        in_place(in_place_),
        own(input(kind, rank, count_, salt)),
        wanted(combined(kind, 0, ranks, count_, salt)),
        send(own.size()),
        receive(own.size()) {
    (in_place ? receive : send).fill(own);
    call.count = count_;
    call.op = operator_of(kind);
  }
  void bind(DelayPort& port, bool receives) {
    if (receives) call.receive = port.bind(receive.data(), own.size());
    call.send = in_place ? port.bind(receive.data(), own.size()) : port.bind(send.data(), own.size());
  }
  bool right(bool receives) {
    return (!receives || equivalent(kind, receive.data(), wanted)) && send.whole() && receive.whole() &&
           (in_place || send.holds(own));
  }
  Kind kind;
  bool in_place;
  Bytes own, wanted;
  Guarded send, receive;
  Call call;
};

constexpr Kind kinds[] = {Kind::affine, Kind::int_sum, Kind::float_sum, Kind::wide};
const std::size_t counts[] = {0, 1, 2, 3, 31, 32, 33, 64, 65, 129, 200, 5};

// From 1 KB on a result that goes to a far CPU is combined apart from its cell.
int piece_of(Grouping group) {
  return static_cast<int>(group) % 2 == 0 ? 1024 : 256;
}

std::string told(Grouping group, int turn, int rank, const Reduction& one) {
  return "group " + std::to_string(static_cast<int>(group)) + ", turn " + std::to_string(turn) +
         ", operator " + std::to_string(static_cast<int>(one.kind)) + ", " + std::to_string(one.call.count) +
         " elements, root " + std::to_string(one.call.root) + ", in place " + std::to_string(one.in_place) +
         ", rank " + std::to_string(rank);
}
Kind kind_in_order(const Hierarchy& levels, int turn) {
  const Kind kind = kinds[turn % 4];
  return levels.in_order() || operator_of(kind).commutative ? kind : Kind::float_sum;
}

TEST_P(OnMadeUpMachines, AllreduceWithTheSameBitsOnAllRanksAndInEveryRun) {
  const Shape& shape = GetParam().shape;
  const int ranks = shape.size();
  for (const Grouping group : groupings) {
    const auto p = small<HierarchicalAllreduce>(group, piece_of(group), 2);
    const Hierarchy levels(shape, group);
    std::vector<std::uint64_t> hashes;
    for (int run = 0; run < 2; ++run) {
      const Memory memory = memory_for<HierarchicalAllreduce>(p, shape);
      std::vector<std::uint64_t> here(static_cast<std::size_t>(ranks), 0);
      on_threads(shape, [&](int rank, DelayPort& port) {
        HierarchicalAllreduce::Rank<DelayPort> allreduce(p, phicoll::Setup{rank, shape, memory.get()});
        std::uint64_t& hash = here[static_cast<std::size_t>(rank)];
        // Operators, counts and places repeat after twelve turns.
        for (int turn = 0; turn < turns(runs_all() ? 36 : 15); ++turn) {
          Reduction one(kind_in_order(levels, turn), counts[turn * 5 % 12], rank, ranks, turn % 3 == 0,
                        static_cast<std::uint64_t>(turn));
          one.bind(port, true);
          allreduce(port, one.call);
          require(one.right(true), told(group, turn, rank, one));
          hash = add_to_hash(hash, one.receive.data(), one.own.size());
        }
      });
      hashes.insert(hashes.end(), here.begin(), here.end());
    }
    for (const std::uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]);
  }
}

TEST_P(OnMadeUpMachines, ReduceToEveryRootWithTheSameBits) {
  const Shape& shape = GetParam().shape;
  const int ranks = shape.size();
  for (const Grouping group : groupings) {
    const auto p = small<HierarchicalReduce>(group, piece_of(group), 2);
    const Hierarchy levels(shape, group);
    const Memory memory = memory_for<HierarchicalReduce>(p, shape);
    std::vector<Bytes> sums(static_cast<std::size_t>(ranks));
    on_threads(shape, [&](int rank, DelayPort& port) {
      HierarchicalReduce::Rank<DelayPort> reduce(p, phicoll::Setup{rank, shape, memory.get()});
      for (int turn = 0; turn < turns(45); ++turn) {
        const int root = (turn / 3 * 5 + turn / 18) % ranks;
        Reduction one(kind_in_order(levels, turn), counts[turn * 5 % 12], rank, ranks,
                      turn % 2 == 0 && rank == root, static_cast<std::uint64_t>(turn));
        one.call.root = root;
        one.bind(port, rank == root);
        reduce(port, one.call);
        require(one.right(rank == root), told(group, turn, rank, one));
      }
      // The same floats to each root.
      for (int root = 0; root < ranks; ++root) {
        Reduction one(Kind::float_sum, 300, rank, ranks, false, 7);
        one.call.root = root;
        one.bind(port, rank == root);
        reduce(port, one.call);
        if (rank == root)
          sums[static_cast<std::size_t>(root)] =
              Bytes(one.receive.data(), one.receive.data() + one.own.size());
      }
    });
    for (const Bytes& sum : sums) EXPECT_EQ(sum, sums[0]);
  }
}

TEST_P(OnMadeUpMachines, TakeNoMoreMemoryThanTheyMay) {
  const Shape& shape = GetParam().shape;
  for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce}) {
    for (const char* const text :
         {"hierarchical:group=nested", "hierarchical:group=nested:piece=1048576:pieces=4096"}) {
      const AlgorithmSpec spec = family(operation).effective(family(operation).parse(text), shape);
      EXPECT_LE(family(operation).footprint(spec, shape), std::size_t{16} << 20);
      EXPECT_EQ(family(operation).effective(spec, shape).text(), spec.text());
    }
  }
}

TEST(Hierarchical, OperatorsThatDoNotCommuteNeedPartsInOrder) {
  const Shape in_order = on(machine(2, 1, 2, 2, 1), {0, 1, 2, 4, 6, 7});
  const Shape by_cache = on(machine(2, 1, 2, 2, 1), {0, 1, 4, 5, 2, 3});
  for (const Operation operation : {Operation::reduce, Operation::allreduce}) {
    CallFacts facts = facts_of(operation, Kind::affine, 1);
    const auto fits = [&](const char* text, const Shape& shape) {
      return family(operation).fits(family(operation).parse(text), shape, facts);
    };
    EXPECT_TRUE(fits("hierarchical:group=nested", in_order));
    EXPECT_FALSE(fits("hierarchical:group=nested", by_cache));
    EXPECT_TRUE(fits("hierarchical:group=l3", by_cache));
    EXPECT_FALSE(fits("hierarchical:group=package", by_cache));
    facts.commutative = true;
    EXPECT_TRUE(fits("hierarchical:group=nested", by_cache));
  }
}

AlgorithmChoice chosen(Operation operation, const Shape& shape, std::size_t bytes, bool commutative = true) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  facts.commutative = commutative;
  return choose(shape, facts);
}

TEST(Choosing, ManyRanksShareTheWork) {
  const auto parameter = [](const AlgorithmSpec& spec, const std::string& name) {
    for (const auto& value : spec.values)
      if (value.first == name) return value.second;
    return std::string();
  };
  const Shape nine = Shape::unknown(9);
  for (const bool commutative : {true, false}) {
    EXPECT_EQ(chosen(Operation::reduce, nine, 1023, commutative).spec.name, "send-receive-tree");
    EXPECT_EQ(chosen(Operation::reduce, nine, 1024, commutative).spec.name, "rabenseifner");
    EXPECT_EQ(chosen(Operation::allreduce, nine, 255, commutative).spec.name, "recursive-doubling");
    EXPECT_EQ(parameter(chosen(Operation::allreduce, nine, 256, commutative).spec, "transfer"), "put-get");
    EXPECT_EQ(parameter(chosen(Operation::allreduce, nine, 2048, commutative).spec, "transfer"),
              "load-store");
    EXPECT_EQ(chosen(Operation::allreduce, nine, 2048, commutative).spec.name, "rabenseifner");
    EXPECT_EQ(chosen(Operation::scan, nine, 8, commutative).spec.name, "recursive-doubling");
    EXPECT_EQ(chosen(Operation::scan, nine, 9 << 10, commutative).spec.name, "linear");
    EXPECT_EQ(chosen(Operation::reduce_scatter, nine, 8, commutative).spec.name,
              commutative ? "recursive-halving" : "one-shot");
  }
  EXPECT_EQ(chosen(Operation::broadcast, nine, 8).spec.name, "ring");
  EXPECT_EQ(parameter(chosen(Operation::reduce_scatter, nine, 4096).spec, "direct"), "1024");
  EXPECT_EQ(parameter(chosen(Operation::alltoall, nine, 1024).spec, "direct"), "1024");
  // In packages the halving pays for longer.
  const Shape packages = place_ranks(32, machine(2, 1, 1, 16, 1), Placement::compact);
  EXPECT_EQ(chosen(Operation::reduce_scatter, packages, 8191).spec.name, "recursive-halving");
  EXPECT_EQ(chosen(Operation::reduce_scatter, Shape::unknown(32), 1023).spec.name, "recursive-halving");
  EXPECT_EQ(chosen(Operation::reduce_scatter, Shape::unknown(32), 1024).spec.name, "one-shot");
  // Eight ranks, and ranks that share CPUs, have rules of their own.
  EXPECT_EQ(chosen(Operation::allreduce, Shape::unknown(8), 8).spec.name, "one-shot");
  EXPECT_EQ(chosen(Operation::allreduce, Shape::unknown(9, true), 8).spec.name, "one-shot");
}

// What was measured on machines with one L3 holds there; the rest is for up to eight ranks that are known to
// lie apart.
TEST(Hierarchical, AutoTakesThemWhereRanksAreInSeveralPartsOfTheMachine) {
  const auto reduce_of = [](const Shape& shape, std::size_t bytes, bool commutative = true) {
    return chosen(Operation::reduce, shape, bytes, commutative).spec.name;
  };
  const auto allreduce_of = [](const Shape& shape, std::size_t bytes, bool commutative = true) {
    return chosen(Operation::allreduce, shape, bytes, commutative).spec.name;
  };
  const Shape packages = place_ranks(8, machine(2, 1, 1, 4, 1), Placement::compact);
  EXPECT_EQ(reduce_of(packages, 8), "mailbox");
  EXPECT_EQ(reduce_of(packages, 9), "hierarchical");
  EXPECT_EQ(reduce_of(packages, 1 << 20), "hierarchical");
  EXPECT_EQ(allreduce_of(packages, 8), "hierarchical");
  EXPECT_EQ(allreduce_of(packages, 1023), "hierarchical");
  EXPECT_EQ(allreduce_of(packages, 1024), "sliced");
  EXPECT_EQ(chosen(Operation::broadcast, packages, 512).spec.name, "ring");
  const AlgorithmChoice choice = chosen(Operation::allreduce, packages, 8);
  EXPECT_EQ(choice.spec.values[0].second, "nested");
  EXPECT_EQ(choice.most, 1023u);
  EXPECT_FALSE(choice.why.empty());

  for (const Shape& caches : {place_ranks(8, machine(1, 1, 4, 2, 1), Placement::compact),
                              on(machine(1, 2, 1, 4, 2), {0, 2, 8, 10})})
    EXPECT_EQ(reduce_of(caches, 4096), "hierarchical");
  // Too few for slices.
  EXPECT_EQ(reduce_of(on(machine(2, 1, 1, 8, 1), {0, 1, 2, 3, 8, 9, 10, 11}), 16 << 20), "hierarchical");
  // Too few for the exchange to be dear.
  EXPECT_EQ(allreduce_of(on(machine(2, 1, 1, 8, 1), {0, 1, 8, 9}), 8), "one-shot");

  const Shape in_turn = on(machine(2, 1, 1, 8, 1), {0, 8, 1, 9, 2, 10, 3, 11});
  EXPECT_EQ(allreduce_of(in_turn, 512), "hierarchical");
  EXPECT_EQ(allreduce_of(in_turn, 512, false), "one-shot");
  EXPECT_EQ(reduce_of(in_turn, 512, false), "mailbox");
  EXPECT_EQ(reduce_of(in_turn, 8192, false), "sliced");

  const std::vector<Shape> together = {
      place_ranks(8, machine(1, 1, 1, 16, 1), Placement::compact),  // one L3
      place_ranks(8, uniform_machine(60, 4), Placement::balanced),  // private caches only
      on(machine(2, 1, 1, 8, 1), {0, 1, 2, 3, 4, 5, 6, 8}),         // one alone
      on(machine(2, 1, 1, 8, 2), {0, 1, 16, 17}),                   // a core in each
      Shape::unknown(8)};
  for (const Shape& shape : together) {
    const std::size_t from = shape.size() < 8 ? SIZE_MAX : 8192;
    EXPECT_EQ(reduce_of(shape, from - 1), "mailbox");
    EXPECT_EQ(reduce_of(shape, from), from == SIZE_MAX ? "mailbox" : "sliced");
    EXPECT_EQ(allreduce_of(shape, 512), "one-shot");
    EXPECT_EQ(allreduce_of(shape, 1024), "one-shot");
  }
  // Ranks that share a CPU have rules of their own, whatever the parts of the machine: CPU by CPU, or the
  // mailbox where that does not fit or gains nothing.
  const Shape sharing = place_ranks(8, machine(2, 1, 1, 2, 1), Placement::compact);
  EXPECT_EQ(reduce_of(sharing, 255), "mailbox");
  for (const std::size_t bytes : {std::size_t{256}, std::size_t{65536}, std::size_t{2} << 20}) {
    const AlgorithmChoice levels = chosen(Operation::reduce, sharing, bytes);
    EXPECT_EQ(levels.spec.text().find("hierarchical:group=cpu:piece=8192:pieces=64"), 0u);
    EXPECT_EQ(levels.numbers, "shared-reduce=256");
    EXPECT_EQ(reduce_of(place_ranks(3, machine(1, 1, 1, 2, 1), Placement::compact), bytes), "mailbox");
    EXPECT_EQ(reduce_of(on(machine(1, 1, 1, 2, 1), {0, 1, 0, 1, 0, 1}), bytes, false), "mailbox");
  }
  const Shape four = place_ranks(4, machine(1, 1, 1, 2, 1), Placement::compact);
  EXPECT_EQ(reduce_of(four, 960), "mailbox");
  EXPECT_EQ(reduce_of(four, 961), "hierarchical");
  EXPECT_EQ(allreduce_of(four, 24575), "one-shot");
  EXPECT_EQ(allreduce_of(four, 24576), "sliced");
  EXPECT_EQ(allreduce_of(sharing, 512 * 1024 - 1), "hierarchical");
  EXPECT_EQ(allreduce_of(sharing, 16 << 20), "hierarchical");
  EXPECT_EQ(allreduce_of(place_ranks(9, machine(1, 1, 1, 2, 1), Placement::compact), 1 << 20),
            "hierarchical");
  // So do fewer than eight ranks.
  for (const int ranks : {2, 4, 7})
    EXPECT_EQ(reduce_of(place_ranks(ranks, machine(1, 1, 1, 8, 1), Placement::compact), 65536), "mailbox");
}

TEST(Hierarchical, FootprintsOfAThousandRanksFit) {
  for (const Shape& shape :
       {Shape::unknown(1024), place_ranks(1024, machine(2, 4, 8, 8, 2), Placement::compact),
        place_ranks(1000, machine(2, 4, 8, 8, 1), Placement::scatter)})
    for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce}) {
      const AlgorithmSpec spec =
          family(operation).effective(family(operation).parse("hierarchical:group=nested"), shape);
      EXPECT_LE(family(operation).footprint(spec, shape), std::size_t{64} << 20) << to_string(operation);
    }
}

}  // namespace
}  // namespace phicoll
