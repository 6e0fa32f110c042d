#pragma once

// What can be measured: the registry's barriers, and references that stand beside them in the same rounds.

#include <string>
#include <vector>

#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace measure {

/// Hand-written loops, the system's barriers and those of OpenMP libraries; none takes parameters.
const std::vector<AlgorithmInfo>& reference_barriers();

/// True for the references that run in a program of their own.
bool is_openmp_reference(const std::string& name);

struct Subject {
  AlgorithmInfo info;
  bool reference = false;
  AlgorithmSpec spec;  ///< of a registry barrier
  std::string text() const { return reference ? info.name : spec.text(); }
};

/// As parse_barriers, with the references' names and the set `references`. Duplicates are dropped. Throws
/// ArgumentError("algorithm") and those of parse_barrier.
std::vector<Subject> parse_subjects(const std::string& text);

/// Why the subject can't run in `mode` ("threads", "processes") with ranks placed so; "" when it can.
std::string why_not(const Subject& subject, const std::string& mode, const Shape& shape);

}  // namespace measure
}  // namespace phicoll
