#pragma once

// Message data as algorithms see it: never a raw pointer, which a port could not account for.

#include <cstddef>
#include <cstdint>

namespace phicoll {

/// A place in memory that a port may move bytes from and to: either in shared memory (`port.shared(pointer)`)
/// or in a bound range of the rank's own memory (`port.bind(pointer, bytes)`). Valid only on the rank that
/// made it.
struct Data {
  unsigned char* at = nullptr;

  Data operator+(std::size_t bytes) const { return Data{at + bytes}; }
  explicit operator bool() const { return at != nullptr; }
  bool operator==(Data other) const { return at == other.at; }
  bool operator!=(Data other) const { return at != other.at; }
};

/// What a rank hands to its peers so that they can reach its data. Small and trivially copyable; travels
/// through shared memory. All-zero means that nothing is exposed. Made by `port.expose`.
struct Exposed {
  std::uint64_t address;  ///< in the owner's address space, or an offset in the group's memory
  std::uint32_t owner;    ///< rank plus one
  std::uint32_t how;      ///< ExposedKind

  explicit operator bool() const { return owner != 0; }
};

enum class ExposedKind : std::uint32_t {
  pointer,  ///< the peer's loads and stores reach it at `address`
  offset,   ///< in the group's own memory, at this offset of each rank's mapping
  process   ///< only the kernel reaches it
};

/// How `move` stores.
enum class Stores : unsigned char {
  cached,       ///< the next reader finds it in a cache
  handed_over,  ///< for another CPU to read next: the port picks the better way
  taken,        ///< the same for data that another CPU handed over
  received,     ///< the same in a call in which this rank only takes such data
  streaming     ///< past the caches, for data that is larger than they are; the move orders these stores
};

/// Bits of an element type's number, in Operator::id and wherever a call's type is given.
constexpr unsigned type_bits = 6;

/// The largest element of a reduction, in bytes: a piece of any algorithm holds at least one element.
constexpr int max_element_bytes = 256;

/// A reduction's operator on one element type. `kernel(context, to, left, right, count)` computes to[i] =
/// left[i] op right[i]. `left` comes from the lower ranks; `to` may be the same place as either operand.
struct Operator {
  using Kernel = void (*)(void* context, void* to, const void* left, const void* right, std::size_t count);
  Kernel kernel = nullptr;
  void* context = nullptr;
  std::uint32_t element_bytes = 0;
  bool commutative = true;
  /// Whether the result is independent of how operands are bracketed: true for integers, false for
  /// floating-point sums and for operators that users write.
  bool associative = true;
  std::uint16_t id = 0;  ///< type and operator, for the signature of a call
};

}  // namespace phicoll
