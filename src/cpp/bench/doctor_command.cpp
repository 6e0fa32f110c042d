#include "bench/commands.hpp"
#include "phicoll/errors.hpp"

namespace phicoll::bench {

int doctor_command(const std::vector<std::string>&) {
  throw Error("doctor is not there yet");
}

}  // namespace phicoll::bench
