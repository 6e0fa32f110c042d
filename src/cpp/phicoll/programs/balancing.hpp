#pragma once

// Load balancing of quantum Monte Carlo by the alias method, with an allgather of the ranks' loads: paper
// 000, figure 7 (b) (Sudheer et al. 2013). In each step walkers die or double, and then ranks with too few
// get some from one rank with too many each, so that loads differ by one walker at most.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace programs {

struct Balancing {
  static ProgramFacts facts() {
    return {"balancing", Operation::allgather, "panigrahi-2014, section V; sudheer-2013",
            "quantum Monte Carlo's load balancing by the alias method: an allgather of loads in each step"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "1,000 walkers, 200 steps"}, {'W', "100,000 walkers, 200 steps"}};
  }
  static long walkers(char problem) { return problem == 'S' ? 1000 : 100000; }
  static const char* ranks_allowed(char, int) { return nullptr; }
  /// Walkers of one rank at most: twice its part, with room for a population that grows.
  static std::size_t room(char problem, int ranks) {
    return static_cast<std::size_t>(4 * (walkers(problem) / ranks) + 64);
  }
  static std::size_t shared_bytes(char problem, int ranks) {
    SharedPieces pieces(nullptr);
    for (int i = 0; i < 2 * ranks; ++i) pieces.take<std::uint64_t>(room(problem, ranks));
    return pieces.bytes();
  }
  static std::size_t message_bytes(char) { return sizeof(std::int64_t); }

  /// `count` walkers, from `first` on, go from one rank to another.
  struct Move {
    int from, to;
    std::int64_t first, count;
  };
  /// The alias method: a rank with too few is filled by one with too many, which may then be short itself.
  /// `loads` become the numbers of its own walkers that each rank keeps.
  static std::vector<Move> plan(std::vector<std::int64_t>& loads) {
    const auto ranks = static_cast<int>(loads.size());
    std::int64_t all = 0;
    for (const std::int64_t load : loads) all += load;
    std::vector<std::int64_t> over(loads.size());  // present walkers above the rank's part
    std::vector<int> few, many;
    for (int r = 0; r < ranks; ++r) {
      const Share part = share_of(static_cast<long>(all), r, ranks);
      over[static_cast<std::size_t>(r)] = loads[static_cast<std::size_t>(r)] - (part.end - part.first);
      if (over[static_cast<std::size_t>(r)] < 0) few.push_back(r);
      if (over[static_cast<std::size_t>(r)] > 0) many.push_back(r);
    }
    std::vector<Move> moves;
    while (!few.empty()) {
      const int to = few.back(), from = many.back();
      few.pop_back();
      const auto t = static_cast<std::size_t>(to), f = static_cast<std::size_t>(from);
      const std::int64_t count = -over[t];
      loads[f] -= count;
      moves.push_back({from, to, loads[f], count});
      over[t] = 0;
      over[f] -= count;
      if (over[f] > 0) continue;
      many.pop_back();
      if (over[f] < 0) few.push_back(from);
    }
    return moves;
  }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char problem) : context_(context), problem_(problem) {
      SharedPieces pieces(context.shared());
      for (int i = 0; i < 2 * context.size(); ++i)
        held_.push_back(pieces.take<std::uint64_t>(room(problem, context.size())));
    }

    /// A rank's walkers after their births and deaths lie in one of two shared lists by turns.
    /// 1. The allgather tells all ranks that the lists are written.
    /// 2. A list is written again two steps later, after an allgather that no rank enters before it has read.
    void run() {
      const auto own = static_cast<std::size_t>(context_.rank());
      const Share part = share_of(walkers(problem_), context_.rank(), context_.size());
      std::vector<std::uint64_t> mine;
      for (long i = part.first; i < part.end; ++i) mine.push_back(mix_seed(3, static_cast<std::uint64_t>(i)));
      std::vector<std::int64_t> loads(static_cast<std::size_t>(context_.size()));
      for (int step = 0; context_.begins_iteration(step, steps); ++step) {
        std::uint64_t* const* const lists = &held_[step % 2 == 0 ? 0 : loads.size()];
        const std::int64_t load = branch(mine, lists[own], static_cast<std::uint64_t>(step));
        context_.writes(lists[own], static_cast<std::size_t>(load));
        context_.computes(branch_operations * static_cast<long>(mine.size()));
        context_.allgather(&load, loads.data(), sizeof load);
        const std::vector<Move> moves = plan(loads);
        context_.computes(plan_operations * static_cast<long>(loads.size()));
        mine.assign(lists[own], lists[own] + loads[own]);
        for (const Move& move : moves)
          if (move.to == context_.rank()) {
            const std::uint64_t* const from = lists[move.from] + move.first;
            context_.reads(from, static_cast<std::size_t>(move.count));
            mine.insert(mine.end(), from, from + move.count);
          }
      }
      // Numbers of walkers, and what identifies them, are whole and small enough to add up exactly.
      std::uint64_t sum = 0;
      for (const std::uint64_t walker : mine) sum += walker >> 32;
      std::int64_t ends[2] = {static_cast<std::int64_t>(mine.size()), static_cast<std::int64_t>(sum)};
      sum_ = 0;
      std::int64_t least = INT64_MAX, most = 0;
      for (const std::int64_t end : ends) {
        context_.allgather(&end, loads.data(), sizeof end);
        if (&end == &ends[0]) {
          least = *std::min_element(loads.begin(), loads.end());
          most = *std::max_element(loads.begin(), loads.end());
        } else {
          for (const std::int64_t one : loads) sum_ += static_cast<double>(one);
        }
      }
      apart_ = static_cast<double>(most - least);
    }

    ProgramCheck check() const {
      if (apart_ > 1) return {"difference of two loads", apart_, 0, 1};
      return {"sum of walkers", sum_, problem_ == 'S' ? 1806634922290.0 : 210337041841914.0, 0};
    }

   private:
    static constexpr int steps = 200;
    static constexpr long branch_operations = 40;  // of a walker: random numbers, mostly
    static constexpr long plan_operations = 10;    // of a rank

    /// Writes what becomes of the walkers in a step: a tenth die, a tenth double. Returns their number.
    std::int64_t branch(const std::vector<std::uint64_t>& mine, std::uint64_t* to, std::uint64_t step) const {
      const std::size_t most = room(problem_, context_.size());
      std::size_t count = 0;
      for (const std::uint64_t walker : mine) {
        const std::uint64_t chance = Random(mix_seed(walker, step)).below(10);
        for (std::uint64_t child = 0; child < (chance == 0 ? 0u : chance == 1 ? 2u : 1u); ++child)
          if (count < most) to[count++] = mix_seed(walker, step, child + 1);
      }
      return static_cast<std::int64_t>(count);
    }

    Context& context_;
    char problem_;
    std::vector<std::uint64_t*> held_;
    double sum_ = 0;
    double apart_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
