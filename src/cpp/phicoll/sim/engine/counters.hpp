#pragma once

// What a simulated machine counts while it runs.

#include <cstdint>
#include <vector>

#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// A context's request to the coherence protocol, or a command of its unit on a machine with local stores.
enum class Request : std::uint8_t {
  read,           ///< a copy of the line
  prefetch,       ///< the same; no rank waits for it
  write,          ///< the line for writing, with its data unless the core has a copy
  write_no_read,  ///< the line for writing whole: ownership without data (rodchenko-2015 sections 2 and 4)
  evict,          ///< permission to drop the line
  get,            ///< a command into the core's own local store
  put,            ///< a command to elsewhere
};
constexpr int request_kinds = 7;
const char* to_string(Request kind);
inline bool is_read(Request kind) {
  return kind == Request::read || kind == Request::prefetch;
}
inline bool is_write(Request kind) {
  return kind == Request::write || kind == Request::write_no_read;
}

/// Where a line came from.
enum class Source : std::uint8_t { none, cache, memory };

/// A server that requests queue up at: utilisation is busy / elapsed.
struct ServiceCount {
  std::int64_t served = 0;
  Cycles busy = 0;
  Cycles queued = 0;  ///< total time for which its requests waited
};

/// One of the three rings: requests, data, acknowledgements.
struct RingCount {
  std::int64_t messages = 0;
  std::int64_t hops = 0;
};

/// What carries commands between local stores and memory. A queue is busy by the time of all its commands.
enum class Carrier : std::uint8_t {
  queue,
  unit,
  memory_port,
  controller,
  store_out,
  store_in,
  bus,
  ring,
  link
};
constexpr int carrier_kinds = 9;
const char* to_string(Carrier carrier);

struct Counters {
  std::int64_t l1_hits = 0;
  std::int64_t l2_hits = 0;
  std::int64_t requests[request_kinds] = {};
  std::int64_t from_caches = 0;
  std::int64_t from_memory = 0;
  std::int64_t upgrades = 0;  ///< writes whose core had a copy
  std::int64_t invalidations = 0;
  std::int64_t evictions = 0;  ///< lines that a full cache gave up
  std::int64_t write_backs = 0;
  std::int64_t merged = 0;        ///< requests that joined one of their core
  std::int64_t looks = 0;         ///< looks of waiting ranks that were simulated
  std::int64_t elided_looks = 0;  ///< looks that could not have seen anything new
  std::int64_t stores = 0;
  std::int64_t atomics = 0;
  std::int64_t stolen = 0;  ///< lines taken away between their arrival and the store that asked
  RingCount request_ring, data_ring, acknowledge_ring;
  std::vector<ServiceCount> directories;
  std::vector<ServiceCount> caches;    ///< a core's second-level cache, answering directories
  std::vector<ServiceCount> channels;  ///< of memory
  std::vector<Cycles> issue_busy;      ///< a core's issue port, in cycles of instructions issued
  std::vector<ServiceCount> carriers[carrier_kinds];  ///< of commands, on a machine with local stores
  std::uint64_t events = 0;
};

}  // namespace sim
}  // namespace phicoll
