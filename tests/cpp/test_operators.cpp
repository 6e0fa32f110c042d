// The operators of reductions: every pairing of type and operator, for every instruction set that this
// processor has, against a computation of one element at a time; any alignment, in place, any count.

#include "phicoll/collectives/operators/operators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "phicoll/collectives/operators/operator_kernels.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {
namespace {

using Bytes = std::vector<unsigned char>;

template <class T>
T read(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write(unsigned char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// In 128 bits nothing overflows; the low bits are what wrapping gives.
template <class T>
T integer_result(Op op, T a, T b) {
  __extension__ using Wide = __int128;
  const Wide x = a;
  const Wide y = b;
  switch (op) {
    case Op::sum:
      return static_cast<T>(static_cast<std::uint64_t>(x + y));
    case Op::prod:
      return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
    case Op::min:
      return static_cast<T>(x <= y ? x : y);
    case Op::max:
      return static_cast<T>(x >= y ? x : y);
    case Op::land:
      return static_cast<T>(a && b);
    case Op::lor:
      return static_cast<T>(a || b);
    case Op::lxor:
      return static_cast<T>(!a != !b);
    case Op::band:
      return static_cast<T>(x & y);
    case Op::bor:
      return static_cast<T>(x | y);
    default:
      return static_cast<T>(x ^ y);
  }
}

template <class T>
T float_result(Op op, T a, T b) {
  if (op == Op::sum) return a + b;
  if (op == Op::prod) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  const bool a_first = a < b || (a == b && std::signbit(a));
  return (op == Op::min) == a_first ? a : b;
}

/// A format of 16 bits: the bits of its fraction, the least exponent of a normal number.
struct HalfFormat {
  int fraction;
  int least;
};
HalfFormat half_format(Type type) {
  return type == Type::float16 ? HalfFormat{10, -14} : HalfFormat{7, -126};
}

float widened(HalfFormat format, std::uint16_t half) {
  const int fraction = half & ((1 << format.fraction) - 1);
  const int exponent = (half & 0x7fff) >> format.fraction;
  const bool top = exponent == 0x7fff >> format.fraction;
  const int whole = exponent == 0 ? fraction : fraction | 1 << format.fraction;
  const double finite =
      std::ldexp(whole, format.least - format.fraction + (exponent == 0 ? 0 : exponent - 1));
  const double size = !top            ? finite
                      : fraction == 0 ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN();
  return static_cast<float>((half & 0x8000) != 0 ? -size : size);
}

/// Rounded to the nearest, ties to even, in whole units of the last place. Of NaNs some quiet one.
std::uint16_t narrowed(HalfFormat format, float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const std::uint16_t infinity = static_cast<std::uint16_t>(0x7fff >> format.fraction << format.fraction);
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | infinity >> 1);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  const double size = std::fabs(static_cast<double>(value));
  const int exponent = size == 0 ? format.least : std::max(std::ilogb(size), format.least);
  const double units = std::nearbyint(std::ldexp(size, format.fraction - exponent));
  const int bits = static_cast<int>(units) + ((exponent - format.least) << format.fraction);
  return static_cast<std::uint16_t>(sign | std::min<int>(bits, infinity));
}

void half_element(Type type, Op op, unsigned char* to, const unsigned char* a, const unsigned char* b) {
  const HalfFormat format = half_format(type);
  write(to, narrowed(format, float_result(op, widened(format, read<std::uint16_t>(a)),
                                          widened(format, read<std::uint16_t>(b)))));
}

template <class T>
void integer_element(Op op, unsigned char* to, const unsigned char* a, const unsigned char* b) {
  write<T>(to, integer_result<T>(op, read<T>(a), read<T>(b)));
}

template <class T>
void float_element(Op op, unsigned char* to, const unsigned char* a, const unsigned char* b) {
  write<T>(to, float_result<T>(op, read<T>(a), read<T>(b)));
}

template <class T>
void complex_element(Op op, unsigned char* to, const unsigned char* left, const unsigned char* right) {
  const T a = read<T>(left), b = read<T>(left + sizeof(T));
  const T c = read<T>(right), d = read<T>(right + sizeof(T));
  // Volatile: no fused operation, whatever the compiler and its defaults.
  const volatile T ac = a * c, bd = b * d, ad = a * d, bc = b * c;
  write<T>(to, op == Op::sum ? a + c : ac - bd);
  write<T>(to + sizeof(T), op == Op::sum ? b + d : ad + bc);
}

/// The layout under test is written out: value, then the index at `index_at`, `bytes` in all.
template <class T>
void pair_element(Op op, std::size_t bytes, std::size_t index_at, unsigned char* to,
                  const unsigned char* left, const unsigned char* right) {
  const T a = read<T>(left), b = read<T>(right);
  const auto i = read<std::int32_t>(left + index_at), j = read<std::int32_t>(right + index_at);
  const bool a_nan = a != a, b_nan = b != b;
  bool take_left;
  if (a_nan || b_nan)
    take_left = a_nan && b_nan ? i < j : a_nan;
  else if (a == b)
    take_left = i < j;
  else
    take_left = (op == Op::minloc) == (a < b);
  // Equal but for the sign of a zero or of a NaN: a fixed one.
  const bool equal = (a == b || (a_nan && b_nan)) && i == j;
  if (equal) take_left = std::memcmp(left, right, sizeof(T)) <= 0;
  std::memcpy(to, take_left ? left : right, bytes);
}

void one_element(Type type, Op op, unsigned char* to, const unsigned char* a, const unsigned char* b) {
  switch (type) {
    case Type::int8:
      return integer_element<std::int8_t>(op, to, a, b);
    case Type::int16:
      return integer_element<std::int16_t>(op, to, a, b);
    case Type::int32:
      return integer_element<std::int32_t>(op, to, a, b);
    case Type::int64:
      return integer_element<std::int64_t>(op, to, a, b);
    case Type::uint8:
    case Type::bool8:
      return integer_element<std::uint8_t>(op, to, a, b);
    case Type::uint16:
      return integer_element<std::uint16_t>(op, to, a, b);
    case Type::uint32:
      return integer_element<std::uint32_t>(op, to, a, b);
    case Type::uint64:
      return integer_element<std::uint64_t>(op, to, a, b);
    case Type::float32:
      return float_element<float>(op, to, a, b);
    case Type::float64:
      return float_element<double>(op, to, a, b);
    case Type::complex64:
      return complex_element<float>(op, to, a, b);
    case Type::complex128:
      return complex_element<double>(op, to, a, b);
    case Type::float_int:
      return pair_element<float>(op, 8, 4, to, a, b);
    case Type::double_int:
      return pair_element<double>(op, 16, 8, to, a, b);
    case Type::long_int:
      return pair_element<std::int64_t>(op, 16, 8, to, a, b);
    case Type::two_int:
      return pair_element<std::int32_t>(op, 8, 4, to, a, b);
    case Type::short_int:
      return pair_element<std::int16_t>(op, 8, 4, to, a, b);
    case Type::float16:
    case Type::bfloat16:
      return half_element(type, op, to, a, b);
  }
}

bool is_pair(Type type) {
  return type >= Type::float_int && type <= Type::short_int;
}

/// Floats that no operation of two of them turns into a NaN whose payload depends on the order.
template <class T>
T some_float(std::mt19937_64& random, bool infinities_and_nans) {
  static const T values[] = {T(0), T(-0.0), T(1), T(-1), T(0.1), T(-2.75), T(1e-30), T(3e15)};
  const T plain = std::uniform_real_distribution<T>(T(-100), T(100))(random);
  const auto draw = random() % 24;
  if (draw < 8) return values[draw];
  if (infinities_and_nans && draw < 12)
    return draw == 8    ? std::numeric_limits<T>::infinity()
           : draw == 9  ? -std::numeric_limits<T>::infinity()
           : draw == 10 ? std::numeric_limits<T>::quiet_NaN()
                        : -std::numeric_limits<T>::quiet_NaN();
  return plain;
}

Bytes some_elements(Type type, Op op, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t bytes = bytes_of(type);
  Bytes data(count * bytes);
  const bool special = op == Op::min || op == Op::max || op == Op::minloc || op == Op::maxloc;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* const at = data.data() + i * bytes;
    switch (type) {
      case Type::float32:
        write(at, some_float<float>(random, special));
        break;
      case Type::float64:
        write(at, some_float<double>(random, special));
        break;
      case Type::complex64:
        write(at, some_float<float>(random, false));
        write(at + 4, some_float<float>(random, false));
        break;
      case Type::complex128:
        write(at, some_float<double>(random, false));
        write(at + 8, some_float<double>(random, false));
        break;
      case Type::float16:
      case Type::bfloat16:
        // Without an infinity, whose product with zero is a NaN.
        write(at, narrowed(half_format(type), special ? some_float<float>(random, true)
                                                      : std::min(some_float<float>(random, false), 1e3f)));
        break;
      case Type::float_int:
        write(at, some_float<float>(random, special));
        write(at + 4, static_cast<std::int32_t>(random() % 7) - 3);
        break;
      case Type::double_int:
        write(at, some_float<double>(random, special));
        write(at + 8, static_cast<std::int64_t>(random() % 7) - 3);
        break;
      default:
        for (std::size_t b = 0; b < bytes; ++b) at[b] = static_cast<unsigned char>(random());
        // Ties in value and in index, and zeros for the logical operators.
        if (is_pair(type) && random() % 2 != 0) std::memset(at, 0, bytes == 16 ? 8 : bytes / 2);
        if (is_pair(type) && random() % 2 != 0) at[bytes == 16 ? 8 : bytes / 2] = 5;
        if (random() % 4 == 0) std::memset(at, 0, bytes);
    }
  }
  return data;
}

Bytes expected(Type type, Op op, const Bytes& left, const Bytes& right) {
  const std::size_t bytes = bytes_of(type);
  Bytes result(left.size());
  for (std::size_t at = 0; at < left.size(); at += bytes)
    one_element(type, op, result.data() + at, left.data() + at, right.data() + at);
  return result;
}

/// A buffer at a chosen offset from 64-byte alignment, with guards around it.
class Buffer {
 public:
  Buffer(const Bytes& content, std::size_t offset)
      : memory_(content.size() + 256, guard), bytes_(content.size()) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = 64 + (64 - address % 64) % 64 + offset;
    if (bytes_ != 0) std::memcpy(data(), content.data(), bytes_);
  }
  unsigned char* data() { return memory_.data() + begin_; }
  Bytes content() const {
    return Bytes(memory_.begin() + static_cast<std::ptrdiff_t>(begin_),
                 memory_.begin() + static_cast<std::ptrdiff_t>(begin_ + bytes_));
  }
  bool guards_stand() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < begin_ || i >= begin_ + bytes_) && memory_[i] != guard) return false;
    return true;
  }

 private:
  static constexpr unsigned char guard = 0xa5;
  std::vector<unsigned char> memory_;
  std::size_t begin_ = 0;
  std::size_t bytes_;
};

struct InstructionSet {
  const char* name;
  Operator::Kernel (*find)(Type, Op);
};

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets{{"chosen", find_kernel}, {"baseline", find_kernel_baseline}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && find_kernel_avx2(Type::int8, Op::sum) != nullptr)
    sets.push_back({"avx2", find_kernel_avx2});
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && find_kernel_avx512(Type::int8, Op::sum) != nullptr)
    sets.push_back({"avx512", find_kernel_avx512});
#endif
  return sets;
}

class EveryPairing : public ::testing::TestWithParam<std::pair<Type, Op>> {};

TEST_P(EveryPairing, IsAsOneElementAtATimeWhateverTheAlignmentPlaceAndCount) {
  const Type type = GetParam().first;
  const Op op = GetParam().second;
  const std::size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 1000, 1001};
  const std::size_t offsets[][3] = {{0, 0, 0}, {1, 3, 5}, {7, 0, 2}, {0, 9, 0}};
  for (const InstructionSet& set : instruction_sets()) {
    const Operator::Kernel kernel = set.find(type, op);
    ASSERT_NE(kernel, nullptr) << set.name;
    for (const std::size_t count : counts) {
      const Bytes left = some_elements(type, op, count, 2 * count + 1);
      const Bytes right = some_elements(type, op, count, 2 * count + 2);
      const Bytes want = expected(type, op, left, right);
      for (const auto& offset : offsets) {
        SCOPED_TRACE(std::string(set.name) + ", count " + std::to_string(count));
        Buffer a(left, offset[0]), b(right, offset[1]), to(Bytes(left.size(), 0), offset[2]);
        kernel(nullptr, to.data(), a.data(), b.data(), count);
        ASSERT_EQ(to.content(), want);
        ASSERT_EQ(a.content(), left);
        ASSERT_EQ(b.content(), right);
        ASSERT_TRUE(to.guards_stand());
        kernel(nullptr, b.data(), a.data(), b.data(), count);
        ASSERT_EQ(b.content(), want) << "in place of the right operand";
        Buffer again(right, offset[1]);
        kernel(nullptr, a.data(), a.data(), again.data(), count);
        ASSERT_EQ(a.content(), want) << "in place of the left operand";
        ASSERT_TRUE(a.guards_stand() && b.guards_stand());
      }
    }
  }
}

TEST_P(EveryPairing, DoesNotDependOnTheOrderOfTheOperandsWhereItIsCommutative) {
  const Operator op = find_operator(GetParam().first, GetParam().second);
  ASSERT_TRUE(op.commutative);
  const std::size_t count = 1003;
  const Bytes left = some_elements(GetParam().first, GetParam().second, count, 11);
  const Bytes right = some_elements(GetParam().first, GetParam().second, count, 12);
  Bytes forward(left.size()), backward(left.size());
  op.kernel(op.context, forward.data(), left.data(), right.data(), count);
  op.kernel(op.context, backward.data(), right.data(), left.data(), count);
  if (!is_pair(GetParam().first)) {
    EXPECT_EQ(forward, backward);
    return;
  }
  // Padding and equal values of one index: either element whole. Value and index are compared.
  for (std::size_t at = 0; at < forward.size(); at += op.element_bytes) {
    const std::size_t index_at = op.element_bytes / 2;
    const std::size_t value_bytes = GetParam().first == Type::short_int ? 2 : index_at;
    ASSERT_EQ(std::memcmp(&forward[at], &backward[at], value_bytes), 0) << at;
    ASSERT_EQ(std::memcmp(&forward[at + index_at], &backward[at + index_at], 4), 0) << at;
  }
}

TEST_P(EveryPairing, DoesNotDependOnBracketsWhereItSaysSo) {
  const Operator op = find_operator(GetParam().first, GetParam().second);
  if (!op.associative || is_pair(GetParam().first)) GTEST_SKIP();
  const std::size_t count = 501;
  const Bytes a = some_elements(GetParam().first, GetParam().second, count, 21);
  const Bytes b = some_elements(GetParam().first, GetParam().second, count, 22);
  const Bytes c = some_elements(GetParam().first, GetParam().second, count, 23);
  Bytes first(a.size()), last(a.size());
  op.kernel(op.context, first.data(), a.data(), b.data(), count);
  op.kernel(op.context, first.data(), first.data(), c.data(), count);
  op.kernel(op.context, last.data(), b.data(), c.data(), count);
  op.kernel(op.context, last.data(), a.data(), last.data(), count);
  EXPECT_EQ(first, last);
}

std::string pairing_name(const ::testing::TestParamInfo<std::pair<Type, Op>>& info) {
  return std::string(to_string(info.param.first)) + "_" + to_string(info.param.second);
}
INSTANTIATE_TEST_SUITE_P(Operators, EveryPairing, ::testing::ValuesIn(operator_pairings()), pairing_name);

TEST(Operators, ThePairingsAreThoseOfMpi) {
  EXPECT_EQ(operator_pairings().size(), 8u * 10u + 4u * 4u + 2u * 2u + 3u + 5u * 2u);
  EXPECT_TRUE(fits(Type::int8, Op::bxor));
  EXPECT_FALSE(fits(Type::float32, Op::band));
  EXPECT_FALSE(fits(Type::float64, Op::land));
  EXPECT_FALSE(fits(Type::complex64, Op::min));
  EXPECT_FALSE(fits(Type::bool8, Op::sum));
  EXPECT_FALSE(fits(Type::int32, Op::minloc));
  EXPECT_FALSE(fits(Type::two_int, Op::sum));
}

TEST(Operators, AnUnfitPairingIsRefusedByName) {
  try {
    find_operator(Type::complex64, Op::max);
    FAIL() << "not refused";
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.argument(), "operator");
    EXPECT_STREQ(error.what(),
                 "operator: got max on elements of type complex64; allowed: sum, prod on this type");
  }
  EXPECT_THROW(find_operator(Type::float32, Op::bor), ArgumentError);
  EXPECT_THROW(find_operator(Type::uint16, Op::maxloc), ArgumentError);
}

TEST(Operators, NamesAreRead) {
  for (int i = 0; i < types; ++i)
    EXPECT_EQ(parse_type(to_string(static_cast<Type>(i))), static_cast<Type>(i));
  for (int i = 0; i < ops; ++i) EXPECT_EQ(parse_op(to_string(static_cast<Op>(i))), static_cast<Op>(i));
  EXPECT_THROW(parse_type("float23"), ArgumentError);
  EXPECT_THROW(parse_op("add"), ArgumentError);
}

TEST(Operators, EveryPairingHasAnIdOfItsOwn) {
  std::set<std::uint16_t> seen;
  for (const auto& pairing : operator_pairings()) {
    const Operator op = find_operator(pairing.first, pairing.second);
    EXPECT_NE(op.id, 0);
    EXPECT_TRUE(seen.insert(op.id).second);
    EXPECT_EQ(op.element_bytes, bytes_of(pairing.first));
    EXPECT_EQ(operator_name(op), std::string(to_string(pairing.first)) + " " + to_string(pairing.second));
  }
}

TEST(Operators, OnlySumsAndProductsOfFloatsDependOnBrackets) {
  for (const auto& pairing : operator_pairings()) {
    const bool floating = pairing.first >= Type::float32 && pairing.first <= Type::complex128;
    const bool rounds = (floating || pairing.first >= Type::float16) &&
                        (pairing.second == Op::sum || pairing.second == Op::prod);
    EXPECT_EQ(find_operator(pairing.first, pairing.second).associative, !rounds);
  }
}

template <class T>
T combined(Type type, Op op, T left, T right) {
  T to;
  const Operator found = find_operator(type, op);
  found.kernel(found.context, &to, &left, &right, 1);
  return to;
}

TEST(Operators, ZerosAndNansAreDefined) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::signbit(combined(Type::float64, Op::min, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(combined(Type::float64, Op::min, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(combined(Type::float64, Op::max, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(combined(Type::float64, Op::max, 0.0, -0.0)));
  EXPECT_TRUE(std::isnan(combined(Type::float64, Op::min, nan, 1.0)));
  EXPECT_TRUE(std::isnan(combined(Type::float64, Op::max, 1.0, -nan)));
  EXPECT_FALSE(std::signbit(combined(Type::float64, Op::max, 1.0, -nan)));
}

TEST(Operators, HalvesAreRoundedOnceFromFloat) {
  // Every pair of a grid around the limits of the format and around ties, then drawn pairs of which half have
  // exponents near each other.
  for (const Type type : {Type::float16, Type::bfloat16}) {
    const int fraction = half_format(type).fraction;
    std::vector<std::uint16_t> grid, left, right;
    for (const int exponent :
         {0, 1, 2, 0x7fff >> (fraction + 1), (0x7fff >> fraction) - 1, 0x7fff >> fraction})
      for (const int last : {0, 1, 2, 1 << (fraction - 1), (1 << fraction) - 1})
        for (const int sign : {0, 0x8000})
          grid.push_back(static_cast<std::uint16_t>(sign | exponent << fraction | last));
    for (const std::uint16_t a : grid)
      for (const std::uint16_t b : grid) {
        left.push_back(a);
        right.push_back(b);
      }
    std::mt19937 random(1);
    for (int i = 0; i < 1000000; ++i) {
      const auto drawn = static_cast<std::uint32_t>(random());
      left.push_back(static_cast<std::uint16_t>(drawn));
      const unsigned near = (drawn & 0x7fffu) ^ (drawn >> 17 & ((8u << fraction) - 1));
      right.push_back(static_cast<std::uint16_t>(i % 2 == 0 ? drawn >> 16 : near | (drawn >> 16 & 0x8000u)));
    }
    std::vector<std::uint16_t> got(left.size());
    for (const Op op : {Op::sum, Op::prod, Op::min, Op::max}) {
      std::vector<std::uint16_t> want(left.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        half_element(type, op, reinterpret_cast<unsigned char*>(&want[i]),
                     reinterpret_cast<const unsigned char*>(&left[i]),
                     reinterpret_cast<const unsigned char*>(&right[i]));
      for (const InstructionSet& set : instruction_sets()) {
        set.find(type, op)(nullptr, got.data(), left.data(), right.data(), got.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          const bool both_nan = std::isnan(widened(half_format(type), want[i])) &&
                                std::isnan(widened(half_format(type), got[i]));
          ASSERT_TRUE(got[i] == want[i] || both_nan)
              << set.name << " " << to_string(type) << " " << to_string(op) << std::hex << " of " << left[i]
              << " and " << right[i] << ": " << got[i] << ", not " << want[i];
        }
      }
    }
  }
}

TEST(Operators, APairKeepsTheIndexOfTheWinner) {
  struct DoubleInt {
    double value;
    std::int32_t index;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto index = [](Op op, DoubleInt a, DoubleInt b) {
    return combined<DoubleInt>(Type::double_int, op, a, b).index;
  };
  EXPECT_EQ(index(Op::minloc, {1.5, 7}, {2.5, 3}), 7);
  EXPECT_EQ(index(Op::maxloc, {1.5, 7}, {2.5, 3}), 3);
  EXPECT_EQ(index(Op::minloc, {1.5, 7}, {1.5, 3}), 3);
  EXPECT_EQ(index(Op::maxloc, {1.5, 3}, {1.5, 7}), 3);
  EXPECT_EQ(index(Op::minloc, {-0.0, 7}, {0.0, 3}), 3);
  EXPECT_EQ(index(Op::minloc, {nan, 7}, {1.0, 3}), 7);
  EXPECT_EQ(index(Op::maxloc, {nan, 7}, {-nan, 3}), 3);
}

void first_of_two(void* context, void* to, const void* left, const void*, std::size_t count) {
  ++*static_cast<int*>(context);
  std::memmove(to, left, 3 * count);
}

TEST(Operators, AUserOperatorIsTakenAsItIs) {
  int calls = 0;
  const Operator op = user_operator(3, false, first_of_two, &calls);
  EXPECT_FALSE(op.commutative);
  EXPECT_FALSE(op.associative);
  EXPECT_EQ(operator_name(op), "user-defined");
  const Operator typed =
      user_operator(op.element_bytes, true, op.kernel, nullptr, type_number(Type::float64));
  EXPECT_EQ(operator_name(typed), "user-defined on float64");
  EXPECT_NE(typed.id, op.id);
  EXPECT_THROW(user_operator(8, true, op.kernel, nullptr, most_types + 1), ArgumentError);
  EXPECT_EQ(operator_name(op), "user-defined");
  char left[] = "abcdef", right[] = "uvwxyz", to[7] = "";
  op.kernel(op.context, to, left, right, 2);
  EXPECT_STREQ(to, "abcdef");
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(user_operator(0, true, first_of_two, nullptr), ArgumentError);
  EXPECT_THROW(user_operator(4, true, nullptr, nullptr), ArgumentError);
}

}  // namespace
}  // namespace phicoll
