#pragma once

// Where an algorithm's shared memory lies on a machine with local stores.

#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/sim/counting/count_machine.hpp"
#include "phicoll/sim/engine/local_stores.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// Of each 16 bytes of the first `footprint` bytes, from the uses that `dry` has followed: a word lies in the
/// local store of the rank that waits for it, with what the same rank writes to the rest of its line; one
/// that two ranks hand to and fro, with both; data, and a word for which several wait, in that of its only
/// writer; all else, and what is updated atomically, in main memory. `buffers`: which bytes of each rank's
/// are in its store besides. Throws ArgumentError("algorithm") if several ranks wait for a word that several
/// others write, or if a rank's part does not fit its local store.
std::vector<LocalStores::Home> word_homes(const CountMachine& dry, const AlgorithmSpec& spec,
                                          const Machine& machine, std::size_t footprint,
                                          const std::vector<std::size_t>& buffers);

}  // namespace sim
}  // namespace phicoll
