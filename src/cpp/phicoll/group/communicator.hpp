#pragma once

// A rank's handle on its group: collectives through whichever algorithm is selected.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/request.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/collectives.hpp"
#include "phicoll/group/point_to_point.hpp"
#include "phicoll/group/split_slot.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

class Communicator;
class Nonblocking;
struct BegunCall;

/// One rank's side of one barrier of a group. All ranks make their barriers in the same order, and destroy
/// them in the same order.
class Barrier {
 public:
  /// Beside Communicator::barrier(). Collective.
  Barrier(Communicator& owner, const std::string& spec);
  Barrier(Barrier&&) = default;
  Barrier& operator=(Barrier&&);
  ~Barrier();
  /// No rank leaves its n-th wait before every rank has entered its n-th. Throws BrokenGroupError,
  /// TimeoutError.
  void wait();
  const AlgorithmSpec& spec() const { return spec_; }

 private:
  friend class Communicator;
  Barrier(Communicator& owner, const AlgorithmSpec& spec, const std::size_t* place);
  void release();

  CallHistory* calls_ = nullptr;
  std::unique_ptr<AnyCollective<NativePort>> algorithm_;
  NativePort port_;
  Communicator* owner_ = nullptr;
  Region::Block block_{0, 0, false};
  AlgorithmSpec spec_;
};

/// A rank's handle on its group. Cannot be copied or moved, because barriers refer to it. Only its own rank's
/// thread may use it. In a process that the rank forked every call throws Error and has no effect on the
/// group.
class alignas(arch::stride_bytes) Communicator : public PointToPoint {
 public:
  // C++14's operator new does not align to strides.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

  /// Called by groups; users get a communicator from ThreadGroup or ProcessGroup. `shape` must be the same on
  /// all ranks.
  Communicator(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait);
  ~Communicator();

  /// Blocks until every rank of the group has called it. Uses `auto` unless select() chose. Collective.
  void barrier() {
    check_process();
    go_on_in_passing();
    if (__builtin_expect(enter_ == nullptr, 0)) begin_with_barrier();
    calls_.begin();
    enter_(*entered_, barrier_port_);
  }
  /// @name Data Every function is collective: all ranks call the same functions in the same order, with the
  /// same root, counts and operator. As in MPI, a rank may return before others have come, or wait for them:
  /// that depends on the algorithm, the size and where buffers lie.
  ///
  /// Throws BrokenGroupError and TimeoutError as barrier() does. A fault that all ranks see alike (root,
  /// operator) throws ArgumentError, without effect. A fault that only one rank sees (its buffers) throws
  /// there and breaks the group. @{

  /// Sizes are in bytes; `count` is in elements of the operator's type. Buffers may have any alignment.
  ///
  /// In place: a null `send` means, as in MPI, that the rank's data is where its result will be. In gather,
  /// scatter and allgather, a buffer that is exactly the rank's own block in the other one means the same.
  ///
  /// `type`: the type of the bytes, by type_number or by a number up to most_types that the caller gives; 0
  /// for plain bytes. `algorithm`: serves this call instead of the selected one (Family::parse). Both are the
  /// same on all ranks.

  using By = const AlgorithmSpec*;
  using Sizes = const std::size_t*;
  /// Makes the call that the request describes. Inline: where the operation is known when this is compiled,
  /// that is a call of its method below.
  void call(const Request& request);
  /// A method for each call, which makes the Request's of that name: its arguments are described there.
#define PHICOLL_METHOD(name, operation, counted, exclusive, kind, parameters, ...) \
  void name(PHICOLL_LISTED parameters, PHICOLL_GIVEN_##kind);
  PHICOLL_CALLS(PHICOLL_METHOD)
#undef PHICOLL_METHOD
  /// Begins a collective call, which goes on while the rank is in other calls:
  /// begin(Request::allreduce(&mine, &sum, 1, op)). Collective: all ranks begin these calls in the same
  /// order, which is independent of blocking calls. So they are chosen by the host's numbers with which the
  /// communicator was made. Beginning does not wait. The data, and what the operator refers to, must stay
  /// until the call is done; the rest is copied. Leave the buffers alone until then. Throws what the call
  /// throws before it has to wait.
  std::shared_ptr<BegunCall> begin(const Request& request);
  /// Prepares a call, which begin() may begin again whenever it has ended (persistent communication). All but
  /// the data is worked out once, so a small call takes about as long as a loop written by hand.
  std::shared_ptr<BegunCall> prepare(const Request& request);
  /// Begins a prepared call, or repeats one that has ended. A call may end on one rank before it ends on
  /// another, so wait for it or test it here first. Throws ArgumentError if it has not ended, or is null.
  void begin(const std::shared_ptr<BegunCall>& begun);
  /// Whether the call is done; goes on with all that the rank has begun, on all its communicators. Throws
  /// what the call threw.
  bool test(BegunCall& begun);
  void wait(BegunCall& begun);
  using PointToPoint::test;
  using PointToPoint::wait;
  /// Waits until all calls that were begun here have ended, and all sends are on their way; the destructor
  /// does this first. Throws what a wait throws, and Error in an operator of one of these calls.
  void wait_for_all();
  /// @}

  /// Sets what the operation uses from now on, in nonblocking calls too: `auto` or an algorithm. The default
  /// is `auto`, unless the environment has PHICOLL_BROADCAST or the like. Calls already begun keep theirs.
  /// Collective. Throws what Family::parse throws, and ResourceError for a barrier above the memory limit.
  void select(Operation operation, const std::string& spec);
  /// From now on the reductions' bits depend on their operands alone, ((x0 op x1) op x2) ..., whatever the
  /// root, the count and the machine: selects auto:reproducible=yes for all of them; false: `auto`.
  /// Collective. Not for the communicators that are split from this one.
  void reproducible(bool on);
  /// Selects as above, with the algorithm's shared memory at byte `place` of the region (a multiple of 64),
  /// which measurements vary. If the algorithm moves data, all others in use end.
  void select_at(Operation operation, const AlgorithmSpec& spec, std::size_t place);
  /// What the call that a request describes would use, and why; by default barrier(). Not collective. The
  /// request's data need not be there; facts_of() says what else may be missing.
  AlgorithmChoice why(const Request& request = Request());
  Collectives& collectives();

  // --- sub-communicators (group/split.cpp)

  /// A part of a split takes `memory_limit` bytes of the group's heap for its collectives, as its first rank
  /// says. 0 means 32 MB or, if less, as much as this communicator has, a fifteenth of the heap, or a seventh
  /// of it for all parts; but at least 4 MB while all parts take at most a quarter. Once parts have half of
  /// the heap, at most 4 MB; from 19/32 on 512 KB; from 20/32 on, or with a sixteenth left, 32 KB for two
  /// ranks and 16 KB more for each further one up to sixteen.

  /// Makes a communicator of the ranks that give the same `color`, ordered by `key` and, where keys are
  /// equal, by their rank here. Returns null to a rank whose color is negative. Collective; so is destroying
  /// the result, before this rank's group ends: it does not wait, and the last rank gives the memory back.
  /// Whatever breaks the result breaks the whole group, and errors name ranks by their number there. Throws
  /// ResourceError, on all ranks of one color alike and without effect, if the heap has no room.
  std::unique_ptr<Communicator> split(int color, int key, std::size_t memory_limit = 0);
  /// Makes a communicator with the same ranks.
  std::unique_ptr<Communicator> dup(std::size_t memory_limit = 0) {
    return split(0, rank_, memory_limit);
  }
  /// Makes a communicator of some ranks, in the order of `members`. Collective over these alone, with the
  /// same list and tag. A `memory_limit` of 0 means as much as split gives to one of four parts. Throws what
  /// split throws, and ArgumentError for a list without the calling rank or with a rank twice.
  std::unique_ptr<Communicator> create_group(const std::vector<int>& members, int tag = 0,
                                             std::size_t memory_limit = 0);

  /// Measures the host's numbers that such a group needs and stores them for this kind of host, as the
  /// group's first large call does. `anew`: forgets all that were stored. Later calls of this communicator
  /// use them. Collective.
  [[gnu::noinline, gnu::cold]] void calibrate(bool anew);

  /// Notes a call of the communicator's ranks that another library serves, before the rank makes it. Counted
  /// as a call, so that a rank which waits in one of phicoll's calls meanwhile finds that they do not fit.
  /// Throws BrokenGroupError.
  void note_elsewhere(SignatureWord call);

  /// Keeps this rank's calls from being compared with the others' when it ends. For a communicator that the
  /// program lost (by an exception, say) instead of ending it in order.
  void abandon();

 private:
  friend class Barrier;
  friend class Nonblocking;
  [[gnu::noinline, gnu::cold]] void learn_numbers();
  void use_numbers(const HostNumbers& host);
  void run(CallFacts facts, Call& call, const AlgorithmSpec* algorithm);
  [[gnu::noinline]] bool look_up(CallFacts facts, const Call& call);
  [[gnu::noinline, gnu::cold]] void run_anew(CallFacts facts, const Call& asked,
                                             const AlgorithmSpec* algorithm);
  void check_whole() const;
  [[gnu::noinline]] void begin_first(const std::shared_ptr<BegunCall>& begun);
  [[gnu::noinline, gnu::cold]] void wait_in_fork(BegunCall& begun);
  CallBoard::Noted* begin(Call& call, SignatureWord signature, SignatureWord by);
  template <Operation operation, bool counted = false>
  void submit(const Request& request);
  [[gnu::noinline, gnu::cold]] void exchange_in_place(Request request);
  std::unique_ptr<Communicator> child(const std::vector<int>& members, const SplitSlot& slot,
                                      Nonblocking* nonblocking = nullptr);
  std::unique_ptr<Communicator> twin(Nonblocking& nonblocking);
  Nonblocking& nonblocking();
  AlgorithmChoice first_barrier() const;
  void begin_with_barrier();
  void select(Operation operation, const AlgorithmSpec& spec, const std::size_t* place);
  void select_for_begun(Operation operation, const AlgorithmSpec& spec);
  void make_room(std::size_t bytes);

  // What barrier() touches lies side by side: see Member.
  AnyCollective<NativePort>::Bare enter_ = nullptr;
  AnyCollective<NativePort>* entered_ = nullptr;
  NativePort barrier_port_;

  // The present or last broadcast; reduce; allgather or alltoall. Every such call sets the same members, so
  // the others stay clear: clearing them anew takes as long as the rest of a small broadcast. Only run_anew
  // begins another broadcast within one, and copies the record before; no reduce begins within another, and
  // no allgather or alltoall.
  Call broadcast_;
  Call reduce_;
  Call exchange_;

  std::unique_ptr<Barrier> barrier_;
  std::unique_ptr<Collectives> collectives_;
  std::string reason_;
  struct EndBegun {  // where a Nonblocking is known
    void operator()(Nonblocking* begun) const;
  };
  std::unique_ptr<Nonblocking, EndBegun> nonblocking_;
  std::map<Operation, AlgorithmSpec> selected_;
  const HostNumbers first_numbers_;  // those it began with, which all ranks know at any time
  bool abandoned_ = false;
  std::uint64_t twins_asked_ = 0;  // see twin()
};

inline void Communicator::call(const Request& r) {
  switch (request_rules::call_number(r.operation, r.vector, r.exclusive)) {
    case request_rules::call_number(Operation::barrier, false, false):
      return barrier();
#define PHICOLL_METHOD(name, operation, counted, exclusive, kind, parameters, arguments, of_request) \
  case request_rules::call_number(Operation::operation, counted, exclusive):                         \
    return name(PHICOLL_LISTED of_request, PHICOLL_OF_REQUEST_##kind);
      PHICOLL_CALLS(PHICOLL_METHOD)
#undef PHICOLL_METHOD
    default:
      request_rules::refuse_call(r);
  }
}

inline void Barrier::wait() {
  owner_->check_process();
  calls_->begin();
  algorithm_->bare()(*algorithm_, port_);
}

}  // namespace phicoll
