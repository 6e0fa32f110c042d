#pragma once

// Data that another CPU reads next: stored like any other, or past the caches, whichever is faster here and
// now.
//
// A ring's lines are still in their readers' caches when they are written again. Between CPUs that share a
// cache ordinary stores take them back at once, and the readers find the data in that cache; between CPUs
// that share none they come back one after the other, at ten times the cost of stores past the caches (0.2 to
// 0.4 of an exchange's time between two CPUs of an EPYC, from 4 KB on; 1.3 to 2 times where they share a
// cache). What a virtual machine says of its caches is not to be relied on, and its CPUs move, so the way is
// found by trying: every so often the front of a piece is stored in one of the two ways, in turn, and timed.

#include <cstddef>
#include <cstdint>

#include "phicoll/arch/streaming.hpp"

namespace phicoll {

/// One rank's writer. The bytes that arrive do not depend on the way.
class HandOver {
 public:
  void copy(unsigned char* to, const unsigned char* from, std::size_t bytes) {
    ++pieces_;
    bytes_ += bytes;
    std::size_t tried = 0;
    if (__builtin_expect(pieces_ >= until_trial_ || bytes_ >= bytes_a_trial, 0)) {
      tried = trial_bytes;
      if (bytes < tried) tried = bytes;
      try_one(to, from, tried);
    }
    store(past_caches_, to + tried, from + tried, bytes - tried);
  }

 private:
  static constexpr unsigned pieces_a_trial = 32;
  static constexpr unsigned first_trials = 8;  // soon one after the other
  static constexpr std::size_t bytes_a_trial = std::size_t{1} << 20;
  static constexpr std::size_t trial_bytes = 4096;
  // A writer sees only its own half of the cost. Readers fetch lines from a cache that they do not share with
  // it far more slowly than from memory (five times in all), so ordinary stores have to be that much cheaper
  // here.
  static constexpr std::uint64_t times_cheaper = 2;

  static void store(bool past, unsigned char* to, const unsigned char* from, std::size_t bytes) {
    if (past)
      arch::copy_streaming(to, from, bytes);
    else
      __builtin_memcpy(to, from, bytes);
  }
  [[gnu::noinline, gnu::cold]] void try_one(unsigned char* to, const unsigned char* from, std::size_t bytes) {
    pieces_ = 0;
    bytes_ = 0;
    const unsigned way = trials_ & 1;
    arch::full_fence();
    const std::uint64_t start = arch::cycles();
    store(way == 1, to, from, bytes);
    arch::full_fence();
    const std::uint64_t cost = (arch::cycles() - start) * 1024 / bytes + 1;
    // The smaller of the last two: an interrupt makes no decision.
    costs_[way][trials_ >> 1 & 1] = cost;
    if (++trials_ >= first_trials) until_trial_ = pieces_a_trial;
    if (trials_ >= 4) past_caches_ = times_cheaper * least(0) > least(1);
  }
  std::uint64_t least(unsigned way) const {
    return costs_[way][0] < costs_[way][1] ? costs_[way][0] : costs_[way][1];
  }

  std::size_t bytes_ = 0;
  unsigned pieces_ = 0;
  unsigned until_trial_ = 4;
  unsigned trials_ = 0;
  bool past_caches_ = true;
  std::uint64_t costs_[2][2] = {};
};

}  // namespace phicoll
