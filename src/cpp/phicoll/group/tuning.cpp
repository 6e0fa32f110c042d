#include "phicoll/group/tuning.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {

namespace {

std::string from_environment(const char* name) {
  const char* const text = os::environment(name);
  return text == nullptr ? std::string() : std::string(text);
}

void check_origin(const TuningSource& source, const TuningTable& table, int line, const char* what,
                  const std::string& theirs, const std::string& ours) {
  if (theirs.empty() || theirs == ours) return;
  const std::string got =
      table.name() + ":" + std::to_string(line) + ": a table of " + what + " '" + theirs + "'";
  if (!source.foreign)
    throw ArgumentError(
        "tuning", got,
        std::string("one of ") + what + " '" + ours + "', or any with PHICOLL_TUNING_FOREIGN=use");
  warn_once(got + " is used on '" + ours + "'");
}

}  // namespace

void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "phicoll: warning: %s\n", printable(text).c_str());
}

std::string host_fingerprint() {
  return std::to_string(os::host_cpu_count()) + " cpus, " + os::cpu_model();
}

TuningSource tuning_source(const std::string& tuning, const std::string& foreign) {
  TuningSource source;
  source.path = tuning.empty() ? from_environment("PHICOLL_TUNING") : tuning;
  if (source.path == "none") source.path.clear();
  const std::string how = foreign.empty() ? from_environment("PHICOLL_TUNING_FOREIGN") : foreign;
  if (!how.empty() && how != "refuse" && how != "use")
    throw ArgumentError(foreign.empty() ? "PHICOLL_TUNING_FOREIGN" : "tuning_foreign", "'" + how + "'",
                        "refuse, use");
  source.foreign = how == "use";
  return source;
}

TuningSource tuning_source(const GroupOptions& options) {
  return tuning_source(options.tuning, options.tuning_foreign);
}

std::shared_ptr<const Tuning> load_tuning(const TuningSource& source, TuningMode mode) {
  if (source.path.empty()) return nullptr;
  TuningTable table = TuningTable::read(source.path);
  check_origin(source, table, table.host_line(), "host", table.host(), host_fingerprint());
  return std::make_shared<const Tuning>(Tuning{std::move(table), mode, os::allowed_cpu_count()});
}

std::shared_ptr<const Tuning> load_simulated_tuning(const TuningSource& source, const std::string& machine,
                                                    int contexts) {
  if (source.path.empty()) return nullptr;
  TuningTable table = TuningTable::read(source.path);
  check_origin(source, table, table.machine_line(), "machine", table.machine(), machine);
  return std::make_shared<const Tuning>(Tuning{std::move(table), TuningMode::simulated, contexts});
}

std::string pack_tuning(const TuningTable& table) {
  return table.name() + "\n" + table.source();
}

std::shared_ptr<const Tuning> unpack_tuning(const std::string& packed, int cpus, TuningMode mode) {
  const std::size_t end = packed.find('\n');
  return std::make_shared<const Tuning>(
      Tuning{TuningTable::parse(packed.substr(end + 1), packed.substr(0, end)), mode, cpus});
}

}  // namespace phicoll
