#include "phicoll/sim/running/whole_program.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

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

/// A rank whose collectives of data go through the host's memory, `operands`, of each rank.
template <class Barrier>
class DataContext : public BrokenOff<Barrier> {
 public:
  using Operands = std::vector<std::vector<unsigned char>>;
  DataContext(int rank, int size, unsigned char* shared, Barrier barrier, int most, Operands& operands)
      : BrokenOff<Barrier>(rank, size, shared, barrier, most), operands_(operands) {}

  /// The second barrier: all have read before anyone writes again.
  void allgather(const void* send, void* receive, std::size_t bytes) {
    const auto* const own = static_cast<const unsigned char*>(send);
    operands_[static_cast<std::size_t>(this->rank())].assign(own, own + bytes);
    this->barrier();
    auto* to = static_cast<unsigned char*>(receive);
    for (const std::vector<unsigned char>& one : operands_) to = std::copy(one.begin(), one.end(), to);
    this->barrier();
  }
  template <class T>
  void allreduce(const T* send, T* receive, std::size_t count) {
    const auto ranks = static_cast<std::size_t>(this->size());
    std::vector<T> all(ranks * count);
    allgather(send, all.data(), count * sizeof(T));
    std::fill_n(receive, count, T());
    for (std::size_t i = 0; i < all.size(); ++i) receive[i % count] += all[i];
  }
  void reduce(const double* send, double* receive, std::size_t count, int root) {
    std::vector<double> sum(count);
    allreduce(send, sum.data(), count);
    if (this->rank() == root) std::copy(sum.begin(), sum.end(), receive);
  }

 private:
  Operands& operands_;
};

/// The simulated algorithm of a program's collective of data, and its buffers in simulated memory.
struct SimulatedCollective {
  AnyCollective<SimPort>* algorithm = nullptr;  // null: the barrier is what the program calls
  Operation operation = Operation::barrier;
  Data send, receive;
};

class SimulatedContext : public DataContext<SimulatedBarrier> {
 public:
  SimulatedContext(Simulation& simulation, const SimulatedBarrier& barrier,
                   const SimulatedCollective& collective, unsigned char* shared, int most, Operands& operands)
      : DataContext(barrier.port->rank(), simulation.shape().size(), shared, barrier, most, operands),
        simulation_(simulation),
        barrier_(barrier),
        collective_(collective) {}

  bool begins_iteration(int i, int all) {
    barrier_.course->note_iteration(i, all, barrier_.port->ticks(), calls());
    return BrokenOff::begins_iteration(i, all);
  }
  /// From now on nothing is timed, and collectives go through the host's memory.
  void begin_check() { collective_.algorithm = nullptr; }

  void allgather(const void* send, void* receive, std::size_t bytes) {
    if (collective_.operation != Operation::allgather || collective_.algorithm == nullptr)
      return DataContext::allgather(send, receive, bytes);
    Call call;
    call.count = bytes;
    collect(call, send, bytes, receive, bytes * static_cast<std::size_t>(size()));
  }
  template <class T>
  void allreduce(const T* send, T* receive, std::size_t count) {
    if (collective_.operation != Operation::allreduce || collective_.algorithm == nullptr)
      return DataContext::allreduce(send, receive, count);
    collect(combining<T>(count), send, count * sizeof(T), receive, count * sizeof(T));
  }
  void reduce(const double* send, double* receive, std::size_t count, int root) {
    if (collective_.algorithm == nullptr) return DataContext::reduce(send, receive, count, root);
    Call call = combining<double>(count);
    call.root = root;
    collect(call, send, count * sizeof(double), receive, rank() == root ? count * sizeof(double) : 0);
  }
  template <class T>
  void put(T* to, const T* from, std::size_t count) {
    call_library();
    std::copy_n(from, count, to);
    if (count == 0) return;
    if (simulation_.holds(from, sizeof(T)))
      simulation_.copy(rank(), to, from, count * sizeof(T));
    else
      writes(to, count);
  }
  template <class T>
  void get(T* to, const T* from, std::size_t count) {
    call_library();
    std::copy_n(from, count, to);
    if (count == 0) return;
    if (simulation_.holds(to, sizeof(T)))
      simulation_.copy(rank(), to, from, count * sizeof(T));
    else
      reads(from, count);
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
  template <class T>
  void prefetch(const T* item) const {
    simulation_.prefetch(rank(), item);
  }
  void computes(long operations) const { simulation_.compute(rank(), static_cast<int>(operations)); }

 private:
  template <class T>
  static Call combining(std::size_t count) {
    Call call;
    call.op = find_operator(std::is_same<T, double>::value ? Type::float64 : Type::int32, Op::sum);
    call.count = count;
    return call;
  }
  /// The program's data come from and go to its own memory.
  void collect(Call call, const void* from, std::size_t sent, void* to, std::size_t received) {
    note_call();
    simulation_.write(rank(), collective_.send.at, from, sent);
    call.send = collective_.send;
    if (received != 0) call.receive = collective_.receive;
    (*collective_.algorithm)(*barrier_.port, call);
    barrier_.port->software(Software::call);
    auto* const into = static_cast<unsigned char*>(to);
    for (std::size_t at = 0; at < received; at += arch::line_bytes)
      simulation_.load_bytes(rank(), collective_.receive.at + at, into + at,
                             std::min(received - at, arch::line_bytes));
  }
  void call_library() const {
    const int cycles = simulation_.machine().p.software_put;
    if (cycles != 0) barrier_.port->wait_until(barrier_.port->ticks() + cycles);
  }

  Simulation& simulation_;
  SimulatedBarrier barrier_;
  SimulatedCollective collective_;
};

/// What is compared with a run without a machine: the shared memory of a program of barriers, which is
/// doubles, and what the ranks' checks say of a program whose collective moves data.
struct Outcome {
  AlignedVector<unsigned char> shared;
  std::vector<double> checks;
};

/// The outcome of the first iterations by ranks that take turns: each runs until its next barrier.
template <class Program>
Outcome run_in_turns(const programs::ProgramChoice& chosen, int ranks, int most) {
  const auto count = static_cast<std::size_t>(ranks);
  Outcome outcome{AlignedVector<unsigned char>(Program::shared_bytes(chosen.problem, ranks)),
                  std::vector<double>(count)};
  DataContext<void (*)()>::Operands operands(count);
  std::vector<os::Fiber> fibers(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    os::Fiber& own = fibers[static_cast<std::size_t>(r)];
    own = os::Fiber([&, r] {
      const auto barrier = [&own] { own.suspend(); };
      using Context = DataContext<decltype(barrier)>;
      Context context(r, ranks, outcome.shared.data(), barrier, most, operands);
      using Rank = typename Program::template Rank<Context>;
      Rank rank = programs::make_rank<Rank>(context, chosen);
      rank.run();
      if (Program::facts().operation != Operation::barrier)
        outcome.checks[static_cast<std::size_t>(r)] = rank.check().value;
    });
  }
  while (!fibers.back().finished())
    for (os::Fiber& fiber : fibers) fiber.resume();
  return outcome;
}

/// Two compilations of a program may round differently.
void check_value(const measure::Work& work, double got, double wanted, const std::string& where) {
  constexpr double tolerance = 1e-9;
  if (!(std::fabs(got - wanted) <= tolerance * (1 + std::fabs(wanted))))
    throw Error("simulation: " + work.name() + " computed " + std::to_string(got) + " instead of " +
                std::to_string(wanted) + where);
}
void check_values(const measure::Work& work, const unsigned char* found, const std::vector<double>& checks,
                  const Outcome& right) {
  if (work.operation != Operation::barrier) {
    for (std::size_t r = 0; r < checks.size(); ++r)
      check_value(work, checks[r], right.checks[r], " in the check of rank " + std::to_string(r));
    return;
  }
  for (std::size_t at = 0; at + sizeof(double) <= right.shared.size(); at += sizeof(double)) {
    double got, wanted;
    std::memcpy(&got, found + at, sizeof got);
    std::memcpy(&wanted, &right.shared[at], sizeof wanted);
    if (got != wanted)
      check_value(work, got, wanted, " in byte " + std::to_string(at) + " of its shared memory");
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

/// Where the parts of the simulated memory begin. The subject is the first.
struct Parts {
  AlgorithmSpec barrier;  ///< of a program whose collective moves data
  std::size_t barrier_at = 0, send_at, receive_at, shared_at;
  std::size_t send_bytes, receive_bytes;  ///< of a rank's buffers

  Parts(const measure::Work& work, const AlgorithmSpec& spec, const Shape& shape) {
    std::size_t bytes = arch::whole_strides(family(work.operation).footprint(spec, shape));
    const bool moves = work.operation != Operation::barrier;
    if (moves) {
      const Family& barriers = family(Operation::barrier);
      barrier = simulated_in_effect(barriers.parse("dissemination"), shape, CallFacts());
      barrier_at = bytes;
      bytes += arch::whole_strides(barriers.footprint(barrier, shape));
    }
    const auto most = [&](std::uint64_t (*of)(const measure::Work&, int, int)) {
      return moves ? arch::whole_strides(of(work, 0, shape.size())) : 0;
    };
    send_at = bytes;
    send_bytes = most(measure::send_bytes_of);
    receive_at = send_at + send_bytes * static_cast<std::size_t>(shape.size());
    receive_bytes = most(measure::receive_bytes_of);
    shared_at = receive_at + receive_bytes * static_cast<std::size_t>(shape.size());
  }
};

template <class Program>
void simulate(const Machine& machine, const Shape& shape, const Parts& parts,
              const CollectiveOptions& options, const SimOptions& settings, CollectiveRun* run) {
  const programs::ProgramChoice& chosen = run->work.program;
  const bool moves = run->work.operation != Operation::barrier;
  const auto ranks = static_cast<std::size_t>(shape.size());
  const int most = options.warm_up + options.calls;
  Course course(shape.size(), options.finished);
  std::vector<std::unique_ptr<AnyCollective<SimPort>>> subjects, barriers;
  std::vector<double> checks(ranks);
  SimulatedContext::Operands operands(ranks);
  Simulation simulation(machine, shape, parts.shared_at + Program::shared_bytes(chosen.problem, shape.size()),
                        settings);
  unsigned char* const memory = simulation.memory();
  for (int r = 0; r < shape.size(); ++r) {
    subjects.push_back(
        make_collective<SimPort>(run->work.operation, run->effective, Setup{r, shape, memory}));
    if (moves)
      barriers.push_back(make_collective<SimPort>(Operation::barrier, parts.barrier,
                                                  Setup{r, shape, memory + parts.barrier_at}));
  }
  simulation.run([&](SimPort& port) {
    const auto r = static_cast<std::size_t>(port.rank());
    const SimulatedBarrier barrier{(moves ? barriers : subjects)[r].get(), &port, &course};
    SimulatedCollective collective;
    if (moves)
      collective = {subjects[r].get(), run->work.operation,
                    Data{memory + parts.send_at + r * parts.send_bytes},
                    Data{memory + parts.receive_at + r * parts.receive_bytes}};
    SimulatedContext context(simulation, barrier, collective, memory + parts.shared_at, most, operands);
    using Rank = typename Program::template Rank<SimulatedContext>;
    Rank rank = programs::make_rank<Rank>(context, chosen);
    barrier();
    const std::int64_t before = context.calls();
    course.start = std::max(course.start, port.ticks());
    rank.run();
    course.end = std::max(course.end, port.ticks());
    course.all_calls = context.calls() - before;
    if (!moves) return;
    context.begin_check();
    checks[r] = rank.check().value;
  });
  check_values(run->work, memory + parts.shared_at, checks,
               run_in_turns<Program>(chosen, shape.size(), most));
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
  const Parts parts(work, run.effective, shape);
  const std::size_t bytes = parts.shared_at + work.program.shared_bytes(shape.size());
  if (bytes > most_simulated_bytes)
    throw ArgumentError("class", work.name() + ", which is " + std::to_string(bytes >> 20) + " MB",
                        "up to " + std::to_string(most_simulated_bytes >> 20) + " MB of simulated memory");
  SimOptions settings = options.simulation;
  if (run.effective.has_wait) settings.wait = run.effective.wait;
  settings.words_until = parts.send_at;
  settings.ghost_from = parts.shared_at;  // the program's values move natively
  const auto go = [&](auto type) {
    simulate<typename decltype(type)::Type>(machine, shape, parts, options, settings, &run);
  };
  const int number = work.program.program;
  programs::use_program(programs::BarrierPrograms(), number, go);
  programs::use_program(programs::DataPrograms(), number - programs::barrier_programs, go);
  return run;
}

}  // namespace sim
}  // namespace phicoll
