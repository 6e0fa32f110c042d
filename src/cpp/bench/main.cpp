// phicoll-bench: measure, list, count and compare collectives without Python.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "bench/pages.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/utf8.hpp"
#include "phicoll/version.hpp"

namespace {

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> line(argv, argv + argc);
  std::vector<std::string> words(line.begin() + 1, line.end());
  using namespace phicoll;
  if (words.empty() || asks_for_help(words[0])) {
    std::fputs(bench::overview_text().c_str(), words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  const std::string command = words[0];
  words.erase(words.begin());
  // A file that has reached its size limit is reported as an error instead of ending the program silently.
  std::signal(SIGXFSZ, SIG_IGN);
  // A subject's calls are not to measure the host's numbers: it has the file's, or the defaults.
  setenv("PHICOLL_CALIBRATION", "read", 0);
  try {
    if (command == "--version") {
      std::puts("phicoll-bench " PHICOLL_VERSION);
      return 0;
    }
    if (command == "--worker") return bench::worker_command(words);
    if (command == "--peer") return bench::peer_command(words);
    const bench::CommandPage& page = bench::command_page(command);
    if (std::any_of(words.begin(), words.end(), asks_for_help)) {
      std::fputs(bench::help_text(page).c_str(), stdout);
      return 0;
    }
    if (command == "run") return bench::run_command(words, line);
    if (command == "list") return bench::list_command(words);
    if (command == "compare") return bench::compare_command(words);
    if (command == "count") return bench::count_command(words);
    if (command == "explain") return bench::explain_command(words);
    if (command == "kernel") return bench::kernel_command(words, line);
    return bench::doctor_command(words);
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "phicoll-bench: %s\n", printable(error.what()).c_str());
    return 2;
  } catch (const ResourceError& error) {
    std::fprintf(stderr, "phicoll-bench: %s\n", printable(error.what()).c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "phicoll-bench: %s\n", printable(error.what()).c_str());
    return 3;
  }
}
