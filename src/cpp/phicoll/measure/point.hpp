#pragma once

// What a run knows about each point that it measures (a subject with a number of ranks in a mode), and about
// the set of ranks that runs it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/measure/worker_set.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

struct Point {
  int number = 0;
  Subject subject;
  std::string mode;
  int ranks = 0;
  bool written = false;
  bool verified = false;
  bool excluded = false;  ///< could not be verified because it hung or its set died
  std::string error;
  std::uint64_t verified_calls = 0;
  std::string library;  ///< file of the runtime that an OpenMP reference really loaded
  std::vector<int> observed;
  double estimate_ns = 0;  ///< of a call
  double write_ns = 0;     ///< of the write before it
  double slack_ns = 0;
  std::map<std::string, std::vector<double>> values;  ///< by definition

  /// For a person: "dissemination:ways=3 with 4 ranks as threads".
  std::string title() const;
};

/// The running ranks of a launch in one mode.
struct LiveSet {
  std::unique_ptr<WorkerSet> workers;
  std::string mode;  ///< threads, processes: as recorded
  bool openmp = false;
  Shape shape;
  std::vector<Point*> points;
  double empty_ns = 0;
};

/// An algorithm's values as an object of numbers and texts.
std::string values_json(const ParameterValues& values);
/// The value of the parameter `name`, or `otherwise` if there is none.
std::string parameter_value(const ParameterValues& values, const char* name, const char* otherwise);

/// The fields of the point's record.
JsonObject point_fields(const Point& point, const Shape& shape, const Settings& settings);

}  // namespace measure
}  // namespace phicoll
