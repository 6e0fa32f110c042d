#pragma once

// What a kernel provides, which all ranks run together with equal arguments. It touches shared memory through
// its port alone, so it measures real and simulated machines.
//
//     struct PingPong {
//       static KernelFacts facts();
//       struct Parameters { ... };
//       template <class Visitor> static void describe(Visitor&, Parameters&);  // contract/parameters.hpp
//       static const char* ranks_allowed(const Parameters&, int ranks);        // null: yes
//       static std::size_t footprint(const Parameters&, int ranks);            // of shared memory
//       static const char* where(const Parameters&);                           // default placement
//       static int per_sample(const Parameters&, int ranks);                   // divisor of a sample
//       static std::size_t bytes(const Parameters&);                           // of a sample
//       template <class Port> static void run(Port&, const Parameters&, const KernelRun&, RankSamples&);
//     };

#include <cstddef>
#include <cstdint>
#include <vector>

namespace phicoll {
namespace kernels {

struct KernelFacts {
  const char* name;
  const char* source;   ///< paper by author and year with the section
  const char* summary;  ///< one sentence
  const char* sample;   ///< what one sample is
};

/// One rank's side of a run.
struct KernelRun {
  int rank;
  int ranks;
  unsigned char* memory;  ///< `footprint` bytes, zeroed, aligned to a page
  int samples;
  std::uint64_t seed;        ///< of the addresses
  std::int64_t start_ticks;  ///< from the moment when all ranks have come to the common start
};

/// What a rank measured: raw, in order, in ticks of its port; empty on ranks that only help.
struct RankSamples {
  std::vector<std::int64_t> ticks;
  std::uint64_t late = 0;   ///< samples whose common start this rank came too late for (kept)
  std::uint64_t wrong = 0;  ///< samples after which the data were not what they must be
  /// Empty regions that this rank timed before its first sample: the time of the stamps around a sample,
  /// which every sample includes.
  std::vector<std::int64_t> empty;
};

/// Pools of lines begin on pages.
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace kernels
}  // namespace phicoll
