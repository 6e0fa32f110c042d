#include <cstdio>
#include <cstdlib>

#include "bench/commands.hpp"
#include "bench/extra_references.hpp"

namespace phicoll {
namespace bench {

int worker_command(const std::vector<std::string>& words) {
  // threads <board> | processes <board> <group> <rank>
  if (words.size() == 2 && words[0] == "threads") {
    measure::StepBoard board = measure::StepBoard::join(std::atoi(words[1].c_str()));
    measure::serve_threads(board, extra_references());
    return 0;
  }
  if (words.size() == 4 && words[0] == "processes") {
    measure::StepBoard board = measure::StepBoard::join(std::atoi(words[1].c_str()));
    measure::serve_process(board, std::atoi(words[2].c_str()), std::atoi(words[3].c_str()));
    return 0;
  }
  std::fputs("phicoll-bench: --worker is for phicoll-bench itself\n", stderr);
  return 2;
}

}  // namespace bench
}  // namespace phicoll
