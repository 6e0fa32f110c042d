#pragma once

// A group of processes as seen by those that tell how it ended: its launcher, the watchers, the name server.
// A rank may have overwritten any of it, so what is read here is bounded (untrusted.hpp), and what is needed
// is remembered.

#include <sys/types.h>

#include <string>

#include "phicoll/group/process_header.hpp"

namespace phicoll {

class OutsideView {
 public:
  /// The reason if a process ended without leaving.
  static constexpr const char* died = "its process died";

  /// `memory`: of a complete group of `ranks` ranks.
  OutsideView(void* memory, int ranks);

  int ranks() const { return ranks_; }

  /// Why a group is broken. `rank`: any_rank if no single one is to blame.
  struct Cause {
    int rank;
    std::string reason;
  };
  /// Whether the group is broken. Breaks it if it finds it overwritten().
  bool broken();
  /// The first cause that is known, in a broken() group.
  Cause cause() const;
  void throw_if_broken();
  /// Breaks the group, unless it is broken.
  void break_group(int rank, const std::string& reason);
  /// Whether the constants that the group's maker set have been overwritten.
  bool overwritten() const;

  /// Whether a process has taken the rank.
  bool taken(int rank) const { return !untrusted(member(rank).pid).is(0); }
  bool joined(int rank) const { return untrusted(member(rank).state).at_least(ProcessHeader::attached); }
  bool left(int rank) const { return untrusted(member(rank).state).is(ProcessHeader::left); }
  /// The process that has taken the rank, or 0.
  pid_t pid(int rank) const { return checked_pid(member(rank).pid); }
  /// The process that a launcher has started for the rank, or 0.
  pid_t started(int rank) const { return checked_pid(member(rank).started); }
  void note_started(int rank, pid_t pid);
  pid_t launcher() const { return launcher_; }
  os::RobustToken& life(int rank) { return header_->members[rank].life; }

 private:
  const ProcessHeader::Member& member(int rank) const { return header_->members[rank]; }
  static pid_t checked_pid(const Word<std::uint32_t>& word);

  Control* control_;
  ProcessHeader* header_;
  int ranks_;
  Control::Constants constants_;
  std::uint64_t region_bytes_;
  std::uint64_t heap_bytes_;
  pid_t launcher_;                      // 0: programs attach
  Cause own_{any_rank, std::string()};  // by break_group
};

}  // namespace phicoll
