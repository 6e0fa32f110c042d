// No rank leaves a barrier before all have entered it: every algorithm, its parameters, wait and store
// policies, threads and processes, rank counts, placements and orders of arrival.
//
// By default a pairwise covering array of these for each algorithm. PHICOLL_TEST_LONG=1 takes more episodes a
// case and adds the full matrix: every parameter value at every rank count, under every wait policy, by
// threads and by processes, some 30,000 cases in an order drawn from PHICOLL_TEST_SEED, which is printed,
// until PHICOLL_TEST_BUDGET_S seconds are over (0: to its end). PHICOLL_TEST_EPISODES, where a machine is
// slow, sets the episodes of a usual case.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pairwise.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/membarrier.hpp"

// Before a rank enters episode e it writes e into its own cell, one of two used in turn; when it has left the
// episode it reads the cells of all. A cell of episode e is written again for episode e+2, after a barrier
// that every reader enters only when it has read. So plain memory does, an older number shows a rank that
// left too early, and ThreadSanitizer sees a missing edge even where the timing was lucky.
namespace phicoll {

void PrintTo(const AlgorithmInfo& algorithm, std::ostream* out) {
  *out << algorithm.name;
}

namespace {

using testing::Pairwise;
using testing::Random;
using testing::Row;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

bool long_run() {
  return from_environment("PHICOLL_TEST_LONG", 0) == 1;
}

constexpr std::uint64_t long_episodes = sanitized ? 100 : 1000;
// A wrong address shows in the first episodes, a race in some.
constexpr std::uint64_t short_episodes = thread_sanitizer ? 30 : sanitized ? 10 : 300;
const int usual_episodes =
    static_cast<int>(from_environment("PHICOLL_TEST_EPISODES", long_run() ? long_episodes : short_episodes));
// Ranks that share a CPU and never give it away take a time slice for every step.
constexpr int spinning_episodes = sanitized ? 5 : 20;

std::uint64_t seed() {
  return from_environment("PHICOLL_TEST_SEED", 20150824);
}

enum class Mode { threads, processes };
/// ThreadSanitizer sees no race between processes: each has its own record of who accessed what. Under
/// AddressSanitizer forks take most of the time, and threads run the same code: only the long run forks
/// there.
const std::vector<Mode> modes = thread_sanitizer || (sanitized && !long_run())
                                    ? std::vector<Mode>{Mode::threads}
                                    : std::vector<Mode>{Mode::threads, Mode::processes};
// made_up: threads that are told they sit on a machine of 16 cores with 4 contexts, wherever they run.
enum class Where { anywhere, compact, scatter, one_cpu, made_up };
enum class Order { free, ascending, descending, one_late };
// remade: two barriers, one of which is given back and made again on the way.
enum class Barriers { one, two_alike, two_kinds, remade };

const char* const mode_names[] = {"threads", "processes"};
const char* const where_names[] = {"anywhere", "compact", "scatter", "one-cpu", "made-up"};
const char* const order_names[] = {"free", "ascending", "descending", "one-late"};
const char* const barriers_names[] = {"one", "two-alike", "two-kinds", "remade"};
const std::vector<std::string> wait_names = {"adaptive", "yield", "spin", "pause(20)"};

std::vector<int> rank_counts() {
  std::vector<int> counts;
  for (int n = 1; n <= 17; ++n) counts.push_back(n);
  counts.push_back(31);
  counts.push_back(64);
  return counts;
}

struct Case {
  std::string barrier;
  int ranks = 1;
  std::string wait = "adaptive";
  Mode mode = Mode::threads;
  Where where = Where::anywhere;
  Order order = Order::free;
  Barriers barriers = Barriers::one;
  int episodes = usual_episodes;
  std::uint64_t seed = 0;

  std::string text() const {
    return barrier + " ranks=" + std::to_string(ranks) + " wait=" + wait + " " +
           mode_names[static_cast<int>(mode)] + " where=" + where_names[static_cast<int>(where)] +
           " order=" + order_names[static_cast<int>(order)] +
           " barriers=" + barriers_names[static_cast<int>(barriers)] +
           " episodes=" + std::to_string(episodes) + " seed=" + std::to_string(seed);
  }
};

bool never_yields(const std::string& wait) {
  return wait != "adaptive" && wait != "yield";
}

/// Asked once: the array below asks 70,000 times, and each answer reads the container's quota from files,
/// which took 30 s under ThreadSanitizer.
int cpu_count() {
  static const int count = os::allowed_cpu_count();
  return count;
}

/// Or may share one: where the system places them, a busy machine puts two on one CPU.
bool ranks_share_a_cpu(int ranks, Where where) {
  const bool pinned_apart = where == Where::compact || where == Where::scatter;
  return ranks > cpu_count() || (ranks > 1 && !pinned_apart);
}

int episodes_for(int ranks, Where where, const std::string& wait) {
  return never_yields(wait) && ranks_share_a_cpu(ranks, where) ? spinning_episodes : usual_episodes;
}

/// Memory that threads and forked processes share, zeroed.
class Cells {
 public:
  struct alignas(128) Cell {
    std::uint64_t entered[2];              // plain on purpose, see above
    std::atomic<std::uint64_t> coming{0};  // relaxed on purpose: orders arrivals, hands nothing on
  };
  explicit Cells(int ranks) : bytes_(static_cast<std::size_t>(ranks) * sizeof(Cell)), ranks_(ranks) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the cells");
    cells_ = static_cast<Cell*>(memory);
  }
  ~Cells() { munmap(cells_, bytes_); }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;
  Cell& operator[](int rank) const { return cells_[rank]; }
  int ranks() const { return ranks_; }

 private:
  std::size_t bytes_;
  int ranks_;
  Cell* cells_;
};

/// What one rank does before it enters an episode: nothing mostly, now and then a delay, and now and then it
/// comes in its place of an order.
class Arrival {
 public:
  Arrival(const Case& test, const Cells& cells, int rank)
      : test_(test), cells_(cells), rank_(rank), own_(test.seed * 1024 + static_cast<unsigned>(rank)) {}

  /// `common` is the same on all ranks.
  void before(Communicator& communicator, std::uint64_t episode, std::uint64_t common) {
    delay();
    if (test_.order == Order::free || (episode > 4 && episode % 16 != 0)) return;
    const int n = test_.ranks;
    const int late = static_cast<int>((common >> 8) % static_cast<std::uint64_t>(n));
    switch (test_.order) {
      case Order::ascending:
        if (rank_ > 0) await(communicator, rank_ - 1, episode);
        break;
      case Order::descending:
        if (rank_ < n - 1) await(communicator, rank_ + 1, episode);
        break;
      default:
        if (rank_ == late)
          for (int q = 0; q < n; ++q)
            if (q != rank_) await(communicator, q, episode);
        break;
    }
  }

 private:
  void await(Communicator& communicator, int rank, std::uint64_t episode) const {
    while (cells_[rank].coming.load(std::memory_order_relaxed) < episode) {
      if (communicator.control().broken()) throw std::runtime_error("a peer broke the group");
      sched_yield();
    }
  }

  void delay() {
    const std::uint64_t draw = own_.next();
    const int kind = static_cast<int>(draw % 64);
    const int amount = static_cast<int>(draw >> 8) & 127;
    if (kind < 8) {
      for (int i = 0; i < amount; ++i) arch::pause();
    } else if (kind < 10) {
      for (int i = 0; i < amount % 3 + 1; ++i) sched_yield();
    } else if (kind == 10 && amount == 0) {
      usleep(50);
    }
  }

  const Case& test_;
  const Cells& cells_;
  int rank_;
  Random own_;
};

void run_rank(Communicator& communicator, const Case& test, const Cells& cells, std::uint64_t tag) {
  const int rank = communicator.rank();
  Random common(test.seed);
  Arrival arrival(test, cells, rank);
  // The wait policy comes with the group, or with the barrier.
  const std::string spec = test.seed % 2 == 0 ? test.barrier : test.barrier + ":wait=" + test.wait;
  std::unique_ptr<Barrier> first(new Barrier(communicator, spec));
  std::unique_ptr<Barrier> second;
  if (test.barriers != Barriers::one)
    second.reset(new Barrier(communicator,
                             test.barriers == Barriers::two_kinds ? "sense-reversing:reset=sense" : spec));

  for (std::uint64_t episode = 1; episode <= static_cast<std::uint64_t>(test.episodes); ++episode) {
    const std::uint64_t draw = common.next();
    if (test.barriers == Barriers::remade && episode % 256 == 10) {
      first.reset();
      first.reset(new Barrier(communicator, spec));
    }
    // In no fixed turn: also twice the same in a row.
    Barrier& barrier = second && (draw & 1) != 0 ? *second : *first;
    arrival.before(communicator, episode, draw);
    cells[rank].coming.store(episode, std::memory_order_relaxed);
    cells[rank].entered[episode % 2] = tag + episode;
    barrier.wait();
    for (int q = 0; q < cells.ranks(); ++q) {
      const std::uint64_t seen = cells[q].entered[episode % 2];
      if (seen != tag + episode)
        throw std::runtime_error("rank " + std::to_string(rank) + " left episode " + std::to_string(episode) +
                                 " before rank " + std::to_string(q) + " entered it (its cell holds " +
                                 std::to_string(seen) + ")");
    }
  }
}

/// Threads that believe in a shape that this machine does not have.
void run_made_up(const Case& test, const GroupOptions& options, const Shape& shape,
                 const std::function<void(Communicator&)>& function) {
  os::register_membarrier();
  const std::size_t bytes = GroupLayout::total(options.memory_limit);
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::runtime_error("no memory for the group");
  const GroupMemory memory = GroupLayout::at(base, options.memory_limit);
  memory.control->configure(test.ranks, false, cpu_count(), options.timeout_ms * 1000000);
  for (int r = 0; r < test.ranks; ++r) memory.control->set_cpu(r, -1);
  std::mutex mutex;
  std::exception_ptr cause;
  std::vector<std::thread> threads;
  for (int r = 0; r < test.ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        Communicator communicator(memory, r, shape, options.wait);
        function(communicator);
      } catch (const std::exception& error) {
        {
          const std::lock_guard<std::mutex> lock(mutex);
          if (!cause) cause = std::current_exception();
        }
        memory.control->break_group(r, error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  munmap(base, bytes);
  if (cause) std::rethrow_exception(cause);
}

/// Throws what a rank threw first.
void run_case(const Case& test) {
  GroupOptions options;
  options.wait = parse_wait_policy(test.wait);
  options.memory_limit = std::size_t{16} << 20;
  options.timeout_ms = 60000;  // of a single wait: far beyond any, so that a hang ends
  if (test.where == Where::compact) options.placement = "compact";
  if (test.where == Where::scatter) options.placement = "scatter";
  if (test.where == Where::one_cpu) options.placement = std::to_string(os::allowed_cpus().back());
  const Cells cells(test.ranks);
  const std::uint64_t tag = test.seed << 32;
  const auto function = [&](Communicator& communicator) { run_rank(communicator, test, cells, tag); };
  if (test.where == Where::made_up) {
    run_made_up(test, options, place_ranks(test.ranks, uniform_machine(16, 4), Placement::balanced),
                function);
  } else if (test.mode == Mode::threads) {
    ThreadGroup(test.ranks, options).run(function);
  } else {
    fork_and_run(test.ranks, options, function);
  }
}

/// The values of a parameter that are worth a case: every choice; of an integer the ends, the default and a
/// few between, so that powers of two and others, useful and larger than useful values occur.
std::vector<std::string> values_of(const ParameterInfo& parameter) {
  if (!parameter.choices.empty()) return parameter.choices;
  std::vector<std::string> values{parameter.default_value};
  for (long number : {parameter.least, parameter.least + 1, 3l, 8l, parameter.most}) {
    if (number < parameter.least || number > parameter.most) continue;
    const std::string text = std::to_string(number);
    if (std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
  }
  return values;
}

bool accepted(const std::string& barrier) {
  try {
    family(Operation::barrier).parse(barrier);
    return true;
  } catch (const ArgumentError&) {
    return false;
  }
}

/// An algorithm with values of its parameters such that every two values of two parameters meet in one of
/// the lines, where the algorithm takes them together.
std::vector<std::string> with_parameters(const AlgorithmInfo& algorithm) {
  std::vector<std::vector<std::string>> values;
  std::vector<int> sizes;
  for (const ParameterInfo& parameter : algorithm.parameters) {
    values.push_back(values_of(parameter));
    sizes.push_back(static_cast<int>(values.back().size()));
  }
  const auto text = [&](const Row& row) {
    std::string barrier = algorithm.name;
    for (std::size_t i = 0; i < values.size(); ++i)
      barrier += ":" + algorithm.parameters[i].name + "=" + values[i][static_cast<std::size_t>(row[i])];
    return barrier;
  };
  std::vector<std::string> barriers{algorithm.name};
  if (sizes.size() == 1) {
    for (int i = 0; i < sizes[0]; ++i) barriers.push_back(text({i}));
  } else if (sizes.size() > 1) {
    const Pairwise array(
        sizes, [&](const Row& row) { return accepted(text(row)); }, seed());
    for (const Row& row : array.rows()) barriers.push_back(text(row));
  }
  return barriers;
}

/// Algorithm, ranks, wait policy, threads or processes, placement, order of arrival and number of barriers:
/// every two values of two of them meet. An algorithm's parameter lines are dealt to its rows in turn; it has
/// at least a row for each rank count, 1 to 17 and, algorithms by turns, 31 or 64.
const std::vector<Case>& pairwise_cases(int& dropped) {
  static int refused = 0;
  static const std::vector<Case> cases = [] {
    const std::vector<AlgorithmInfo>& algorithms = family(Operation::barrier).algorithms();
    constexpr int counts = 18;
    const auto to_case = [&](const Row& row) {
      Case test;
      test.barrier = algorithms[static_cast<std::size_t>(row[0])].name;
      test.ranks = row[1] < 17 ? row[1] + 1 : row[0] % 2 == 0 ? 31 : 64;
      test.wait = wait_names[static_cast<std::size_t>(row[2])];
      test.mode = modes[static_cast<std::size_t>(row[3])];
      test.where = static_cast<Where>(row[4]);
      test.order = static_cast<Order>(row[5]);
      test.barriers = static_cast<Barriers>(row[6]);
      test.episodes = episodes_for(test.ranks, test.where, test.wait);
      return test;
    };
    const Pairwise array(
        {static_cast<int>(algorithms.size()), counts, static_cast<int>(wait_names.size()),
         static_cast<int>(modes.size()), 5, 4, 4},
        [&](const Row& row) {
          const Case test = to_case(row);
          // Ranks that spin on a shared CPU are dear and have cases of their own, below.
          return test.episodes == usual_episodes &&
                 !(test.mode == Mode::processes && test.where == Where::made_up);
        },
        seed());
    refused = array.dropped();
    std::vector<std::vector<std::string>> lines;
    for (const AlgorithmInfo& algorithm : algorithms) lines.push_back(with_parameters(algorithm));
    std::vector<std::size_t> dealt(algorithms.size(), 0);
    std::vector<Case> list;
    for (const Row& row : array.rows()) {
      const auto a = static_cast<std::size_t>(row[0]);
      Case test = to_case(row);
      test.barrier = lines[a][dealt[a]++ % lines[a].size()];
      list.push_back(test);
    }
    return list;
  }();
  dropped = refused;
  return cases;
}

/// Pairs that the array leaves out: ranks that never yield with rank counts that must share a CPU (one rank
/// alone may spin anywhere), and processes on the made-up machine.
int pairs_that_cannot_be() {
  int never = 0;
  for (const std::string& wait : wait_names) never += never_yields(wait) ? 1 : 0;
  int crowded = 31 > cpu_count() ? 1 : 0;
  for (int ranks = 1; ranks <= 17; ++ranks) crowded += ranks > cpu_count() ? 1 : 0;
  return never * crowded + (modes.size() > 1 ? 1 : 0);
}

/// Runs cases, counts them, and knows when to stop.
class Cases {
 public:
  /// Runs it unless three have failed, or one has hung: the program ends in time also where all would hang.
  void run(Case test) {
    if (failures_ >= 3 || (failures_ > 0 && seconds() > 60)) return;
    test.seed = ++count_ + seed() % 1000000 * 1000;
    try {
      run_case(test);
    } catch (const std::exception& error) {
      ++failures_;
      ADD_FAILURE() << test.text() << ": " << error.what();
    }
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void report(const std::string& whose, const std::string& what) const {
    std::printf("%s: %llu %s, seed %llu, %.2f s\n", whose.c_str(), static_cast<unsigned long long>(count_),
                what.c_str(), static_cast<unsigned long long>(seed()), seconds());
    std::fflush(stdout);  // before the next fork
  }

  std::uint64_t count() const { return count_; }
  int failures() const { return failures_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t count_ = 0;
  int failures_ = 0;
};

/// Every barrier of the registry with its defaults, `auto` included.
class EveryBarrier : public ::testing::TestWithParam<AlgorithmInfo> {
 protected:
  void run(const Case& test) { cases_.run(test); }
  void report(const char* what) const { cases_.report(GetParam().name, "cases (" + std::string(what) + ")"); }
  Cases cases_;
};

INSTANTIATE_TEST_SUITE_P(Registry, EveryBarrier, ::testing::ValuesIn(family(Operation::barrier).algorithms()),
                         [](const auto& algorithm) {
                           std::string name = algorithm.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryBarrier, HoldsBackEveryRankInAPairwiseArray) {
  int dropped = 0;
  // Under ThreadSanitizer every second case: the threads of one take a tenth of a second.
  const unsigned step = thread_sanitizer && !long_run() ? 2 : 1;
  unsigned own = 0;
  for (const Case& test : pairwise_cases(dropped))
    if (test.barrier.substr(0, test.barrier.find(':')) == GetParam().name && own++ % step == 0) run(test);
  if (cases_.failures() > 0) return;
  EXPECT_GE(own, 18u) << "each algorithm meets each rank count";
  EXPECT_EQ(dropped, pairs_that_cannot_be());
  report("pairwise");
}

TEST_P(EveryBarrier, HoldsBackRanksThatSpinOnASharedCpu) {
  Case test;
  test.barrier = GetParam().name;
  test.ranks = cpu_count() + 1;
  test.episodes = spinning_episodes;
  // One case each, by turns: what waits is the port, the same for all.
  const bool even = GetParam().name.size() % 2 == 0;
  test.wait = even ? "spin" : "pause";
  test.mode = even ? Mode::threads : modes.back();
  test.where = Where::scatter;
  run(test);
  report("spinning");
}

TEST_P(EveryBarrier, HoldsBackHundredsOfRanks) {
  Case test;
  test.barrier = GetParam().name;
  test.episodes = 5;
  // Under ThreadSanitizer an algorithm takes minutes with a thousand threads, and a second with 244.
  for (int ranks : {244, long_run() && !sanitized ? 1024 : 100}) {
    if (ranks == 244 && sanitized && !long_run()) continue;
    test.ranks = ranks;
    test.where = ranks == 244 ? Where::made_up : Where::anywhere;
    run(test);
  }
  report("many ranks");
}

/// An algorithm's share of the full matrix, in an order drawn from the seed.
std::vector<Case> matrix_of(const AlgorithmInfo& algorithm, Random& random) {
  std::vector<std::string> barriers{algorithm.name};
  for (const ParameterInfo& parameter : algorithm.parameters)
    for (const std::string& value : values_of(parameter)) {
      const std::string barrier = algorithm.name + ":" + parameter.name + "=" + value;
      if (value != parameter.default_value && accepted(barrier)) barriers.push_back(barrier);
    }
  std::vector<Case> cases;
  for (const std::string& barrier : barriers)
    for (int ranks : rank_counts())
      for (const std::string& wait : wait_names)
        for (Mode mode : modes) {
          Case test;
          test.barrier = barrier;
          test.ranks = ranks;
          test.wait = wait;
          test.mode = mode;
          // Parameters that are not axes of the matrix are drawn.
          test.where = static_cast<Where>(random.below(mode == Mode::threads ? 5 : 4));
          test.order = static_cast<Order>(random.below(4));
          test.barriers = static_cast<Barriers>(random.below(4));
          test.episodes = episodes_for(ranks, test.where, wait);
          // A time slice a step: with parameters other than the store policy, and above 17 ranks, only where
          // ranks have CPUs of their own.
          if (test.episodes == spinning_episodes &&
              (ranks > 17 || (barrier != algorithm.name && barrier.find(":store=") == std::string::npos)))
            continue;
          cases.push_back(test);
        }
  for (std::size_t i = cases.size(); i > 1; --i)
    std::swap(cases[i - 1], cases[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  return cases;
}

/// The full matrix, in which every part from the beginning on holds its share of each algorithm, and the
/// first cases are one of each.
std::vector<Case> full_matrix() {
  Random random(seed());
  std::vector<std::pair<double, Case>> dealt;
  for (const AlgorithmInfo& algorithm : family(Operation::barrier).algorithms()) {
    const std::vector<Case> cases = matrix_of(algorithm, random);
    for (std::size_t i = 0; i < cases.size(); ++i)
      dealt.emplace_back(static_cast<double>(i) / static_cast<double>(cases.size()), cases[i]);
  }
  std::stable_sort(dealt.begin(), dealt.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Case> all;
  for (const auto& entry : dealt) all.push_back(entry.second);
  return all;
}

TEST(Registry, HoldsBackEveryRankInTheFullMatrix) {
  if (!long_run()) GTEST_SKIP() << "PHICOLL_TEST_LONG=1 runs it";
  const auto budget_s = static_cast<double>(from_environment("PHICOLL_TEST_BUDGET_S", 0));
  const std::vector<Case> matrix = full_matrix();
  Cases cases;
  double said = 0;
  for (const Case& test : matrix) {
    if (budget_s > 0 && cases.seconds() >= budget_s &&
        cases.count() >= family(Operation::barrier).algorithms().size())
      break;
    cases.run(test);
    if (cases.seconds() - said >= 60) {
      said = cases.seconds();
      cases.report("full matrix", "cases so far, last " + test.text());
    }
  }
  cases.report("full matrix", "of " + std::to_string(matrix.size()) + " cases");
}

TEST_P(EveryBarrier, FitsInTheDefaultMemoryAtTheMostRanks) {
  const std::size_t limit = GroupOptions().memory_limit;
  const AlgorithmSpec spec = family(Operation::barrier).parse(GetParam().name);
  EXPECT_LE(family(Operation::barrier).footprint(spec, Shape::unknown(max_ranks)), limit);
  EXPECT_LE(family(Operation::barrier)
                .footprint(spec, place_ranks(max_ranks, uniform_machine(61, 4), Placement::balanced)),
            limit);
}

}  // namespace
}  // namespace phicoll
