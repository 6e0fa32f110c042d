#include "bench/commands.hpp"
#include "phicoll/errors.hpp"

namespace phicoll::bench {

int compare_command(const std::vector<std::string>&) {
  throw Error("compare is not there yet");
}

}  // namespace phicoll::bench
