#pragma once

// NativePort: one rank's way into real shared memory, between threads or between processes, by the contract
// of port.hpp. Everything an algorithm does inlines to the bare instruction; waiting and waking have one
// inline check each, the rest is out of line, in the waiting room.

#include <cstdint>
#include <string>

#include "phicoll/arch/line_words.hpp"
#include "phicoll/arch/streaming.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/hand_over.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/ports/port.hpp"
#include "phicoll/waiting/waiting_room.hpp"

namespace phicoll {

class NativePort : public PortDefaults<NativePort> {
 public:
  static constexpr bool checked = ThisBuild::checked;

  /// See WaitingRoom. Without `hand_over`, which needs `calls`, all data is stored by ordinary stores.
  NativePort(Control& control, int rank, WaitPolicy policy, const CallHistory* calls = nullptr,
             HandOver* hand_over = nullptr, StuckSearch* stuck = nullptr)
      : room_(control, rank, policy, calls, stuck), hand_over_(hand_over) {
    PHICOLL_ASSERT(ThisBuild, hand_over == nullptr || calls != nullptr,
                   "a port hands data over and knows no calls");
  }

  void set_background(Background* background) { room_.set_background(background); }
  void set_elsewhere(Elsewhere* elsewhere) { room_.set_elsewhere(elsewhere); }

  int rank() const { return room_.rank(); }
  Control& control() const { return room_.control(); }
  const WaitPolicy& wait_policy() const { return room_.policy(); }
  unsigned looks_in_place() const { return room_.roaming().looks_in_place(); }

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
  template <class T>
  [[gnu::always_inline]] T wait_for_more(const Word<T>& word, Condition<T> condition, int from,
                                         const unsigned char* more, std::size_t bytes,
                                         Meanwhile meanwhile = Meanwhile::little) const {
    T seen = word.atomic().load(std::memory_order_acquire);
    if (__builtin_expect(condition(seen), 1)) return seen;
    // An answer that is on its way is awaited right here. Two ranks whose flags share a line hand the line
    // over once per barrier if each stores its next flag before the line is taken away again, and twice
    // otherwise: a call and a return here turned 28 ns into 50 to 70.
    for (unsigned left = looks_in_place(); left != 0; --left) {
      for (std::size_t at = 0; at < bytes; at += arch::line_bytes) arch::prefetch_line(more + at);
      arch::look_gap();
      seen = word.atomic().load(std::memory_order_acquire);
      if (condition(seen)) return seen;
    }
    return static_cast<T>(room_.wait(Awaited::word(word, condition, from, meanwhile)));
  }
  template <class T>
  [[gnu::always_inline]] bool comes_soon(const Word<T>& word, Condition<T> condition, int /*from*/) const {
    if (__builtin_expect(condition(word.atomic().load(std::memory_order_acquire)), 1)) return true;
    for (unsigned left = looks_in_place(); left != 0; --left) {
      arch::look_gap();
      if (condition(word.atomic().load(std::memory_order_acquire))) return true;
    }
    return false;
  }
  void wait_line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int from = any_rank) const {
    if (__builtin_expect(line_holds(line, mask, value), 1)) return;
    room_.wait(Awaited::line(line, mask, value, from));
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

  using Patience = phicoll::Patience;
  void take_turn(Patience& patience) const {
    room_.take_turn(patience);
  }
  void check_peers(Patience& patience, const CallHistory& calls) const {
    room_.check_peers(patience, calls);
  }
  void yield() const;
  void tell_of_a_wait() const {
    room_.tell_of_a_wait();
  }

  /// A nonblocking call advances only when its rank calls in, so it tells of none: no other rank may wait for
  /// it to act.
  SignatureWord call_before() const {
    const CallHistory* const calls = room_.calls();
    return calls != nullptr && room_.stays() ? calls->before_barrier() : 0;
  }

  std::int64_t ticks() const {
    if (__builtin_expect(!os::cycle_counter_is_clock(), 0)) return now();
    // RDTSC may execute before a load that precedes it and after one that follows it: a gap on both sides.
    arch::look_gap();
    const auto at = static_cast<std::int64_t>(arch::cycles());
    arch::look_gap();
    return at;
  }
  bool beside(int rank) const {
    return room_.roaming().roams() && control().beside(this->rank(), rank);
  }

  /// Gives the CPU away where another rank needs it. Ends when the group breaks, like every wait.
  void wait_until(std::int64_t ticks) const;

  /// Each line's last word is a release, so a canary in the last line needs no fence. On x86-64 these are
  /// ordinary stores, which become visible in program order; on aarch64, one STLR per line; on the card, one
  /// store of 64 bytes per line. `bytes` is a multiple of 64, and both addresses are aligned to 64.
  void copy(void* destination, const void* source, std::size_t bytes) const {
    assert_copy(destination, source, bytes);
    auto* to = static_cast<unsigned char*>(destination);
    const auto* from = static_cast<const unsigned char*>(source);
    for (std::size_t at = 0; at < bytes; at += arch::line_bytes)
      arch::store_line_ascending(to + at, from + at);
  }
  // `to` and `from` may be null if there are no bytes. memcpy then does nothing, and a branch would slow down
  // every call.
  // clang-format off
#if __has_cpp_attribute(gnu::no_sanitize)
  [[gnu::no_sanitize("nonnull-attribute")]]
#endif
  void move(Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) const {
    // clang-format on
    assert_move(to, from, bytes);
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
    assert_combine(op, to, left, right, count);
    op.kernel(op.context, to.at, left.at, right.at, count);
  }
  bool reachable(Data data, std::size_t bytes) const {
    return !control().shared() || control().holds(data.at, bytes);
  }
  bool near(std::size_t bytes) const {
    return arch::hand_over_bytes == SIZE_MAX || hand_over_ == nullptr ||
           !hand_over_->far(bytes, control(), rank(), room_.calls()->begun());
  }
  bool exposable(Data data, std::size_t bytes) const {
    return reachable(data, bytes) || control().cross_copies();
  }
  Exposed expose(Data data) const {
    const auto owner = static_cast<std::uint32_t>(rank() + 1);
    const auto address = reinterpret_cast<std::uintptr_t>(data.at);
    if (!control().shared()) return Exposed{address, owner, static_cast<std::uint32_t>(ExposedKind::pointer)};
    if (control().holds(data.at, 1))
      return Exposed{control().offset_of(data.at), owner, static_cast<std::uint32_t>(ExposedKind::offset)};
    return Exposed{address, owner, static_cast<std::uint32_t>(ExposedKind::process)};
  }
  static bool direct(const Exposed& exposed) {
    return exposed.how != static_cast<std::uint32_t>(ExposedKind::process);
  }
  Data view(const Exposed& exposed, std::size_t offset) const {
    if (exposed.how == static_cast<std::uint32_t>(ExposedKind::offset))
      return Data{control().at(exposed.address + offset)};
    return Data{reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(exposed.address) + offset)};
  }
  /// Throws BrokenGroupError if the other process has no such memory.
  void fetch(Data to, const Exposed& from, std::size_t offset, std::size_t bytes) const {
    assert_exposed(from);
    if (direct(from))
      move(to, view(from, offset), bytes, Stores::taken);
    else
      cross_copy(to, from, offset, bytes, false);
  }
  void put(const Exposed& to, std::size_t offset, Data from, std::size_t bytes) const {
    assert_exposed(to);
    if (direct(to))
      move(view(to, offset), from, bytes);
    else
      cross_copy(from, to, offset, bytes, true);
  }

  /// Breaks the group.
  [[noreturn, gnu::cold]] void differ(int from, const std::string& sent, const std::string& expected) const;

 private:
  [[gnu::always_inline]] void wake(const void* place) const {
    parking::wake(control(), place);
  }
  template <class T>
  [[gnu::noinline, gnu::cold]] void store_whole(SoleWriterLine<T>& line, T value, StorePolicy policy) const {
    alignas(arch::line_bytes) unsigned char image[arch::line_bytes] = {};
    __builtin_memcpy(image, &value, sizeof value);
    store_line(&line, image, policy);
  }

  // A function of its own, so that small moves stay small where they are inlined.
  [[gnu::noinline]] void move_many(unsigned char* to, const unsigned char* from, std::size_t bytes,
                                   Stores stores) const {
    if (stores == Stores::streaming) return arch::copy_streaming(to, from, bytes);
    if (hand_over_ == nullptr || (stores == Stores::cached && !arch::copies_few(bytes)))
      return arch::copy_by(arch::CopyWay::ordinary, to, from, bytes);
    arch::copy_by(stores == Stores::cached  ? hand_over_->few_way()
                  : stores == Stores::taken ? hand_over_->take_way()
                  : stores == Stores::received
                      ? hand_over_->receive_way(bytes)
                      : hand_over_->way(bytes, control(), rank(), room_.calls()->begun()),
                  to, from, bytes);
  }
  void cross_copy(Data own, const Exposed& peer, std::size_t offset, std::size_t bytes, bool write) const;

  mutable WaitingRoom room_;  // first: a call of its functions need not add to the port's address
  HandOver* hand_over_;
};

}  // namespace phicoll
