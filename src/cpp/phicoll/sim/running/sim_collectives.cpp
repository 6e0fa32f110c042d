#include "phicoll/sim/running/sim_collectives.hpp"

#include <algorithm>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/program.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/sim/engine/cold_start.hpp"
#include "phicoll/sim/running/port_collectives.hpp"

namespace phicoll {
namespace sim {

namespace {

/// The call, its buffers and what comes out of it for two different fillings.
class Subject {
 public:
  Subject(Operation operation, int ranks, std::size_t bytes, const CollectiveOptions& options) {
    if (operation == Operation::barrier)
      throw ArgumentError("operation", "barrier", "an operation that moves data");
    program_.ranks = ranks;
    if (options.root < 0 || options.root >= ranks)
      throw ArgumentError("root", std::to_string(options.root), "0.." + std::to_string(ranks - 1));
    for (int variant = 0; variant < 2; ++variant) {
      ProgramCall& call = calls_[variant];
      call.operation = operation;
      call.root = options.root;
      call.exclusive = options.exclusive;
      call.type = options.type;
      call.op = options.op;
      const std::size_t element = reduces(operation) ? program_.operator_of(call).element_bytes : 1;
      if (bytes % element != 0)
        throw ArgumentError(
            "size", std::to_string(bytes),
            "a multiple of " + std::to_string(element) + ", the bytes of " + to_string(options.type));
      call.count = bytes / element;
      call.fill = static_cast<std::uint64_t>(variant) + 1;
      if (options.vector) call.counts = equal_counts(operation, ranks, call.count);
    }
    for (int r = 0; r < ranks; ++r) {
      const CallExtents used = program_.extents(calls_[0], r);
      send_.push_back(bytes_);
      bytes_ += arch::whole_strides(used.send);
      receive_.push_back(bytes_);
      bytes_ += arch::whole_strides(used.receive);
    }
  }

  const Program& program() const { return program_; }
  const ProgramCall& call(int variant) const { return calls_[variant]; }
  std::size_t bytes() const { return bytes_; }
  Data send(unsigned char* buffers, int rank) const {
    return Data{buffers + send_[static_cast<std::size_t>(rank)]};
  }
  Data receive(unsigned char* buffers, int rank) const {
    return Data{buffers + receive_[static_cast<std::size_t>(rank)]};
  }
  Data contributed(unsigned char* buffers, int rank) const {
    return program_.extents(calls_[0], rank).send != 0 ? send(buffers, rank) : receive(buffers, rank);
  }
  /// Bytes of receive that the rank itself does not contribute.
  std::size_t result_bytes(int rank) const {
    const ProgramCall& call = calls_[0];
    if (call.operation == Operation::scan && call.exclusive && rank == 0) return 0;
    return program_.extents(call, rank).receive;
  }

  void compute() {
    const auto ranks = static_cast<std::size_t>(program_.ranks);
    for (int variant = 0; variant < 2; ++variant) {
      filled_[variant].resize(ranks);
      result_[variant].resize(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        filled_[variant][r] = program_.filling(calls_[variant], static_cast<int>(r));
        result_[variant][r].resize(program_.extents(calls_[variant], static_cast<int>(r)).receive);
      }
      program_.outcome(calls_[variant], filled_[variant],
                       [&](int rank) { return result_[variant][static_cast<std::size_t>(rank)].data(); });
    }
  }
  const unsigned char* filled(int variant, int rank) const {
    return backed() ? filled_[variant][static_cast<std::size_t>(rank)].data() : nullptr;
  }
  bool backed() const { return !filled_[0].empty(); }

  /// Compares a rank's result, then spoils it where its own data does not lie: an episode that does nothing
  /// is seen.
  void check(Simulation& simulation, unsigned char* buffers, int rank, int variant) const {
    const std::size_t bytes = result_bytes(rank);
    if (bytes == 0) return;
    std::vector<unsigned char> found(bytes);
    unsigned char* const place = receive(buffers, rank).at;
    simulation.peek(rank, place, found.data(), bytes);
    const auto& right = result_[variant][static_cast<std::size_t>(rank)];
    const auto at = std::mismatch(found.begin(), found.end(), right.begin());
    if (at.first != found.end())
      throw Error("rank " + std::to_string(rank) + " got " + std::to_string(*at.first) + " instead of " +
                  std::to_string(*at.second) + " in byte " + std::to_string(at.first - found.begin()) +
                  " of its result");
    const bool message = calls_[0].operation == Operation::broadcast && rank == calls_[0].root;
    if (!message) std::fill_n(place, bytes, static_cast<unsigned char>(0xdb));
  }

 private:
  Program program_;
  ProgramCall calls_[2];
  std::vector<std::size_t> send_, receive_;
  std::size_t bytes_ = 0;
  std::vector<std::vector<unsigned char>> filled_[2], result_[2];
};

}  // namespace

CollectiveOptions collective_options(const measure::Work& work, const BarrierOptions& options) {
  CollectiveOptions found;
  found.episodes = options.episodes;
  found.warm_up = options.warm_up;
  found.window = options.window;
  found.evicted = options.evicted;
  found.simulation = options.simulation;
  found.fresh = work.fresh;
  found.type = work.type;
  found.op = work.op;
  found.exclusive = work.exclusive;
  found.vector = work.vector;
  return found;
}

AlgorithmSpec effective_collective(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) {
  const Family& known = family(facts.operation);
  AlgorithmSpec chosen = spec;
  if (spec.name == "auto") {
    chosen = automatic_choice(shape, facts).spec;
    chosen.wait_as(spec);
  }
  known.check_fit(chosen, shape, facts);
  return known.effective(chosen, shape);
}

std::vector<Cycles> CollectiveRun::times(bool window) const {
  if (window) return BarrierRun::times(true);
  const auto at = [this](int episode, int rank) {
    return static_cast<std::size_t>(episode) * static_cast<std::size_t>(ranks) +
           static_cast<std::size_t>(rank);
  };
  Cycles whole = 0;
  Cycles writing = 0;
  for (int r = 0; r < ranks; ++r) {
    Cycles of_rank = 0;
    for (int e = 0; e < episodes; ++e) of_rank += prepared[at(e, r)];
    writing = std::max(writing, of_rank);
    if (episodes > 0)
      whole = std::max(whole, exit[at(episodes - 1, r)] - started[static_cast<std::size_t>(r)]);
  }
  std::vector<Cycles> found;
  for (Cycles e = 0; e < episodes; ++e)
    found.push_back((whole - writing) * (e + 1) / episodes - (whole - writing) * e / episodes);
  return found;
}

CollectiveRun simulate_collective(const Machine& machine, Operation operation, const AlgorithmSpec& spec,
                                  const Shape& shape, std::size_t bytes, const CollectiveOptions& options) {
  measure::check_evicted(options.evicted, options.window);
  const auto ranks = static_cast<std::size_t>(shape.size());
  Subject subject(operation, shape.size(), bytes, options);
  const Program& program = subject.program();

  CollectiveRun run;
  run.ranks = shape.size();
  run.episodes = options.episodes;
  run.bytes = bytes;
  run.buffers = subject.bytes();
  run.fresh = options.fresh;
  run.effective = effective_collective(spec, shape, program.facts(subject.call(0)));
  run.timing_only = subject.bytes() > options.ghost_above;
  const std::size_t footprint = arch::whole_strides(family(operation).footprint(run.effective, shape));
  if (footprint + subject.bytes() > most_simulated_bytes)
    throw ArgumentError("size",
                        std::to_string(bytes) + " with " + std::to_string(ranks) + " ranks, which is " +
                            std::to_string((footprint + subject.bytes()) >> 20) + " MB in all",
                        "up to " + std::to_string(most_simulated_bytes >> 20) + " MB of simulated memory");
  if (run.timing_only) {
    // The same algorithm with the same parameters but for where it changes its way, as large as may be
    // backed, once.
    CollectiveOptions twin = options;
    twin.episodes = 1;
    twin.warm_up = 0;
    twin.simulation.log = false;
    const std::size_t unit = 64;
    std::size_t smaller = bytes;
    while (smaller > unit && Subject(operation, shape.size(), smaller / unit * unit, options).bytes() >
                                 std::min(options.ghost_above, most_backed_bytes / 4))
      smaller /= 2;
    run.twin_bytes = smaller / unit * unit;
    AlgorithmSpec same_way = run.effective;  // where the data lies, if that is the way of the larger one
    for (auto& value : same_way.values)
      if (value.first == "direct" && value.second != "0" && std::stoul(value.second) <= bytes)
        value.second = std::to_string(std::min<std::size_t>(std::stoul(value.second), run.twin_bytes));
    simulate_collective(machine, operation, same_way, shape, run.twin_bytes, twin);
  } else {
    subject.compute();
  }

  SimOptions settings = options.simulation;
  if (run.effective.has_wait) settings.wait = run.effective.wait;
  if (run.timing_only) settings.ghost_from = footprint;
  std::vector<PortCollective<SimPort>> algorithms;
  // Goes first, and unwinds the fibers that still are inside an algorithm after an error.
  Simulation simulation(machine, shape, footprint + subject.bytes(), settings);
  unsigned char* const buffers = simulation.memory() + footprint;
  for (int r = 0; r < shape.size(); ++r)
    algorithms.push_back(
        make_port_collective<SimPort>(operation, run.effective, Setup{r, shape, simulation.memory()}));

  const int total = options.warm_up + options.episodes;
  run.entry.resize(ranks * static_cast<std::size_t>(options.episodes));
  run.exit.resize(run.entry.size());
  run.prepared.resize(run.entry.size());
  run.started.resize(ranks);
  const auto variant_of = [&](int episode) { return options.fresh ? episode % 2 : 0; };
  const auto index_of = [&](int episode, std::size_t r) {
    return static_cast<std::size_t>(episode - options.warm_up) * ranks + r;
  };
  const auto prepare = [&](SimPort& port, int episode) {
    if (episode > 0 && !options.fresh) return;
    const int rank = port.rank();
    const std::size_t size = program.contribution(subject.call(0), rank).bytes;
    const Cycles before = port.ticks();
    if (size != 0)
      simulation.write(rank, subject.contributed(buffers, rank).at, subject.filled(variant_of(episode), rank),
                       size);
    port.fence();
    if (episode >= options.warm_up)
      run.prepared[index_of(episode, static_cast<std::size_t>(rank))] = port.ticks() - before;
  };
  std::vector<int> done(static_cast<std::size_t>(total));
  const auto one = [&](SimPort& port, int episode) {
    const int rank = port.rank();
    const auto r = static_cast<std::size_t>(rank);
    const BoundCall bound(program, subject.call(0), rank, subject.send(buffers, rank),
                          subject.receive(buffers, rank), Data());
    const Cycles in = port.ticks();
    if (episode == options.warm_up) run.begin_counting(simulation, in);
    simulation.mark(rank, MarkKind::enter, episode - options.warm_up);
    (*algorithms[r])(port, bound.call);
    port.software(Software::call);
    const Cycles out = port.ticks();
    simulation.mark(rank, MarkKind::leave, episode - options.warm_up);
    if (subject.backed()) {
      try {
        subject.check(simulation, buffers, rank, variant_of(episode));
      } catch (const Error& error) {
        throw Error(std::string("simulation: ") + to_string(operation) + " by " + run.effective.text() +
                    " of " + std::to_string(bytes) + " bytes, call " + std::to_string(episode) + ": " +
                    error.what());
      }
      ++done[static_cast<std::size_t>(episode)];
    }
    if (episode >= options.warm_up) {
      run.entry[index_of(episode, r)] = in;
      run.exit[index_of(episode, r)] = out;
    } else {
      run.start = std::max(run.start, out);
      run.started[r] = out;
    }
  };
  if (options.window) {
    for (int e = 0; e < total; ++e) {
      if (e == 0 || options.fresh) simulation.run([&](SimPort& port) { prepare(port, e); });
      if (options.evicted) evict_all(simulation, footprint);
      simulation.run([&](SimPort& port) { one(port, e); });
    }
  } else {
    simulation.run([&](SimPort& port) {
      for (int e = 0; e < total; ++e) {
        prepare(port, e);
        one(port, e);
      }
    });
  }
  for (const int checked : done) run.verified += checked == run.ranks;
  run.finish(simulation);
  return run;
}

}  // namespace sim
}  // namespace phicoll
