#pragma once

// Values that others may have overwritten with anything. Ranks share writable memory and trust each other,
// but those that tell how a group ended must survive whatever a rank does to it: launchers, watchers, the
// name server. They read through these types.

#include <atomic>
#include <cstddef>
#include <string>

#include "phicoll/memory/word.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {

/// A value that was read once. It can be compared, and leaves only within bounds.
template <class T>
class Untrusted {
 public:
  explicit Untrusted(T value) : value_(value) {}

  bool is(T expected) const { return value_ == expected; }
  bool at_least(T least) const { return value_ >= least; }
  T within(T least, T most, T otherwise) const {
    return least <= value_ && value_ <= most ? value_ : otherwise;
  }
  /// For indices, offsets and lengths.
  T below(T limit, T otherwise) const { return T() <= value_ && value_ < limit ? value_ : otherwise; }

 private:
  T value_;
};

/// Reads a word. Acquire: what was written before it is visible.
template <class T>
Untrusted<T> untrusted(const Word<T>& word) {
  return Untrusted<T>(word.atomic().load(std::memory_order_acquire));
}
/// Reads a plain object. Volatile: the compiler does not read it again.
template <class T>
Untrusted<T> untrusted(const T& place) {
  return Untrusted<T>(const_cast<const volatile T&>(place));
}

/// A text: to its end or the array's, in UTF-8, without control characters but ends of lines and tabs.
template <std::size_t bytes>
std::string untrusted_text(const char (&text)[bytes]) {
  std::string copy;
  for (std::size_t i = 0; i < bytes; ++i) {
    const char c = const_cast<const volatile char&>(text[i]);
    if (c == '\0') break;
    copy += c;
  }
  return printable(copy);
}

}  // namespace phicoll
