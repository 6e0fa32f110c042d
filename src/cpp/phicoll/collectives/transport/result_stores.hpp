#pragma once

// How the results of a collective are stored.

#include <cstddef>

#include "phicoll/memory/data.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// How a rank stores a result for another rank, where its owner would use `stores`.
inline Stores handed(Stores stores) {
  return stores == Stores::streaming ? stores : Stores::handed_over;
}

/// Chooses how results are stored. Large ones (HostNumbers::streamed) bypass the caches, where they would not
/// stay; their lines are then not read before they are overwritten.
class ResultStores {
 public:
  explicit ResultStores(const Shape& shape)
      : ranks_(static_cast<std::size_t>(shape.size())),
        from_(static_cast<std::size_t>(shape.host().streamed)) {}
  /// For a result of `bytes` per rank.
  Stores operator()(std::size_t bytes) const { return bytes >= from_ ? Stores::streaming : Stores::taken; }
  /// The same for a rank that does nothing else in the call.
  Stores received(std::size_t bytes) const { return bytes >= from_ ? Stores::streaming : Stores::received; }
  /// For an exchange in which every rank gets a block of `bytes` from every other. What all ranks get
  /// together has to stay in a cache that they share; the division by 4 makes this the limit of a single
  /// result for two ranks.
  Stores exchanged(std::size_t bytes) const { return (*this)(bytes / 4 * ranks_ * ranks_); }

 private:
  std::size_t ranks_;
  std::size_t from_;
};

}  // namespace phicoll
