#pragma once

// Particle transport: random walkers of a Monte Carlo simulation in a slab, whose tallies a reduce adds up
// after each batch, as in the code of paper 000, figure 7 (a) (Okten and Srinivasan 2002). A walker's random
// numbers follow from its own number, and positions are whole, so every number of ranks has the same result.

#include <algorithm>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace programs {

struct Transport {
  static ProgramFacts facts() {
    return {"transport", Operation::reduce, "panigrahi-2014, section V; okten-srinivasan-2002",
            "random walkers of a Monte Carlo simulation: a reduce of the tallies after each batch"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "200 batches of 64 walkers"}, {'W', "200 batches of 2,048 walkers"}};
  }
  static const char* ranks_allowed(char, int) { return nullptr; }
  static std::size_t shared_bytes(char, int) { return 0; }
  static std::size_t message_bytes(char) { return tallies * sizeof(double); }
  static constexpr std::size_t cells = 62;
  static constexpr std::size_t tallies = cells + 2;  // walkers absorbed in each cell, and those that left

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char problem)
        : context_(context), walkers_(problem == 'S' ? 64 : 2048), small_(problem == 'S') {}

    void run() {
      std::vector<double> tally(tallies), all(tallies);
      checksum_ = 0;
      const Share own = share_of(walkers_, context_.rank(), context_.size());
      for (int batch = 0; context_.begins_iteration(batch, batches); ++batch) {
        std::fill(tally.begin(), tally.end(), 0.0);
        for (long i = own.first; i < own.end; ++i) tally[walk(batch * walkers_ + i)] += 1;
        context_.reduce(tally.data(), all.data(), tallies, 0);
        if (context_.rank() != 0) continue;
        for (std::size_t i = 0; i < tallies; ++i)
          checksum_ += static_cast<double>((static_cast<std::size_t>(batch) + i) % 97 + 1) * all[i];
      }
    }

    /// Every walker ends in one tally, and the sum weighs them by place and batch.
    ProgramCheck check() const {
      const double expected = small_ ? 618775 : 19898602;
      return {"weighted sum of tallies", context_.rank() == 0 ? checksum_ : expected, expected, 0};
    }

   private:
    static constexpr int batches = 200;
    static constexpr long step_operations = 30;  // of two random numbers and the rest of a step
    static constexpr long width = 1024;          // of a cell

    /// The tally in which a walker ends.
    std::size_t walk(long number) const {
      Random random(mix_seed(2, static_cast<std::uint64_t>(number)));
      long at = static_cast<long>(cells) * width / 2;
      for (;;) {
        context_.computes(step_operations);
        at += static_cast<long>(random.below(8 * width)) - 4 * width;
        if (at < 0) return cells;
        if (at >= static_cast<long>(cells) * width) return cells + 1;
        if (random.below(16) == 0) return static_cast<std::size_t>(at / width);
      }
    }

    Context& context_;
    long walkers_;
    bool small_;
    double checksum_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
