// phicoll-bench: measure, list, count and compare collectives without Python.

#include <cstdio>
#include <exception>

#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/version.hpp"

namespace {

const char* const usage =
    R"(phicoll-bench: shared-memory collectives, measured.

  phicoll-bench run barrier [options]   measure; writes JSON Lines (docs/records.md)
  phicoll-bench compare FILE            a short table of a results file
  phicoll-bench list [barrier]          every algorithm and reference, --json for programs
  phicoll-bench count barrier           rounds, notifications, lines: exact counts, without running
  phicoll-bench doctor                  what on this machine would spoil a measurement
  phicoll-bench --version

run barrier:
  --algorithm A,B:ways=3,...   names with parameters, sets (all, references, paper-001, ...)  [all,references]
  --ranks 2,4,8..32:8          numbers of ranks                                               [2]
  --mode threads,processes                                                                    [threads]
  --definition loop,window     back-to-back calls; calls from a common start                  [loop,window]
  --launches N  --rounds N     rounds nest in launches                                        [12, 8]
  --calls N                    calls of a loop; 0: about 0.25 ms of them                      [0]
  --window-calls N                                                                            [32]
  --budget S                   stop after so many seconds (a round is finished)
  --target-width F             stop once every median's interval is narrower than this share
  --placement P                compact, scatter, balanced, or CPUs such as 0,2,4              [compact]
  --oversubscribe              allow more ranks than CPUs
  --delay-ns N --imbalance-ns N   between barriers of a loop; largest random share of a rank  [0]
  --start S                    warm; evicted: flags flushed before each call (window only)      [warm]
  --wait POLICY                spin, pause, pause(n), yield, adaptive                         [adaptive]
  --seed N                     of places, orders and delays                                   [drawn]
  --libiomp5 PATH              Intel's OpenMP library, if it is not found by itself
  --lock-wait S                how long to wait for CPUs that another measurement uses        [30]
  -o FILE                      append here; - is standard output                              [-]
  --resume                     continue the last run of FILE                --progress        words on stderr

Exit status: 0 well, 2 bad input (nothing was started), 3 broken or failed verification, 130 interrupted.
)";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> line(argv, argv + argc);
  std::vector<std::string> words(line.begin() + 1, line.end());
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    std::fputs(usage, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  const std::string command = words[0];
  words.erase(words.begin());
  for (const std::string& word : words)
    if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      return 0;
    }
  using namespace phicoll;
  try {
    if (command == "--version") {
      std::puts("phicoll-bench " PHICOLL_VERSION);
      return 0;
    }
    if (command == "--worker") return bench::worker_command(words);
    if (command == "run") return bench::run_command(words, line);
    if (command == "list") return bench::list_command(words);
    if (command == "compare") return bench::compare_command(words);
    if (command == "count") return bench::count_command(words);
    if (command == "doctor") return bench::doctor_command(words);
    throw ArgumentError("command", "'" + command + "'", "run, compare, list, count, doctor; see --help");
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "phicoll-bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "phicoll-bench: %s\n", error.what());
    return 3;
  }
}
