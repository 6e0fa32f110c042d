#pragma once

// CG of the NAS Parallel Benchmarks (their report, section 2.4): the smallest eigenvalue of a sparse random
// matrix by inverse iteration, each step 25 iterations of conjugate gradients. Barriers stand where
// NPB's OpenMP program has them: five in an inner iteration. Class Y is paper 001's (section 4).

#include <algorithm>
#include <cmath>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/npb_random.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct Cg {
  static ProgramFacts facts() {
    return {"cg", Operation::barrier, "NPB 3, CG; rodchenko-2015, section 4",
            "conjugate gradients on a sparse matrix: five barriers in an inner iteration"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "1,400 rows, 15 outer iterations"},
            {'W', "7,000 rows, 15 outer iterations"},
            {'A', "14,000 rows, 15 outer iterations"},
            {'Y', "240 rows, 300 outer iterations: paper 001's"}};
  }
  struct Problem {
    int rows, nonzeros, iterations;
    double shift, zeta;
  };
  static Problem problem(char letter) {
    switch (letter) {
      case 'W':
        return {7000, 8, 15, 12, 10.362595087124};
      case 'A':
        return {14000, 11, 15, 20, 17.130235054029};
      case 'Y':  // NPB has no value for it; this one is of the same iteration with the dense inverse
        return {240, 2, 300, 5, 2.23266074737866};
      default:
        return {1400, 7, 15, 10, 8.5971775078648};
    }
  }
  static const char* ranks_allowed(char letter, int ranks) {
    return ranks <= problem(letter).rows ? nullptr : "no more ranks than the matrix has rows";
  }
  static std::size_t message_bytes(char) { return 0; }
  static std::size_t shared_bytes(char letter, int ranks) {
    SharedPieces pieces(nullptr);
    SharedSums(pieces, ranks);
    for (int i = 0; i < vectors; ++i) pieces.take<double>(static_cast<std::size_t>(problem(letter).rows));
    return pieces.bytes();
  }
  static constexpr int vectors = 2;  // that all ranks read: p and z

  /// A rank's rows of the matrix, in compressed form, with columns in order.
  class Rows {
   public:
    Rows(const Problem& problem, Share own) : own_(own) {
      const int n = problem.rows;
      NpbRandom random;
      random.next();  // NPB's main program draws one first
      int power = 1;
      while (power < n) power *= 2;
      std::vector<std::vector<Entry>> rows(static_cast<std::size_t>(own.end - own.first));
      const double ratio = std::pow(condition, 1.0 / n);
      double weight = 1;
      for (int i = 0; i < n; ++i, weight *= ratio) {
        const std::vector<Entry> vector = sparse_vector(random, n, problem.nonzeros, power, i);
        for (const Entry& row : vector) {
          if (row.column < own.first || row.column >= own.end) continue;
          for (const Entry& column : vector) {
            double value = column.value * (weight * row.value);
            if (row.column == column.column && row.column == i) value += condition - problem.shift;
            rows[static_cast<std::size_t>(row.column - own.first)].push_back({column.column, value});
          }
        }
      }
      for (std::vector<Entry>& row : rows) {
        starts_.push_back(columns_.size());
        // Stable: what falls on one element is added in the order in which it came.
        std::stable_sort(row.begin(), row.end(),
                         [](const Entry& a, const Entry& b) { return a.column < b.column; });
        for (const Entry& entry : row) {
          if (columns_.size() > starts_.back() && columns_.back() == entry.column) {
            values_.back() += entry.value;
            continue;
          }
          columns_.push_back(entry.column);
          values_.push_back(entry.value);
        }
      }
      starts_.push_back(columns_.size());
    }

    /// result[j] = row j of the matrix times the shared `vector`, for the rank's rows.
    template <class Context>
    void multiply(const Context& context, const double* vector, double* result) const {
      for (long j = own_.first; j < own_.end; ++j) {
        double sum = 0;
        const auto row = static_cast<std::size_t>(j - own_.first);
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
          context.reads(vector + columns_[k], 1);
          sum += values_[k] * vector[columns_[k]];
        }
        context.computes(4 * static_cast<long>(starts_[row + 1] - starts_[row]) + 1);
        result[j - own_.first] = sum;
      }
    }

   private:
    static constexpr double condition = 0.1;
    struct Entry {
      int column;
      double value;
    };
    /// `nonzeros` random elements at random places, and 0.5 at place i.
    static std::vector<Entry> sparse_vector(NpbRandom& random, int n, int nonzeros, int power, int i) {
      std::vector<Entry> vector;
      const auto at = [&vector](int column) {
        return std::find_if(vector.begin(), vector.end(),
                            [column](const Entry& entry) { return entry.column == column; });
      };
      while (static_cast<int>(vector.size()) < nonzeros) {
        const double value = random.next();
        const auto column = static_cast<int>(power * random.next());
        if (column < n && at(column) == vector.end()) vector.push_back({column, value});
      }
      const auto found = at(i);
      if (found != vector.end())
        found->value = 0.5;
      else
        vector.push_back({i, 0.5});
      return vector;
    }

    Share own_;
    std::vector<std::size_t> starts_;
    std::vector<int> columns_;
    std::vector<double> values_;
  };

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter)
        : context_(context),
          problem_(problem(letter)),
          own_(share_of(problem_.rows, context.rank(), context.size())),
          rows_(problem_, own_),
          pieces_(context.shared()),
          sums_(pieces_, context.size()),
          p_(pieces_.take<double>(static_cast<std::size_t>(problem_.rows))),
          z_(pieces_.take<double>(static_cast<std::size_t>(problem_.rows))) {
      for (std::vector<double>* vector : {&x_, &q_, &r_})
        vector->resize(static_cast<std::size_t>(own_.end - own_.first));
    }

    void run() {
      std::fill(x_.begin(), x_.end(), 1.0);
      for (int i = 0; context_.begins_iteration(i, problem_.iterations); ++i) {
        solve();
        double norms[2] = {0, 0};
        context_.reads(mine(z_), x_.size());
        context_.computes(own_operations(5));
        for (std::size_t j = 0; j < x_.size(); ++j) {
          norms[0] += x_[j] * mine(z_)[j];
          norms[1] += mine(z_)[j] * mine(z_)[j];
        }
        sums_.add(context_, norms);
        zeta_ = problem_.shift + 1 / norms[0];
        const double scale = 1 / std::sqrt(norms[1]);
        for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = scale * mine(z_)[j];
        context_.computes(own_operations(2) + 3 * slow_operation);
        context_.barrier();
      }
    }

    ProgramCheck check() const { return {"zeta", zeta_, problem_.zeta, 1e-10}; }

   private:
    /// The rank's own elements of a shared vector.
    double* mine(double* vector) const { return vector + own_.first; }

    /// Operations of a loop over the rank's own elements with so many for each.
    long own_operations(long each) const { return each * (own_.end - own_.first); }

    /// z = about the solution of (matrix) z = x.
    void solve() {
      double* const p = mine(p_);
      double* const z = mine(z_);
      const std::size_t n = x_.size();
      double rho = 0;
      for (std::size_t j = 0; j < n; ++j) {
        z[j] = 0;
        r_[j] = p[j] = x_[j];
        rho += r_[j] * r_[j];
      }
      context_.writes(z, n);
      context_.writes(p, n);
      context_.computes(own_operations(4));
      rho = sums_.add(context_, rho);
      for (int i = 0; i < inner_iterations; ++i) {
        context_.barrier();  // OpenMP's program clears its sums here
        rows_.multiply(context_, p_, q_.data());
        context_.barrier();
        double d = 0;
        for (std::size_t j = 0; j < n; ++j) d += p[j] * q_[j];
        context_.reads(p, n);
        context_.computes(own_operations(3));
        const double alpha = rho / sums_.add(context_, d);
        double next = 0;
        for (std::size_t j = 0; j < n; ++j) {
          z[j] += alpha * p[j];
          r_[j] -= alpha * q_[j];
          next += r_[j] * r_[j];
        }
        context_.reads(p, n);
        context_.reads(z, n);
        context_.writes(z, n);
        context_.computes(own_operations(9) + slow_operation);
        next = sums_.add(context_, next);
        const double beta = next / rho;
        rho = next;
        for (std::size_t j = 0; j < n; ++j) p[j] = r_[j] + beta * p[j];
        context_.reads(p, n);
        context_.writes(p, n);
        context_.computes(own_operations(3) + slow_operation);
        context_.barrier();
      }
      // NPB prints how far the solution is off; it is part of its time.
      rows_.multiply(context_, z_, r_.data());
      context_.barrier();
      double off = 0;
      for (std::size_t j = 0; j < n; ++j) off += (x_[j] - r_[j]) * (x_[j] - r_[j]);
      context_.computes(own_operations(5));
      residual_ = std::sqrt(sums_.add(context_, off));
    }

    static constexpr int inner_iterations = 25;
    Context& context_;
    Problem problem_;
    Share own_;
    Rows rows_;
    SharedPieces pieces_;
    SharedSums sums_;
    double* p_;
    double* z_;
    std::vector<double> x_, q_, r_;
    double zeta_ = 0;
    double residual_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
