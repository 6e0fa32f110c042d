// The counting port: its numbers are the closed forms that papers 000, 001, 002 and 004 state, and every
// barrier is seen to hear of all ranks whatever the order of arrival.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "phicoll/collectives/barrier/acknowledged_model.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/counting/counts.hpp"
#include "phicoll/sim/running/sim_program.hpp"

namespace phicoll {
namespace {

#if defined(__SANITIZE_THREAD__)
const int some_sizes[] = {1, 2, 3, 5, 16, 65};
#else
const int some_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 32, 33, 60, 64, 65, 100, 129, 240, 244};
#endif

Counts count(const std::string& spec, int ranks) {
  return sim::count_collective(measure::Work(), family(Operation::barrier).parse(spec),
                               Shape::unknown(ranks));
}
Counts count(const std::string& spec, const Shape& shape) {
  return sim::count_collective(measure::Work(), family(Operation::barrier).parse(spec), shape);
}
Shape xeon_phi(int cores) {
  return place_ranks(4 * cores, uniform_machine(cores, 4), Placement::balanced);
}

int floor_lg(int n) {
  int lg = 0;
  while (n >> (lg + 1) != 0) ++lg;
  return lg;
}
/// The largest number of digits that are not 0 among the ranks below n, written to base `base`: how deep the
/// deepest rank lies in a tree where a parent has one such digit less.
int most_digits(int n, int base) {
  int most = 0;
  for (int rank = 0; rank < n; ++rank) {
    int digits = 0;
    for (int rest = rank; rest != 0; rest /= base) digits += rest % base != 0 ? 1 : 0;
    most = std::max(most, digits);
  }
  return most;
}
int heap_depth(int n, int degree) {
  int depth = 0;
  for (int rank = n - 1; rank > 0; rank = (rank - 1) / degree) ++depth;
  return depth;
}

TEST(CountPort, WorkedExampleOfTheDocument) {
  const Counts four = count("sense-reversing", 4);
  EXPECT_EQ(four.notifications, 4);
  EXPECT_EQ(four.edges, 6);
  EXPECT_EQ(four.rounds, 2);
  EXPECT_EQ(four.longest_chain, 4);
  EXPECT_EQ(four.lines_written, 2);
  const Counts flags = count("dissemination", 4);
  EXPECT_EQ(flags.notifications, 8);
  EXPECT_EQ(flags.edges, 8);
  EXPECT_EQ(flags.rounds, 2);
  EXPECT_EQ(flags.longest_chain, 2);
  EXPECT_EQ(flags.lines_written, 8);
}

// Claims 000-20 and 001-17.
TEST(CountPort, DisseminationTakesLogRounds) {
  for (const int n : some_sizes)
    for (const int ways : {1, 2, 3, 5, 7}) {
      const int f = std::min(ways, std::max(1, n - 1));
      const Counts c = count("dissemination:ways=" + std::to_string(ways), n);
      EXPECT_EQ(c.rounds, ceil_log(f + 1, n)) << n << " ranks, " << ways << " ways";
      EXPECT_EQ(c.edges, c.notifications);
      EXPECT_EQ(c.lines_written, c.notifications) << "a line for each flag";
      if (f == 1) {
        EXPECT_EQ(c.notifications, static_cast<std::int64_t>(n) * ceil_log(2, n));
        EXPECT_EQ(c.longest_chain, ceil_log(2, n));
      }
    }
}

// Claim 001-18.
TEST(CountPort, AllToAllNotifiesEveryPair) {
  for (const int n : some_sizes) {
    const std::int64_t pairs = static_cast<std::int64_t>(n) * (n - 1);
    for (const std::string& spec : {std::string("all-to-all"), std::string("dissemination:ways=1024")}) {
      const Counts c = count(spec, n);
      EXPECT_EQ(c.notifications, pairs) << spec << ", " << n << " ranks";
      EXPECT_EQ(c.edges, pairs);
      EXPECT_EQ(c.rounds, n > 1 ? 1 : 0);
      EXPECT_EQ(c.longest_chain, n - 1);
    }
  }
}

TEST(CountPort, CentralBarriersAreTwoRoundsAndALongChain) {
  for (const int n : some_sizes) {
    if (n == 1) continue;
    for (const char* const spec : {"sense-reversing:reset=sense", "sense-reversing:reset=episode"}) {
      const Counts c = count(spec, n);
      EXPECT_EQ(c.rounds, 2);
      EXPECT_EQ(c.notifications, n);
      EXPECT_EQ(c.longest_chain, n);
      EXPECT_EQ(c.edges, 2 * (n - 1));
      EXPECT_EQ(c.lines_written, 2);
    }
    for (const char* const spec : {"centralized-lines", "one-to-all", "one-to-all:reset=unset"}) {
      const Counts c = count(spec, n);
      EXPECT_EQ(c.rounds, 2) << spec;
      EXPECT_EQ(c.notifications, 2 * (n - 1)) << spec;
      EXPECT_EQ(c.longest_chain, n) << spec;
      EXPECT_EQ(c.edges, 2 * (n - 1)) << spec;
    }
    EXPECT_EQ(count("centralized-lines", n).lines_written, n - 1);

    const int lines = (n + 63) / 64;
    const Counts bytes = count("centralized-bytes", n);
    EXPECT_EQ(bytes.rounds, 2);
    EXPECT_EQ(bytes.notifications, n - 1 + lines) << "the root unsets a line at a time";
    EXPECT_EQ(bytes.longest_chain, 1 + lines);
    EXPECT_EQ(bytes.edges, 2 * (n - 1));
    EXPECT_EQ(bytes.lines_written, lines);
    EXPECT_EQ(count("centralized-bytes:release=bytes", n).longest_chain, n);

    const Counts bits = count("signal-register", n);
    EXPECT_EQ(bits.rounds, 2);
    EXPECT_EQ(bits.notifications, n);
    // 63 beside the root's own bit in the first word, up to 64 in the others.
    EXPECT_EQ(bits.longest_chain, std::max(std::min(63, n - 1), std::min(64, n - 64)) + 1);

    const Counts simd = count("simd-flags", n);
    // Up to 65 ranks no master but rank 0 has anyone to gather.
    EXPECT_EQ(simd.rounds, n <= 65 ? 2 : 3);
    EXPECT_EQ(simd.notifications, n - 1 + lines);
    EXPECT_EQ(simd.longest_chain, (n <= 65 ? 1 : 2) + lines);
  }
}

// Claim 002-12 with the floor of the readings: 2 + floor(lg P) messages in a row, as soon as two ranks on
// opposite corners of the hypercube both have somebody folded onto them; below, the folds overlap the
// exchange.
TEST(CountPort, PairwiseExchangeTakesTwoPlusFloorLg) {
  for (const int n : some_sizes) {
    const int lg = floor_lg(n);
    const int folded = n - (1 << lg);
    const int rounds = folded == 0 ? lg : std::max(1 + lg, 2 + ceil_log(2, folded));
    if (2 * folded > 1 << lg) {
      EXPECT_EQ(rounds, 2 + lg);
    }
    for (const char* const spec : {"pairwise-exchange", "pairwise-exchange:reset=sense:layout=packed"}) {
      const Counts c = count(spec, n);
      EXPECT_EQ(c.rounds, rounds) << n;
      EXPECT_LE(c.longest_chain, 2 + lg) << n;
      EXPECT_EQ(c.notifications, static_cast<std::int64_t>(1 << lg) * lg + 2 * folded) << n;
    }
  }
  EXPECT_EQ(count("pairwise-exchange", 240).rounds, 2 + 7);
  EXPECT_EQ(count("pairwise-exchange", 244).rounds, 2 + 7);
}

TEST(CountPort, TreesAreAsDeepAsTheyAre) {
  for (const int n : some_sizes) {
    // 000-21: the heap tree's true depth, up and down.
    for (const int k : {2, 3, 6}) {
      EXPECT_EQ(count("tree:degree=" + std::to_string(k), n).rounds, 2 * heap_depth(n, k)) << n << ", " << k;
      EXPECT_EQ(count("tree:degree=" + std::to_string(k), n).notifications, 2 * (n - 1));
    }
    // 002-13: every informed rank informs k-1 others a phase.
    for (const int k : {2, 3, 4})
      EXPECT_EQ(count("k-nomial-tree:degree=" + std::to_string(k), n).rounds, 2 * most_digits(n, k))
          << n << ", " << k;
    // 000-22: pairs up, a heap tree down.
    EXPECT_EQ(count("tournament-tree", n).rounds, most_digits(n, 2) + heap_depth(n, 6)) << n;
    EXPECT_EQ(count("binomial-tree", n).rounds, most_digits(n, 2) + heap_depth(n, 6)) << n;
    EXPECT_EQ(count("static-tournament:ways=2", n).rounds, 2 * most_digits(n, 2)) << n;
    EXPECT_EQ(count("libomp-hyper", n).rounds, 2 * most_digits(n, 4)) << n;
    EXPECT_EQ(count("libomp-hyper:gather_bits=3:release_bits=2", n).rounds,
              most_digits(n, 8) + most_digits(n, 4))
        << n;
    EXPECT_EQ(count("libomp-hyper", n).notifications, 2 * (n - 1)) << n;
    // One counter a node; the last rank goes on. Global notification is one step down, and one store.
    if (n > 1) {
      EXPECT_EQ(count("combining-tree:arity=4", n).edges, 2 * (n - 1)) << n;
      EXPECT_EQ(count("combining-tree:arity=4:notify=global", n).notifications, n) << n;
    }
  }
  for (int level = 1; level <= 4; ++level) {
    int n = 1;
    for (int i = 0; i < level; ++i) n *= 4;
    EXPECT_EQ(count("combining-tree:arity=4", n).rounds, 2 * level) << n;
    EXPECT_EQ(count("combining-tree:arity=4:notify=global", n).rounds, level + 1) << n;
    EXPECT_EQ(count("k-nomial-tree:degree=4", n).rounds, 2 * ceil_log(4, n)) << n;
  }
}

// Claim 001-20: every round of dissemination crosses cores; the hybrid sends one message a core and round.
TEST(CountPort, HybridLeavesCoresOnlyToDisseminate) {
  const Shape shape = xeon_phi(60);
  const Counts plain = count("dissemination", shape);
  const Counts hybrid = count("hybrid-dissemination", shape);
  EXPECT_EQ(plain.edges, 240 * 8);
  EXPECT_GT(plain.edges_between_cores, 240 * 6) << "most edges of every round";
  EXPECT_EQ(hybrid.edges_between_cores, 60 * 6) << "ceil(log2 60) rounds of 60 cores";
  EXPECT_EQ(hybrid.edges, 60 * 6 + 60 * 3 * 2) << "three arrivals and three releases inside each core";
  EXPECT_EQ(hybrid.rounds, 6 + 2);
  EXPECT_EQ(plain.edges_between_numa, 0) << "one node";
  EXPECT_EQ(plain.edges_between_cpus, plain.edges) << "a context for each rank";
}

TEST(CountPort, ScatterAndBalancedDifferInEdgesOnly) {
  const Counts balanced = count("dissemination", xeon_phi(60));
  const Counts scatter = count("dissemination", place_ranks(240, uniform_machine(60, 4), Placement::scatter));
  EXPECT_EQ(balanced.edges, scatter.edges);
  EXPECT_EQ(balanced.rounds, scatter.rounds);
  EXPECT_NE(balanced.edges_between_cores, scatter.edges_between_cores);
}

TEST(CountPort, AcknowledgedWaitsTwiceARound) {
  for (const int n : {2, 3, 8, 30, 60, 240})
    for (const char* const ack : {"counter", "line-per-sender"}) {
      const AlgorithmSpec spec =
          family(Operation::barrier).parse(std::string("dissemination-acknowledged:ack=") + ack);
      const AcknowledgedOptimum model = best_acknowledged(n, AcknowledgedRounds::corrected);
      const Counts c = sim::count_collective(measure::Work(), spec, Shape::unknown(n));
      EXPECT_EQ(c.rounds, 2 * model.rounds)
          << n << " ranks, " << ack << ": the flag, then its acknowledgement";
      EXPECT_EQ(family(Operation::barrier).effective(spec, Shape::unknown(n)).values[0].second,
                std::to_string(model.ways));
    }
}

// Table B.2 as printed: first and last number of threads, m, rounds.
TEST(AcknowledgedModel, ReproducesTableB2) {
  struct Row {
    int first, last, ways, rounds;
  };
  const Row table[] = {{2, 2, 1, 1},   {3, 4, 2, 2},   {5, 9, 3, 2},   {10, 16, 4, 2},
                       {17, 25, 5, 2}, {26, 27, 3, 3}, {28, 36, 6, 2}, {37, 60, 4, 3}};
  int rows = 0;
  for (const Row& row : table)
    for (int n = row.first; n <= row.last; ++n, ++rows) {
      const AcknowledgedOptimum best = best_acknowledged(n, AcknowledgedRounds::printed);
      EXPECT_EQ(best.ways, row.ways) << n << " threads";
      EXPECT_EQ(best.rounds, row.rounds) << n << " threads";
      EXPECT_EQ(best.cost, row.rounds * (86 + (row.ways + 1) * 2358)) << n << " threads";
    }
  EXPECT_EQ(rows, 59);
}

TEST(AcknowledgedModel, MinimisesOverAllWays) {
  for (int n = 2; n <= 300; ++n)
    for (const AcknowledgedRounds rule : {AcknowledgedRounds::corrected, AcknowledgedRounds::printed}) {
      const AcknowledgedOptimum best = best_acknowledged(n, rule);
      for (int ways = rule == AcknowledgedRounds::printed && n > 2 ? 2 : 1; ways < n; ++ways) {
        const std::int64_t cost = acknowledged_rounds(ways, n, rule) * (86 + (ways + 1) * 2358);
        EXPECT_LE(best.cost, cost) << n << " ranks, m " << ways;
        if (ways < best.ways) {
          EXPECT_LT(best.cost, cost) << "the smallest of equals";
        }
      }
    }
  EXPECT_EQ(best_acknowledged(1, AcknowledgedRounds::corrected).rounds, 0);
}

// Fewer of everything under the sanitizers, for which a fiber costs a millisecond.
std::vector<std::string> every_spec() {
  std::vector<std::string> specs;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list("all")) specs.push_back(spec.text());
  return specs;
#endif
  for (const std::string& set : family(Operation::barrier).set_names())
    for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list(set)) specs.push_back(spec.text());
  // And each single value of each choice.
  for (const AlgorithmInfo& info : family(Operation::barrier).algorithms())
    for (const ParameterInfo& parameter : info.parameters)
      for (const std::string& choice : parameter.choices) {
        const std::string text = info.name + ":" + parameter.name + "=" + choice;
        try {
          specs.push_back(family(Operation::barrier).parse(text).text());
        } catch (const ArgumentError&) {
          // refused beside the defaults
        }
      }
  std::sort(specs.begin(), specs.end());
  specs.erase(std::unique(specs.begin(), specs.end()), specs.end());
  return specs;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
const int sizes_in_any_order[] = {1, 2, 3, 5, 8};
constexpr int shuffles = 0;
#else
const int sizes_in_any_order[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 65, 70};
constexpr int shuffles = 3;
#endif

std::vector<std::vector<int>> orders(int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> result = {order, {order.rbegin(), order.rend()}};
  std::mt19937 random(static_cast<unsigned>(n));
  for (int i = 0; i < shuffles; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    result.push_back(order);
  }
  return result;
}

// The port throws when a rank leaves before all have entered, leaves without having heard of all (by release
// and acquire), or waits for ever.
TEST(CountPort, EveryBarrierHearsOfAllInAnyOrder) {
  for (const std::string& spec : every_spec())
    for (const int n : sizes_in_any_order) {
      const Shape shape = place_ranks(n, uniform_machine((n + 3) / 4, 4), Placement::compact);
      for (const std::vector<int>& order : orders(n)) {
        std::vector<Counts> calls;
        ASSERT_NO_THROW(calls =
                            sim::count_barrier_calls(family(Operation::barrier).parse(spec), shape, 6, order))
            << spec << " with " << n << " ranks";
        // Steady: what is counted once holds for every call (two sets of flags, two senses).
        for (std::size_t e = 3; e < calls.size(); ++e)
          EXPECT_TRUE(calls[e] == calls[2]) << spec << " with " << n << " ranks, call " << e + 1;
        if (n > 1) {
          EXPECT_GE(calls[2].edges, n) << spec;
          EXPECT_GE(calls[2].notifications, 2) << spec;
          EXPECT_GE(calls[2].longest_chain, 1) << spec;
          EXPECT_LE(calls[2].rounds, calls[2].edges) << spec;
        } else {
          EXPECT_EQ(calls[2].edges, 0) << spec;
          EXPECT_EQ(calls[2].rounds, 0) << spec;
        }
        // Which rank speaks for a core is known only if it is static.
        if (family(Operation::barrier).effective(family(Operation::barrier).parse(spec), shape).name !=
            "hybrid-dissemination") {
          EXPECT_EQ(calls[2].wrong_hints, 0) << spec << " with " << n << " ranks";
        }
      }
    }
}

TEST(CountPort, EveryBarrierRunsAtThePapersScale) {
  for (const int cores : {60, 61})
    for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list("all")) {
      Counts c;
      ASSERT_NO_THROW(c = sim::count_collective(measure::Work(), spec, xeon_phi(cores))) << spec.text();
      EXPECT_GE(c.edges, 4 * cores) << spec.text();
      EXPECT_GT(c.rounds, 0) << spec.text();
      EXPECT_GE(c.longest_chain, c.rounds) << spec.text();
    }
}

TEST(CountPort, RunsAThousandRanks) {
  for (const char* const spec : {"sense-reversing", "dissemination", "simd-flags", "libomp-hyper"})
    EXPECT_GT(count(spec, max_ranks).rounds, 0) << spec;
}

// What the port itself refuses, by barriers that are wrong.
template <class Body>
std::string error_of(int ranks, Body body) {
  std::vector<CountPort> ports;
  CountMachine machine(Shape::unknown(ranks), 256);
  for (int r = 0; r < ranks; ++r) ports.emplace_back(machine, r);
  try {
    machine.run_call([&](int r) { body(ports[static_cast<std::size_t>(r)], machine.memory()); }, {});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

using Flag = Word<std::uint64_t>;

TEST(CountPort, NamesRanksThatWaitForEver) {
  const std::string error = error_of(3, [](CountPort& port, unsigned char* memory) {
    if (port.rank() != 1) port.wait(*reinterpret_cast<Flag*>(memory + 64), at_least(std::uint64_t{5}), 1);
  });
  // Rank 1 leaves alone, which is found first.
  EXPECT_NE(error.find("rank 1"), std::string::npos) << error;
  const std::string stuck = error_of(2, [](CountPort& port, unsigned char* memory) {
    port.wait(*reinterpret_cast<Flag*>(memory + 64), at_least(std::uint64_t{5}));
  });
  EXPECT_NE(stuck.find("2 ranks wait for ever"), std::string::npos) << stuck;
  EXPECT_NE(stuck.find("rank 0 for the word at byte 64, which is 0, to reach 5"), std::string::npos) << stuck;
  const std::string polling = error_of(2, [](CountPort& port, unsigned char* memory) {
    while (port.load_acquire(*reinterpret_cast<Flag*>(memory)) == 0) port.pause();
  });
  EXPECT_NE(polling.find("poll for ever"), std::string::npos) << polling;
}

TEST(CountPort, SeesARankThatLeavesTooEarly) {
  const std::string error = error_of(2, [](CountPort&, unsigned char*) {});
  EXPECT_NE(error.find("rank 0 left the barrier when only 1 of 2 ranks had entered"), std::string::npos)
      << error;
}

TEST(CountPort, SeesARankThatHasNotHeardOfAll) {
  // Rank 0 waits for rank 1 only; that all have entered by then is luck.
  const std::string error = error_of(3, [](CountPort& port, unsigned char* memory) {
    Flag& flag = *reinterpret_cast<Flag*>(memory);
    if (port.rank() == 2) {
      port.signal(flag, std::uint64_t{1});
    } else {
      port.wait(flag, at_least(std::uint64_t{1}), 2);
    }
  });
  EXPECT_NE(error.find("had not heard of rank"), std::string::npos) << error;
}

TEST(CountPort, RelaxedStoresCarryNothing) {
  const auto meet = [](bool release) {
    return error_of(2, [release](CountPort& port, unsigned char* memory) {
      Flag& own = *reinterpret_cast<Flag*>(memory + 64 * port.rank());
      Flag& other = *reinterpret_cast<Flag*>(memory + 64 * (1 - port.rank()));
      if (release) {
        port.store_release(own, std::uint64_t{1});
      } else {
        port.store_relaxed(own, std::uint64_t{1});
      }
      while (port.load_acquire(other) == 0) port.pause();
    });
  };
  EXPECT_EQ(meet(true), "");
  EXPECT_NE(meet(false).find("had not heard of rank"), std::string::npos);
}

TEST(CountPort, RefusesStoresOutsideTheFootprint) {
  const std::string error = error_of(1, [](CountPort& port, unsigned char* memory) {
    alignas(64) static unsigned char elsewhere[64];
    static_cast<void>(memory);
    port.signal(*reinterpret_cast<Flag*>(elsewhere), std::uint64_t{1});
  });
  EXPECT_NE(error.find("outside the 256 bytes"), std::string::npos) << error;
}

TEST(CountPort, WholeLinesAndLoadsOfThem) {
  // A line stored as data, then announced: its reader has two edges of the flag and the data's word.
  Counts counts;
  std::vector<CountPort> ports;
  CountMachine machine(Shape::unknown(2), 256);
  for (int r = 0; r < 2; ++r) ports.emplace_back(machine, r);
  std::uint64_t received = 0;
  counts = machine.run_call(
      [&](int r) {
        CountPort& port = ports[static_cast<std::size_t>(r)];
        Flag& data = *reinterpret_cast<Flag*>(machine.memory());
        Flag& flag = *reinterpret_cast<Flag*>(machine.memory() + 64);
        Flag& back = *reinterpret_cast<Flag*>(machine.memory() + 128);
        if (r == 0) {
          std::uint64_t image[8] = {7, 8};
          port.store_line(&data, image, StorePolicy::no_read_unordered);
          port.signal(flag, std::uint64_t{1});
          port.wait(back, equal(std::uint64_t{1}), 1);
        } else {
          port.wait(flag, equal(std::uint64_t{1}), 0);
          received = port.load_relaxed(data);
          port.signal(back, std::uint64_t{1});
        }
      },
      {});
  EXPECT_EQ(received, 7u);
  EXPECT_EQ(counts.notifications, 3) << "flag, answer, and the line that was read";
  EXPECT_EQ(counts.edges, 3);
  EXPECT_EQ(counts.rounds, 2);
  EXPECT_EQ(counts.lines_written, 3);
}

}  // namespace
}  // namespace phicoll
