#pragma once

// The hand-written reference for barriers: loops, inlined where they are timed, without checks, policies or
// parameters. They answer "what could a person write for exactly this case?", so they are not in the
// registry.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace measure {

using HandWord = std::atomic<std::uint64_t>;

struct alignas(arch::line_bytes) HandLine {
  HandWord words[arch::line_bytes / sizeof(HandWord)];
};

/// Two ranks that store the episode, their count of barriers, for each other.
class HandPair {
 public:
  HandPair(HandWord* own, HandWord* other) : own_(own), other_(other) {}
  void operator()() {
    // Locals, because for all the compiler knows a store to a flag could change the members.
    const std::uint64_t episode = ++episode_;
    const HandWord* const other = other_;
    own_->store(episode, std::memory_order_release);
    while (other->load(std::memory_order_acquire) < episode) {
    }
  }

 private:
  HandWord* own_;
  HandWord* other_;
  std::uint64_t episode_ = 0;
};

/// Both flags lie in one line on purpose. The line that brings the partner's flag is also the one to which a
/// rank stores its own next, so a barrier costs one transfer.
class HandOneLine : public HandPair {
 public:
  HandOneLine(unsigned char* memory, int rank)
      : HandPair(&reinterpret_cast<HandLine*>(memory)->words[rank],
                 &reinterpret_cast<HandLine*>(memory)->words[1 - rank]) {}
};

/// Each flag has a line (and a pair of lines) of its own: better if there is time between barriers.
class HandTwoLines : public HandPair {
 public:
  HandTwoLines(unsigned char* memory, int rank)
      : HandPair(&reinterpret_cast<HandLine*>(memory)[2 * rank].words[0],
                 &reinterpret_cast<HandLine*>(memory)[2 * (1 - rank)].words[0]) {}
};

/// For ranks that share CPUs: the ranks of a CPU meet at its counter, then the CPUs meet. A rank that waits
/// for its own CPU's ranks yields at once. The last to arrive on a CPU spins until the other CPUs have
/// arrived, since no other rank on its CPU can go on before it.
class HandCounterPerCpu {
 public:
  HandCounterPerCpu(unsigned char* memory, int rank, const Shape& shape) {
    const std::vector<int> group = shape.groups(Level::cpu);
    for (int g : group) cpus_ = g + 1 > cpus_ ? g + 1 : cpus_;
    const int own = group[static_cast<std::size_t>(rank)];
    for (int g : group) here_ += g == own ? 1 : 0;
    auto* lines = reinterpret_cast<HandLine*>(memory);
    all_ = &lines[0].words[0];
    // The flags of two CPUs share a line, as in HandOneLine.
    pair_own_ = &lines[0].words[own % 8];
    pair_other_ = &lines[0].words[1 - own % 2];
    released_ = &lines[2].words[0];
    count_ = &lines[4 + 4 * own].words[0];
    own_released_ = &lines[6 + 4 * own].words[0];
  }
  static std::size_t footprint(const Shape& shape) {
    return sizeof(HandLine) * (8 + 4 * static_cast<std::size_t>(shape.size()));
  }
  void operator()() {
    ++episode_;
    if (count_->fetch_add(1, std::memory_order_acq_rel) + 1 != episode_ * here_) {
      while (own_released_->load(std::memory_order_acquire) < episode_) sched_yield();
      return;
    }
    if (cpus_ == 2) {
      pair_own_->store(episode_, std::memory_order_release);
      while (pair_other_->load(std::memory_order_acquire) < episode_) {
      }
    } else if (cpus_ > 2) {
      const auto wanted = episode_ * static_cast<std::uint64_t>(cpus_);
      if (all_->fetch_add(1, std::memory_order_acq_rel) + 1 == wanted)
        released_->store(episode_, std::memory_order_release);
      else
        while (released_->load(std::memory_order_acquire) < episode_) {
        }
    }
    own_released_->store(episode_, std::memory_order_release);
  }

 private:
  HandWord *all_, *pair_own_, *pair_other_, *released_, *count_, *own_released_;
  std::uint64_t here_ = 0;
  int cpus_ = 0;
  std::uint64_t episode_ = 0;
};

/// For ranks that share CPUs: one flag per rank, one line for up to eight ranks of a CPU. A rank first waits
/// for the ranks of its own CPU, yielding at once, then for all others, polling a while before it yields.
class HandFlatFlags {
 public:
  HandFlatFlags(unsigned char* memory, int rank, const Shape& shape) {
    const std::vector<int> group = shape.groups(Level::cpu);
    const auto size = static_cast<std::size_t>(shape.size());
    std::vector<std::size_t> place(size);
    std::size_t next = 0;
    int groups = 0;
    for (int g : group) groups = g + 1 > groups ? g + 1 : groups;
    for (int g = 0; g < groups; ++g) {
      for (std::size_t r = 0; r < size; ++r)
        if (group[r] == g) place[r] = next++;
      next = (next + 7) / 8 * 8;  // the next CPU's flags begin a new line
    }
    auto* words = reinterpret_cast<HandWord*>(memory);
    own_ = words + place[static_cast<std::size_t>(rank)];
    for (std::size_t r = 0; r < size; ++r) {
      if (static_cast<int>(r) == rank) continue;
      const bool same = group[r] == group[static_cast<std::size_t>(rank)];
      (same ? near_ : far_).push_back(words + place[r]);
    }
  }
  static std::size_t footprint(const Shape& shape) {
    return sizeof(HandLine) * static_cast<std::size_t>(shape.size());
  }
  void operator()() {
    ++episode_;
    own_->store(episode_, std::memory_order_release);
    for (HandWord* flag : near_)
      while (flag->load(std::memory_order_acquire) < episode_) sched_yield();
    for (HandWord* flag : far_) {
      unsigned looks = 0;
      while (flag->load(std::memory_order_acquire) < episode_)
        if (++looks > 64) sched_yield();
    }
  }

 private:
  HandWord* own_;
  std::vector<HandWord*> near_, far_;
  std::uint64_t episode_ = 0;
};

}  // namespace measure
}  // namespace phicoll
