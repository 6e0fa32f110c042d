#pragma once

// What ranks that are forked processes have measured, for the process that forked them.

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace kernels {

/// Memory with a place for each rank's samples. It is made before the fork, so all have it at one address. A
/// rank writes its place, and ends; who waited for that end reads it.
class SamplesOfProcesses {
 public:
  /// Throws ResourceError.
  SamplesOfProcesses(int ranks, int samples)
      : samples_(static_cast<std::size_t>(samples)),
        stride_(whole_pages(sizeof(Head) + samples_ * sizeof(std::int64_t))),
        memory_(os::SharedMemory::create("phicoll-samples", static_cast<std::size_t>(ranks) * stride_)) {
    memory_.reserve(0, memory_.size());
  }

  void put(int rank, const RankSamples& samples) {
    assert(samples.ticks.size() <= samples_ && samples.empty.size() <= most_empty);
    Head& head = of(rank);
    head.late = samples.late;
    head.wrong = samples.wrong;
    head.empty_count = samples.empty.size();
    std::copy(samples.empty.begin(), samples.empty.end(), head.empty);
    head.count = samples.ticks.size();
    std::copy(samples.ticks.begin(), samples.ticks.end(), ticks(head));
  }

  RankSamples get(int rank) {
    Head& head = of(rank);
    RankSamples samples;
    samples.late = head.late;
    samples.wrong = head.wrong;
    samples.empty.assign(head.empty, head.empty + head.empty_count);
    samples.ticks.assign(ticks(head), ticks(head) + head.count);
    return samples;
  }

 private:
  static constexpr std::size_t most_empty = 64;
  struct Head {
    std::uint64_t late;
    std::uint64_t wrong;
    std::size_t empty_count;
    std::size_t count;
    std::int64_t empty[most_empty];
  };

  Head& of(int rank) {
    return *reinterpret_cast<Head*>(static_cast<unsigned char*>(memory_.data()) +
                                    static_cast<std::size_t>(rank) * stride_);
  }
  static std::int64_t* ticks(Head& head) { return reinterpret_cast<std::int64_t*>(&head + 1); }

  std::size_t samples_;
  std::size_t stride_;
  os::SharedMemory memory_;
};

}  // namespace kernels
}  // namespace phicoll
