#pragma once

// Collectives that go on after the call that began them.
//
// Each is a plain call, made on a stack of its own. Where it would wait, it leaves that stack; a call of its rank that
// waits or looks at a request goes back to it once what it waits for has come. So every algorithm serves nonblocking calls
// as it is.
//
// The calls are made on a communicator of their own with the same ranks, so that the user's blocking calls may come
// between them. The first rank that begins one makes its memory: beginning waits for no other rank.
//
// One call runs at a time, in the order in which they were begun. All ranks share that order, so a call waits for the same
// calls on every rank, and the first unfinished call never waits for a later one.

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "phicoll/group/rank_work.hpp"
#include "phicoll/memory/native_port.hpp"
#include "phicoll/memory/wait_board.hpp"
#include "phicoll/os/fiber.hpp"

namespace phicoll {

class Communicator;

/// A collective call that can be begun, again and again, and goes on by itself. Leave its memory alone meanwhile.
struct CollectiveRequest : Begun {
  explicit CollectiveRequest(std::function<void(Communicator&)> function) : call(std::move(function)) {
    done = true;
  }

  std::function<void(Communicator&)> call;
  std::exception_ptr error;  ///< how it ended, if not well
};

/// What a rank has begun on one communicator. One of the rank's threads at a time goes on with it; for others go_on()
/// returns false meanwhile.
class Nonblocking final : public Ongoing, private Elsewhere {
 public:
  using Shared = std::shared_ptr<CollectiveRequest>;

  explicit Nonblocking(Communicator& owner);
  /// Ends what goes on, with an error; the group is broken then.
  ~Nonblocking();
  Nonblocking(const Nonblocking&) = delete;
  Nonblocking& operator=(const Nonblocking&) = delete;

  /// Does what can be done without waiting. Throws what the call throws by then, and ArgumentError if it goes on already.
  void begin(const Shared& request);
  /// Throws what the call threw.
  void wait(CollectiveRequest& request);
  void wait_for_all();
  /// As Communicator::abandon.
  void abandon();

  bool pending() const override { return unfinished_.load(std::memory_order_acquire) != 0; }
  bool go_on() override;

  /// Calls job() on the stack of the program's own call, which has room for an interpreter. Returns when it has. Throws what
  /// it throws.
  static void on_callers_stack(const std::function<void()>& job);

 private:
  void wait(Look look, const void* awaited) override;
  void run_all();
  void run_first();
  void check_outside() const;
  Shared last();
  bool ready() const;
  void move();
  void end_all();

  Communicator& owner_;
  std::unique_ptr<Communicator> inner_;
  StuckSearch stuck_;
  NativePort port_;
  ThreadLock lock_;           // what follows is used under it
  Shared first_;              // the call that was started
  std::deque<Shared> queue_;  // not started yet
  std::atomic<std::size_t> unfinished_{0};
  std::vector<std::shared_ptr<void>> ended_;  // what was kept for calls: it goes on the caller's stack
  bool ending_ = false;
  Look look_ = nullptr;  // what the first one waits for
  const void* awaited_ = nullptr;
  const std::function<void()>* job_ = nullptr;  // what it wants done on the caller's stack
  std::exception_ptr job_error_;
  Nonblocking* outer_ = nullptr;  // whose operator called what went on here, while job_ is done
  std::unique_ptr<os::Fiber> fiber_;
};

}  // namespace phicoll
