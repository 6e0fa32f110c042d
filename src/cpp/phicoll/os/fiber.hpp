#pragma once

// A function with its own stack that can stop midway and continue later, on one thread at a time. It keeps no
// address of a thread_local across suspend(). Sanitizers are told of every switch. The stack ends in a guard
// page, so that an overflow is a fault.
//
// A fiber never suspends inside a catch block or while an exception unwinds it, which suspend() checks: the
// C++ runtime keeps one list of caught exceptions per thread, and those of two fibers would mix. A body lets
// FiberCancelled pass. No globals: code that suspends a fiber holds a reference to it.

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace phicoll {
namespace os {

/// Thrown out of suspend() when a fiber is destroyed before it has finished, to unwind its stack.
struct FiberCancelled {};

class Fiber {
 public:
  static constexpr std::size_t default_stack_bytes = 256 * 1024;  // touched as far as it is used

  /// No fiber.
  Fiber() noexcept;
  /// Does not start it. Throws ResourceError when there is no memory for the stack.
  explicit Fiber(std::function<void()> body, std::size_t stack_bytes = default_stack_bytes);
  /// Unwinds the stack of a fiber that was started and has not finished.
  ~Fiber();
  Fiber(Fiber&& other) noexcept;
  Fiber& operator=(Fiber&& other) noexcept;
  explicit operator bool() const { return state_ != nullptr; }

  /// Runs the body until it suspends or ends. Rethrows what the body threw. Not from inside a fiber's own
  /// body, not after the end: std::logic_error.
  void resume();
  /// From inside the body only: back to resume()'s caller. Throws std::logic_error inside a catch block.
  void suspend();
  bool finished() const;

 private:
  class Stack;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace os
}  // namespace phicoll
