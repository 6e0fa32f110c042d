#include "phicoll/measure/records.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "phicoll/errors.hpp"
#include "phicoll/measure/known_records.hpp"
#include "phicoll/measure/record_schema.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/input_file.hpp"
#include "phicoll/os/topology.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/text_hash.hpp"
#include "phicoll/version.hpp"

namespace phicoll {
namespace measure {

namespace {

ArgumentError not_ours(const std::string& argument, const std::string& path, const std::string& why) {
  return ArgumentError(argument, "'" + path + "' (" + why + ")",
                       "a results file of phicoll, which begins with its context line");
}

void check_schema(const JsonValue& line, const std::string& path, const std::string& argument) {
  if (line["schema"].number > records_schema)
    throw ArgumentError(
        argument, "'" + path + "' of schema " + json_number(line["schema"].number),
        "schema " + std::to_string(records_schema) + " or older; a newer phicoll wrote this file");
}

void check_first(const JsonValue& first, const std::string& path, const std::string& argument) {
  if (first["phicoll"].string != "results") throw not_ours(argument, path, "its first line is not phicoll's");
}

// Opens `path` for appending, and locks a regular file. Another run's lock is its end. A file system without
// locks serves, too.
int open_alone(const std::string& path) {
  for (;;) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
      throw ArgumentError("output", "'" + path + "' (" + std::strerror(errno) + ")",
                          "a file that can be written");
    struct stat mine;
    if (fstat(descriptor, &mine) != 0 || !S_ISREG(mine.st_mode)) return descriptor;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return descriptor;
      close(descriptor);
      throw ArgumentError("output", "'" + path + "', which another run is writing",
                          "a file of its own, or this one after that run");
    }
    struct stat there;
    if (stat(path.c_str(), &there) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
      return descriptor;
    close(descriptor);  // removed or replaced before it was locked: others lock the one at the path
  }
}

// Removes what a full disk has taken of a line, so that the file ends with a whole one. Without locks another
// run may have written behind it: then it stays.
void take_back(int descriptor, off_t bytes) {
  struct stat status;
  if (bytes == 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (lseek(descriptor, 0, SEEK_CUR) != status.st_size) return;
  if (ftruncate(descriptor, status.st_size - bytes) != 0) errno = 0;  // the reader skips it, and says so
}

}  // namespace

RecordWriter::RecordWriter(const std::string& path, bool resume) : descriptor_(STDOUT_FILENO), path_(path) {
  if (path == "-") return;
  struct stat status;
  const bool other = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (other && (resume || (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode))))
    throw ArgumentError("output", "'" + path + "', which is not a file", "a file that can be written");
  descriptor_ = open_alone(path);
  if (other || fstat(descriptor_, &status) != 0 || status.st_size == 0) return;
  try {
    os::InputFile file(path);
    std::string line;
    JsonValue first;
    if (!file.next_line(&line) && !file.fault().empty()) throw not_ours("output", path, file.fault());
    if (!JsonValue::parse(line, &first)) throw not_ours("output", path, "its first line is not JSON");
    check_first(first, path, "output");
    check_schema(first, path, "output");
    if (!os::InputFile(path).ends_with_line()) before_ = "\n";
  } catch (...) {
    close(descriptor_);
    throw;
  }
  begun_ = true;
}

RecordWriter::~RecordWriter() {
  if (descriptor_ != STDOUT_FILENO) close(descriptor_);
}

std::string record_line(const char* kind, const std::string& run, const JsonObject& fields) {
  JsonObject head;
  head.add("schema", records_schema).add("kind", kind).add("run", run);
  std::string line = head.text();
  const std::string rest = fields.text();
  line.pop_back();
  if (rest.size() > 2) line += ',';
  return line.append(rest, 1, std::string::npos);
}

void RecordWriter::write(const char* kind, const std::string& run, const JsonObject& fields) {
  write_line(record_line(kind, run, fields));
}

// One write to the end of the file: without locks, too, lines of two runs are not mixed.
void RecordWriter::write_line(const std::string& line) {
  const std::string whole = before_ + line + '\n';
  if (descriptor_ == STDOUT_FILENO) std::fflush(stdout);
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t bytes = ::write(descriptor_, whole.data() + done, whole.size() - done);
    if (bytes < 0 && errno != EINTR) {
      const int error = errno;
      take_back(descriptor_, static_cast<off_t>(done));
      throw ResourceError("output: '" + path_ + "' can no longer be written (" + std::strerror(error) + ")");
    }
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  before_.clear();
}

RecordLines read_records(const std::string& path, const std::string& argument) {
  os::InputFile file(path, true);
  RecordLines lines;
  KnownRecords known(lines.records);
  std::string line;
  for (std::size_t number = 1; file.next_line(&line); ++number) {
    if (line.find_first_not_of(std::string(" \t\r\0", 4)) == std::string::npos) continue;
    JsonValue value;
    JsonFault not_json;
    // Before they take memory. Each value but the first follows one of these signs.
    if (line.size() > json_most_values && std::count_if(line.begin(), line.end(), [](char c) {
                                            return c == ',' || c == '[' || c == '{';
                                          }) > static_cast<std::ptrdiff_t>(json_most_values))
      not_json.what = "more than " + std::to_string(json_most_values) + " values";
    if (!not_json.what.empty() || !JsonValue::parse(line, &value, &not_json)) {
      if (lines.records.empty() && line[0] != '{')
        throw not_ours(argument, path, "its first line is not JSON");
      lines.damage(number, not_json.what);
      lines.last_is_cut_off = true;
      continue;
    }
    lines.last_is_cut_off = false;
    if (lines.records.empty()) check_first(value, path, argument);
    check_schema(value, path, argument);
    const std::string fault = record_fault(value);
    if (!fault.empty()) {
      if (lines.records.empty())
        throw not_ours(argument, path, "line " + std::to_string(number) + ": " + fault);
      lines.damage(number, fault);
      continue;
    }
    switch (known.add(value)) {
      case Known::is_new:
        lines.records.push_back(std::move(value));
        break;
      case Known::repeated:
        if (value["kind"].string != "end") ++lines.repeated;  // a run that is resumed ends again
        break;
      case Known::contradicted:
        lines.damage(number, "another value of a sample that is there");
        break;
    }
  }
  if (!file.fault().empty())
    throw ArgumentError(argument, "'" + path + "' (" + file.fault() + ")", "a results file that can be read");
  if (lines.records.empty()) throw not_ours(argument, path, "no whole line");
  return lines;
}

void RecordLines::damage(std::size_t line, const std::string& what) {
  constexpr std::size_t most_told = 3;
  if (++damaged <= most_told)
    reasons += "; line " + std::to_string(line) + ": " + what;
  else if (damaged == most_told + 1)
    reasons += "; ...";
}

std::string RecordLines::loss() const {
  const std::string again = repeated > 0 ? std::to_string(repeated) + " repeated line(s) counted once" : "";
  if (damaged == 0) return again;
  const std::size_t inner = damaged - (last_is_cut_off ? 1 : 0);
  std::string text = inner > 0 ? std::to_string(inner) + " damaged line(s)" : "";
  if (last_is_cut_off) text += std::string(inner > 0 ? " and " : "") + "1 cut-off line";
  return text + " skipped, " + std::to_string(records.size()) + " whole lines kept" + reasons +
         (again.empty() ? "" : "; " + again);
}

JsonObject context_fields(const Settings& settings, const std::vector<std::string>& command,
                          const BuildInfo& build, const ClockFacts& clock) {
  JsonObject facts;
  facts.add("source", clock.clock.cycle_counter != 0 ? "tsc" : "clock_gettime")
      .add("resolution_ns", clock.resolution_ns)
      .add("overhead_ns", clock.overhead_ns)
      .add("invariant", clock.invariant)
      .add("offset_ns", clock.offset_ns);
  return context_fields(command, build, facts.text(), settings.seed, settings.json());
}

JsonObject context_fields(const std::vector<std::string>& command, const BuildInfo& build,
                          const std::string& clock, std::uint64_t seed, const std::string& settings) {
  char created[64];
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  std::strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);

  const std::array<double, 3> load = os::load_averages();
  JsonObject host;
  host.add("cpu_model", os::cpu_model())
      .add("kernel", os::kernel_release())
      .add("virtualisation", os::virtualisation())
      .add("container", os::container())
      .add("governor", os::frequency_governor())
      .add("boost", os::frequency_boost())
      .add("huge_pages", os::huge_pages())
      .raw("load", json_numbers({load[0], load[1], load[2]}))
      .add("memory_bytes", os::memory_total());

  std::vector<std::string> topology;
  for (const os::CpuPlace& place : os::read_topology()) {
    topology.push_back(JsonObject()
                           .add("cpu", place.cpu)
                           .add_if(place.core >= 0, "core", place.core)
                           .add_if(place.l3 >= 0, "l3", place.l3)
                           .add_if(place.numa >= 0, "numa", place.numa)
                           .add_if(place.package >= 0, "package", place.package)
                           .text());
  }
  std::vector<std::string> caches;
  for (const os::Cache& cache : os::read_caches(0))
    caches.push_back(JsonObject()
                         .add("level", cache.level)
                         .add("type", cache.type)
                         .add("size_bytes", static_cast<std::uint64_t>(cache.size_bytes))
                         .add("line_bytes", static_cast<std::uint64_t>(cache.line_bytes))
                         .raw("shared_cpus", json_integers(cache.shared_cpus))
                         .text());

  JsonObject context;
  context.add("phicoll", "results").add("created", created).raw("command", json_strings(command));
  context.add("version", PHICOLL_VERSION);
  if (build.git_commit.empty())
    context.null("git");
  else
    context.raw("git", JsonObject().add("commit", build.git_commit).add("dirty", build.git_dirty).text());
  context.raw("compiler", JsonObject()
                              .add("id", build.compiler_id)
                              .add("version", build.compiler_version)
                              .add("flags", build.compiler_flags)
                              .text());
  context.raw("host", host.text()).raw("topology", json_list(topology)).raw("caches", json_list(caches));
  context.raw("allowed_cpus", json_integers(os::allowed_cpus()));
  context.add_if(os::cpu_quota() >= 0, "cpu_quota", os::cpu_quota());
  context.raw("clock", clock).add("seed", seed).raw("settings", settings);
  return context;
}

std::string new_run_id() {
  std::uint64_t number = 0;
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, &number, sizeof number) != static_cast<ssize_t>(sizeof number))
    number = mix_seed(static_cast<std::uint64_t>(os::now_ns()), static_cast<std::uint64_t>(getpid()),
                      static_cast<std::uint64_t>(std::time(nullptr)));
  if (file >= 0) close(file);
  return hexadecimal(number);
}

}  // namespace measure
}  // namespace phicoll
