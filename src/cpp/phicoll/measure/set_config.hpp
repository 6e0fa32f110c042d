#pragma once

// What the coordinator tells a set of ranks once, at its start. Passed as text on the step board.

#include <cstdint>
#include <string>
#include <vector>

namespace phicoll {
namespace measure {

struct SetConfig {
  std::string mode;  ///< "threads", "processes", or "openmp"
  int ranks = 0;
  std::string placement;
  std::string wait;
  std::vector<int> cpus;  ///< for each rank
  std::string text() const;
  static SetConfig parse(const std::string& text);
};

}  // namespace measure
}  // namespace phicoll
