#pragma once

// The results file: JSON Lines, as docs/records.md says. Appended and flushed line by line.

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

/// How this program was built; the library does not know.
struct BuildInfo {
  std::string compiler_id;
  std::string compiler_version;
  std::string compiler_flags;
  std::string git_commit;  ///< empty: unknown
  bool git_dirty = false;
};

/// The clock of the run and how far the CPUs' counters were seen apart.
struct ClockFacts {
  StampClock clock;
  bool invariant = false;
  double resolution_ns = 0;
  double overhead_ns = 0;
  double offset_ns = 0;
};

/// The text of a record, without the line's end; `fields` is an object without schema, kind and run.
std::string record_line(const char* kind, const std::string& run, const JsonObject& fields);

class RecordWriter {
 public:
  /// Opens `path` ("-": standard output) for appending. A file that exists must be ours; a last line without
  /// its end gets one, so that what follows is whole. Throws ArgumentError("output").
  explicit RecordWriter(const std::string& path);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// A line of `kind`; `fields` is an object without schema, kind and run. Throws ResourceError when it can't
  /// be written (a full disk).
  void write(const char* kind, const std::string& run, const JsonObject& fields);
  /// A line that record_line made.
  void write_line(const std::string& line);

 private:
  std::FILE* file_;
  std::string path_;
};

/// The whole lines of a results file. Throws ArgumentError(argument) when it can't be read, is not ours or of
/// a newer schema; damaged lines are counted.
struct RecordLines {
  std::vector<JsonValue> records;
  std::size_t damaged = 0;       ///< `last_is_cut_off` included
  bool last_is_cut_off = false;  ///< only the last line can have been cut off by the end of a run
  /// For a person: "1 damaged line(s) and 1 cut-off line skipped, 12 whole lines kept"; "" without damage.
  std::string loss() const;
};
RecordLines read_records(const std::string& path, const std::string& argument);

/// The fields of the context record.
JsonObject context_fields(const Settings& settings, const std::vector<std::string>& command,
                          const BuildInfo& build, const ClockFacts& clock);
/// The same for a run of another kind; `clock` and `settings` are JSON texts.
JsonObject context_fields(const std::vector<std::string>& command, const BuildInfo& build,
                          const std::string& clock, std::uint64_t seed, const std::string& settings);

/// 16 hexadecimal digits that no other run has.
std::string new_run_id();

}  // namespace measure
}  // namespace phicoll
