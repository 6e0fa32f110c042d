#pragma once

// A reduction's call cut into pieces that are calls themselves.

#include <algorithm>
#include <cstddef>

#include "phicoll/collectives/contract/call.hpp"

namespace phicoll {

class CallPieces {
 public:
  /// Pieces of at most `bytes`, which must hold one element.
  CallPieces(const Call& call, std::size_t bytes)
      : call_(call),
        most_(call.elements_within(bytes)),
        count_(call.count <= most_ ? (call.count != 0 ? 1 : 0) : (call.count + most_ - 1) / most_) {}

  std::size_t count() const { return count_; }
  Call operator[](std::size_t m) const {
    Call piece = call_;
    const std::size_t at = m * most_;
    piece.count = std::min(most_, call_.count - at);
    piece.send = call_.send + at * call_.op.element_bytes;
    if (call_.receive) piece.receive = call_.receive + at * call_.op.element_bytes;
    return piece;
  }

 private:
  const Call& call_;
  std::size_t most_;
  std::size_t count_;
};

}  // namespace phicoll
