#pragma once

// The critical path of a call: the chain of steps that kept the last rank from leaving, found backwards to
// the last arrival.
//
// 1. Start at the last departure, with what that rank did last.
// 2. Where a rank waited for a value, go to the write that it waited for: from its visibility to its
//    instruction.
// 3. Where a request queued for a busy line, go through the request that held the line before it.
// 4. Pass through a value's writer before going back beyond its visibility.
//
// Every cycle belongs to exactly one link, and there to one cause.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/sim/engine/log.hpp"

namespace phicoll {
namespace sim {

/// Where time goes.
enum class Cause : std::uint8_t {
  instructions,       ///< issue of instructions, hits included
  look,               ///< the value could be read, or the line was taken away, until the waiter's next look
  polite,             ///< a pause between two looks that the algorithm itself makes
  store_buffer,       ///< waiting for the rank's earlier stores
  turn,               ///< other contexts of the core, which asked together, came first
  held_back,          ///< as many lines under way as the core may ask for
  request_trip,       ///< from the miss to the directory
  directory_queue,    ///< the directory served other lines' requests
  line_busy,          ///< waiting for other requests of the line
  directory_service,  ///< look-up, and asking one sharer after another
  forward_trip,       ///< from the directory to the cache or memory
  cache_queue,        ///< the cache that was asked was busy
  snoop,              ///< its answer
  memory,             ///< channel and access
  answer_trip,        ///< the data's way to the core
  go_ahead,           ///< acknowledgement to the directory, and its go-ahead to the core
  fill,               ///< from the answer to the instruction's end
  release_trip,       ///< the acknowledgement that frees the line for its next request
  transfer,           ///< on a machine with protocol `table`
  queue_place,        ///< with local stores: the core's queue of commands was full
  command_order,      ///< behind commands that this one must follow
  unit_busy,          ///< the core's unit took up other commands, and this one
  carriers_busy,      ///< ports, buses, the link or the memory controller served other commands
  flow,               ///< the command's bytes at the rate of the slowest of these
  latency,            ///< of a command, beyond that
  unexplained         ///< the log does not say
};
constexpr int causes = 26;
const char* to_string(Cause cause);
const char* meaning_of(Cause cause);

/// What a link is.
enum class LinkKind : std::uint8_t {
  local,   ///< the rank's own instructions
  store,   ///< a store, from its instruction until others can read it
  atomic,  ///< an atomic update, the same
  hear,    ///< a wait or load: the value's way from its writer to the rank
  queue    ///< another request holds the line that the next link asks for
};
const char* to_string(LinkKind kind);

/// A piece of a link that has one cause.
struct PathPart {
  Cause cause;
  Cycles from, to;
};

/// One step of the path, in the order of time.
struct PathLink {
  LinkKind kind = LinkKind::local;
  int rank = -1;  ///< that did it; of a queue: that held the line, -1 for a core's prefetcher
  int core = -1;
  int operation = -1;  ///< in the log, -1 for none
  int transfer = -1;   ///< in the log, -1 for none
  LineId line = 0;     ///< of no meaning for local links
  int directory = -1;  ///< of that line, -1 for none
  int ahead = 0;       ///< requests of the line in front of it when it reached the directory
  Cycles from = 0, to = 0;
  std::vector<PathPart> parts;  ///< from `from` to `to` without a gap
};

struct CriticalPath {
  int call = 0;
  Cycles from = 0, to = 0;  ///< last arrival, last departure
  int last_in = -1;         ///< rank that arrived last
  int last_out = -1;        ///< rank that left last
  std::vector<PathLink> links;

  /// Cycles by cause. The time of queue links, whatever the holder did, is `line_busy`.
  std::array<Cycles, causes> by_cause() const;
  /// What the holders of queue links did, by cause.
  std::array<Cycles, causes> in_queues() const;
  /// How often the path goes from one rank to another; queues do not count.
  int hand_overs() const;
};

/// `cores` is the core of each rank. Throws ArgumentError("call") if the log has no such call.
CriticalPath critical_path(const Log& log, const std::vector<int>& cores, int call);

}  // namespace sim
}  // namespace phicoll
