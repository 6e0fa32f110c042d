#pragma once

// A rank process's thread that sleeps until its successor in the ring of ranks, or the launcher, dies. The
// ring is enough: a rank that dies is the successor of another, and if several neighbours die together, the
// first one's predecessor lives. A rank that left in order is passed over. It also starts the thread that
// serves at the copy desk.

#include <atomic>
#include <cstdint>
#include <thread>

#include "phicoll/group/outside_view.hpp"

namespace phicoll {

class CopyDesk;

class Watcher {
 public:
  Watcher(Control& control, const OutsideView& group, int rank);
  ~Watcher();

 private:
  bool watch_by_descriptor();
  void watch_by_mutex();
  bool launcher_is_gone() const;
  int successor() const;
  bool report_death(int rank);
  void serve_if_wanted();

  CopyDesk& desk_;
  OutsideView group_;  // the thread's own
  int rank_;
  int parent_;  // the process that started this one, as it was at the beginning
  int wake_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> alive_{0};  // 1 once the thread holds this rank's sign of life
  std::thread thread_;
  std::thread server_;  // serves this rank's memory at the copy desk; thread_ starts it once the desk is used
};

}  // namespace phicoll
