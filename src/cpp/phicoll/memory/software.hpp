#pragma once

// The instructions around a transfer: what a real machine executes anyway and a simulated machine, which runs
// the algorithm natively between two accesses, has to be told of.

namespace phicoll {

enum class Software : unsigned char {
  call,  ///< entering and leaving a collective
  send,  ///< around a send: the loop, the call and the choice of the next buffer
  copy,  ///< around the timed copy of a contention test: stamps and the copy's own instructions
};

}  // namespace phicoll
