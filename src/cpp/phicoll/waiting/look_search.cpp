#include "phicoll/waiting/look_search.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

namespace {

// Long enough for programs that look for a while and then do something else.
constexpr std::int64_t looking_ns = 3000 * std::int64_t{1000000};
// On top of what reading the clock takes. In a C loop some ten ns lie between looks, and reading the clock
// takes thirty; in Python 200 to 700 ns, and a system call adds 1300.
constexpr std::int64_t long_gap_ns = 120;
constexpr std::int64_t long_gap_of_interpreter_ns = 1000;
constexpr std::uint64_t gaps_a_long_one = 64;
constexpr std::uint64_t gaps_a_count = 16;

thread_local char this_thread;  // its address is no other thread's

/// The least time between two looks at the clock.
std::int64_t clock_ns() {
  std::int64_t least = long_gap_of_interpreter_ns;
  for (int i = 0; i < 32; ++i) {
    const std::int64_t before = os::now_ns();
    least = std::min(least, os::now_ns() - before);
  }
  return least;
}

bool is_long(std::int64_t gap_ns, const Interpreter* interpreter) {
  static const std::int64_t least = clock_ns();
  return gap_ns > least + (interpreter != nullptr ? long_gap_of_interpreter_ns : long_gap_ns);
}

/// Whether this process has threads that the library cannot know. Beside the ranks' there are the main thread
/// and a watcher.
bool has_unknown_threads(const Control& group, Interpreter* interpreter) {
  if (interpreter != nullptr) return has_further_threads(group, interpreter);
  struct stat found;
  if (stat("/proc/self/task", &found) != 0) return false;
  const auto threads = static_cast<long>(found.st_nlink) - 2;
  return threads > 2 + (group.shared() ? 0 : group.ranks());
}

}  // namespace

class LookSearch::Hold {
 public:
  explicit Hold(LookSearch& of, bool waits = false) : of_(of) {
    while (!(held_ = !of.taken_.exchange(true, std::memory_order_acquire)) && waits) arch::pause();
  }
  ~Hold() {
    if (held_) of_.taken_.store(false, std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return held_; }

 private:
  LookSearch& of_;
  bool held_;
};

void LookSearch::end_gap() {
  const std::int64_t now = os::now_ns();
  const std::int64_t began = gap_began_ns_.exchange(0, std::memory_order_relaxed);
  const Hold own(*this);
  if (own && began != 0 && is_long(now - began, of_.interpreter())) ++long_gaps_;
}

void LookSearch::end_mark() {
  if (mark_ != nullptr) mark_->end();
  mark_ = nullptr;
  marked_.store(false, std::memory_order_relaxed);
}

void LookSearch::begin_series(std::int64_t now, const void* thread) {
  end_mark();
  thread_ = thread;
  began_ns_ = now;
  gaps_ = long_gaps_ = 0;
  is_long_.store(false, std::memory_order_relaxed);
  has_series_.store(true, std::memory_order_relaxed);
}

void LookSearch::end_series() {
  const Hold own(*this, true);
  end_mark();
  gap_began_ns_.store(0, std::memory_order_relaxed);
  has_series_.store(false, std::memory_order_relaxed);
}

void LookSearch::count_look(Control& control, int rank, const WaitNote& note, std::int64_t looked_ns) {
  if (mark_ == nullptr) {
    mark_ = &control.root().wait_mark(control.root_rank(rank));
    mark_->end();
    marked_.store(true, std::memory_order_relaxed);
  }
  search_.note = WaitNote{WaitNote::Kind::requests, note.peer, note.tag, 0};
  search_.requests.clear();
  search_.requests.add(note.kind, control.root_rank(note.peer), note.tag);
  mark_->look(search_.note, search_.requests);
  search_.check(control, rank, looked_ns);
}

void LookSearch::in_vain(Control& control, int rank, const WaitNote& note) {
  Control& group = control.root();
  // Before the hold: it takes the interpreter's lock, whose owner may be waiting for the hold.
  const bool alone =
      is_long_.load(std::memory_order_relaxed) && !has_unknown_threads(group, of_.interpreter());
  const Hold own(*this);
  if (!own) return;
  const std::int64_t now = os::now_ns();
  if (!has_series_.load(std::memory_order_relaxed) || thread_ != &this_thread)
    begin_series(now, &this_thread);
  if (++gaps_ % gaps_a_count == 0) {
    if (long_gaps_ * gaps_a_long_one > gaps_) {
      begin_series(now, &this_thread);
    } else if (now - began_ns_ > looking_ns) {
      is_long_.store(true, std::memory_order_relaxed);
      alone ? count_look(control, rank, note, now - began_ns_) : end_mark();
    }
  }
  gap_began_ns_.store(os::now_ns(), std::memory_order_relaxed);
}

}  // namespace phicoll
