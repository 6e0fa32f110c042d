#pragma once

// Runs a Program's calls on one of the simulator's ports: makes each algorithm that the calls need once, and
// takes one rank through the calls.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/collectives/verifying/program.hpp"

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
      const Family& known = family(call.operation);
      const AlgorithmSpec spec = in_effect(known.parse(call.algorithm), shape, program.facts(call));
      std::string key = std::string(to_string(call.operation)) + " " + spec.text();
      std::size_t i = 0;
      while (i < keys_.size() && keys_[i] != key) ++i;
      part_of_.push_back(i);
      if (i < keys_.size()) continue;
      keys_.push_back(std::move(key));
      parts_.push_back(Part{call.operation, spec, bytes_});
      bytes_ += arch::whole_strides(known.footprint(spec, shape));
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
    for (const ProgramPlan::Part& part : plan.parts())
      made_.push_back(make_collective<Port>(part.operation, part.spec, Setup{rank, shape, shared + part.at}));
  }

  /// The call's filling and delay are the caller's.
  void call(Port& port, const Program& program, const ProgramPlan& plan, const ProgramLayout& layout,
            std::size_t number, unsigned char* memory) {
    const ProgramCall& made = program.calls[number];
    OwnBlocks blocks, send_blocks;
    Call call = program.bind(made, port.rank(), layout.place(memory, made.send, made.send_at),
                             layout.place(memory, made.receive, made.receive_at), &blocks, &send_blocks);
    if (exchanges_pairs(made.operation) && made.in_place) {
      call.send = Data{memory + layout.scratch()};
      const std::size_t saved = program.receive_bytes(made, port.rank());
      if (saved != 0) port.move(call.send, call.receive, saved);
    }
    (*made_[plan.part_of(number)])(port, call);
  }

 private:
  std::vector<std::unique_ptr<AnyCollective<Port>>> made_;
};

}  // namespace sim
}  // namespace phicoll
