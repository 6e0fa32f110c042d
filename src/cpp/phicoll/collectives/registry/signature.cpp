#include "phicoll/collectives/registry/signature.hpp"

#include <algorithm>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {
namespace call_signature {

namespace {

constexpr unsigned mantissa_bits = 19;
constexpr SignatureWord low(unsigned bits) {
  return (SignatureWord{1} << bits) - 1;
}
constexpr SignatureWord mix(SignatureWord value) {
  return value * 0x9e3779b97f4a7c15ull;
}

}  // namespace

SignatureWord large_size(std::size_t bytes) {
  const unsigned zeros = std::min(static_cast<unsigned>(__builtin_ctzll(bytes)), 31u);
  const SignatureWord rest = static_cast<SignatureWord>(bytes) >> zeros;
  if (rest <= low(mantissa_bits)) return inexact | SignatureWord{zeros} << mantissa_bits | rest;
  return hashed | mix(bytes) >> 40;
}

SignatureWord size_of_counts(const Call& call, int ranks) {
  SignatureWord hash = 0;
  for (int r = 0; r < ranks; ++r) hash = mix(hash + call.block_count(r) + 1);
  return hashed | hash >> 40;
}

std::string in_words(SignatureWord word, SignatureWord other) {
  if (operation.of(word) == split) return "split";
  const bool not_here = operation.of(word) == elsewhere;
  const SignatureWord number = not_here ? op.of(word) : operation.of(word);
  if (number >= operations) return "no call that there is (the group's shared memory was overwritten)";
  const auto called = static_cast<Operation>(number);
  const bool counts = vector.of(word) != 0;
  const SignatureWord from = root.of(word);
  const SignatureWord of_type = type.of(word);
  const SignatureWord bytes = size.of(word);
  std::string text = name_of_call(called, counts, exclusive.of(word) != 0);
  if (not_here) return text + " (which its MPI serves)";
  if (!moves_data(called)) return text;

  std::string arguments;
  const auto add = [&](const std::string& argument) {
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  if (reduces(called)) {
    Operator one;
    one.id = static_cast<std::uint16_t>(of_type << 8 | op.of(word));
    add(operator_name(one));
  } else if (of_type != 0) {
    add(type_name(static_cast<unsigned>(of_type)));
  }
  if (from != 0) add("root " + std::to_string(from - 1));
  if (bytes >= hashed)
    add((counts ? "counts with the checksum " : "bytes with the checksum ") + std::to_string(bytes - hashed));
  else if (bytes >= inexact)
    add(std::to_string((bytes & low(mantissa_bits)) << (bytes >> mantissa_bits & low(5))) + " bytes");
  else if (bytes != 0)
    add(std::to_string(bytes - 1) + " bytes");
  text += "(" + arguments + ")";

  const SignatureWord difference = word ^ other;
  if (difference == 0 || (difference & ~algorithm.mask()) != 0) return text;
  text += " by " + family(called).name_of(static_cast<unsigned>(algorithm.of(word)));
  const bool same_name = (algorithm.of(difference) & low(Family::name_bits)) == 0;
  return text + (same_name ? " with parameters of its own" : "");
}

}  // namespace call_signature
}  // namespace phicoll
