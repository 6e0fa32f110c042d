#pragma once

// A group's tuning table: where it comes from, whether it is this machine's, and how its ranks get the same
// one.

#include <memory>
#include <string>

#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/group/options.hpp"

namespace phicoll {

/// Warns on stderr about a file of numbers; each text once, as groups are made often.
void warn_once(const std::string& text);

/// What distinguishes machines: "2 cpus, MODEL", the host's CPUs, whether this process may use them or not,
/// and their model's name.
std::string host_fingerprint();

/// The file, and what to do if it is another machine's.
struct TuningSource {
  std::string path;      ///< empty: none
  bool foreign = false;  ///< used with a warning, else refused
};
/// The source that the options name, else the environment (PHICOLL_TUNING, PHICOLL_TUNING_FOREIGN). `none`
/// and empty texts: no table. Throws ArgumentError("tuning_foreign").
TuningSource tuning_source(const std::string& tuning = "", const std::string& foreign = "");
TuningSource tuning_source(const GroupOptions& options);

/// The table for groups of this host; null where the source has none. Throws ArgumentError("tuning") as
/// TuningTable::read, and for a table whose `host` is another.
std::shared_ptr<const Tuning> load_tuning(const TuningSource& source, TuningMode mode);
/// The table for a simulated machine of `contexts` contexts, whose name its `machine` must be.
std::shared_ptr<const Tuning> load_simulated_tuning(const TuningSource& source, const std::string& machine,
                                                    int contexts);

/// A table as one text with its name, and back, for ranks that cannot read its file.
std::string pack_tuning(const TuningTable& table);
std::shared_ptr<const Tuning> unpack_tuning(const std::string& packed, int cpus,
                                            TuningMode mode = TuningMode::processes);

}  // namespace phicoll
