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

/// Where each 16 of the first `footprint` bytes lie, from the uses that `dry` has followed: a word in the
/// local store of the rank that waits for it, with what this rank writes to the rest of its line; one that
/// two ranks hand to and fro, with both; data, and a word for which several wait, with its only writer; all
/// else, and atomics, in main memory. `buffers`: each rank's bytes in its store besides.
/// Throws ArgumentError("algorithm") if several ranks wait for a word that several others write, or if a
/// rank's part does not fit its store.
std::vector<LocalStores::Home> word_homes(const CountMachine& dry, const AlgorithmSpec& spec,
                                          const Machine& machine, std::size_t footprint,
                                          const std::vector<std::size_t>& buffers);

}  // namespace sim
}  // namespace phicoll
