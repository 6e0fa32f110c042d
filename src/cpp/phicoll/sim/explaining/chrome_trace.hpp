#pragma once

// A simulation as a timeline that Perfetto and chrome://tracing open: Chrome's trace event format. Times are
// microseconds with three decimals, so nanoseconds are exact.
//
// Processes: the critical path; the ranks, a track each, with their calls and in them their operations; the
// holders of each line that moved; the request that keeps each of these lines busy; the directories, a track
// each, with the requests they serve. Arrows go from a write to the wait or load that it ended.

#include <cstddef>
#include <string>

#include "phicoll/sim/explaining/explanation.hpp"

namespace phicoll {
namespace sim {

/// Throws ArgumentError("trace") unless a file can be written at this path. Leaves no new file there.
void check_trace_path(const std::string& path);

/// The trace's text. `all_calls`: everything in the log; else the explained call, about 4 MB for a
/// dissemination barrier of 240 ranks.
std::string chrome_trace(const Explanation& found, bool all_calls = false);

/// Writes the trace and returns its size in bytes. Throws ArgumentError("trace"), ResourceError for a full
/// disk.
std::size_t write_chrome_trace(const std::string& path, const Explanation& found, bool all_calls = false);

}  // namespace sim
}  // namespace phicoll
