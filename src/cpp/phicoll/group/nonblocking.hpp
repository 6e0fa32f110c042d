#pragma once

// Collectives that go on after the call that began them.
//
// The calls are made on a second communicator of the same ranks, so that the user's blocking calls may come
// between them. The first rank that begins one makes its memory: beginning waits for no other rank.
//
// One call runs at a time, in the order in which they were begun. All ranks share that order, so a call waits
// for the same calls on every rank, and the first unfinished call never waits for a later one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/own_blocks.hpp"
#include "phicoll/collectives/contract/request.hpp"
#include "phicoll/group/rank_work.hpp"
#include "phicoll/memory/call_board.hpp"
#include "phicoll/memory/call_history.hpp"
#include "phicoll/os/fiber.hpp"
#include "phicoll/ports/native_port.hpp"
#include "phicoll/waiting/stuck_search.hpp"

// A call advances in two ways:
//
// 1. On a stack of its own, which it leaves where it would wait. Later, a wait or test of the rank returns
//    to it if the call can go on. So every algorithm serves them unchanged.
// 2. In two parts, if its algorithm offers them (contract/algorithm.hpp) and nothing was begun before it. The
//    part before the first wait runs when the call begins, as early for peers as a blocking call. If the next
//    look at the call is its wait, the rest runs on the caller's stack; else as in 1.

namespace phicoll {

class Communicator;

/// A collective call that can be begun, again and again, and goes on by itself. Leave its memory alone
/// meanwhile. What serves it is kept, so that it can be made again.
struct BegunCall : Begun {
  /// Takes copies of all that the request refers to, but for data.
  BegunCall(const Request& of, int rank, int ranks);

  std::exception_ptr error;  ///< the error that it ended by, if any
  AnyCollective<NativePort>* algorithm = nullptr;
  NativePort* leaves = nullptr;       ///< waits by leaving the stack
  NativePort* stays = nullptr;        ///< waits as in a blocking call
  std::uint64_t* last_use = nullptr;  ///< the algorithm's; null: a barrier, which is not noted
  std::uint64_t valid = 0;            ///< Collectives::changes when it was made; 0: never
  SignatureWord signature = 0;
  SignatureWord mark = 0;
  std::uint64_t next_tag = 0;  ///< the call's tag if it is the next one
  Call call;
  Request request;
  bool selects = false;  ///< makes no call: later calls of its operation take its algorithm

  /// Takes copies of the blocks of `call`.
  void keep_blocks(int ranks);
  BegunCall(const BegunCall&) = delete;  // it refers to itself
  BegunCall& operator=(const BegunCall&) = delete;

 private:
  Operator operator_;
  AlgorithmSpec algorithm_;
  OwnBlocks sent_, received_;       // of the request
  OwnBlocks blocks_, send_blocks_;  // of the call
};

/// The calls that a rank has begun on one communicator. One of the rank's threads at a time goes on with
/// them; meanwhile go_on() returns false for others.
class Nonblocking final : public Ongoing, private Elsewhere {
 public:
  using Shared = std::shared_ptr<BegunCall>;
  /// Thrown by a call that would have to wait before its algorithm runs, while starts_here().
  struct NotYet {};

  explicit Nonblocking(Communicator& owner);
  /// Ends what goes on, with an error; the group is broken then.
  ~Nonblocking();
  Nonblocking(const Nonblocking&) = delete;
  Nonblocking& operator=(const Nonblocking&) = delete;

  /// Begins a call and does what can be done without waiting. Throws what the call throws by then, and
  /// ArgumentError if it is already active.
  void begin(const Shared& call);
  /// Throws what the call threw.
  void wait(BegunCall& made);
  void wait_for_all();
  /// As Communicator::select, for the calls that are begun after it.
  void select(Operation operation, const AlgorithmSpec& spec);
  /// As Communicator::abandon.
  void abandon();

  bool pending() const override { return under_way(); }
  bool under_way() const override { return unfinished_.load(std::memory_order_acquire) != 0; }
  bool go_on() override;

  /// Calls job() on the stack of the program's own call, which has room for an interpreter. Returns when it
  /// has. Throws what it throws.
  static void on_callers_stack(const std::function<void()>& job);

  /// @name For the communicator on which the calls are made
  /// @{
  Elsewhere* elsewhere() { return this; }
  /// The algorithm with entries that lead here first.
  std::unique_ptr<AnyCollective<NativePort>> entered_here(
      std::unique_ptr<AnyCollective<NativePort>> algorithm, const WaitPolicy& wait);
  /// Whether a call is being made on the stack of the one that begins it, which is not to wait.
  bool starts_here() const { return starts_here_; }
  /// Keeps memory of a call that is being made until it has ended.
  void keep(std::shared_ptr<void> memory) { held_.push_back(std::move(memory)); }
  /// @}

 private:
  class Entered;
  class Hold;
  /// The progress of the first call.
  enum class Stage : unsigned char {
    none,        ///< there is none
    request,     ///< to be made, or being made, from its request, on the other stack
    algorithm,   ///< the same by its algorithm
    half,        ///< the rest of its algorithm is to be done, on either stack
    rest,        ///< the same, begun on the other stack
    completing,  ///< the rest is being done on the caller's stack
  };

  void wait(Look look, const void* awaited) override;
  void run_all();
  void run_first();
  void make(const BegunCall& made);
  void enter(Entered& by, NativePort& port, const Call* call);
  [[gnu::noinline]] void begin_anew(const Shared& call);
  void begin_here(const Shared& call);
  template <class Function>
  bool begin_by(const Function& function);
  [[gnu::noinline]] void make_here(BegunCall& made);
  Started start_again(BegunCall& made);
  void count_again(const BegunCall& made);
  BegunCall* prepare_again(BegunCall& made);
  void note(const BegunCall& made);
  [[gnu::noinline]] void follow(BegunCall& made, Started started);
  [[gnu::noinline]] void follow_again(BegunCall& made, Started started);
  void end_begun(BegunCall& made);
  [[gnu::noinline, gnu::cold]] void fail_begun(BegunCall& made);
  [[gnu::noinline]] void begin_elsewhere(BegunCall& made);
  [[noreturn, gnu::noinline, gnu::cold]] static void rethrow(BegunCall& made);
  template <class Function>
  void in_call(const BegunCall& made, const Function& function);
  void complete(BegunCall& made);
  void complete_in_place(BegunCall& made);
  void complete_here(bool alone);
  [[gnu::noinline]] void put_in_queue(const Shared& call);
  void look_in_place(const BegunCall& made);
  void check_peers(NativePort::Patience& patience);
  [[gnu::noinline]] void wait_in_turn(BegunCall& made);
  [[gnu::noinline, gnu::cold]] void fail_first();
  [[gnu::noinline]] void put_aside();
  void note_end(BegunCall& made);
  void end_first();
  std::size_t queued() const;
  void count_unfinished(std::size_t calls);
  /// Whether this thread is in a call of this, further up on its stack.
  bool is_held() const { return held_by_call_ || stage_ == Stage::completing; }
  bool is_outside() const;
  Shared last();
  bool ready() const;
  void move();
  void end_all();

  Communicator& owner_;
  RankWork& work_;
  std::unique_ptr<Communicator> inner_;
  CallHistory& calls_;  // of inner_
  CallBoard* board_;    // likewise
  StuckSearch stuck_;
  NativePort port_;
  ThreadLock lock_{work_};  // what follows is used under it (Hold)
  bool held_by_call_ = false;
  bool starts_here_ = false;
  Stage stage_ = Stage::none;
  Shared first_;              // the call that was started, or the last call of all if the caller still has it
  std::deque<Shared> queue_;  // not started yet
  // The last call, if the next begin may repeat it as it is, since inner_ has made no other call. Otherwise
  // null.
  BegunCall* again_ = nullptr;
  // The first call, if begin() repeated it and nothing has gone on with it since. Otherwise null, or a call
  // that has ended.
  BegunCall* in_place_ = nullptr;
  std::atomic<std::size_t> unfinished_{0};
  CallBoard::Noted unnoted_{};
  CallBoard::Noted* noted_ = &unnoted_;       // where the first call is noted, if it was made here
  std::vector<std::shared_ptr<void>> held_;   // kept by the first call itself
  std::vector<std::shared_ptr<void>> ended_;  // what was kept for calls: it goes on the caller's stack
  bool ending_ = false;
  Look look_ = nullptr;  // what the first one waits for
  const void* awaited_ = nullptr;
  const std::function<void()>* job_ = nullptr;  // what it wants done on the caller's stack
  std::exception_ptr job_error_;
  Nonblocking* outer_ = nullptr;  // in whose call this thread was before it went on here
  std::unique_ptr<os::Fiber> fiber_;
};

}  // namespace phicoll
