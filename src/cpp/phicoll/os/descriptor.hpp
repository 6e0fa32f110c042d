#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <string>

namespace phicoll {
namespace os {

/// Moves a descriptor off the numbers 0 to 2, which a new descriptor gets in a process that lacks a standard
/// stream. Otherwise what the process prints would be written to it, and a child has its own stream at that
/// number. Returns the new number, or -1 with errno set. Leaves -1 and all other numbers as they are.
int beyond_standard_streams(int fd);

/// A higher limit on open descriptors (ulimit -n), for its scope.
class RaisedDescriptorLimit {
 public:
  /// Raises the soft limit as far towards the hard one as `wanted` more descriptors need. ResourceError with
  /// both numbers where there is no room for `least`; `what` needs them, such as "300 PEs".
  RaisedDescriptorLimit(std::size_t wanted, std::size_t least, const std::string& what);
  ~RaisedDescriptorLimit() { restore(); }
  RaisedDescriptorLimit(const RaisedDescriptorLimit&) = delete;
  RaisedDescriptorLimit& operator=(const RaisedDescriptorLimit&) = delete;
  /// As it was: also for a child, before its program starts. Async-signal-safe.
  void restore() const { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_;
};

}  // namespace os
}  // namespace phicoll
