#include "phicoll/shmem/settings.hpp"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "phicoll/errors.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/shmem/shmem.hpp"
#include "phicoll/version.hpp"

namespace phicoll {
namespace shmem {

bool setting(const char* name, bool otherwise) {
  const char* const text = os::environment(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strcmp(text, "0") != 0;
}

const char* standard_setting(const char* name) {
  for (const char* const prefix : {"SHMEM_", "SMA_"})
    if (const char* const text = os::environment((prefix + std::string(name)).c_str())) return text;
  return nullptr;
}

std::size_t parse_bytes(const std::string& name, const std::string& text) {
  char* end = nullptr;
  double bytes = std::strtod(text.c_str(), &end);
  const bool number = end != text.c_str() && std::isfinite(bytes) && bytes >= 0;
  // As specified, one suffix counts and what follows it does not.
  const char* const suffixes = "kmgt";
  if (number && *end != '\0') {
    const char small = static_cast<char>(*end >= 'A' && *end <= 'Z' ? *end - 'A' + 'a' : *end);
    const char* const suffix = std::strchr(suffixes, small);
    bytes = suffix != nullptr ? std::ldexp(bytes, 10 * static_cast<int>(suffix - suffixes + 1)) : -1;
  }
  if (!number || bytes < 0 || bytes >= std::ldexp(1.0, 62))
    throw ArgumentError(name, "'" + text + "'", "a number of bytes, perhaps followed by k, m, g or t");
  return static_cast<std::size_t>(std::ceil(bytes));
}

std::size_t symmetric_size() {
  const char* const text = standard_setting("SYMMETRIC_SIZE");
  return text == nullptr ? 0 : parse_bytes("SHMEM_SYMMETRIC_SIZE", text);
}

std::string with_pes(std::string text) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (std::size_t at = 0; (at = text.find("rank", at)) != std::string::npos; ++at) {
    const std::size_t end = at + 4 + (text.compare(at + 4, 1, "s") == 0 ? 1 : 0);
    if ((at == 0 || !in_word(at - 1)) && !in_word(end)) text.replace(at, 4, "PE");
  }
  return text;
}

void print_what_is_asked(std::size_t heap_bytes, int pes) {
  if (standard_setting("VERSION") != nullptr)
    std::printf("phicoll %s: OpenSHMEM %d.%d\n", PHICOLL_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
  if (standard_setting("INFO") != nullptr)
    std::printf(
        "SHMEM_SYMMETRIC_SIZE  bytes of each PE's symmetric heap, now %zu; k, m, g, t stand for powers of "
        "1024\n"
        "SHMEM_VERSION         print the version at the start\n"
        "SHMEM_INFO            print this\n"
        "SHMEM_DEBUG           print what was set up\n"
        "PHICOLL_SHMEM_CHECK   check every argument\n"
        "PHICOLL_SHMEM_DATA    0: leave globals and statics private\n"
        "PHICOLL_SHMEM_HUGE    1: huge pages for the heaps; 0: none; otherwise where Linux allows them\n",
        heap_bytes);
  if (standard_setting("DEBUG") != nullptr)
    std::printf("phicoll: %d PEs, each with %zu bytes of symmetric heap\n", pes, heap_bytes);
  std::fflush(stdout);
}

}  // namespace shmem
}  // namespace phicoll
