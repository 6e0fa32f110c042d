#pragma once

// What can be measured: the registries' algorithms of any operation, and references measured beside them in
// the same rounds.

#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/measure/bare_loop.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace measure {

/// Hand-written loops, the system's barriers and those of OpenMP libraries. None takes parameters.
const std::vector<AlgorithmInfo>& reference_barriers();
/// The references of an operation.
const std::vector<AlgorithmInfo>& references(Operation operation);

/// True for the references that run in a separate program.
bool is_openmp_reference(const std::string& name);

/// The name of the subject that makes calls by `auto` with all but the data worked out before
/// (Communicator::prepare).
extern const char* const prepared_call;

/// One of the things that a sweep measures beside each other: an algorithm or a reference, and the work that
/// it does.
struct Subject {
  AlgorithmInfo info;
  bool reference = false;
  AlgorithmSpec spec;  ///< empty for a reference without parameters
  Work work;
  bool prepared() const { return info.name == prepared_call; }
  std::string text() const { return spec.name.empty() || prepared() ? info.name : spec.text(); }
  /// Differs between subjects: what is called, and with what.
  std::string key() const { return work.text() + " " + text(); }
};

/// Parses a list as Family::parse_list does, with the references' names and the set `references` besides. All
/// subjects will be called with `work`. Drops duplicates. Throws ArgumentError("algorithm") and what
/// Family::parse throws.
std::vector<Subject> parse_subjects(const std::string& text, const Work& work = Work());

/// The spec that will really run: `auto` resolved, values in effect. Only for an algorithm of a registry.
AlgorithmSpec effective_subject(const Subject& subject, const Shape& shape);
/// The shape with the tuning table that groups of `mode` get from the environment.
Shape tuned(Shape shape, const std::string& mode);
/// What `auto` chooses, and why.
AlgorithmChoice choice_of(const Subject& subject, const Shape& shape);
/// Bytes of shared memory that the subject uses. A hand-written one fits into what probes take.
std::size_t subject_footprint(const Subject& subject, const Shape& shape);

/// The parameters of a bare loop (bare_loop.hpp).
BareLoopParameters bare_loop_parameters(const Subject& subject);

/// Why the subject can't run in `mode` ("threads", "processes") with this shape; "" if it can.
std::string why_not(const Subject& subject, const std::string& mode, const Shape& shape);

}  // namespace measure
}  // namespace phicoll
