#pragma once

// The host's numbers (HostNumbers): measured once between two ranks, kept in a file, and the same on all
// ranks of a group.
//
// - The process that makes a group reads the file and passes the numbers on with the group.
// - If numbers are missing, rank 0 and a rank on another CPU measure in the group's first large call; rank 0
//   tells all and writes the file.
// - A file is written under a lock and gets its name once complete. Of two groups that come at once, one
//   measures; the other keeps what it has.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "phicoll/group/options.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

class Communicator;

/// The time after which measuring stops; numbers that it did not reach stay as they are.
constexpr std::int64_t calibrating_ns = 80 * 1000 * 1000;
/// The part of that time in which, in a group whose ranks share CPUs, a pair measures how bytes are copied.
constexpr std::int64_t calibrating_copies_ns = 25 * 1000 * 1000;

/// Bytes of the group's heap used while measuring: the largest algorithm takes 16 MB and is moved by up to 5
/// MB.
constexpr std::size_t calibrating_memory = std::size_t{22} << 20;

/// What PHICOLL_CALIBRATION allows: `on` (the default), `read` (the file is read but never made), `off`.
enum class CalibrationUse : unsigned char { off, read, on };
/// Throws ArgumentError("PHICOLL_CALIBRATION").
CalibrationUse calibration_use();

/// The kind of this host, such as "AMD EPYC, family 26 model 2": hosts of one kind share their numbers.
/// Pinning does not change it.
const std::string& host_kind();

/// The file of this kind of host, in XDG_CACHE_HOME/phicoll or else HOME/.cache/phicoll. Empty if neither
/// path is absolute.
std::string calibration_file();

/// The numbers with which groups of this host begin: the file's (`measured`), else what this process
/// remembers, else the defaults. A file that cannot be read, or is another kind's, counts as none; so does
/// one that another user could have written, with a warning.
HostNumbers stored_numbers();

/// Whether groups with these options may measure: no single wait is limited to less than a second, and
/// measuring was not disturbed within the last seconds, up to a minute if it was several times in a row.
bool may_calibrate(const GroupOptions& options, const HostNumbers& stored);

/// Whether the first large call of a group that may measure does so: no numbers are stored, or only those of
/// other groups, or measuring was disturbed. `cpus`: how many its ranks may use.
bool lacks_numbers(const HostNumbers& stored, const Shape& shape, int cpus);

/// 16 hexadecimal digits of all numbers by which anything is chosen; "" for the defaults.
std::string numbers_digest(HostNumbers numbers);

/// Whether the numbers were written (a read-only or missing cache is not an error).
bool store_numbers(const HostNumbers& numbers, const std::string& how);

/// What a group measures.
struct Calibrating {
  bool copies;                 ///< how bytes are copied, near or far; by two ranks with a CPU each
  HostNumbers::Sharing sizes;  ///< whose sizes, if `sizes_too`
  bool sizes_too;
  std::int64_t most_ns;  ///< after this time measuring stops; what was not reached stays
};

/// Measures, on all `ranks`, what is not known yet for the present state of the CPUs (near or far). A number
/// changes only for a clear gain. Returns false, with the numbers unchanged, if other programs or moving CPUs
/// disturbed it. The same on all ranks. Collective.
bool measure_numbers(Communicator& ranks, HostNumbers* numbers, const Calibrating& what);

/// Measuring is disturbed if ranks with a CPU each lacked it for more than this percentage of the time. On a
/// quiet machine it is 2 to 4; a program that computes on one of the CPUs takes half. At 100 nothing disturbs
/// it. Tests change it.
std::atomic<int>& disturbed_percent();

/// The numbers, with defaults for all that is measured.
HostNumbers without_measured(HostNumbers numbers);

/// The rank with which rank 0 measures: the first not known to be on rank 0's core, else on its CPU; -1 if
/// there is none.
int calibrating_peer(const Shape& shape);

/// Returns on rank 0 of `ranks` the numbers to pass on: the file's if it has them by now, else measured with
/// the others' help and stored. Collective. `anew`: measures even if the file has them. Of a disturbed
/// measurement only HostNumbers::disturbed is stored. A group's tuning table has no part in it.
HostNumbers calibrated(Communicator& ranks, const Calibrating& what, bool anew);

/// Which sizes serve a group.
HostNumbers::Sharing sharing_of(const Shape& shape);

/// Measures anew between two, four and eight threads of this process on CPUs of two cores, without a tuning
/// table, and stores the numbers; tries a few times if disturbed. Throws ResourceError if only one CPU may be
/// used, and ArgumentError if PHICOLL_CALIBRATION is not on.
HostNumbers calibrate_host();

}  // namespace phicoll
