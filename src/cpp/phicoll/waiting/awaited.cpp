#include "phicoll/waiting/awaited.hpp"

#include "phicoll/arch/arch.hpp"

namespace phicoll {

namespace {

/// Instantiated per width and kind, so that each loop is as tight as one written by hand.
template <class T, ConditionKind kind>
bool look_for(const Awaited& a, unsigned turns, unsigned pauses, std::uint64_t* seen) {
  const Condition<T> condition{kind, static_cast<T>(a.value), static_cast<T>(a.mask)};
  const std::atomic<T>& word = static_cast<const Word<T>*>(a.place)->atomic();
  for (unsigned turn = 0; turn < turns; ++turn) {
    const T now = word.load(std::memory_order_acquire);
    if (condition(now)) {
      *seen = now;
      return true;
    }
    arch::look_gap();
    for (unsigned p = 0; p < pauses; ++p) arch::pause();
  }
  return false;
}

template <class T>
bool look_for(const Awaited& a, unsigned turns, unsigned pauses, std::uint64_t* seen) {
  switch (a.kind) {
    case ConditionKind::at_least:
      return look_for<T, ConditionKind::at_least>(a, turns, pauses, seen);
    case ConditionKind::equal:
      return look_for<T, ConditionKind::equal>(a, turns, pauses, seen);
    case ConditionKind::not_equal:
      return look_for<T, ConditionKind::not_equal>(a, turns, pauses, seen);
    case ConditionKind::masked_equal:
      return look_for<T, ConditionKind::masked_equal>(a, turns, pauses, seen);
  }
  return false;
}

bool look_for_line(const Awaited& a, unsigned turns, unsigned pauses) {
  for (unsigned turn = 0; turn < turns; ++turn) {
    if (line_holds(*static_cast<const ByteLine*>(a.place), a.mask, static_cast<std::uint8_t>(a.value)))
      return true;
    for (unsigned p = 0; p < pauses; ++p) arch::pause();
  }
  return false;
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

bool Awaited::look(unsigned turns, unsigned pauses, std::uint64_t* seen) const {
  if (whole_line) return look_for_line(*this, turns, pauses);
  switch (bytes) {
    case 1:
      return look_for<std::uint8_t>(*this, turns, pauses, seen);
    case 4:
      return look_for<std::uint32_t>(*this, turns, pauses, seen);
    default:
      return look_for<std::uint64_t>(*this, turns, pauses, seen);
  }
}

std::uint64_t Awaited::smaller_seen() const {
  return bytes == 4 ? load<std::uint32_t>() : load<std::uint8_t>();
}

/// A line's bytes, or a word of less than 8 bytes.
bool Awaited::smaller_holds() const {
  std::uint64_t ignored = 0;
  return look(1, 0, &ignored);
}

std::string Awaited::text() const {
  if (whole_line) return ", whole";
  return ", which is " + std::to_string(seen()) + ", " + words_of(kind) + std::to_string(value);
}

}  // namespace phicoll
