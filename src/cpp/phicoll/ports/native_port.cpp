#include "phicoll/ports/native_port.hpp"

#include <sched.h>

#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/memory/copy_desk.hpp"

namespace phicoll {

std::int64_t NativePort::now() const {
  return os::now_ns();
}

void NativePort::wait_until(std::int64_t ticks) const {
  constexpr unsigned turns_a_look = 1024;
  Patience patience;
  for (unsigned turn = 1; this->ticks() < ticks; ++turn) {
    room_.yield_if_needed();
    if (turn % turns_a_look == 0) room_.check(patience);
  }
}

void NativePort::yield() const {
  sched_yield();
  if (__builtin_expect(control().broken(), 0)) control().check_broken(rank());
}

void NativePort::cross_copy(Data own, const Exposed& peer, std::size_t offset, std::size_t bytes,
                            bool write) const {
  const int owner = static_cast<int>(peer.owner) - 1;
  const auto address = static_cast<std::uintptr_t>(peer.address) + offset;
  Patience patience;
  const int error =
      copy_between_processes(control(), owner, own.at, address, bytes, write, [&] { room_.check(patience); });
  if (error == 0) return;
  // A rank that died reports it itself, through its watcher.
  const std::string reason = std::string("its memory could not be ") + (write ? "written" : "read") +
                             " by rank " + std::to_string(rank()) + ": " + std::strerror(error);
  control().break_group(owner, reason.c_str());
  control().check_broken(rank());
}

void NativePort::differ(int from, const std::string& sent, const std::string& expected) const {
  const CallBoard* const board = control().board();
  const std::uint64_t call = board != nullptr ? board->inside(rank()) : 0;
  const std::string reason = "sends " + sent + " to rank " + std::to_string(control().root_rank(rank())) +
                             ", which expects " + expected + " of it" +
                             (call != 0 ? " in call " + std::to_string(call) : "");
  control().break_group(from, reason.c_str());
  control().check_broken(rank());
  throw Error(reason);  // never: the group is broken
}

void NativePort::load_line(const void* line, void* destination) const {
  const auto* from = static_cast<const Word<std::uint64_t>*>(line);
  auto* to = static_cast<unsigned char*>(destination);
  for (unsigned i = 0; i < arch::line_bytes / 8; ++i) {
    const std::uint64_t part = from[i].atomic().load(std::memory_order_acquire);
    __builtin_memcpy(to + 8 * i, &part, 8);
  }
}

void NativePort::store_line(void* line, const void* source, StorePolicy policy) const {
  switch (policy) {
    case StorePolicy::plain:
      arch::store_line_plain(line, source);
      break;
    case StorePolicy::no_read:
      arch::store_line_no_read(line, source);
      break;
    case StorePolicy::no_read_unordered:
      // The line may be a flag: everything stored before it, by ordinary stores too, must be visible first.
      arch::order_no_read_stores();
      arch::store_line_no_read_unordered(line, source);
      arch::order_no_read_stores();
      break;
  }
}

}  // namespace phicoll
