#pragma once

// What can be measured: the registries' algorithms of any operation, and references that stand beside them in
// the same rounds.

#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace measure {

/// Hand-written loops, the system's barriers and those of OpenMP libraries; none takes parameters.
const std::vector<AlgorithmInfo>& reference_barriers();
/// The references of an operation.
const std::vector<AlgorithmInfo>& references(Operation operation);

/// True for the references that run in a program of their own.
bool is_openmp_reference(const std::string& name);

struct Subject {
  AlgorithmInfo info;
  bool reference = false;
  AlgorithmSpec spec;  ///< of a registry's algorithm
  Work work;
  std::string text() const { return reference ? info.name : spec.text(); }
  /// Different for different subjects: what it is and what it is called with.
  std::string key() const { return work.text() + " " + text(); }
};

/// As Family::parse_list, with the references' names and the set `references`; all to be called with `work`.
/// Duplicates are dropped. Throws ArgumentError("algorithm") and those of Family::parse.
std::vector<Subject> parse_subjects(const std::string& text, const Work& work = Work());

/// The spec that will really run, of a registry's algorithm: `auto` resolved, values in effect.
AlgorithmSpec effective_subject(const Subject& subject, const Shape& shape);
/// A shape with the tuning table that groups of `mode` get from the environment.
Shape tuned(Shape shape, const std::string& mode);
/// What `auto` takes, and why.
AlgorithmChoice choice_of(const Subject& subject, const Shape& shape);
/// Bytes of shared memory that the subject takes, of a registry's algorithm.
std::size_t subject_footprint(const Subject& subject, const Shape& shape);

/// Why the subject can't run in `mode` ("threads", "processes") with ranks placed so; "" when it can.
std::string why_not(const Subject& subject, const std::string& mode, const Shape& shape);

}  // namespace measure
}  // namespace phicoll
