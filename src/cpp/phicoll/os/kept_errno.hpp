#pragma once

#include <errno.h>

namespace phicoll {
namespace os {

/// Leaves errno as it was: no barrier of pthread or OpenMP sets it, so a program may look at it after one.
class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int before_ = errno;
};

}  // namespace os
}  // namespace phicoll
