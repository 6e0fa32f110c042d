#pragma once

// NativePort: one rank's way into real shared memory, between threads or between processes. Everything an
// algorithm does inlines to the bare instruction; waiting and waking have one inline check each, the rest is
// out of line.
//
// The contract that every port gives an algorithm (SimPort and CountPort give the same):
//   rank()                                   this rank's number
//   load_relaxed, load_acquire               one word
//   store_relaxed, store_release             one word that no rank sleeps on
//   exchange, compare_exchange, fetch_add, fetch_or   acquire and release
//   signal(word, v), signal_add, signal_or   store or update with release, then wake its sleepers
//   signal(line, v, policy)                  the same for a line with a sole writer, perhaps stored whole
//   signal_bytes(line, v)                    all 64 bytes of a line with no other writer now
//   wait(word, condition, from, meanwhile)   until the condition holds, with acquire; `from` is the rank that
//                                            will signal, any_rank if it is not one known rank. Both are
//                                            hints for when to yield
//   take_turn(patience)                      between two looks of a wait for any of several words
//   wait_line(line, mask, value, from)       until every byte of the mask (bit b: byte b) equals value
//   load_line, store_line, prefetch, evict   a whole line
//   fence()                                  sequentially consistent
//   pause(), now()                           one polite turn; a clock of ns for diagnostics
//   ticks()                                  the machine's cycle counter, one clock for all ranks: every load
//                                            before it has its value, no access after it has begun; stores
//                                            before it may still be on their way (put fence() before
//                                            it where that matters). ns where the counter is no clock
//   wait_until(ticks)                        until ticks() has reached a value: a start by time stamp
//   copy(destination, source, bytes)         whole lines from shared memory to shared memory, not
//                                            overlapping. Becomes visible line by line in ascending order,
//                                            the last word of the last line last: a rank that acquires
//                                            it sees the whole copy and all that was stored before it
//   bind(pointer, bytes), shared(pointer)    Data: a range of the rank's own memory, or a place in shared
//                                            memory. A pointer that was not bound is an error where a port
//                                            can tell
//   move(to, from, bytes, stores)            any bytes between any Data, not overlapping; a plain copy, made
//                                            visible by the signal that follows it
//   hand(to, from, bytes, distance, word)    move(), for one rank to read next, which writes to `word` whenever it
//                                            has; `distance` is what is known of how far that rank is
//   combine(op, to, left, right, count)      to[i] = left[i] op right[i]; `to` may be `left` or `right`
//   reachable(data, bytes)                   whether the loads and stores of all peers reach the data
//   near(bytes)                              whether peers get what this rank has written sooner from its
//                                            cache than from memory, as far as it knows; asked before
//                                            `bytes` bytes of data that they are to read
//   exposable(data, bytes)                   whether peers can reach the data where it lies, in any way.
//                                            Its owner asks and tells the others; if they cannot, the data
//                                            goes through shared memory
//   expose(data)                             a handle for peers, see Exposed
//   direct(exposed), view(exposed, offset)   whether loads and stores reach it; if so, its address
//   fetch(to, exposed, offset, bytes)        reads a peer's data, in whichever way it can be reached
//   put(exposed, offset, from, bytes)        writes it
//   differ(from, sent, expected)             reports that a rank sends something other than this rank
//                                            expects of it, both in words; does not return
//   software(what)                           the instructions around a transfer, for machines that do not
//                                            execute them (a simulated one); natively nothing
// What a rank wrote before it signals is visible to every rank that returns from a wait which the signal
// satisfied.

#include <cstdint>
#include <string>

#include "phicoll/arch/line_words.hpp"
#include "phicoll/arch/streaming.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/hand_over.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/software.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

/// A function that a waiting thread calls now and then. A plain function that may throw (Python's Ctrl-C), or
/// null.
using InterruptHook = void (*)();
void set_interrupt_hook(InterruptHook hook);
/// A function that a thread calls when a wait is not over after the first looks (some hundred nanoseconds), or before
/// it gives its CPU away. Must not throw. Null: none.
using WaitHook = void (*)();
void set_wait_hook(WaitHook hook);
/// A function that returns the root of a call. Null: none is known.
using RootHook = RootOfCall (*)(SignatureWord call);
void set_root_hook(RootHook hook);

/// Work of a rank that goes on while it waits for something else.
class Background {
 public:
  virtual bool pending() const = 0;
  /// Goes on without waiting. Returns whether anything was done.
  virtual bool go_on() = 0;
  /// Takes in what others have sent to a rank that waits for long, since they may wait for room. Returns whether there was any.
  virtual bool take_in() { return false; }
  /// Whether another thread of the rank may make a call meanwhile: each communicator takes one call at a time.
  virtual bool has_several_communicators() const { return false; }

 protected:
  ~Background() = default;
};

/// Suspends a nonblocking call while it waits.
class Elsewhere {
 public:
  using Look = bool (*)(const void* awaited);
  /// Returns when look(awaited) holds or the group is broken.
  virtual void wait(Look look, const void* awaited) = 0;

 protected:
  ~Elsewhere() = default;
};

class NativePort {
 public:
  /// `calls`: the collective calls that this rank has begun. Their number tells a wait that cannot end (a
  /// peer left before this call) from one that will. Without `hand_over`, which needs `calls`, all data is
  /// stored by ordinary stores. `stuck` serves waits for messages, in which `calls` is null.
  NativePort(Control& control, int rank, WaitPolicy policy, const CallHistory* calls = nullptr,
             HandOver* hand_over = nullptr, StuckSearch* stuck = nullptr)
      : control_(&control),
        calls_(calls),
        hand_over_(hand_over),
        stuck_(stuck),
        rank_(rank),
        wait_(policy),
        sharing_(control.shares_cpu(rank)),
        roaming_(control.roams(rank)),
        looks_in_place_(in_place(policy, sharing_ || roaming_)) {}

  /// Sets the work that goes on in waits; null for none.
  void set_background(Background* background) { background_ = background; }

  /// Sets what a wait that is not over at once is handed to; null for nothing.
  void set_elsewhere(Elsewhere* elsewhere) {
    elsewhere_ = elsewhere;
    waits_met_ = 0;
    looks_in_place_ = elsewhere != nullptr ? 0 : in_place(wait_, sharing_ || roaming_);
  }

  int rank() const { return rank_; }
  Control& control() const { return *control_; }
  const WaitPolicy& wait_policy() const { return wait_; }
  /// How often a wait looks before it does anything else: 0 where the awaited rank may need this very CPU.
  unsigned looks_in_place() const { return looks_in_place_; }

  template <class T>
  T load_relaxed(const Word<T>& word) const {
    return word.atomic().load(std::memory_order_relaxed);
  }
  template <class T>
  T load_acquire(const Word<T>& word) const {
    return word.atomic().load(std::memory_order_acquire);
  }
  template <class T>
  void store_relaxed(Word<T>& word, T value) const {
    word.atomic().store(value, std::memory_order_relaxed);
  }
  template <class T>
  void store_release(Word<T>& word, T value) const {
    word.atomic().store(value, std::memory_order_release);
  }
  template <class T>
  T exchange(Word<T>& word, T value) const {
    return word.atomic().exchange(value, std::memory_order_acq_rel);
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired) const {
    return word.atomic().compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                 std::memory_order_acquire);
  }
  template <class T>
  T fetch_add(Word<T>& word, T value) const {
    return word.atomic().fetch_add(value, std::memory_order_acq_rel);
  }
  template <class T>
  T fetch_or(Word<T>& word, T value) const {
    return word.atomic().fetch_or(value, std::memory_order_acq_rel);
  }

  template <class T>
  [[gnu::always_inline]] void signal(Word<T>& word, T value) const {
    word.atomic().store(value, std::memory_order_release);
    wake(&word);
  }
  template <class T>
  T signal_add(Word<T>& word, T value) const {
    const T before = word.atomic().fetch_add(value, std::memory_order_acq_rel);
    wake(&word);
    return before;
  }
  template <class T>
  T signal_or(Word<T>& word, T value) const {
    const T before = word.atomic().fetch_or(value, std::memory_order_acq_rel);
    wake(&word);
    return before;
  }
  template <class T>
  [[gnu::always_inline]] void signal(SoleWriterLine<T>& line, T value, StorePolicy policy) const {
    if (__builtin_expect(policy == StorePolicy::plain, 1)) {
      line.word.atomic().store(value, std::memory_order_release);
    } else {
      store_whole(line, value, policy);
    }
    wake(&line);
  }

  /// What a compiler makes of a loop that stores 64 one-byte flags. Every byte is a release of its own for
  /// the rank that waits for that byte alone.
  void signal_bytes(ByteLine& line, std::uint8_t value) const {
#if defined(__SANITIZE_THREAD__)
    for (Word<std::uint8_t>& byte : line.bytes) byte.atomic().store(value, std::memory_order_release);
#else
    const std::uint64_t eight = 0x0101010101010101ull * value;
    auto* const parts = reinterpret_cast<arch::LineWord*>(&line);
    for (int part = 0; part < arch::line_words; ++part)
      __atomic_store_n(parts + part, eight, __ATOMIC_RELEASE);
#endif
    wake(&line);
  }

  /// Always inlined: as a function it gets its condition through the stack, which takes longer than the
  /// awaited line is late.
  template <class T>
  [[gnu::always_inline]] T wait(const Word<T>& word, Condition<T> condition, int from = any_rank,
                                Meanwhile meanwhile = Meanwhile::little) const {
    return wait_for_more(word, condition, from, nullptr, 0, meanwhile);
  }
  /// As wait(), and asks at each look for the `bytes` that are to come with the word. So the transfer of their lines begins
  /// before the word's has ended.
  template <class T>
  [[gnu::always_inline]] T wait_for_more(const Word<T>& word, Condition<T> condition, int from,
                                         const unsigned char* more, std::size_t bytes,
                                         Meanwhile meanwhile = Meanwhile::little) const {
    T seen = word.atomic().load(std::memory_order_acquire);
    if (__builtin_expect(condition(seen), 1)) return seen;
    // An answer that is on its way is awaited right here. Two ranks whose flags share a line hand the line
    // over once per barrier if each stores its next flag before the line is taken away again, and twice
    // otherwise: a call and a return here turned 28 ns into 50 to 70.
    for (unsigned left = looks_in_place_; left != 0; --left) {
      for (std::size_t at = 0; at < bytes; at += arch::line_bytes) arch::prefetch_line(more + at);
      arch::look_gap();
      seen = word.atomic().load(std::memory_order_acquire);
      if (condition(seen)) return seen;
    }
    return static_cast<T>(wait_slow(Awaited{
        &word, condition.value, condition.mask, {from, sizeof(T), condition.kind, false, meanwhile}}));
  }
  /// Whether the condition holds at one of the looks that wait() takes at once.
  template <class T>
  [[gnu::always_inline]] bool holds_soon(const Word<T>& word, Condition<T> condition) const {
    if (__builtin_expect(condition(word.atomic().load(std::memory_order_acquire)), 1)) return true;
    for (unsigned left = looks_in_place_; left != 0; --left) {
      arch::look_gap();
      if (condition(word.atomic().load(std::memory_order_acquire))) return true;
    }
    return false;
  }
  void wait_line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int from = any_rank) const {
    if (__builtin_expect(line_holds(line, mask, value), 1)) return;
    wait_slow(Awaited{&line, value, mask, {from, 1, ConditionKind::equal, true, Meanwhile::little}});
  }

  void load_line(const void* line, void* destination) const;
  void store_line(void* line, const void* source, StorePolicy policy) const;
  void prefetch(const void* line) const {
    arch::prefetch_line(line);
  }
  void evict(const void* line) const {
    arch::evict_line(line);
  }
  void fence() const {
    arch::full_fence();
  }
  void pause() const {
    arch::pause();
  }
  std::int64_t now() const;

  /// How long a wait has lasted, as of the last look at the clock, and its mark on the wait board.
  class Patience {
   public:
    Patience() = default;
    ~Patience() { end_mark(); }
    void end_mark() {
      if (mark_ != nullptr) mark_->end();
    }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    friend class NativePort;
    std::int64_t started_ns_ = 0;
    std::int64_t compared_ns_ = 0;  // when calls were compared last
    std::uint64_t turns_ = 0;
    WaitMark* mark_ = nullptr;
    bool alone_ = false;  // all others had left at the last check
    bool meets_ = false;  // another rank was on this CPU after the first looks
    bool naps_ = false;
  };
  /// A turn, after a look in vain, of a wait for any of several words; `patience` is the wait's. Ends with the group.
  void take_turn(Patience& patience) const;

  /// In a barrier: the root of the call just before it; none in one that does not block.
  RootOfCall root_before() const;

  std::int64_t ticks() const {
    if (__builtin_expect(!os::cycle_counter_is_clock(), 0)) return now();
    // RDTSC may execute before a load that precedes it and after one that follows it: a gap on both sides.
    arch::look_gap();
    const auto at = static_cast<std::int64_t>(arch::cycles());
    arch::look_gap();
    return at;
  }
  /// Whether this rank roams, and rank `rank` was last noted on its CPU.
  bool beside(int rank) const {
    return roaming_ && control_->beside(rank_, rank);
  }

  /// Gives the CPU away where another rank needs it. Ends when the group breaks, like every wait.
  void wait_until(std::int64_t ticks) const;

  /// Each line's last word is a release, so a canary in the last line needs no fence. On x86-64 these are
  /// ordinary stores, which become visible in program order; on aarch64, one STLR per line; on the card, one
  /// store of 64 bytes per line. `bytes` is a multiple of 64, and both addresses are aligned to 64.
  void copy(void* destination, const void* source, std::size_t bytes) const {
    auto* to = static_cast<unsigned char*>(destination);
    const auto* from = static_cast<const unsigned char*>(source);
    for (std::size_t at = 0; at < bytes; at += arch::line_bytes)
      arch::store_line_ascending(to + at, from + at);
  }
  void software(Software) const {}

  Data bind(const void* pointer, std::size_t) const {
    return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
  }
  Data shared(void* pointer) const {
    return Data{static_cast<unsigned char*>(pointer)};
  }
  // `to` and `from` may be null if there are no bytes. memcpy then does nothing, and a branch would slow down every
  // call.
  // clang-format off
#if __has_cpp_attribute(gnu::no_sanitize)
  [[gnu::no_sanitize("nonnull-attribute")]]
#endif
  void move(Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) const {
    // clang-format on
    if (bytes >= arch::hand_over_bytes || __builtin_expect(stores == Stores::streaming, 0))
      return move_many(to.at, from.at, bytes, stores);
    __builtin_memcpy(to.at, from.at, bytes);
  }
  using Distance = HandOver;
  void hand(Data to, Data from, std::size_t bytes, Distance& distance,
            const Word<std::uint64_t>& word) const {
    if (arch::hand_over_bytes == SIZE_MAX || bytes < arch::hand_over_bytes) return move(to, from, bytes);
    arch::copy_by(distance.way(bytes, word), to.at, from.at, bytes);
  }
  void combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    op.kernel(op.context, to.at, left.at, right.at, count);
  }
  bool reachable(Data data, std::size_t bytes) const {
    return !control_->shared() || control_->holds(data.at, bytes);
  }
  bool near(std::size_t bytes) const {
    return arch::hand_over_bytes == SIZE_MAX || hand_over_ == nullptr ||
           !hand_over_->far(bytes, *control_, rank_, calls_->begun());
  }
  bool exposable(Data data, std::size_t bytes) const {
    return reachable(data, bytes) || control_->cross_copies();
  }
  Exposed expose(Data data) const {
    const auto owner = static_cast<std::uint32_t>(rank_ + 1);
    const auto address = reinterpret_cast<std::uintptr_t>(data.at);
    if (!control_->shared()) return Exposed{address, owner, static_cast<std::uint32_t>(ExposedKind::pointer)};
    if (control_->holds(data.at, 1))
      return Exposed{control_->offset_of(data.at), owner, static_cast<std::uint32_t>(ExposedKind::offset)};
    return Exposed{address, owner, static_cast<std::uint32_t>(ExposedKind::process)};
  }
  static bool direct(const Exposed& exposed) {
    return exposed.how != static_cast<std::uint32_t>(ExposedKind::process);
  }
  Data view(const Exposed& exposed, std::size_t offset) const {
    if (exposed.how == static_cast<std::uint32_t>(ExposedKind::offset))
      return Data{control_->at(exposed.address + offset)};
    return Data{reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(exposed.address) + offset)};
  }
  /// Throws BrokenGroupError if the other process has no such memory.
  void fetch(Data to, const Exposed& from, std::size_t offset, std::size_t bytes) const {
    if (direct(from))
      move(to, view(from, offset), bytes, Stores::taken);
    else
      cross_copy(to, from, offset, bytes, false);
  }
  void put(const Exposed& to, std::size_t offset, Data from, std::size_t bytes) const {
    if (direct(to))
      move(view(to, offset), from, bytes);
    else
      cross_copy(from, to, offset, bytes, true);
  }

  /// Breaks the group.
  [[noreturn, gnu::cold]] void differ(int from, const std::string& sent, const std::string& expected) const;

  /// Whether every byte that `mask` selects equals `value`; acquire. Compares the whole line in a few vector
  /// operations.
  static bool line_holds(const ByteLine& line, std::uint64_t mask, std::uint8_t value);

 private:
  friend struct ParkingProbe;  // tests that sleep without the looks and yields before, and that move

  // Some microseconds.
  static constexpr unsigned bare_looks = 512;

  // Looks in place only if the policy spins first and the awaited rank cannot need this very CPU.
  static unsigned in_place(const WaitPolicy& policy, bool sharing) {
    const bool spins_first =
        policy.kind == WaitPolicy::Kind::spin || policy.kind == WaitPolicy::Kind::adaptive;
    return spins_first && !sharing ? bare_looks : 0;
  }

  // What is known of a wait at compile time, and which rank will signal, in one register.
  struct Manner {
    std::int32_t from;
    std::uint8_t bytes;
    ConditionKind kind;
    bool whole_line;
    Meanwhile meanwhile;
  };
  struct Awaited {
    const void* place;
    std::uint64_t value;
    std::uint64_t mask;
    Manner manner;
  };

  // The order "flag first, then look for sleepers" binds only the compiler on this side. A processor may
  // still look before its store is visible. The sleeper pays for that with a membarrier between its mark and
  // its last look at the flag (a fence here cost half a line transfer on every signal).
  [[gnu::always_inline]] void wake(const void* place) const {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(control_->anyone_parked(), 0)) wake_slow(place);
  }

  template <class T>
  [[gnu::noinline, gnu::cold]] void store_whole(SoleWriterLine<T>& line, T value, StorePolicy policy) const {
    alignas(arch::line_bytes) unsigned char image[arch::line_bytes] = {};
    __builtin_memcpy(image, &value, sizeof value);
    store_line(&line, image, policy);
  }

  // Out of line and not templates: measured to cost nothing, and waiting has to be right in one place only.
  [[gnu::noinline, gnu::cold]] std::uint64_t wait_slow(const Awaited& awaited) const;
  [[gnu::noinline, gnu::cold]] void wake_slow(const void* place) const;
  // A function of its own, so that small moves stay small where they are inlined.
  [[gnu::noinline]] void move_many(unsigned char* to, const unsigned char* from, std::size_t bytes,
                                   Stores stores) const {
    if (stores == Stores::streaming) return arch::copy_streaming(to, from, bytes);
    if (hand_over_ == nullptr || (stores == Stores::cached && !arch::copies_few(bytes)))
      return arch::copy_by(arch::CopyWay::ordinary, to, from, bytes);
    arch::copy_by(stores == Stores::cached     ? hand_over_->few_way()
                  : stores == Stores::taken    ? hand_over_->take_way()
                  : stores == Stores::received ? hand_over_->receive_way(bytes)
                                               : hand_over_->way(bytes, *control_, rank_, calls_->begun()),
                  to, from, bytes);
  }
  void cross_copy(Data own, const Exposed& peer, std::size_t offset, std::size_t bytes, bool write) const;
  static bool look(const Awaited& awaited, std::uint64_t& seen);
  static bool look_turns(const Awaited& awaited, std::uint64_t& seen, unsigned turns, unsigned pauses);
  bool look_yielding(const Awaited& awaited, std::uint64_t& seen, unsigned turns) const;
  /// Counts the rank as resting, from begin() to the end of its wait.
  class Rest {
   public:
    explicit Rest(Control& control) : control_(control) {}
    ~Rest() {
      if (begun_) control_.resting().atomic().fetch_sub(1, std::memory_order_relaxed);
    }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;
    void begin() {
      if (!begun_) control_.resting().atomic().fetch_add(1, std::memory_order_relaxed);
      begun_ = true;
    }

   private:
    Control& control_;
    bool begun_ = false;
  };
  bool roams() const {
    return roaming_ && control_->crowded_now();
  }
  void note_cpu() const;
  void spread_out() const;
  bool awaited_needs_this_cpu(const Awaited& awaited) const;
  bool meets(int from) const;
  bool met_before(int from) const;
  bool look_before_yields(const Awaited& awaited, std::uint64_t& seen) const;
  bool spin_then_yield(const Awaited& awaited, std::uint64_t& seen, Rest& rest) const;
  std::uint64_t wait_going_on(const Awaited& awaited) const;
  std::uint64_t wait_elsewhere(const Awaited& awaited) const;
  bool sleep_once(const Awaited& awaited, std::uint64_t& seen) const;
  bool check_alive(Patience& patience, bool in_call) const;

  Control* control_;
  const CallHistory* calls_;
  HandOver* hand_over_;
  StuckSearch* stuck_;
  Background* background_ = nullptr;
  Elsewhere* elsewhere_ = nullptr;
  int rank_;
  WaitPolicy wait_;
  bool sharing_;  // another rank is pinned to the same CPU
  bool roaming_;  // not pinned, in a group with more ranks than CPUs: ranks change CPUs all the time
  mutable unsigned looks_in_place_;  // none while another rank is met on this CPU
  mutable unsigned waits_met_ = 0;   // those since then; 0: none is met
  mutable unsigned roaming_waits_ = 0;
  mutable unsigned crowds_ = 0;  // how often in a row this rank had better moved to another CPU
  mutable unsigned moves_ = 0;   // to others, each within a second of the one before
  mutable std::int64_t moved_ns_ = 0;
};

/// As phicoll/collectives/transport/values.hpp has it for ports whose waits need no function of their own.
template <class T>
[[gnu::always_inline]] inline bool comes_soon(NativePort& port, const Word<T>& word, Condition<T> condition,
                                              int) {
  return port.holds_soon(word, condition);
}

inline bool NativePort::line_holds(const ByteLine& line, std::uint64_t mask, std::uint8_t value) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer pairs a release only with an acquire of the same address, hence byte by byte here.
  for (unsigned b = 0; b < arch::line_bytes; ++b)
    if (((mask >> b) & 1u) != 0 && line.bytes[b].atomic().load(std::memory_order_acquire) != value)
      return false;
  return true;
#elif defined(__SSE2__)
  typedef char Vector __attribute__((vector_size(16), may_alias));
  const Vector zero = {};
  const Vector wanted = zero + static_cast<char>(value);
  std::uint64_t equal_bytes = 0;
  for (unsigned part = 0; part < 4; ++part) {
    // volatile: read again at every look. An x86 load is an acquire; bytes are whole within a vector load.
    const Vector seen = *reinterpret_cast<const volatile Vector*>(line.bytes + 16 * part);
    const auto bits = static_cast<unsigned>(__builtin_ia32_pmovmskb128(seen == wanted));
    equal_bytes |= static_cast<std::uint64_t>(bits) << (16 * part);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return (equal_bytes & mask) == mask;
#else
  // Eight bytes at a time; k1om has no byte-wise vector compare (its vectors hold 32-bit elements).
  const std::uint64_t pattern = 0x0101010101010101ull * value;
  std::uint64_t differing = 0;
  for (unsigned part = 0; part < 8; ++part) {
    const std::uint64_t seen = reinterpret_cast<const std::atomic<std::uint64_t>*>(line.bytes + 8 * part)
                                   ->load(std::memory_order_acquire);
    // Spreads eight mask bits to eight mask bytes: bit b of the part selects byte b.
    std::uint64_t bits = (mask >> (8 * part)) & 0xffu;
    std::uint64_t bytes = 0;
    for (unsigned b = 0; b < 8; ++b) bytes |= ((bits >> b) & 1u) * (0xffull << (8 * b));
    differing |= (seen ^ pattern) & bytes;
  }
  return differing == 0;
#endif
}

}  // namespace phicoll
