#pragma once

// The subcommands. Each takes the words after its name and returns the exit status (pages.cpp). For bad input
// they throw ArgumentError before anything is started.

#include <string>
#include <vector>

namespace phicoll {
namespace bench {

int run_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line);
int list_command(const std::vector<std::string>& words);
int compare_command(const std::vector<std::string>& words);
int count_command(const std::vector<std::string>& words);
int explain_command(const std::vector<std::string>& words);
int kernel_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line);
int doctor_command(const std::vector<std::string>& words);
/// Hidden: one process of a set, started by `run`.
int worker_command(const std::vector<std::string>& words);
/// Hidden: one set of ranks that measures what lines on standard input ask for.
int peer_command(const std::vector<std::string>& words);

}  // namespace bench
}  // namespace phicoll
