#pragma once

// The rules of `auto` by operation, and what they are written with. Sizes and cells that a calibration measures, or a table
// may set, are data (HostNumbers). Written in the rules are (docs/tuning.md)
//  - sizes that follow from a cell's size, or from the lines that a reader asks for together (transport/cells.hpp);
//  - where reduce-scatters of two ranks leave few cells, which may be anywhere between 1 and 2 KB;
//  - what was only simulated (docs/collectives.md): for ranks in several parts of a machine, and for more than eight ranks, or
//    reductions of eight, with a CPU each.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace rules {

/// A size at which a rule begins, and the host's number that it comes from and its value, or null.
struct From {
  From(std::size_t at) : bytes(at) {}
  From(std::size_t at, const char* number, std::size_t is) : bytes(at), name(number), value(is) {}
  std::size_t bytes;
  const char* name = nullptr;
  std::size_t value = 0;
};

/// A rule: from this many bytes on, this algorithm, for this reason.
struct Rule {
  From from;
  std::string spec;
  const char* why;
};

/// Gives the rules the host's numbers.
class Numbers {
 public:
  explicit Numbers(const HostNumbers& numbers) : numbers_(numbers) {}
  From at(std::int64_t HostNumbers::*number, std::size_t parts = 1) const;
  /// At `bytes`, which follow from the number.
  From by(std::int64_t HostNumbers::*number, std::size_t bytes) const;
  std::size_t operator()(std::int64_t HostNumbers::*number) const {
    return static_cast<std::size_t>(numbers_.*number);
  }

 private:
  const HostNumbers& numbers_;
};

/// Adds the number at which a choice begins or ends to those that the choice names.
void note_number(AlgorithmChoice& choice, const From& from);

/// What the rules depend on: a group's shape and a call. Refers to both.
struct Choosing {
  Choosing(const Shape& shape, const CallFacts& facts);

  const Shape& shape;
  const CallFacts& facts;
  Numbers host;
  std::size_t ranks;
  bool sharing;  ///< ranks share CPUs
  bool
      pair;  ///< two ranks with a CPU each: they have long rings; among more, such rings would have few cells
  std::size_t ring;  ///< bytes of a rank's ring of larger cells

  /// A ring of `bytes` in larger cells, in half as large ones (of ranks with a CPU each), or in the largest:
  /// "ring:cell=65536:cells=32" for "ring:cell=" and 2 MB.
  std::string cells(const char* beginning, std::size_t bytes) const;
  std::string half_cells(const char* beginning, std::size_t bytes) const;
  std::string wide_cells(const char* beginning, std::size_t bytes) const;
  /// From here on a block is two larger cells, so that of two ranks one fills a cell while the other empties one. With cells of 32
  /// to 128 KB a gather takes the same from 48 to 512 KB; a scatter of one cell 0.9 in a loop, but 1.16 from a window start.
  From two_pieces() const;
  /// From here on a block does not fit into a larger cell of ranks that share CPUs, which would be scheduled for each piece.
  From beyond_cell() const;
  /// The choice by the last rule that begins at or below the call's bytes.
  AlgorithmChoice by_size(std::initializer_list<Rule> rules) const;
  /// Whether the algorithm can serve the call: an operator may need an order that the parts of the machine do not keep.
  bool fits(const AlgorithmChoice& choice) const;
};

/// Whether the ranks are known to be in several parts of the machine (L3s, memory nodes or packages), each with ranks
/// on at least two cores.
bool in_several_parts(const Shape& shape);
/// More than eight ranks with a CPU each. Their rules were simulated (docs/collectives.md).
bool are_many(const Shape& shape);

/// The smallest message or block that does not fit into a cell of so many bytes.
constexpr std::size_t beyond(std::size_t cell) {
  return cell + 1;
}

/// One exchange of two ranks, each with one cell of swapped_bytes (collectives/transport/cells.hpp).
constexpr std::size_t swapped_bytes = std::size_t{512} << 10;
inline std::string two_cells() {
  return "one-shot:cell=" + std::to_string(swapped_bytes) + ":cells=1";
}

/// The rules of an operation.
using Choose = AlgorithmChoice (*)(const Choosing&);
/// By operation, in the order of its enumerators.
extern const Choose for_any[operations];
/// Those for many ranks (are_many), which serve no vector version; null: as for any.
extern const Choose for_many[operations];
/// A barrier's, which depend on the shape alone.
AlgorithmChoice barrier(const Choosing& at);

// The reasons that several rules give.
namespace because {
constexpr const char* single = "from here on the bytes cross between the CPUs only once that way";
constexpr const char* faster = "cells or a single copy, whichever was faster lately";
constexpr const char* sliced = "each rank combines a part, all take all parts";
constexpr const char* either = "in parts, or whole through two cells, whichever was faster lately";
constexpr const char* root_takes = "each rank combines a part, the root takes all parts";
constexpr const char* rotating = "pieces go through a ring that is longer than the readers' caches";
constexpr const char* own_pieces = "a block in pieces of its own";
constexpr const char* few_cells = "few cells, which stay in the nearest cache";
constexpr const char* swapping =
    "two cells: each rank next writes where it has just read, so a line crosses only once";
constexpr const char* seldom = "large pieces, so that ranks that share a CPU are seldom scheduled";
constexpr const char* by_levels = "operands are combined within each part of the machine before they cross";
constexpr const char* by_levels_down =
    "a line crosses between parts of the machine once for all readers there";
constexpr const char* cpu_by_cpu = "ranks that share a CPU go through one of them";
constexpr const char* doubling = "as many steps as the logarithm of the ranks, a message to one rank in each";
constexpr const char* halving = "each rank combines and passes on a half, then a quarter and so on";
constexpr const char* ahead = "many cells, so that ranks that share a CPU are far ahead before they wait";
constexpr const char* root_ahead = "the root is never held up by a slower rank";
constexpr const char* root_waits = "nobody but the root waits";
constexpr const char* no_later = "no rank waits for a later one";
constexpr const char* one_exchange = "one exchange";
}  // namespace because

}  // namespace rules
}  // namespace phicoll
