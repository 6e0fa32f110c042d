#include "phicoll/sim/running/word_homes.hpp"

#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

std::vector<std::int16_t> word_homes(const CountMachine& dry, const AlgorithmSpec& spec,
                                     const Machine& machine, std::size_t footprint) {
  std::vector<std::int16_t> homes;
  std::vector<std::size_t> taken(static_cast<std::size_t>(dry.shape().size()));
  for (std::size_t i = 0; i < footprint / CountMachine::use_bytes; ++i) {
    const CountMachine::Use& use = dry.uses()[i];
    const bool several = use.waits_too >= 0;
    // Two ranks hand it to and fro: it lies with one, and the other's looks are commands.
    const bool between_two = several && use.waits_too < dry.shape().size() &&
                             ((use.waits == use.writes && use.waits_too == use.writes_too) ||
                              (use.waits == use.writes_too && use.waits_too == use.writes));
    if (several && (use.atomic || (use.writes_too >= 0 && !between_two)))
      throw ArgumentError("algorithm",
                          spec.text() + " on " + machine.name + ": several ranks, " +
                              std::to_string(use.waits) +
                              " among them, wait for the same 16 bytes, which several write (from byte " +
                              std::to_string(i * CountMachine::use_bytes) + ")",
                          "algorithms each of whose words one rank waits for, one writes, or two hand to and "
                          "fro: the machine "
                          "has no coherent memory, and a word lies in one local store");
    std::int16_t home = -1;
    if (!use.atomic && use.waits >= 0 && (!several || between_two)) home = use.waits;
    if (!use.atomic && home < 0 && use.writes_too < 0) home = use.writes;
    homes.push_back(home);
    if (home >= 0) taken[static_cast<std::size_t>(home)] += CountMachine::use_bytes;
  }
  const MachineParameters& p = machine.p;
  const auto room = static_cast<std::size_t>(p.local_kib - p.local_code_kib) * 1024 -
                    static_cast<std::size_t>(p.dma_buffer) * static_cast<std::size_t>(p.dma_buffers);
  for (std::size_t r = 0; r < taken.size(); ++r)
    if (taken[r] > room)
      throw ArgumentError(
          "algorithm",
          spec.text() + " on " + machine.name + ", for which rank " + std::to_string(r) + " needs " +
              std::to_string(taken[r]) + " bytes of its local store",
          "up to " + std::to_string(room) + ": local.kib less local.code_kib and the buffers");
  return homes;
}

}  // namespace sim
}  // namespace phicoll
