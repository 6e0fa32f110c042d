#include "phicoll/memory/control.hpp"

#include <time.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

constexpr unsigned Control::slots;
constexpr std::uint16_t Control::asleep;

namespace {

/// Each rank repeats what the group's maker has set, and stores only what differs, since a watcher may be
/// reading.
template <class T>
void set(T& place, T value) {
  if (place != value) place = value;
}

}  // namespace

void Control::configure(int ranks, bool shared, int cpus, std::int64_t timeout_ns) {
  PHICOLL_ASSERT(ThisBuild, ranks >= 1 && ranks <= max_ranks,
                 "a group of " + std::to_string(ranks) + " ranks");
  set(ranks_, decltype(ranks_)(ranks));
  set(shared_, decltype(shared_)(shared ? 1 : 0));
  set(usable_cpus_, decltype(usable_cpus_)(cpus == 0 ? ranks : cpus));
  set(crowded_, decltype(crowded_)(ranks > usable_cpus_ ? 1 : 0));
  set(timeout_ns_, decltype(timeout_ns_)(timeout_ns));
  for (int r = 0; r < ranks; ++r) {
    members_[r].cpu = -1;
    members_[r].shares = 0;
  }
}

void Control::configure_child(Control& parent, const std::vector<int>& members) {
  configure(static_cast<int>(members.size()), parent.shared(), 0, parent.timeout_ns());
  crowded_ = parent.crowded_;
  behind_root_ = static_cast<std::uint64_t>(reinterpret_cast<unsigned char*>(this) -
                                            reinterpret_cast<unsigned char*>(&parent.root()));
  memory_bytes_ = parent.memory_bytes_;
  cross_copies_ = parent.cross_copies_;
  for (std::size_t r = 0; r < members.size(); ++r) {
    PHICOLL_ASSERT(ThisBuild, members[r] >= 0 && members[r] < parent.ranks_,
                   "a child of rank " + std::to_string(members[r]) + ", which its parent does not have");
    const Member& of_parent = parent.members_[members[r]];
    members_[r].root_rank = static_cast<std::int16_t>(parent.root_rank(members[r]));
    members_[r].pid = of_parent.pid;
    members_[r].cpu = of_parent.cpu;
    // The CPU may also be shared with ranks outside this group, which need it no less.
    members_[r].shares = of_parent.shares;
  }
}

void Control::set_cpu(int rank, int cpu) {
  PHICOLL_ASSERT(ThisBuild, rank >= 0 && rank < ranks_, "a CPU for rank " + std::to_string(rank));
  members_[rank].cpu = static_cast<std::int16_t>(cpu > INT16_MAX ? -1 : cpu);
  for (int other = 0; other < ranks_; ++other)
    if (other != rank && same_cpu(rank, other)) members_[rank].shares = members_[other].shares = 1;
}

// Relaxed: an old note costs a yield or some looks.
bool Control::meets(int rank, int other, int cpu) {
  note_cpu(rank, cpu);
  if (cpu < 0) return false;
  if (other != any_rank) return noted_cpu(other) == cpu;
  for (int r = 0; r < ranks_; ++r)
    if (r != rank && noted_cpu(r) == cpu) return true;
  return false;
}

// A CPU without any rank may be busy with another program, so none is sent there.
std::vector<int> Control::emptier_cpus(int rank) const {
  const Control& whole = root();
  const int self = root_rank(rank);
  const int here = noted_cpu(rank);
  std::vector<int> emptier;
  if (here < 0) return emptier;
  constexpr int nobody = -1;
  std::vector<int> awake(static_cast<std::size_t>(here) + 1, nobody);  // by CPU
  for (int r = 0; r < whole.ranks_; ++r) {
    const int cpu = r == self ? here : whole.cpu(r) >= 0 ? whole.cpu(r) : whole.noted_cpu(r);
    if (cpu < 0) continue;
    const bool sleeps = r != self && whole.noted_asleep(r);
    if (cpu == here && r > self && !sleeps && whole.cpu(r) < 0) return emptier;
    if (static_cast<std::size_t>(cpu) >= awake.size())
      awake.resize(static_cast<std::size_t>(cpu) + 1, nobody);
    int& there = awake[static_cast<std::size_t>(cpu)];
    there = std::max(there, 0) + (sleeps ? 0 : 1);
  }
  for (std::size_t cpu = 0; cpu < awake.size(); ++cpu)
    if (awake[cpu] != nobody && awake[cpu] + 2 <= awake[static_cast<std::size_t>(here)])
      emptier.push_back(static_cast<int>(cpu));
  return emptier;
}

std::vector<int> Control::cpus_to_leave(int rank) const {
  const Control& whole = root();
  const int self = root_rank(rank);
  const int here = noted_cpu(rank);
  std::vector<int> taken;
  if (here < 0 || whole.cpu(self) >= 0) return taken;
  for (int r = 0; r < whole.ranks_; ++r) {
    const int cpu = r == self ? here : whole.cpu(r) >= 0 ? whole.cpu(r) : whole.noted_cpu(r);
    const bool stays = r <= self || whole.cpu(r) >= 0 || whole.noted_asleep(r);
    if (cpu == here && !stays) return std::vector<int>();
    if (cpu >= 0) taken.push_back(cpu);
  }
  return taken;
}

void Control::break_group(int rank, const char* reason, bool timed_out) {
  root().break_whole(root_rank(rank), reason, timed_out, shared());
  if (!is_root()) wake_everyone(shared());
}

void Control::break_from_outside(int rank, const char* reason) {
  break_whole(rank, reason, false, true);
}

void Control::break_whole(int rank, const char* reason, bool timed_out, bool shared) {
  std::uint32_t whole = 0;
  // acq_rel: only the first cause writes the text. The release of 2 below makes the text visible to every
  // rank that sees 2.
  if (!broken_.atomic().compare_exchange_strong(whole, 1, std::memory_order_acq_rel)) {
    // Another cause is already there or is being written. Its writer may be killed at that very moment, and a
    // group that stayed between whole and broken would never end its waits; so the next rank finishes the
    // job.
    for (int naps = 0; broken_.atomic().load(std::memory_order_acquire) != 2; ++naps) {
      if (naps == 100) break;
      const timespec nap = {0, 1000000};
      nanosleep(&nap, nullptr);
    }
    if (broken_.atomic().load(std::memory_order_acquire) == 2) return;
  }
  broken_rank_ = rank;
  timed_out_ = timed_out ? 1 : 0;
  std::strncpy(broken_reason_, reason, sizeof broken_reason_ - 1);
  broken_.atomic().store(2, std::memory_order_release);
  wake_everyone(shared);
}

void Control::check_broken(int self) const {
  if (!broken()) return;
  const Control& whole = root();
  if (whole.timed_out_ != 0 && whole.broken_rank_ == root_rank(self)) throw TimeoutError(broken_reason());
  throw BrokenGroupError(whole.broken_rank_, broken_reason());
}

bool Control::leave(int rank, const CallHistory& calls, bool unwinding) {
  if (is_root()) noted(rank).store(0, std::memory_order_relaxed);  // in no one's way any more
  members_[rank].left_chain = calls.chain();
  members_[rank].left_after.atomic().store(2 * (calls.begun() + 1) + (unwinding ? 1 : 0),
                                           std::memory_order_release);
  // acq_rel: the last rank sees all that the others did before they left. It may give this memory back.
  const auto all = static_cast<std::uint32_t>(ranks_);
  if (left_.atomic().fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false;
  compare_calls_of_all(rank, calls);
  return true;
}

// Finds, at the latest here, a mismatch that no rank waited for and that no data followed.
void Control::compare_calls_of_all(int rank, const CallHistory& calls) {
  if (broken()) return;
  const auto after = [this](int r) {
    return members_[r].left_after.atomic().load(std::memory_order_relaxed);
  };
  const auto alike = [&](int a, int b) {
    return after(a) == after(b) && members_[a].left_chain == members_[b].left_chain;
  };
  int odd = 0;
  for (int r = 0; r < ranks_; ++r) {
    if ((after(r) & 1) != 0) return;  // left by an exception, which says why by itself
    if (odd == 0 && !alike(0, r)) odd = r;
  }
  if (odd == 0) return;
  root().at_odds_.atomic().store(1u, std::memory_order_relaxed);
  CallMismatch mismatch;
  if (board() != nullptr && board()->find_mismatch(rank, ranks_, &mismatch, &calls))
    return break_by(mismatch);
  // The majority is right; between two ranks, the lower one is.
  int like_first = 0;
  for (int r = 0; r < ranks_; ++r) like_first += alike(0, r) ? 1 : 0;
  const int wrong = 2 * like_first < ranks_ ? 0 : odd;
  const int other = wrong == 0 ? odd : 0;
  const bool as_many = after(wrong) == after(other);
  const std::string reason =
      left_after(after(wrong) / 2 - 1) + (as_many ? " that were not those of rank " : ", rank ") +
      std::to_string(root_rank(other)) + (as_many ? "" : " after " + std::to_string(after(other) / 2 - 1));
  break_group(wrong, reason.c_str());
}

std::string Control::left_after(std::uint64_t calls) const {
  return std::string("left ") + (is_root() ? "" : "a sub-communicator ") + "after " + std::to_string(calls) +
         " collective calls";
}

void Control::check_left(std::uint64_t call, bool waited_long) {
  if (left_.atomic().load(std::memory_order_acquire) == 0) return;
  for (int r = 0; r < ranks_; ++r) {
    const std::uint64_t word = members_[r].left_after.atomic().load(std::memory_order_acquire);
    const bool unwinding = (word & 1) != 0;
    const std::uint64_t left = word / 2;
    if (left == 0 || left - 1 >= call || (unwinding && !waited_long)) continue;
    const std::string reason = left_after(left - 1) + " while others wait in call " + std::to_string(call);
    break_group(r, reason.c_str());
    return;
  }
}

void Control::check_calls(int rank, const CallHistory& calls, bool compare) {
  CallBoard* const noted = board();
  if (noted == nullptr) return;
  noted->note_barrier(rank, calls.begun(), calls.tag());
  CallMismatch mismatch;
  if (compare && noted->find_mismatch(rank, ranks_, &mismatch, &calls)) break_by(mismatch);
}

void Control::break_by(const CallMismatch& mismatch) {
  const std::string reason =
      CallBoard::describe(mismatch, root_rank(mismatch.rank), root_rank(mismatch.other));
  break_group(mismatch.rank, reason.c_str());
}

void Control::wake_everyone(bool shared) {
  for (ParkingSlot& slot : slots_) {
    slot.sequence.atomic().fetch_add(1, std::memory_order_acq_rel);
    os::futex_wake(&slot.sequence.atomic(), INT_MAX, shared);
  }
}

}  // namespace phicoll
