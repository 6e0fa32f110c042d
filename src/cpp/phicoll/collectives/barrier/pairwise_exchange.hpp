#pragma once

// Pairwise-exchange barrier. Source: velamati-2007 section 3.2 ("PE"): the ranks form a hypercube and
// exchange flags with neighbours, dimension after dimension. With q the largest power of two up to P, rank
// q+i reports to rank i and is released by it at the end: floor(lg P) steps, 2 more unless P is a power of
// two (the paper prints a ceiling).
//
// A flag that its reader unsets cannot serve two episodes in a row: its neighbour may leave and set it again
// before the reader has looked. Default: the serial numbers of section 3.1. `reset=sense` alternates two sets
// of flags.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct PairwiseExchange : AlgorithmDefaults {
  enum class Layout : unsigned char { line_per_round, packed };

  struct Parameters {
    Layout layout = Layout::line_per_round;
    Reset reset = Reset::episode;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"pairwise-exchange", Origin::paper, "velamati-2007 section 3.2, PE",
            "ranks exchange flags with their neighbour along one dimension of a hypercube after another"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("layout", p.layout, {"line-per-round", "packed"},
                   "a line for each flag, or 16-byte entries without padding");
    describe_reset(visitor, p.reset);
    describe_store(visitor, p.store);
  }

  static const char* refuse(const Parameters& p) {
    return p.store != StorePolicy::plain && p.layout == Layout::packed
               ? "store=plain unless layout=line-per-round, where a flag owns its line"
               : nullptr;
  }

  /// floor(lg P).
  static int dimensions(int size) {
    int d = 0;
    while ((2 << d) <= size) ++d;
    return d;
  }
  // A flag for each dimension and one for the fold: a rank below q hears in it from q+i, the others their
  // release.
  static std::size_t flags_a_set(int size) { return static_cast<std::size_t>(dimensions(size)) + 1; }
  static std::size_t sets(const Parameters& p) { return p.reset == Reset::sense ? 2 : 1; }
  static std::size_t flag_offset(const Parameters& p, const Shape& shape, int rank, std::size_t set,
                                 int index) {
    const std::size_t bytes = p.layout == Layout::packed ? 16 : shape.stride();
    return ((static_cast<std::size_t>(rank) * sets(p) + set) * flags_a_set(shape.size()) +
            static_cast<std::size_t>(index)) *
           bytes;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return flag_offset(p, shape, shape.size(), 0, 0) + shape.stride();
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup) : reset_(p.reset), store_(p.store) {
      const int n = setup.size();
      const int dims = dimensions(n);
      const int q = 1 << dims;
      for (std::size_t set = 0; set < sets(p); ++set) {
        const auto flag = [&](int rank, int index) {
          return setup.at<Flag>(flag_offset(p, setup.shape, rank, set, index));
        };
        const bool folded = setup.rank >= q;
        const int other = folded ? setup.rank - q : setup.rank + q;
        const bool has_other = folded || other < n;
        if (folded) {
          steps_.push_back(Step{flag(other, dims), flag(setup.rank, dims), other});
        } else {
          if (has_other) steps_.push_back(Step{nullptr, flag(setup.rank, dims), other});
          for (int d = 0; d < dims; ++d) {
            const int peer = setup.rank ^ (1 << d);
            steps_.push_back(Step{flag(peer, d), flag(setup.rank, d), peer});
          }
          if (has_other) steps_.push_back(Step{flag(other, dims), nullptr, other});
        }
      }
      steps_a_set_ = steps_.size() / sets(p);
    }

    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode) {
        run(port, steps_.data(), at_least(episode_));
      } else {
        const std::uint64_t sense = 1 - ((episode_ - 1) >> 1 & 1);
        run(port, steps_.data() + ((episode_ - 1) & 1) * steps_a_set_, equal<std::uint64_t>(sense));
      }
    }

   private:
    using Flag = Word<std::uint64_t>;
    struct Step {
      Flag* tell;  // null: only hear
      Flag* hear;  // null: only tell
      int peer;
    };

    void run(Port& port, const Step* step, Condition<std::uint64_t> heard) {
      for (const Step* const end = step + steps_a_set_; step != end; ++step) {
        if (step->tell != nullptr) {
          if (__builtin_expect(store_ == StorePolicy::plain, 1)) {
            port.signal(*step->tell, heard.value);
          } else {
            port.signal(*reinterpret_cast<SoleWriterLine<std::uint64_t>*>(step->tell), heard.value, store_);
          }
        }
        if (step->hear != nullptr) port.wait(*step->hear, heard, step->peer);
      }
    }

    std::uint64_t episode_ = 0;
    AlignedVector<Step> steps_;
    std::size_t steps_a_set_ = 0;
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
