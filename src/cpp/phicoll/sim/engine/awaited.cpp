#include "phicoll/sim/engine/awaited.hpp"

#include "phicoll/arch/arch.hpp"

namespace phicoll {

namespace {

template <class T>
bool word_holds(const Awaited& a) {
  return Condition<T>{a.kind, static_cast<T>(a.value), static_cast<T>(a.mask)}(static_cast<T>(a.seen()));
}

const char* words_of(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::equal:
      return "to equal ";
    case ConditionKind::not_equal:
      return "to differ from ";
    case ConditionKind::at_least:
      return "to reach ";
    case ConditionKind::masked_equal:
      return "under a mask to equal ";
  }
  return "";
}

}  // namespace

/// A line's bytes, or a word of less than 8 bytes.
bool Awaited::smaller_holds() const {
  if (whole_line) {
    const auto* const of_line = static_cast<const unsigned char*>(place);
    for (unsigned b = 0; b < arch::line_bytes; ++b)
      if ((mask >> b & 1) != 0 && of_line[b] != static_cast<unsigned char>(value)) return false;
    return true;
  }
  switch (bytes) {
    case 1:
      return word_holds<std::uint8_t>(*this);
    case 2:
      return word_holds<std::uint16_t>(*this);
    default:
      return word_holds<std::uint32_t>(*this);
  }
}

std::string Awaited::text() const {
  if (whole_line) return ", whole";
  return ", which is " + std::to_string(seen()) + ", " + words_of(kind) + std::to_string(value);
}

}  // namespace phicoll
