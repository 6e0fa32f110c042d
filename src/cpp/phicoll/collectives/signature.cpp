#include "phicoll/collectives/signature.hpp"

#include "phicoll/collectives/operators.hpp"

namespace phicoll {

constexpr SignatureWord CallSignature::split;
constexpr SignatureWord CallSignature::exact_sizes;

std::string CallSignature::in_words(SignatureWord word) {
  const auto number = word & 0xfu;
  if (number == split) return "split";
  const auto operation = static_cast<Operation>(number);
  const bool vector = (word >> 4 & 1) != 0;
  const bool exclusive = (word >> 5 & 1) != 0;
  const auto root = word >> 6 & 0x7ffu;
  const SignatureWord size = word >> 29;
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
    op.id = static_cast<std::uint16_t>((word >> 17 & 0xffu) << 8 | (word >> 25 & 0xfu));
    add(operator_name(op));
  }
  if (root != 0) add("root " + std::to_string(root - 1));
  if (size != 0 && size < exact_sizes) add(std::to_string(size - 1) + " bytes");
  if (size >= exact_sizes) add("8 GB or more");
  return text + "(" + arguments + ")";
}

}  // namespace phicoll
