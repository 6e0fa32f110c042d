#pragma once

// Keeps track of which parts of a group's shared region are taken. Every rank has a Region of its own and
// makes the same calls in the same order, so offsets agree without a message. A Region must therefore stay
// deterministic.

#include <cstddef>
#include <map>

#include "phicoll/errors.hpp"

namespace phicoll {

/// The group's shared memory has no room for an algorithm, as all its ranks find alike.
class RegionFullError : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

class Region {
 public:
  /// The first `used_before` bytes may be non-zero.
  explicit Region(std::size_t bytes, std::size_t used_before = 0);

  struct Block {
    std::size_t offset;
    std::size_t bytes;
    bool used_before;  ///< may be non-zero: zero it once every rank has finished its former use
  };
  /// Takes the first block that fits, on strides of 128 bytes. Throws RegionFullError with the size asked for
  /// and the size free.
  Block take(std::size_t bytes);
  /// Takes a block at a given offset (a multiple of 64), for measurements that choose the place. Throws
  /// ArgumentError("place").
  Block take_at(std::size_t offset, std::size_t bytes);
  void give_back(const Block& block);
  /// Whether take would find room.
  bool fits(std::size_t bytes) const;
  std::size_t bytes() const { return bytes_; }

 private:
  /// Finds the first place with room for `strides` bytes, a whole number of strides.
  bool find(std::size_t strides, std::size_t* start) const;
  [[noreturn]] void refuse(std::size_t wanted, std::size_t largest) const;

  std::map<std::size_t, std::size_t> free_;  // offset to bytes, never two neighbours
  std::size_t bytes_;
  std::size_t touched_;  // everything from here on is still zero
};

}  // namespace phicoll
