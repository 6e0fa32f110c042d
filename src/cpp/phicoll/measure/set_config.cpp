#include "phicoll/measure/set_config.hpp"

#include <cstdlib>

#include "phicoll/support/split.hpp"

namespace phicoll {
namespace measure {

std::string SetConfig::text() const {
  std::string result = "mode " + mode + "\nranks " + std::to_string(ranks) + "\nplacement " + placement +
                       "\nwait " + wait + "\n";
  for (int cpu : cpus) result += "cpu " + std::to_string(cpu) + "\n";
  return result;
}

SetConfig SetConfig::parse(const std::string& text) {
  SetConfig config;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    const std::string key = line.substr(0, blank);
    const std::string value = line.substr(blank + 1);
    if (key == "mode") config.mode = value;
    if (key == "ranks") config.ranks = std::atoi(value.c_str());
    if (key == "placement") config.placement = value;
    if (key == "wait") config.wait = value;
    if (key == "cpu") config.cpus.push_back(std::atoi(value.c_str()));
  }
  return config;
}

}  // namespace measure
}  // namespace phicoll
