#pragma once

// MG of the NAS Parallel Benchmarks (their report, section 2.5): V-cycles of multigrid for a discrete Poisson
// problem on a periodic cube. Barriers stand where NPB's C program with OpenMP has them: after each loop over
// a grid and after each of the three directions of its periodic border. Loops run over pairs of the two outer
// indices, which is collapse(2). Class Y is paper 001's (section 4).

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/npb_random.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct Mg {
  static ProgramFacts facts() {
    return {"mg", Operation::barrier, "NPB 3, MG; rodchenko-2015, section 4",
            "multigrid on a periodic cube: a barrier after each loop over a grid or a side of its border"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "32^3 points, 4 cycles"},
            {'W', "128^3 points, 4 cycles"},
            {'A', "256^3 points, 4 cycles"},
            {'Y', "16^3 points, 800 cycles: paper 001's"}};
  }
  struct Problem {
    int levels;  ///< the finest grid has 2^levels points in each direction
    int cycles;
    double norm, tolerance;
  };
  static Problem problem(char letter) {
    switch (letter) {
      case 'W':
        return {7, 4, 0.6467329375339e-05, 1e-8 * 0.6467329375339e-05};
      case 'A':
        return {8, 4, 0.2433365309069e-05, 1e-8 * 0.2433365309069e-05};
      case 'Y':  // by then nothing is left but what rounding adds in each cycle
        return {4, 800, 0, 1e-14};
      default:
        return {5, 4, 0.5307707005734e-04, 1e-8 * 0.5307707005734e-04};
    }
  }
  static const char* ranks_allowed(char, int) { return nullptr; }

  /// A cube of 2^level points in each direction and a border around it.
  struct Grid {
    double* values;
    int width;  ///< with the border
    double* row(int i3, int i2) const { return values + (i3 * width + i2) * width; }
    std::size_t row_items() const { return static_cast<std::size_t>(width); }
  };
  /// What all ranks share: solution and residual on each level, level 0 unused, and the right-hand side.
  struct Grids {
    Grids(SharedPieces& pieces, char letter) {
      const int finest = problem(letter).levels;
      for (int level = 0; level <= finest; ++level) {
        u.push_back(take(pieces, level));
        r.push_back(take(pieces, level));
      }
      v = take(pieces, finest);
    }
    static Grid take(SharedPieces& pieces, int level) {
      const int width = (1 << level) + 2;
      const auto items = static_cast<std::size_t>(width) * static_cast<std::size_t>(width * width);
      return {pieces.take<double>(items), width};
    }
    std::vector<Grid> u, r;
    Grid v;
  };
  static std::size_t message_bytes(char) { return 0; }
  static std::size_t shared_bytes(char letter, int ranks) {
    SharedPieces pieces(nullptr);
    SharedSums(pieces, ranks);
    Grids(pieces, letter);
    return pieces.bytes();
  }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter)
        : context_(context),
          problem_(problem(letter)),
          pieces_(context.shared()),
          sums_(pieces_, context.size()),
          grids_(pieces_, letter) {
      const auto width = static_cast<std::size_t>(grids_.v.width);
      near_.resize(width);
      far_.resize(width);
      charge();
    }

    void run() {
      const int finest = problem_.levels;
      const std::vector<Grid>& u = grids_.u;
      const std::vector<Grid>& r = grids_.r;
      clear(u.back());
      residual(u.back(), grids_.v, r.back());
      for (int cycle = 0; context_.begins_iteration(cycle, problem_.cycles); ++cycle) {
        for (int k = finest; k > 1; --k) restrict_to(at(r, k), at(r, k - 1));
        clear(at(u, 1));
        smooth(at(r, 1), at(u, 1));
        for (int k = 2; k <= finest; ++k) {
          if (k < finest) clear(at(u, k));
          interpolate(at(u, k - 1), at(u, k));
          residual(at(u, k), k < finest ? at(r, k) : grids_.v, at(r, k));
          smooth(at(r, k), at(u, k));
        }
        residual(u.back(), grids_.v, r.back());
      }
      norm_ = norm(r.back());
    }

    ProgramCheck check() const { return {"norm", norm_, problem_.norm, problem_.tolerance}; }

   private:
    static const Grid& at(const std::vector<Grid>& grids, int level) {
      return grids[static_cast<std::size_t>(level)];
    }

    /// Calls body(i3, i2) for this rank's pairs of 1 to n, and meets the others.
    template <class Body>
    void each_row(int n, Body body) {
      const Share own = share_of(long{n} * n, context_.rank(), context_.size());
      for (long pair = own.first; pair < own.end; ++pair)
        body(static_cast<int>(pair / n) + 1, static_cast<int>(pair % n) + 1);
      context_.barrier();
    }
    /// Calls body(i) for this rank's i of first to last, and meets the others.
    template <class Body>
    void each(int first, int last, Body body) {
      const Share own = share_of(last - first + 1, context_.rank(), context_.size());
      for (long i = own.first; i < own.end; ++i) body(first + static_cast<int>(i));
      context_.barrier();
    }

    /// The right-hand side: 1 where the ten largest of n^3 random numbers stand, -1 at the ten smallest.
    void charge() {
      constexpr std::size_t charges = 10;
      const int n = grids_.v.width - 2;
      std::vector<std::pair<double, long>> largest, smallest;  // the weakest at the heap's front
      NpbRandom random;
      const auto keep = [](std::vector<std::pair<double, long>>& kept, double value, long place) {
        if (kept.size() == charges && value <= kept.front().first) return;
        if (kept.size() == charges) {
          std::pop_heap(kept.begin(), kept.end(), std::greater<std::pair<double, long>>());
          kept.pop_back();
        }
        kept.emplace_back(value, place);
        std::push_heap(kept.begin(), kept.end(), std::greater<std::pair<double, long>>());
      };
      for (long place = 0; place < long{n} * n * n; ++place) {
        const double value = random.next();
        keep(largest, value, place);
        keep(smallest, -value, place);
      }
      clear(grids_.v);
      if (context_.rank() == 0)
        for (std::size_t i = 0; i < charges; ++i)
          for (const auto& one :
               {std::make_pair(1.0, largest[i].second), std::make_pair(-1.0, smallest[i].second)}) {
            const long row = one.second / n;
            grids_.v.row(static_cast<int>(row / n) + 1, static_cast<int>(row % n) + 1)[one.second % n + 1] =
                one.first;
          }
      context_.barrier();
    }

    void clear(const Grid& grid) {
      const std::size_t plane = grid.row_items() * grid.row_items();
      each(0, grid.width - 1, [&, plane](int i3) {
        std::fill_n(grid.row(i3, 0), plane, 0.0);
        context_.writes(grid.row(i3, 0), plane);
      });
    }

    /// The border: each side gets the values of the other's first points inside.
    void wrap(const Grid& grid) {
      const int n = grid.width - 2;
      each_row(n, [&, n](int i3, int i2) {
        double* const row = grid.row(i3, i2);
        copy(row + n, 1, row);
        copy(row + 1, 1, row + n + 1);
      });
      each(1, n, [&, n](int i3) {
        copy(grid.row(i3, n), grid.row_items(), grid.row(i3, 0));
        copy(grid.row(i3, 1), grid.row_items(), grid.row(i3, n + 1));
      });
      each(0, n + 1, [&, n](int i2) {
        copy(grid.row(n, i2), grid.row_items(), grid.row(0, i2));
        copy(grid.row(1, i2), grid.row_items(), grid.row(n + 1, i2));
      });
    }

    void copy(const double* from, std::size_t items, double* to) {
      context_.reads(from, items);
      std::copy_n(from, items, to);
      context_.writes(to, items);
    }

    /// near[i1]: the sum of the four neighbours in the plane across the row; far[i1]: of the four at corners.
    void add_around(const Grid& grid, int i3, int i2) {
      const double* const sides[] = {grid.row(i3, i2 - 1), grid.row(i3, i2 + 1), grid.row(i3 - 1, i2),
                                     grid.row(i3 + 1, i2)};
      const double* const corners[] = {grid.row(i3 - 1, i2 - 1), grid.row(i3 - 1, i2 + 1),
                                       grid.row(i3 + 1, i2 - 1), grid.row(i3 + 1, i2 + 1)};
      for (const double* row : sides) context_.reads(row, grid.row_items());
      for (const double* row : corners) context_.reads(row, grid.row_items());
      context_.reads(grid.row(i3, i2), grid.row_items());
      context_.computes(16L * grid.width);
      for (int i = 0; i < grid.width; ++i) {
        near_[static_cast<std::size_t>(i)] = sides[0][i] + sides[1][i] + sides[2][i] + sides[3][i];
        far_[static_cast<std::size_t>(i)] = corners[0][i] + corners[1][i] + corners[2][i] + corners[3][i];
      }
    }

    /// A row was written, with so many operations for each point.
    void written(const double* row, const Grid& grid, long operations) {
      context_.computes(operations * grid.width);
      context_.writes(row, grid.row_items());
    }

    /// r = v - A u; r may be v.
    void residual(const Grid& u, const Grid& v, const Grid& r) {
      each_row(u.width - 2, [&](int i3, int i2) {
        add_around(u, i3, i2);
        const double* const near = near_.data();
        const double* const far = far_.data();
        const double* const from = u.row(i3, i2);
        const double* const right = v.row(i3, i2);
        double* const to = r.row(i3, i2);
        for (int i = 1; i <= u.width - 2; ++i)
          to[i] = right[i] + 8.0 / 3.0 * from[i] - 1.0 / 6.0 * (far[i] + near[i - 1] + near[i + 1]) -
                  1.0 / 12.0 * (far[i - 1] + far[i + 1]);
        context_.reads(right, v.row_items());
        written(to, r, 16);
      });
      wrap(r);
    }

    /// u += S r: the smoother.
    void smooth(const Grid& r, const Grid& u) {
      each_row(u.width - 2, [&](int i3, int i2) {
        add_around(r, i3, i2);
        const double* const near = near_.data();
        const double* const far = far_.data();
        const double* const from = r.row(i3, i2);
        double* const to = u.row(i3, i2);
        for (int i = 1; i <= u.width - 2; ++i)
          to[i] += -3.0 / 8.0 * from[i] + 1.0 / 32.0 * (from[i - 1] + from[i + 1] + near[i]) -
                   1.0 / 64.0 * (far[i] + near[i - 1] + near[i + 1]);
        context_.reads(to, u.row_items());
        written(to, u, 18);
      });
      wrap(u);
    }

    /// The residual on the next coarser grid: weights 1/2, 1/4, 1/8, 1/16 of a point and those around it.
    void restrict_to(const Grid& fine, const Grid& coarse) {
      each_row(coarse.width - 2, [&](int i3, int i2) {
        add_around(fine, 2 * i3, 2 * i2);
        const double* const near = near_.data();
        const double* const far = far_.data();
        const double* const from = fine.row(2 * i3, 2 * i2);
        double* const to = coarse.row(i3, i2);
        for (int j = 1; j <= coarse.width - 2; ++j) {
          const int i = 2 * j;
          to[j] = 0.5 * from[i] + 0.25 * (from[i - 1] + from[i + 1] + near[i]) +
                  0.125 * (near[i - 1] + near[i + 1] + far[i]) + 0.0625 * (far[i - 1] + far[i + 1]);
        }
        written(to, coarse, 20);
      });
      wrap(coarse);
    }

    /// fine += the trilinear interpolation of coarse, borders included.
    void interpolate(const Grid& coarse, const Grid& fine) {
      const int pairs = coarse.width - 1;
      each_row(pairs, [&, pairs](int above3, int above2) {
        const int i3 = above3 - 1, i2 = above2 - 1;
        for (int d3 = 0; d3 < 2; ++d3)
          for (int d2 = 0; d2 < 2; ++d2) {
            const double weight = (d3 == 0 ? 1 : 0.5) * (d2 == 0 ? 1 : 0.5);
            double* const sum = near_.data();
            std::fill_n(sum, coarse.width, 0.0);
            for (int e3 = 0; e3 <= d3; ++e3)
              for (int e2 = 0; e2 <= d2; ++e2) {
                const double* const from = coarse.row(i3 + e3, i2 + e2);
                context_.reads(from, coarse.row_items());
                for (int i = 0; i < coarse.width; ++i) sum[i] += from[i];
                context_.computes(3L * coarse.width);
              }
            double* const to = fine.row(2 * i3 + d3, 2 * i2 + d2);
            context_.reads(to, fine.row_items());
            for (int i = 0; i < pairs; ++i) {
              to[2 * i] += weight * sum[i];
              to[2 * i + 1] += 0.5 * weight * (sum[i] + sum[i + 1]);
            }
            written(to, fine, 5);
          }
      });
    }

    /// The root of the mean square of a grid's points.
    double norm(const Grid& grid) {
      const int n = grid.width - 2;
      double sum = 0;
      const Share own = share_of(long{n} * n, context_.rank(), context_.size());
      for (long pair = own.first; pair < own.end; ++pair) {
        const double* const row = grid.row(static_cast<int>(pair / n) + 1, static_cast<int>(pair % n) + 1);
        context_.reads(row, grid.row_items());
        context_.computes(3L * n);
        for (int i = 1; i <= n; ++i) sum += row[i] * row[i];
      }
      return std::sqrt(sums_.add(context_, sum) / (static_cast<double>(n) * n * n));
    }

    Context& context_;
    Problem problem_;
    SharedPieces pieces_;
    SharedSums sums_;
    Grids grids_;
    std::vector<double> near_, far_;  // of a row
    double norm_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
