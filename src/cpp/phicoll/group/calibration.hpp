#pragma once

// The host's numbers (HostNumbers) of this host: measured once between two ranks, kept in a file, and the same on all
// ranks of a group.
//
// - The process that makes a group reads the file and passes the numbers on with the group.
// - Without a file, the group's first large call measures. All ranks are in that call. Rank 0 and a rank on another CPU
//   measure, then rank 0 tells all and writes the file.
// - A file is written under a lock and gets its name once it is complete. If two groups come at once, one measures; the
//   other has the defaults.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "phicoll/group/options.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

class Communicator;

/// Measuring stops after so long, and what was not reached keeps its default.
constexpr std::int64_t calibrating_ns = 80 * 1000 * 1000;
/// What of it a group whose ranks share CPUs leaves to the pair that measures how bytes are copied.
constexpr std::int64_t calibrating_copies_ns = 25 * 1000 * 1000;

/// Bytes of the group's heap that measuring takes for its time: algorithms with rings of up to 4 MB in all, and two buffers.
constexpr std::size_t calibrating_memory = std::size_t{20} << 20;

/// What PHICOLL_CALIBRATION allows: `on` (the default), `read` (the file is read but never made), `off`.
enum class CalibrationUse : unsigned char { off, read, on };
/// Throws ArgumentError("PHICOLL_CALIBRATION").
CalibrationUse calibration_use();

/// "AMD EPYC, family 26 model 2": hosts alike share their numbers. A rank's pinning does not change it.
const std::string& host_kind();

/// The file of this kind of host, in XDG_CACHE_HOME/phicoll or else HOME/.cache/phicoll. Empty if neither path is absolute.
std::string calibration_file();

/// The numbers with which a group of this host begins. `state` is measured if they come from a file, and wanted if the first
/// large call is to measure. A file that cannot be read, or is another kind's, counts as none. `patient`: no single wait of
/// the group is limited to less than a second.
/// Numbers that are measured for other groups alone, or were disturbed, are wanted, too.
HostNumbers stored_numbers(int ranks, bool patient);
inline bool patient(const GroupOptions& options) {
  return options.timeout_ms == 0 || options.timeout_ms >= 1000;
}

/// 16 hexadecimal digits of measured numbers; "" for others.
std::string numbers_digest(const HostNumbers& numbers);

/// Whether the numbers were written (a cache that is read-only or absent is no error).
bool store_numbers(const HostNumbers& numbers, const std::string& how);

/// What a group measures.
struct Calibrating {
  bool copies;                 ///< how bytes are copied, near or far; by two ranks with a CPU each
  HostNumbers::Sharing sizes;  ///< whose sizes, if `sizes_too`
  bool sizes_too;
  std::int64_t most_ns;  ///< measuring stops after so long, and what was not reached stays
};

/// Measures on all `ranks` what is not known yet in the state in which the CPUs are. A number moves only where that clearly
/// gains. False if other programs, or CPUs that moved, disturbed it; the numbers stay then. The same on all. Collective.
bool measure_numbers(Communicator& ranks, HostNumbers* numbers, const Calibrating& what);

/// Measuring is disturbed if ranks with a CPU each were without it for more of the time than so many percent. On a quiet
/// machine it is 2 to 4; a program that computes on one of the CPUs takes half. For tests to change.
std::atomic<int>& disturbed_percent();

/// With the defaults of all that is measured.
HostNumbers without_measured(HostNumbers numbers);

/// The rank with which rank 0 measures: the first that is not known to be on its CPU; -1 if there is none.
int calibrating_peer(const Shape& shape);

/// Returns on rank 0 of `ranks` the numbers to pass on: the file's if they are there by now, else measured and stored with
/// the others' help. Collective. `anew`: measures even if they are there. Of a measurement that was disturbed only
/// HostNumbers::disturbed is stored.
HostNumbers calibrated(Communicator& ranks, const HostNumbers& from, const Calibrating& what, bool anew);

/// Which sizes serve so many ranks on so many CPUs.
inline HostNumbers::Sharing sharing_of(int ranks, int cpus) {
  return ranks <= cpus ? HostNumbers::pair : ranks <= 4 ? HostNumbers::few : HostNumbers::many;
}

/// Measures anew between threads of this process, two, four and eight on two CPUs, and stores the numbers; where that is
/// disturbed, a few times. Throws ResourceError if only one CPU may be used.
HostNumbers calibrate_host();

}  // namespace phicoll
