#include "phicoll/group/cross_copies.hpp"

#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "phicoll/os/clock.hpp"
#include "phicoll/os/cross_copy.hpp"

namespace phicoll {

/// Lies in this process's own memory.
struct CrossCopyTrial::Target {
  explicit Target(int ranks) : written(static_cast<std::size_t>(ranks), 0) {}
  volatile std::uint64_t nonce = 0;
  std::vector<std::uint64_t> written;  // a word for each rank
};

namespace {

/// Numbers that another process's memory does not hold by chance: a process number from another container may
/// name a stranger, whose memory must not be written.
std::uint64_t make_nonce(const void* place, int rank) {
  std::uint64_t x = static_cast<std::uint64_t>(os::now_ns()) ^ (static_cast<std::uint64_t>(getpid()) << 40) ^
                    reinterpret_cast<std::uintptr_t>(place) ^ (static_cast<std::uint64_t>(rank) << 24);
  for (int round = 0; round < 3; ++round) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ull;
  }
  return x | 1;
}

}  // namespace

CrossCopyTrial::CrossCopyTrial(ProcessHeader& header, int rank)
    : header_(header), rank_(rank), target_(new Target(header.ranks)) {
  target_->nonce = make_nonce(target_.get(), rank);
  ProcessHeader::Member& member = header.members[rank];
  // Plain: the rank's count as attached, a release, makes them visible to every rank that has seen all
  // attached.
  member.nonce = target_->nonce;
  member.nonce_at = reinterpret_cast<std::uintptr_t>(&target_->nonce);
  member.written_at = reinterpret_cast<std::uintptr_t>(target_->written.data());
}

CrossCopyTrial::~CrossCopyTrial() {
  if (finished_) return;
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Target>>;
  const std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(target_));
}

bool CrossCopyTrial::try_one(const Control& control, int rank) {
  const ProcessHeader::Member& member = header_.members[rank];
  const pid_t pid = control.pid(rank);
  std::uint64_t seen = 0;
  if (os::cross_read(pid, &seen, static_cast<std::uintptr_t>(member.nonce_at), sizeof seen) != 0)
    return false;
  if (seen != member.nonce) return false;
  const std::uintptr_t mine =
      static_cast<std::uintptr_t>(member.written_at) + static_cast<std::uintptr_t>(rank_) * sizeof seen;
  const std::uint64_t word = member.nonce ^ static_cast<std::uint64_t>(rank_ + 1);
  if (os::cross_write(pid, &word, mine, sizeof word) != 0) return false;
  seen = 0;
  return os::cross_read(pid, &seen, mine, sizeof seen) == 0 && seen == word;
}

bool CrossCopyTrial::try_all(const Control& control) {
  std::atomic<std::uint32_t>& failed = header_.cross_copies_failed.atomic();
  // Once one pair has failed, the others need not be tried. Each rank begins with the rank after it, so that
  // not all try rank 0 at once.
  for (int step = 1; step < header_.ranks && failed.load(std::memory_order_relaxed) == 0; ++step)
    if (!try_one(control, (rank_ + step) % header_.ranks)) failed.store(1, std::memory_order_relaxed);
  // Acquire and release: the last rank sees whether one of the others failed.
  return header_.tried_count.atomic().fetch_add(1, std::memory_order_acq_rel) + 1 ==
         static_cast<std::uint32_t>(header_.ranks);
}

}  // namespace phicoll
