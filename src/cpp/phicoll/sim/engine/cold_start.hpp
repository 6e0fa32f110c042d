#pragma once

// The start that ramos-hoefler-2013's models assume (their R_I terms): the flags and slots of an algorithm
// are in memory alone when a call begins. Not part of any reported time.

#include <cstddef>

#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"

namespace phicoll {
namespace sim {

/// Every rank drops from its core's caches what they hold of the first `bytes` of shared memory; nothing is
/// under way when this returns. Between calls only.
inline void evict_all(Simulation& simulation, std::size_t bytes) {
  simulation.run([&](SimPort& port) {
    const int core = simulation.core_of(port.rank());
    for (std::size_t at = 0; at < bytes; at += arch::line_bytes) {
      unsigned char* const line = simulation.memory() + at;
      // What a core does not hold it would ask to drop in vain.
      if (simulation.state(core, simulation.line_of(line)) != LineState::invalid) port.evict(line);
    }
    port.fence();
  });
}

}  // namespace sim
}  // namespace phicoll
