#include "phicoll/sim/running/sim_program.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/port_program.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace sim {

namespace {

void check_shape(const Program& program, const Shape& shape) {
  program.check();
  if (shape.size() != program.ranks)
    throw ArgumentError("shape", std::to_string(shape.size()) + " ranks",
                        std::to_string(program.ranks) + ", those of the program");
}

std::vector<AlgorithmSpec> algorithms_of(const Program& program, const ProgramPlan& plan) {
  std::vector<AlgorithmSpec> found;
  for (std::size_t c = 0; c < program.calls.size(); ++c) found.push_back(plan.parts()[plan.part_of(c)].spec);
  return found;
}

}  // namespace

ProgramRun run_program_simulated(const Program& program, const Machine& machine, const Shape& shape,
                                 const SimOptions& options) {
  check_shape(program, shape);
  const ProgramPlan plan(program, shape);
  const ProgramLayout layout(program);
  const auto ranks = static_cast<std::size_t>(program.ranks);
  std::vector<ProgramRank<SimPort>> made;
  SimOptions settings = options;
  settings.words_until = plan.bytes();
  Simulation simulation(machine, shape, plan.bytes() + ranks * layout.bytes(), settings);
  const auto memory_of = [&](int rank) {
    return simulation.memory() + plan.bytes() + static_cast<std::size_t>(rank) * layout.bytes();
  };
  for (int r = 0; r < program.ranks; ++r) {
    made.emplace_back(plan, r, shape, simulation.memory());
    layout.prepare(program, r, memory_of(r));
  }
  simulation.run([&](SimPort& port) {
    const int rank = port.rank();
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      const ProgramCall& call = program.calls[c];
      if (call.fill != 0) {
        const Contribution part = program.contribution(call, rank);
        const std::vector<unsigned char> bytes = program.filling(call, rank);
        if (part.bytes != 0)
          simulation.write(rank, layout.place(memory_of(rank), part.buffer, part.at).at, bytes.data(),
                           bytes.size());
      }
      if (!call.delays.empty()) port.wait_until(port.ticks() + call.delays[static_cast<std::size_t>(rank)]);
      made[static_cast<std::size_t>(rank)].call(port, program, plan, layout, c, memory_of(rank));
    }
    port.fence();
  });
  ProgramRun run;
  run.end = simulation.now();
  run.algorithms = algorithms_of(program, plan);
  for (int r = 0; r < program.ranks; ++r) run.buffers.push_back(layout.take(program, r, memory_of(r)));
  return run;
}

CountedProgram run_program_counted(const Program& program, const Shape& shape) {
  check_shape(program, shape);
  const ProgramPlan plan(program, shape);
  const ProgramLayout layout(program);
  const auto ranks = static_cast<std::size_t>(program.ranks);
  std::vector<CountPort> ports;
  std::vector<ProgramRank<CountPort>> made;
  CountMachine machine(shape, plan.bytes() + ranks * layout.bytes());
  const auto memory_of = [&](int rank) {
    return machine.memory() + plan.bytes() + static_cast<std::size_t>(rank) * layout.bytes();
  };
  for (int r = 0; r < program.ranks; ++r) {
    ports.emplace_back(machine, r);
    made.emplace_back(plan, r, shape, machine.memory());
    layout.prepare(program, r, memory_of(r));
    machine.own(r, memory_of(r), layout.bytes());
  }
  CountedProgram found;
  found.algorithms = algorithms_of(program, plan);
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const ProgramCall& call = program.calls[c];
    for (int r = 0; call.fill != 0 && r < program.ranks; ++r) {
      const Contribution part = program.contribution(call, r);
      if (part.bytes != 0) program.filling(call, r, layout.place(memory_of(r), part.buffer, part.at).at);
    }
    found.counts.push_back(machine.run_call(
        [&](int r) {
          const auto i = static_cast<std::size_t>(r);
          made[i].call(ports[i], program, plan, layout, c, memory_of(r));
        },
        {}, !moves_data(call.operation)));
  }
  for (int r = 0; r < program.ranks; ++r) found.buffers.push_back(layout.take(program, r, memory_of(r)));
  return found;
}

// Alone, so that its memory ends where its footprint does.
std::vector<Counts> count_barrier_calls(const AlgorithmSpec& spec, const Shape& shape, int calls,
                                        const std::vector<int>& order) {
  if (shape.size() < 1 || shape.size() > max_ranks)
    throw ArgumentError("ranks", std::to_string(shape.size()), "1 to " + std::to_string(max_ranks));
  const AlgorithmSpec effective = in_effect(spec, shape, CallFacts());
  std::vector<CountPort> ports;
  std::vector<std::unique_ptr<AnyCollective<CountPort>>> barriers;
  // Goes first, and unwinds the fibers that still are inside a barrier after an error.
  CountMachine machine(shape, family(Operation::barrier).footprint(effective, shape));
  for (int r = 0; r < shape.size(); ++r) {
    ports.emplace_back(machine, r);
    barriers.push_back(
        make_collective<CountPort>(Operation::barrier, effective, Setup{r, shape, machine.memory()}));
  }
  const auto one_call = [&](int r) {
    const auto i = static_cast<std::size_t>(r);
    (*barriers[i])(ports[i], Call());
  };
  std::vector<Counts> counts;
  for (int e = 0; e < calls; ++e) counts.push_back(machine.run_call(one_call, order));
  return counts;
}

Shape shape_that_serves(const std::string& machine, const measure::Work& work, const AlgorithmSpec& spec,
                        int ranks, const std::string& placement) {
  const Machine loaded = load_machine(machine);
  const Shape shape = place_on_machine(loaded, ranks, placement);
  check_serves(loaded, work, spec, shape);
  return shape;
}

Counts count_collective(const measure::Work& work, const AlgorithmSpec& spec, const Shape& shape, int root) {
  if (!work.moves_data()) return count_barrier_calls(spec, shape, 3).back();
  Program program;
  program.ranks = shape.size();
  ProgramCall call = measure::program_call(work, shape.size(), root);
  call.algorithm = spec.text();
  std::size_t send = 0, receive = 0;
  for (int r = 0; r < shape.size(); ++r) {
    send = std::max(send, program.send_bytes(call, r));
    receive = std::max(receive, program.receive_bytes(call, r));
  }
  const auto ranks = static_cast<std::size_t>(shape.size());
  if ((send + receive) > most_counted_bytes / ranks)
    throw ArgumentError("size", std::to_string(work.bytes) + " with " + std::to_string(ranks) + " ranks",
                        "buffers of up to " + std::to_string(most_counted_bytes >> 20) + " MB in all");
  program.buffers = {send, receive};
  for (std::uint64_t fill = 1; fill <= 3; ++fill) {
    call.fill = fill;
    program.calls.push_back(call);
  }
  const CountedProgram found = run_program_counted(program, shape);
  check_same(program.expected(), found.buffers);
  return found.counts.back();
}

}  // namespace sim
}  // namespace phicoll
