// How the host's numbers are measured: by the collectives themselves, with the ways and parameters between which the
// numbers choose, between two ranks that write anew what they send, as programs do.
//
// A number leaves its default only for a clear gain. A virtual machine's CPUs move and other programs run, so a way is
// judged by the shortest of several rounds, in which all ways take turns. Both ranks arrive at the same numbers: each time
// is that of the slower rank, which an allreduce tells both.

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
constexpr std::size_t most_bytes = 512 * kb;
constexpr int rounds = 4;
// What a round moves: more calls of small messages.
constexpr std::size_t round_bytes = 1024 * kb;
// A ring's pages are touched, and its lines have left the caches, once it has turned.
constexpr std::size_t warming_bytes = 4096 * kb;
// Thousandths of the best way's time: a size at which another way begins moves for a seventh at one of the sizes compared, a
// way that serves all sizes changes for a twelfth at each.
constexpr std::int64_t clear_gain = 150;
constexpr std::int64_t clear_gain_each = 80;

using Sizes = std::vector<std::size_t>;
using Times = std::vector<std::int64_t>;

}  // namespace

/// One rank's part in measuring.
class NumberTrials {
 public:
  NumberTrials(Communicator& pair, const HostNumbers& from)
      : pair_(pair),
        numbers_(from),
        began_ns_(os::now_ns()),
        sum_(find_operator(Type::int32, Op::sum)),
        most_(find_operator(Type::int64, Op::max)),
        send_(most_bytes),
        receive_(2 * most_bytes) {}

  HostNumbers run() {
    const bool first = numbers_.near_seen == 0 && numbers_.far_seen == 0;
    copies();
    if (first) {
      cells();
      sizes();
    }
    pair_.hand_over_.set_host(numbers_);
    numbers_.state = HostNumbers::measured;
    return numbers_;
  }

 private:
  using H = HostNumbers;

  /// What a line from the peer takes, in percent of one from memory; the larger of both ranks' values. 0: neither saw one.
  std::int64_t percent() { return agreed(static_cast<std::int64_t>(pair_.hand_over_.percent())); }

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
    const auto with = [&](std::int64_t H::*one, std::int64_t H::*other, int ways) {
      std::vector<Times> times(static_cast<std::size_t>(ways));
      for (const std::size_t bytes : of) {
        std::vector<Trial> trials;
        for (int way = 0; way < ways; ++way) {
          HostNumbers trial = numbers_;
          trial.*one = trial.*other = way;
          trials.push_back({Operation::allgather, middle, trial});
        }
        const Times found = compare(trials, bytes);
        if (found.empty()) return;
        for (std::size_t way = 0; way < times.size(); ++way) times[way].push_back(found[way]);
      }
      if ((percent() >= numbers_.far) != far) return;  // the CPUs have moved meanwhile
      std::int64_t H::*const number = far ? other : one;
      (far ? numbers_.far_seen : numbers_.near_seen) = 1;
      numbers_.*number = static_cast<std::int64_t>(best(times, static_cast<std::size_t>(numbers_.*number)));
    };
    with(&H::near_copy, &H::far_copy, arch::copy_ways);
    with(&H::take_copy, &H::take_copy, 2);
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

  /// Moves the number to where the second way overtakes the first.
  void cut(std::int64_t H::*number, Operation operation, const Sizes& of, const std::string& below,
           const std::string& above) {
    Times low, high;
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
    if (loss(now) - loss(least) < clear_gain) return;
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

  /// The largest of both ranks' values.
  std::int64_t agreed(std::int64_t value) {
    pair_.allreduce(nullptr, &value, 1, most_);
    return value;
  }

  /// The shortest time of each, or nothing once the time is over.
  Times compare(const std::vector<Trial>& trials, std::size_t bytes) {
    if (agreed(os::now_ns() - began_ns_) > calibrating_ns) return {};
    Times least(trials.size(), INT64_MAX);
    std::vector<AlgorithmSpec> specs;
    for (const Trial& trial : trials) specs.push_back(family(trial.operation).parse(trial.spec));
    const int calls = calls_of(round_bytes, bytes, 64);
    std::int64_t writes = INT64_MAX;
    for (std::size_t i = 0; i < trials.size(); ++i) warm(trials[i], specs[i], bytes);
    for (int round = 0; round < rounds; ++round) {
      writes = std::min(writes, time(nullptr, nullptr, bytes, calls));
      for (std::size_t i = 0; i < trials.size(); ++i) {
        pair_.hand_over_.set_host(trials[i].numbers);
        least[i] = std::min(least[i], time(&trials[i], &specs[i], bytes, calls));
      }
    }
    for (std::int64_t& ns : least) ns = std::max<std::int64_t>(1, ns - writes);
    return least;
  }

  static int calls_of(std::size_t all, std::size_t bytes, std::size_t most) {
    return static_cast<int>(std::max<std::size_t>(2, std::min(most, all / bytes)));
  }

  /// Makes the algorithm at its first use, and turns its ring.
  void warm(const Trial& trial, const AlgorithmSpec& spec, std::size_t bytes) {
    const std::string key = std::string(to_string(trial.operation)) + trial.spec;
    const bool first = std::find(warmed_.begin(), warmed_.end(), key) == warmed_.end();
    if (first) warmed_.push_back(key);
    time(&trial, &spec, bytes, first ? calls_of(warming_bytes, bytes, 512) : 2);
  }

  std::int64_t time(const Trial* trial, const AlgorithmSpec* spec, std::size_t bytes, int calls) {
    pair_.barrier();
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < calls; ++i) {
      // Only the root writes for a broadcast, and runs ahead.
      if (trial == nullptr || trial->operation != Operation::broadcast || pair_.rank() == 0)
        std::memset(send_.data(), i + 1, bytes);
      // The compiler may not find that nobody reads it.
      __asm__ __volatile__("" : : "r"(send_.data()) : "memory");
      if (trial == nullptr) continue;
      if (trial->operation == Operation::broadcast)
        pair_.broadcast(pair_.rank() == 0 ? send_.data() : receive_.data(), bytes, 0, spec);
      else if (trial->operation == Operation::allreduce)
        pair_.allreduce(send_.data(), receive_.data(), bytes / 4, sum_, spec);
      else
        pair_.allgather(send_.data(), receive_.data(), bytes, spec);
    }
    return agreed(os::now_ns() - start);
  }

  Communicator& pair_;
  HostNumbers numbers_;
  std::int64_t began_ns_;
  Operator sum_;
  Operator most_;
  std::vector<std::string> warmed_;
  std::vector<unsigned char> send_;
  std::vector<unsigned char> receive_;
};

HostNumbers measure_numbers(Communicator& pair, const HostNumbers& from) {
  return NumberTrials(pair, from).run();
}

}  // namespace phicoll
