#pragma once

// A Program's calls on one of the simulator's ports, whatever the machine behind it: the algorithms that its
// calls need, each made once, and one rank's way through the calls.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/barrier/make.hpp"
#include "phicoll/collectives/program.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/sim/running/port_collectives.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"

namespace phicoll {
namespace sim {

/// Which algorithm serves each call of a program, and where in shared memory it lies.
class ProgramPlan {
 public:
  struct Part {
    Operation operation;
    AlgorithmSpec spec;  ///< in effect
    std::size_t at;      ///< byte of the shared memory
  };

  ProgramPlan(const Program& program, const Shape& shape) {
    for (const ProgramCall& call : program.calls) {
      const bool barrier = call.operation == Operation::barrier;
      const AlgorithmSpec spec = barrier ? effective_barrier(parse_barrier(call.algorithm), shape)
                                         : effective_collective(family(call.operation).parse(call.algorithm),
                                                                shape, program.facts(call));
      std::string key = std::string(to_string(call.operation)) + " " + spec.text();
      std::size_t i = 0;
      while (i < keys_.size() && keys_[i] != key) ++i;
      part_of_.push_back(i);
      if (i < keys_.size()) continue;
      keys_.push_back(std::move(key));
      parts_.push_back(Part{call.operation, spec, bytes_});
      const std::size_t bytes =
          barrier ? barrier_footprint(spec, shape) : family(call.operation).footprint(spec, shape);
      bytes_ += arch::whole_strides(bytes);
    }
  }

  std::size_t bytes() const { return bytes_; }
  const std::vector<Part>& parts() const { return parts_; }
  std::size_t part_of(std::size_t call) const { return part_of_[call]; }

 private:
  std::vector<std::string> keys_;
  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;
  std::size_t bytes_ = 0;
};

/// One rank's algorithms.
template <class Port>
class ProgramRank {
 public:
  ProgramRank(const ProgramPlan& plan, int rank, const Shape& shape, unsigned char* shared) {
    for (const ProgramPlan::Part& part : plan.parts()) {
      const Setup setup{rank, shape, shared + part.at};
      made_.emplace_back();
      if (part.operation == Operation::barrier)
        made_.back().barrier = make_barrier<Port>(part.spec, setup);
      else
        made_.back().data = make_port_collective<Port>(part.operation, part.spec, setup);
    }
  }

  /// The call's filling and delay are the caller's.
  void call(Port& port, const Program& program, const ProgramPlan& plan, const ProgramLayout& layout,
            std::size_t number, unsigned char* memory) {
    const ProgramCall& made = program.calls[number];
    Made& by = made_[plan.part_of(number)];
    if (by.barrier) {
      (*by.barrier)(port);
      return;
    }
    const BoundCall bound(program, made, port.rank(), layout.place(memory, made.send, made.send_at),
                          layout.place(memory, made.receive, made.receive_at),
                          Data{memory + layout.scratch()});
    if (bound.saved != 0) port.move(bound.call.send, bound.call.receive, bound.saved);
    (*by.data)(port, bound.call);
  }

 private:
  struct Made {
    std::unique_ptr<AnyBarrier<Port>> barrier;
    PortCollective<Port> data;
  };
  std::vector<Made> made_;
};

}  // namespace sim
}  // namespace phicoll
