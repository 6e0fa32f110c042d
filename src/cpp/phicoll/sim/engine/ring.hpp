#pragma once

// The bidirectional ring: where cores, directories and memory controllers are, and how long a message takes
// the shorter way round. Distance is time here; the rings' own throughput is counted, not queued for: at the
// traffic of 240 ranks a segment is busy for a few percent of the time (docs/simulator.md).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/sim/engine/counters.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

class Ring {
 public:
  explicit Ring(const MachineParameters& p)
      : hop_(p.hop), inject_(p.inject), stops_(std::max(p.ring_stops, 1)) {
    // Controllers evenly around the ring, tiles (a core and a directory each) on the stops between them.
    std::vector<bool> taken(static_cast<std::size_t>(stops_), false);
    for (int i = 0; i < p.memory_controllers; ++i) {
      memory_.push_back(static_cast<std::uint16_t>(static_cast<long>(i) * stops_ / p.memory_controllers));
      taken[memory_.back()] = true;
    }
    std::vector<std::uint16_t> tiles;
    for (int stop = 0; stop < stops_; ++stop)
      if (!taken[static_cast<std::size_t>(stop)]) tiles.push_back(static_cast<std::uint16_t>(stop));
    if (tiles.empty()) tiles.push_back(0);
    const auto place = [&](int count) {
      std::vector<std::uint16_t> places;
      for (int i = 0; i < count; ++i) places.push_back(tiles[static_cast<std::size_t>(i) % tiles.size()]);
      return places;
    };
    cores_ = place(p.cores);
    directories_ = place(std::max(p.directories, 1));
    if (memory_.empty()) memory_.push_back(0);
  }

  int core(int i) const { return cores_[static_cast<std::size_t>(i)]; }
  int directory(int i) const { return directories_[static_cast<std::size_t>(i)]; }
  int memory(int i) const { return memory_[static_cast<std::size_t>(i)]; }

  /// From stop to stop, counted on the ring that carries it.
  Cycles send(RingCount& ring, int from, int to) const {
    const int way = std::abs(from - to);
    const int hops = std::min(way, stops_ - way);
    ++ring.messages;
    ring.hops += hops;
    return inject_ + static_cast<Cycles>(hop_) * hops;
  }

 private:
  int hop_, inject_, stops_;
  std::vector<std::uint16_t> cores_, directories_, memory_;
};

}  // namespace sim
}  // namespace phicoll
