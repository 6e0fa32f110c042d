#pragma once

// Barriers by name: listing, parsing, validating and choosing them, without a port.
//
// A barrier is written `name:parameter=value:...:wait=policy`, several separated by commas, for example
// `dissemination:ways=3,static-tournament:ways=4:notify=local`.

#include <cstddef>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// The barriers as a family, whose `auto` is resolved for the shape alone.
const Family& barrier_family();

/// Every paper and phicoll barrier, `auto` last, in the registry's order.
const std::vector<AlgorithmInfo>& barrier_algorithms();

/// One barrier. Throws ArgumentError: unknown name (with the nearest ones), a parameter that it does not
/// take, a value out of range, a pairing that it refuses.
AlgorithmSpec parse_barrier(const std::string& text);

/// Several, separated by commas; the sets `all`, `paper-000`, `paper-001`, `paper-002` and `paper-004` (or
/// the papers' keys by author and year) expand to their members. Duplicates are dropped.
std::vector<AlgorithmSpec> parse_barriers(const std::string& text);

/// The names of the sets that parse_barriers knows.
std::vector<std::string> barrier_sets();

/// The values in effect for a shape: larger than useful acts as the largest useful. `auto` is resolved.
AlgorithmSpec effective_barrier(const AlgorithmSpec& spec, const Shape& shape);

/// Bytes of shared memory that the barrier takes for the shape.
std::size_t barrier_footprint(const AlgorithmSpec& spec, const Shape& shape);

/// The rules behind `auto`; automatic_barrier() asks a tuning table first.
AlgorithmChoice choose_barrier(const Shape& shape);

}  // namespace phicoll
