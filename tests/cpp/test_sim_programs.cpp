// Random programs on random machines, against what total store order allows.
//
// Every rank runs a program drawn from a seed: loads and stores of all sizes and policies, atomics, copies,
// evictions, prefetches, and waits that are sure to end. The simulation also checks its own protocol
// (SimOptions::check): one owner or many sharers at every change, and at the end nothing busy, under way or
// leaked, and directories that know exactly what is where.
//
// PHICOLL_TEST_SEED: another sequence. PHICOLL_TEST_LONG=1: many more (two minutes).

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "sim_testing.hpp"

// Words have one writer each and only grow (or are atomics), and every value carries what its writer knew
// when it stored it: a rank that obtains the value must from then on see all of that; atomics pass it on
// likewise. So the test needs no model of the machine: a value older than what the rank has heard of, a lost
// store, a torn line, an update that two ranks both won, all show. What a fence has made visible by some
// cycle, every load that begins later must see: nobody runs ahead of the clock.
namespace phicoll {
namespace sim {
namespace {

using testing::anywhere;
using testing::from_environment;
using testing::random_chip;

/// What a rank must at least see of each word from now on.
using Knowledge = std::vector<std::uint32_t>;

/// A word with one writer, which stores 1, 2, 3, ...
struct Cell {
  std::size_t offset;
  unsigned bytes;  // 64: a line that is stored whole
  int writer;
  std::uint32_t stored = 0;          // by the program, visible or not
  std::vector<Knowledge> knowledge;  // of the writer, at each store
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Program {
 public:
  Program(std::uint64_t seed, int ranks, int steps) : seed_(seed), ranks_(ranks), steps_(steps) {
    Random random(mix_seed(seed, 1));
    // The words: in few lines, so that writers of different ranks share them; some lines stored whole.
    const int lines = 1 + static_cast<int>(random.below(6));
    std::size_t at = 0;
    for (int line = 0; line < lines; ++line) {
      for (std::size_t offset = 0; offset < 64;) {
        const unsigned bytes = 1u << random.below(4);
        offset = (offset + bytes - 1) / bytes * bytes;
        if (offset >= 64) break;
        if (random.below(3) == 0 || offset == 0)
          cells_.push_back(Cell{at + offset, bytes, any_of(random), 0, {}});
        offset += bytes;
      }
      at += 64;
    }
    for (std::uint64_t i = random.below(4); i > 0; --i, at += 64)
      cells_.push_back(Cell{at, 64, any_of(random), 0, {}});
    // A progress word for each rank, packed or a line each: what waits look at.
    const std::size_t apart = random.below(2) == 0 ? 4 : 64;
    progress_ = cells_.size();
    for (int r = 0; r < ranks; ++r, at += apart) cells_.push_back(Cell{at, 4, r, 0, {}});
    at = (at + 63) / 64 * 64;
    for (Cell& cell : cells_) cell.knowledge.push_back(Knowledge());
    counters_ = at;
    at += 3 * 64;
    // A few lines for each rank alone, as far as values go: neighbours may read them, evict them, prefetch.
    scratch_ = at;
    at += static_cast<std::size_t>(ranks) * scratch_bytes;
    far_ = at;  // only touched, to fill the caches
    at += 64 * 64;
    bytes_ = at;
  }

  std::size_t bytes() const { return bytes_; }

  void run(Simulation& simulation) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    known_.assign(ranks, Knowledge(cells_.size(), 0));
    taken_.assign(3, {});
    handed_on_.assign(2, {});
    fenced_.assign(cells_.size(), {});
    looks_.clear();
    shadow_.assign(ranks, std::vector<unsigned char>(scratch_bytes, 0));
    simulation.run([&](SimPort& port) {
      Random random(mix_seed(seed_, 2, static_cast<std::uint64_t>(port.rank())));
      for (int step = 1; step <= steps_; ++step) {
        store(port, simulation, progress_ + static_cast<std::size_t>(port.rank()), random);
        for (std::uint64_t i = random.below(12); i > 0; --i) operate(port, simulation, random, step);
      }
    });
    finish(simulation);
  }

 private:
  static constexpr std::size_t scratch_bytes = 3 * 64;

  int any_of(Random& random) const {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(ranks_)));
  }

  [[noreturn]] void fail(const SimPort& port, const std::string& what) const {
    throw Failure("rank " + std::to_string(port.rank()) + " at cycle " + std::to_string(port.ticks()) + ": " +
                  what);
  }

  /// The rank obtained `value` of the word: at least what it knew of, not more than was stored, and now it
  /// knows what the writer knew.
  void obtained(SimPort& port, std::size_t index, std::uint64_t value) {
    Knowledge& known = known_[static_cast<std::size_t>(port.rank())];
    const Cell& cell = cells_[index];
    const std::string name = "word " + std::to_string(index) + " of " + std::to_string(cell.bytes) +
                             " bytes of rank " + std::to_string(cell.writer);
    if (value < known[index])
      fail(port, name + " is " + std::to_string(value) + " after " + std::to_string(known[index]));
    if (value > cell.stored) fail(port, name + " is " + std::to_string(value) + ", which nobody stored");
    if (cell.writer == port.rank() && value != cell.stored)
      fail(port, name + " is " + std::to_string(value) + " after its own " + std::to_string(cell.stored));
    known[index] = static_cast<std::uint32_t>(value);
    const Knowledge& writers = cell.knowledge[value];
    for (std::size_t i = 0; i < writers.size(); ++i) known[i] = std::max(known[i], writers[i]);
  }

  template <class T>
  static Word<T>& word(Simulation& simulation, std::size_t offset) {
    return *reinterpret_cast<Word<T>*>(simulation.memory() + offset);
  }

  void store(SimPort& port, Simulation& simulation, std::size_t index, Random& random) {
    Cell& cell = cells_[index];
    if (cell.bytes == 1 && cell.stored == 255) return;
    const std::uint32_t value = ++cell.stored;
    Knowledge& known = known_[static_cast<std::size_t>(port.rank())];
    known[index] = value;
    cell.knowledge.push_back(known);
    switch (cell.bytes) {
      case 1:
        return port.store_relaxed(word<std::uint8_t>(simulation, cell.offset),
                                  static_cast<std::uint8_t>(value));
      case 2:
        return port.signal(word<std::uint16_t>(simulation, cell.offset), static_cast<std::uint16_t>(value));
      case 4:
        return port.store_release(word<std::uint32_t>(simulation, cell.offset), value);
      case 8:
        return port.signal(word<std::uint64_t>(simulation, cell.offset), std::uint64_t{value});
      default:
        break;
    }
    std::uint64_t image[8];
    std::fill(image, image + 8, value);
    const StorePolicy policies[] = {StorePolicy::plain, StorePolicy::no_read, StorePolicy::no_read_unordered};
    port.store_line(simulation.memory() + cell.offset, image, policies[random.below(3)]);
  }

  void load(SimPort& port, Simulation& simulation, std::size_t index) {
    looks_.push_back(Look{index, port.ticks(), 0});
    const std::size_t look = looks_.size() - 1;
    load_value(port, simulation, index);
    looks_[look].value = known_[static_cast<std::size_t>(port.rank())][index];
  }

  void fence(SimPort& port) {
    port.fence();
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i].writer == port.rank()) fenced_[i].push_back(Look{i, port.ticks(), cells_[i].stored});
  }

  void load_value(SimPort& port, Simulation& simulation, std::size_t index) {
    const Cell& cell = cells_[index];
    switch (cell.bytes) {
      case 1:
        return obtained(port, index, port.load_acquire(word<std::uint8_t>(simulation, cell.offset)));
      case 2:
        return obtained(port, index, port.load_acquire(word<std::uint16_t>(simulation, cell.offset)));
      case 4:
        return obtained(port, index, port.load_relaxed(word<std::uint32_t>(simulation, cell.offset)));
      case 8:
        return obtained(port, index, port.load_acquire(word<std::uint64_t>(simulation, cell.offset)));
      default:
        break;
    }
    std::uint64_t image[8];
    port.load_line(simulation.memory() + cell.offset, image);
    for (const std::uint64_t one : image)
      if (one != image[0]) fail(port, "line " + std::to_string(index) + " is torn");
    obtained(port, index, image[0]);
  }

  void operate(SimPort& port, Simulation& simulation, Random& random, int step) {
    const auto rank = static_cast<std::size_t>(port.rank());
    const auto any_cell = [&] { return static_cast<std::size_t>(random.below(progress_)); };
    const auto any_place = [&] { return simulation.memory() + random.below(bytes_); };
    switch (random.below(14)) {
      case 0:
      case 1:
      case 2:
        return load(port, simulation, any_cell());
      case 3:
      case 4:
      case 5: {
        // One of the rank's own words, if the draw finds one.
        for (int tries = 0; tries < 4; ++tries) {
          const std::size_t index = any_cell();
          if (cells_[index].writer == port.rank()) return store(port, simulation, index, random);
        }
        return;
      }
      case 6: {
        // A rank that is behind in its program: it reaches every step without this rank's help.
        const auto other = static_cast<std::size_t>(any_of(random));
        const auto least = 1 + static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(step)));
        const std::size_t index = progress_ + other;
        auto& progress = word<std::uint32_t>(simulation, cells_[index].offset);
        const std::uint32_t seen = port.wait(progress, at_least(least));
        if (seen < least) fail(port, "a wait ended early");
        return obtained(port, index, seen);
      }
      case 7:
        return atomic(port, simulation, random);
      case 8:
        return scratch(port, simulation, random);
      case 9: {  // a line of somebody, whole words of which are checked in the copy
        const std::size_t index = any_cell();
        const Cell& cell = cells_[index];
        unsigned char* const own = simulation.memory() + scratch_ + rank * scratch_bytes;
        const std::size_t line = cell.offset / 64 * 64;
        port.copy(own, simulation.memory() + line, 64);
        std::memset(shadow_[rank].data(), 0, 64);
        std::uint64_t value = 0;
        port.load_line(own, shadow_[rank].data());
        std::memcpy(&value, shadow_[rank].data() + (cell.offset - line),
                    std::min<std::size_t>(cell.bytes, 8));
        return obtained(port, index, value);
      }
      case 10:
        return random.below(2) == 0 ? port.evict(any_place()) : port.prefetch(any_place());
      case 11:
        return random.below(3) != 0   ? fence(port)
               : random.below(2) == 0 ? port.pause()
                                      : touch(port, simulation, random);
      case 12:
        return port.wait_until(port.ticks() +
                               static_cast<std::int64_t>(random.below(random.below(4) == 0 ? 5000 : 60)));
      default: {
        // Two words of one program, one after the other: total store order fixes their order.
        const std::size_t first = any_cell(), second = any_cell();
        load(port, simulation, first);
        return load(port, simulation, second);
      }
    }
  }

  void touch(SimPort& port, Simulation& simulation, Random& random) {
    const std::size_t first = random.below(60);
    for (std::size_t i = 0; i < 1 + random.below(8) && first + i < 64; ++i)
      port.load_relaxed(word<std::uint64_t>(simulation, far_ + (first + i) * 64));
  }

  /// Tickets: everyone gets another one, in growing order.
  void atomic(SimPort& port, Simulation& simulation, Random& random) {
    const auto which = static_cast<std::size_t>(random.below(3));
    if (which == 0) {
      auto& counter = word<std::uint16_t>(simulation, counters_ + 2);
      const std::uint64_t ticket = port.fetch_add(counter, std::uint16_t{1});
      hand_on(port, which, ticket);
      return take(port, which, ticket);
    }
    auto& counter = word<std::uint64_t>(simulation, counters_ + which * 64);
    if (which == 1) {
      std::uint64_t expected = port.load_acquire(counter);
      while (!port.compare_exchange(counter, expected, expected + 1)) {
      }
      hand_on(port, which, expected);
      return take(port, which, expected);
    }
    // A mark of its own: what was exchanged out comes back exactly once.
    const std::uint64_t mark = 1 + (static_cast<std::uint64_t>(port.rank()) << 32) + marks_++;
    marked_.push_back(mark);
    take(port, which, port.exchange(counter, mark));
  }
  /// A rank that takes a ticket knows what the ranks that took earlier ones knew.
  void hand_on(SimPort& port, std::size_t which, std::uint64_t ticket) {
    std::vector<Knowledge>& all = handed_on_[which];
    if (ticket != all.size()) fail(port, "ticket " + std::to_string(ticket) + " came out of turn");
    Knowledge& known = known_[static_cast<std::size_t>(port.rank())];
    if (ticket > 0)
      for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], all.back()[i]);
    all.push_back(known);
  }
  void take(SimPort& port, std::size_t which, std::uint64_t ticket) {
    if (++taken_[which][ticket] > 1)
      fail(port,
           "ticket " + std::to_string(ticket) + " of counter " + std::to_string(which) + " was taken twice");
  }

  /// Loads and stores of all sizes, over each other, in lines whose values are the rank's own.
  void scratch(SimPort& port, Simulation& simulation, Random& random) {
    const auto rank = static_cast<std::size_t>(port.rank());
    const std::size_t base = scratch_ + rank * scratch_bytes;
    std::vector<unsigned char>& shadow = shadow_[rank];
    for (int i = 0; i < 6; ++i) {
      const unsigned bytes = 1u << random.below(4);
      const std::size_t line = random.below(scratch_bytes / 64) * 64;
      const std::size_t offset = line + random.below(std::min<std::uint64_t>(24, 64) / bytes) * bytes;
      const std::uint64_t value = random.next() >> (64 - 8 * bytes);
      std::uint64_t seen = 0, expected = 0;
      std::memcpy(&expected, &shadow[offset], bytes);
      if (random.below(2) == 0) {
        std::memcpy(&shadow[offset], &value, bytes);
        if (bytes == 1)
          port.store_relaxed(word<std::uint8_t>(simulation, base + offset), static_cast<std::uint8_t>(value));
        if (bytes == 2)
          port.store_relaxed(word<std::uint16_t>(simulation, base + offset),
                             static_cast<std::uint16_t>(value));
        if (bytes == 4)
          port.store_relaxed(word<std::uint32_t>(simulation, base + offset),
                             static_cast<std::uint32_t>(value));
        if (bytes == 8) port.store_relaxed(word<std::uint64_t>(simulation, base + offset), value);
        continue;
      }
      if (bytes == 1) seen = port.load_relaxed(word<std::uint8_t>(simulation, base + offset));
      if (bytes == 2) seen = port.load_relaxed(word<std::uint16_t>(simulation, base + offset));
      if (bytes == 4) seen = port.load_relaxed(word<std::uint32_t>(simulation, base + offset));
      if (bytes == 8) seen = port.load_relaxed(word<std::uint64_t>(simulation, base + offset));
      if (seen != expected)
        fail(port, "its own word is " + std::to_string(seen) + " instead of " + std::to_string(expected));
    }
  }

  /// What is in memory when all is over.
  void finish(Simulation& simulation) {
    for (const Cell& cell : cells_) {
      std::uint64_t value = 0;
      std::memcpy(&value, simulation.memory() + cell.offset, std::min(cell.bytes, 8u));
      if (value != cell.stored)
        throw Failure("a store was lost: " + std::to_string(value) + " of " + std::to_string(cell.stored));
    }
    for (std::size_t r = 0; r < shadow_.size(); ++r)
      if (std::memcmp(simulation.memory() + scratch_ + r * scratch_bytes, shadow_[r].data(), scratch_bytes) !=
          0)
        throw Failure("rank " + std::to_string(r) + "'s own lines are not what it stored");
    for (const Look& look : looks_)
      for (const Look& fence : fenced_[look.index])
        if (fence.time <= look.time && fence.value > look.value)
          throw Failure("a load at cycle " + std::to_string(look.time) + " found " +
                        std::to_string(look.value) + " in word " + std::to_string(look.index) + ", but " +
                        std::to_string(fence.value) + " was visible at cycle " + std::to_string(fence.time));
    std::uint16_t tickets = 0;
    std::memcpy(&tickets, simulation.memory() + counters_ + 2, 2);
    if (tickets != taken_[0].size()) throw Failure("tickets of counter 0 were lost");
    std::uint64_t last = 0;
    std::memcpy(&last, simulation.memory() + counters_ + 64, 8);
    if (last != taken_[1].size()) throw Failure("tickets of counter 1 were lost");
    std::memcpy(&last, simulation.memory() + counters_ + 128, 8);
    if (!marked_.empty()) ++taken_[2][last];
    if (taken_[2].size() != marked_.size() + (marked_.empty() ? 0 : 1)) throw Failure("a mark was lost");
  }

  std::uint64_t seed_;
  int ranks_, steps_;
  std::vector<Cell> cells_;
  std::size_t progress_ = 0, counters_ = 0, scratch_ = 0, far_ = 0, bytes_ = 0;
  std::vector<Knowledge> known_;
  struct Look {
    std::size_t index;
    Cycles time;
    std::uint32_t value;
  };
  std::vector<Look> looks_;                        // when each load began, and what it found
  std::vector<std::vector<Look>> fenced_;          // what was visible when, of each word
  std::vector<std::vector<Knowledge>> handed_on_;  // of each counter, ticket by ticket
  std::vector<std::map<std::uint64_t, int>> taken_;
  std::vector<std::vector<unsigned char>> shadow_;
  std::vector<std::uint64_t> marked_;
  std::uint64_t marks_ = 0;
};

struct Drawn {
  int ranks = 0;
  std::uint64_t events = 0;
  std::int64_t evictions = 0, upgrades = 0, stolen = 0, merged = 0;
};

/// One program of one seed on a machine of the same seed.
Drawn run_seed(std::uint64_t seed) {
  Random random(mix_seed(seed, 7));
  const bool many = random.below(60) == 0;
  const int cores = many ? 61 : 2 + static_cast<int>(random.below(7));
  const int contexts = 1 + static_cast<int>(random.below(4));
  const Machine machine = random_chip(cores, many ? 4 : contexts, random);
  const int most = std::min(machine.contexts(), many ? 244 : 16);
  const int ranks = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(most) - 1));
  Program program(seed, ranks, many ? 3 : 2 + static_cast<int>(random.below(30)));
  SimOptions options;
  options.seed = seed;
  options.check = true;
  options.shuffle = random.below(2) == 0;
  options.start_skew = random.below(2) == 0 ? 0 : static_cast<Cycles>(1 + random.below(3000));
  options.wait.kind = random.below(2) == 0 ? WaitPolicy::Kind::spin : WaitPolicy::Kind::pause;
  options.wait.pauses = 1 + static_cast<unsigned>(random.below(3));
  options.log = random.below(8) == 0;
  options.elide = random.below(8) != 0;
  Simulation simulation(machine, anywhere(machine, ranks, random), program.bytes(), options);
  program.run(simulation);
  const Counters& c = simulation.counters();
  return Drawn{ranks, c.events, c.evictions, c.upgrades, c.stolen, c.merged};
}

void run_seeds(std::uint64_t first, std::uint64_t most, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  Drawn sum;
  std::uint64_t seed = first;
  int failures = 0;
  for (; seed < first + most; ++seed) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
    try {
      const Drawn one = run_seed(seed);
      sum.ranks = std::max(sum.ranks, one.ranks);
      sum.events += one.events;
      sum.evictions += one.evictions;
      sum.upgrades += one.upgrades;
      sum.stolen += one.stolen;
      sum.merged += one.merged;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what();
      if (++failures == 10) break;
    }
  }
  std::printf(
      "%llu programs from seed %llu, up to %d ranks: %llu events, %lld evictions, %lld upgrades, %lld "
      "stolen, %lld merged\n",
      static_cast<unsigned long long>(seed - first), static_cast<unsigned long long>(first), sum.ranks,
      static_cast<unsigned long long>(sum.events), static_cast<long long>(sum.evictions),
      static_cast<long long>(sum.upgrades), static_cast<long long>(sum.stolen),
      static_cast<long long>(sum.merged));
  EXPECT_GT(sum.evictions, 0);
  EXPECT_GT(sum.upgrades, 0);
  EXPECT_GT(sum.stolen, 0);
  EXPECT_GT(sum.merged, 0);
}

TEST(SimPrograms, SeeOnlyWhatTotalStoreOrderAllows) {
  run_seeds(from_environment("PHICOLL_TEST_SEED", 1), testing::draws(600), 1e9);
}

TEST(SimPrograms, ManyMoreOfThem) {
  if (!testing::long_run()) GTEST_SKIP() << "PHICOLL_TEST_LONG=1 runs it";
  run_seeds(1000000 * from_environment("PHICOLL_TEST_SEED", 1), UINT64_MAX / 2, testing::long_seconds());
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
