#pragma once

// The results file: JSON Lines as described in docs/records.md, appended line by line.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/stamp.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

constexpr int records_schema = 1;

/// How this program was built, which the library does not know.
struct BuildInfo {
  std::string compiler_id;
  std::string compiler_version;
  std::string compiler_flags;
  std::string git_commit;  ///< empty: unknown
  bool git_dirty = false;
};

/// The clock of the run, and how far apart the CPUs' counters were seen.
struct ClockFacts {
  StampClock clock;
  bool invariant = false;
  double resolution_ns = 0;
  double overhead_ns = 0;
  double offset_ns = 0;
};

/// The text of a record without the line's end. `fields` is an object without schema, kind and run.
std::string record_line(const char* kind, const std::string& run, const JsonObject& fields);

class RecordWriter {
 public:
  /// Opens `path` ("-": standard output) for appending. An existing file must be a results file of phicoll,
  /// which no other run is writing (flock). An unfinished last line is ended before the first record, which
  /// is then whole. Throws ArgumentError("output"); with `resume` also for a device or FIFO.
  explicit RecordWriter(const std::string& path, bool resume = false);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Whether the file had lines when it was opened. From then on no other run adds any.
  bool begun() const { return begun_; }
  /// Writes a record of `kind`. `fields` is an object without schema, kind and run. Throws ResourceError if
  /// it can't be written (a full disk).
  void write(const char* kind, const std::string& run, const JsonObject& fields);
  /// Writes a line made by record_line.
  void write_line(const std::string& line);

 private:
  int descriptor_;
  std::string path_;
  bool begun_ = false;
  std::string before_;  ///< what the first record is preceded by
};

/// The whole lines of a results file; those that say again what others say (a file appended to itself) are
/// left out.
struct RecordLines {
  std::vector<JsonValue> records;
  std::size_t damaged = 0;       ///< `last_is_cut_off` included
  bool last_is_cut_off = false;  ///< only the last line can have been cut off by the end of a run
  std::size_t repeated = 0;      ///< lines that were left out
  std::string reasons;           ///< what is wrong with the first damaged lines: "; line 7: ..."
  /// Counts a damaged line.
  void damage(std::size_t line, const std::string& what);
  /// For a person: "1 damaged line(s) and 1 cut-off line skipped, 12 whole lines kept; line 7: no field
  /// 'launch'; ..."; "" if every line was taken.
  std::string loss() const;
};
/// Reads a results file; damaged lines are skipped and counted, also samples that contradict an earlier one.
/// Throws ArgumentError(argument) if the file can't be read, is not phicoll's, or has a newer schema.
RecordLines read_records(const std::string& path, const std::string& argument);

/// The fields of the context record.
JsonObject context_fields(const Settings& settings, const std::vector<std::string>& command,
                          const BuildInfo& build, const ClockFacts& clock);
/// The same for a run that is not a native sweep. `clock` and `settings` are JSON texts.
JsonObject context_fields(const std::vector<std::string>& command, const BuildInfo& build,
                          const std::string& clock, std::uint64_t seed, const std::string& settings);

/// A new run's identifier: 16 random hexadecimal digits.
std::string new_run_id();

}  // namespace measure
}  // namespace phicoll
