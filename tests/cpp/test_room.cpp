// Room in a group's memory for the algorithms of its collectives: which stay, which end, and how an algorithm
// that was used before is found again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("check: " + what);
}

AlgorithmSpec broadcast_by(const std::string& text) {
  return family(Operation::broadcast).parse(text);
}

GroupOptions small_memory() {
  GroupOptions options;
  options.memory_limit = std::size_t{4} << 20;
  return options;
}

// Of 4 MB, two have room that take 1.5 MB, and three do not.
std::vector<AlgorithmSpec> that_do_not_all_fit() {
  return {broadcast_by("centralized:region=1600000"), broadcast_by("double-buffered:region=1500000"),
          broadcast_by("ring:cell=4096:cells=256"), broadcast_by("centralized:region=700000"),
          broadcast_by("double-buffered:region=300000")};
}

// A call like the one before is served by what served that one; this one only looks like it.
TEST(Room, AnOperatorWithOtherPropertiesIsAnotherCall) {
  ThreadGroup(2).run([](Communicator& comm) {
    const auto left = [](void*, void* to, const void* from, const void*, std::size_t count) {
      std::memmove(to, from, 8 * count);
    };
    const Operator any_order = user_operator(8, true, left, nullptr);
    const Operator in_order = user_operator(8, false, left, nullptr);
    comm.select(Operation::reduce, "local-store-tree");
    std::int64_t sent = 1;
    std::int64_t result = 0;
    for (int call = 0; call < 3; ++call) {
      comm.reduce(&sent, &result, 1, any_order, 0);
      bool refused = false;
      try {
        comm.reduce(&sent, &result, 1, in_order, 0);
      } catch (const ArgumentError&) {
        refused = true;
      }
      expect(refused, "the tree needs a commutative operator");
    }
    comm.select(Operation::reduce, "mailbox");
    comm.reduce(&sent, &result, 1, in_order, 0);
    expect(comm.collectives().in_use().size() == 2, "what was selected serves the call");
  });
}

// Ranks end and make algorithms in the same calls, in the same places, without a word.
TEST(Room, AThousandCallsOfMoreThanFitsFindTheirMemory) {
  const std::vector<AlgorithmSpec> specs = that_do_not_all_fit();
  const auto calls = [&](Communicator& comm) {
    std::uint64_t state = 12345;
    std::vector<std::int64_t> data(300);
    for (int call = 0; call < 1024; ++call) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const AlgorithmSpec& spec = specs[(state >> 40) % specs.size()];
      const int root = static_cast<int>((state >> 20) % static_cast<unsigned>(comm.size()));
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = comm.rank() == root ? call * 1000 + static_cast<int>(i) : -1;
      comm.broadcast(data.data(), data.size() * sizeof data[0], root, &spec);
      for (std::size_t i = 0; i < data.size(); ++i)
        expect(data[i] == call * 1000 + static_cast<int>(i), spec.text());
      if (call % 100 == 7) comm.barrier();
      if (call % 100 == 9) {
        std::int32_t one = 1;
        std::int32_t all = 0;
        comm.allreduce(&one, &all, 1, find_operator(Type::int32, Op::sum));
        expect(all == comm.size(), "the sum");
      }
    }
  };
  ThreadGroup group(3, small_memory());
  group.run(calls);
  fork_and_run(2, small_memory(), calls);
}

TEST(Room, WhoWasUsedLongestAgoEndsAndNoMoreThanHaveTo) {
  ThreadGroup group(2, small_memory());
  group.run([&](Communicator& comm) {
    const auto name = [&](const AlgorithmSpec& spec) {
      return "broadcast " + family(Operation::broadcast).effective(spec, comm.shape()).text();
    };
    const auto there = [&](const AlgorithmSpec& spec) {
      const std::vector<std::string> names = comm.collectives().in_use();
      return std::count(names.begin(), names.end(), name(spec)) == 1;
    };
    std::int32_t x = 7;
    const auto call = [&](const AlgorithmSpec& spec) {
      comm.broadcast(&x, sizeof x, 0, &spec);
      expect(there(spec), "the one just called");
    };
    const AlgorithmSpec small = broadcast_by("ring:cell=256:cells=16");
    const AlgorithmSpec often = broadcast_by("ring:cell=1024:cells=64");
    call(small);
    call(often);
    for (int k = 0; k < 6; ++k) {
      const AlgorithmSpec large = broadcast_by("centralized:region=" + std::to_string(1400000 + 1000 * k));
      call(large);
      call(often);
      expect(there(large), "two fit beside the small ones");
    }
    expect(!there(broadcast_by("centralized:region=1400000")), "the one used longest ago");
    expect(there(small), "the one that is not in the way");
    expect(comm.collectives().in_use().size() == 4, "two large and two small ones");
    // Two that fit beside each other do so in the end, and are not made again and again.
    const AlgorithmSpec two[] = {broadcast_by("centralized:region=1500000"),
                                 broadcast_by("centralized:region=1600000")};
    for (int k = 0; k < 4; ++k) call(two[k % 2]);
    for (int k = 0; k < 6; ++k) {
      expect(there(two[k % 2]), "nobody takes it the room");
      call(two[k % 2]);
    }
    // What can never fit is refused, and all of them stay.
    const std::vector<std::string> before = comm.collectives().in_use();
    const AlgorithmSpec larger = broadcast_by("ring:cell=1048576:cells=64");
    try {
      comm.broadcast(&x, sizeof x, 0, &larger);
      expect(false, "64 MB in 4");
    } catch (const ResourceError&) {
    }
    expect(comm.collectives().in_use() == before, "without effect");
  });
}

TEST(Room, WhatAutoTakesIsNeverLargerThanWhatItMayTake) {
  for (const bool crowded : {false, true})
    for (const int ranks : {2, 3, 4, 8, 16, 64, 1024})
      for (int o = 1; o < operations; ++o)
        for (std::size_t bytes = 8; bytes <= std::size_t{16} << 20; bytes *= 2) {
          const std::size_t most = std::size_t{ranks > 16 ? 33u : 1u} << 20;
          CallFacts facts;
          facts.operation = static_cast<Operation>(o);
          facts.bytes = bytes;
          const Shape shape = Shape::unknown(ranks, crowded);
          const AlgorithmSpec spec = automatic_choice(shape, facts, most).spec;
          EXPECT_LE(family(facts.operation).footprint(spec, shape), most)
              << to_string(facts.operation) << " of " << bytes << " bytes, " << ranks
              << (crowded ? " crowded" : "") << " ranks: " << spec.text();
        }
}

// Ranges of sizes follow each other, and no ring grows without bound where memory is not limited.
TEST(Room, AChoiceHoldsForTheSizesThatItSays) {
  for (const bool crowded : {false, true})
    for (const int ranks : {1, 2, 4, 5, 8, 33, 300, 1024})
      for (int o = 1; o < operations; ++o) {
        const Shape shape = Shape::unknown(ranks, crowded);
        std::size_t next = 0;
        for (CallFacts facts; facts.bytes <= std::size_t{64} << 20; facts.bytes = next) {
          facts.operation = static_cast<Operation>(o);
          const AlgorithmChoice choice = automatic_choice(shape, facts);
          const Family& all = family(facts.operation);
          SCOPED_TRACE(std::string(to_string(facts.operation)) + " of " + std::to_string(facts.bytes) +
                       " bytes, " + std::to_string(ranks) + (crowded ? " crowded" : "") +
                       " ranks: " + choice.spec.text());
          EXPECT_EQ(choice.least, facts.bytes);
          ASSERT_GE(choice.most, facts.bytes);
          EXPECT_LE(all.footprint(choice.spec, shape), std::size_t{33} << 20);
          if (choice.most == SIZE_MAX) break;
          next = choice.most + 1;
        }
      }
}

// Two cells are the least without which a piece would be written over while it is read.
TEST(Room, RingsKeepTwoCellsHoweverManyWereWanted) {
  for (const int cells : {3, 5, 6, 7, 12, 24, 96, 1000})
    for (const int ranks : {2, 5, 64})
      for (const char* const text : {"one-shot:cell=1048576:cells=", "one-shot:cell=65536:cells="}) {
        const Family& allgather = family(Operation::allgather);
        const AlgorithmSpec spec =
            allgather.effective(allgather.parse(text + std::to_string(cells)), Shape::unknown(ranks));
        for (const auto& value : spec.values) {
          if (value.first == "cells") {
            EXPECT_GE(std::stol(value.second), 2) << spec.text();
          }
        }
      }
}

TEST(Room, ARegionSaysWhetherItHasRoom) {
  Region region(1024);
  EXPECT_TRUE(region.fits(1024));
  EXPECT_FALSE(region.fits(1025));
  const Region::Block first = region.take(300);  // 384 in strides
  region.take(200);
  EXPECT_TRUE(region.fits(384));
  EXPECT_FALSE(region.fits(385));
  region.give_back(first);
  EXPECT_TRUE(region.fits(1));
  EXPECT_FALSE(region.fits(SIZE_MAX));
}

// A set of instances that do nothing; it counts how many are made.
struct NoPort {};
struct Counted {
  explicit Counted(const Shape& shape)
      : set(shape, [this](Operation, const AlgorithmSpec& spec) {
          ++made;
          return std::unique_ptr<CollectiveSet<NoPort>::Instance>(
              new CollectiveSet<NoPort>::Instance{nullptr, NoPort(), spec});
        }) {}
  CollectiveSet<NoPort>::Instance& take(const CallFacts& facts, const AlgorithmSpec& spec) {
    auto found = set.find(facts, &spec);
    return set.take(facts, &spec, found);
  }
  int made = 0;
  CollectiveSet<NoPort> set;
};

TEST(Room, TheSameTextFindsTheSameInstance) {
  const Shape shape = place_ranks(2, uniform_machine(2, 1), Placement::compact);
  Counted counted(shape);
  CallFacts facts;
  facts.operation = Operation::broadcast;
  facts.bytes = 8;
  const AlgorithmSpec ring = broadcast_by("ring:cell=4096");
  const auto& first = counted.take(facts, ring);
  facts.bytes = 1 << 20;
  EXPECT_EQ(&counted.take(facts, broadcast_by("ring:cell=4096")), &first);
  const auto& other = counted.take(facts, broadcast_by("ring:cell=8192"));
  EXPECT_NE(&other, &first);
  EXPECT_EQ(counted.made, 2);
  // Many others in between: what is remembered of texts is limited, the instances are not.
  for (int cells = 2; cells < 60; ++cells)
    counted.take(facts, broadcast_by("ring:cells=" + std::to_string(cells)));
  EXPECT_EQ(&counted.take(facts, ring), &first);
  // An algorithm that has ended is not found again.
  const int before = counted.made;
  counted.set.end(first);
  EXPECT_EQ(counted.take(facts, ring).spec.name, "ring");
  EXPECT_EQ(counted.made, before + 1);
  // A call of another kind is checked again, however often the text was given.
  facts.operation = Operation::reduce;
  facts.commutative = true;
  const AlgorithmSpec tree = family(Operation::reduce).parse("local-store-tree");
  counted.take(facts, tree);
  facts.commutative = false;
  EXPECT_THROW(counted.take(facts, tree), ArgumentError);
}

}  // namespace
}  // namespace phicoll
