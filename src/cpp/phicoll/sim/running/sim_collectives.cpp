#include "phicoll/sim/running/sim_collectives.hpp"

#include <algorithm>
#include <cstring>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/engine/cold_start.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/port_program.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/whole_program.hpp"
#include "phicoll/sim/running/word_homes.hpp"

namespace phicoll {
namespace sim {

namespace {

/// A call's buffers on all ranks, and what comes out of it for two different fillings.
class CheckedBuffers {
 public:
  CheckedBuffers(const measure::Work& work, int ranks, int root) {
    program_.ranks = ranks;
    if (root < 0 || root >= ranks)
      throw ArgumentError("root", std::to_string(root), "0.." + std::to_string(ranks - 1));
    for (int variant = 0; variant < 2; ++variant) {
      calls_[variant] = measure::program_call(work, ranks, root);
      calls_[variant].fill = static_cast<std::uint64_t>(variant) + 1;
    }
    for (int r = 0; r < ranks; ++r) {
      send_.push_back(bytes_);
      bytes_ += arch::whole_strides(program_.send_bytes(calls_[0], r));
      receive_.push_back(bytes_);
      bytes_ += arch::whole_strides(program_.receive_bytes(calls_[0], r));
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
  std::size_t bytes_of(int rank) const {
    const auto next = static_cast<std::size_t>(rank) + 1;
    return (next < send_.size() ? send_[next] : bytes_) - send_[next - 1];
  }
  Data contributed(unsigned char* buffers, int rank) const {
    return program_.send_bytes(calls_[0], rank) != 0 ? send(buffers, rank) : receive(buffers, rank);
  }
  /// Bytes of receive that the rank itself does not contribute.
  std::size_t result_bytes(int rank) const {
    const ProgramCall& call = calls_[0];
    if (call.exclusive && rank == 0) return 0;
    return program_.receive_bytes(call, rank);
  }

  void compute(int variants) {
    const auto ranks = static_cast<std::size_t>(program_.ranks);
    for (int variant = 0; variant < variants; ++variant) {
      filled_[variant].resize(ranks);
      result_[variant].resize(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        filled_[variant][r] = program_.filling(calls_[variant], static_cast<int>(r));
        result_[variant][r].resize(program_.receive_bytes(calls_[variant], static_cast<int>(r)));
      }
      program_.outcome(calls_[variant], filled_[variant],
                       [&](int rank) { return result_[variant][static_cast<std::size_t>(rank)].data(); });
    }
  }
  const unsigned char* filled(int variant, int rank) const {
    return backed() ? filled_[variant][static_cast<std::size_t>(rank)].data() : nullptr;
  }
  bool backed() const { return !filled_[0].empty(); }

  /// Compares a rank's result, then spoils it except for the rank's own data, so that a call that does
  /// nothing is noticed.
  void check(Simulation& simulation, unsigned char* buffers, int rank, int variant) const {
    const std::size_t bytes = result_bytes(rank);
    if (bytes == 0) return;
    unsigned char* const place = receive(buffers, rank).at;
    const unsigned char* const right = result_[variant][static_cast<std::size_t>(rank)].data();
    unsigned char found[4096];
    for (std::size_t at = 0; at < bytes; at += sizeof found) {
      const std::size_t piece = std::min(bytes - at, sizeof found);
      simulation.peek(rank, place + at, found, piece);
      if (std::memcmp(found, right + at, piece) == 0) continue;
      const auto wrong = std::mismatch(found, found + piece, right + at);
      throw Error("rank " + std::to_string(rank) + " got " + std::to_string(*wrong.first) + " instead of " +
                  std::to_string(*wrong.second) + " in byte " + std::to_string(wrong.second - right) +
                  " of its result");
    }
    const bool message = row_of(calls_[0].operation).receives == Part::others_block && rank == calls_[0].root;
    if (!message) std::fill_n(place, bytes, static_cast<unsigned char>(0xdb));
  }

 private:
  Program program_;
  ProgramCall calls_[2];
  std::vector<std::size_t> send_, receive_;
  std::size_t bytes_ = 0;
  std::vector<std::vector<unsigned char>> filled_[2], result_[2];
};

// Of each reported call, over its ranks.
Cycles last_of(const std::vector<Cycles>& times, int ranks, int call) {
  const auto first = times.begin() + static_cast<std::ptrdiff_t>(call) * ranks;
  return *std::max_element(first, first + ranks);
}

// The barrier's promise: no rank leaves a call before all have entered it.
void check_barriers(const CollectiveRun& run) {
  for (int e = 0; e < run.calls; ++e) {
    const auto in = run.entry.begin() + static_cast<std::ptrdiff_t>(e) * run.ranks;
    const auto out = run.exit.begin() + static_cast<std::ptrdiff_t>(e) * run.ranks;
    const auto last = std::max_element(in, in + run.ranks);
    const auto first = std::min_element(out, out + run.ranks);
    if (*first < *last)
      throw Error("simulation: " + run.effective.text() + ": in call " + std::to_string(e) + " rank " +
                  std::to_string(first - out) + " left at cycle " + std::to_string(*first) +
                  ", before rank " + std::to_string(last - in) + " entered at " + std::to_string(*last));
  }
}

}  // namespace

std::vector<Cycles> CollectiveRun::times(bool window) const {
  std::vector<Cycles> found;
  if (window || !work.moves_data()) {
    Cycles before = *std::max_element(started.begin(), started.end());
    for (int e = 0; e < calls; ++e) {
      const Cycles out = last_of(exit, ranks, e);
      found.push_back(out - (window ? last_of(entry, ranks, e) : before + delay));
      before = out;
    }
    return found;
  }
  const auto at = [this](int call, int rank) {
    return static_cast<std::size_t>(call) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank);
  };
  Cycles whole = 0;
  Cycles writing = 0;
  for (int r = 0; r < ranks; ++r) {
    Cycles of_rank = calls * delay;
    for (int e = 0; e < calls; ++e) of_rank += prepared[at(e, r)];
    writing = std::max(writing, of_rank);
    if (calls > 0) whole = std::max(whole, exit[at(calls - 1, r)] - started[static_cast<std::size_t>(r)]);
  }
  for (Cycles e = 0; e < calls; ++e)
    found.push_back((whole - writing) * (e + 1) / calls - (whole - writing) * e / calls);
  return found;
}

namespace {

// Runs once, as large as may be backed, the same algorithm with the same parameters except for the sizes at
// which it changes its way.
void run_twin(const Machine& machine, const measure::Work& work, const Shape& shape,
              const CollectiveOptions& options, CollectiveRun* run) {
  constexpr std::size_t unit = 64;
  const auto bytes = static_cast<std::size_t>(work.bytes);
  CollectiveOptions twin = options;
  twin.calls = 1;
  twin.warm_up = 0;
  twin.finished = nullptr;
  twin.simulation.log = false;
  std::size_t smaller = bytes;
  measure::Work twin_work = work;
  const auto buffers_of = [&](std::size_t size) {
    twin_work.bytes = size / unit * unit;
    return CheckedBuffers(twin_work, shape.size(), options.root).bytes();
  };
  while (smaller > unit && buffers_of(smaller) > std::min(options.ghost_above, most_backed_bytes / 4))
    smaller /= 2;
  run->twin_bytes = smaller / unit * unit;
  twin_work.bytes = run->twin_bytes;
  AlgorithmSpec same_way = run->effective;  // where the data lies, if that is the way of the larger one
  for (auto& value : same_way.values)
    if (value.first == "direct" && value.second != "0" && std::stoul(value.second) <= bytes)
      value.second = std::to_string(std::min<std::size_t>(std::stoul(value.second), run->twin_bytes));
  simulate_collective(machine, twin_work, same_way, shape, twin);
}

// Finds by a dry run, on the counting port, where the algorithm's words lie in local stores. Two calls: some
// algorithms use other words in every second one.
std::vector<LocalStores::Home> homes_of(const measure::Work& work, const AlgorithmSpec& effective,
                                        const Machine& machine, const Shape& shape,
                                        const CheckedBuffers& checked, std::size_t footprint) {
  std::vector<CountPort> ports;
  std::vector<std::unique_ptr<AnyCollective<CountPort>>> ranks;
  // Goes first, and unwinds the fibers that still are inside an algorithm after an error.
  CountMachine dry(shape, footprint + checked.bytes());
  dry.follow_uses();
  for (int r = 0; r < shape.size(); ++r) {
    ports.emplace_back(dry, r);
    ranks.push_back(make_collective<CountPort>(work.operation, effective, Setup{r, shape, dry.memory()}));
  }
  for (int call = 0; call < 2; ++call)
    dry.run_call(
        [&](int rank) {
          OwnBlocks blocks, send_blocks;
          unsigned char* const buffers = dry.memory() + footprint;
          const auto r = static_cast<std::size_t>(rank);
          (*ranks[r])(ports[r],
                      checked.program().bind(checked.call(0), rank, checked.send(buffers, rank),
                                             checked.receive(buffers, rank), &blocks, &send_blocks));
        },
        {}, !work.moves_data());
  std::vector<std::size_t> own(static_cast<std::size_t>(shape.size()));
  if (machine.p.data_in == DataIn::store)
    for (int r = 0; r < shape.size(); ++r) own[static_cast<std::size_t>(r)] = checked.bytes_of(r);
  std::vector<LocalStores::Home> homes = word_homes(dry, effective, machine, footprint, own);
  for (int r = 0; r < shape.size(); ++r) {
    LocalStores::Home home;
    home.rank = static_cast<std::int16_t>(r);
    homes.insert(homes.end(), own[static_cast<std::size_t>(r)] / LocalStores::unit, home);
  }
  return homes;
}

// The calls of a run, by the ranks of one simulation.
class SimulatedCalls {
 public:
  SimulatedCalls(const Machine& machine, const Shape& shape, const CollectiveOptions& options,
                 const CheckedBuffers& checked, std::size_t footprint, const SimOptions& settings,
                 CollectiveRun* run)
      : options_(options),
        checked_(checked),
        run_(*run),
        footprint_(footprint),
        ranks_(static_cast<std::size_t>(shape.size())),
        done_(static_cast<std::size_t>(total())),
        simulation_(machine, shape, footprint + checked.bytes(), settings),
        buffers_(simulation_.memory() + footprint) {
    for (int r = 0; r < shape.size(); ++r)
      algorithms_.push_back(make_collective<SimPort>(run_.work.operation, run_.effective,
                                                     Setup{r, shape, simulation_.memory()}));
    run_.entry.resize(ranks_ * static_cast<std::size_t>(options.calls));
    run_.exit.resize(run_.entry.size());
    run_.prepared.resize(run_.entry.size());
    run_.started.resize(ranks_);
  }

  void make() {
    if (options_.window) {
      for (int e = 0; e < total() && !simulation_.log_closed(); ++e) {
        if (writes_before(e)) simulation_.run([&](SimPort& port) { prepare(port, e); });
        if (options_.evicted) evict_all(simulation_, footprint_);
        simulation_.run([&](SimPort& port) { one(port, e); });
      }
    } else {
      simulation_.run([&](SimPort& port) {
        for (int e = 0; e < total(); ++e) {
          prepare(port, e);
          if (options_.delay > 0) port.wait_until(port.ticks() + options_.delay);
          one(port, e);
        }
      });
    }
    for (const int ranks_done : done_) run_.verified += ranks_done == run_.ranks;
    run_.cut = simulation_.log_closed();
    run_.counters = simulation_.counters();
    run_.counted_to = simulation_.now();
    if (simulation_.log() != nullptr) {
      run_.log = std::make_unique<Log>(std::move(*simulation_.log()));
      run_.log->finish();
    }
  }

 private:
  int total() const { return options_.warm_up + options_.calls; }
  bool writes_before(int call) const { return run_.work.moves_data() && (call == 0 || run_.work.fresh); }
  int variant_of(int call) const { return run_.work.fresh ? call % 2 : 0; }
  std::size_t index_of(int call, std::size_t r) const {
    return static_cast<std::size_t>(call - options_.warm_up) * ranks_ + r;
  }

  /// By the clock that times calls, which may go in steps.
  Cycles time(SimPort& port) const {
    const MachineParameters& p = simulation_.machine().p;
    const Cycles step = std::max<Cycles>(1, static_cast<Cycles>(p.clock_resolution) * p.clock_mhz / 1000);
    return port.ticks() / step * step;
  }
  void prepare(SimPort& port, int call) {
    if (!writes_before(call)) return;
    const int rank = port.rank();
    const std::size_t size = checked_.program().contribution(checked_.call(0), rank).bytes;
    const Cycles before = port.ticks();
    if (size != 0)
      simulation_.write(rank, checked_.contributed(buffers_, rank).at,
                        checked_.filled(variant_of(call), rank), size);
    port.fence();
    if (call >= options_.warm_up)
      run_.prepared[index_of(call, static_cast<std::size_t>(rank))] = port.ticks() - before;
  }

  void one(SimPort& port, int call) {
    const int rank = port.rank();
    const auto r = static_cast<std::size_t>(rank);
    OwnBlocks blocks, send_blocks;
    const Call bound = checked_.program().bind(checked_.call(0), rank, checked_.send(buffers_, rank),
                                               checked_.receive(buffers_, rank), &blocks, &send_blocks);
    const Cycles in = time(port);
    if (options_.counts_reported && call == options_.warm_up && run_.counted_from == 0) {
      run_.counted_before = simulation_.counters();
      run_.counted_from = in;
    }
    simulation_.mark(rank, MarkKind::enter, call - options_.warm_up);
    (*algorithms_[r])(port, bound);
    port.software(Software::call);
    const Cycles out = time(port);
    if (options_.finished != nullptr) options_.finished->fetch_add(1, std::memory_order_relaxed);
    simulation_.mark(rank, MarkKind::leave, call - options_.warm_up);
    if (checked_.backed()) check(rank, call);
    if (call >= options_.warm_up) {
      run_.entry[index_of(call, r)] = in;
      run_.exit[index_of(call, r)] = out;
    } else {
      run_.started[r] = out;
    }
  }

  void check(int rank, int call) {
    try {
      checked_.check(simulation_, buffers_, rank, variant_of(call));
    } catch (const Error& error) {
      throw Error(std::string("simulation: ") + to_string(run_.work.operation) + " by " +
                  run_.effective.text() + " of " + std::to_string(run_.work.bytes) + " bytes, call " +
                  std::to_string(call) + ": " + error.what());
    }
    ++done_[static_cast<std::size_t>(call)];
  }

  const CollectiveOptions& options_;
  const CheckedBuffers& checked_;
  CollectiveRun& run_;
  std::size_t footprint_;
  std::size_t ranks_;
  std::vector<int> done_;  // ranks, by call
  std::vector<std::unique_ptr<AnyCollective<SimPort>>> algorithms_;
  // Goes first, and unwinds the fibers that still are inside an algorithm after an error.
  Simulation simulation_;
  unsigned char* buffers_;
};

}  // namespace

void check_serves(const Machine& machine, const measure::Work& work, const AlgorithmSpec& spec,
                  const Shape& shape) {
  if (machine.p.protocol != Protocol::local_store) return;
  const CheckedBuffers checked(work, shape.size(), 0);
  const AlgorithmSpec effective = simulated_in_effect(spec, shape, checked.program().facts(checked.call(0)));
  const std::size_t footprint = family(work.operation).footprint(effective, shape);
  homes_of(work, effective, machine, shape, checked, arch::whole_strides(footprint));
}

CollectiveRun simulate_collective(const Machine& machine, const measure::Work& work,
                                  const AlgorithmSpec& spec, const Shape& shape,
                                  const CollectiveOptions& options) {
  if (work.program.any()) return simulate_whole_program(machine, work, spec, shape, options);
  measure::check_evicted(options.evicted, options.window);
  CheckedBuffers checked(work, shape.size(), options.root);
  CollectiveRun run;
  run.work = work;
  run.ranks = shape.size();
  run.calls = options.calls;
  run.delay = options.window ? 0 : options.delay;
  run.buffers = checked.bytes();
  run.effective = simulated_in_effect(spec, shape, checked.program().facts(checked.call(0)));
  run.timing_only = checked.bytes() > options.ghost_above;
  std::size_t footprint = family(work.operation).footprint(run.effective, shape);
  if (work.moves_data()) footprint = arch::whole_strides(footprint);  // buffers lie after it
  if (footprint + checked.bytes() > most_simulated_bytes)
    throw ArgumentError("size",
                        std::to_string(work.bytes) + " with " + std::to_string(run.ranks) +
                            " ranks, which is " + std::to_string((footprint + checked.bytes()) >> 20) +
                            " MB in all",
                        "up to " + std::to_string(most_simulated_bytes >> 20) + " MB of simulated memory");
  const bool local = machine.p.protocol == Protocol::local_store;
  if (local && options.evicted)
    throw ArgumentError("evicted", "true on " + machine.name,
                        "false: a machine with local stores has no caches");
  if (local && run.timing_only)
    throw ArgumentError(
        "size",
        std::to_string(work.bytes) + " with " + std::to_string(run.ranks) + " ranks on " + machine.name,
        "buffers of up to " + std::to_string(options.ghost_above >> 20) +
            " MB in all in the main memory of a machine with local stores");
  if (run.timing_only)
    run_twin(machine, work, shape, options, &run);
  else if (work.moves_data())
    checked.compute(work.fresh && options.warm_up + options.calls > 1 ? 2 : 1);

  SimOptions settings = options.simulation;
  if (run.effective.has_wait) settings.wait = run.effective.wait;
  if (run.timing_only) settings.ghost_from = footprint;
  settings.words_until = footprint;
  if (local)
    settings.homes = homes_of(work, run.effective, machine, shape, checked, arch::whole_strides(footprint));
  SimulatedCalls(machine, shape, options, checked, footprint, settings, &run).make();
  if (!work.moves_data() && !run.cut) {
    check_barriers(run);
    run.verified = run.calls;
  }
  return run;
}

}  // namespace sim
}  // namespace phicoll
