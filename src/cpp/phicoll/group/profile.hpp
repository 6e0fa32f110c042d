#pragma once

// Watching a program's collectives (docs/profile.md): where PHICOLL_PROFILE names a folder, the algorithms of
// each rank are made with a clock around them, and write down when calls were entered and left. Without that
// variable nothing of this is on a call's path. A preloaded library logs an MPI's own calls likewise.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

/// The calls that a log is of. All but `rank` is the same on all ranks.
struct LogTitle {
  const char* group;           ///< tells groups apart
  std::uint64_t communicator;  ///< tells the group's communicators apart; 0: all of its ranks
  int rank, size;
  bool shared;  ///< ranks are processes
  const char* operation;
  const char* algorithm;
};

/// A rank's calls of one algorithm, in a mapped file, which stays however the process ends. A forked child
/// has its own.
///
/// Calls are sorted by the power of two of their size; those with counts, whose sizes differ, are together.
/// Of each, the first 1,024 are timed, then one in eight, and any that follows a long one (2 us). Which of
/// eight is timed depends only on their number, so ranks with equal sizes time the same ones. The place
/// within the eight varies, so that of a program with a period all calls are timed.
class CallLog {
 public:
  /// Null if calls are not watched. If the folder can't be written, a line on standard error says so, once.
  static std::unique_ptr<CallLog> make(const LogTitle& title);

  /// From now on this process's logs stay in its memory: it is on another host than the folder.
  static void stay_in_memory();
  struct Kept {
    const unsigned char* data;
    std::size_t bytes;
  };
  /// Those logs, from number 0, to be brought to a process on the folder's host; null after the last. None is
  /// in use any more.
  static Kept kept(std::size_t number);
  /// Writes such a log into the folder there. `host` numbers the host, from 1.
  static void write(const Kept& log, int rank, unsigned number, int host);

  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  /// Which call it is: the bytes of its count argument, and the version.
  static constexpr std::uint64_t what(std::uint64_t bytes, bool counted, bool exclusive) {
    constexpr std::uint64_t most = (std::uint64_t{1} << 48) - 1;  // more only where the count is refused
    return (bytes < most ? bytes : most) | std::uint64_t{counted} << 63 | std::uint64_t{exclusive} << 62;
  }
  /// Call it before a call. Returns the time, or 0 if the call is not timed; pass it to leave() with the same
  /// `what`.
  std::uint64_t enter(std::uint64_t what) {
    const std::uint64_t bytes = what & ~std::uint64_t{0} >> 2;
    Sampled& of = sampled_[what >> 63 != 0 ? 63 : bytes == 0 ? 0 : 64 - __builtin_clzll(bytes)];
    if (of.calls++ != of.next) return 0;
    if (of.calls < all_timed || every_)
      of.next = of.calls;
    else
      choose(of);
    latest_ = &of;
    return stamp();
  }
  /// After the call. One that throws is not noted.
  void leave(std::uint64_t entered, std::uint64_t what) {
    if (entered != 0) {
      const std::uint64_t left = stamp();
      if (left - entered >= long_call_) latest_->next = latest_->calls;
      if (untimed_ != nullptr && untimed_->what == what)
        *untimed_ = Record{entered, left, what | untimed_->entered << 48};
      else
        note(entered, left, what);
      untimed_ = nullptr;
    } else if (untimed_ != nullptr && untimed_->what == what) {
      ++untimed_->entered;
    } else {
      untimed_ = note(1, 0, what);
    }
  }

 private:
  /// What Python reads (phicoll/explaining/call_logs.py), in this machine's byte order.
  struct Record {
    /// in ticks; 0 ends the list. Where `left` is 0, this is instead the number of consecutive calls that
    /// were not timed
    std::uint64_t entered;
    std::uint64_t left;
    /// with, from bit 48, how many such calls before it were not timed, at most 14: their record became this
    /// one's. New pages are most of what a log costs
    std::uint64_t what;
  };
  struct Header;
  struct Sampled {
    std::uint64_t calls = 0;
    std::uint64_t next = 0;  ///< the number of the next timed one
  };
  /// The logs of this process, which its child by fork begins anew.
  struct Live;
  static Live& live();
  void begin_anew();
  bool renew();

  static constexpr std::uint64_t all_timed = 1024;
  static constexpr std::uint64_t one_in = 8;

  explicit CallLog(unsigned char* memory);
  /// The next after `calls` of those that are timed: in each eight another one.
  static void choose(Sampled& of) {
    const auto timed_in = [](std::uint64_t eight) {
      return eight * one_in + (eight * 0x9e3779b97f4a7c15u >> 61);
    };
    const std::uint64_t eight = of.calls / one_in;
    of.next = timed_in(eight) >= of.calls ? timed_in(eight) : timed_in(eight + 1);
  }
  /// All ranks' clock. Without the gaps of NativePort::ticks(), which would cost as much as the stamp: a
  /// stamp may lie some tens of cycles off.
  std::uint64_t stamp() const { return __builtin_expect(by_cycles_, 1) ? arch::cycles() : by_clock(); }
  static std::uint64_t by_clock();
  /// Null if it was added to the sums.
  Record* note(std::uint64_t entered, std::uint64_t left, std::uint64_t what) {
    if (__builtin_expect(next_ == end_, 0) && !has_room()) {
      sum(entered, left);
      return nullptr;
    }
    *next_ = Record{entered, left, what};
    return next_++;
  }
  bool has_room();
  void sum(std::uint64_t entered, std::uint64_t left);

  unsigned char* memory_;
  Record* next_;
  Record* end_;                // of the pages taken
  Record* last_;               // of the file, or of what there was room for
  Record* untimed_ = nullptr;  // the last record, if it is of calls that were not timed
  Sampled* latest_ = nullptr;  // of the last timed call
  std::uint64_t long_call_;    // ticks
  bool by_cycles_;
  bool every_;
  bool forked_ = false;  // this is a child's, and has no file yet
  Sampled sampled_[64];  // by the power of two of the size; the last: with counts
};

/// Where calls are to be noted (PHICOLL_PROFILE); null if nowhere, or if they stay in memory.
const char* profile_folder();
bool calls_are_watched();

/// `algorithm` with a clock around it if calls are watched, else itself. `spec` is in effect.
std::unique_ptr<AnyCollective<NativePort>> watched(std::unique_ptr<AnyCollective<NativePort>> algorithm,
                                                   Operation operation, const AlgorithmSpec& spec,
                                                   const Control& control, int rank, int size);

}  // namespace phicoll
