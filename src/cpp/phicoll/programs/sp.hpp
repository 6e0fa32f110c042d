#pragma once

// SP of the NAS Parallel Benchmarks (their report, sections 3 and 4.7.3): the compressible Navier-Stokes
// equations in a cube by an alternating direction implicit method, whose scalar pentadiagonal systems are
// solved along x, y and z. Each rank has a slab of z planes. For the stencils it needs two planes of its
// neighbours, and along z all planes of its share of the rows: by loads, or by get and put (paper 003, 6.2).

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct Sp {
  static ProgramFacts facts() {
    return {
        "sp",
        Operation::barrier,
        "NPB 3, SP; namashivayam-2014, section 6",
        "pentadiagonal solver of a flow: planes of neighbours, and rows across all ranks, by loads or get",
        {{"loads", "loads and stores in the other ranks' memory, as through shmem_ptr"},
         {"get", "what others have is got into buffers, and put back"}}};
  }
  enum Way : int { loads, get };
  static std::vector<ProblemClass> classes() {
    return {{'S', "12^3 points, 100 steps"},
            {'W', "36^3 points, 400 steps"},
            {'A', "64^3 points, 400 steps"},
            {'B', "102^3 points, 400 steps"}};
  }
  static constexpr int fields = 5;
  using Five = std::array<double, fields>;
  struct Problem {
    int points, steps;
    double dt;
    Five residual, error;  ///< that NPB verifies
  };
  static Problem problem(char letter) {
    switch (letter) {
      case 'W':
        return {36,
                400,
                0.0015,
                {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03,
                 0.3143611161242e-02},
                {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04,
                 0.1212845639773e-03}};
      case 'A':
        return {64,
                400,
                0.0015,
                {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179,
                 2.1292113035138280},
                {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
                 4.7671093939528255e-05, 1.3621613399213001e-04}};
      case 'B':
        return {102,
                400,
                0.001,
                {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02,
                 0.5643482272596e+02},
                {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02,
                 0.1847456263981e-01}};
      default:
        return {12,
                100,
                0.015,
                {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
                 1.5840557224455615e-02, 3.4849040609362460e-02},
                {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
                 1.5750704994480102e-05, 3.4177666183390531e-05}};
    }
  }
  static const char* ranks_allowed(char letter, int ranks) {
    return ranks <= problem(letter).points ? nullptr : "no more ranks than there are planes of points";
  }
  static std::size_t message_bytes(char) { return 0; }
  static std::size_t shared_bytes(char letter, int ranks) {
    SharedPieces pieces(nullptr);
    Arrays(pieces, letter, ranks);
    return pieces.bytes();
  }

  /// The flow at a point, and what follows from it.
  struct Point {
    Five u;  ///< density, momentum, energy
    double inverse_density;
    double velocity[3];
    double square;  ///< half of momentum times velocity
    double q;       ///< square / density
    double speed;   ///< of sound
  };
  struct Arrays {
    Arrays(SharedPieces& pieces, char letter, int ranks) : sums(pieces, ranks) {
      const auto n = static_cast<std::size_t>(problem(letter).points);
      points = pieces.take<Point>(n * n * n);
      change = pieces.take<Five>(n * n * n);
      for (int r = 0; r < ranks; ++r) {
        got_points.push_back(pieces.take<Point>(4 * n * n));
        got_changes.push_back(pieces.take<Five>(n * n));
      }
    }
    SharedSums sums;
    Point* points;
    Five* change;  ///< the right-hand side, and at last what a step adds to u
    /// Each rank's buffers for what it gets: neighbours' planes, or one row of all planes.
    std::vector<Point*> got_points;
    std::vector<Five*> got_changes;
  };

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter, int way)
        : context_(context),
          way_(way),
          problem_(problem(letter)),
          n_(problem_.points),
          h_(1.0 / (n_ - 1)),
          planes_(share_of(n_, context.rank(), context.size())),
          rows_(share_of(n_, context.rank(), context.size())),
          memory_(context.shared()),
          arrays_(memory_, letter, context.size()),
          got_points_(arrays_.got_points[static_cast<std::size_t>(context.rank())]),
          got_changes_(arrays_.got_changes[static_cast<std::size_t>(context.rank())]),
          forcing_(plane_points() * own_planes()),
          matrix_(3 * static_cast<std::size_t>(n_)) {
      force();
    }

    /// 1. A rank writes its own planes, and in solve_z the changes in its rows of all planes.
    /// 2. Stencils read others' planes after the barrier that follows `derive`; they are written again after
    ///    two more. Changes go from their planes' owner to their rows' and back across a barrier each.
    void run() {
      initialize();
      for (int step = 0; context_.begins_iteration(step, problem_.steps); ++step) {
        compute_change();
        solve_planes();
        context_.barrier();
        solve_rows();
        context_.barrier();
        add_change();
      }
    }

    /// The root mean square of the last change's rate and of the error, each field against NPB's.
    ProgramCheck check() {
      compute_change();
      double residual[fields] = {}, error[fields] = {};
      each_point(planes_, [&](int i, int j, int k) {
        const Five exact = solution(i, j, k);
        for (std::size_t m = 0; m < fields; ++m) {
          const double off = at(i, j, k).u[m] - exact[m];
          error[m] += off * off;
          if (inside(i, j, k)) residual[m] += change(i, j, k)[m] * change(i, j, k)[m];
        }
      });
      arrays_.sums.add(context_, residual);
      arrays_.sums.add(context_, error);
      double worst = 0;
      const double inner = static_cast<double>(n_ - 2) * (n_ - 2) * (n_ - 2);
      for (std::size_t m = 0; m < fields; ++m) {
        const double rate = std::sqrt(residual[m] / inner) / problem_.dt, off = std::sqrt(error[m] / inner);
        for (const double apart : {rate / problem_.residual[m] - 1, off / problem_.error[m] - 1})
          if (!(std::fabs(apart) <= worst)) worst = std::fabs(apart);
      }
      return {"largest deviation of residuals and errors", worst, 0, 1e-8};
    }

   private:
    // The report's constants.
    static constexpr double c1 = 1.4, c2 = 0.4, c1c5 = 1.4 * 1.4, c3c4 = 0.1;
    static constexpr double dissipation = 0.25;
    static constexpr double third = 4.0 / 3.0;
    /// Of a direction's diffusion: x and y 0.75, z 1.
    static double diffusion(int direction) { return direction == 2 ? 1.0 : 0.75; }
    static double root_half() { return std::sqrt(0.5); }

    std::size_t plane_points() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
    std::size_t own_planes() const { return static_cast<std::size_t>(planes_.end - planes_.first); }
    std::size_t index(int i, int j, long k) const {
      return (static_cast<std::size_t>(k) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(j)) *
                 static_cast<std::size_t>(n_) +
             static_cast<std::size_t>(i);
    }
    Point& at(int i, int j, long k) { return arrays_.points[index(i, j, k)]; }
    Five& change(int i, int j, long k) { return arrays_.change[index(i, j, k)]; }
    bool inside(int i) const { return i > 0 && i < n_ - 1; }
    bool inside(int i, int j, int k) const { return inside(i) && inside(j) && inside(k); }

    template <class Do>
    void each_point(Share planes, Do act) {
      for (auto k = static_cast<int>(planes.first); k < planes.end; ++k)
        for (int j = 0; j < n_; ++j)
          for (int i = 0; i < n_; ++i) act(i, j, k);
    }
    template <class Do>
    void each_inside(Share planes, Do act) {
      for (int k = std::max(1, static_cast<int>(planes.first)); k < std::min<long>(planes.end, n_ - 1); ++k)
        for (int j = 1; j < n_ - 1; ++j)
          for (int i = 1; i < n_ - 1; ++i) act(i, j, k);
    }

    /// The exact solution, a polynomial in each direction (the report's table 3.1).
    Five solution(int i, int j, int k) const {
      static const double ce[fields][13] = {{2, 0, 0, 4, 5, 3, .5, .02, .01, .03, .5, .4, .3},
                                            {1, 0, 0, 0, 1, 2, 3, .01, .03, .02, .4, .3, .5},
                                            {2, 2, 0, 0, 0, 2, 3, .04, .03, .05, .3, .5, .4},
                                            {2, 2, 0, 0, 0, 2, 3, .03, .05, .04, .2, .1, .3},
                                            {5, 4, 3, 2, .1, .4, .3, .05, .04, .03, .1, .3, .2}};
      const double where[3] = {i * h_, j * h_, k * h_};
      Five value;
      for (std::size_t m = 0; m < fields; ++m) {
        value[m] = ce[m][0];
        for (std::size_t d = 0; d < 3; ++d) {
          const double x = where[d];
          value[m] += x * (ce[m][d + 1] + x * (ce[m][d + 4] + x * (ce[m][d + 7] + x * ce[m][d + 10])));
        }
      }
      return value;
    }

    /// Exact on the faces, and interpolated between them.
    void initialize() {
      each_point(planes_, [&](int i, int j, int k) {
        const int last = n_ - 1;
        const Five faces[3][2] = {{solution(0, j, k), solution(last, j, k)},
                                  {solution(i, 0, k), solution(i, last, k)},
                                  {solution(i, j, 0), solution(i, j, last)}};
        const double where[3] = {i * h_, j * h_, k * h_};
        Five& u = at(i, j, k).u;
        if (!inside(i, j, k)) {
          u = solution(i, j, k);
          return;
        }
        for (std::size_t m = 0; m < fields; ++m) {
          double p[3];
          for (std::size_t d = 0; d < 3; ++d)
            p[d] = where[d] * faces[d][1][m] + (1 - where[d]) * faces[d][0][m];
          u[m] = p[0] + p[1] + p[2] - p[0] * p[1] - p[0] * p[2] - p[1] * p[2] + p[0] * p[1] * p[2];
        }
      });
    }

    static void derive(Point& p) {
      p.inverse_density = 1 / p.u[0];
      for (std::size_t d = 0; d < 3; ++d) p.velocity[d] = p.u[d + 1] * p.inverse_density;
      p.square = 0.5 * (p.u[1] * p.u[1] + p.u[2] * p.u[2] + p.u[3] * p.u[3]) * p.inverse_density;
      p.q = p.square * p.inverse_density;
      p.speed = std::sqrt(c1 * c2 * p.inverse_density * (p.u[4] - p.square));
    }

    /// Adds what flows in direction d, of the points two before to two after on its line. Null: past an end.
    void add_flow(Five& to, int d, const Point* const (&line)[5]) const {
      const auto v = static_cast<std::size_t>(d);
      const Point &back = *line[1], &here = *line[2], &next = *line[3];
      const double second = 1 / (h_ * h_), first = 0.5 / h_, viscous = c3c4 * second;
      const auto curve = [&](double a, double b, double c) { return a - 2 * b + c; };
      for (std::size_t m = 0; m < fields; ++m) {
        to[m] += diffusion(d) * second * curve(next.u[m], here.u[m], back.u[m]);
        // Dissipation of fourth order, one-sided at the ends.
        double fourth =
            (line[0] == nullptr || line[4] == nullptr ? 5 : 6) * here.u[m] - 4 * next.u[m] - 4 * back.u[m];
        if (line[0] == nullptr) fourth += 4 * back.u[m];
        if (line[4] == nullptr) fourth += 4 * next.u[m];
        if (line[0] != nullptr) fourth += line[0]->u[m];
        if (line[4] != nullptr) fourth += line[4]->u[m];
        to[m] -= dissipation * fourth;
      }
      const double after = next.velocity[v], before = back.velocity[v], now = here.velocity[v];
      to[0] -= first * (next.u[v + 1] - back.u[v + 1]);
      for (std::size_t w = 0; w < 3; ++w) {
        to[w + 1] +=
            (w == v ? third : 1) * viscous * curve(next.velocity[w], here.velocity[w], back.velocity[w]);
        to[w + 1] -= first * (next.u[w + 1] * after - back.u[w + 1] * before);
      }
      to[v + 1] -= first * c2 * (next.u[4] - next.square - back.u[4] + back.square);
      to[4] += viscous * ((1 - c1c5) * curve(next.q, here.q, back.q) +
                          1.0 / 6 * curve(after * after, now * now, before * before) +
                          c1c5 * curve(next.u[4] * next.inverse_density, here.u[4] * here.inverse_density,
                                       back.u[4] * back.inverse_density)) -
               first * ((c1 * next.u[4] - c2 * next.square) * after -
                        (c1 * back.u[4] - c2 * back.square) * before);
    }

    /// Adds the flows at an inner point; `plane(k)` is where the points of plane k begin.
    template <class Planes>
    void add_flows(Five& to, int i, int j, int k, const Planes& plane) const {
      const int place[3] = {i, j, k};
      for (int d = 0; d < 3; ++d) {
        const Point* line[5];
        for (int o = -2; o <= 2; ++o) {
          int p[3] = {i, j, k};
          p[d] += o;
          // The ends lie one point from the faces, whose points the stencil's second ones would pass.
          const bool past = (o == -2 && place[d] == 1) || (o == 2 && place[d] == n_ - 2);
          line[o + 2] = past ? nullptr : plane(p[2]) + index(p[0], p[1], 0);
        }
        add_flow(to, d, line);
      }
    }

    /// What keeps the exact solution where it is.
    void force() {
      std::vector<Point> exact(plane_points() * (own_planes() + 4));
      const long first = planes_.first - 2;
      each_point({std::max(0L, first), std::min<long>(n_, planes_.end + 2)}, [&, first](int i, int j, int k) {
        Point& point = exact[index(i, j, k - first)];
        point.u = solution(i, j, k);
        derive(point);
      });
      each_inside(planes_, [&, first](int i, int j, int k) {
        Five flows = {};
        add_flows(flows, i, j, k, [&, first](int plane) { return &exact[index(0, 0, plane - first)]; });
        for (std::size_t m = 0; m < fields; ++m) forcing_[index(i, j, k - planes_.first)][m] = -flows[m];
      });
    }

    /// The right-hand side: the time step's share of the flows and the forcing.
    void compute_change() {
      each_point(planes_, [&](int i, int j, int k) { derive(at(i, j, k)); });
      context_.writes(&at(0, 0, planes_.first), plane_points() * own_planes());
      context_.computes(static_cast<long>(plane_points() * own_planes()) * (15 + 2 * slow_operation));
      context_.barrier();
      // Two planes of each neighbour.
      std::vector<const Point*> plane(static_cast<std::size_t>(n_));
      std::size_t got = 0;
      for (long k = std::max(0L, planes_.first - 2); k < std::min<long>(n_, planes_.end + 2); ++k) {
        const Point* points = &at(0, 0, k);
        if (k < planes_.first || k >= planes_.end) {
          if (way_ == get) {
            Point* const copy = got_points_ + got++ * plane_points();
            context_.get(copy, points, plane_points());
            points = copy;
          }
          context_.reads(points, plane_points());
        }
        plane[static_cast<std::size_t>(k)] = points;
      }
      each_inside(planes_, [&](int i, int j, int k) {
        Five& to = change(i, j, k);
        to = forcing_[index(i, j, k - planes_.first)];
        add_flows(to, i, j, k, [&](int p) { return plane[static_cast<std::size_t>(p)]; });
        for (double& each : to) each *= problem_.dt;
      });
      context_.reads(&at(0, 0, planes_.first), plane_points() * own_planes());
      context_.computes(450 * static_cast<long>(plane_points() * own_planes()));
    }

    /// A plane's changes, from a solved direction's variables to the next one's. Component `own` gets the
    /// difference of the two sound waves.
    template <std::size_t own>
    void to_next_direction(int k) {
      constexpr std::size_t one = (own + 1) % 3, other = (own + 2) % 3;
      for (int j = 1; j < n_ - 1; ++j)
        for (int i = 1; i < n_ - 1; ++i) {
          Five& r = change(i, j, k);
          const double t1 = root_half() * r[own], t2 = 0.5 * (r[3] + r[4]), first = r[one];
          r[one] = -r[other];
          r[other] = first;
          r[own] = root_half() * (r[3] - r[4]);
          r[3] = -t1 + t2;
          r[4] = t1 + t2;
        }
    }
    /// Into the first direction's own variables, the solutions along x and y, and those between.
    void solve_planes() {
      each_inside(planes_, [&](int i, int j, int k) {
        const Point& p = at(i, j, k);
        Five& r = change(i, j, k);
        const double *const v = p.velocity, inverse = p.inverse_density;
        const double t1 =
            c2 / (p.speed * p.speed) * (p.q * r[0] - v[0] * r[1] - v[1] * r[2] - v[2] * r[3] + r[4]);
        const double t2 = root_half() * inverse * (v[0] * r[0] - r[1]);
        const double t3 = root_half() * inverse * p.speed * t1;
        r = {r[0] - t1, -inverse * (v[2] * r[0] - r[3]), inverse * (v[1] * r[0] - r[2]), -t2 + t3, t2 + t3};
      });
      for (auto k = static_cast<int>(planes_.first); k < planes_.end; ++k) {
        if (!inside(k)) continue;
        for (int j = 1; j < n_ - 1; ++j)
          solve(
              0, [&](int i) -> const Point& { return at(i, j, k); },
              [&](int i) -> Five& { return change(i, j, k); });
        to_next_direction<2>(k);
        for (int i = 1; i < n_ - 1; ++i)
          solve(
              1, [&](int j) -> const Point& { return at(i, j, k); },
              [&](int j) -> Five& { return change(i, j, k); });
        to_next_direction<0>(k);
      }
      context_.writes(&change(0, 0, planes_.first), plane_points() * own_planes());
      context_.computes(static_cast<long>(plane_points() * own_planes()) * (250 + 8 * slow_operation));
    }

    /// The solutions along z, in the rank's rows of all planes.
    void solve_rows() {
      const auto length = static_cast<std::size_t>(n_);
      for (auto j = static_cast<int>(std::max(1L, rows_.first)); j < std::min<long>(rows_.end, n_ - 1); ++j) {
        for (int k = 0; k < n_; ++k) {
          if (way_ == get) {
            context_.get(&got_points_[index(0, k, 0)], &at(0, j, k), length);
            context_.get(&got_changes_[index(0, k, 0)], &change(0, j, k), length);
          } else {
            context_.reads(&at(0, j, k), length);
            context_.reads(&change(0, j, k), length);
          }
        }
        if (way_ == get) {
          context_.reads(got_points_, plane_points());
          context_.reads(got_changes_, plane_points());
        }
        for (int i = 1; i < n_ - 1; ++i) {
          if (way_ == get)
            solve(
                2, [&](int k) -> const Point& { return got_points_[index(i, k, 0)]; },
                [&](int k) -> Five& { return got_changes_[index(i, k, 0)]; });
          else
            solve(
                2, [&](int k) -> const Point& { return at(i, j, k); },
                [&](int k) -> Five& { return change(i, j, k); });
        }
        if (way_ == get) context_.writes(got_changes_, plane_points());
        for (int k = 0; k < n_; ++k) {
          if (way_ == get)
            context_.put(&change(0, j, k), &got_changes_[index(0, k, 0)], length);
          else
            context_.writes(&change(0, j, k), length);
        }
        context_.computes(static_cast<long>(plane_points()) * (100 + 4 * slow_operation));
      }
    }

    /// Back from the last direction's variables, and added to the flow.
    void add_change() {
      each_inside(planes_, [&](int i, int j, int k) {
        Point& p = at(i, j, k);
        const Five& r = change(i, j, k);
        const double* const v = p.velocity;
        const double scaled = root_half() * p.u[0];
        const double t1 = scaled / p.speed * (r[3] + r[4]), t2 = r[2] + t1, t3 = scaled * (r[3] - r[4]);
        const double density = p.u[0];
        const Five add = {
            t2, -density * r[1] + v[0] * t2, density * r[0] + v[1] * t2, v[2] * t2 + t3,
            density * (-v[0] * r[1] + v[1] * r[0]) + p.q * t2 + 2.5 * p.speed * p.speed * t1 + v[2] * t3};
        for (std::size_t m = 0; m < fields; ++m) p.u[m] += add[m];
      });
      context_.reads(&change(0, 0, planes_.first), plane_points() * own_planes());
      context_.computes(static_cast<long>(plane_points() * own_planes()) * (40 + slow_operation));
    }

    /// Five diagonals of a row.
    using Diagonals = std::array<double, 5>;

    /// Solves the three systems of a line in direction d: one for the first three fields, one each for those
    /// that move with the speed of sound.
    template <class Points, class Changes>
    void solve(int d, Points point, Changes values) {
      const auto v = static_cast<std::size_t>(d);
      const auto n = static_cast<std::size_t>(n_);
      const double step2 = problem_.dt * 0.5 / h_, step1 = problem_.dt / (h_ * h_);
      const double damp = problem_.dt * dissipation;
      const auto strength = [&](int i) {
        const double viscous = c3c4 * point(i).inverse_density, own = diffusion(d);
        return std::max(std::max(own + third * viscous, own + c1c5 * viscous), own + viscous);
      };
      for (int s = 0; s < 3; ++s) {
        Diagonals* const rows = &matrix_[static_cast<std::size_t>(s) * n];
        const double sound = s == 0 ? 0 : s == 1 ? 1 : -1;
        rows[0] = rows[n - 1] = {0, 0, 1, 0, 0};
        for (int i = 1; i < n_ - 1; ++i) {
          const Point &back = point(i - 1), &next = point(i + 1);
          Diagonals& row = rows[static_cast<std::size_t>(i)];
          row = {damp, -step2 * (back.velocity[v] + sound * back.speed) - step1 * strength(i - 1) - 4 * damp,
                 1 + 2 * step1 * strength(i) + 6 * damp,
                 step2 * (next.velocity[v] + sound * next.speed) - step1 * strength(i + 1) - 4 * damp, damp};
          if (i == 1) row[0] = 0, row[1] += 4 * damp, row[2] -= damp;
          if (i == 2) row[0] = 0;
          if (i == n_ - 3) row[4] = 0;
          if (i == n_ - 2) row[4] = 0, row[3] += 4 * damp, row[2] -= damp;
        }
      }
      for (int i = 0; i < n_; ++i) {
        Five& own = values(i);
        for (std::size_t s = 0; s < 3; ++s) {
          Diagonals* const row = &matrix_[s * n + static_cast<std::size_t>(i)];
          const std::size_t first = s == 0 ? 0 : s + 2, past = s + 3;
          const double inverse = 1 / row[0][2];
          row[0][3] *= inverse;
          row[0][4] *= inverse;
          for (std::size_t m = first; m < past; ++m) own[m] *= inverse;
          for (int o = 1; o <= 2 && i + o < n_; ++o) {
            Diagonals& below = row[o];
            const double factor = below[static_cast<std::size_t>(2 - o)];
            below[static_cast<std::size_t>(3 - o)] -= factor * row[0][3];
            below[static_cast<std::size_t>(4 - o)] -= factor * row[0][4];
            for (std::size_t m = first; m < past; ++m) values(i + o)[m] -= factor * own[m];
          }
        }
      }
      for (int i = n_ - 2; i >= 0; --i)
        for (std::size_t s = 0; s < 3; ++s) {
          const Diagonals& row = matrix_[s * n + static_cast<std::size_t>(i)];
          for (std::size_t m = s == 0 ? 0 : s + 2; m < s + 3; ++m)
            values(i)[m] -= row[3] * values(i + 1)[m] + (i + 2 < n_ ? row[4] * values(i + 2)[m] : 0);
        }
    }

    Context& context_;
    int way_;
    Problem problem_;
    int n_;
    double h_;  // between two points
    Share planes_, rows_;
    SharedPieces memory_;
    Arrays arrays_;
    Point* got_points_;
    Five* got_changes_;
    std::vector<Five> forcing_;
    std::vector<Diagonals> matrix_;
  };
};

}  // namespace programs
}  // namespace phicoll
