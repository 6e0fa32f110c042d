#pragma once

// Finds out whether the processes of a group may copy from and to each other's memory. It is tried, since permissions
// differ by user, container and security module, and by pair.

#include <cstdint>
#include <memory>

#include "phicoll/group/process_header.hpp"

namespace phicoll {

/// One rank's part of the trial: the memory that the others read and write.
class CrossCopyTrial {
 public:
  /// Publishes a nonce of this process. Before the rank counts as attached.
  CrossCopyTrial(ProcessHeader& header, int rank);
  /// Other ranks may still write to this process's memory if they never said that they were done: it is then
  /// kept for good.
  ~CrossCopyTrial();
  CrossCopyTrial(const CrossCopyTrial&) = delete;
  CrossCopyTrial& operator=(const CrossCopyTrial&) = delete;

  /// Reads the nonce of every other rank, writes to and reads back a word beside it. When all ranks are
  /// there. Never waits; a failure is noted in the header. Returns whether this was the last rank to be done.
  bool try_all(const Control& control);
  /// All ranks are done, and none writes here any more.
  void finished() { finished_ = true; }

 private:
  struct Target;
  bool try_one(const Control& control, int rank);

  ProcessHeader& header_;
  int rank_;
  bool finished_ = false;
  std::unique_ptr<Target> target_;
};

}  // namespace phicoll
