#include "phicoll/sim/running/whole_program.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/programs/registry.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {
namespace sim {

namespace {

/// A rank that runs only the first iterations.
template <class Barrier>
class BrokenOff : public programs::BarrierContext<Barrier> {
 public:
  BrokenOff(int rank, int size, unsigned char* shared, Barrier barrier, int most)
      : programs::BarrierContext<Barrier>(rank, size, shared, barrier), most_(most) {}
  bool begins_iteration(int i, int all) { return i < std::min(all, most_); }

 private:
  int most_;
};

/// When the ranks of a simulated run got how far.
struct Course {
  Course(int ranks, std::atomic<std::int64_t>* iterations_done)
      : entered(static_cast<std::size_t>(ranks)), finished(iterations_done) {}

  std::vector<std::int64_t> entered;  // barriers, of each rank
  std::vector<Cycles> begin;          // of each iteration, and the last one's end: the last rank's
  std::vector<std::int64_t> calls;    // barriers of a rank until then
  std::atomic<std::int64_t>* finished;
  Cycles start = 0, end = 0;
  std::int64_t all_calls = 0;  // of a rank
  int iterations = 0;          // of a whole run

  void note_iteration(int i, int all, Cycles time, std::int64_t rank_calls) {
    iterations = all;
    const auto at = static_cast<std::size_t>(i);
    if (begin.size() <= at) begin.resize(at + 1);
    calls.resize(begin.size());
    begin[at] = std::max(begin[at], time);
    calls[at] = rank_calls;
    if (i > 0 && finished != nullptr) finished->fetch_add(1, std::memory_order_relaxed);
  }
};

struct SimulatedBarrier {
  AnyCollective<SimPort>* barrier;
  SimPort* port;
  Course* course;

  void operator()() const {
    const std::int64_t call = ++course->entered[static_cast<std::size_t>(port->rank())];
    (*barrier)(*port, Call());
    port->software(Software::call);
    const auto& entered = course->entered;
    const auto late = std::min_element(entered.begin(), entered.end());
    if (*late >= call) return;
    throw Error("simulation: in barrier " + std::to_string(call) + " rank " + std::to_string(port->rank()) +
                " left before rank " + std::to_string(late - entered.begin()) + " entered");
  }
};

class SimulatedContext : public BrokenOff<SimulatedBarrier> {
 public:
  SimulatedContext(Simulation& simulation, const SimulatedBarrier& barrier, unsigned char* shared, int most)
      : BrokenOff(barrier.port->rank(), simulation.shape().size(), shared, barrier, most),
        simulation_(simulation),
        barrier_(barrier) {}

  bool begins_iteration(int i, int all) {
    barrier_.course->note_iteration(i, all, barrier_.port->ticks(), calls());
    return BrokenOff::begins_iteration(i, all);
  }
  template <class T>
  void reads(const T* items, std::size_t count) const {
    const auto* from = reinterpret_cast<const unsigned char*>(items);
    std::size_t bytes = count * sizeof(T);
    unsigned char line[arch::line_bytes];
    while (bytes != 0) {
      const std::size_t room = arch::line_bytes - reinterpret_cast<std::uintptr_t>(from) % arch::line_bytes;
      const std::size_t piece = std::min(bytes, room);
      simulation_.load_bytes(rank(), from, line, piece);
      from += piece;
      bytes -= piece;
    }
  }
  template <class T>
  void writes(const T* items, std::size_t count) const {
    simulation_.write(rank(), const_cast<T*>(items), items, count * sizeof(T));
  }
  void computes(long operations) const { simulation_.compute(rank(), static_cast<int>(operations)); }

 private:
  Simulation& simulation_;
  SimulatedBarrier barrier_;
};

/// The shared memory after the first iterations, by ranks that take turns: each runs until its next barrier.
template <class Program>
AlignedVector<unsigned char> run_in_turns(char problem, int ranks, int most) {
  AlignedVector<unsigned char> shared(Program::shared_bytes(problem, ranks));
  std::vector<os::Fiber> fibers(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    os::Fiber& own = fibers[static_cast<std::size_t>(r)];
    own = os::Fiber([&own, &shared, problem, r, ranks, most] {
      const auto barrier = [&own] { own.suspend(); };
      using Context = BrokenOff<decltype(barrier)>;
      Context context(r, ranks, shared.data(), barrier, most);
      typename Program::template Rank<Context>(context, problem).run();
    });
  }
  while (!fibers.back().finished())
    for (os::Fiber& fiber : fibers) fiber.resume();
  return shared;
}

/// Shared memory is doubles. Two compilations of a program may round differently.
void check_values(const measure::Work& work, const unsigned char* found,
                  const AlignedVector<unsigned char>& right) {
  constexpr double tolerance = 1e-9;
  for (std::size_t at = 0; at + sizeof(double) <= right.size(); at += sizeof(double)) {
    double got, wanted;
    std::memcpy(&got, found + at, sizeof got);
    std::memcpy(&wanted, &right[at], sizeof wanted);
    if (!(std::fabs(got - wanted) <= tolerance * (1 + std::fabs(wanted))))
      throw Error("simulation: " + work.name() + " computed " + std::to_string(got) + " instead of " +
                  std::to_string(wanted) + " in byte " + std::to_string(at) + " of its shared memory");
  }
}

/// The one call: a whole run, of which the iterations that were simulated are a part.
void scale_up(const Course& course, int warm_up, CollectiveRun* run) {
  const int simulated = static_cast<int>(course.begin.size()) - 1;
  const auto last = static_cast<std::size_t>(simulated);
  const auto first = static_cast<std::size_t>(std::min(warm_up, simulated - 1));
  const int left = course.iterations - simulated;
  const Cycles steady = course.begin[last] - course.begin[first];
  run->iterations = course.iterations;
  for (std::size_t i = 0; i < last; ++i) run->iteration.push_back(course.begin[i + 1] - course.begin[i]);
  const Cycles whole = course.end - course.start + steady * left / static_cast<Cycles>(last - first);
  const auto ranks = static_cast<std::size_t>(run->ranks);
  run->started.assign(ranks, course.start);
  run->entry = run->started;
  run->exit.assign(ranks, course.start + whole);
  run->verified = static_cast<int>(course.all_calls + left * (course.calls[last] - course.calls[last - 1]));
}

template <class Program>
void simulate(const Machine& machine, const Shape& shape, std::size_t footprint,
              const CollectiveOptions& options, const SimOptions& settings, CollectiveRun* run) {
  const char problem = run->work.program.problem;
  const int most = options.warm_up + options.calls;
  Course course(shape.size(), options.finished);
  std::vector<std::unique_ptr<AnyCollective<SimPort>>> barriers;
  Simulation simulation(machine, shape, footprint + Program::shared_bytes(problem, shape.size()), settings);
  unsigned char* const shared = simulation.memory() + footprint;
  for (int r = 0; r < shape.size(); ++r)
    barriers.push_back(
        make_collective<SimPort>(Operation::barrier, run->effective, Setup{r, shape, simulation.memory()}));
  simulation.run([&](SimPort& port) {
    const SimulatedBarrier barrier{barriers[static_cast<std::size_t>(port.rank())].get(), &port, &course};
    SimulatedContext context(simulation, barrier, shared, most);
    typename Program::template Rank<SimulatedContext> rank(context, problem);
    barrier();
    const std::int64_t before = context.calls();
    course.start = std::max(course.start, port.ticks());
    rank.run();
    course.end = std::max(course.end, port.ticks());
    course.all_calls = context.calls() - before;
  });
  check_values(run->work, shared, run_in_turns<Program>(problem, shape.size(), most));
  scale_up(course, options.warm_up, run);
  run->counters = simulation.counters();
  run->counted_to = simulation.now();
}

}  // namespace

CollectiveRun simulate_whole_program(const Machine& machine, const measure::Work& work,
                                     const AlgorithmSpec& spec, const Shape& shape,
                                     const CollectiveOptions& options) {
  if (machine.p.protocol == Protocol::local_store)
    throw ArgumentError("machine", machine.name + " with " + work.name(),
                        "a machine with caches: programs are not simulated on local stores");
  CollectiveRun run;
  run.work = work;
  run.ranks = shape.size();
  run.calls = 1;
  run.effective = simulated_in_effect(spec, shape, work.facts());
  const std::size_t footprint = arch::whole_strides(family(work.operation).footprint(run.effective, shape));
  const std::size_t bytes = footprint + work.program.shared_bytes(shape.size());
  if (bytes > most_simulated_bytes)
    throw ArgumentError("class", work.name() + ", which is " + std::to_string(bytes >> 20) + " MB",
                        "up to " + std::to_string(most_simulated_bytes >> 20) + " MB of simulated memory");
  SimOptions settings = options.simulation;
  if (run.effective.has_wait) settings.wait = run.effective.wait;
  settings.ghost_from = settings.words_until = footprint;  // the program's values move natively
  programs::use_program(programs::BarrierPrograms(), work.program.program, [&](auto type) {
    simulate<typename decltype(type)::Type>(machine, shape, footprint, options, settings, &run);
  });
  return run;
}

}  // namespace sim
}  // namespace phicoll
