// The simulated machine, operation by operation: what each transaction costs, worked out by hand from the
// machine's numbers; the issue port; waiting, which is elided and must end in the cycle in which it would
// have ended look by look; the store buffer; caches and windows; ranks that wait for ever.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

using testing::chip;
using testing::flat_chip;
using testing::on_contexts;
using testing::one_a_core;
using testing::table_machine;

using W64 = Word<std::uint64_t>;

SimOptions checked(std::uint64_t seed = 1) {
  SimOptions options;
  options.seed = seed;
  options.check = true;
  options.wait.kind = WaitPolicy::Kind::spin;
  return options;
}

/// Ranks on a machine and their memory by lines.
struct Bench {
  Bench(const Machine& m, const Shape& shape, const SimOptions& options = checked(), int lines = 64)
      : simulation(m, shape, static_cast<std::size_t>(lines) * 64, options) {}

  W64& word(int line, int index = 0) {
    return *reinterpret_cast<W64*>(simulation.memory() + line * 64 + index * 8);
  }
  void place(int line, LineState state, const std::vector<int>& cores) {
    simulation.place(simulation.memory() + line * 64, state, cores);
  }
  LineState state(int core, int line) const { return simulation.state(core, static_cast<LineId>(line)); }
  /// What rank 0's operation takes while the others do nothing.
  Cycles cost(const std::function<void(SimPort&)>& operation) {
    Cycles taken = -1;
    simulation.run([&](SimPort& port) {
      if (port.rank() != 0) return;
      const Cycles start = port.ticks();
      operation(port);
      taken = port.ticks() - start;
    });
    return taken;
  }

  Simulation simulation;
};

// --- what a transaction costs: every message takes `inject` = 4 cycles on a chip without distances
// ----------

constexpr Cycles memory_read = 24 + 4 + 12 + 4 + 112 + 4 + 24;  // miss, to the directory, look-up, to memory,
                                                                // its latency, data, fill
constexpr Cycles cache_read = 24 + 4 + 12 + 4 + 24 + 4 + 4 + 4 + 24;  // .., to the owner, its latency, to the
                                                                      // directory, handling, go-ahead, fill
constexpr Cycles write_hand_over = 12 + 4 + 24 + 4 + 4 + 4 + 24 + 4;  // begun to begun: the requester frees

TEST(Simulation, AReadCostsWhatItsStepsCost) {
  const Machine machine = flat_chip();
  const auto read = [&](LineState state, const std::vector<int>& cores) {
    Bench bench(machine, one_a_core(machine, 2));
    bench.place(3, state, cores);
    return bench.cost([&](SimPort& port) { port.load_acquire(bench.word(3)); });
  };
  EXPECT_EQ(read(LineState::invalid, {}), memory_read);
  EXPECT_EQ(read(LineState::modified, {1}), cache_read);
  EXPECT_EQ(read(LineState::exclusive, {1}), cache_read);
  EXPECT_EQ(read(LineState::shared, {1, 2, 3}), cache_read);
  for (const LineState own : {LineState::modified, LineState::exclusive, LineState::shared})
    EXPECT_EQ(read(own, {0}), 9);
}

TEST(Simulation, AReadLeavesTheStatesThatItShould) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 2));
  bench.place(1, LineState::modified, {5});
  bench.place(2, LineState::exclusive, {5});
  bench.cost([&](SimPort& port) {
    for (int line = 0; line < 3; ++line) port.load_acquire(bench.word(line));
  });
  EXPECT_EQ(bench.state(0, 0), LineState::exclusive) << "alone, from memory";
  for (const int line : {1, 2}) {
    EXPECT_EQ(bench.state(0, line), LineState::shared);
    EXPECT_EQ(bench.state(5, line), LineState::shared);
  }
  EXPECT_EQ(bench.simulation.counters().write_backs, 0) << "the chip shares what is modified (GOLS)";
  EXPECT_EQ(bench.simulation.counters().from_memory, 1);
  EXPECT_EQ(bench.simulation.counters().from_caches, 2);
}

TEST(Simulation, DistanceIsPaidOnEveryLegOfTheWayByTheGoAhead) {
  // All that is remote costs 4 legs of the ring: no matter where the directory is, with one directory only
  // the ways of requester and owner count twice each.
  Machine machine = chip(8);
  machine.p.directories = 1;
  const Ring ring(machine.p);
  Bench bench(machine, one_a_core(machine, 8));
  for (int owner = 1; owner < 8; ++owner) {
    bench.place(owner, LineState::modified, {owner});
    RingCount ignored;
    const Cycles to_owner = ring.send(ignored, ring.directory(0), ring.core(owner)) - 4;
    const Cycles to_requester = ring.send(ignored, ring.directory(0), ring.core(0)) - 4;
    EXPECT_EQ(bench.cost([&](SimPort& port) { port.load_acquire(bench.word(owner)); }),
              cache_read + 2 * to_owner + 2 * to_requester);
  }
  // Where the data alone ends a miss, the last leg is the way from owner to requester.
  machine.p.completion = Completion::data;
  Bench direct(machine, one_a_core(machine, 8));
  for (int owner = 1; owner < 8; ++owner) {
    direct.place(owner, LineState::modified, {owner});
    RingCount ignored;
    const Cycles legs = ring.send(ignored, ring.core(0), ring.directory(0)) +
                        ring.send(ignored, ring.directory(0), ring.core(owner)) +
                        ring.send(ignored, ring.core(owner), ring.core(0));
    EXPECT_EQ(direct.cost([&](SimPort& port) { port.load_acquire(direct.word(owner)); }),
              24 + 12 + 24 + 24 + legs);
  }
}

TEST(Simulation, AnUpgradePaysForEachFurtherSharer) {
  const Machine machine = flat_chip();
  for (int sharers = 1; sharers <= 6; ++sharers) {
    Bench bench(machine, one_a_core(machine, 1));
    std::vector<int> cores = {0};
    for (int c = 1; c <= sharers; ++c) cores.push_back(c);
    bench.place(0, LineState::shared, cores);
    const Cycles upgrade = 24 + 4 + 12 + 18 + 6 * (sharers - 1) + 4 + 24 + 4 + 4 + 4 + 24;
    EXPECT_EQ(bench.cost([&](SimPort& port) { port.fetch_add(bench.word(0), std::uint64_t{1}); }),
              upgrade + 9);
    EXPECT_EQ(bench.state(0, 0), LineState::modified);
    for (int c = 1; c <= sharers; ++c) EXPECT_EQ(bench.state(c, 0), LineState::invalid);
    EXPECT_EQ(bench.simulation.counters().upgrades, 1);
    EXPECT_EQ(bench.simulation.counters().invalidations, sharers);
  }
}

TEST(Simulation, AWritePaysForTheDataAndEachFurtherSharer) {
  const Machine machine = flat_chip();
  for (int sharers = 1; sharers <= 6; ++sharers) {
    Bench bench(machine, one_a_core(machine, 1));
    std::vector<int> cores;
    for (int c = 1; c <= sharers; ++c) cores.push_back(c);
    bench.place(0, LineState::shared, cores);
    EXPECT_EQ(bench.cost([&](SimPort& port) { port.fetch_add(bench.word(0), std::uint64_t{1}); }),
              cache_read + 6 * (sharers - 1) + 9);
  }
}

TEST(Simulation, AStoreIsDoneWithWhenItIsInTheBufferAndVisibleWhenItsLineHasCome) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 1));
  Cycles stored = 0, fenced = 0;
  bench.cost([&](SimPort& port) {
    const Cycles start = port.ticks();
    port.store_release(bench.word(0), std::uint64_t{1});
    stored = port.ticks() - start;
    port.fence();
    fenced = port.ticks() - start;
  });
  EXPECT_EQ(stored, 4 * 2) << "four instructions, one every other cycle";
  EXPECT_EQ(fenced, memory_read + 25) << "the request goes with the store's first cycle";
  EXPECT_EQ(bench.state(0, 0), LineState::modified);
  EXPECT_EQ(bench.word(0).atomic().load(), 1u);
}

TEST(Simulation, AWholeLineStoreNeedsLeaveButNoData) {
  const Machine machine = flat_chip();
  const std::uint64_t image[8] = {7, 7, 7, 7, 7, 7, 7, 7};
  Bench bench(machine, one_a_core(machine, 1));
  EXPECT_EQ(bench.cost([&](SimPort& port) {
    port.store_line(&bench.word(0), image, StorePolicy::no_read);
    port.fence();
  }),
            24 + 4 + 12 + 4 + 25);
  EXPECT_EQ(bench.simulation.counters().from_memory, 0);
  bench.place(1, LineState::modified, {3});
  EXPECT_EQ(bench.cost([&](SimPort& port) {
    port.store_line(&bench.word(1), image, StorePolicy::no_read);
    port.fence();
  }),
            24 + 4 + 12 + 4 + 24 + 4 + 4 + 4 + 25)
      << "the other cache gives its copy up first";
  EXPECT_EQ(bench.simulation.counters().from_caches, 0);
}

TEST(Simulation, WhoReadALineAloneWritesItWithoutAsking) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 1));
  bench.cost([&](SimPort& port) { port.load_acquire(bench.word(0)); });
  const std::int64_t asked = bench.simulation.counters().requests[static_cast<int>(Request::write)];
  EXPECT_EQ(bench.cost([&](SimPort& port) {
    port.store_release(bench.word(0), std::uint64_t{1});
    port.fence();
  }),
            8 + 25);
  EXPECT_EQ(bench.simulation.counters().requests[static_cast<int>(Request::write)], asked);
  EXPECT_EQ(bench.state(0, 0), LineState::modified);
}

TEST(Simulation, AnEvictedLineComesBackFromMemoryAndOnlyAfterItHasLeft) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 1));
  bench.place(0, LineState::modified, {0});
  const Cycles leave = 24 + 4 + 12 + 4;
  EXPECT_EQ(bench.cost([&](SimPort& port) {
    port.evict(&bench.word(0));
    port.load_acquire(bench.word(0));
  }),
            leave + memory_read);
  EXPECT_EQ(bench.simulation.counters().write_backs, 1);
  EXPECT_EQ(bench.cost([&](SimPort& port) { port.evict(&bench.word(9)); }), 8) << "not there: nothing to do";
}

TEST(Simulation, AtomicsOnOneLineAreHandedFromCoreToCore) {
  const Machine machine = flat_chip(8);
  for (const int ranks : {1, 2, 5, 8}) {
    Bench bench(machine, one_a_core(machine, ranks));
    std::vector<Cycles> ends(static_cast<std::size_t>(ranks));
    bench.simulation.run([&](SimPort& port) {
      port.fetch_add(bench.word(0), std::uint64_t{1});
      ends[static_cast<std::size_t>(port.rank())] = port.ticks();
    });
    EXPECT_EQ(*std::max_element(ends.begin(), ends.end()), memory_read + write_hand_over * (ranks - 1) + 9);
    EXPECT_EQ(bench.word(0).atomic().load(), static_cast<std::uint64_t>(ranks));
  }
}

TEST(Simulation, ContextsOfACoreShareARequestToWrite) {
  Machine machine = flat_chip();
  for (const Switch merge : {Switch::on, Switch::off}) {
    machine.p.merge_writes = merge;
    Bench bench(machine, on_contexts(machine, {0, 1, 2, 3}));
    std::vector<Cycles> ends(4);
    bench.simulation.run([&](SimPort& port) {
      port.fetch_add(bench.word(0), std::uint64_t{1});
      ends[static_cast<std::size_t>(port.rank())] = port.ticks();
    });
    std::sort(ends.begin(), ends.end());
    if (merge == Switch::on) {
      for (int i = 0; i < 4; ++i) EXPECT_GE(ends[static_cast<std::size_t>(i)], memory_read + 9 * (i + 1));
      EXPECT_LE(ends[3], memory_read + 4 * 16);
      EXPECT_EQ(bench.simulation.counters().merged, 3);
    } else {
      EXPECT_EQ(bench.simulation.counters().merged, 0);
    }
    EXPECT_EQ(bench.word(0).atomic().load(), 4u);
  }
}

TEST(Simulation, ReadersOfALineInMemory) {
  Machine machine = flat_chip();
  using Case = std::pair<MemoryFill, int>;
  for (const Case& one :
       {Case{MemoryFill::join, 0}, Case{MemoryFill::defer, 0}, Case{MemoryFill::defer, 90}}) {
    const MemoryFill fill = one.first;
    machine.p.memory_fill = fill;
    machine.p.memory_retry = one.second;
    Bench bench(machine, one_a_core(machine, 3));
    std::vector<Cycles> ends(3);
    bench.simulation.run([&](SimPort& port) {
      port.load_acquire(bench.word(0));
      ends[static_cast<std::size_t>(port.rank())] = port.ticks();
    });
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(ends[0], memory_read);
    // Joined: one after the other at memory. Deferred: when the first has it and has said so, and a retry
    // later, look-up and memory again.
    const Cycles second =
        fill == MemoryFill::join ? memory_read + 48 : memory_read + 4 + one.second + 12 + 4 + 112 + 4 + 24;
    EXPECT_EQ(ends[1], second);
    EXPECT_EQ(ends[2], second + 48);
    for (int core = 0; core < 3; ++core) EXPECT_EQ(bench.state(core, 0), LineState::shared);
  }
}

TEST(Simulation, ReadersOfAnOwnersLineAreServedOneByOne) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 5));
  bench.place(0, LineState::modified, {7});
  std::vector<Cycles> ends(5);
  bench.simulation.run([&](SimPort& port) {
    port.load_acquire(bench.word(0));
    ends[static_cast<std::size_t>(port.rank())] = port.ticks();
  });
  std::sort(ends.begin(), ends.end());
  const Cycles locked = 12 + 4 + 24 + 4 + 4;  // until the owner's acknowledgement has been handled
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ends[static_cast<std::size_t>(i)], cache_read + locked * i);
}

TEST(Simulation, ATableSaysWhatATransferCosts) {
  const Machine machine = table_machine(8);
  const auto read = [&](LineState state, int core) {
    Bench bench(machine, one_a_core(machine, 1));
    bench.place(0, state, {core});
    return bench.cost([&](SimPort& port) { port.load_acquire(bench.word(0)); });
  };
  EXPECT_EQ(read(LineState::modified, 3), 100);
  EXPECT_EQ(read(LineState::modified, 4), 300);
  EXPECT_EQ(read(LineState::exclusive, 3), 90);
  EXPECT_EQ(read(LineState::exclusive, 4), 290);
  EXPECT_EQ(read(LineState::shared, 3), 80);
  EXPECT_EQ(read(LineState::shared, 4), 280);
  EXPECT_EQ(read(LineState::shared, 0), 9);
  Bench bench(machine, one_a_core(machine, 1));
  bench.place(0, LineState::shared, {3, 4});
  EXPECT_EQ(bench.cost([&](SimPort& port) { port.load_acquire(bench.word(0)); }), 80)
      << "the near one answers";
}

TEST(Simulation, BetweenLastLevelCachesATransferGoesByTheLinesMemory) {
  Machine machine = table_machine(16);
  machine.p.l3_per_package =
      2;  // cores 0 to 3 and 4 to 7 of the first package, 8 to 11 and 12 to 15 of the second
  machine.p.table_other_modified = 200;
  machine.p.table_other_exclusive = 190;
  machine.p.table_other_shared = 180;
  const auto read = [&](LineState state, const std::vector<int>& cores) {
    Bench bench(machine, one_a_core(machine, 1));
    bench.place(0, state, cores);  // of the first core's memory
    return bench.cost([&](SimPort& port) { port.load_acquire(bench.word(0)); });
  };
  EXPECT_EQ(read(LineState::modified, {3}), 100);
  EXPECT_EQ(read(LineState::modified, {4}), 200);
  EXPECT_EQ(read(LineState::modified, {8}), 300);
  EXPECT_EQ(read(LineState::exclusive, {7}), 190);
  EXPECT_EQ(read(LineState::shared, {7}), 180);
  EXPECT_EQ(read(LineState::shared, {7, 3}), 80) << "the nearest answers";
  EXPECT_EQ(read(LineState::shared, {7, 12}), 180);
  EXPECT_EQ(read(LineState::shared, {12, 7}), 280)
      << "under another last-level cache, of the other package's memory";
  EXPECT_EQ(read(LineState::shared, {12, 3}), 80) << "under one, memory is not asked";
}

TEST(Simulation, ATransferWaitsForTheWaysThatItTakes) {
  Machine machine = table_machine(16);
  machine.p.l3_per_package = 2;
  machine.p.table_other_modified = 200;
  machine.p.table_other_exclusive = 190;
  machine.p.table_other_shared = 180;
  machine.p.table_owner_service = 7;
  machine.p.table_l3_out = 50;
  machine.p.table_l3_in = 30;
  machine.p.table_package_out = 20;
  // When ranks on cores `readers`, which begin together, have read line i of core owners[i].
  const auto ends = [&](const std::vector<int>& readers, const std::vector<int>& owners) {
    std::vector<int> contexts;
    for (const int core : readers) contexts.push_back(core * machine.p.contexts_per_core);
    Bench bench(machine, on_contexts(machine, contexts));
    for (std::size_t i = 0; i < owners.size(); ++i)
      bench.place(static_cast<int>(i), LineState::modified, {owners[i]});
    std::vector<Cycles> found(readers.size());
    bench.simulation.run([&](SimPort& port) {
      port.load_acquire(bench.word(port.rank()));
      found[static_cast<std::size_t>(port.rank())] = port.ticks();
    });
    std::sort(found.begin(), found.end());
    return found;
  };
  using Times = std::vector<Cycles>;
  EXPECT_EQ(ends({0, 1}, {3, 3}), (Times{100, 107})) << "one cache answers both";
  EXPECT_EQ(ends({0, 1}, {2, 3}), (Times{100, 100})) << "nothing leaves the last-level cache";
  EXPECT_EQ(ends({0, 8}, {4, 5}), (Times{200, 350})) << "out of one last-level cache, to two";
  EXPECT_EQ(ends({0, 1}, {4, 8}), (Times{200, 330})) << "into one, from two";
  EXPECT_EQ(ends({0, 4}, {8, 12}), (Times{300, 320})) << "from one package to another";
  EXPECT_EQ(ends({0, 4}, {4, 0}), (Times{200, 200})) << "the two directions do not meet";
}

// --- the issue port ---------------------------------------------------------------------------------------

TEST(Simulation, ContextsOfACoreTakeTurnsAtIssuing) {
  const Machine machine = flat_chip();
  // A hit takes 9 cycles; its 4 instructions take longer only if three or more contexts issue.
  const Cycles expected[] = {9, 9, 12, 16};
  for (int contexts = 1; contexts <= 4; ++contexts) {
    std::vector<int> places;
    for (int c = 0; c < contexts; ++c) places.push_back(c);
    Bench bench(machine, on_contexts(machine, places));
    bench.place(0, LineState::shared, {0});
    std::vector<Cycles> ends(static_cast<std::size_t>(contexts));
    bench.simulation.run([&](SimPort& port) {
      port.wait_until(1000);
      for (int i = 0; i < 100; ++i) port.load_acquire(bench.word(0));
      ends[static_cast<std::size_t>(port.rank())] = port.ticks();
    });
    EXPECT_NEAR(static_cast<double>(ends[0] - 1000), 100.0 * static_cast<double>(expected[contexts - 1]), 16)
        << contexts << " contexts";
  }
}

TEST(Simulation, AContextThatWaitsPolitelyLeavesTheIssuePortToTheOthers) {
  const Machine machine = flat_chip();
  const auto time_of_work = [&](WaitPolicy::Kind kind) {
    SimOptions options = checked();
    options.wait.kind = kind;
    Bench bench(machine, on_contexts(machine, {0, 1, 2, 3}), options);
    bench.place(0, LineState::modified, {0});
    Cycles taken = 0;
    bench.simulation.run([&](SimPort& port) {
      if (port.rank() != 0) {
        port.wait(bench.word(0), equal(std::uint64_t{1}));
        return;
      }
      port.wait_until(1000);
      const Cycles start = port.ticks();
      for (int i = 0; i < 100; ++i) port.load_acquire(bench.word(0, 1));
      taken = port.ticks() - start;
      port.store_release(bench.word(0), std::uint64_t{1});
    });
    return taken;
  };
  EXPECT_EQ(time_of_work(WaitPolicy::Kind::spin), 1600);
  EXPECT_EQ(time_of_work(WaitPolicy::Kind::pause), 900);
}

// --- waiting ----------------------------------------------------------------------------------------------

/// When each of the ranks from 1 on leaves a wait for a word that rank 0, on another core, stores at `when`.
/// With `works` the last rank does not wait but has work of its own, off and on.
std::vector<Cycles> wait_for_store(const Machine& machine, const std::vector<int>& contexts, Cycles when,
                                   const SimOptions& options, bool works) {
  Bench bench(machine, on_contexts(machine, contexts), options);
  std::vector<Cycles> ends(contexts.size());
  bench.simulation.run([&](SimPort& port) {
    if (port.rank() == 0) {
      port.wait_until(when);
      port.signal(bench.word(0), std::uint64_t{5});
    } else if (works && port.rank() == bench.simulation.shape().size() - 1) {
      Random random(options.seed);
      while (port.ticks() < when + 500) {
        port.wait_until(port.ticks() + static_cast<Cycles>(random.below(300)));
        for (std::uint64_t i = random.below(20); i > 0; --i) port.load_relaxed(bench.word(9));
      }
    } else {
      port.wait_until(port.rank() * 7);
      port.wait(bench.word(0), equal(std::uint64_t{5}));
    }
    ends[static_cast<std::size_t>(port.rank())] = port.ticks();
  });
  return ends;
}

TEST(Simulation, AWaitEndsAtALookOfItsOwnLoop) {
  // The rank looks every 9 + pause cycles; the line is taken away at some cycle; the next look misses and
  // fetches it. The same program with a loop of loads written out tells when that is. Only where the line is
  // taken away in the very cycle of a look is the machine free: the elided look comes after the change.
  const Machine machine = flat_chip();
  for (const unsigned pauses : {1u, 2u}) {
    for (Cycles when = 3000; when < 3300; when += 7) {
      SimOptions options = checked();
      options.wait.kind = WaitPolicy::Kind::pause;
      options.wait.pauses = pauses;
      Bench parked(machine, one_a_core(machine, 2), options);
      Bench loop(machine, one_a_core(machine, 2), options);
      Cycles ends[2] = {0, 0};
      const auto run = [&](Bench& bench, Cycles& end, bool waits) {
        bench.simulation.run([&](SimPort& port) {
          if (port.rank() == 0) {
            port.wait_until(when);
            port.signal(bench.word(0), std::uint64_t{5});
            return;
          }
          port.wait_until(1000);
          if (waits) {
            port.wait(bench.word(0), equal(std::uint64_t{5}));
          } else {
            while (port.load_acquire(bench.word(0)) != 5)
              port.wait_until(port.ticks() + static_cast<Cycles>(pauses) * 64);
          }
          end = port.ticks();
        });
      };
      run(parked, ends[0], true);
      run(loop, ends[1], false);
      const Cycles pause = pauses * 64;
      const Cycles first_look = 1000 + memory_read + pause, taken = when + 24 + 4 + 12 + 4;
      if ((taken - first_look) % (9 + pause) == 0)
        EXPECT_LT(ends[0], ends[1]) << "store at " << when << ", pauses " << pauses;
      else
        EXPECT_EQ(ends[0], ends[1]) << "store at " << when << ", pauses " << pauses;
      EXPECT_GT(parked.simulation.counters().elided_looks, 0);
    }
  }
}

TEST(Simulation, ElidedWaitingEqualsWaitingLookByLook) {
  Random random(20260101);
  int later = 0, differ = 0;
  for (int i = 0; i < testing::draws(3000); ++i) {
    Machine machine = chip(6);
    machine.p.pause = static_cast<int>(random.below(100));
    machine.p.l1_hit = 1 + static_cast<int>(random.below(12));
    machine.p.look_instructions = 1 + static_cast<int>(random.below(6));
    machine.p.miss = static_cast<int>(random.below(40));
    SimOptions options = checked(random.next());
    options.wait.kind = random.below(3) == 0 ? WaitPolicy::Kind::spin : WaitPolicy::Kind::pause;
    options.wait.pauses = 1 + static_cast<unsigned>(random.below(2));
    // Rank 0 stores; one waiter on a core of its own, or with siblings that wait at other phases.
    std::vector<int> contexts = {20};
    for (std::uint64_t w = 1 + random.below(4); w > 0; --w)
      contexts.push_back(static_cast<int>(contexts.size()) - 1);
    const auto when = static_cast<Cycles>(800 + random.below(3000));
    const bool works = contexts.size() > 2 && random.below(2) == 0;
    options.elide = true;
    std::vector<Cycles> elided = wait_for_store(machine, contexts, when, options, works);
    options.elide = false;
    std::vector<Cycles> looked = wait_for_store(machine, contexts, when, options, works);
    // Which of two looks of one cycle is first is left open.
    std::sort(elided.begin() + 1, elided.end());
    std::sort(looked.begin() + 1, looked.end());
    // A rank's share of the issue port is that of its last simulated look: while a sibling comes and goes,
    // one that is parked keeps the share that it had.
    if (works && elided != looked) {
      ++differ;
      continue;
    }
    ASSERT_EQ(elided, looked) << "round " << i << ", " << contexts.size() - 1 << " waiters, store at "
                              << when;
    later += elided[1] > when + 500;
  }
  EXPECT_LT(differ, 30);
  EXPECT_LT(later, testing::draws(3000)) << "the store ended the waits";
}

TEST(Simulation, LooksThatAreElidedAreChargedToTheIssuePort) {
  const Machine machine = flat_chip();
  SimOptions options = checked();
  std::vector<Cycles> busy;
  for (const bool elide : {true, false}) {
    options.elide = elide;
    Bench bench(machine, one_a_core(machine, 2), options);
    bench.simulation.run([&](SimPort& port) {
      if (port.rank() == 0) {
        port.wait_until(100000);
        port.signal(bench.word(0), std::uint64_t{1});
      } else {
        port.wait(bench.word(0), equal(std::uint64_t{1}));
      }
    });
    const Counters& c = bench.simulation.counters();
    busy.push_back(c.issue_busy[1]);
    EXPECT_EQ(c.elided_looks == 0, !elide);
    EXPECT_NEAR(static_cast<double>(c.looks + c.elided_looks), 100000.0 / 9, 50);
  }
  EXPECT_EQ(busy[0], busy[1]);
}

TEST(Simulation, EveryConditionEndsItsWait) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 2));
  auto& small = *reinterpret_cast<Word<std::uint8_t>*>(&bench.word(5));
  auto& line = *reinterpret_cast<ByteLine*>(&bench.word(6));
  bench.simulation.run([&](SimPort& port) {
    if (port.rank() == 0) {
      port.wait_until(2000);
      port.store_relaxed(bench.word(1), std::uint64_t{3});
      port.store_relaxed(bench.word(2), std::uint64_t{0xff00});
      port.store_relaxed(bench.word(3), std::uint64_t{9});
      port.store_relaxed(small, std::uint8_t{2});
      for (int b = 0; b < 40; ++b) port.store_relaxed(line.bytes[b], std::uint8_t{7});
      port.store_release(bench.word(4), ~std::uint64_t{0});
    } else {
      EXPECT_EQ(port.wait(bench.word(1), at_least(std::uint64_t{2})), 3u);
      EXPECT_EQ(port.wait(bench.word(2), masked_equal(std::uint64_t{0xf000}, std::uint64_t{0xf000})),
                0xff00u);
      EXPECT_EQ(port.wait(bench.word(3), not_equal(std::uint64_t{0})), 9u);
      EXPECT_EQ(port.wait(small, at_least(std::uint8_t{250})), 2u) << "a sequence number that has wrapped";
      port.wait_line(line, 0xff00000000ull, 7);
      EXPECT_EQ(port.wait(bench.word(4), equal(~std::uint64_t{0})), ~std::uint64_t{0});
    }
  });
}

TEST(Simulation, AWaiterSeesWhatASiblingOrItselfStores) {
  const Machine machine = flat_chip();
  Bench bench(machine, on_contexts(machine, {0, 1}));
  Cycles seen = 0;
  bench.simulation.run([&](SimPort& port) {
    if (port.rank() == 0) {
      port.store_relaxed(bench.word(1), std::uint64_t{4});
      EXPECT_EQ(port.wait(bench.word(1), equal(std::uint64_t{4})), 4u) << "its own";
      port.wait_until(5000);
      port.store_relaxed(bench.word(0), std::uint64_t{1});
    } else {
      port.wait(bench.word(0), equal(std::uint64_t{1}));
      seen = port.ticks();
    }
  });
  // The line is in the core's cache already: no request, no invalidation.
  EXPECT_GE(seen, 5000);
  EXPECT_LE(seen, 5000 + 24 + 2 * memory_read);
}

// --- the store buffer -------------------------------------------------------------------------------------

TEST(Simulation, ARankSeesItsOwnStoresAtOnce) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 1));
  bench.cost([&](SimPort& port) {
    const Cycles start = port.ticks();
    port.store_relaxed(bench.word(0), std::uint64_t{0x1122334455667788});
    EXPECT_EQ(port.load_relaxed(bench.word(0)), 0x1122334455667788u);
    auto& upper = *reinterpret_cast<Word<std::uint32_t>*>(bench.simulation.memory() + 4);
    EXPECT_EQ(port.load_relaxed(upper), 0x11223344u) << "a part of one store";
    EXPECT_EQ(port.ticks() - start, 8 + 9 + 9);
    port.store_relaxed(upper, 0xaabbccddu);
    EXPECT_EQ(port.load_relaxed(bench.word(0)), 0xaabbccdd55667788u) << "two stores in one load";
    EXPECT_GE(port.ticks() - start, memory_read) << "which had to become visible first";
  });
}

TEST(Simulation, AFullBufferHoldsTheRankUp) {
  Machine machine = flat_chip();
  machine.p.store_window = 1;
  Bench bench(machine, one_a_core(machine, 1));
  std::vector<Cycles> ends;
  bench.cost([&](SimPort& port) {
    const Cycles start = port.ticks();
    for (int line = 0; line < 10; ++line) {
      port.store_relaxed(bench.word(line), std::uint64_t{1});
      ends.push_back(port.ticks() - start);
    }
  });
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ends[static_cast<std::size_t>(i)], 8 * (i + 1));
  EXPECT_EQ(ends[8], memory_read) << "one line at a time: the first has come";
  EXPECT_EQ(ends[9], 2 * memory_read);
}

TEST(Simulation, AWindowOfStoresAsksForThatManyLinesAtOnce) {
  for (int window = 1; window <= 8; ++window) {
    Machine machine = flat_chip();
    machine.p.store_window = window;
    machine.p.directories = 64;
    machine.p.memory_channel = 0;
    machine.p.directory_service = 0;
    Bench bench(machine, one_a_core(machine, 1));
    const Cycles taken = bench.cost([&](SimPort& port) {
      for (int line = 0; line < 8; ++line) port.store_relaxed(bench.word(line), std::uint64_t{1});
      port.fence();
    });
    EXPECT_GE(taken, (8 + window - 1) / window * memory_read) << window;
    EXPECT_LE(taken, (8 + window - 1) / window * memory_read + 8 * 8 + 25) << window;
  }
}

TEST(Simulation, TheFirstLinesOfACopyThatMissAreWaitedFor) {
  const auto taken = [](int serial, int start, std::size_t lines, bool owned) {
    Machine machine = flat_chip();
    machine.p.directories = 64;
    machine.p.copy_serial = serial;
    machine.p.copy_start = start;
    Bench bench(machine, one_a_core(machine, 1));
    for (int line = 0; line < 8; ++line) bench.place(line, LineState::modified, {0});
    unsigned char* const from = bench.simulation.memory();
    unsigned char* const to = from + (owned ? 4 : 8) * arch::line_bytes;
    return bench.cost([&](SimPort& port) {
      port.copy(to, from, lines * arch::line_bytes);
      port.fence();
    });
  };
  EXPECT_GE(taken(3, 500, 4, false), 500 + 4 * memory_read) << "the fourth follows alone";
  EXPECT_LT(taken(1, 500, 4, false), 500 + 3 * memory_read) << "all but the first overlap";
  EXPECT_EQ(taken(3, 500, 1, false), taken(0, 0, 1, false)) << "a single line";
  EXPECT_EQ(taken(3, 500, 4, true), taken(0, 0, 4, true)) << "nothing misses";
}

TEST(Simulation, TotalStoreOrderShowsItsOneReordering) {
  const Machine machine = chip(8);
  int both_zero = 0, both_zero_fenced = 0;
  for (std::uint64_t seed = 1; seed <= testing::draws(1500); ++seed) {
    for (const bool fenced : {false, true}) {
      SimOptions options = checked(seed);
      options.shuffle = true;
      options.start_skew = 300;
      Bench bench(machine, one_a_core(machine, 2), options);
      // Each has a copy of what it loads, and has to ask for what it stores.
      bench.place(0, LineState::shared, {1});
      bench.place(1, LineState::shared, {0});
      std::uint64_t seen[2] = {9, 9};
      bench.simulation.run([&](SimPort& port) {
        const int r = port.rank();
        port.store_release(bench.word(r), std::uint64_t{1});
        if (fenced) port.fence();
        seen[r] = port.load_acquire(bench.word(1 - r));
      });
      (fenced ? both_zero_fenced : both_zero) += seen[0] == 0 && seen[1] == 0;
    }
  }
  EXPECT_GT(both_zero, 0) << "a store may become visible behind a later load";
  EXPECT_EQ(both_zero_fenced, 0);
}

TEST(Simulation, TotalStoreOrderShowsNoOther) {
  const Machine machine = chip(8);
  int all_of_message = 0, none_of_message = 0;
  for (std::uint64_t seed = 1; seed <= testing::draws(1500); ++seed) {
    Random random(seed);
    SimOptions options = checked(seed);
    options.shuffle = true;
    options.start_skew = static_cast<Cycles>(1 + random.below(800));
    const Shape shape = testing::anywhere(machine, 4, random);
    const auto run = [&](const std::function<void(SimPort&, Bench&)>& body) {
      Bench bench(machine, shape, options);
      // Readers hold some of the lines, so that old copies are there to be seen.
      bench.place(0, LineState::shared, {1, 2});
      bench.place(2, LineState::shared, {0, 3, 5});
      bench.simulation.run([&](SimPort& port) { body(port, bench); });
    };
    // Message passing, two readers.
    run([&](SimPort& port, Bench& bench) {
      if (port.rank() == 0) {
        port.store_relaxed(bench.word(0), std::uint64_t{1});
        port.store_relaxed(bench.word(1), std::uint64_t{1});
      } else if (port.rank() > 1) {
        const auto flag = port.load_relaxed(bench.word(1));
        const auto data = port.load_relaxed(bench.word(0));
        EXPECT_FALSE(flag == 1 && data == 0) << "message passing, seed " << seed;
        (flag == 1 ? all_of_message : none_of_message) += 1;
      }
    });
    // Load buffering.
    std::uint64_t seen[8] = {};
    run([&](SimPort& port, Bench& bench) {
      const int r = port.rank();
      if (r > 1) return;
      seen[r] = port.load_relaxed(bench.word(r));
      port.store_relaxed(bench.word(1 - r), std::uint64_t{1});
    });
    EXPECT_FALSE(seen[0] == 1 && seen[1] == 1) << "load buffering, seed " << seed;
    // Independent reads of independent writes.
    std::fill(seen, seen + 8, 0);
    run([&](SimPort& port, Bench& bench) {
      const int r = port.rank();
      if (r < 2) {
        port.store_relaxed(bench.word(r * 2), std::uint64_t{1});
      } else {
        seen[(r - 2) * 2] = port.load_relaxed(bench.word(r == 2 ? 0 : 2));
        seen[(r - 2) * 2 + 1] = port.load_relaxed(bench.word(r == 2 ? 2 : 0));
      }
    });
    EXPECT_FALSE(seen[0] == 1 && seen[1] == 0 && seen[2] == 1 && seen[3] == 0) << "IRIW, seed " << seed;
    // Coherence: two writers of one word, two readers: they agree on the order.
    std::fill(seen, seen + 8, 0);
    run([&](SimPort& port, Bench& bench) {
      const int r = port.rank();
      if (r < 2) {
        port.store_relaxed(bench.word(0), static_cast<std::uint64_t>(r + 1));
      } else {
        for (int i = 0; i < 3; ++i) seen[(r - 2) * 4 + i] = port.load_relaxed(bench.word(0));
      }
    });
    const auto order = [&](int reader) {
      for (int i = 1; i < 3; ++i) {
        const std::uint64_t a = seen[reader * 4 + i - 1], b = seen[reader * 4 + i];
        if (a != 0 && b != 0 && a != b) return static_cast<int>(a * 10 + b);
        EXPECT_FALSE(a != 0 && b == 0) << "coherence, seed " << seed;
      }
      return 0;
    };
    EXPECT_FALSE(order(0) != 0 && order(1) != 0 && order(0) != order(1)) << "coherence, seed " << seed;
  }
  EXPECT_GT(all_of_message, 5);
  EXPECT_GT(none_of_message, 5);
}

// --- caches and windows -----------------------------------------------------------------------------------

TEST(Simulation, AFullCacheGivesUpWhatWasUsedLongestAgo) {
  Machine machine = flat_chip();
  machine.p.l1_kib = 1;
  machine.p.l1_ways = 2;
  machine.p.l2_kib = 2;  // 32 lines
  machine.p.l2_ways = 4;
  Bench bench(machine, one_a_core(machine, 1));
  bench.cost([&](SimPort& port) {
    for (int line = 0; line < 32; ++line) port.load_relaxed(bench.word(line));
  });
  EXPECT_EQ(bench.simulation.counters().evictions, 0);
  EXPECT_EQ(bench.cost([&](SimPort& port) { port.load_relaxed(bench.word(0)); }), 24)
      << "in the second level";
  EXPECT_EQ(bench.cost([&](SimPort& port) { port.load_relaxed(bench.word(0)); }), 9) << "in the first";
  bench.cost([&](SimPort& port) {
    for (int line = 32; line < 40; ++line) port.load_relaxed(bench.word(line));
  });
  EXPECT_EQ(bench.simulation.counters().evictions, 8);
  EXPECT_EQ(bench.state(0, 0), LineState::exclusive) << "used again not long ago";
  EXPECT_EQ(bench.state(0, 8), LineState::invalid);
  EXPECT_EQ(bench.cost([&](SimPort& port) { port.load_relaxed(bench.word(8)); }), memory_read);
}

TEST(Simulation, ALineThatWasLostLeavesRoom) {
  Machine machine = flat_chip();
  machine.p.l1_kib = 1;
  machine.p.l1_ways = 2;
  machine.p.l2_kib = 1;
  machine.p.l2_ways = 2;  // 8 sets of 2
  Bench bench(machine, one_a_core(machine, 2));
  bench.simulation.run([&](SimPort& port) {
    if (port.rank() == 0) {
      port.load_relaxed(bench.word(0));
      port.load_relaxed(bench.word(8));
      port.wait_until(5000);
      port.load_relaxed(bench.word(16));  // the same set: in the room of line 8
    } else {
      port.wait_until(1000);
      port.store_relaxed(bench.word(8), std::uint64_t{1});
    }
  });
  EXPECT_EQ(bench.simulation.counters().evictions, 0);
  EXPECT_EQ(bench.state(0, 0), LineState::exclusive);
}

TEST(Simulation, ACoreAsksForSoManyLinesAtOnceOnly) {
  Machine machine = flat_chip();
  for (const int window : {1, 2, 4}) {
    machine.p.core_window = window;
    machine.p.memory_channel = 0;
    machine.p.directory_service = 0;
    Bench bench(machine, on_contexts(machine, {0, 1, 2, 3}));
    Cycles last = 0;
    bench.simulation.run([&](SimPort& port) {
      port.load_relaxed(bench.word(port.rank()));
      last = std::max(last, port.ticks());
    });
    EXPECT_EQ(last, 4 / window * memory_read);
  }
}

TEST(Simulation, ThePrefetcherRunsAheadOfAStreamAndOfNothingElse) {
  Machine machine = flat_chip();
  machine.p.prefetcher = Switch::on;
  Bench bench(machine, one_a_core(machine, 1));
  const auto prefetches = [&] {
    return bench.simulation.counters().requests[static_cast<int>(Request::prefetch)];
  };
  bench.cost([&](SimPort& port) {
    for (const int line : {0, 50, 40, 30, 7}) port.load_relaxed(bench.word(line));
  });
  EXPECT_EQ(prefetches(), 0);
  bench.cost([&](SimPort& port) {
    port.load_relaxed(bench.word(10));
    port.load_relaxed(bench.word(11));
  });
  EXPECT_EQ(prefetches(), 3) << "12, 13, 14";
  EXPECT_LE(bench.cost([&](SimPort& port) { port.load_relaxed(bench.word(12)); }), 24);
}

// --- ends -------------------------------------------------------------------------------------------------

std::string deadlock_of(const Machine& machine, const Shape& shape,
                        const std::function<void(SimPort&, Bench&)>& body) {
  Bench bench(machine, shape);
  try {
    bench.simulation.run([&](SimPort& port) { body(port, bench); });
  } catch (const DeadlockError& error) {
    return error.what();
  }
  return "no deadlock";
}

TEST(Simulation, RanksThatWaitForEverAreNamedWithTheirLinesAndValues) {
  const Machine machine = flat_chip();
  const std::string text = deadlock_of(machine, one_a_core(machine, 3), [](SimPort& port, Bench& bench) {
    if (port.rank() == 0) port.store_release(bench.word(2), std::uint64_t{41});
    if (port.rank() == 1) port.wait(bench.word(2), equal(std::uint64_t{42}));
    if (port.rank() == 2) port.wait_line(*reinterpret_cast<ByteLine*>(&bench.word(3)), 1, 5);
  });
  EXPECT_NE(text.find("2 of 3 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 (core 1) waits for line 2, byte 128, which is 41, to equal 42"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 2 (core 2) waits for line 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 0"), std::string::npos) << text;
}

TEST(Simulation, RanksThatPollForEverAreFoundToo) {
  const Machine machine = flat_chip();
  using Poll = void (*)(SimPort&, W64&);
  const Poll polls[] = {
      [](SimPort& port, W64&) { port.pause(); },
      [](SimPort&, W64&) {},
      [](SimPort& port, W64&) { port.wait_until(port.ticks() + 100); },
      [](SimPort& port, W64& word) { port.fetch_or(word, std::uint64_t{0}); },
      [](SimPort& port, W64& word) {
        std::uint64_t expected = 1;
        port.compare_exchange(word, expected, std::uint64_t{2});
        port.pause();
      },
  };
  for (const Poll poll : polls)
    for (const int pollers : {1, 2}) {
      const std::string text =
          deadlock_of(machine, one_a_core(machine, 3), [poll, pollers](SimPort& port, Bench& bench) {
            if (port.rank() >= pollers) return;
            while (port.load_acquire(bench.word(0)) == 0) poll(port, bench.word(0));
          });
      EXPECT_NE(text.find(std::to_string(pollers) + " of 3 ranks poll for ever"), std::string::npos) << text;
      EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
    }
}

TEST(Simulation, PollingForARankThatComesLateIsNoDeadlock) {
  const Machine machine = flat_chip();
  EXPECT_EQ(deadlock_of(machine, one_a_core(machine, 2),
                        [](SimPort& port, Bench& bench) {
                          if (port.rank() == 0) {
                            port.wait_until(30000000);
                            port.store_release(bench.word(0), std::uint64_t{1});
                          } else {
                            while (port.load_acquire(bench.word(0)) == 0) port.pause();
                          }
                        }),
            "no deadlock");
}

struct Boom {};

TEST(Simulation, WhatABodyThrowsComesOutAndNothingLeaks) {
  const Machine machine = flat_chip();
  int unwound = 0;
  struct Count {
    int* n;
    ~Count() { ++*n; }
  };
  {
    Bench bench(machine, one_a_core(machine, 4));
    EXPECT_THROW(bench.simulation.run([&](SimPort& port) {
      const Count count{&unwound};
      const std::vector<int> memory(1000, port.rank());  // a leak would show under AddressSanitizer
      if (port.rank() == 2) {
        port.wait_until(500);
        throw Boom();
      }
      port.wait(bench.word(0), equal(std::uint64_t{1}));
    }),
                 Boom);
    EXPECT_EQ(unwound, 1);
    EXPECT_THROW(bench.simulation.run([](SimPort&) {}), Error) << "ranks are still in the first run";
  }
  EXPECT_EQ(unwound, 4) << "the others' stacks are unwound with the simulation";
}

TEST(Simulation, AnAddressOutsideIsRefused) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 1));
  W64 elsewhere;
  EXPECT_THROW(bench.cost([&](SimPort& port) { port.load_relaxed(elsewhere); }), AssertionFailed);
}

TEST(Simulation, RanksAndPlacesThatTheMachineHasNotAreRefused) {
  const Machine machine = flat_chip(2);
  EXPECT_THROW(Simulation(machine, Shape::unknown(1), 64), ArgumentError);
  EXPECT_THROW(Simulation(machine, Shape(std::vector<CpuLocation>(9, machine.places()[0])), 64),
               ArgumentError);
  EXPECT_THROW(Simulation(machine, on_contexts(machine, {3, 3}), 64), ArgumentError);
  Bench bench(machine, one_a_core(machine, 1));
  EXPECT_THROW(bench.place(0, LineState::modified, {0, 1}), ArgumentError);
  EXPECT_THROW(bench.place(0, LineState::shared, {2}), ArgumentError);
}

TEST(Simulation, RunsFollowOneAnotherInTime) {
  const Machine machine = flat_chip();
  Bench bench(machine, one_a_core(machine, 3));
  Cycles before = 0;
  for (int run = 0; run < 5; ++run) {
    Cycles first = INT64_MAX, last = 0;
    bench.simulation.run([&](SimPort& port) {
      first = std::min(first, port.ticks());
      port.fetch_add(bench.word(0), std::uint64_t{1});
      for (int i = 0; i < 10 * port.rank(); ++i) port.load_relaxed(bench.word(0));
      last = std::max(last, port.ticks());
    });
    EXPECT_GE(first, before);
    before = last;
  }
  EXPECT_EQ(bench.word(0).atomic().load(), 15u);
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
