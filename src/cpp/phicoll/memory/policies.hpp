#pragma once

// How a rank waits, and how it stores a line that only it writes. Both are data, chosen at run time:
// templates over the policies cost 12 s of compiling and brought no measurable gain.

#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {

/// How a rank waits once its first look has failed.
struct WaitPolicy {
  enum class Kind : unsigned char {
    spin,      ///< look again at once
    pause,     ///< `pauses` polite turns between looks (paper 001: a delay of 64 cycles on the Xeon Phi)
    yield,     ///< give the CPU away between looks
    adaptive,  ///< spin, pause, yield, sleep; yields at once to a rank on its own CPU
  };
  Kind kind = Kind::adaptive;
  unsigned pauses = 1;

  friend bool operator==(const WaitPolicy& a, const WaitPolicy& b) {
    return a.kind == b.kind && (a.kind != Kind::pause || a.pauses == b.pauses);
  }
};

/// What other ranks on a waiting rank's CPU could do.
enum class Meanwhile : unsigned char {
  little,   ///< wait as well, or go on until they await this rank
  as_much,  ///< go on already: they may have what this rank waits for, so it yields sooner
};

/// `spin`, `pause`, `pause(n)` with 1 <= n <= 100000, `yield` or `adaptive`. Throws ArgumentError("wait").
WaitPolicy parse_wait_policy(const std::string& text);
std::string to_string(const WaitPolicy& policy);

/// How a SoleWriterLine is stored (paper 001, sections 2 and 4).
enum class StorePolicy : unsigned char {
  plain,              ///< store the word; the line is read for ownership first
  no_read,            ///< store the whole line without reading it, globally ordered
  no_read_unordered,  ///< the same without waiting for global order; a fence follows
};

}  // namespace phicoll
