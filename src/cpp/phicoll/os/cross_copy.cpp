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
int copy(long call, pid_t pid, char* local, std::uintptr_t remote, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;  // the kernel moves a little less than 2 GB in one call
  while (bytes > 0) {
    const std::size_t part = bytes < most ? bytes : most;
    iovec here;
    here.iov_base = local;
    here.iov_len = part;
    iovec there;
    there.iov_base = reinterpret_cast<void*>(remote);
    there.iov_len = part;
    const long moved = syscall(call, pid, &here, 1ul, &there, 1ul, 0ul);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    local += moved;
    remote += static_cast<std::uintptr_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}
#endif

}  // namespace

int cross_read(pid_t pid, void* local, std::uintptr_t remote, std::size_t bytes) {
#if defined(SYS_process_vm_readv) && defined(SYS_process_vm_writev)
  if (!fallbacks_forced()) return copy(SYS_process_vm_readv, pid, static_cast<char*>(local), remote, bytes);
#endif
  (void)pid;
  (void)local;
  (void)remote;
  (void)bytes;
  return ENOSYS;
}

int cross_write(pid_t pid, const void* local, std::uintptr_t remote, std::size_t bytes) {
#if defined(SYS_process_vm_readv) && defined(SYS_process_vm_writev)
  if (!fallbacks_forced())
    return copy(SYS_process_vm_writev, pid, static_cast<char*>(const_cast<void*>(local)), remote, bytes);
#endif
  (void)pid;
  (void)local;
  (void)remote;
  (void)bytes;
  return ENOSYS;
}

}  // namespace os
}  // namespace phicoll
