// Every barrier on simulated machines, in thousands of interleavings: nobody leaves an episode before all
// have entered it, what was written before it is seen after it, and nobody waits for ever. A seed draws the
// parameters of the algorithm, the machine's switches, places, start times, delays between the episodes and
// the order of what happens in one cycle.
//
// And what this test is worth: barriers that are broken on purpose, in ways in which barriers are broken in
// earnest, are found.
//
// PHICOLL_TEST_SEED: other draws. PHICOLL_TEST_LONG=1: many more (two minutes).

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "sim_testing.hpp"

namespace phicoll {

void PrintTo(const AlgorithmInfo& algorithm, std::ostream* out) {
  *out << algorithm.name;
}

namespace sim {
namespace {

using testing::anywhere;
using testing::chip;
using testing::from_environment;
using testing::random_chip;

using Barrier = std::function<void(SimPort&)>;
/// A rank's side; `memory` is zeroed.
using Maker = std::function<Barrier(const Setup&)>;

struct Unsafe : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Course {
  int episodes = 4;
  bool cells = true;     ///< also check that data written before is seen after
  Cycles longest = 600;  ///< between two episodes
};

/// Runs a barrier and throws Unsafe, DeadlockError or what the protocol's check finds.
void watch(const Machine& machine, const Shape& shape, std::size_t bytes, const Maker& make,
           const SimOptions& options, const Course& course) {
  const auto ranks = static_cast<std::size_t>(shape.size());
  const std::size_t cells = (bytes + 127) / 128 * 128;
  Simulation simulation(machine, shape, cells + ranks * 128, options);
  std::vector<Barrier> barriers;
  for (int r = 0; r < shape.size(); ++r) barriers.push_back(make(Setup{r, shape, simulation.memory()}));
  std::vector<int> entered(static_cast<std::size_t>(course.episodes));
  std::vector<Cycles> last_in(static_cast<std::size_t>(course.episodes));
  const auto cell = [&](std::size_t rank, int episode) -> Word<std::uint64_t>& {
    return *reinterpret_cast<Word<std::uint64_t>*>(simulation.memory() + cells + rank * 128 +
                                                   static_cast<std::size_t>(episode & 1) * 64);
  };
  simulation.run([&](SimPort& port) {
    const auto self = static_cast<std::size_t>(port.rank());
    Random random(mix_seed(options.seed, 11, self));
    for (int e = 0; e < course.episodes; ++e) {
      if (random.below(2) == 0)
        port.wait_until(port.ticks() +
                        static_cast<Cycles>(random.below(static_cast<std::uint64_t>(course.longest) + 1)));
      const auto at = static_cast<std::size_t>(e);
      const auto number = static_cast<std::uint64_t>(e) + 1;
      if (course.cells) port.store_relaxed(cell(self, e), number);
      ++entered[at];
      last_in[at] = std::max(last_in[at], port.ticks());
      barriers[self](port);
      const std::string who = "rank " + std::to_string(self) + " left episode " + std::to_string(e);
      if (entered[at] != shape.size() || port.ticks() < last_in[at])
        throw Unsafe(who + " when " + std::to_string(entered[at]) + " had entered");
      if (!course.cells) continue;
      for (std::size_t r = 0; r < ranks; ++r)
        if (port.load_relaxed(cell(r, e)) < number)
          throw Unsafe(who + " and does not see what rank " + std::to_string(r) + " wrote before");
    }
  });
}

/// One of the algorithm's variants: each parameter drawn, what it refuses drawn again.
AlgorithmSpec draw_spec(const AlgorithmInfo& algorithm, int ranks, Random& random) {
  for (;;) {
    std::string text = algorithm.name;
    for (const ParameterInfo& parameter : algorithm.parameters) {
      if (random.below(2) == 0) continue;
      text += ":" + parameter.name + "=";
      if (!parameter.choices.empty()) {
        text += parameter.choices[random.below(parameter.choices.size())];
      } else {
        const long most = std::min<long>(parameter.most, std::max<long>(parameter.least, ranks));
        text += std::to_string(
            parameter.least +
            static_cast<long>(random.below(static_cast<std::uint64_t>(most - parameter.least) + 1)));
      }
    }
    try {
      return family(Operation::barrier).parse(text);
    } catch (const ArgumentError&) {
    }
  }
}

SimOptions draw_options(std::uint64_t seed, Random& random) {
  SimOptions options;
  options.seed = seed;
  options.check = true;
  options.shuffle = true;
  options.start_skew = static_cast<Cycles>(random.below(4) == 0 ? 0 : 1 + random.below(2000));
  options.wait.kind = random.below(2) == 0 ? WaitPolicy::Kind::spin : WaitPolicy::Kind::pause;
  return options;
}

/// One interleaving of one variant of the algorithm; returns what was run.
void interleave(const AlgorithmInfo& algorithm, std::uint64_t seed, int ranks, bool random_machine) {
  Random random(mix_seed(seed, 21));
  const int cores = ranks > 9 ? 61 : 3 + static_cast<int>(random.below(7));
  const int contexts = std::max(1 + static_cast<int>(random.below(4)), (ranks + cores - 1) / cores);
  Machine machine = random_machine ? random_chip(cores, ranks > 9 ? 4 : contexts, random) : chip(cores);
  const AlgorithmSpec spec = draw_spec(algorithm, ranks, random);
  Shape shape = anywhere(machine, ranks, random);
  if (ranks > 9 || random.below(3) == 0)
    shape = place_ranks(ranks, machine.places(), static_cast<Placement>(random.below(3)));
  SimOptions options = draw_options(seed, random);
  Course course;
  course.cells = ranks <= 9;
  if (ranks > 9) course.episodes = 2;
  const AlgorithmSpec effective = family(Operation::barrier).effective(spec, shape);
  const std::string what =
      effective.text() + ", " + std::to_string(ranks) + " ranks, seed " + std::to_string(seed);
  SCOPED_TRACE(what);
  std::vector<std::unique_ptr<AnyCollective<SimPort>>> barriers;
  try {
    watch(
        machine, shape, family(Operation::barrier).footprint(effective, shape),
        [&](const Setup& setup) -> Barrier {
          barriers.push_back(make_collective<SimPort>(Operation::barrier, effective, setup));
          AnyCollective<SimPort>* const own = barriers.back().get();
          return [own](SimPort& port) { (*own)(port, Call()); };
        },
        options, course);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

class SimBarriers : public ::testing::TestWithParam<AlgorithmInfo> {};

TEST_P(SimBarriers, AreSafeInEveryInterleaving) {
  const std::uint64_t first = 10000000 * from_environment("PHICOLL_TEST_SEED", 1);
  for (std::uint64_t i = 0; i < testing::draws(600) && !HasFailure(); ++i)
    interleave(GetParam(), first + i, 2 + static_cast<int>(i % 8), i % 3 != 0);
}

TEST_P(SimBarriers, AreSafeOnTheWholeChip) {
  const std::uint64_t first = 20000000 * from_environment("PHICOLL_TEST_SEED", 1);
  interleave(GetParam(), first, 61, false);
  interleave(GetParam(), first + 1, 240, false);
  interleave(GetParam(), first + 2, 60 + static_cast<int>(GetParam().name.size() * 37 % 185), true);
}

TEST(SimBarriersLong, AreSafeInManyMore) {
  if (!testing::long_run()) GTEST_SKIP() << "PHICOLL_TEST_LONG=1 runs it";
  const auto seconds = testing::long_seconds();
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t i = 30000000 * from_environment("PHICOLL_TEST_SEED", 1);
  const std::uint64_t first = i;
  for (; !HasFailure(); ++i) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
    const int ranks = i % 50 == 0 ? 61 : i % 50 == 25 ? 240 : 2 + static_cast<int>(i % 8);
    for (const AlgorithmInfo& algorithm : family(Operation::barrier).algorithms())
      interleave(algorithm, i, ranks, i % 3 != 0);
  }
  std::printf("%llu interleavings of each barrier\n", static_cast<unsigned long long>(i - first));
}

INSTANTIATE_TEST_SUITE_P(All, SimBarriers, ::testing::ValuesIn(family(Operation::barrier).algorithms()),
                         [](const ::testing::TestParamInfo<AlgorithmInfo>& one) {
                           std::string name = one.param.name;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

// --- barriers that are broken on purpose -------------------------------------------------------------------

struct Line {
  Word<std::uint64_t> a, b;
  unsigned char rest[112];
};
static_assert(sizeof(Line) == 128, "no neighbours");

struct Self {
  int rank = 0;
  int size = 1;
  Line* lines = nullptr;
};

/// Dissemination that stops a round early: for more than two ranks somebody has not been heard of.
struct ShortDissemination {
  static constexpr const char* name = "dissemination without its last round";
  Self setup;
  int missing = 1;
  std::uint64_t episode = 0;
  void operator()(SimPort& port) {
    ++episode;
    const int n = setup.size;
    const int rounds = ceil_log(2, n);
    for (int round = 0; round + missing < rounds; ++round) {
      auto* const lines = setup.lines;
      port.signal(lines[(setup.rank + (1 << round)) % n * 8 + round].a, episode);
      port.wait(lines[setup.rank * 8 + round].a, at_least(episode));
    }
  }
};

/// Flags that are one bit and are not used in turn: the next episode's flag overtakes.
struct OneSetOfSenses {
  static constexpr const char* name = "dissemination by sense with one set of flags";
  Self setup;
  std::uint64_t episode = 0;
  void operator()(SimPort& port) {
    const std::uint64_t sense = ++episode & 1;
    const int n = setup.size;
    auto* const lines = setup.lines;
    for (int round = 0; round < ceil_log(2, n); ++round) {
      port.signal(lines[(setup.rank + (1 << round)) % n * 8 + round].a, sense);
      port.wait(lines[setup.rank * 8 + round].a, equal(sense));
    }
  }
};

/// The last arriver releases the others before it has reset the counter that they are about to count in.
struct EarlyRelease {
  static constexpr const char* name = "sense-reversing that releases before it resets";
  Self setup;
  bool early = true;
  std::uint64_t episode = 0;
  void operator()(SimPort& port) {
    const std::uint64_t sense = ++episode & 1;
    auto* const lines = setup.lines;
    if (port.fetch_add(lines[0].a, std::uint64_t{1}) + 1 != static_cast<std::uint64_t>(setup.size)) {
      port.wait(lines[1].a, equal(sense));
      return;
    }
    if (!early) port.store_relaxed(lines[0].a, std::uint64_t{0});
    port.signal(lines[1].a, sense);
    if (early) port.store_relaxed(lines[0].a, std::uint64_t{0});
  }
};

/// A counter that is read, increased and stored: two that come together count once.
struct CountsWithoutAtomics {
  static constexpr const char* name = "a counter without an atomic";
  Self setup;
  std::uint64_t episode = 0;
  void operator()(SimPort& port) {
    ++episode;
    auto& counter = setup.lines->a;
    port.store_release(counter, port.load_acquire(counter) + 1);
    port.wait(counter, at_least(episode * static_cast<std::uint64_t>(setup.size)));
  }
};

/// ramos-hoefler-2013 figure 4.3 as printed, for m = 2.
struct PrintedAcknowledged {
  static constexpr const char* name = "dissemination with acknowledgement as printed";
  Self setup;
  void operator()(SimPort& port) {
    constexpr int m = 2;
    const int n = setup.size;
    auto* const lines = setup.lines;
    Line& own = lines[setup.rank];
    std::uint64_t distance = 1;
    for (int round = 0; round < ceil_log(m, n); ++round, distance *= m + 1) {
      port.store_relaxed(own.b, std::uint64_t{0});
      port.store_release(own.a,
                         static_cast<std::uint64_t>(round) + 1);  // flags count from 1: memory is zeroed
      for (int i = 1; i <= m; ++i) {
        const int step = static_cast<int>(distance % static_cast<std::uint64_t>(n)) * i % n;
        Line& peer = lines[(setup.rank - step + n) % n];
        port.wait(peer.a, at_least(static_cast<std::uint64_t>(round) + 1));
        port.store_release(peer.b, port.load_acquire(peer.b) + 1);
      }
      port.wait(own.b, at_least(std::uint64_t{m}));
    }
  }
};

/// Rank 1 tells, and nobody listens.
struct ForgetsOneRank {
  static constexpr const char* name = "a central barrier that does not count one rank";
  Self setup;
  std::uint64_t episode = 0;
  void operator()(SimPort& port) {
    ++episode;
    auto* const lines = setup.lines;
    if (setup.rank == 0) {
      for (int r = 2; r < setup.size; ++r) port.wait(lines[r].a, at_least(episode));
      port.signal(lines[0].a, episode);
    } else {
      port.signal(lines[setup.rank].a, episode);
      port.wait(lines[0].a, at_least(episode));
    }
  }
};

struct Found {
  int unsafe = 0, stuck = 0, passed = 0;
  std::string first;
};

template <class Broken>
Found hunt(const Broken& broken, int seeds, Course course = Course()) {
  Found found;
  for (int i = 1; i <= seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    Random random(mix_seed(seed, 31));
    const int ranks = 3 + static_cast<int>(random.below(7));
    const Machine machine = random_chip(4 + static_cast<int>(random.below(6)), 4, random);
    SimOptions options = draw_options(seed, random);
    const Shape shape = anywhere(machine, ranks, random);
    course.episodes = 6;
    try {
      watch(
          machine, shape, 128 * 100,
          [&](const Setup& setup) -> Barrier {
            Broken own = broken;
            own.setup = Self{setup.rank, setup.shape.size(), setup.at<Line>(0)};
            return own;
          },
          options, course);
      ++found.passed;
    } catch (const Unsafe& error) {
      ++found.unsafe;
      if (found.first.empty()) found.first = "seed " + std::to_string(i) + ": " + error.what();
    } catch (const DeadlockError& error) {
      ++found.stuck;
      if (found.first.empty()) found.first = "seed " + std::to_string(i) + ": " + error.what();
    }
  }
  std::printf("%s: of %d interleavings %d unsafe, %d stuck; %s\n", Broken::name, seeds, found.unsafe,
              found.stuck, found.first.c_str());
  return found;
}

TEST(BrokenBarriers, AreFound) {
  EXPECT_GT(hunt(ShortDissemination{}, 100).unsafe, 50);
  const Found overtaken = hunt(OneSetOfSenses{}, 400);
  EXPECT_GT(overtaken.unsafe + overtaken.stuck, 0);
  // Few cycles lie between the two stores: only a sibling that comes again at once gets in between.
  const Course at_once{6, false, 0};
  const Found early = hunt(EarlyRelease{}, 2000, at_once);
  EXPECT_GT(early.unsafe + early.stuck, 0);
  EXPECT_GT(hunt(CountsWithoutAtomics{}, 100).stuck, 50);
  const Found printed = hunt(PrintedAcknowledged{}, 200);
  EXPECT_GT(printed.unsafe, 0) << "the last episode's flag passes at once";
  EXPECT_GT(printed.stuck, 0) << "increments are lost";
  EXPECT_GT(hunt(ForgetsOneRank{}, 100).unsafe, 10);
}

TEST(BrokenBarriers, TheirSoundTwinsPass) {
  ShortDissemination whole{};
  whole.missing = 0;
  EXPECT_EQ(hunt(whole, 200).passed, 200);
  EarlyRelease late{};
  late.early = false;
  EXPECT_EQ(hunt(late, 200).passed, 200);
  EXPECT_EQ(hunt(late, 2000, Course{6, false, 0}).passed, 2000);
}

TEST(BrokenBarriers, SimulateBarrierChecksEachEpisodeToo) {
  // simulate_collective runs registered barriers only, and all of these are sound: what it reports is looked
  // at.
  const Machine machine = chip(16);
  CollectiveOptions options;
  options.calls = 5;
  const Shape shape = place_ranks(24, machine.places(), Placement::balanced);
  for (const bool window : {false, true}) {
    options.window = window;
    options.simulation.start_skew = window ? 500 : 0;
    const CollectiveRun run = simulate_collective(
        machine, measure::Work(), simulated_algorithm(Operation::barrier, "dissemination"), shape, options);
    ASSERT_EQ(run.entry.size(), 24u * 5u);
    for (const Cycles time : run.times(window)) EXPECT_GT(time, 0);
    for (std::size_t e = 0; e < 5; ++e)
      for (std::size_t r = 0; r < 24; ++r) {
        EXPECT_GT(run.exit[e * 24 + r], run.entry[e * 24 + r]);
        EXPECT_GE(run.entry[e * 24 + r], e == 0 ? 0 : run.exit[(e - 1) * 24 + r]);
      }
  }
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
