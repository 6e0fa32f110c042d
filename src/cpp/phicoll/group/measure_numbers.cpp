// How the host's numbers are measured: by the collectives themselves, with the ways and parameters between which the
// numbers choose, between ranks that write anew what they send, as programs do: two with a CPU each, or all ranks of a group that share
// CPUs.
//
// A number leaves its default only for a clear gain. A virtual machine's CPUs move and other programs run, so a way is
// judged by the shortest of several rounds, in which all ways take turns. All ranks arrive at the same numbers: each time
// is that of the slowest rank, which an allreduce tells all.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

namespace {

constexpr std::size_t kb = 1 << 10;
// Of data that all ranks reach, in the group's heap.
constexpr std::size_t most_reached = 2048 * kb;
constexpr int rounds = 4;
// What a round moves: more calls of small messages.
constexpr std::size_t round_bytes = 1024 * kb;
// A ring's pages are touched, and its lines have left the caches, once it has turned.
constexpr std::size_t warming_bytes = 4096 * kb;
// Thousandths of the best way's time: a size at which another way begins moves for a seventh at one of the sizes compared, a
// way that serves all sizes changes for a twelfth at each.
constexpr std::int64_t clear_gain = 150;
// Ranks that share CPUs wait for the scheduler, so their times vary more, and on a busy machine few calls take long.
constexpr std::int64_t clear_shared_gain = 300;
constexpr std::size_t shared_calls = 8;
constexpr std::int64_t clear_gain_each = 80;

using Sizes = std::vector<std::size_t>;
using Times = std::vector<std::int64_t>;

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

  HostNumbers run() {
    if (what_.copies) copies();
    if (what_.sizes_too && (numbers_.sizes_seen & what_.sizes) == 0) {
      if (what_.sizes == H::pair) {
        cells();
        sizes();
        in_place();
        single_copies();
      } else {
        shared_sizes();
      }
      numbers_.sizes_seen |= what_.sizes;
    }
    ranks_.hand_over_.set_host(numbers_);
    numbers_.state = HostNumbers::measured;
    return numbers_;
  }

 private:
  using H = HostNumbers;

  /// What a line from the peer takes, in percent of one from memory; the larger of both ranks' values. 0: neither saw one.
  std::int64_t percent() { return agreed(static_cast<std::int64_t>(ranks_.hand_over_.percent())); }

  // The best copy in the state in which the CPUs are now, near or far, unless it is known.
  void copies() {
    if (arch::hand_over_bytes == SIZE_MAX) {  // there is no choice
      numbers_.near_seen = numbers_.far_seen = 1;
      return;
    }
    const std::string middle = exchange(numbers_.cell, numbers_.ring);
    const Trial look = {Operation::allgather, "one-shot:cell=16384:cells=4", numbers_};
    const AlgorithmSpec spec = family(look.operation).parse(look.spec);
    time(&look, &spec, 16 * kb, 32);
    const std::int64_t now = percent();
    if (now == 0 || numbers_.*(now >= numbers_.far ? &H::far_seen : &H::near_seen) != 0) return;
    const bool far = now >= numbers_.far;
    const Sizes of = {4 * kb, 32 * kb, 256 * kb};
    const auto with = [&](std::int64_t H::*one, std::int64_t H::*other, bool past_caches) {
      std::vector<std::int64_t> ways;
      for (std::int64_t way = 0; way < arch::copy_ways; ++way)
        if (arch::has_copy_way(static_cast<arch::CopyWay>(way)) &&
            (past_caches || way != static_cast<std::int64_t>(arch::CopyWay::past_caches)))
          ways.push_back(way);
      std::vector<Times> times(ways.size());
      for (const std::size_t bytes : of) {
        std::vector<Trial> trials;
        for (const std::int64_t way : ways) {
          HostNumbers trial = numbers_;
          trial.*one = trial.*other = way;
          trials.push_back({Operation::allgather, middle, trial});
        }
        const Times found = compare(trials, bytes);
        if (found.empty()) return;
        for (std::size_t i = 0; i < ways.size(); ++i) times[i].push_back(found[i]);
      }
      if ((percent() >= numbers_.far) != far) return;  // the CPUs have moved meanwhile
      std::int64_t H::*const number = far ? other : one;
      (far ? numbers_.far_seen : numbers_.near_seen) = 1;
      const auto now_at = std::find(ways.begin(), ways.end(), numbers_.*number);
      if (now_at != ways.end()) {
        const auto index = static_cast<std::size_t>(now_at - ways.begin());
        numbers_.*number = ways[best(times, index)];
      }
    };
    with(&H::near_copy, &H::far_copy, true);
    with(&H::take_copy, &H::take_copy, false);
  }

  void cells() {
    const auto choose = [&](std::int64_t H::*number, const Sizes& of,
                            const std::vector<std::int64_t>& values) {
      std::vector<Times> times(values.size());
      for (const std::size_t bytes : of) {
        std::vector<Trial> trials;
        for (const std::int64_t value : values) {
          HostNumbers trial = numbers_;
          trial.*number = value;
          trials.push_back({Operation::allgather, exchange(trial.cell, trial.ring), numbers_});
        }
        const Times found = compare(trials, bytes);
        if (found.empty()) return;
        for (std::size_t i = 0; i < times.size(); ++i) times[i].push_back(found[i]);
      }
      const auto now = static_cast<std::size_t>(std::find(values.begin(), values.end(), numbers_.*number) -
                                                values.begin());
      if (now < values.size()) numbers_.*number = values[best(times, now)];
    };
    choose(&H::cell, {32 * kb, 128 * kb, 256 * kb}, {16 << 10, 32 << 10, 64 << 10, 128 << 10});
    choose(&H::ring, {64 * kb, 256 * kb}, {256 << 10, 1 << 20, 2 << 20});
  }

  void sizes() {
    const std::string middle = exchange(numbers_.cell, numbers_.ring);
    const std::string wide = exchange(numbers_.wide_cell, numbers_.ring / 2);
    cut(&H::rotate, Operation::allgather, {8 * kb, 16 * kb, 32 * kb, 64 * kb}, "one-shot", middle);
    cut(&H::wide, Operation::allgather, {64 * kb, 128 * kb, 256 * kb, 512 * kb}, middle, wide);
    const std::string pass = of("ring:cell=", numbers_.cell, 2 * numbers_.ring);
    cut(&H::pass_rotate, Operation::broadcast, {8 * kb, 16 * kb, 32 * kb, 64 * kb}, "ring", pass);
    cut(&H::pass_wide, Operation::broadcast, {64 * kb, 128 * kb, 256 * kb, 512 * kb}, pass,
        of("ring:cell=", numbers_.wide_cell, 2 * numbers_.ring));
    cut(&H::combine_rotate, Operation::allreduce, {2 * kb, 4 * kb, 8 * kb, 16 * kb}, "one-shot", middle);
    cut(&H::slice, Operation::allreduce, {32 * kb, 64 * kb, 128 * kb, 256 * kb}, middle,
        of("sliced:chunk=", numbers_.wide_cell,
           std::max<std::int64_t>(numbers_.ring, 4 * numbers_.wide_cell)));
  }

  // Data in the group's heap: copied, or read where it lies.
  void in_place() {
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
        of("mailbox:cell=", numbers_.wide_cell, numbers_.ring), "single-copy");
  }

  // What is measured by all ranks, some of which share a CPU. What decides most comes first.
  void shared_sizes() {
    const std::string middle = of("one-shot:cell=", numbers_.shared_cell, numbers_.ring / 4);
    const std::string wide = of("one-shot:cell=", numbers_.shared_wide_cell, numbers_.ring / 4);
    const std::string slices = of("sliced:chunk=", numbers_.shared_wide_cell, numbers_.ring);
    cut(&H::shared_exchange, Operation::allgather, {8 * kb, 16 * kb, 32 * kb}, "one-shot", wide);
    if (what_.sizes == H::few) {
      cut(&H::shared_combine, Operation::allreduce, {4 * kb, 8 * kb, 16 * kb}, "one-shot", middle);
      cut(&H::shared_slice, Operation::allreduce, {16 * kb, 32 * kb, 64 * kb}, middle, slices);
    } else if (ranks_.shape().oversubscribed()) {  // it is known which ranks share a CPU
      const std::string levels = "hierarchical:group=cpu";
      const std::string large = "hierarchical:group=cpu:piece=65536:pieces=8";
      cut(&H::shared_levels, Operation::allreduce, {1 * kb, 2 * kb, 4 * kb}, "one-shot", levels);
      cut(&H::shared_levels_wide, Operation::allreduce, {32 * kb, 64 * kb, 128 * kb}, levels, large);
      cut(&H::shared_reduce, Operation::reduce, {256, 1 * kb, 4 * kb}, "mailbox:cell=960:cells=256",
          "hierarchical:group=cpu:piece=8192:pieces=64");
      cut(&H::shared_levels_end, Operation::allreduce, {256 * kb, 512 * kb}, large, slices);
    }
    cut(&H::shared_pieces, Operation::alltoall, {1 * kb, 2 * kb, 4 * kb}, "one-shot", middle);
    cut(&H::shared_rotate, Operation::gather, {16 * kb, 32 * kb, 64 * kb}, "mailbox",
        of("mailbox:cell=", numbers_.shared_cell, numbers_.ring / 4));
    cut(&H::shared_pass, Operation::broadcast, {2 * kb, 4 * kb, 8 * kb}, "ring:cell=960:cells=2048", "ring");
    cut(&H::shared_send, Operation::scatter, {4 * kb, 8 * kb, 16 * kb}, "mailbox:cell=4096:cells=1024",
        "mailbox");
  }

  /// Moves the number to where the second way overtakes the first.
  void cut(std::int64_t H::*number, Operation operation, const Sizes& of, const std::string& below,
           const std::string& above) {
    Times low, high;
    for (const std::string& way : {below, above}) {
      CallFacts facts;
      facts.operation = operation;
      facts.bytes = of.front();
      facts.commutative = true;
      const Family& known = family(operation);
      if (!known.fits(known.parse(way), ranks_.shape(), facts)) return;
    }
    for (const std::size_t bytes : of) {
      const Times found = compare({{operation, below, numbers_}, {operation, above, numbers_}}, bytes);
      if (found.empty()) return;
      low.push_back(found[0]);
      high.push_back(found[1]);
    }
    // What is lost where the second way begins at size number k.
    const auto loss = [&](std::size_t k) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < of.size(); ++i)
        sum += thousandths(i < k ? low[i] : high[i], std::min(low[i], high[i]));
      return sum;
    };
    std::size_t now = 0;
    while (now < of.size() && static_cast<std::int64_t>(of[now]) < numbers_.*number) ++now;
    std::size_t least = now;
    for (std::size_t k = 0; k <= of.size(); ++k)
      if (loss(k) < loss(least)) least = k;
    // Where the second way clearly loses at the largest size, it begins well beyond.
    if (least == of.size() && thousandths(high.back(), low.back()) > 1000 + clear()) {
      numbers_.*number = std::max(numbers_.*number, static_cast<std::int64_t>(8 * of.back()));
      return;
    }
    if (loss(now) - loss(least) < clear()) return;
    const std::size_t at = least == 0           ? of.front() / 2
                           : least == of.size() ? of.back() * 2
                                                : (of[least - 1] + of[least]) / 2;
    numbers_.*number = static_cast<std::int64_t>(at);
  }

  struct Trial {
    Operation operation;
    std::string spec;
    HostNumbers numbers;  // for the port's copies
  };

  static std::string of(const char* prefix, std::int64_t cell, std::int64_t ring) {
    return prefix + std::to_string(cell) + ":cells=" + std::to_string(std::max<std::int64_t>(2, ring / cell));
  }
  static std::string exchange(std::int64_t cell, std::int64_t ring) {
    return of("one-shot:cell=", cell, ring);
  }
  static std::int64_t thousandths(std::int64_t ns, std::int64_t least) {
    return 1000 * ns / std::max<std::int64_t>(1, least);
  }

  /// The way with the least loss over all sizes, or the present one if that is about as good.
  static std::size_t best(const std::vector<Times>& times, std::size_t now) {
    std::vector<std::int64_t> loss(times.size(), 0);
    for (std::size_t i = 0; i < times[0].size(); ++i) {
      std::int64_t least = times[0][i];
      for (const Times& way : times) least = std::min(least, way[i]);
      for (std::size_t w = 0; w < times.size(); ++w) loss[w] += thousandths(times[w][i], least);
    }
    const auto least = static_cast<std::size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
    return loss[now] - loss[least] < clear_gain_each * static_cast<std::int64_t>(times[0].size()) ? now
                                                                                                  : least;
  }

  /// The largest of all ranks' values.
  std::int64_t agreed(std::int64_t value) {
    ranks_.allreduce(nullptr, &value, 1, most_);
    return value;
  }

  /// The shortest time of each, or nothing once the time is over.
  Times compare(const std::vector<Trial>& trials, std::size_t bytes) {
    Times least(trials.size(), INT64_MAX);
    std::vector<AlgorithmSpec> specs;
    for (const Trial& trial : trials) specs.push_back(family(trial.operation).parse(trial.spec));
    const int calls = calls_of(round_bytes, bytes, 64);
    std::int64_t writes = INT64_MAX;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (over()) return {};
      warm(trials[i], specs[i], bytes);
    }
    for (int round = 0; round < rounds; ++round) {
      writes = std::min(writes, time(nullptr, nullptr, bytes, calls));
      for (std::size_t i = 0; i < trials.size(); ++i) {
        if (over()) return {};
        ranks_.hand_over_.set_host(trials[i].numbers);
        least[i] = std::min(least[i], time(&trials[i], &specs[i], bytes, calls));
      }
    }
    for (std::int64_t& ns : least) ns = std::max<std::int64_t>(1, ns - writes);
    return least;
  }

  bool over() { return agreed(os::now_ns() - began_ns_) > what_.most_ns; }
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
    time(&trial, &spec, bytes, first ? calls_of(warming_bytes, bytes, 512) : 2);
  }

  std::int64_t time(const Trial* trial, const AlgorithmSpec* spec, std::size_t bytes, int calls) {
    const bool rooted = trial != nullptr &&
                        (trial->operation == Operation::broadcast || trial->operation == Operation::scatter);
    const std::size_t blocks = trial != nullptr && (trial->operation == Operation::alltoall ||
                                                    trial->operation == Operation::scatter)
                                   ? static_cast<std::size_t>(ranks_.size())
                                   : 1;
    const std::size_t written = blocks * bytes;
    room(written, static_cast<std::size_t>(ranks_.size()) * bytes);
    unsigned char* const send = reached_ != nullptr ? reached_ : send_.data();
    ranks_.barrier();
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < calls; ++i) {
      // Only the root writes for a broadcast or a scatter, and runs ahead.
      if (!rooted || ranks_.rank() == 0) std::memset(send, i + 1, written);
      // The compiler may not find that nobody reads it.
      __asm__ __volatile__("" : : "r"(send) : "memory");
      if (trial != nullptr) call(trial->operation, send, bytes, spec);
    }
    return agreed(os::now_ns() - start);
  }

  void call(Operation operation, unsigned char* send, std::size_t bytes, const AlgorithmSpec* spec) {
    switch (operation) {
      case Operation::broadcast:
        return ranks_.broadcast(ranks_.rank() == 0 ? send : receive_.data(), bytes, 0, spec);
      case Operation::reduce:
        return ranks_.reduce(send, receive_.data(), bytes / 4, sum_, 0, spec);
      case Operation::allreduce:
        return ranks_.allreduce(send, receive_.data(), bytes / 4, sum_, spec);
      case Operation::gather:
        return ranks_.gather(send, receive_.data(), bytes, 0, spec);
      case Operation::scatter:
        return ranks_.scatter(send, receive_.data(), bytes, 0, spec);
      case Operation::alltoall:
        return ranks_.alltoall(send, receive_.data(), bytes, spec);
      default:
        return ranks_.allgather(send, receive_.data(), bytes, spec);
    }
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
  std::vector<std::string> warmed_;
  unsigned char* reached_ = nullptr;
  std::vector<unsigned char> send_;
  std::vector<unsigned char> receive_;
};

HostNumbers measure_numbers(Communicator& ranks, const HostNumbers& from, const Calibrating& what) {
  return NumberTrials(ranks, from, what).run();
}

}  // namespace phicoll
