#pragma once

// The part of a machine file that is not simulated: the constants of the communication model
// (ramos-hoefler-2013), each with unit, error and origin, and the host that was measured. A simulated run
// uses only the line costs, from which algorithms designed by a model take their parameters.

#include <string>
#include <vector>

#include "phicoll/memory/line_costs.hpp"

namespace phicoll {
namespace sim {

/// One number of the model.
struct ModelConstant {
  std::string name;           ///< such as `line.remote`; model_constants() has them all
  double value = 0;           ///< in `unit`; meaningless unless `known`
  bool known = false;         ///< false for the kind undetermined
  double standard_error = 0;  ///< of the value, in `unit`; negative where the file gives none
  std::string unit;
  std::string kind;    ///< measured, published, simulated, assumed (source says from where) or undetermined
  std::string source;  ///< the reason where it is undetermined
};

/// The host that a machine was measured on.
struct ModelHost {
  std::string cpu;       ///< its model; empty for a machine that was measured on no host
  int allowed_cpus = 0;  ///< how many CPUs could be used
  int clock_mhz = 0;
  bool known() const { return !cpu.empty(); }
};

/// A constant's name, unit and range.
struct ModelConstantInfo {
  std::string name, unit, meaning;
  bool may_be_negative = false;  ///< an overhead, or a term of a fit
};

/// Every constant that a model may have, in the order of files.
const std::vector<ModelConstantInfo>& model_constants();
/// The constant with this name, nullptr if there is none.
const ModelConstantInfo* find_model_constant(const std::string& name);
/// "nearest: ...", for an error about an unknown name.
std::string nearest_model_constant(const std::string& name);

/// In tenths of a nanosecond, from line.local, line.remote, line.memory, contention.EE.c and multi.EE.o.
/// Where a machine has no line.remote of its own, line.remote.M stands for it: what collectives read was
/// written by another rank. Any other constant that the model lacks or leaves undetermined has the
/// ratio to line.remote that it has on the Xeon Phi 5110P. Without any line.remote all costs are the 5110P's.
LineCosts line_costs_of(const std::vector<ModelConstant>& model);

}  // namespace sim
}  // namespace phicoll
