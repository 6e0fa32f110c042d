#pragma once

// The instructions around a transfer. A real machine executes them anyway; a simulated one, which runs the
// algorithm natively between two accesses, must be told of them.

namespace phicoll {

enum class Software : unsigned char {
  call,  ///< entering and leaving a collective
  send,  ///< around a send: the loop, the call and the choice of the next buffer
  copy,  ///< around the timed copy of a contention test: stamps and the copy's own instructions
};

}  // namespace phicoll
