#pragma once

// N-body: the direct simulation of paper 001, section 4. Each rank keeps the state of its particles, reads
// all others' positions and moves its own, so ranks meet twice in a step. With one particle a rank, whose
// state is a line, barriers are as frequent as they can be.

#include <cmath>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace programs {

struct NBody {
  static ProgramFacts facts() {
    return {"nbody", Operation::barrier, "rodchenko-2015, section 4: the NBODY kernel",
            "direct N-body simulation: all particles attract each other, two barriers in a step"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "one particle a rank, 1000 steps"}, {'W', "32 particles a rank, 200 steps"}};
  }
  static const char* ranks_allowed(char, int) { return nullptr; }
  static int particles(char problem) { return problem == 'S' ? 1 : 32; }
  static int steps(char problem) { return problem == 'S' ? 1000 : 200; }

  /// One line.
  struct Particle {
    double at[3];
    double speed[3];
    double mass;
    double unused;
  };
  static_assert(sizeof(Particle) == 64, "a particle is one line");

  static std::size_t message_bytes(char) { return 0; }
  static std::size_t shared_bytes(char problem, int ranks) {
    SharedPieces pieces(nullptr);
    SharedSums(pieces, ranks);
    for (int r = 0; r < ranks; ++r) pieces.take<Particle>(static_cast<std::size_t>(particles(problem)));
    return pieces.bytes();
  }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char problem)
        : context_(context),
          own_(particles(problem)),
          steps_(steps(problem)),
          pieces_(context.shared()),
          sums_(pieces_, context.size()) {
      for (int r = 0; r < context.size(); ++r)
        bodies_.push_back(pieces_.take<Particle>(static_cast<std::size_t>(own_)));
      pull_.resize(static_cast<std::size_t>(3 * own_));
    }

    void run() {
      Particle* const mine = bodies_[static_cast<std::size_t>(context_.rank())];
      for (int i = 0; i < own_; ++i) place(mine[i], context_.rank() * own_ + i);
      written(mine);
      context_.barrier();
      measure(begin_);
      for (int step = 0; context_.begins_iteration(step, steps_); ++step) {
        for (int i = 0; i < own_; ++i) attract(mine[i], &pull_[static_cast<std::size_t>(3 * i)]);
        context_.barrier();  // all have read the positions
        for (int i = 0; i < own_; ++i)
          for (int d = 0; d < 3; ++d) {
            mine[i].speed[d] += time_step * pull_[static_cast<std::size_t>(3 * i + d)];
            mine[i].at[d] += time_step * mine[i].speed[d];
          }
        context_.computes(15L * own_);
        written(mine);
        context_.barrier();  // all have moved
      }
    }

    /// No particle is pushed from outside: the momentum stays. The energy does within the error of the steps.
    ProgramCheck check() {
      double end[5];
      measure(end);
      for (int d = 0; d < 3; ++d)
        if (!(std::fabs(end[d] - begin_[d]) <= 1e-9)) return {"a momentum", end[d], begin_[d], 1e-9};
      return {"energy", end[3], begin_[3], 1e-2 * (std::fabs(begin_[3]) + begin_[4])};
    }

   private:
    static constexpr double time_step = 1e-4;
    static constexpr double softening = 1e-2;  // squared: bounds the force of particles that meet

    void written(const Particle* mine) const { context_.writes(mine, static_cast<std::size_t>(own_)); }

    /// Where particle `number` begins: the same whatever rank has it.
    static void place(Particle& body, int number) {
      Random random(mix_seed(1, static_cast<std::uint64_t>(number)));
      for (int d = 0; d < 3; ++d) body.at[d] = random.unit();
      for (int d = 0; d < 3; ++d) body.speed[d] = 0.1 * (random.unit() - 0.5);
      body.mass = 0.5 + random.unit();
    }

    void attract(const Particle& body, double* pull) const {
      for (int d = 0; d < 3; ++d) pull[d] = 0;
      for (const Particle* others : bodies_) {
        context_.reads(others, static_cast<std::size_t>(own_));
        context_.computes(own_ * (20 + 2 * slow_operation));
        for (int j = 0; j < own_; ++j) {
          double way[3], squared = softening;
          for (int d = 0; d < 3; ++d) {
            way[d] = others[j].at[d] - body.at[d];
            squared += way[d] * way[d];
          }
          const double strength = others[j].mass / (squared * std::sqrt(squared));
          for (int d = 0; d < 3; ++d) pull[d] += strength * way[d];
        }
      }
    }

    /// Momentum, energy and, of it, the energy of motion, of all particles.
    void measure(double (&all)[5]) {
      for (double& value : all) value = 0;
      const Particle* const mine = bodies_[static_cast<std::size_t>(context_.rank())];
      for (int i = 0; i < own_; ++i) {
        for (int d = 0; d < 3; ++d) {
          all[d] += mine[i].mass * mine[i].speed[d];
          all[4] += 0.5 * mine[i].mass * mine[i].speed[d] * mine[i].speed[d];
        }
        for (const Particle* others : bodies_) {
          context_.reads(others, static_cast<std::size_t>(own_));
          context_.computes(own_ * (10 + 2 * slow_operation));
          for (int j = 0; j < own_; ++j) {
            if (others + j == mine + i) continue;
            double squared = softening;
            for (int d = 0; d < 3; ++d)
              squared += (others[j].at[d] - mine[i].at[d]) * (others[j].at[d] - mine[i].at[d]);
            all[3] -= 0.5 * mine[i].mass * others[j].mass / std::sqrt(squared);
          }
        }
      }
      all[3] += all[4];
      sums_.add(context_, all);
    }

    Context& context_;
    int own_, steps_;
    SharedPieces pieces_;
    SharedSums sums_;
    std::vector<Particle*> bodies_;
    std::vector<double> pull_;
    double begin_[5] = {0, 0, 0, 0, 0};
  };
};

}  // namespace programs
}  // namespace phicoll
