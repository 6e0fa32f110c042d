#pragma once

// Jacobi's method for Laplace's equation on a square, the stencil that people run: the grid is divided by
// rows, neighbours exchange the rows at their borders by messages in each step, and an allreduce adds up what
// the step has changed, as programs do that stop once it is small.

#include <algorithm>
#include <cmath>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct Jacobi {
  static ProgramFacts facts() {
    return {
        "jacobi", Operation::allreduce, "phicoll",
        "2-D Jacobi by rows: neighbours exchange halos by messages, an allreduce of the change in each step"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "128^2 points, 50 steps"}, {'W', "1,024^2 points, 50 steps"}};
  }
  static int points(char problem) { return problem == 'S' ? 128 : 1024; }
  static constexpr int steps = 50;
  static const char* ranks_allowed(char problem, int ranks) {
    return ranks <= points(problem) ? nullptr : "no more ranks than the grid has rows";
  }
  static std::size_t shared_bytes(char, int) { return 0; }
  static std::size_t message_bytes(char) { return sizeof(double); }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char problem)
        : context_(context),
          n_(points(problem)),
          own_(share_of(n_, context.rank(), context.size())),
          rows_(static_cast<std::size_t>(own_.end - own_.first)),
          width_(static_cast<std::size_t>(n_) + 2),
          now_((rows_ + 2) * width_),
          next_(now_.size()) {}

    void run() {
      std::fill(now_.begin(), now_.end(), 0.0);
      std::fill(next_.begin(), next_.end(), 0.0);
      for (std::size_t i = 1; i <= rows_; ++i)
        for (std::size_t j = 1; j <= static_cast<std::size_t>(n_); ++j) now_[i * width_ + j] = begin(i, j);
      for (int step = 0; step < steps; ++step) {
        exchange_halos();
        double change = 0;
        for (std::size_t i = 1; i <= rows_; ++i)
          for (std::size_t j = i * width_ + 1; j < (i + 1) * width_ - 1; ++j) {
            next_[j] = 0.25 * (now_[j - width_] + now_[j + width_] + now_[j - 1] + now_[j + 1]);
            change += (next_[j] - now_[j]) * (next_[j] - now_[j]);
          }
        context_.allreduce(&change, &change_, 1);
        now_.swap(next_);
      }
    }

    /// The grid begins as an eigenvector of a step, which multiplies it by its eigenvalue, and so the change.
    ProgramCheck check() {
      const double factor = std::cos(angle());
      const double scale = std::pow(factor, steps);
      double off = 0, all = 0;
      for (std::size_t i = 1; i <= rows_; ++i)
        for (std::size_t j = 1; j <= static_cast<std::size_t>(n_); ++j)
          off += std::fabs(now_[i * width_ + j] - scale * begin(i, j));
      context_.allreduce(&off, &all, 1);
      if (!(all <= 1e-8)) return {"distance of the grid from the solution", all, 0, 1e-8};
      // The squares of the eigenvector's items add up to ((n + 1) / 2)^2.
      const double last = scale / factor * (1 - factor) * 0.5 * (n_ + 1);
      return {"last step's change", change_, last * last, 1e-9 * last * last};
    }

   private:
    double angle() const { return std::acos(-1.0) / (n_ + 1); }
    /// The value at row i of the rank's rows, both counted from 1.
    double begin(std::size_t i, std::size_t j) const {
      return std::sin(angle() * static_cast<double>(static_cast<std::size_t>(own_.first) + i)) *
             std::sin(angle() * static_cast<double>(j));
    }

    /// The first own row goes up and the last one down; those of the neighbours come around them.
    void exchange_halos() {
      const int up = context_.rank() - 1;
      const int down = context_.rank() + 1 < context_.size() ? context_.rank() + 1 : -1;
      const std::size_t bytes = width_ * sizeof(double);
      context_.exchange(&now_[width_], up, &now_[(rows_ + 1) * width_], down, bytes);
      context_.exchange(&now_[rows_ * width_], down, &now_[0], up, bytes);
    }

    Context& context_;
    int n_;
    Share own_;
    std::size_t rows_, width_;
    std::vector<double> now_, next_;  // the rank's rows, with a border all around
    double change_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
