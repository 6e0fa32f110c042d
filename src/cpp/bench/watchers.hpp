#pragma once

// Interrupts by Ctrl-C, and lines for the person or program that watches a run.

#include <atomic>
#include <string>

namespace phicoll {
namespace bench {

/// From now on SIGINT and SIGTERM only make the result true. With `once`, a second signal ends the program.
const std::atomic<bool>& catch_interrupts(bool once = false);

/// Prints a line on stderr. Progress (`progress: ...`) is for programs that watch; any other line gets the
/// prefix `phicoll-bench:`. With `acknowledged`, a line of progress waits for a byte from the watcher on
/// standard input, or 0.3 s. So the watcher, which uses CPU time to draw, does not draw inside a timed
/// region.
void say(const std::string& text, bool acknowledged);

}  // namespace bench
}  // namespace phicoll
