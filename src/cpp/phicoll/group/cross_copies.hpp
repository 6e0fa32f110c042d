#pragma once

// Finds out whether the processes of a group may copy from and to each other's memory. By trial, since
// permissions differ by user, container and security module, and by pair.

#include <cstdint>
#include <memory>

#include "phicoll/group/process_header.hpp"

namespace phicoll {

/// One rank's part of the trial: the memory that the others read and write.
class CrossCopyTrial {
 public:
  /// Publishes a nonce of this process; to be called before the rank counts as attached.
  CrossCopyTrial(ProcessHeader& header, int rank);
  /// Ranks that never said that they were done may still write to this memory: then it is never freed.
  ~CrossCopyTrial();
  CrossCopyTrial(const CrossCopyTrial&) = delete;
  CrossCopyTrial& operator=(const CrossCopyTrial&) = delete;

  /// To be called when all ranks are there: reads every other rank's nonce, then writes and reads back a word
  /// beside it. Never waits; a failure is noted in the header. Returns whether this rank was the last to
  /// finish.
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
