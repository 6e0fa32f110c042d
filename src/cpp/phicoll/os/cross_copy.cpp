#include "phicoll/os/cross_copy.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "phicoll/os/fallbacks.hpp"

namespace phicoll {
namespace os {

namespace {

#if defined(SYS_process_vm_readv) && defined(SYS_process_vm_writev)
constexpr long read_call = SYS_process_vm_readv, write_call = SYS_process_vm_writev;
#else
constexpr long read_call = -1, write_call = -1;
#endif

int copy(long call, pid_t pid, void* local, std::uintptr_t remote, std::size_t bytes) {
  if (call < 0 || fallbacks_forced()) return ENOSYS;
  constexpr std::size_t most = std::size_t{1} << 30;  // the kernel moves a little less than 2 GB in one call
  iovec here = {local, 0}, there = {reinterpret_cast<void*>(remote), 0};
  while (bytes > 0) {
    here.iov_len = there.iov_len = bytes < most ? bytes : most;
    const long moved = syscall(call, pid, &here, 1ul, &there, 1ul, 0ul);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    here.iov_base = static_cast<char*>(here.iov_base) + moved;
    there.iov_base = static_cast<char*>(there.iov_base) + moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

int cross_read(pid_t pid, void* local, std::uintptr_t remote, std::size_t bytes) {
  return copy(read_call, pid, local, remote, bytes);
}

int cross_write(pid_t pid, const void* local, std::uintptr_t remote, std::size_t bytes) {
  return copy(write_call, pid, const_cast<void*>(local), remote, bytes);
}

}  // namespace os
}  // namespace phicoll
