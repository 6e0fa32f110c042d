#pragma once

// Copying between this process's memory and another's, without the other's help.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace phicoll {
namespace os {

/// Copies `bytes` from address `remote` in process `pid` to `local`. Returns 0 when all of it has arrived,
/// else an errno code, and then `local` may hold a part: EPERM (not permitted: other user, ptrace_scope,
/// container), ENOSYS (no such call, or fallbacks forced), EFAULT (not mapped there or here), ESRCH (no such
/// process). Never throws.
int cross_read(pid_t pid, void* local, std::uintptr_t remote, std::size_t bytes);

/// The other direction, with the same codes.
int cross_write(pid_t pid, const void* local, std::uintptr_t remote, std::size_t bytes);

}  // namespace os
}  // namespace phicoll
