#pragma once

// A rank's handle on its group: collectives through whichever algorithm is selected.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/request.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/collectives.hpp"
#include "phicoll/group/group_memory.hpp"
#include "phicoll/group/heap.hpp"
#include "phicoll/group/rank_work.hpp"
#include "phicoll/group/split_slot.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/region.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/messages/transfer.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

class Nonblocking;
struct CollectiveRequest;

class Communicator;
class Messages;

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
class alignas(arch::stride_bytes) Communicator {
 public:
  // C++14's operator new does not align to strides.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

  /// Called by groups; users get a communicator from ThreadGroup or ProcessGroup. `shape` must be the same on
  /// all ranks.
  Communicator(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Shape& shape() const { return shape_; }
  const WaitPolicy& wait_policy() const { return wait_; }

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
  /// Makes the call that the request describes. Inline: where the operation is known when this is compiled,
  /// that is a call of its function below.
  void call(const Request& request);
  /// Copies the root's `bytes` at `buffer` to every rank's buffer.
  void broadcast(void* buffer, std::size_t bytes, int root, By algorithm = nullptr, unsigned type = 0);
  /// receive[i] on the root = send[i] of rank 0 op send[i] of rank 1 ... The others' `receive` is ignored. In
  /// place on the root only.
  void reduce(const void* send, void* receive, std::size_t count, const Operator& op, int root,
              By algorithm = nullptr);
  /// Reduces as `reduce` does, with the result on every rank.
  void allreduce(const void* send, void* receive, std::size_t count, const Operator& op,
                 By algorithm = nullptr);
  /// Reduces over ranks 0 to this one.
  void scan(const void* send, void* receive, std::size_t count, const Operator& op, By algorithm = nullptr);
  /// Reduces over ranks 0 to the one before this; rank 0's `receive` stays as it was.
  void exscan(const void* send, void* receive, std::size_t count, const Operator& op, By algorithm = nullptr);
  /// Reduces block i of `send`, of `count` elements, over all ranks to rank i.
  void reduce_scatter_block(const void* send, void* receive, std::size_t count, const Operator& op,
                            By algorithm = nullptr);
  /// Reduces block i of `send`, of counts[i] elements, over all ranks to rank i.
  void reduce_scatter(const void* send, void* receive, const std::size_t* counts, const Operator& op,
                      By algorithm = nullptr);
  /// Gathers blocks of `bytes`, in rank order, at the root's `receive`. In place on the root only, as in
  /// scatter.
  void gather(const void* send, void* receive, std::size_t bytes, int root, By algorithm = nullptr,
              unsigned type = 0);
  /// Gives rank i block i of the root's `send`.
  void scatter(const void* send, void* receive, std::size_t bytes, int root, By algorithm = nullptr,
               unsigned type = 0);
  /// Gathers blocks of `bytes`, in rank order, at every rank's `receive`.
  void allgather(const void* send, void* receive, std::size_t bytes, By algorithm = nullptr,
                 unsigned type = 0);
  /// Gives rank i block i of every rank's `send`, in rank order.
  void alltoall(const void* send, void* receive, std::size_t bytes, By algorithm = nullptr,
                unsigned type = 0);
  /// Gathers as `gather` does; block i has counts[i] bytes and begins at byte displacements[i] of the buffer.
  /// The other vector versions describe their blocks likewise.
  void gatherv(const void* send, std::size_t send_bytes, void* receive, const std::size_t* counts,
               const std::size_t* displacements, int root, By algorithm = nullptr, unsigned type = 0);
  void scatterv(const void* send, const std::size_t* counts, const std::size_t* displacements, void* receive,
                std::size_t receive_bytes, int root, By algorithm = nullptr, unsigned type = 0);
  void allgatherv(const void* send, std::size_t send_bytes, void* receive, const std::size_t* counts,
                  const std::size_t* displacements, By algorithm = nullptr, unsigned type = 0);
  void alltoallv(const void* send, const std::size_t* send_counts, const std::size_t* send_displacements,
                 void* receive, const std::size_t* counts, const std::size_t* displacements,
                 By algorithm = nullptr, unsigned type = 0);
  /// Begins a collective call that goes on while the rank is in other calls: begin([=](Communicator& c) {
  /// c.barrier(); }). The function makes its calls on the communicator that it gets, and uses that for
  /// nothing else. Collective: all ranks begin these calls in the same order, which is independent of
  /// blocking calls. So they are chosen by the host's numbers with which the communicator was made. Beginning
  /// does not wait. Leave the buffers alone until the call is done. Throws what the function throws before it
  /// has to wait.
  std::shared_ptr<CollectiveRequest> begin(std::function<void(Communicator&)> call);
  /// Prepares one call, which begin() may begin again whenever it has ended (persistent communication). The
  /// function makes the call with the same arguments each time, and does nothing else:
  /// prepare([=](Communicator& c) { c.broadcast(at, n, 0); }). All but the data is worked out once, so a
  /// small call takes about as long as a loop written by hand.
  std::shared_ptr<CollectiveRequest> prepare(std::function<void(Communicator&)> call);
  /// The same of the call that a request describes. The request, and what it refers to but its data, need not
  /// outlive this.
  std::shared_ptr<CollectiveRequest> begin(const Request& request);
  std::shared_ptr<CollectiveRequest> prepare(const Request& request);
  /// Begins a request again whose call has ended, or one that was prepared. The end may be earlier on one
  /// rank than on another, so wait for it, or test it. Throws ArgumentError if the call has not ended, or
  /// there is no request.
  void begin(const std::shared_ptr<CollectiveRequest>& request);
  /// Whether the call is done; goes on with all that the rank has begun, on all its communicators. Throws
  /// what the function threw.
  bool test(CollectiveRequest& request);
  void wait(CollectiveRequest& request);
  /// Goes on with all that the rank has begun, on all its communicators, as every call that waits or looks
  /// does. For a program that looks again and again for something beside phicoll. Throws BrokenGroupError.
  void look();
  /// What a port of this rank is to go on with in its waits: the same. It lives as long as this.
  Background& background() const { return *memory_.work; }
  /// Waits until all calls that were begun here have ended, and all sends are on their way; the destructor
  /// does this first. Throws what a wait throws, and Error in an operator of one of these calls.
  void wait_for_all();
  /// @}

  // --- Messages between two ranks (group/communicator_messages.cpp). Not collective.
  //
  // Matched in MPI's order. `tag` is 0 or more; a receive's `source` may be any_source and its tag any_tag. A
  // send to no_rank (MPI_PROC_NULL) does nothing, and a receive from it is done at once, with no bytes. Types
  // (`type`, as above) must be equal unless one of them is plain bytes.

  // A send returns when its message is in the path to the receiver or, for a large one that the receiver
  // copies from its memory, when it has been received. The paths lie in the group's heap: 2 MB for each of
  // two ranks that uses one, less among more.
  //
  // A receive throws ArgumentError if its message is larger than the buffer or of another type; the message
  // stays for another receive. A wait that cannot end, because all ranks wait or the awaited one has left,
  // breaks the group.

  void send(const void* data, std::size_t bytes, int dest, int tag = 0, unsigned type = 0);
  Envelope receive(void* buffer, std::size_t bytes, int source = any_source, int tag = any_tag,
                   unsigned type = 0);
  /// Waits for the next message of one rank and receives it as receive() does, if it is small and nothing
  /// else is under way. Otherwise returns false and leaves the message for receive().
  bool receive_now(void* buffer, std::size_t bytes, int source, int tag, unsigned type, Envelope* found);
  /// Sends and receives at the same time, so that it does not matter which the other rank does first.
  Envelope send_receive(const void* data, std::size_t bytes, int dest, int tag, void* buffer,
                        std::size_t room, int source = any_source, int receive_tag = any_tag,
                        unsigned type = 0);
  /// Begins a send or receive. It goes on as look() says, and before the rank leaves. Leave its memory alone
  /// until it is done. `synchronous`: done only when the message has been received. Dropping the result lets
  /// it go on.
  std::shared_ptr<Transfer> begin_send(const void* data, std::size_t bytes, int dest, int tag = 0,
                                       unsigned type = 0, bool synchronous = false);
  /// Begins to send a message that lies in several places.
  std::shared_ptr<Transfer> begin_send(std::vector<Transfer::Piece> pieces, int dest, int tag, unsigned type,
                                       bool synchronous = false);
  std::shared_ptr<Transfer> begin_receive(void* buffer, std::size_t bytes, int source = any_source,
                                          int tag = any_tag, unsigned type = 0);
  /// Begins to receive a message of any size; `frame` grows as needed.
  std::shared_ptr<Transfer> begin_receive(std::shared_ptr<FrameBytes> frame, int source, int tag,
                                          unsigned type);
  /// Begins to receive the message that hold() found, and no other.
  std::shared_ptr<Transfer> begin_receive(const Envelope& held, void* buffer, std::size_t bytes,
                                          unsigned type = 0);
  std::shared_ptr<Transfer> begin_receive(const Envelope& held, std::shared_ptr<FrameBytes> frame,
                                          unsigned type);
  /// Throws what begin_send or begin_receive throws of such a transfer's arguments; its message lies at
  /// `data`.
  void check_transfer(const Transfer& wanted, const void* data) const;
  /// Whether the transfer is done; goes on with all that the rank has begun, on all its communicators.
  bool test(const Transfer& transfer);
  void wait(Transfer& transfer);
  /// Waits until one of the requests is done and returns the index of the first that is; wait() or test()
  /// ends it. They may belong to any of the rank's communicators. Throws ArgumentError if there are none, or
  /// one is null.
  std::size_t wait_any(const std::vector<std::shared_ptr<Begun>>& begun);
  template <class One>
  std::size_t wait_any(const std::vector<std::shared_ptr<One>>& begun) {
    return wait_any(std::vector<std::shared_ptr<Begun>>(begun.begin(), begun.end()));
  }
  /// Withdraws a receive that no message has matched. Returns false if one has.
  bool cancel(Transfer& transfer);
  /// Waits for the message that a receive would take next, and leaves it there.
  Envelope probe(int source = any_source, int tag = any_tag);
  /// Looks for such a message without waiting, and goes on as test() does. Returns false if there is none.
  bool probe_now(Envelope* found, int source = any_source, int tag = any_tag);
  /// Probe as `probe` and `probe_now` do (MPI_Mprobe, MPI_Improbe), and reserve the message for the caller:
  /// no other receive or probe finds it.
  Envelope hold(int source = any_source, int tag = any_tag);
  bool hold_now(Envelope* found, int source = any_source, int tag = any_tag);

  /// Sets what the operation uses from now on, in nonblocking calls too: `auto` or an algorithm. The default
  /// is `auto`, unless the environment has PHICOLL_BROADCAST or the like. Calls already begun keep theirs.
  /// Collective. Throws what Family::parse throws, and ResourceError for a barrier above the memory limit.
  void select(Operation operation, const std::string& spec);
  /// Selects as above, with the algorithm's shared memory at byte `place` of the region (a multiple of 64),
  /// which measurements vary. If the algorithm moves data, all others in use end.
  void select_at(Operation operation, const AlgorithmSpec& spec, std::size_t place);
  /// What a call with these facts would use, and why; by default barrier(). Not collective.
  AlgorithmChoice why(const CallFacts& facts = CallFacts());
  /// What this very call would use.
  AlgorithmChoice why(const Request& request);
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
  std::unique_ptr<Communicator> dup(std::size_t memory_limit = 0) { return split(0, rank_, memory_limit); }
  /// Makes a communicator of some ranks, in the order of `members`. Collective over these alone, with the
  /// same list and tag. A `memory_limit` of 0 means as much as split gives to one of four parts. Throws what
  /// split throws, and ArgumentError for a list without the calling rank or with a rank twice.
  std::unique_ptr<Communicator> create_group(const std::vector<int>& members, int tag = 0,
                                             std::size_t memory_limit = 0);
  /// This rank's number in the group that it began in.
  int root_rank() const { return memory_.control->root_rank(rank_); }

  /// Measures the host's numbers that such a group needs and stores them for this kind of host, as the
  /// group's first large call does. `anew`: forgets all that were stored. Later calls of this communicator
  /// use them. Collective.
  [[gnu::noinline, gnu::cold]] void calibrate(bool anew);

  /// @name Shared memory for data
  /// Not collective; a group and all that split from it have one heap (group/heap.hpp).
  /// @{

  /// Allocates memory that all ranks of the group reach, not zeroed, aligned to at least 128 bytes. Throws
  /// ResourceError with what was asked for and what is free. Unless `reserved`, its pages are taken by
  /// reserve() or by first touches.
  void* allocate(std::size_t bytes, bool reserved = true) {
    check_process();
    return heap_.take(bytes, reserved).at;
  }
  /// Takes the pages of a part of what allocate returned. Throws ResourceError if the machine has none left.
  void reserve(const void* from, std::size_t bytes) const { heap_.reserve(from, bytes); }
  /// Frees memory that any rank of the group got from allocate(). Throws ArgumentError("pointer").
  void release(void* pointer) {
    check_process();
    heap_.give_back(pointer);
  }
  /// Whether all of the range is in memory that every rank of the group reaches.
  bool in_shared_memory(const void* pointer, std::size_t bytes) const {
    return memory_.control->holds(pointer, bytes);
  }
  std::size_t heap_bytes() const { return heap_.bytes(); }
  std::size_t heap_free_bytes() const { return heap_.free_bytes(); }
  /// @}

  /// Breaks the group: this rank cannot go on, and the others must not wait for it. They get a
  /// BrokenGroupError that names this rank and the reason.
  void fail(const std::string& reason) {
    check_process();
    memory_.control->break_group(rank_, reason.c_str());
  }
  /// Breaks the group because of an exception, whose first line is the reason.
  void fail(const std::exception& error);

  /// Whether the calling process may use the group: the rank's own, or a fork of it if the group has one
  /// rank, in private memory.
  bool in_own_process() const { return home_.here() || has_private_copy(); }
  /// Throws Error otherwise. Every call does it first.
  void check_process() {
    if (__builtin_expect(!home_.here(), 0)) enter_from_fork();
  }

  std::size_t region_bytes() const { return region_.bytes(); }
  /// The region's memory, for measurements that place something else where a barrier would lie, and leave it
  /// zeroed.
  unsigned char* region() const { return memory_.region; }
  Control& control() { return *memory_.control; }

  /// Notes a call of the communicator's ranks that another library serves, before the rank makes it. Counted
  /// as a call, so that a rank which waits in one of phicoll's calls meanwhile finds that they do not fit.
  /// Throws BrokenGroupError.
  void note_elsewhere(SignatureWord call);

  /// Keeps this rank's calls from being compared with the others' when it ends. For a communicator that the
  /// program lost (by an exception, say) instead of ending it in order.
  void abandon();

  /// Sets a function that is called at every turn of every wait of this rank, on all communicators of its
  /// group, for example for another library's messages, which the awaited rank may need first. It must not
  /// call phicoll. The rank then does not sleep in waits. Null: none.
  void set_progress(void (*progress)());
  /// Sets the interpreter that makes this rank's calls, on all communicators of its group; before any of
  /// them. Null: none.
  void set_interpreter(Interpreter* interpreter);

  /// The number of collective calls that this rank has begun.
  std::uint64_t calls() const { return calls_.begun(); }

 private:
  friend class Barrier;
  friend class Collectives;
  friend class Messages;
  friend class Nonblocking;
  friend class NumberTrials;
  NativePort make_port(const WaitPolicy& wait) {
    NativePort port(*memory_.control, rank_, wait, &calls_, &hand_over_);
    equip(port);
    return port;
  }
  void equip(NativePort& port) const;
  /// A call that blocks may never have to wait, and nor may those after it: what the rank has begun goes on
  /// all the same.
  void go_on_in_passing() {
    if (__builtin_expect(begun_->load(std::memory_order_relaxed) != 0, 0)) memory_.work->look_in_passing();
  }
  std::unique_ptr<AnyCollective<NativePort>> made(Operation operation, const AlgorithmSpec& spec,
                                                  const Setup& setup, const WaitPolicy& wait) const;
  [[gnu::noinline, gnu::cold]] void begin_to_wait() const;
  void give_back(const Region::Block& block) { region_.give_back(block); }
  [[gnu::noinline, gnu::cold]] void learn_numbers();
  void use_numbers(const HostNumbers& host);
  void run(CallFacts facts, Call& call, const AlgorithmSpec* algorithm);
  [[gnu::noinline]] bool look_up(CallFacts facts, const Call& call);
  [[gnu::noinline, gnu::cold]] void run_anew(CallFacts facts, const Call& asked,
                                             const AlgorithmSpec* algorithm);
  void check_whole() const;
  [[gnu::noinline]] void begin_first(const std::shared_ptr<CollectiveRequest>& request);
  [[gnu::noinline, gnu::cold]] void wait_in_fork(CollectiveRequest& request);
  bool has_private_copy() const;
  [[gnu::noinline, gnu::cold]] void enter_from_fork();
  CallBoard::Noted* begin(Call& call, SignatureWord signature, SignatureWord by);
  void check_root(int root) const;
  void check_buffer(const char* name, const void* pointer, std::size_t bytes);
  using Extent = request_rules::Extent;
  std::size_t mean_block(const Request& request, const Extent& extent) const;
  void check_ends(const Request& request, const Extent& extent);
  void check_fit(const Request& request, const Extent& extent);
  template <Operation operation, bool counted = false>
  void submit(const Request& request);
  [[gnu::noinline, gnu::cold]] void exchange_in_place(Request request);
  [[noreturn]] void refuse_alone(const char* argument, const std::string& got, const std::string& allowed);
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_null(const char* argument, std::size_t bytes);
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_size(const char* argument, std::size_t got,
                                                          std::size_t own);
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_overlap();
  [[gnu::noinline, gnu::cold]] void refuse_end(const char* argument, const Blocks& blocks);
  void sync();
  Messages& messages();
  [[gnu::noinline, gnu::cold]] Messages* make_messages();
  PartRoom room_for_parts() const;
  std::size_t region_for(std::size_t members, std::size_t parts, PartRoom room) const;
  std::size_t default_region(std::size_t members) const;
  HostNumbers numbers_for(std::size_t members) const;
  void found_child(const std::vector<int>& members, std::size_t region_bytes, const HostNumbers& host,
                   SplitSlot& slot);
  std::unique_ptr<Communicator> child(const std::vector<int>& members, const SplitSlot& slot,
                                      Nonblocking* nonblocking = nullptr);
  std::unique_ptr<Communicator> twin(Nonblocking& nonblocking);
  Nonblocking& nonblocking();
  bool send_now(const void* data, std::size_t bytes, int dest, int tag, unsigned type);
  Envelope carry_out(const Transfer& wanted);
  void fail_others(const std::exception& error);
  template <class Function>
  auto on_messages(const Function& function) -> decltype(function(std::declval<Messages&>()));
  bool find(Envelope* found, int source, int tag, bool waits, bool holds);
  std::shared_ptr<Transfer> begin(Transfer wanted);
  void finish(Transfer& transfer);
  void exchange(void* data, std::size_t bytes, int peer, int tag, bool sends);
  AlgorithmChoice first_barrier() const;
  void begin_with_barrier();
  void select(Operation operation, const AlgorithmSpec& spec, const std::size_t* place);
  void select_for_begun(Operation operation, const std::string& spec);
  void make_room(std::size_t bytes);
  Region::Block take_zeroed(std::size_t bytes, const std::size_t* place);
  void reserve_own_part(const Region::Block& block);

  // What barrier() touches lies side by side.
  AnyCollective<NativePort>::Bare enter_ = nullptr;
  AnyCollective<NativePort>* entered_ = nullptr;
  os::HomeProcess home_;
  CallHistory calls_;
  NativePort barrier_port_;
  CallBoard* board_;               // null: calls are not noted
  const std::atomic<int>* begun_;  // RankWork::begun(); 0 where nonblocking calls are made

  // The present or last broadcast; reduce; allgather or alltoall. Every such call sets the same members, so
  // the others stay clear: clearing them anew takes as long as the rest of a small broadcast. Only run_anew
  // begins another broadcast within one, and copies the record before; no reduce begins within another, and
  // no allgather or alltoall.
  Call broadcast_;
  Call reduce_;
  Call exchange_;

  GroupMemory memory_;
  int rank_;
  Shape shape_;
  int size_;
  WaitPolicy wait_;
  Region region_;
  NativePort port_;
  std::unique_ptr<AnyCollective<NativePort>> sync_;
  std::unique_ptr<Barrier> barrier_;
  std::unique_ptr<Collectives> collectives_;
  std::string reason_;
  std::vector<bool> reserved_;  // pages of the region
  HandOver hand_over_;
  Heap heap_;
  std::atomic<Messages*> messages_{nullptr};  // made by any thread of the rank, which holds work then
  std::unique_ptr<Nonblocking> nonblocking_;
  std::map<Operation, std::string> selected_;
  const HostNumbers first_numbers_;  // those it began with, which all ranks know at any time
  bool abandoned_ = false;
  std::uint64_t twins_asked_ = 0;  // see twin()
  class Mailbox final : public Addressed {
   public:
    explicit Mailbox(Communicator& own) : own_(own) {}
    void meet_messages() override;

   private:
    Communicator& own_;
  };
  Mailbox mailbox_{*this};
};

inline void Communicator::call(const Request& r) {
  const Blocks& out = r.send_blocks;
  const Blocks& in = r.receive_blocks;
  switch (r.operation) {
    case Operation::barrier:
      return barrier();
    case Operation::broadcast:
      return broadcast(r.receive, r.count, r.root, r.algorithm, r.type);
    case Operation::reduce:
      return reduce(r.send, r.receive, r.count, *r.op, r.root, r.algorithm);
    case Operation::allreduce:
      return allreduce(r.send, r.receive, r.count, *r.op, r.algorithm);
    case Operation::gather:
      return r.vector ? gatherv(r.send, r.count, r.receive, in.counts, in.displacements, r.root, r.algorithm,
                                r.type)
                      : gather(r.send, r.receive, r.count, r.root, r.algorithm, r.type);
    case Operation::scatter:
      return r.vector ? scatterv(r.send, out.counts, out.displacements, r.receive, r.count, r.root,
                                 r.algorithm, r.type)
                      : scatter(r.send, r.receive, r.count, r.root, r.algorithm, r.type);
    case Operation::allgather:
      return r.vector
                 ? allgatherv(r.send, r.count, r.receive, in.counts, in.displacements, r.algorithm, r.type)
                 : allgather(r.send, r.receive, r.count, r.algorithm, r.type);
    case Operation::alltoall:
      return r.vector ? alltoallv(r.send, out.counts, out.displacements, r.receive, in.counts,
                                  in.displacements, r.algorithm, r.type)
                      : alltoall(r.send, r.receive, r.count, r.algorithm, r.type);
    case Operation::scan:
      return r.exclusive ? exscan(r.send, r.receive, r.count, *r.op, r.algorithm)
                         : scan(r.send, r.receive, r.count, *r.op, r.algorithm);
    case Operation::reduce_scatter:
      return r.vector ? reduce_scatter(r.send, r.receive, out.counts, *r.op, r.algorithm)
                      : reduce_scatter_block(r.send, r.receive, r.count, *r.op, r.algorithm);
  }
}

inline void Barrier::wait() {
  owner_->check_process();
  calls_->begin();
  algorithm_->bare()(*algorithm_, port_);
}

}  // namespace phicoll
