#pragma once

// SIMD barrier: the arrival bytes of 64 ranks lie in one line, and one vector compare checks them all. After
// Caballero, Duran and Martorell (2013), which rodchenko-2015 names without defining it; the structure is our
// reading.
//
// The lowest of each group of 64 ranks, its master, checks the group's line. Above 64 ranks the masters set a
// byte each in a line of their own, which rank 0 checks; it then stores one release line for each group.
// Bytes with a writer each share a line without an atomic operation: that is the point of the algorithm.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct SimdFlags : AlgorithmDefaults {
  struct Parameters {
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"simd-flags", Origin::paper, "caballero-2013, after rodchenko-2015 section 6",
            "64 arrival bytes in a line, checked by one vector compare; one release line for each 64 ranks"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_store(visitor, p.store);
  }

  static constexpr int group_ranks = 64;
  static_assert(max_ranks <= group_ranks * group_ranks, "the masters' bytes fit in one line");
  using Arrivals = StridedLines<ByteLine>;
  using Releases = StridedLines<SoleWriterLine<std::uint64_t>>;  // written by rank 0 alone
  static int groups(int size) { return (size + group_ranks - 1) / group_ranks; }
  static std::size_t releases_offset(const Shape& shape) {
    return Arrivals::bytes(shape, groups(shape.size()) + 1);
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return releases_offset(shape) + Releases::bytes(shape, groups(shape.size()));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : masters_line_(&Arrivals(setup, 0)[0]),
          group_line_(&Arrivals(setup, 0)[1 + setup.rank / group_ranks]),
          releases_(setup, releases_offset(setup.shape)),
          rank_(setup.rank),
          group_(setup.rank / group_ranks),
          groups_(groups(setup.size())),
          store_(p.store) {
      const int first = group_ * group_ranks;
      const int last = (first + group_ranks < setup.size() ? first + group_ranks : setup.size()) - 1;
      group_mask_ = others(last - first + 1);
    }

    void operator()(Port& port) {
      ++episode_;
      // One byte of the episode's number: a rank is never two episodes ahead of another, so equality decides.
      const auto arrived = static_cast<std::uint8_t>(episode_);
      if (rank_ % group_ranks != 0) {
        port.signal(group_line_->bytes[rank_ % group_ranks], arrived);
      } else {
        // Acquires all bytes of the line at once, and with the byte or the release line below hands on what
        // their writers had written.
        if (group_mask_ != 0) port.wait_line(*group_line_, group_mask_, arrived);
        if (rank_ != 0) {
          port.signal(masters_line_->bytes[group_], arrived);
        } else {
          if (groups_ > 1) port.wait_line(*masters_line_, others(groups_), arrived);
          for (int g = 0; g < groups_; ++g) port.signal(releases_[g], episode_, store_);
          return;
        }
      }
      port.wait(releases_[group_].word, at_least(episode_), 0);
    }

   private:
    /// Bits 1 to count-1: all members of a group but its master.
    static std::uint64_t others(int count) {
      return (~std::uint64_t{0} >> (group_ranks - count)) & ~std::uint64_t{1};
    }

    ByteLine* masters_line_;
    ByteLine* group_line_;
    Releases releases_;
    std::uint64_t episode_ = 0;
    std::uint64_t group_mask_;
    int rank_;
    int group_;
    int groups_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
