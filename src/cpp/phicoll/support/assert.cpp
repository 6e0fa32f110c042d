#include "phicoll/support/assert.hpp"

namespace phicoll {

void assertion_failed(const std::string& what, const char* condition, const char* file, int line) {
  std::string place = file;
  const std::size_t library = place.rfind("phicoll/");
  if (library != std::string::npos) place = place.substr(library);
  throw AssertionFailed("assertion failed: " + what + " (" + condition + ", " + place + ":" +
                        std::to_string(line) + ")");
}

}  // namespace phicoll
