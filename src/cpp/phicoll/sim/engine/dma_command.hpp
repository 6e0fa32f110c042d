#pragma once

// A command of the unit beside a core with a local store.

#include <cstddef>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// Copies a range, some time between when it may start and when it ends; what was in the source then. Only
/// commands of one tag have an order, and only where one of them asks for it.
struct DmaCommand {
  static constexpr int main_memory = -1;

  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;  // null: `value`
  std::size_t bytes = 0;
  int target = main_memory, source = main_memory;  // in which rank's store they lie
  int tag = 0;
  bool fenced = false;     // starts when earlier ones of the tag have ended
  bool barriered = false;  // so do later ones of the tag, after this
  bool data = false;       // what a release announces
  bool word = false;       // what it copies is not data
  bool release = false;
  bool bit_or = false;  // into a signal register
  bool ghost = false;   // takes time but moves nothing
  bool listed = false;  // an element of a list after its first
  bool queued = false;
  bool started = false;
  int entry = -1;      // of the queue; elements of a list share one
  int operation = -1;  // in the log, that asks for it
  unsigned char value[arch::line_bytes] = {};
  /// When it was asked for, had a place in the queue, could start by its tag, was taken up by the unit, began
  /// to flow and had flowed.
  struct Times {
    Cycles asked = 0, queued = 0, allowed = 0, taken_up = 0, flowing = 0, flowed = 0;
  } at;

  static bool meet(const unsigned char* a, std::size_t a_bytes, const unsigned char* b, std::size_t b_bytes) {
    return a != nullptr && b != nullptr && a < b + b_bytes && b < a + a_bytes;
  }
  bool meets(const unsigned char* place, std::size_t count) const {
    return meet(place, count, to, bytes) || meet(place, count, from, bytes);
  }
  /// Whether `earlier`, of the same unit, must end before this one starts.
  bool needs(const DmaCommand& earlier) const {
    return (release && earlier.data) || meet(to, bytes, earlier.from, earlier.bytes) ||
           meet(from, bytes, earlier.to, earlier.bytes) || meet(to, bytes, earlier.to, earlier.bytes);
  }
  /// Whether its tag sees to that.
  bool follows(const DmaCommand& earlier) const {
    return tag == earlier.tag && (fenced || barriered || earlier.barriered);
  }
};

}  // namespace sim
}  // namespace phicoll
