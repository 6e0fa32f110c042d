#pragma once

// Ranks as threads of this process.

#include <atomic>
#include <functional>
#include <memory>

#include "phicoll/group/communicator.hpp"
#include "phicoll/group/options.hpp"

namespace phicoll {

/// A group whose ranks are threads of this process.
class ThreadGroup {
 public:
  /// Throws ArgumentError("ranks", "placement"), ResourceError.
  explicit ThreadGroup(int ranks, const GroupOptions& options = GroupOptions());
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  /// Calls `function` once on each rank, each on a thread of its own, and returns when all have ended. A rank
  /// that throws breaks the group; the first cause is thrown again here. A group that was broken may run
  /// again. Throws Error if it runs already (from another thread, or from one of its own ranks).
  void run(const std::function<void(Communicator&)>& function);

  int size() const { return shape_.size(); }
  const Shape& shape() const { return shape_; }
  /// Whether a rank broke the group in the last run.
  bool broken() const;

 private:
  struct Memory;
  void begin_with_numbers();
  GroupOptions options_;
  Shape shape_;
  std::unique_ptr<Memory> memory_;
  std::atomic<bool> running_{false};
};

}  // namespace phicoll
