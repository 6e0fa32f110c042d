// Commands between local stores end in any order but for the one that was asked for. What relies on more is
// found whatever order a run draws, by the two commands that lacked one; the paper's algorithms rely on
// nothing else.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/machine_model.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using testing::from_environment;
using testing::one_a_core;
using testing::work_of;

using Flag = Word<std::uint64_t>;

Machine cell() {
  Machine machine = load_machine("cell-qs20");
  machine.p.jitter = 3000;  // ten times what a command takes
  return machine;
}

SimOptions checked(std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  options.check = true;
  options.shuffle = true;
  options.start_skew = 2000;
  return options;
}

/// Two ranks: the first 1,024 bytes lie in rank 0's store, the next in rank 1's, the rest in main memory.
struct Two {
  explicit Two(std::uint64_t seed) : simulation(cell(), one_a_core(cell(), 2), 4096, with_homes(seed)) {}
  static SimOptions with_homes(std::uint64_t seed) {
    SimOptions options = checked(seed);
    options.homes.resize(128);
    for (std::size_t i = 0; i < 128; ++i) options.homes[i].rank = static_cast<std::int16_t>(i / 64);
    return options;
  }
  Flag& flag(int rank, int index = 0) {
    return *reinterpret_cast<Flag*>(simulation.memory() + rank * 1024 + index * 8);
  }
  unsigned char* data(int rank) { return simulation.memory() + rank * 1024 + 512; }
  unsigned char* memory(int block) { return simulation.memory() + 2048 + block * 256; }
  /// What the check finds, or "".
  std::string run(const std::function<void(SimPort&)>& zero, const std::function<void(SimPort&)>& one) {
    try {
      simulation.run([&](SimPort& port) { port.rank() == 0 ? zero(port) : one(port); });
    } catch (const DeadlockError&) {
      throw;
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  Simulation simulation;
};

bool names(const std::string& text, const std::vector<std::string>& all) {
  for (const std::string& part : all)
    if (text.find(part) == std::string::npos) return false;
  return true;
}

TEST(DmaOrder, IsLackingWhereDataCanBeOvertakenByItsFlag) {
  for (const bool broken : {false, true})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Two two(seed);
      const std::string found = two.run(
          [&](SimPort& port) {
            port.copy(two.memory(0), two.data(0), 128);
            broken ? port.store_relaxed(two.flag(1), std::uint64_t{1})
                   : port.signal(two.flag(1), std::uint64_t{1});
          },
          [&](SimPort& port) {
            port.wait(two.flag(1), at_least<std::uint64_t>(1));
            port.copy(two.data(1), two.memory(0), 128);
          });
      if (!broken) {
        EXPECT_EQ(found, "");
        continue;
      }
      EXPECT_TRUE(names(found, {"no order between",
                                "command 1 of rank 0 (data, 128 bytes from its local store to main memory)",
                                "command 1 of rank 1 (data, 128 bytes from main memory to its local store)"}))
          << found;
    }
}

TEST(DmaOrder, IsLackingWhereASourceChangesBeforeItsCommandRan) {
  for (const bool broken : {false, true})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Two two(seed);
      const std::string found = two.run(
          [&](SimPort& port) {
            port.signal(two.flag(1), std::uint64_t{1});
            if (!broken) port.wait(two.flag(0), at_least<std::uint64_t>(1));
            port.copy(two.data(0), two.data(0) + 128, 64);
          },
          [&](SimPort& port) {
            port.wait(two.flag(1), at_least<std::uint64_t>(1));
            port.copy(two.memory(1), two.data(0), 64);
            port.fence();
            port.signal(two.flag(0), std::uint64_t{1});
          });
      if (!broken) {
        EXPECT_EQ(found, "");
        continue;
      }
      EXPECT_TRUE(names(found, {"no order between", "rank 0's own store of 64 bytes",
                                "command 1 of rank 1 (data, 64 bytes"}))
          << found;
    }
}

TEST(DmaOrder, IsLackingWhereAnEntryIsWrittenByHalves) {
  for (const bool broken : {false, true})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Two two(seed);
      const std::string found = two.run(
          [&](SimPort& port) {
            port.store_relaxed(two.flag(1, 1), std::uint64_t{77});
            broken ? port.store_relaxed(two.flag(1), std::uint64_t{1})
                   : port.signal(two.flag(1), std::uint64_t{1});
          },
          [&](SimPort& port) {
            port.wait(two.flag(1), at_least<std::uint64_t>(1));
            const std::uint64_t other = port.load_relaxed(two.flag(1, 1));
            EXPECT_TRUE(broken || other == 77U);
          });
      if (!broken) {
        EXPECT_EQ(found, "");
        continue;
      }
      EXPECT_TRUE(names(found, {"no order between", "command 1 of rank 0 (a word, 8 bytes",
                                "and command 2 of rank 0", "rank 1 knows of the second"}))
          << found;
    }
}

TEST(DmaOrder, BringsAPieceAgainThatItsRankHasChangedInAnothersStore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Two two(seed);
    const std::string found = two.run(
        [&](SimPort& port) {
          port.copy(two.memory(0), two.data(1), 128);
          port.store_relaxed(*reinterpret_cast<Flag*>(two.data(1)), std::uint64_t{77});
          port.copy(two.memory(1), two.data(1), 128);
        },
        [](SimPort&) {});
    EXPECT_EQ(found, "");
    EXPECT_EQ(two.memory(0)[0], 0);
    EXPECT_EQ(two.memory(1)[0], 77);
  }
}

TEST(DmaOrder, LetsAPieceBeMovedOnFromWhereItWentUntilItsRankWritesThere) {
  for (const bool written : {false, true}) {
    Two two(1);
    const std::string found = two.run(
        [&](SimPort& port) {
          port.copy(two.memory(0), two.data(1), 128);
          if (written) port.store_relaxed(*reinterpret_cast<Flag*>(two.memory(0)), std::uint64_t{77});
          port.copy(two.memory(1), two.memory(0), 128);
          port.copy(two.memory(2), two.memory(0), 128);
        },
        [](SimPort&) {});
    EXPECT_EQ(found, "");
    EXPECT_EQ(two.memory(2)[0], written ? 77 : 0);
    // Three puts; if it was written, that put and the get of what has changed.
    const auto through = static_cast<std::size_t>(Carrier::memory_port);
    EXPECT_EQ(two.simulation.counters().carriers[through][0].served, written ? 5U : 3U);
  }
}

struct Case {
  Operation operation;
  const char* spec;
  std::size_t bytes = 200;
};

TEST(DmaOrder, IsAllThatThePapersAlgorithmsRelyOnInAThousandOrders) {
  const Machine machine = cell();
  const std::uint64_t orders =
      from_environment("PHICOLL_TEST_ORDERS", static_cast<std::uint64_t>(testing::draws(1000)));
  const std::vector<Case> cases = {
      {Operation::barrier, "one-to-all", 0},
      {Operation::barrier, "one-to-all:transfer=list", 0},
      {Operation::barrier, "signal-register:release=flags", 0},
      {Operation::barrier, "k-nomial-tree:degree=2", 0},
      {Operation::barrier, "pairwise-exchange", 0},
      {Operation::barrier, "dissemination:layout=packed", 0},
      {Operation::broadcast, "tree-copy:degree=3"},
      {Operation::broadcast, "one-to-all-shifted"},
      {Operation::broadcast, "root-copies"},
      {Operation::broadcast, "piece-per-rank:minimum=64"},
      {Operation::broadcast, "local-store-tree:degree=2:piece=64"},
      {Operation::broadcast, "local-store-tree:degree=2:small=header", 40},
      {Operation::reduce, "local-store-tree:degree=2"},
      {Operation::reduce, "piece-per-rank:least=64"},
      {Operation::reduce, "send-receive-tree"},
  };
  for (const Case& one : cases) {
    const AlgorithmSpec spec = family(one.operation).parse(one.spec);
    for (std::uint64_t seed = 1; seed <= orders; ++seed) {
      CollectiveOptions options;
      options.calls = 2;
      options.warm_up = 0;
      options.simulation = checked(seed);
      const int ranks = 2 + static_cast<int>(seed % 3);
      try {
        simulate_collective(machine, work_of(one.operation, one.bytes), spec, one_a_core(machine, ranks),
                            options);
      } catch (const Error& error) {
        FAIL() << one.spec << ", " << ranks << " ranks, seed " << seed << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
