#pragma once

// Data-parallel stochastic gradient descent: each rank computes the gradient of its part of a batch, and an
// allreduce adds the gradients, as in the training of neural networks. Here the model is linear.

#include <algorithm>
#include <cmath>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace programs {

struct Sgd {
  static ProgramFacts facts() {
    return {"sgd", Operation::allreduce, "phicoll",
            "data-parallel gradient descent: an allreduce of the gradient in each step"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "1,024 weights, 64 steps"}, {'W', "65,536 weights, 64 steps"}};
  }
  static std::size_t weights(char problem) { return problem == 'S' ? 1024 : 65536; }
  static const char* ranks_allowed(char, int) { return nullptr; }
  static std::size_t shared_bytes(char, int) { return 0; }
  static std::size_t message_bytes(char problem) { return weights(problem) * sizeof(double); }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char problem)
        : context_(context),
          weights_(weights(problem)),
          own_(share_of(batch, context.rank(), context.size())) {
      for (int i = 0; i < batches; ++i)
        for (long sample = own_.first; sample < own_.end; ++sample) {
          Random random(mix_seed(4, static_cast<std::uint64_t>(i * batch + sample)));
          // What a rule with the weights 1, -1, 1, ... makes of the sample: the descent has to find the rule.
          double result = 0;
          for (std::size_t w = 0; w < weights_; ++w) {
            samples_.push_back(random.unit() - 0.5);
            result += w % 2 == 0 ? samples_.back() : -samples_.back();
          }
          results_.push_back(result);
        }
      gradient_.resize(weights_);
      sum_.resize(weights_);
      model_.resize(weights_);
    }

    void run() {
      std::fill(model_.begin(), model_.end(), 0.0);
      const auto own = static_cast<std::size_t>(own_.end - own_.first);
      // The square of a sample's length is about a twelfth of its size: this rate fits a sample in one step.
      const double rate = 12.0 / static_cast<double>(weights_);
      for (std::size_t step = 0; step < steps; ++step) {
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        const std::size_t first = step % batches * own;
        for (std::size_t s = first; s < first + own; ++s) {
          const double* const sample = &samples_[s * weights_];
          double off = -results_[s];
          for (std::size_t w = 0; w < weights_; ++w) off += sample[w] * model_[w];
          for (std::size_t w = 0; w < weights_; ++w) gradient_[w] += off * sample[w];
        }
        context_.allreduce(gradient_.data(), sum_.data(), weights_);
        for (std::size_t w = 0; w < weights_; ++w) model_[w] -= rate * sum_[w];
      }
    }

    /// How far the model is off on the last batch. The samples are fewer than the weights, so it gets there.
    ProgramCheck check() {
      double off = 0;
      const auto own = static_cast<std::size_t>(own_.end - own_.first);
      const std::size_t first = (steps - 1) % batches * own;
      for (std::size_t s = first; s < first + own; ++s) {
        double one = -results_[s];
        for (std::size_t w = 0; w < weights_; ++w) one += samples_[s * weights_ + w] * model_[w];
        off += one * one;
      }
      std::fill(gradient_.begin(), gradient_.end(), 0.0);
      gradient_[0] = off;
      context_.allreduce(gradient_.data(), sum_.data(), weights_);
      return {"error of the model", std::sqrt(sum_[0] / batch), 0, 1e-3};
    }

   private:
    static constexpr int batches = 4;
    static constexpr long batch = 32;
    static constexpr std::size_t steps = 64;
    Context& context_;
    std::size_t weights_;
    Share own_;
    std::vector<double> samples_, results_, gradient_, sum_, model_;
  };
};

}  // namespace programs
}  // namespace phicoll
