#pragma once

// Times ways to make a call against each other, in rounds, for those who measure the host's numbers. The
// ranks write anew what they send, as programs do. Each time is the slowest rank's, which an allreduce tells
// all, so all arrive at the same result.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/region.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

class Communicator;

/// The numbers that say how pieces are copied.
constexpr std::int64_t HostNumbers::*copy_numbers[] = {&HostNumbers::near_copy, &HostNumbers::far_copy,
                                                       &HostNumbers::take_copy, &HostNumbers::few_copy};

/// A way to make a call.
struct Trial {
  Operation operation;
  AlgorithmSpec spec;
  HostNumbers numbers;  ///< by which its port copies
  /// Equal names are equal trials.
  std::string name() const;
};

/// The times of a way in ns, a round each.
using Times = std::vector<std::int64_t>;
std::int64_t median(Times times);
/// How many thousandths of another time a time is.
std::int64_t thousandths(std::int64_t ns, std::int64_t of_ns);

/// One rank's part. The members that are not const are collective.
class NumberTrials {
 public:
  /// Rings and buffers that stay in the same pages give every round the same luck (which lines of a cache
  /// they share), so half of the rounds have them in other pages: of ways that were ahead in all of the first
  /// rounds.
  static constexpr std::size_t first_rounds = 4, all_rounds = 8;

  /// `alone`: the ranks have a CPU each.
  NumberTrials(Communicator& ranks, bool alone, std::int64_t most_ns);

  /// A line's time from a peer in percent of one from memory, as the port of a few such calls finds it.
  std::int64_t line_percent(const Trial& look, std::size_t bytes);
  /// From now on the CPUs must stay as near or far as they are.
  void begin() { barrier_ns_ = alone_ ? barrier_ns() : 0; }
  /// Time is over so long after these trials were made.
  void end_after(std::int64_t most_ns) { most_ns_ = most_ns; }
  bool over() { return disturbed() || agreed(since_ns()) > most_ns_; }
  /// The times of each way, or nothing once the time is over or measuring is disturbed. `now`: the present
  /// way. If others are ahead of it in all of the first rounds, these and the present one go on elsewhere.
  std::vector<Times> compare(const std::vector<Trial>& trials, std::size_t bytes, std::size_t now,
                             std::size_t rounds = all_rounds);
  /// Rings and buffers are made anew in other pages.
  void move_elsewhere();
  /// The ranks send what lies in the group's heap, where all reach it, until they are told 0 bytes. False, on
  /// all, if it has no room.
  bool reach(std::size_t bytes);

  /// Other programs and a virtual machine's host take CPUs away, and its CPUs move. So each turn compares the
  /// CPU time of ranks that have a CPU each with the time that passed. This says whether they were without it
  /// for long, or the CPUs moved.
  bool disturbed() const;
  void disturb() { lost_ns_ = passed_ns_; }
  std::int64_t passed_ns() const { return passed_ns_; }

  /// A way is replaced only if it is slower by at least so many thousandths. Ranks that share CPUs wait for
  /// the scheduler, so their times vary more.
  std::int64_t clear_gain() const { return alone_ ? 50 : 100; }
  /// Whether a way takes clearly less time than another, in all rounds of both but an eighth.
  bool faster(const Times& way, const Times& other) const;
  /// The same in all rounds, half of which used other pages.
  bool gains(const Times& way, const Times& other) const {
    return way.size() == all_rounds && faster(way, other);
  }

 private:
  std::int64_t since_ns() const;
  std::int64_t agreed(std::int64_t value);
  std::int64_t barrier_ns();
  bool stayed();
  void warm(const Trial& trial, std::size_t bytes);
  void turns(const Trial& trial, std::size_t bytes, int calls);
  std::int64_t time(const Trial* trial, std::size_t bytes, int calls);
  void repeat(const Trial* trial, std::size_t bytes, int calls);

  Communicator& ranks_;
  const bool alone_;
  const std::int64_t began_ns_;
  std::int64_t most_ns_;
  const Operator sum_, most_;
  std::int64_t passed_ns_ = 0, lost_ns_ = 0, barrier_ns_ = 0;
  bool moved_ = false;
  std::vector<std::string> warmed_;
  unsigned char* reached_ = nullptr;
  std::size_t place_ = 0;
  Region::Block spacer_ = {};  // before the rings, `place_` times elsewhere_bytes
  AlignedVector<unsigned char> send_, receive_;
};

}  // namespace phicoll
