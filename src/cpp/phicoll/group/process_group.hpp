#pragma once

// Ranks as processes: launched by a parent that hands them a descriptor, forked, or separate programs that
// find each other by a name. Nothing of a group is left behind when its last process ends, even by SIGKILL.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/group/communicator.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {

class CrossCopyTrial;
class NameServer;
class OutsideView;
class Watcher;

/// One process's membership. Its thread is pinned if the group is placed; a watcher thread sees the death of
/// peers.
class ProcessGroup {
 public:
  /// The shared memory of a new group for `ranks` processes, for their launcher: its descriptor is inherited
  /// by the ranks, which call join(). Throws ArgumentError("ranks", "placement"), ResourceError with the
  /// size.
  static os::SharedMemory create_memory(int ranks, const GroupOptions& options);

  /// Takes `rank` in the group of an inherited descriptor, which is taken over, and waits until all are
  /// there. Throws ArgumentError("rank") (outside the group or taken), BrokenGroupError naming the rank that
  /// is missing.
  static std::unique_ptr<ProcessGroup> join(int descriptor, int rank, const WaitPolicy& wait = WaitPolicy());

  /// join() with what a launcher left in the environment (PHICOLL_GROUP_FD, PHICOLL_RANK). ArgumentError
  /// without it.
  static std::unique_ptr<ProcessGroup> from_environment(const WaitPolicy& wait = WaitPolicy());

  /// Separate programs: all that give the same name form one group; the first to come makes it with its
  /// options. Waits until `size` ranks are there. Throws ArgumentError("name", "size", "rank") when the name
  /// is of a complete group, of another size, or the rank is taken; BrokenGroupError naming the missing ranks
  /// after attach_timeout. Without a placement, the ranks are taken to run on the CPUs that each may use when
  /// it attaches.
  static std::unique_ptr<ProcessGroup> attach(const std::string& name, int size, int rank,
                                              const GroupOptions& options = GroupOptions());

  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  Communicator& communicator();
  /// The group's memory, for callers that map parts of it once more.
  const os::SharedMemory& memory() const { return memory_; }
  /// It stays mapped as long as the result is kept.
  std::shared_ptr<void> kept_memory() const { return kept_; }
  /// Breaks the group for all: this rank cannot go on.
  void fail(const std::string& reason);
  /// Leaves in order, as the destructor does, but keeps the memory, so that resume() can come back: peers do
  /// not take it for dead meanwhile. All ranks do the same, and none calls anything else of the group in
  /// between.
  void pause();
  void resume();

 private:
  ProcessGroup(os::SharedMemory memory, int rank, const WaitPolicy& wait);
  void claim();
  void leave();
  void watch_and_pin();
  void enter(const WaitPolicy& wait);
  void announce_place();
  void wait_until_complete();
  void try_cross_copies(CrossCopyTrial& trial);
  static void check_same_tuning(const os::SharedMemory& memory, const GroupOptions& options);

  class Pin;
  std::shared_ptr<os::SharedMemory> kept_;
  os::SharedMemory& memory_;  // *kept_
  int rank_;
  os::HomeProcess home_;
  bool claimed_ = false;
  std::unique_ptr<OutsideView> outside_;
  std::unique_ptr<NameServer> server_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Pin> pin_;
  std::unique_ptr<Communicator> communicator_;
};

/// Runs `function` on `ranks` forked processes and returns when all have ended. Call it while this process
/// has one thread. Throws BrokenGroupError with the first cause when a rank threw, died or left early.
void fork_and_run(int ranks, const GroupOptions& options, const std::function<void(Communicator&)>& function);

/// Starts `command` on `ranks` processes, each with what from_environment() needs.
class Launcher {
 public:
  /// `in_child` is called with the rank in each new process before its program starts; it may do only what is
  /// async-signal-safe.
  Launcher(const std::vector<std::string>& command, int ranks, const GroupOptions& options,
           const std::function<void(int)>& in_child = nullptr);
  /// Kills what still runs.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  const std::vector<int>& pids() const { return pids_; }
  /// Waits for all. Throws BrokenGroupError with the first cause; returns the largest exit status otherwise.
  /// Once the group is broken, ranks get `grace_ms` to end by themselves and are then killed; negative: no
  /// limit.
  int wait(int grace_ms = -1);
  /// The ranks' statuses from waitpid, after wait().
  const std::vector<int>& statuses() const { return statuses_; }

 private:
  void end_all();

  os::SharedMemory memory_;
  std::unique_ptr<OutsideView> outside_;
  std::vector<int> pids_;
  std::vector<int> statuses_;
};

}  // namespace phicoll
