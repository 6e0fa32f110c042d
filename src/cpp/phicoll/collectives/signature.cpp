#include "phicoll/collectives/signature.hpp"

#include <algorithm>

#include "phicoll/collectives/family.hpp"
#include "phicoll/collectives/make.hpp"
#include "phicoll/collectives/operators.hpp"

namespace phicoll {

constexpr SignatureWord CallSignature::split;
constexpr unsigned CallSignature::algorithm_at;
constexpr SignatureWord CallSignature::inexact;
constexpr SignatureWord CallSignature::hashed;

namespace {

constexpr unsigned mantissa_bits = 19;
constexpr SignatureWord low(unsigned bits) {
  return (SignatureWord{1} << bits) - 1;
}
constexpr SignatureWord mix(SignatureWord value) {
  return value * 0x9e3779b97f4a7c15ull;
}

}  // namespace

SignatureWord CallSignature::large_size_field(std::size_t bytes) {
  const unsigned zeros = std::min(static_cast<unsigned>(__builtin_ctzll(bytes)), 31u);
  const SignatureWord rest = static_cast<SignatureWord>(bytes) >> zeros;
  if (rest <= low(mantissa_bits)) return inexact | SignatureWord{zeros} << mantissa_bits | rest;
  return hashed | mix(bytes) >> 40;
}

SignatureWord CallSignature::counts_field(const Call& call, int ranks) {
  SignatureWord hash = 0;
  for (int r = 0; r < ranks; ++r) hash = mix(hash + call.block_count(r) + 1);
  return hashed | hash >> 40;
}

std::string CallSignature::in_words(SignatureWord word, SignatureWord other) {
  const auto number = word & low(4);
  if (number == split) return "split";
  const auto operation = static_cast<Operation>(number);
  const bool vector = (word >> 4 & 1) != 0;
  const bool exclusive = (word >> 5 & 1) != 0;
  const auto root = word >> 6 & low(11);
  const auto type = word >> 17 & low(6);
  const SignatureWord size = word >> 38;
  std::string text = to_string(operation);
  if (operation == Operation::barrier) return text;
  if (operation == Operation::reduce_scatter)
    text += vector ? "" : "_block";
  else if (vector)
    text += "v";
  if (exclusive) text = "exscan";

  std::string arguments;
  const auto add = [&](const std::string& argument) {
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  const bool reduces = operation == Operation::reduce || operation == Operation::allreduce ||
                       operation == Operation::scan || operation == Operation::reduce_scatter;
  if (reduces) {
    Operator op;
    op.id = static_cast<std::uint16_t>(type << 8 | (word >> 23 & low(4)));
    add(operator_name(op));
  } else if (type != 0) {
    add(type_name(static_cast<unsigned>(type)));
  }
  if (root != 0) add("root " + std::to_string(root - 1));
  if (size >= hashed)
    add((vector ? "counts with the checksum " : "bytes with the checksum ") + std::to_string(size - hashed));
  else if (size >= inexact)
    add(std::to_string((size & low(mantissa_bits)) << (size >> mantissa_bits & low(5))) + " bytes");
  else if (size != 0)
    add(std::to_string(size - 1) + " bytes");
  text += "(" + arguments + ")";

  const SignatureWord difference = word ^ other;
  const SignatureWord algorithms = low(11) << algorithm_at;
  if (difference == 0 || (difference & ~algorithms) != 0) return text;
  const auto algorithm = static_cast<unsigned>(word >> algorithm_at & low(11));
  text += " by " + family(operation).name_of(algorithm);
  const bool same_name = (difference >> algorithm_at & low(Family::name_bits)) == 0;
  return text + (same_name ? " with parameters of its own" : "");
}

}  // namespace phicoll
