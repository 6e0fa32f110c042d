#include "phicoll/group/options.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/topology.hpp"

namespace phicoll {

void check_ranks(int ranks) {
  if (ranks < 1 || ranks > max_ranks)
    throw ArgumentError("ranks", std::to_string(ranks),
                        "a whole number from 1 to " + std::to_string(max_ranks));
}

Shape shape_on_host(int ranks, const std::string& placement) {
  check_ranks(ranks);
  if (placement.empty()) return Shape::unknown(ranks);
  const bool is_list = placement[0] >= '0' && placement[0] <= '9';
  const std::vector<int> cpus = is_list ? os::parse_cpu_list(placement) : os::allowed_cpus();
  std::vector<Place> contexts;
  const std::vector<os::CpuPlace> topology = os::read_topology();
  for (int cpu : cpus) {
    Place place;
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
  std::vector<Place> places;
  for (int r = 0; r < ranks; ++r) places.push_back(contexts[static_cast<std::size_t>(r) % contexts.size()]);
  return Shape(std::move(places));
}

}  // namespace phicoll
