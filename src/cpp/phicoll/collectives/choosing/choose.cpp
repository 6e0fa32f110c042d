#include "phicoll/collectives/choosing/choose.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "phicoll/collectives/choosing/rules.hpp"
#include "phicoll/collectives/registry/family.hpp"

namespace phicoll {

namespace {

AlgorithmChoice choose_copying(const Shape& shape, const CallFacts& facts) {
  const rules::Choosing at(shape, facts);
  const auto row = static_cast<std::size_t>(facts.operation);
  if (rules::are_many(shape) && !facts.vector && rules::for_many[row] != nullptr) {
    const AlgorithmChoice many = rules::for_many[row](at);
    if (at.fits(many)) return many;
  }
  return rules::for_any[row](at);
}

/// From how many times HostNumbers::direct on an operation best reads data in place that all ranks reach; 0: never.
struct InPlace {
  int two, more;       ///< among two ranks and among more
  int sharing;         ///< among ranks that share CPUs
  bool part = false;   ///< the size is that of a rank's part, and at least 64 KB
  bool early = false;  ///< from 1 KB on among many ranks (are_many)
  int put = 0;  ///< from how many bytes on two ranks with a CPU each put blocks where they go; 0: never
  int put_sharing = 0;  ///< the same of ranks that share CPUs
};

/// By operation, in the order of its enumerators. Reading in place pays about as soon as a rank's data for the others no
/// longer stays in its L2 (1 MB on the measured host). Measured between two processes, and among four and eight on two
/// CPUs, with buffers in the group's heap that were written anew for each call (docs/collectives.md).
constexpr InPlace in_place[operations] = {
    {0, 0, 0},                                    // barrier
    {1, 2, 4},                                    // broadcast, whose root is ahead of its readers otherwise
    {0, 0, 0, false, false, 64 << 10},            // reduce
    {1, 1, 1, false, false, 64 << 10},            // allreduce
    {1, 1, 1, false, false, 128 << 10, 1 << 20},  // gather
    {2, 4, 1, true},                              // scatter
    {1, 1, 1, false, false, 64 << 10},            // allgather
    {1, 1, 1, true, true, 64 << 10},              // alltoall
    {0, 0, 0},                                    // scan
    {2, 2, 1, true, true},                        // reduce_scatter
};

/// The size of a message or block, in bytes, from which data that all ranks reach is best read in place; 0: never.
std::size_t direct_at(const Shape& shape, Operation operation) {
  const InPlace& row = in_place[static_cast<int>(operation)];
  if (row.early && rules::are_many(shape)) return std::size_t{1} << 10;
  const bool sharing = shape.sharing();
  const auto times = static_cast<std::size_t>(sharing ? row.sharing : shape.size() == 2 ? row.two : row.more);
  const std::size_t all = times * static_cast<std::size_t>(shape.host().direct);
  return row.part ? std::max(std::size_t{64} << 10, all / static_cast<std::size_t>(shape.size())) : all;
}

/// From how many bytes on a block is best put where it goes, if all reach both ranks' buffers; 0: never. In an exchange a rank then
/// waits for the others before it copies, which costs ranks that share CPUs more than it saves.
int put_at(const Shape& shape, Operation operation) {
  const InPlace& row = in_place[static_cast<int>(operation)];
  if (shape.sharing()) return row.put_sharing;
  return shape.size() == 2 ? row.put : 0;
}

}  // namespace

std::string with_cells(Operation operation, const std::string& beginning, std::size_t cell,
                       std::size_t ring) {
  const std::string name = beginning.substr(0, beginning.find(':'));
  std::size_t cells = ring / cell;
  for (const AlgorithmInfo& info : family(operation).algorithms())
    for (const ParameterInfo& parameter : info.parameters)
      if (info.name == name && parameter.name == "cells")
        cells = std::max(static_cast<std::size_t>(parameter.least),
                         std::min(cells, static_cast<std::size_t>(parameter.most)));
  return beginning + std::to_string(cell) + ":cells=" + std::to_string(cells);
}

AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text) {
  const std::size_t from = direct_at(shape, operation);
  if (text.find(":direct=") != std::string::npos) return spec;
  for (const auto& value : spec.values)
    if (value.first == "direct" && value.second != "0") return spec;  // by a rule of its own
  const int put = text.find(":put=") == std::string::npos ? put_at(shape, operation) : 0;
  for (auto& value : spec.values) {
    if (value.first == "direct" && from != 0) value.second = std::to_string(from);
    if (value.first == "far" && from != 0) value.second = "copied";
    if (value.first == "put" && put != 0) value.second = std::to_string(put);
  }
  return spec;
}

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  AlgorithmChoice choice = choose_copying(shape, facts);
  const AlgorithmSpec copied = choice.spec;
  choice.spec = with_direct(copied, shape, facts.operation, "");
  if (choice.spec == copied) return choice;
  const auto puts = [](const std::pair<std::string, std::string>& value) {
    return value.first == "put" && value.second != "0";
  };
  const bool can_put = std::any_of(choice.spec.values.begin(), choice.spec.values.end(), puts);
  const std::size_t put = can_put ? static_cast<std::size_t>(put_at(shape, facts.operation)) : 0;
  const std::size_t from = direct_at(shape, facts.operation);
  const bool below = from != 0 && facts.known && facts.bytes < from;
  if (from != 0 && (below ? from - 1 < choice.most : from >= choice.least))
    rules::note_number(choice, rules::Numbers(shape.host()).at(&HostNumbers::direct));
  if (below)
    choice.most = std::min(choice.most, from - 1);
  else if (facts.known)
    choice.least = std::max(choice.least, from);
  const bool before_put = facts.known && facts.bytes < put;
  if (before_put)
    choice.most = std::min(choice.most, put - 1);
  else if (facts.known)
    choice.least = std::max(choice.least, put);
  if (put != 0 && !before_put)
    choice.why += "; blocks are stored where they go if all ranks reach both buffers";
  if (from != 0 && !below) choice.why += "; large data that all ranks reach is read where it lies";
  return choice;
}

}  // namespace phicoll
