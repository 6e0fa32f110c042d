#pragma once

// Asserts find errors of those who write algorithms, ports and the library itself; a program's bad input is
// an ArgumentError (errors.hpp) in every build. An assert that is off costs nothing. They are on
//
// - in every port that does not say otherwise (PortDefaults::checked): on the simulator's ports in every
//   build, and on the ports of tests, which run the same algorithms natively;
// - in all of the library in a debug build and with a sanitizer (PHICOLL_CHECKED, cmake/options.cmake).
//
// The first argument says which holds: the Port that a template is for, ThisBuild, or EveryBuild in the
// simulator's own code.

#include <stdexcept>
#include <string>

namespace phicoll {

/// An assert that does not hold. No Error: nobody is to catch it.
class AssertionFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Whether the library's own code has its asserts; the same for all that is linked together.
struct ThisBuild {
#ifdef PHICOLL_CHECKED
  static constexpr bool checked = true;
#else
  static constexpr bool checked = false;
#endif
};

struct EveryBuild {
  static constexpr bool checked = true;
};

/// Throws AssertionFailed: what is wrong, the condition, and its place in the source.
[[noreturn, gnu::noinline, gnu::cold]] void assertion_failed(const std::string& what, const char* condition,
                                                             const char* file, int line);

}  // namespace phicoll

/// `what` says what the caller did, as in "rank 2 awaits its own word"; it is worked out only if the
/// condition does not hold.
#define PHICOLL_ASSERT(where, condition, what)                           \
  do {                                                                   \
    if (where::checked && __builtin_expect(!(condition), 0))             \
      ::phicoll::assertion_failed(what, #condition, __FILE__, __LINE__); \
  } while (false)
