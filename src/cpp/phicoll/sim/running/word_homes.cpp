#include "phicoll/sim/running/word_homes.hpp"

#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

namespace {

/// What a rank writes into the line of a word that it alone writes for another comes with the word.
void gather_lines(const CountMachine& dry, std::vector<LocalStores::Home>& homes) {
  constexpr std::size_t line = arch::line_bytes / CountMachine::use_bytes;
  for (std::size_t first = 0; first + line <= homes.size(); first += line) {
    const CountMachine::Use* const uses = &dry.uses()[first];
    const CountMachine::Use* word = nullptr;
    bool one = true;
    for (const CountMachine::Use* use = uses; use != uses + line; ++use) {
      if (use->atomic || use->writes_too >= 0 || use->waits_too >= 0) one = false;
      if (use->waits < 0) continue;
      if (word != nullptr) one = false;
      word = use;
    }
    if (!one || word == nullptr) continue;
    for (std::size_t i = 0; i < line; ++i)
      if (uses[i].writes == word->writes && word->writes >= 0) homes[first + i].rank = word->waits;
  }
}

}  // namespace

void check_room(const std::vector<LocalStores::Home>& homes, const std::vector<std::size_t>& buffers,
                const Machine& machine, const char* argument, const std::string& spec) {
  std::vector<std::size_t> taken = buffers;
  for (const LocalStores::Home& home : homes)
    for (const std::int16_t rank : {home.rank, home.other})
      if (rank >= 0) taken[static_cast<std::size_t>(rank)] += LocalStores::unit;
  const MachineParameters& p = machine.p;
  const auto room = static_cast<std::size_t>(p.local_kib - p.local_code_kib) * 1024 - p.buffer_bytes();
  for (std::size_t r = 0; r < taken.size(); ++r)
    if (taken[r] > room)
      throw ArgumentError(
          argument,
          spec + " on " + machine.name + ", for which rank " + std::to_string(r) + " needs " +
              std::to_string(taken[r]) + " bytes of its local store" +
              (buffers[r] != 0 ? ", " + std::to_string(buffers[r]) + " of them its data" : ""),
          "up to " + std::to_string(room) + ": local.kib less local.code_kib and the buffers");
}

std::vector<LocalStores::Home> word_homes(const CountMachine& dry, const AlgorithmSpec& spec,
                                          const Machine& machine, std::size_t footprint,
                                          const std::vector<std::size_t>& buffers) {
  std::vector<LocalStores::Home> homes;
  for (std::size_t i = 0; i < footprint / CountMachine::use_bytes; ++i) {
    const CountMachine::Use& use = dry.uses()[i];
    const bool several = use.waits_too >= 0;
    // Two ranks hand it to and fro.
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
                          "fro: the machine has no coherent memory");
    LocalStores::Home home;
    if (!use.atomic && use.waits >= 0 && (!several || between_two)) home.rank = use.waits;
    if (between_two) home.other = use.waits_too;
    if (!use.atomic && home.rank < 0 && use.writes_too < 0) home.rank = use.writes;
    homes.push_back(home);
  }
  gather_lines(dry, homes);
  check_room(homes, buffers, machine, "algorithm", spec.text());
  return homes;
}

}  // namespace sim
}  // namespace phicoll
