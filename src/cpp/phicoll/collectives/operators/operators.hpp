#pragma once

// The operators of reductions: the element types, the operators that fit them, and what each computes. One
// table of type x operator, as MPI pairs them:
//
//     integers                    sum prod min max land band lor bor lxor bxor
//     float32 float64             sum prod min max
//     float16 bfloat16            sum prod min max
//     complex64 complex128        sum prod
//     bool8                       land lor lxor
//     the pairs (value, index)    minloc maxloc

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/memory/data.hpp"

// What they compute, bit for bit, on any processor and at any position in a buffer:
//
// - integers: sums and products wrap around.
// - logical: anything but zero is true; the result is 0 or 1.
// - min, max of floats: -0.0 is less than +0.0; a NaN operand gives the one quiet NaN without sign and
//   payload.

// - float16, bfloat16: sums and products are float32's, rounded once more, to the nearest, ties to even.
// - sum, prod of floats: rounded once an operation, nothing fused; of complex numbers by the textbook
//   formula, with no second look at infinities. NaN payloads are an operand's.
namespace phicoll {

/// An element type. The pairs have the layout of a C struct {value; int32 index;}, padding included.
enum class Type : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  complex64,   ///< two float32
  complex128,  ///< two float64
  bool8,       ///< one byte, zero or not
  float_int,   ///< 8 bytes: float32, int32
  double_int,  ///< 16 bytes: float64, int32, 4 of padding
  long_int,    ///< 16 bytes: int64, int32, 4 of padding
  two_int,     ///< 8 bytes: int32, int32
  short_int,   ///< 8 bytes: int16, 2 of padding, int32
  float16,     ///< IEEE 754's binary16
  bfloat16     ///< the upper half of a float32
};
constexpr int types = 20;

// minloc: the lesser value with its index; of equal values (-0.0 equals +0.0) the lower index. A NaN comes
// before every number in minloc and maxloc alike, of two NaNs that of the lower index. The element is taken
// whole, padding included; of two that differ only in the sign of a zero or NaN, a fixed one.
enum class Op : std::uint8_t { sum, prod, min, max, land, band, lor, bor, lxor, bxor, minloc, maxloc };
constexpr int ops = 12;

const char* to_string(Type type);
const char* to_string(Op op);
/// Throw ArgumentError ("type", "operator") with the nearest names for an unknown name.
Type parse_type(const std::string& name);
Op parse_op(const std::string& name);

/// Of one element, padding included.
std::size_t bytes_of(Type type);

/// Whether the operator is defined on the type.
bool fits(Type type, Op op);
/// Every pair of a type and an operator that fits it, types in their order, then operators.
std::vector<std::pair<Type, Op>> operator_pairings();

/// The operator on elements of the type, ready for a Call. Buffers may have any alignment. Its `id` is never
/// 0. Throws ArgumentError("operator") if the pairing is not defined, with the operators that fit the type.
Operator find_operator(Type type, Op op);

/// A user-defined operator: kernel(context, to, left, right, count) sets to[i] = left[i] op right[i], where
/// `left` comes from the lower ranks and `to` may be the same place as either. It counts as not associative,
/// so that every rank and run brackets alike. `type` as type_number gives it, or 0 for none. Throws
/// ArgumentError: no element bytes, no kernel, a type above most_types.
Operator user_operator(std::uint32_t element_bytes, bool commutative, Operator::Kernel kernel, void* context,
                       unsigned type = 0);

/// "float32 sum", "user-defined" or "user-defined on float32".
std::string operator_name(const Operator& op);

/// The number of an element type, which the ranks of a call compare: 0 for none, from 1 on the types above,
/// then up to most_types those that a caller numbers.
constexpr unsigned most_types = (1u << type_bits) - 2;
/// Of a word that announces data, which itself goes another way.
constexpr unsigned announcing_type = most_types + 1;
constexpr unsigned type_number(Type type) {
  return static_cast<unsigned>(type) + 1;
}
/// "float32", or "type 40".
std::string type_name(unsigned number);

}  // namespace phicoll
