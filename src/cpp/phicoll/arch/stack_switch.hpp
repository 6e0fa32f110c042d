#pragma once

// Switches from one stack to another within a thread: a dozen instructions on x86-64 (k1om included, which
// has all of them) and aarch64, 2 to 5 ns; elsewhere ucontext, whose two system calls take some 500 ns.

#include <cstddef>

#include "phicoll/arch/arch.hpp"

#if !defined(PHICOLL_FORCE_FALLBACKS) && (defined(__x86_64__) || defined(__aarch64__))
#define PHICOLL_OWN_STACK_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace phicoll {
namespace arch {

/// Where to go on: a stack, and the contents of the callee-saved registers.
class StackSwitch {
 public:
  using Function = void (*)(void*);

  /// The first go() to here calls function(argument), which never returns, on a stack of `bytes` from
  /// `bottom`.
  void begin(void* bottom, std::size_t bytes, Function function, void* argument);
  /// Saves the caller's place in `here` and goes on at `there`. Returns when something goes back to `here`.
  static void go(StackSwitch& here, StackSwitch& there);

 private:
#if defined(PHICOLL_OWN_STACK_SWITCH)
  void* top_ = nullptr;  // the kept registers lie there
#else
  static void enter(unsigned low, unsigned high);
  ucontext_t context_;
  Function function_ = nullptr;
  void* argument_ = nullptr;
#endif
};

}  // namespace arch
}  // namespace phicoll
