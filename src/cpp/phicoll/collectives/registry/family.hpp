#pragma once

// All algorithms of one operation by name: listing, parsing and validating them, without a port. Filled from
// the operation's registry.

#include <cstddef>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// All algorithms of an operation by name.
class Family {
 public:
  /// What one registry line provides without a port.
  struct Entry {
    AlgorithmInfo info;
    AlgorithmSpec (*parse)(const std::string& name, const ParameterValues& given);
    AlgorithmSpec (*effective)(const AlgorithmSpec& spec, const Shape& shape);
    std::size_t (*footprint)(const AlgorithmSpec& spec, const Shape& shape);
    /// The reason why the algorithm cannot serve a call, or null.
    const char* (*unfit)(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts);
  };

  Family(Operation operation, std::vector<Entry> entries, std::vector<AlgorithmSet> sets);

  Operation operation() const { return operation_; }
  /// Every paper and phicoll algorithm in the registry's order, `auto` last.
  const std::vector<AlgorithmInfo>& algorithms() const { return infos_; }
  /// Parses one algorithm. Throws ArgumentError for an unknown name (with the nearest ones), a parameter that
  /// the algorithm does not take, a value out of range, and values that do not go together.
  AlgorithmSpec parse(const std::string& text) const;
  /// Parses several, separated by commas; `all` and the names and keys of sets expand to their members. Drops
  /// duplicates.
  std::vector<AlgorithmSpec> parse_list(const std::string& text) const;
  /// The names of the sets that parse_list knows, `all` first.
  std::vector<std::string> set_names() const;
  /// The spec with the values in effect for a shape: a value larger than useful becomes the largest useful
  /// one.
  AlgorithmSpec effective(const AlgorithmSpec& spec, const Shape& shape) const;
  /// Bytes of shared memory that the algorithm takes for the shape.
  std::size_t footprint(const AlgorithmSpec& spec, const Shape& shape) const;
  /// The algorithm with so few or small buffers that it takes at most `most` bytes of shared memory, if its
  /// parameters allow that.
  AlgorithmSpec fitting(const AlgorithmSpec& spec, const Shape& shape, std::size_t most) const;
  /// Throws ArgumentError("algorithm") with the reason if the algorithm cannot serve the call.
  void check_fit(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) const;
  bool fits(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) const;
  /// The algorithm and its parameters in 11 bits, for the signature of a call: the lowest name_bits hold its
  /// place in the registry, from 1, the others a hash of the parameters, `wait` included.
  unsigned number(const AlgorithmSpec& effective) const;
  /// The number at its place in a call's signature, with further bits of that hash around it. Algorithms
  /// whose numbers are equal by chance differ in these bits, and so the tags of the call and of all later
  /// ones differ.
  std::uint64_t mark(const AlgorithmSpec& effective) const;
  static constexpr unsigned name_bits = 5;
  /// The algorithm's name by its number; "no algorithm" if there is none.
  std::string name_of(unsigned number) const;

 private:
  const Entry& named(const std::string& name) const;
  const AlgorithmSet* set_named(const std::string& name) const;
  void refuse_set_of_others(const std::string& name) const;

  Operation operation_;
  std::vector<Entry> entries_;
  std::vector<AlgorithmSet> sets_;
  std::vector<AlgorithmInfo> infos_;
};

/// The family of an operation.
const Family& family(Operation operation);

}  // namespace phicoll
