// Measures the host's numbers: by the collectives themselves, with the ways and parameters between which the numbers
// choose. The ranks (two with a CPU each, or all ranks of a group that share CPUs) write anew what they send, as
// programs do.
//
// All ways take turns in rounds. A number leaves its default only where another way is faster in nearly every round. All
// ranks arrive at the same numbers: each time is that of the slowest rank, which an allreduce tells all.
//
// Other programs and a virtual machine's host take CPUs away, and its CPUs move. Numbers measured meanwhile would mislead
// for as long as they are kept. So each turn compares the CPU time of ranks that have a CPU each with the time that
// passed. Measuring ends with no result if they were without it for long, or if the CPUs were near at its beginning and far
// at its end. Ranks that share CPUs measure only if two of them, with a CPU each, have just found the machine quiet.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/choose.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/call_by_operation.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

namespace {

constexpr std::size_t kb = 1 << 10;
// Of data that all ranks reach, in the group's heap.
constexpr std::size_t most_reached = 2048 * kb;
// A way that is not ahead in all of the first rounds is not compared any longer.
constexpr std::size_t first_rounds = 4;
constexpr std::size_t all_rounds = 8;
// Bytes that a round moves: small messages make more calls.
constexpr std::size_t round_bytes = 512 * kb;
// A ring's pages are touched, and its lines have left the caches, once it has turned.
constexpr std::size_t warming_bytes = 4096 * kb;
// Thousandths of its time by which a way is slower than another at least, if it is to be replaced.
constexpr std::int64_t clear_gain = 50;
// Ranks that share CPUs wait for the scheduler, so their times vary more, and on a busy machine few calls take long.
constexpr std::int64_t clear_shared_gain = 100;
constexpr std::size_t shared_calls = 8;
// Calls to warm up, before ranks look whether they are disturbed.
constexpr int calls_a_turn = 4;
// A way that loses so much at the largest size compared begins well beyond it.
constexpr std::int64_t far_beyond = 150;
// Time that the system's own work may take without counting as a disturbance.
constexpr std::int64_t lost_most_ns = 1000 * 1000;
// How long ranks look for other programs: the system leaves each its CPU for some milliseconds, and some systems for up to
// 12 milliseconds to one that has just slept.
constexpr std::int64_t looking_ns = calibrating_copies_ns;

using Sizes = std::vector<std::size_t>;
using Times = std::vector<std::int64_t>;  // a round each

std::int64_t median(Times times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// A size that is measured, and by groups of which kinds: a sum of HostNumbers::Sharing.
struct MeasuredSize {
  std::int64_t HostNumbers::*value;
  std::int64_t kinds;
};
constexpr std::int64_t shared = HostNumbers::few + HostNumbers::many;
constexpr MeasuredSize measured_sizes[] = {{&HostNumbers::rotate, HostNumbers::pair},
                                           {&HostNumbers::wide, HostNumbers::pair},
                                           {&HostNumbers::cell, HostNumbers::pair},
                                           {&HostNumbers::ring, HostNumbers::pair},
                                           {&HostNumbers::pass_rotate, HostNumbers::pair},
                                           {&HostNumbers::pass_wide, HostNumbers::pair},
                                           {&HostNumbers::combine_rotate, HostNumbers::pair},
                                           {&HostNumbers::slice, HostNumbers::pair},
                                           {&HostNumbers::direct, HostNumbers::pair},
                                           {&HostNumbers::single, HostNumbers::pair},
                                           {&HostNumbers::shared_combine, HostNumbers::few},
                                           {&HostNumbers::shared_slice, HostNumbers::few},
                                           {&HostNumbers::shared_levels, HostNumbers::many},
                                           {&HostNumbers::shared_levels_wide, HostNumbers::many},
                                           {&HostNumbers::shared_levels_end, HostNumbers::many},
                                           {&HostNumbers::shared_reduce, HostNumbers::many},
                                           {&HostNumbers::shared_exchange, shared},
                                           {&HostNumbers::shared_pieces, shared},
                                           {&HostNumbers::shared_rotate, shared},
                                           {&HostNumbers::shared_pass, shared},
                                           {&HostNumbers::shared_send, shared}};

}  // namespace

/// One rank's part in measuring.
class NumberTrials {
 public:
  NumberTrials(Communicator& ranks, const HostNumbers& from, const Calibrating& what)
      : ranks_(ranks),
        numbers_(from),
        what_(what),
        began_ns_(os::now_ns()),
        sum_(find_operator(Type::int32, Op::sum)),
        most_(find_operator(Type::int64, Op::max)) {}

  /// False if measuring was disturbed. Else the numbers are in `found`.
  bool run(HostNumbers* found) {
    const bool choice = arch::hand_over_bytes != SIZE_MAX;  // of how pieces are copied
    const bool far = far_now() && choice;
    if (disturbed()) return false;
    const bool copying = what_.copies && numbers_.*(far ? &H::far_seen : &H::near_seen) == 0;
    const std::int64_t bit = H::seen_in(far, what_.sizes);
    const bool sizing = what_.sizes_too && (numbers_.sizes_seen & bit) == 0;
    // Before all ranks of a group measure sizes, a pair of them checks whether that would be disturbed.
    const bool looking = what_.copies && (numbers_.sizes_seen & bit) == 0;
    if (!copying && !sizing && !looking) return true;
    if (copying) {
      if (choice) copies(far);
      numbers_.near_seen |= far ? 0 : 1;
      numbers_.far_seen |= far || !choice ? 1 : 0;
    }
    if (sizing) {
      const H known = numbers_;
      begin_with_defaults();
      if (what_.sizes == H::pair) {
        cells();
        sizes();
        in_place();
        single_copies();
      } else {
        shared_sizes();
      }
      agree_with(known);
      numbers_.sizes_seen |= choice ? bit : bit | H::seen_in(true, what_.sizes);
    }
    do {
      if (!disturbed() && (far_now() && choice) != far) lost_ns_ = passed_ns_;  // all of it was in vain
    } while (looking && !disturbed() && passed_ns_ < looking_ns);
    if (disturbed()) return false;
    numbers_.disturbed = 0;
    numbers_.state = H::measured;
    *found = numbers_;
    return true;
  }

 private:
  using H = HostNumbers;

  /// Whether the peers are far now.
  bool far_now() {
    const Trial look = {Operation::allgather, "one-shot:cell=16384:cells=4", numbers_};
    const AlgorithmSpec spec = family(look.operation).parse(look.spec);
    turns(look, spec, 16 * kb, 32);
    return agreed(static_cast<std::int64_t>(ranks_.hand_over_.percent())) >= numbers_.far;
  }

  /// Whether this size was measured by another group, or in the other state.
  bool known(const MeasuredSize& size) const {
    const auto kinds = static_cast<H::Sharing>(size.kinds);
    return (numbers_.sizes_seen & (H::seen_in(false, kinds) | H::seen_in(true, kinds))) != 0;
  }
  void begin_with_defaults() {
    for (const MeasuredSize& size : measured_sizes)
      if ((size.kinds & what_.sizes) != 0 && known(size)) numbers_.*size.value = H().*size.value;
  }
  // A size that was measured before moves only if both agree, and then by the smaller change: what gains in one state
  // of the CPUs can lose in the other.
  void agree_with(const H& before) {
    for (const MeasuredSize& size : measured_sizes) {
      if ((size.kinds & what_.sizes) == 0 || !known(size)) continue;
      const std::int64_t usual = H().*size.value, one = before.*size.value;
      std::int64_t& other = numbers_.*size.value;
      other = one >= usual && other >= usual   ? std::min(one, other)
              : one <= usual && other <= usual ? std::max(one, other)
                                               : usual;
    }
  }

  // The best copy in the state in which the CPUs are.
  void copies(bool far) {
    const std::string middle = exchange(numbers_.cell, numbers_.ring);
    const auto choose_way = [&](std::int64_t H::*number, std::int64_t H::*other, bool past_caches) {
      std::vector<std::int64_t> ways;
      for (std::int64_t way = 0; way < arch::copy_ways; ++way)
        if (arch::has_copy_way(static_cast<arch::CopyWay>(way)) &&
            (past_caches || way != static_cast<std::int64_t>(arch::CopyWay::past_caches)))
          ways.push_back(way);
      choose(number, {4 * kb, 32 * kb, 256 * kb}, ways, [&](std::int64_t way) {
        HostNumbers trial = numbers_;
        trial.*number = trial.*other = way;
        return Trial{Operation::allgather, middle, trial};
      });
    };
    if (far)
      choose_way(&H::far_copy, &H::near_copy, true);
    else
      choose_way(&H::near_copy, &H::far_copy, true);
    choose_way(&H::take_copy, &H::take_copy, false);
  }

  /// Gives the number the value that takes clearly less time than its present one, if there is any.
  template <class TrialOf>
  void choose(std::int64_t H::*number, const Sizes& of, const std::vector<std::int64_t>& values,
              const TrialOf& trial_of) {
    const auto now =
        static_cast<std::size_t>(std::find(values.begin(), values.end(), numbers_.*number) - values.begin());
    if (now == values.size()) return;
    std::vector<std::vector<Times>> found;  // by size and value
    for (const std::size_t bytes : of) {
      std::vector<Trial> trials;
      for (const std::int64_t value : values) trials.push_back(trial_of(value));
      found.push_back(compare(trials, bytes, now));
      if (found.back().empty()) return;
    }
    numbers_.*number = values[better(found, now)];
  }

  void cells() {
    const auto with = [&](std::int64_t H::*number, const Sizes& of, const std::vector<std::int64_t>& values) {
      choose(number, of, values, [&](std::int64_t value) {
        HostNumbers trial = numbers_;
        trial.*number = value;
        return Trial{Operation::allgather, exchange(trial.cell, trial.ring), numbers_};
      });
    };
    with(&H::cell, {32 * kb, 128 * kb, 256 * kb}, {16 << 10, 32 << 10, 64 << 10, 128 << 10});
    with(&H::ring, {64 * kb, 256 * kb}, {256 << 10, 1 << 20, 2 << 20});
  }

  void sizes() {
    using O = Operation;
    const std::string middle = exchange(numbers_.cell, numbers_.ring);
    const std::string wide = exchange(numbers_.wide_cell, numbers_.ring / 2);
    cut(&H::rotate, O::allgather, {8 * kb, 16 * kb, 32 * kb, 64 * kb}, "one-shot", middle);
    cut(&H::wide, O::allgather, {64 * kb, 128 * kb, 256 * kb, 512 * kb}, middle, wide);
    const std::string pass = of(O::broadcast, "ring:cell=", numbers_.cell, 2 * numbers_.ring);
    cut(&H::pass_rotate, O::broadcast, {8 * kb, 16 * kb, 32 * kb, 64 * kb}, "ring", pass);
    cut(&H::pass_wide, O::broadcast, {64 * kb, 128 * kb, 256 * kb, 512 * kb}, pass,
        of(O::broadcast, "ring:cell=", numbers_.wide_cell, 2 * numbers_.ring));
    const std::string combine = of(O::allreduce, "one-shot:cell=", numbers_.cell, numbers_.ring);
    cut(&H::combine_rotate, O::allreduce, {2 * kb, 4 * kb, 8 * kb, 16 * kb}, "one-shot", combine);
    cut(&H::slice, O::allreduce, {32 * kb, 64 * kb, 128 * kb, 256 * kb}, combine,
        of(O::allreduce, "sliced:chunk=", numbers_.wide_cell, numbers_.ring));
  }

  // Data in the group's heap: copied, or read where it lies.
  void in_place() {
    if (over()) return;
    reached_ = static_cast<unsigned char*>(heap(most_reached));
    if (reached_ == nullptr) return;
    const std::string wide = exchange(numbers_.wide_cell, numbers_.ring / 2);
    cut(&H::direct, Operation::allgather, {256 * kb, 512 * kb, 1024 * kb, 2048 * kb}, wide,
        wide + ":direct=1:far=copied");
    ranks_.release(reached_);
    reached_ = nullptr;
  }
  // On all ranks, or null on all.
  void* heap(std::size_t bytes) {
    void* memory = nullptr;
    try {
      memory = ranks_.allocate(bytes);
    } catch (const ResourceError&) {
      // The rest of the heap is in use.
    }
    if (agreed(memory == nullptr ? 1 : 0) == 0) return memory;
    if (memory != nullptr) ranks_.release(memory);
    return nullptr;
  }

  void single_copies() {
    cut(&H::single, Operation::gather, {2048 * kb, 4096 * kb},
        of(Operation::gather, "mailbox:cell=", numbers_.wide_cell, numbers_.ring), "single-copy");
  }

  // What is measured by all ranks, some of which share a CPU. What decides most comes first.
  void shared_sizes() {
    using O = Operation;
    const auto middle = [&](O operation, const char* beginning) {
      return of(operation, beginning, numbers_.shared_cell, numbers_.ring / 4);
    };
    const std::string combine = middle(O::allreduce, "one-shot:cell=");
    const std::string slices = of(O::allreduce, "sliced:chunk=", numbers_.shared_wide_cell, numbers_.ring);
    cut(&H::shared_exchange, O::allgather, {8 * kb, 16 * kb, 32 * kb}, "one-shot",
        of(O::allgather, "one-shot:cell=", numbers_.shared_wide_cell, numbers_.ring / 4));
    if (what_.sizes == H::few) {
      cut(&H::shared_combine, O::allreduce, {4 * kb, 8 * kb, 16 * kb}, "one-shot", combine);
      cut(&H::shared_slice, O::allreduce, {16 * kb, 32 * kb, 64 * kb}, combine, slices);
    } else if (ranks_.shape().oversubscribed()) {  // it is known which ranks share a CPU
      const std::string levels = "hierarchical:group=cpu";
      const std::string large = "hierarchical:group=cpu:piece=65536:pieces=8";
      cut(&H::shared_levels, O::allreduce, {1 * kb, 2 * kb, 4 * kb}, "one-shot", levels);
      cut(&H::shared_levels_wide, O::allreduce, {32 * kb, 64 * kb, 128 * kb}, levels, large);
      cut(&H::shared_reduce, O::reduce, {256, 1 * kb, 4 * kb}, "mailbox:cell=960:cells=256",
          "hierarchical:group=cpu:piece=8192:pieces=64");
      cut(&H::shared_levels_end, O::allreduce, {256 * kb, 512 * kb}, large, slices);
    }
    cut(&H::shared_pieces, O::alltoall, {1 * kb, 2 * kb, 4 * kb}, "one-shot",
        middle(O::alltoall, "one-shot:cell="));
    cut(&H::shared_rotate, O::gather, {16 * kb, 32 * kb, 64 * kb}, "mailbox",
        middle(O::gather, "mailbox:cell="));
    cut(&H::shared_pass, O::broadcast, {2 * kb, 4 * kb, 8 * kb}, "ring:cell=960:cells=2048", "ring");
    cut(&H::shared_send, O::scatter, {4 * kb, 8 * kb, 16 * kb}, "mailbox:cell=4096:cells=1024", "mailbox");
  }

  /// Moves the number over those sizes at which the way on the other side is clearly faster.
  void cut(std::int64_t H::*number, Operation operation, const Sizes& of, const std::string& below,
           const std::string& above) {
    for (const std::string& way : {below, above}) {
      CallFacts facts;
      facts.operation = operation;
      facts.bytes = of.front();
      facts.commutative = true;
      const Family& known = family(operation);
      if (!known.fits(known.parse(way), ranks_.shape(), facts)) return;
    }
    std::size_t now = 0;
    while (now < of.size() && static_cast<std::int64_t>(of[now]) < numbers_.*number) ++now;
    std::size_t at = now;
    std::int64_t loss = 0;
    const auto slower = [&](const std::string& present, const std::string& other, std::size_t bytes) {
      const std::vector<Times> found =
          compare({{operation, present, numbers_}, {operation, other, numbers_}}, bytes, 0);
      if (found.empty() || !faster(found[1], found[0])) return false;
      loss = thousandths(median(found[0]), median(found[1])) - 1000;
      return true;
    };
    while (at > 0 && slower(below, above, of[at - 1])) --at;
    if (at == now)
      while (at < of.size() && slower(above, below, of[at])) ++at;
    if (at == now) return;
    const std::size_t bytes = at == 0             ? of.front() / 2
                              : at < of.size()    ? (of[at - 1] + of[at]) / 2
                              : loss > far_beyond ? of.back() * 8
                                                  : of.back() * 2;
    numbers_.*number = static_cast<std::int64_t>(bytes);
  }

  struct Trial {
    Operation operation;
    std::string spec;
    HostNumbers numbers;  // for the port's copies
  };

  static std::string of(Operation operation, const char* beginning, std::int64_t cell, std::int64_t ring) {
    return with_cells(operation, beginning, static_cast<std::size_t>(cell), static_cast<std::size_t>(ring));
  }
  static std::string exchange(std::int64_t cell, std::int64_t ring) {
    return of(Operation::allgather, "one-shot:cell=", cell, ring);
  }
  static std::int64_t thousandths(std::int64_t ns, std::int64_t least) {
    return 1000 * ns / std::max<std::int64_t>(1, least);
  }

  /// Whether a way takes clearly less time than another, in all rounds but an eighth.
  bool faster(const Times& way, const Times& other) const {
    std::size_t misses = 0;
    for (std::size_t r = 0; r < way.size(); ++r)
      if (thousandths(other[r], way[r]) < 1000 + clear()) ++misses;
    return misses <= way.size() / 8;
  }

  /// The way with the largest gain over the present one, clearly faster at half of the sizes at least and clearly slower at
  /// none; or the present one. `found` holds times by size and way.
  std::size_t better(const std::vector<std::vector<Times>>& found, std::size_t now) const {
    std::size_t best = now;
    std::int64_t most = static_cast<std::int64_t>(found.size()) * (1000 + clear());
    for (std::size_t way = 0; way < found[0].size(); ++way) {
      std::size_t gains = 0, losses = 0;
      std::int64_t sum = 0;
      for (const std::vector<Times>& at : found) {
        gains += faster(at[way], at[now]) ? 1 : 0;
        losses += faster(at[now], at[way]) ? 1 : 0;
        sum += thousandths(median(at[now]), median(at[way]));
      }
      if (2 * gains < found.size() || losses != 0 || sum < most) continue;
      most = sum;
      best = way;
    }
    return best;
  }

  /// The largest of all ranks' values.
  std::int64_t agreed(std::int64_t value) {
    ranks_.allreduce(nullptr, &value, 1, most_);
    return value;
  }

  /// The times of each way, or nothing once the time is over or measuring is disturbed. `now`: the present way.
  std::vector<Times> compare(const std::vector<Trial>& trials, std::size_t bytes, std::size_t now) {
    std::vector<Times> times(trials.size());
    std::vector<AlgorithmSpec> specs;
    for (const Trial& trial : trials) specs.push_back(family(trial.operation).parse(trial.spec));
    const int calls = calls_of(round_bytes, bytes, 64);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (over()) return {};
      warm(trials[i], specs[i], bytes);
    }
    const auto ahead = [&] {
      return std::any_of(times.begin(), times.end(),
                         [&](const Times& way) { return faster(way, times[now]); });
    };
    for (std::size_t round = 0; round < all_rounds && (round != first_rounds || ahead()); ++round) {
      const std::int64_t writes = time(nullptr, nullptr, bytes, calls);
      for (std::size_t i = 0; i < trials.size(); ++i) {
        if (over()) return {};
        ranks_.hand_over_.set_host(trials[i].numbers);
        times[i].push_back(std::max<std::int64_t>(1, time(&trials[i], &specs[i], bytes, calls) - writes));
      }
    }
    return times;
  }

  bool over() { return disturbed() || agreed(os::now_ns() - began_ns_) > what_.most_ns; }
  bool disturbed() const {
    return lost_ns_ > lost_most_ns && 100 * lost_ns_ > disturbed_percent() * passed_ns_;
  }
  bool alone() const { return what_.sizes == H::pair || what_.copies; }
  std::int64_t clear() const { return alone() ? clear_gain : clear_shared_gain; }
  int calls_of(std::size_t all, std::size_t bytes, std::size_t most) const {
    return static_cast<int>(
        std::max<std::size_t>(2, std::min(alone() ? most : std::min(most, shared_calls), all / bytes)));
  }

  /// Makes the algorithm at its first use, and turns its ring.
  void warm(const Trial& trial, const AlgorithmSpec& spec, std::size_t bytes) {
    const std::string key = std::string(to_string(trial.operation)) + trial.spec;
    const bool first = std::find(warmed_.begin(), warmed_.end(), key) == warmed_.end();
    if (first) warmed_.push_back(key);
    turns(trial, spec, bytes, first ? calls_of(warming_bytes, bytes, 512) : 2);
  }

  /// Few calls at a time: on a busy machine each may wait for the scheduler.
  void turns(const Trial& trial, const AlgorithmSpec& spec, std::size_t bytes, int calls) {
    for (int done = 0; done < calls && !disturbed(); done += calls_a_turn)
      time(&trial, &spec, bytes, std::min(calls_a_turn, calls - done));
  }

  std::int64_t time(const Trial* trial, const AlgorithmSpec* spec, std::size_t bytes, int calls) {
    const Part sends = trial != nullptr ? row_of(trial->operation).sends : Part::block;
    const bool rooted = sends == Part::root_block || sends == Part::root_blocks;
    const auto blocks = static_cast<std::size_t>(blocks_of_part(sends, true, ranks_.size()));
    const std::size_t written = blocks * bytes;
    room(written, static_cast<std::size_t>(ranks_.size()) * bytes);
    unsigned char* const send = reached_ != nullptr ? reached_ : send_.data();
    ranks_.barrier();
    const std::int64_t cpu = os::thread_cpu_ns(), start = os::now_ns();
    for (int i = 0; i < calls; ++i) {
      // Only the root writes for a broadcast or a scatter, and runs ahead.
      if (!rooted || ranks_.rank() == 0) std::memset(send, i + 1, written);
      // Keeps the compiler from finding that nobody reads it.
      __asm__ __volatile__("" : : "r"(send) : "memory");
      if (trial != nullptr) call(trial->operation, send, bytes, spec);
    }
    const std::int64_t took = os::now_ns() - start;
    std::int64_t both[] = {took, took - (os::thread_cpu_ns() - cpu)};
    ranks_.allreduce(nullptr, both, 2, most_);
    passed_ns_ += both[0];
    if (alone()) lost_ns_ += both[1];  // ranks that share CPUs are without one most of the time
    return both[0];
  }

  void call(Operation operation, unsigned char* send, std::size_t bytes, const AlgorithmSpec* spec) {
    const bool message = row_of(operation).receives == Part::others_block;
    void* const receive = message && ranks_.rank() == 0 ? send : receive_.data();
    const std::size_t count = reduces(operation) ? bytes / sum_.element_bytes : bytes;
    with_call_of(operation, false, [&](auto made) { made(ranks_, send, receive, count, sum_, 0, spec); });
  }

  void room(std::size_t send, std::size_t receive) {
    if (send_.size() < send) send_.resize(send);
    if (receive_.size() < receive) receive_.resize(receive);
  }

  Communicator& ranks_;
  HostNumbers numbers_;
  Calibrating what_;
  std::int64_t began_ns_;
  Operator sum_;
  Operator most_;
  std::int64_t passed_ns_ = 0;
  std::int64_t lost_ns_ = 0;
  std::int64_t disturbed_ = 0;
  std::vector<std::string> warmed_;
  unsigned char* reached_ = nullptr;
  std::vector<unsigned char> send_;
  std::vector<unsigned char> receive_;
};

std::atomic<int>& disturbed_percent() {
  static std::atomic<int> percent(10);
  return percent;
}

bool measure_numbers(Communicator& ranks, HostNumbers* numbers, const Calibrating& what) {
  return NumberTrials(ranks, *numbers, what).run(numbers);
}

HostNumbers without_measured(HostNumbers numbers) {
  const HostNumbers usual;
  for (const MeasuredSize& size : measured_sizes) numbers.*size.value = usual.*size.value;
  for (std::int64_t HostNumbers::*const number :
       {&HostNumbers::near_copy, &HostNumbers::far_copy, &HostNumbers::take_copy, &HostNumbers::near_seen,
        &HostNumbers::far_seen, &HostNumbers::sizes_seen})
    numbers.*number = usual.*number;
  return numbers;
}

}  // namespace phicoll
