#include "phicoll/memory/copy_desk.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "phicoll/os/cross_copy.hpp"
#include "phicoll/os/futex.hpp"

namespace phicoll {

constexpr std::uint32_t CopyDesk::done;
constexpr std::size_t CopyDesk::piece_bytes;

namespace {

constexpr std::int64_t look_again_ns = 20 * 1000000;

}  // namespace

/// The customer's turn at the desk, given up even if `alive` throws.
class CopyDesk::Place {
 public:
  Place(CopyDesk& desk, const std::function<void()>& alive) : desk_(desk) {
    // Acquire: the previous customer has read its answer.
    for (std::uint32_t free = 0; !desk.taken_.atomic().compare_exchange_strong(
             free, 1, std::memory_order_acquire, std::memory_order_relaxed);
         free = 0) {
      alive();
      os::futex_wait(&desk.taken_.atomic(), 1, look_again_ns, true);
    }
  }
  ~Place() {
    desk_.taken_.atomic().store(0, std::memory_order_release);
    os::futex_wake(&desk_.taken_.atomic(), 1, true);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  CopyDesk& desk_;
};

int CopyDesk::copy(int owner, void* own, std::uintptr_t remote, std::size_t bytes, bool write,
                   const std::function<void()>& alive) {
  wanted_.atomic().store(1, std::memory_order_release);
  const Place place(*this, alive);
  auto* at = static_cast<unsigned char*>(own);
  while (bytes != 0) {
    const std::size_t part = std::min(bytes, piece_bytes);
    if (write) std::memcpy(piece_, at, part);
    write_ = write ? 1 : 0;
    address_ = remote;
    bytes_ = part;
    state_.atomic().store(asked_of(owner), std::memory_order_release);
    ring(owner);
    while (state_.atomic().load(std::memory_order_acquire) != done) {
      alive();
      os::futex_wait(&state_.atomic(), asked_of(owner), look_again_ns, true);
    }
    if (error_ != 0) return error_;
    if (!write) std::memcpy(at, piece_, part);
    at += part;
    remote += part;
    bytes -= part;
  }
  return 0;
}

void CopyDesk::ring(int rank) {
  std::atomic<std::uint32_t>& bell = bells_[rank].atomic();
  bell.fetch_add(1, std::memory_order_release);
  os::futex_wake(&bell, INT_MAX, true);
}

void CopyDesk::serve(int rank, const std::atomic<bool>& stop) {
  const std::atomic<std::uint32_t>& bell = bells_[rank].atomic();
  for (;;) {
    // Acquire, and before the looks: a ring after them changes the word, so the wait returns at once.
    const std::uint32_t heard = bell.load(std::memory_order_acquire);
    if (stop.load(std::memory_order_acquire)) return;
    if (state_.atomic().load(std::memory_order_acquire) == asked_of(rank)) {
      error_ = copy_own(write_ != 0, static_cast<std::uintptr_t>(address_),
                        std::min(static_cast<std::size_t>(bytes_), piece_bytes));
      state_.atomic().store(done, std::memory_order_release);
      os::futex_wake(&state_.atomic(), INT_MAX, true);
      continue;
    }
    os::futex_wait(&bell, heard, -1, true);
  }
}

// A process may always copy from itself, unless a filter forbids the call. The kernel's copy ends with an
// error where memory is not mapped, and a load with a signal.
int CopyDesk::copy_own(bool write, std::uintptr_t address, std::size_t bytes) {
  const int error = write ? os::cross_write(getpid(), piece_, address, bytes)
                          : os::cross_read(getpid(), piece_, address, bytes);
  if (error == 0 || error == EFAULT) return error;
  auto* const own = reinterpret_cast<unsigned char*>(address);
  std::memcpy(write ? own : piece_, write ? piece_ : own, bytes);
  return 0;
}

int copy_between_processes(Control& control, int owner, void* own, std::uintptr_t remote, std::size_t bytes,
                           bool write, const std::function<void()>& alive) {
  const auto pid = static_cast<pid_t>(control.pid(owner));
  const int error =
      write ? os::cross_write(pid, own, remote, bytes) : os::cross_read(pid, own, remote, bytes);
  if (error == 0 || error == EFAULT || error == ESRCH) return error;
  return control.root().desk().copy(control.root_rank(owner), own, remote, bytes, write, alive);
}

}  // namespace phicoll
