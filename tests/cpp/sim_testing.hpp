#pragma once

// What the tests of the simulated machine share: machines of their own (the shipped files may be calibrated
// anew at any time), ranks on their contexts, and numbers drawn from a seed.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {
namespace testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline bool long_run() {
  return from_environment("PHICOLL_TEST_LONG", 0) == 1;
}
/// Seconds for one long test: an eighth of what the matrix of the barriers has, two minutes at most.
inline double long_seconds() {
  const std::uint64_t budget = from_environment("PHICOLL_TEST_BUDGET_S", 0);
  return budget == 0 ? 120 : static_cast<double>(std::min<std::uint64_t>(budget, 960)) / 8;
}
/// Of a usual number of draws: a sanitizer makes each several times as dear.
constexpr int draws(int usual) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return usual / 5;
#else
  return usual;
#endif
}

/// A call with `bytes` bytes in its count argument.
inline measure::Work work_of(Operation operation, std::size_t bytes) {
  measure::Work work;
  work.operation = operation;
  work.bytes = bytes;
  return work;
}
/// Few calls, for what moves data.
inline CollectiveOptions few_calls() {
  CollectiveOptions options;
  options.calls = 5;
  options.warm_up = 1;
  return options;
}

/// A chip like the Xeon Phi 5110P, with fixed numbers.
inline Machine chip(int cores = 60) {
  Machine machine;
  machine.name = "test-chip";
  MachineParameters& p = machine.p;
  p.cores = cores;
  p.contexts_per_core = 4;
  p.directories = 64;
  p.memory_controllers = 8;
  p.channels_per_controller = 2;
  p.ring_stops = 72;
  p.clock_mhz = 1000;
  p.issue_interval = 2;
  p.look_instructions = 4;
  p.store_instructions = 4;
  p.combine_instructions = 2;
  p.l1_hit = 9;
  p.l2_hit = 24;
  p.atomic_hit = 25;
  p.atomic_execute = 9;
  p.pause = 64;
  p.store_buffer = 8;
  p.store_window = 3;
  p.core_window = 38;
  p.l1_kib = 32;
  p.l1_ways = 8;
  p.l2_kib = 512;
  p.l2_ways = 8;
  p.prefetcher = Switch::off;
  p.prefetch_lines = 3;
  p.miss = 24;
  p.fill = 24;
  p.hop = 2;
  p.inject = 4;
  p.directory_latency = 12;
  p.directory_service = 12;
  p.acknowledge = 4;
  p.invalidate_each = 6;
  p.upgrade = 18;
  p.owner_latency = 24;
  p.owner_service = 24;
  p.memory_latency = 112;
  p.memory_same_line = 48;
  p.memory_channel = 7;
  return machine;
}

/// The same without distances: every message takes `inject` cycles, so that times can be worked out by hand
/// whatever the seed.
inline Machine flat_chip(int cores = 8) {
  Machine machine = chip(cores);
  machine.p.hop = 0;
  return machine;
}

/// Two packages of `cores` / 2 cores whose transfers cost what a table says.
inline Machine table_machine(int cores = 8) {
  Machine machine = chip(cores);
  machine.name = "test-table";
  MachineParameters& p = machine.p;
  p.protocol = Protocol::table;
  p.contexts_per_core = 2;
  p.packages = 2;
  p.miss = 0;
  p.fill = 0;
  p.table_near_modified = 100;
  p.table_near_exclusive = 90;
  p.table_near_shared = 80;
  p.table_far_modified = 300;
  p.table_far_exclusive = 290;
  p.table_far_shared = 280;
  p.table_memory = 200;
  p.table_far_memory = 350;
  p.table_line_service = 20;
  return machine;
}

/// Rank r on context contexts[r] (core x contexts_per_core + context).
inline Shape on_contexts(const Machine& machine, const std::vector<int>& contexts) {
  const std::vector<CpuLocation> all = machine.places();
  std::vector<CpuLocation> places;
  for (const int context : contexts) places.push_back(all[static_cast<std::size_t>(context)]);
  return Shape(places);
}
/// Rank r alone on core r.
inline Shape one_a_core(const Machine& machine, int ranks) {
  std::vector<int> contexts;
  for (int r = 0; r < ranks; ++r) contexts.push_back(r * machine.p.contexts_per_core);
  return on_contexts(machine, contexts);
}

/// `ranks` ranks on contexts drawn from `random`.
inline Shape anywhere(const Machine& machine, int ranks, Random& random) {
  std::vector<int> contexts;
  for (int i = 0; i < machine.contexts(); ++i) contexts.push_back(i);
  random.shuffle(contexts);
  contexts.resize(static_cast<std::size_t>(ranks));
  return on_contexts(machine, contexts);
}

/// A chip with numbers and switches drawn from `random`: all of what a machine file may set, small and odd
/// values above all.
inline Machine random_chip(int cores, int contexts_per_core, Random& random) {
  Machine machine = chip(cores);
  machine.name = "random-chip";
  MachineParameters& p = machine.p;
  const auto upto = [&random](int most) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(most) + 1));
  };
  const auto maybe = [&upto] { return upto(1) == 0 ? Switch::off : Switch::on; };
  const auto some_cycles = [&upto](int most) { return upto(2) == 0 ? 0 : upto(most); };
  p.contexts_per_core = contexts_per_core;
  p.directories = 1 + upto(3) * 21;
  p.memory_controllers = 1 + upto(7);
  p.channels_per_controller = 1 + upto(1);
  p.ring_stops = 1 + upto(80);
  p.issue_interval = 1 + upto(3);
  p.look_instructions = 1 + upto(5);
  p.store_instructions = 1 + upto(5);
  p.l1_hit = 1 + upto(10);
  p.l2_hit = 1 + upto(30);
  p.atomic_hit = 1 + upto(30);
  p.atomic_execute = upto(12);
  p.pause = some_cycles(100);
  p.store_buffer = 1 + upto(8);
  p.store_window = 1 + upto(7);
  p.core_window = upto(2) == 0 ? 1 + upto(2) : 1 + upto(40);
  if (upto(2) == 0) {  // caches of a few lines
    p.l1_kib = 1;
    p.l1_ways = 1 << upto(3);
    p.l2_kib = 1 + upto(1);
    p.l2_ways = 1 << upto(3);
  }
  p.prefetcher = maybe();
  p.prefetch_lines = upto(4);
  p.miss = some_cycles(30);
  p.fill = some_cycles(30);
  p.merge_reads = maybe();
  p.merge_writes = maybe();
  p.completion = upto(1) == 0 ? Completion::go : Completion::data;
  p.hop = some_cycles(5);
  p.inject = some_cycles(6);
  p.directory_latency = some_cycles(20);
  p.directory_service = some_cycles(20);
  p.acknowledge = some_cycles(10);
  p.invalidate_each = some_cycles(30);
  p.upgrade = some_cycles(30);
  p.read_unlock = upto(1) == 0 ? Unlock::owner : Unlock::requester;
  p.write_unlock = upto(1) == 0 ? Unlock::owner : Unlock::requester;
  p.responder = static_cast<Responder>(upto(2));
  p.near_directories = maybe();
  p.owner_latency = some_cycles(40);
  p.owner_service = some_cycles(40);
  p.memory_latency = some_cycles(200);
  p.memory_same_line = some_cycles(80);
  p.memory_channel = some_cycles(20);
  p.memory_fill = upto(1) == 0 ? MemoryFill::defer : MemoryFill::join;
  p.jitter = some_cycles(200);
  if (upto(3) == 0) {
    p.os_core = upto(cores - 1);
    p.os_interval = 50 + upto(5000);
    p.os_duration = upto(3000);
  }
  if (upto(4) == 0) {
    p.protocol = Protocol::table;
    p.packages = cores % 2 == 0 ? 2 : 1;
    p.table_near_modified = some_cycles(200);
    p.table_near_exclusive = some_cycles(200);
    p.table_near_shared = some_cycles(200);
    p.table_far_modified = some_cycles(400);
    p.table_far_exclusive = some_cycles(400);
    p.table_far_shared = some_cycles(400);
    p.table_memory = some_cycles(400);
    p.table_far_memory = some_cycles(400);
    p.table_line_service = some_cycles(100);
  }
  p.copy_serial = upto(3);
  p.copy_start = some_cycles(50);
  p.memory_retry = some_cycles(100);
  return machine;
}

}  // namespace testing
}  // namespace sim
}  // namespace phicoll
