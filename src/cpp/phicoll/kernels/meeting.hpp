#pragma once

// Brings the ranks of a kernel together, and starts them together by time stamp (paper 004, section 3.2). The
// simplest barrier, with one line per rank, outside of what is timed. The last rank gathers, since no kernel
// makes it the owner of anything that others read.

#include <cstddef>
#include <cstdint>

#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {
namespace kernels {

class Meeting {
 public:
  /// At the front of a kernel's memory.
  static constexpr std::size_t footprint(int ranks) {
    return whole_pages(static_cast<std::size_t>(ranks) * sizeof(Strided<Flag>));
  }

  explicit Meeting(const KernelRun& run)
      : flags_(reinterpret_cast<Strided<Flag>*>(run.memory)),
        rank_(run.rank),
        root_(run.ranks - 1),
        start_ticks_(run.start_ticks) {}

  /// No rank leaves before all have come; what was written before is visible after.
  template <class Port>
  void meet(Port& port) {
    gather(port);
    if (rank_ == root_) port.signal(flag(root_).episode, episode_);
  }

  /// The same, with a time stamp at which something starts: a rank that starts nothing goes on at once.
  template <class Port>
  std::int64_t agree(Port& port) {
    gather(port);
    if (rank_ == root_) {
      port.store_relaxed(flag(root_).start, static_cast<std::uint64_t>(port.ticks() + start_ticks_));
      port.signal(flag(root_).episode, episode_);
    }
    return static_cast<std::int64_t>(port.load_relaxed(flag(root_).start));
  }

  /// The same, and waits for the stamp, which it returns.
  template <class Port>
  std::int64_t start(Port& port, RankSamples& samples) {
    const std::int64_t at = agree(port);
    if (port.ticks() > at) ++samples.late;
    port.wait_until(at);
    return at;
  }

 private:
  struct alignas(arch::line_bytes) Flag {
    Word<std::uint64_t> episode;
    Word<std::uint64_t> start;  // stays until all have come to the next meeting
  };

  Flag& flag(int rank) { return flags_[rank].value; }

  template <class Port>
  void gather(Port& port) {
    ++episode_;
    if (rank_ == root_) {
      for (int r = 0; r < root_; ++r) port.wait(flag(r).episode, at_least(episode_), r);
      return;
    }
    port.signal(flag(rank_).episode, episode_);
    port.wait(flag(root_).episode, at_least(episode_), root_);
  }

  Strided<Flag>* flags_;
  int rank_;
  int root_;
  std::int64_t start_ticks_;
  std::uint64_t episode_ = 0;
};

}  // namespace kernels
}  // namespace phicoll
