#pragma once

// Explains a collective's time on a simulated machine: the transactions, the busiest lines, directories and
// other servers, and the critical path of one call.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/measure/sweep_options.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/explaining/critical_path.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"

namespace phicoll {
namespace sim {

struct ExplainOptions {
  std::string placement = measure::simulated_text("placement");  ///< that the shape came from; for the reader
  std::uint64_t seed = 1;
  int calls = 20;  ///< simulated, after `warm_up` others
  int warm_up = measure::simulated_integer("warm-up");
  int call = -1;        ///< to be explained, from 0; -1 for the call of median time
  bool window = false;  ///< each call from rest, its ranks entering within `start_skew`
  std::size_t memory_limit = std::size_t{768} << 20;  ///< bytes that the record of the logged calls may take
  bool log_all = false;  ///< keep the log of all calls, not of the explained one alone: for a timeline of all
  Cycles start_skew = 0;
  WaitPolicy wait;
  const std::atomic<bool>* stop = nullptr;  ///< once true, StoppedError is thrown
  /// Gets a note on the expected time, before it begins, if that is more than some seconds.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// What is called; a loop's calls then hold the writing of fresh data too.
  measure::Work work;
};

/// The call's transactions of one kind, and where their lines came from.
struct TransactionReport {
  Request kind;
  Source source;
  std::int64_t count = 0;
  Cycles time = 0;    ///< total, from the miss until the context could go on
  Cycles queued = 0;  ///< of that: for the directory and for the line
  std::int64_t invalidated = 0;
};

/// A line of the algorithm's memory, or of the ranks' buffers, which follow it, during the call.
struct LineReport {
  LineId line = 0;
  std::size_t byte = 0;  ///< of that memory
  int directory = 0;
  std::int64_t requests = 0;
  std::int64_t from_caches = 0;
  std::int64_t from_memory = 0;
  std::int64_t invalidated = 0;
  Cycles waited = 0;             ///< total time for which requests waited for the line
  Cycles time = 0;               ///< total time of its requests
  int writers = 0;               ///< ranks that wrote it
  int readers = 0;               ///< ranks that looked at it
  int writer = -1, reader = -1;  ///< one of each
  bool atomic = false;           ///< written by atomic updates
};

struct DirectoryReport {
  int directory = 0;
  std::int64_t served = 0;  ///< in all reported calls, as below
  double utilisation = 0;
  double queued = 0;       ///< mean cycles for which a request waited for the directory
  std::int64_t lines = 0;  ///< lines it keeps that were asked for in the call
};

/// Servers of one kind, over all reported calls.
struct CentreReport {
  std::string name;
  int servers = 0;
  double mean = 0;     ///< utilisation: share of the time that a server is busy
  double busiest = 0;  ///< of the busiest
  int which = -1;      ///< its number
  double queued = 0;   ///< mean cycles for which a request waited
};

struct Explanation {
  Machine machine;
  AlgorithmSpec spec;            ///< as asked
  std::string effective;         ///< in effect
  std::size_t shared_bytes = 0;  ///< of the algorithm's memory; the buffers follow it
  Shape shape;
  ExplainOptions options;  ///< `call` is the one that was taken
  std::vector<int> cores;  ///< of each rank
  CollectiveRun run;
  std::vector<Cycles> times;  ///< of the calls
  Cycles begin = 0, end = 0;  ///< of the call, from where its time is counted
  CriticalPath path;
  std::vector<TransactionReport> transactions;
  std::vector<LineReport> lines;             ///< those that waited most first
  std::vector<DirectoryReport> directories;  ///< the busiest first
  std::vector<CentreReport> centres;
  Counters counted;  ///< over the reported calls
};

/// Simulates `options.work` and explains a call of it. Throws as simulate_collective, ArgumentError("call"),
/// and ArgumentError("memory_limit") before it begins if that is clearly too small.
Explanation explain_collective(const Machine& machine, const AlgorithmSpec& spec, const Shape& shape,
                               const ExplainOptions& options);

/// Text for a terminal: counters, servers, lines, directories, and the path with `most_links` of its links.
std::string explanation_text(const Explanation& found, int most_links = 60);
/// One JSON object with the same facts and all links.
std::string explanation_json(const Explanation& found);

}  // namespace sim
}  // namespace phicoll
