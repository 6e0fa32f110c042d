#include "bench/commands.hpp"
#include "phicoll/errors.hpp"

namespace phicoll::bench {

int count_command(const std::vector<std::string>&) {
  throw Error("count is not there yet");
}

}  // namespace phicoll::bench
