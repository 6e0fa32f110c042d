#pragma once

#include <unistd.h>

#include <cstdlib>

namespace phicoll {
namespace os {

/// An environment variable, or null: also where the program has rights that its caller lacks (setuid, file
/// capabilities), whose variables may name no file or library then.
inline const char* environment(const char* name) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 17)
  return secure_getenv(name);
#else
  return getuid() == geteuid() && getgid() == getegid() ? std::getenv(name) : nullptr;
#endif
}

}  // namespace os
}  // namespace phicoll
