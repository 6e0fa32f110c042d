#pragma once

// Where an algorithm's shared memory lies on a machine with local stores.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/sim/counting/count_machine.hpp"
#include "phicoll/sim/engine/local_stores.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// Throws ArgumentError(`argument`), about `spec`, unless what lies with each rank fits its local store.
/// `buffers`: each rank's bytes there besides.
void check_room(const std::vector<LocalStores::Home>& homes, const std::vector<std::size_t>& buffers,
                const Machine& machine, const char* argument, const std::string& spec);

/// Where each 16 of the first `footprint` bytes lie, from the uses that `dry` has followed: a word in the
/// local store of the rank that waits for it, with what this rank writes to the rest of its line; one that
/// two ranks hand to and fro, with both; data, and a word for which several wait, with its only writer; all
/// else, and atomics, in main memory. Throws ArgumentError("algorithm") if several ranks wait for a word that
/// several others write, and as check_room.
std::vector<LocalStores::Home> word_homes(const CountMachine& dry, const AlgorithmSpec& spec,
                                          const Machine& machine, std::size_t footprint,
                                          const std::vector<std::size_t>& buffers);

}  // namespace sim
}  // namespace phicoll
