#include "phicoll/group/options.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/messages.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "phicoll/os/topology.hpp"

namespace phicoll {

void check_ranks(int ranks) {
  if (ranks < 1 || ranks > max_ranks)
    throw ArgumentError("ranks", std::to_string(ranks),
                        "a whole number from 1 to " + std::to_string(max_ranks));
}

void check_options(const GroupOptions& options) {
  constexpr std::int64_t longest_ms = INT64_MAX / 1000000 / 2;  // a time and a limit in ns can be added
  constexpr std::size_t most_bytes = std::size_t{1} << 47;      // what a process can address
  const auto number = [](const char* name, std::int64_t got, std::int64_t least, std::int64_t most) {
    if (got < least || got > most)
      throw ArgumentError(
          name, std::to_string(got),
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " (ms)");
  };
  number("timeout_ms", options.timeout_ms, 0, longest_ms);
  number("calibrate_after_ms", options.calibrate_after_ms, 0, longest_ms);
  number("attach_timeout_ms", options.attach_timeout_ms, 1, longest_ms);
  if (options.memory_limit < 1 || options.memory_limit > most_bytes)
    throw ArgumentError("memory_limit", std::to_string(options.memory_limit) + " bytes",
                        "1 to " + std::to_string(most_bytes));
  if (options.heap_limit > most_bytes)
    throw ArgumentError("heap_limit", std::to_string(options.heap_limit) + " bytes",
                        "0 to " + std::to_string(most_bytes));
}

std::size_t heap_bytes_here(const GroupOptions& options, int ranks) {
  const std::size_t available = os::memory_available();
  const std::size_t left = available > options.memory_limit ? (available - options.memory_limit) / 2 : 0;
  std::size_t wanted = options.heap_limit;
  if (ranks > 64 && wanted != 0) wanted = std::max(wanted, 2 * GroupChannels::all_pairs_bytes(ranks));
  return std::min(wanted, left) / page_bytes * page_bytes;
}

Shape shape_on_host(int ranks, const std::string& placement) {
  check_ranks(ranks);
  if (placement.empty()) return Shape::unknown(ranks, ranks > os::allowed_cpu_count());
  const bool is_list = placement[0] >= '0' && placement[0] <= '9';
  const std::vector<int> cpus = is_list ? os::parse_cpu_list(placement) : os::allowed_cpus();
  std::vector<CpuLocation> contexts;
  const std::vector<os::CpuPlace> topology = os::read_topology();
  for (int cpu : cpus) {
    CpuLocation place;
    place.cpu = cpu;
    for (const os::CpuPlace& known : topology)
      if (known.cpu == cpu) {
        place.core = known.core;
        place.l3 = known.l3;
        place.numa = known.numa;
        place.package = known.package;
      }
    contexts.push_back(place);
  }
  if (!is_list) return place_ranks(ranks, std::move(contexts), parse_placement(placement));
  std::vector<CpuLocation> places;
  for (int r = 0; r < ranks; ++r) places.push_back(contexts[static_cast<std::size_t>(r) % contexts.size()]);
  return Shape(std::move(places));
}

}  // namespace phicoll
