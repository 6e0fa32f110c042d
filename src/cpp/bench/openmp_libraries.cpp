#include "bench/openmp_libraries.hpp"

#include <glob.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace phicoll {
namespace bench {

namespace {

std::string real_path(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  std::string result = real != nullptr ? real : "";
  std::free(real);
  return result;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t result;
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
    for (std::size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  return found;
}

// Whether the file is LLVM's, by its own name: distributions link LLVM's library under Intel's name and vice
// versa.
bool is_llvm(const std::string& real) {
  const std::string name = real.substr(real.rfind('/') + 1);
  return name.find("libomp") == 0;
}

std::string find_libomp() {
  std::string best;
  for (const char* pattern : {"/usr/lib/llvm-*/lib/libomp.so.5", "/usr/lib/llvm-*/lib/libomp.so",
                              "/usr/lib/*/libomp.so.5", "/usr/lib64/libomp.so", "/usr/local/lib/libomp.so"})
    for (const std::string& path : matches(pattern))
      if (best.empty() && is_llvm(real_path(path))) best = real_path(path);
  return best;
}

std::string find_libiomp5(const std::string& given) {
  std::vector<std::string> places;
  for (const std::string& place : {given, environment("PHICOLL_LIBIOMP5")})
    if (!place.empty()) {
      places.push_back(place);
      places.push_back(place + "/libiomp5.so");
      places.push_back(place + "/lib/libiomp5.so");
    }
  const std::string prefix = environment("VIRTUAL_ENV");
  if (!prefix.empty()) places.push_back(prefix + "/lib/libiomp5.so");
  for (const char* pattern : {"/opt/intel/oneapi/compiler/*/lib/libiomp5.so", "/usr/lib/*/libiomp5.so"})
    for (const std::string& path : matches(pattern)) places.push_back(path);
  for (const std::string& place : places) {
    const std::string real = real_path(place);
    if (!real.empty() && !is_llvm(real) && real.find(".so") != std::string::npos) return real;
  }
  return "";
}

}  // namespace

std::map<std::string, measure::WorkerSet::Program> find_openmp(const std::string& libiomp5) {
  std::map<std::string, measure::WorkerSet::Program> found;
  const std::string self = real_path("/proc/self/exe");
  std::string program = environment("PHICOLL_OMP_REFERENCE");
  if (program.empty()) program = self.substr(0, self.rfind('/') + 1) + "phicoll-omp-reference";
  if (access(program.c_str(), X_OK) != 0) return found;
  found["libgomp"] = {program, {}, {}};
  // The compiler's code calls the library through GCC's entry points, which the other two libraries have as
  // well. Preloaded, theirs come first. The program reports the file that it really calls.
  const auto preloaded = [&](const char* name, const std::string& library) {
    if (!library.empty()) found[name] = {program, {}, {{"LD_PRELOAD", library}}};
  };
  preloaded("libomp", find_libomp());
  preloaded("libiomp5", find_libiomp5(libiomp5));
  return found;
}

std::string openmp_environment() {
  std::string words;
  for (char** entry = environ; *entry != nullptr; ++entry)
    for (const char* prefix : {"OMP_", "KMP_", "GOMP_"})
      if (std::strncmp(*entry, prefix, std::strlen(prefix)) == 0)
        words += (words.empty() ? "" : " ") + std::string(*entry);
  return words;
}

}  // namespace bench
}  // namespace phicoll
