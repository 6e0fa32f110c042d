#pragma once

// Who watches a run: a person with Ctrl-C, and a program that draws its progress.

#include <atomic>
#include <string>

namespace phicoll {
namespace bench {

/// From now on SIGINT and SIGTERM only make this true; with `once` a second one ends the program.
const std::atomic<bool>& catch_interrupts(bool once = false);

/// A line on stderr. Progress (`progress: ...`) is for programs that watch; everything else says who speaks.
/// With `acknowledged` a line of progress waits until the watcher has written a byte to our standard input,
/// or for 0.3 s: a program that draws uses CPU time, and so nothing is drawn inside a timed region.
void say(const std::string& text, bool acknowledged);

}  // namespace bench
}  // namespace phicoll
