#pragma once

// A simulated machine is data. describe_machine describes each parameter once; a machine file gives each a
// value, a source and whether it was measured, published, calibrated, derived, assumed or guessed
// (docs/machines.md).
//
// Times are cycles of the core's clock unless the name says otherwise. They are integers, so that a simulated
// time is the same on every host.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/machine/machine_model.hpp"

namespace phicoll {
namespace sim {

using Cycles = std::int64_t;

constexpr int max_cores = 256;
constexpr int max_contexts_per_core = 8;

/// The values of the machine's switches. The shipped Xeon Phi files use the first of each.
enum class Protocol : unsigned char {
  directory,   ///< requests go over a ring to distributed tag directories (Xeon Phi)
  table,       ///< a transfer costs what a table says by place and state (snooping machines, fitted hosts)
  local_store  ///< nothing is coherent: each core has a store of its own, commands copy between them (Cell)
};
enum class Completion : unsigned char {
  go,   ///< a miss ends when both the data and the directory's go-ahead have come
  data  ///< the data alone ends it
};
enum class Unlock : unsigned char {
  owner,     ///< the directory takes the line's next request when the owner has acknowledged
  requester  ///< when the requester has acknowledged
};
enum class Responder : unsigned char { owner, nearest, memory };
enum class MemoryFill : unsigned char {
  defer,  ///< a request for a line that memory is fetching is sent back until the fetch is done
  join    ///< every reader fetches it from memory on its own
};
enum class Switch : unsigned char { off, on };
enum class DataIn : unsigned char {
  memory,  ///< ranks' buffers lie in main memory
  store    ///< each in its rank's local store
};
enum class FlagStride : unsigned char {
  pairs,  ///< two lines apart, as for processors that fetch lines in pairs
  lines   ///< on neighbouring lines, along which a prefetcher runs
};

struct MachineParameters {
  // topology
  int cores = 0, contexts_per_core = 0, packages = 1, l3_per_package = 1, directories = 1,
      memory_controllers = 1, channels_per_controller = 1, ring_stops = 1;
  int clock_mhz = 0;
  Protocol protocol = Protocol::directory;
  // core
  int issue_interval = 0, look_instructions = 0, store_instructions = 0, combine_instructions = 0, l1_hit = 0,
      l2_hit = 0, atomic_hit = 0, atomic_execute = 0, pause = 0, store_buffer = 0, store_window = 0,
      core_window = 0, copy_serial = 0, copy_start = 0;
  // caches
  int l1_kib = 0, l1_ways = 0, l2_kib = 0, l2_ways = 0;
  Switch prefetcher = Switch::on;
  int prefetch_lines = 0;
  // requests
  int miss = 0, fill = 0;
  Switch merge_reads = Switch::off, merge_writes = Switch::on;
  Completion completion = Completion::go;
  // ring
  int hop = 0, inject = 0;
  // directory
  int directory_latency = 0, directory_service = 0, acknowledge = 0, invalidate_each = 0, upgrade = 0;
  Unlock read_unlock = Unlock::owner, write_unlock = Unlock::requester;
  Responder responder = Responder::owner;
  Switch near_directories = Switch::off;
  // owner
  int owner_latency = 0, owner_service = 0;
  // memory
  int memory_latency = 0, memory_same_line = 0, memory_channel = 0, memory_retry = 0;
  MemoryFill memory_fill = MemoryFill::defer;
  // table
  int table_near_modified = 0, table_near_exclusive = 0, table_near_shared = 0, table_far_modified = 0,
      table_far_exclusive = 0, table_far_shared = 0, table_memory = 0, table_far_memory = 0,
      table_line_service = 0;
  // what a table machine may leave out
  int table_other_modified = 0, table_other_exclusive = 0, table_other_shared = 0, table_owner_service = 0,
      table_l3_out = 0, table_l3_in = 0, table_package_out = 0;
  // local stores
  int local_kib = 0, local_code_kib = 0, dma_queue = 0, dma_buffer = 0, dma_buffers = 0, dma_enqueue = 0,
      dma_command = 0, dma_near = 0, dma_far = 0, dma_memory = 0, dma_store_rate = 0, dma_memory_rate = 0,
      dma_controller_rate = 0, dma_link_rate = 0, dma_bus_rate = 0, dma_element = 0, dma_rings = 0,
      dma_ring_rate = 0;
  DataIn data_in = DataIn::memory;
  /// The bytes of a core's buffers: a reduction takes two, whatever moves take.
  std::size_t buffer_bytes() const {
    return static_cast<std::size_t>(dma_buffer * (dma_buffers > 1 ? dma_buffers : 2));
  }
  int clock_resolution = 0;
  // software
  int software_call = 0, software_send = 0, software_copy = 0, software_put = 0;
  FlagStride flags = FlagStride::pairs;
  // noise
  int jitter = 0, os_core = -1, os_interval = 0, os_duration = 0;
};

// The parameters by what they are of.
template <class Visitor>
void describe_cores(Visitor& v, MachineParameters& m) {
  v.number("topology.cores", m.cores, 1, max_cores, "", "cores");
  v.number("topology.contexts_per_core", m.contexts_per_core, 1, max_contexts_per_core, "",
           "hardware contexts that share a core's caches and issue port");
  v.number("topology.packages", m.packages, 1, 8, "",
           "sockets, each with a last-level cache; cores divide evenly");
  v.number("topology.l3_per_package", m.l3_per_package, 1, 64, "",
           "last-level caches of a package, each of as many cores");
  v.number("topology.directories", m.directories, 1, 256, "", "tag directories, each at a core's ring stop");
  v.number("topology.memory_controllers", m.memory_controllers, 1, 64, "",
           "memory controllers, evenly around the ring");
  v.number("topology.channels_per_controller", m.channels_per_controller, 1, 16, "",
           "memory channels of a controller");
  v.number("topology.ring_stops", m.ring_stops, 1, 1024, "",
           "stops of the ring: cores, directories, controllers");
  v.number("topology.clock_mhz", m.clock_mhz, 1, 10000, "MHz", "the clock that cycles are counted in");
  v.number("clock.resolution", m.clock_resolution, 0, 1000000, "ns",
           "the step of the clock by which calls are timed; 0: none");
  v.choice("topology.protocol", m.protocol, {"directory", "table", "local-store"},
           "how a line travels; in a machine with local stores none does");

  v.number("core.issue_interval", m.issue_interval, 1, 16, "cycles",
           "least time between two instructions of one context");
  v.number("core.look_instructions", m.look_instructions, 1, 64, "",
           "instructions of a look at a word: load, compare, branch");
  v.number("core.store_instructions", m.store_instructions, 1, 64, "", "instructions of a store");
  v.number("core.combine_instructions", m.combine_instructions, 0, 256, "",
           "instructions that a reduction takes for each line of each operand, beyond storing the result");
  v.number("core.l1_hit", m.l1_hit, 1, 1000, "cycles",
           "a read that hits the first-level cache, instructions included");
  v.number("core.l2_hit", m.l2_hit, 1, 1000, "cycles", "a read that hits the second-level cache");
  v.number("core.atomic_hit", m.atomic_hit, 1, 1000, "cycles",
           "a locked update of a line that the core owns");
  v.number("core.atomic_execute", m.atomic_execute, 0, 1000, "cycles",
           "what a locked update takes once its line has come");
  v.number("core.pause", m.pause, 0, 100000, "cycles",
           "one polite turn: the delay instruction takes the context out of the issue rotation");
  v.number("core.store_buffer", m.store_buffer, 1, 64, "",
           "stores of a context that wait to become visible, in order");
  v.number("core.store_window", m.store_window, 1, 64, "",
           "lines that a context's waiting stores ask for at once");
  v.number("core.core_window", m.core_window, 1, 512, "", "lines that a core asks for at once");
  v.number("core.copy_serial", m.copy_serial, 0, 64, "",
           "the first lines that a copy of several misses, each waited for before the next");
  v.number("core.copy_start", m.copy_start, 0, 10000, "cycles", "what such a copy takes besides its lines");

  v.number("cache.l1_kib", m.l1_kib, 1, 1024, "KiB", "first-level data cache of a core");
  v.number("cache.l1_ways", m.l1_ways, 1, 64, "", "its ways");
  v.number("cache.l2_kib", m.l2_kib, 1, 65536, "KiB", "second-level cache of a core");
  v.number("cache.l2_ways", m.l2_ways, 1, 64, "", "its ways");
  v.choice("cache.prefetcher", m.prefetcher, {"off", "on"},
           "second-level prefetcher: after two misses on neighbouring lines");
  v.number("cache.prefetch_lines", m.prefetch_lines, 0, 64, "", "how many lines it runs ahead");
}
template <class Visitor>
void describe_directories(Visitor& v, MachineParameters& m) {
  v.number("request.miss", m.miss, 0, 1000, "cycles", "from a miss to its request on the ring");
  v.number("request.fill", m.fill, 0, 1000, "cycles", "from the answer to the instruction's end");
  v.choice("request.merge_reads", m.merge_reads, {"off", "on"},
           "contexts of a core share one outstanding read of a line");
  v.choice("request.merge_writes", m.merge_writes, {"off", "on"},
           "contexts of a core share one outstanding request to own a line");
  v.choice("request.completion", m.completion, {"go", "data"},
           "what ends a miss: data and the directory's go-ahead, or the data alone");

  v.number("ring.hop", m.hop, 0, 1000, "cycles", "from one ring stop to the next");
  v.number("ring.inject", m.inject, 0, 1000, "cycles", "onto the ring and off it, each message");

  v.number("directory.latency", m.directory_latency, 0, 1000, "cycles", "look-up");
  v.number("directory.service", m.directory_service, 0, 1000, "cycles",
           "how long a request occupies its directory");
  v.number("directory.acknowledge", m.acknowledge, 0, 1000, "cycles", "handling of an acknowledgement");
  v.number("directory.invalidate_each", m.invalidate_each, 0, 1000, "cycles",
           "each further sharer that is invalidated");
  v.number("directory.upgrade", m.upgrade, 0, 1000, "cycles", "extra for a sharer that wants to write");
  v.choice("directory.read_unlock", m.read_unlock, {"owner", "requester"},
           "whose acknowledgement of a read frees the line for its next request");
  v.choice("directory.write_unlock", m.write_unlock, {"owner", "requester"},
           "whose acknowledgement of a change of owner does");
  v.choice("directory.responder", m.responder, {"owner", "nearest", "memory"},
           "who answers a read of a shared line");
  v.choice("directory.near", m.near_directories, {"off", "on"},
           "address selection: every line's directory is at the core that first asked for it");

  v.number("owner.latency", m.owner_latency, 0, 1000, "cycles", "a cache's answer to a directory");
  v.number("owner.service", m.owner_service, 0, 1000, "cycles", "how long that occupies the cache");

  v.number("memory.latency", m.memory_latency, 0, 10000, "cycles", "a line from memory, ring apart");
  v.number("memory.same_line", m.memory_same_line, 0, 10000, "cycles", "between two reads of one line");
  v.number("memory.channel", m.memory_channel, 0, 10000, "cycles", "one line through one channel");
  v.choice(
      "memory.fill", m.memory_fill, {"defer", "join"},
      "a reader of a line that is being fetched: waits for the fetch and then asks memory, or joins at once");
  v.number("memory.retry", m.memory_retry, 0, 10000, "cycles",
           "from the fetch's end until a reader that waited for it asks again");
}
template <class Visitor>
void describe_table(Visitor& v, MachineParameters& m) {
  v.number("table.near_modified", m.table_near_modified, 0, 100000, "cycles",
           "a line modified by another core of the same last-level cache");
  v.number("table.near_exclusive", m.table_near_exclusive, 0, 100000, "cycles", "exclusive there");
  v.number("table.near_shared", m.table_near_shared, 0, 100000, "cycles", "shared there");
  v.number("table.far_modified", m.table_far_modified, 0, 100000, "cycles", "modified in another package");
  v.number("table.far_exclusive", m.table_far_exclusive, 0, 100000, "cycles", "exclusive there");
  v.number("table.far_shared", m.table_far_shared, 0, 100000, "cycles", "shared there only");
  v.number("table.memory", m.table_memory, 0, 100000, "cycles", "from the package's own memory");
  v.number("table.far_memory", m.table_far_memory, 0, 100000, "cycles", "from the memory of another package");
  v.number("table.line_service", m.table_line_service, 0, 100000, "cycles",
           "between two transfers of one line, beyond the transfer");
  v.number("table.other_modified", m.table_other_modified, 0, 100000, "cycles",
           "modified under another last-level cache of the package whose memory the line is of; of the other "
           "packages' memory it costs what a far one does");
  v.number("table.other_exclusive", m.table_other_exclusive, 0, 100000, "cycles", "exclusive there");
  v.number("table.other_shared", m.table_other_shared, 0, 100000, "cycles", "shared there");
  v.number("table.owner_service", m.table_owner_service, 0, 1000, "cycles",
           "how long answering occupies a core's cache");
  v.number("table.l3_out", m.table_l3_out, 0, 1000, "cycles",
           "one line on the way out of a last-level cache and its cores, to another or to memory");
  v.number("table.l3_in", m.table_l3_in, 0, 1000, "cycles", "one line on the way in");
  v.number("table.package_out", m.table_package_out, 0, 1000, "cycles",
           "one line on the way from a package to another");
}
template <class Visitor>
void describe_local_stores(Visitor& v, MachineParameters& m) {
  v.number("local.kib", m.local_kib, 1, 65536, "KiB", "local store of a core");
  v.number("local.code_kib", m.local_code_kib, 0, 65536, "KiB", "the share of it that code and stack take");
  v.number("dma.queue", m.dma_queue, 1, 32, "", "commands of a core that wait or are under way");
  v.choice("local.data", m.data_in, {"memory", "store"},
           "where ranks' buffers lie: in main memory, or each in its rank's local store");
  v.number("dma.buffer", m.dma_buffer, 128, 16384, "bytes",
           "a buffer through which data goes from memory to memory; the most that one command moves");
  v.number("dma.buffers", m.dma_buffers, 1, 4, "", "such buffers of a core; 2: double buffering");
  v.number("dma.enqueue", m.dma_enqueue, 1, 1000, "", "instructions that put a command into the queue");
  v.number("dma.command", m.dma_command, 0, 1000, "cycles", "how long a command occupies the core's unit");
  v.number("dma.element", m.dma_element, 0, 1000, "cycles",
           "the same of each further element of a list of transfers");
  v.number("dma.near", m.dma_near, 0, 10000, "cycles", "between two local stores of a chip, transfer apart");
  v.number("dma.far", m.dma_far, 0, 10000, "cycles", "extra from chip to chip");
  v.number("dma.memory", m.dma_memory, 0, 10000, "cycles", "to or from memory, which is the first chip's");
  v.number("dma.store_rate", m.dma_store_rate, 1, 1000000, "MB/s", "into and out of a local store, each way");
  v.number("dma.memory_rate", m.dma_memory_rate, 1, 1000000, "MB/s", "between one core and memory");
  v.number("dma.controller_rate", m.dma_controller_rate, 1, 1000000, "MB/s",
           "of the memory controller, both ways together");
  v.number("dma.link_rate", m.dma_link_rate, 1, 1000000, "MB/s", "from chip to chip, each way");
  v.number("dma.bus_rate", m.dma_bus_rate, 1, 1000000, "MB/s", "of a chip's bus, all rings together");
  v.number("dma.rings", m.dma_rings, 0, 16, "",
           "rings of a chip's bus, every second one the other way round; 0: they are never short");
  v.number("dma.ring_rate", m.dma_ring_rate, 0, 1000000, "MB/s", "of each stretch of a ring");
}
template <class Visitor>
void describe_software(Visitor& v, MachineParameters& m) {
  v.number("software.call", m.software_call, 0, 10000, "",
           "instructions of entering and leaving a collective");
  v.number("software.send", m.software_send, 0, 10000, "",
           "instructions around a send: the loop, whom to tell next");
  v.number("software.copy", m.software_copy, 0, 10000, "",
           "instructions around the copy in the kernels contention and read-by-all");
  v.number("software.put", m.software_put, 0, 100000, "cycles",
           "what a program's put or get takes beside its copy: its call of the library");
  v.choice("software.flags", m.flags, {"pairs", "lines"},
           "how far apart the flags of barriers and of broadcasts lie: two lines, or on neighbouring lines");

  v.number("noise.jitter", m.jitter, 0, 10000, "cycles",
           "each miss takes up to this much longer, drawn from the seed");
  v.number("noise.os_core", m.os_core, -1, max_cores - 1, "",
           "the core that serves the operating system; -1 for none");
  v.number("noise.os_interval", m.os_interval, 0, 1000000000, "cycles",
           "mean time between its interruptions");
  v.number("noise.os_duration", m.os_duration, 0, 100000000, "cycles", "how long one lasts");
}

/// Visits every parameter: its name as files and the command line write it, range, unit and meaning.
///     visitor.number(name, value, least, most, unit, meaning)
///     visitor.choice(name, value, {names}, meaning)
template <class Visitor>
void describe_machine(Visitor& v, MachineParameters& m) {
  describe_cores(v, m);
  describe_directories(v, m);
  describe_table(v, m);
  describe_local_stores(v, m);
  describe_software(v, m);
}

/// Where a number comes from.
struct Evidence {
  std::string parameter;
  /// measured, published, calibrated, derived, assumed or guessed; `changed` by a change in the name
  std::string kind;
  std::string source;
};

struct Machine {
  std::string name;     ///< with its changes, e.g. `xeon-phi-5110p:ring.hop=0`
  std::string summary;  ///< one sentence
  MachineParameters p;
  std::vector<Evidence> evidence;
  std::string digest;                ///< 16 hexadecimal digits over the values in effect
  std::vector<ModelConstant> model;  ///< those in the file, in the order of model_constants(); may be empty
  ModelHost host;                    ///< known for a machine that was measured on a host
  LineCosts costs;                   ///< from the model, for designed algorithms; the default without a model

  int contexts() const { return p.cores * p.contexts_per_core; }
  /// nullptr for a parameter that the machine's file leaves out.
  const Evidence* evidence_of(const std::string& parameter) const;
  double ns(double cycles) const { return cycles * 1000.0 / p.clock_mhz; }
  /// The machine's contexts, for place_ranks: cpu = core x contexts_per_core + context.
  std::vector<CpuLocation> places() const;
};

/// A shipped machine's name, or the path of a machine file (recognised by a slash or `.json`), optionally
/// followed by changes: `xeon-phi-5110p:directory.service=0:ring.hop=0`. Throws ArgumentError("machine"): an
/// unknown name (with the nearest), a file that cannot be read, a field that is missing, unknown or out of
/// range (with its line and name), an unknown parameter.
Machine load_machine(const std::string& text);

/// The shipped machines, with name and summary only.
std::vector<Machine> shipped_machines();

}  // namespace sim
}  // namespace phicoll
