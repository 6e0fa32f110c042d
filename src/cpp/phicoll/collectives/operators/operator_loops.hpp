// The loops of all operators, in an unnamed namespace: each file that includes this is compiled with options
// of its own (see src/cpp/CMakeLists.txt), and no instance may serve another. Nothing but the smallest
// standard headers, and intrinsics, may be included here for the same reason.
//
// A kernel's buffers have any alignment, hence memcpy, which gcc vectorises (packed structs it does not);
// `to` may be `left` or `right`, never overlap one in part, hence the pragma: without it the compiler's
// overlap check would send calls in place to the scalar loop.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include "phicoll/collectives/operators/operators.hpp"

#if defined(__clang__)
#define PHICOLL_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PHICOLL_EACH_ALONE _Pragma("GCC ivdep")
#else
#define PHICOLL_EACH_ALONE
#endif

namespace phicoll {
namespace {

template <class T>
inline T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
inline void store(unsigned char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// The unsigned integer of a float's size.
template <class T>
using Bits = typename std::conditional<sizeof(T) == 4, std::uint32_t, std::uint64_t>::type;

template <class T>
inline Bits<T> bits_of(T value) {
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T>
inline T from_bits(Bits<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// At least 32 bits: the narrow unsigned types would be promoted to int, whose product may overflow.
template <class T>
using Wide = typename std::conditional<sizeof(T) < 4, std::uint32_t, T>::type;

struct WrappingSum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct WrappingProd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
struct FloatSum {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct FloatProd {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a | b) != 0);
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct IntegerMin {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct IntegerMax {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

template <class T>
inline T quiet_nan() {
  return from_bits<T>(sizeof(T) == 4 ? Bits<T>{0x7fc00000u} : static_cast<Bits<T>>(0x7ff8000000000000u));
}
// Of equal floats only zeros differ in their bits, by the sign: `|` makes it negative, `&` positive.
// Selections have no branches, so that they become masks.
struct FloatMin {
  template <class T>
  static T apply(T a, T b) {
    const T less = a < b ? a : b;
    const T ordered = a == b ? from_bits<T>(bits_of(a) | bits_of(b)) : less;
    const T left = a != a ? quiet_nan<T>() : ordered;
    return b != b ? quiet_nan<T>() : left;
  }
};
struct FloatMax {
  template <class T>
  static T apply(T a, T b) {
    const T greater = b < a ? a : b;
    const T ordered = a == b ? from_bits<T>(bits_of(a) & bits_of(b)) : greater;
    const T left = a != a ? quiet_nan<T>() : ordered;
    return b != b ? quiet_nan<T>() : left;
  }
};

// Half precision. Selections have no branches and compare signed integers, which every vector unit can.

/// The upper half of a float32. The lower half of a NaN that comes of two widened ones is zero, since its
/// payload is an operand's or none: rounding leaves it alone.
struct Bfloat16 {
  static float widen(std::uint16_t half) { return from_bits<float>(static_cast<std::uint32_t>(half) << 16); }
  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  static constexpr std::uint16_t infinity = 0x7f80;
};

/// IEEE 754's binary16, whose exponent has 5 bits.
struct Float16 {
#if defined(__F16C__)
  static float widen(std::uint16_t half) {
    return _cvtsh_ss(half);
  }
  static std::uint16_t narrow(float value) {
    return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
  }
#elif defined(__aarch64__)
  static float widen(std::uint16_t half) {
    __fp16 value;
    std::memcpy(&value, &half, sizeof value);
    return value;
  }
  static std::uint16_t narrow(float value) {
    const __fp16 rounded = static_cast<__fp16>(value);
    std::uint16_t half;
    std::memcpy(&half, &rounded, sizeof half);
    return half;
  }
#else
  static float widen(std::uint16_t half) {
    const std::uint32_t shifted = static_cast<std::uint32_t>(half & 0x7fffu) << 13;
    const auto exponent = static_cast<std::int32_t>(shifted & 0x0f800000u);
    const std::uint32_t normal = shifted + (112u << 23);
    // 2^-14 + the fraction, less 2^-14: the subtraction finds the exponent.
    const float denormal = from_bits<float>(shifted + (113u << 23)) - from_bits<float>(113u << 23);
    const std::uint32_t finite = exponent == 0 ? bits_of(denormal) : normal;
    const std::uint32_t value = exponent == 0x0f800000 ? normal + (112u << 23) : finite;
    return from_bits<float>(value | static_cast<std::uint32_t>(half & 0x8000u) << 16);
  }
  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t size = bits & 0x7fffffffu;
    const auto compared = static_cast<std::int32_t>(size);
    const std::uint32_t normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    // Beside 0.5 the last bit of a float32 is that of a denormal binary16: the addition rounds.
    const std::uint32_t denormal = bits_of(from_bits<float>(size) + 0.5f) - (126u << 23);
    const std::uint32_t finite = compared < (113 << 23) ? denormal : normal;
    const std::uint32_t large = compared > 0x7f800000 ? 0x7e00u | (size >> 13 & 0x3ffu) : 0x7c00u;
    const std::uint32_t half = compared < (143 << 23) ? finite : large;
    return static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000u));
  }
#endif
  static constexpr std::uint16_t infinity = 0x7c00;
};

template <class Half, class Function>
struct InFloat {
  template <class T>
  static T apply(T a, T b) {
    return Half::narrow(Function::template apply<float>(Half::widen(a), Half::widen(b)));
  }
};

/// The lesser or greater of two halves, as FloatMin and FloatMax have them, by integers in their order.
template <class Half, class Function>
struct InOrder {
  static std::int16_t key(std::int16_t half) {
    return static_cast<std::int16_t>(half ^ (half >> 15 & 0x7fff));
  }
  static bool is_nan(std::int16_t half) {
    return static_cast<std::int16_t>(half & 0x7fff) > static_cast<std::int16_t>(Half::infinity);
  }
  template <class T>
  static T apply(T a, T b) {
    const T chosen = key(Function::template apply<T>(key(a), key(b)));
    const auto nan = static_cast<T>(Half::infinity | Half::infinity >> 1);
    const T left = is_nan(a) ? nan : chosen;
    return is_nan(b) ? nan : left;
  }
};

/// The elements of one word, stored as one: a small reduction loads the word next, and would wait for several
/// stores.
template <class Function, class T>
inline void each_of_word(void* to, const void* left, const void* right) {
  constexpr std::size_t count = sizeof(std::uint64_t) / sizeof(T);
  T result[count], operand[count];
  std::memcpy(result, left, sizeof result);
  std::memcpy(operand, right, sizeof operand);
  for (std::size_t i = 0; i < count; ++i) result[i] = Function::template apply<T>(result[i], operand[i]);
  std::memcpy(to, result, sizeof result);
}

template <class Function, class T>
void each(void*, void* to, const void* left, const void* right, std::size_t count) {
  if (count * sizeof(T) == sizeof(std::uint64_t)) return each_of_word<Function, T>(to, left, right);
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const l = static_cast<const unsigned char*>(left);
  const auto* const r = static_cast<const unsigned char*>(right);
  PHICOLL_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i)
    store<T>(t + i * sizeof(T),
             Function::template apply<T>(load<T>(l + i * sizeof(T)), load<T>(r + i * sizeof(T))));
}

/// Two bfloat16 of a word, each in a lane of its own as the float32 that it is the upper half of: the loop
/// has no narrow lanes, and compilers vectorise it for every instruction set.
template <class Function>
struct OfTwo {
  static std::uint32_t rounded(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t bits =
        bits_of(Function::template apply<float>(from_bits<float>(a), from_bits<float>(b)));
    return bits + 0x7fffu + (bits >> 16 & 1u);
  }
  template <class T>
  static T apply(T a, T b) {
    constexpr std::uint32_t upper = 0xffff0000u;
    return rounded(a << 16, b << 16) >> 16 | (rounded(a & upper, b & upper) & upper);
  }
};

/// Combines most halves, and returns how many.
template <class Function>
std::size_t most_halves(Bfloat16, unsigned char* to, const unsigned char* left, const unsigned char* right,
                        std::size_t count) {
  const auto in_words = [&](std::size_t from, std::size_t halves) {
    each<OfTwo<Function>, std::uint32_t>(nullptr, to + 2 * from, left + 2 * from, right + 2 * from,
                                         halves / 2);
  };
  std::size_t done = 0;
#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
  // The conversion rounds as narrow() does, but takes denormals for zeros: where one comes up, words serve.
  constexpr int denormal = 0x20;
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  // It puts the 16 even elements before the odd ones.
  alignas(64) std::uint16_t place[32];
  for (std::size_t i = 0; i < 32; ++i) place[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 16);
  const __m512i places = _mm512_load_si512(place);
  // With a mask of all: gcc 12 warns of the forms without one.
  const auto shifted = [](__m512i words) { return _mm512_maskz_slli_epi32(0xffff, words, 16); };
  const auto result = [](__m512i a, __m512i b) {
    return Function::template apply<__m512>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b));
  };
  for (; done + 32 <= count; done += 32) {
    const auto a = load<__m512i>(left + 2 * done), b = load<__m512i>(right + 2 * done);
    const __m512 even = result(shifted(a), shifted(b));
    const __m512 odd = result(_mm512_and_si512(a, upper), _mm512_and_si512(b, upper));
    if (__builtin_expect(
            (_mm512_fpclass_ps_mask(even, denormal) | _mm512_fpclass_ps_mask(odd, denormal)) != 0, 0)) {
      in_words(done, 32);
      continue;
    }
    const __m512bh rounded = _mm512_cvtne2ps_pbh(odd, even);
    store(to + 2 * done, _mm512_maskz_permutexvar_epi16(~0u, places, reinterpret_cast<__m512i>(rounded)));
  }
#elif defined(__AVX2__) && !defined(__AVX512F__)
  // As OfTwo, two vectors at a time, which compilers do not do.
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1);
  const auto rounded = [&](__m256i a, __m256i b) {
    const __m256i bits =
        _mm256_castps_si256(Function::template apply<__m256>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    return _mm256_add_epi32(_mm256_add_epi32(bits, half), last);
  };
  const auto result = [&](std::size_t at) {
    const auto a = load<__m256i>(left + 2 * at), b = load<__m256i>(right + 2 * at);
    const __m256i even = rounded(_mm256_slli_epi32(a, 16), _mm256_slli_epi32(b, 16));
    const __m256i odd = rounded(_mm256_and_si256(a, upper), _mm256_and_si256(b, upper));
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
  };
  for (; done + 32 <= count; done += 32) {
    const __m256i first = result(done), second = result(done + 16);
    store(to + 2 * done, first);
    store(to + 2 * done + 32, second);
  }
#endif
  in_words(done, count - done);
  return count / 2 * 2;
}
template <class Function>
std::size_t most_halves(Float16, unsigned char* to, const unsigned char* left, const unsigned char* right,
                        std::size_t count) {
  std::size_t done = 0;
#if defined(__F16C__) && defined(__AVX2__)
  // The conversions, which compilers do not vectorise.
  const auto at = [](const unsigned char* halves) { return _mm256_cvtph_ps(load<__m128i>(halves)); };
  for (; done + 8 <= count; done += 8) {
    const __m256 result = Function::template apply<__m256>(at(left + 2 * done), at(right + 2 * done));
    store(to + 2 * done, _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
  }
#else
  static_cast<void>(to), static_cast<void>(left), static_cast<void>(right), static_cast<void>(count);
#endif
  return done;
}

/// Sums and products of halves.
template <class Half, class Function>
void each_half(void* context, void* to, const void* left, const void* right, std::size_t count) {
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const l = static_cast<const unsigned char*>(left);
  const auto* const r = static_cast<const unsigned char*>(right);
  const std::size_t done = most_halves<Function>(Half(), t, l, r, count);
  each<InFloat<Half, Function>, std::uint16_t>(context, t + 2 * done, l + 2 * done, r + 2 * done,
                                               count - done);
}

template <class T>
void complex_sum(void* context, void* to, const void* left, const void* right, std::size_t count) {
  each<FloatSum, T>(context, to, left, right, 2 * count);
}

template <class T>
void complex_prod(void*, void* to, const void* left, const void* right, std::size_t count) {
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const l = static_cast<const unsigned char*>(left);
  const auto* const r = static_cast<const unsigned char*>(right);
  PHICOLL_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t real = 2 * i * sizeof(T);
    const std::size_t imaginary = real + sizeof(T);
    const T a = load<T>(l + real), b = load<T>(l + imaginary);
    const T c = load<T>(r + real), d = load<T>(r + imaginary);
    store<T>(t + real, a * c - b * d);
    store<T>(t + imaginary, a * d + b * c);
  }
}

/// The layouts of the pairs, as a C compiler lays them out.
template <class T>
struct Pair {
  T value;
  std::int32_t index;
};
static_assert(sizeof(Pair<float>) == 8 && sizeof(Pair<double>) == 16 && sizeof(Pair<std::int64_t>) == 16 &&
                  sizeof(Pair<std::int32_t>) == 8 && sizeof(Pair<std::int16_t>) == 8,
              "as MPI's pairs");

template <bool least, class T>
inline bool right_wins(const Pair<T>& a, const Pair<T>& b) {
  const bool a_nan = a.value != a.value;
  const bool b_nan = b.value != b.value;
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.value != b.value) return least ? b.value < a.value : a.value < b.value;
  if (a.index != b.index) return b.index < a.index;
  return std::memcmp(&b.value, &a.value, sizeof a.value) <
         0;  // zeros and NaNs of one index: some fixed order
}

template <bool least, class T>
void locate(void*, void* to, const void* left, const void* right, std::size_t count) {
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const l = static_cast<const unsigned char*>(left);
  const auto* const r = static_cast<const unsigned char*>(right);
  for (std::size_t at = 0; at < count * sizeof(Pair<T>); at += sizeof(Pair<T>)) {
    Pair<T> a, b;
    std::memcpy(&a, l + at, sizeof a);
    std::memcpy(&b, r + at, sizeof b);
    std::memmove(t + at, right_wins<least>(a, b) ? r + at : l + at, sizeof a);
  }
}

template <class Signed>
Operator::Kernel integer_kernel(Op op) {
  // Operators that do not depend on the sign have one instance for both.
  using Plain = typename std::make_unsigned<Signed>::type;
  switch (op) {
    case Op::sum:
      return each<WrappingSum, Plain>;
    case Op::prod:
      return each<WrappingProd, Plain>;
    case Op::min:
      return each<IntegerMin, Signed>;
    case Op::max:
      return each<IntegerMax, Signed>;
    case Op::land:
      return each<LogicalAnd, Plain>;
    case Op::band:
      return each<And, Plain>;
    case Op::lor:
      return each<LogicalOr, Plain>;
    case Op::bor:
      return each<Or, Plain>;
    case Op::lxor:
      return each<LogicalXor, Plain>;
    case Op::bxor:
      return each<Xor, Plain>;
    default:
      return nullptr;
  }
}

template <class T>
Operator::Kernel float_kernel(Op op) {
  switch (op) {
    case Op::sum:
      return each<FloatSum, T>;
    case Op::prod:
      return each<FloatProd, T>;
    case Op::min:
      return each<FloatMin, T>;
    case Op::max:
      return each<FloatMax, T>;
    default:
      return nullptr;
  }
}

template <class Half>
Operator::Kernel half_kernel(Op op) {
  switch (op) {
    case Op::sum:
      return each_half<Half, FloatSum>;
    case Op::prod:
      return each_half<Half, FloatProd>;
    case Op::min:
      return each<InOrder<Half, IntegerMin>, std::int16_t>;
    case Op::max:
      return each<InOrder<Half, IntegerMax>, std::int16_t>;
    default:
      return nullptr;
  }
}

template <class T>
Operator::Kernel complex_kernel(Op op) {
  return op == Op::sum ? complex_sum<T> : op == Op::prod ? complex_prod<T> : nullptr;
}

template <class T>
Operator::Kernel pair_kernel(Op op) {
  return op == Op::minloc ? locate<true, T> : op == Op::maxloc ? locate<false, T> : nullptr;
}

Operator::Kernel kernel_here(Type type, Op op) {
  switch (type) {
    case Type::int8:
      return integer_kernel<std::int8_t>(op);
    case Type::int16:
      return integer_kernel<std::int16_t>(op);
    case Type::int32:
      return integer_kernel<std::int32_t>(op);
    case Type::int64:
      return integer_kernel<std::int64_t>(op);
    case Type::uint8:
      return integer_kernel<std::uint8_t>(op);
    case Type::uint16:
      return integer_kernel<std::uint16_t>(op);
    case Type::uint32:
      return integer_kernel<std::uint32_t>(op);
    case Type::uint64:
      return integer_kernel<std::uint64_t>(op);
    case Type::float32:
      return float_kernel<float>(op);
    case Type::float64:
      return float_kernel<double>(op);
    case Type::complex64:
      return complex_kernel<float>(op);
    case Type::complex128:
      return complex_kernel<double>(op);
    case Type::bool8:
      return op == Op::land || op == Op::lor || op == Op::lxor ? integer_kernel<std::uint8_t>(op) : nullptr;
    case Type::float_int:
      return pair_kernel<float>(op);
    case Type::double_int:
      return pair_kernel<double>(op);
    case Type::long_int:
      return pair_kernel<std::int64_t>(op);
    case Type::two_int:
      return pair_kernel<std::int32_t>(op);
    case Type::short_int:
      return pair_kernel<std::int16_t>(op);
    case Type::float16:
      return half_kernel<Float16>(op);
    case Type::bfloat16:
      return half_kernel<Bfloat16>(op);
  }
  return nullptr;
}

}  // namespace
}  // namespace phicoll
