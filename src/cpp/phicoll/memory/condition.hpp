#pragma once

// The closed set of conditions that a rank can wait for. It is closed so that the simulator can park a waiter
// on a condition and a futex can sleep on it. For the same reason a condition is a type of its own and not a
// lambda.

#include <cstdint>
#include <type_traits>

namespace phicoll {

enum class ConditionKind : unsigned char { equal, not_equal, at_least, masked_equal };

template <class T>
struct Condition {
  ConditionKind kind;
  T value;
  T mask;

  /// With a constant `kind` (as in every algorithm) this folds to one compare. Always inlined, so that a wait
  /// knows the kind: see NativePort::wait.
  [[gnu::always_inline]] bool operator()(T seen) const {
    switch (kind) {
      case ConditionKind::equal:
        return seen == value;
      case ConditionKind::not_equal:
        return seen != value;
      case ConditionKind::at_least:
        // Compares by the sign of the difference, so that a sequence number may wrap.
        return static_cast<typename std::make_signed<T>::type>(static_cast<T>(seen - value)) >= 0;
      case ConditionKind::masked_equal:
        return static_cast<T>(seen & mask) == value;
    }
    return false;
  }
};

template <class T>
constexpr Condition<T> equal(T value) {
  return Condition<T>{ConditionKind::equal, value, 0};
}
template <class T>
constexpr Condition<T> not_equal(T value) {
  return Condition<T>{ConditionKind::not_equal, value, 0};
}
/// True when the word, a sequence number, has reached `value`.
template <class T>
constexpr Condition<T> at_least(T value) {
  return Condition<T>{ConditionKind::at_least, value, 0};
}
template <class T>
constexpr Condition<T> masked_equal(T mask, T value) {
  return Condition<T>{ConditionKind::masked_equal, value, mask};
}

}  // namespace phicoll
