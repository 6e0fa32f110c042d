#pragma once

// The port contract: one rank's way into shared memory, all that an algorithm sees of the machine it runs on.
// What a rank wrote before it signals is visible to every rank that returns from a wait which the signal
// satisfied.
//
// What a port inherits from PortDefaults, below, unless it has something better, is explained there.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/call_history.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/software.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/ports/values.hpp"
#include "phicoll/support/assert.hpp"

// What every port has, words first:
//   rank()                                   this rank's number
//   load_relaxed, load_acquire               one word
//   store_relaxed, store_release             one word that no rank sleeps on
//   exchange, compare_exchange, fetch_add, fetch_or   acquire and release
//   signal(word, v), signal_add, signal_or   store or update with release, then wake its sleepers
//   wait(word, condition, from, meanwhile)   until the condition holds, with acquire; `from` is the rank that
//                                            will signal, any_rank if it is not one known rank. Both are
//                                            hints for when to yield
//   fence()                                  sequentially consistent
//   pause()                                  one polite turn

// Lines and data:
//   signal(line, v, policy)                  as for a word; the line has one writer, and may be stored whole
//   signal_bytes(line, v)                    all 64 bytes of a line with no other writer now
//   wait_line(line, mask, value, from)       until every byte of the mask (bit b: byte b) equals value
//   load_line, store_line                    a whole line

//   copy(destination, source, bytes)         whole lines of shared memory, not overlapping, visible line by
//                                            line in ascending order, the last word last: a rank that
//                                            acquires it sees the whole copy and all stored before
//   move(to, from, bytes, stores)            any bytes between any Data, not overlapping; a plain copy, made
//                                            visible by the signal that follows it
//   combine(op, to, left, right, count)      to[i] = left[i] op right[i]; `to` may be `left` or `right`

namespace phicoll {

/// The rest of the contract, as it is where all ranks are in one process, every pointer is reached by loads
/// and stores, and nothing is gained by asking early. `Port` derives from PortDefaults<Port> and redefines
/// what it does otherwise. None of it costs anything.
template <class Port>
class PortDefaults {
 public:
  /// Whether algorithms on this port, and the port itself, have their asserts.
  static constexpr bool checked = true;

  /// @name Hints: they change how long something takes, never what it does
  /// @{

  /// The line will be read soon; it will not be needed soon.
  void prefetch(const void* /*line*/) const {}
  void evict(const void* /*line*/) const {}
  /// The instructions around a transfer, for machines that do not execute them (a simulated one).
  void software(Software) const {}
  /// A wait or a long copy begins that takes no turns.
  void tell_of_a_wait() const {}
  /// Whether peers get what this rank has written sooner from its cache than from memory, as far as it knows;
  /// asked before `bytes` bytes of data that they are to read.
  bool near(std::size_t /*bytes*/) const { return true; }
  /// Whether rank `rank` is on this rank's CPU for now, which the shape does not know.
  bool beside(int /*rank*/) const { return false; }
  /// In a barrier: the signature of the call just before it, the same on all ranks. 0: that was a barrier
  /// too, or it is not known, or this call does not block.
  SignatureWord call_before() const { return 0; }
  /// @}

  /// @name More ways to signal
  /// @{

  /// signal() of lines[first] to lines[last - 1]; where a unit beside the core takes lists, as one.
  template <class Lines, class T>
  void signal_each(Lines& lines, int first, int last, T value, StorePolicy policy) const {
    for (int i = first; i < last; ++i) port().signal(lines[i], value, policy);
  }
  /// move() of data that lies behind the word in its line, then signal(); where a unit beside the core writes
  /// both at once, as one.
  template <class T>
  void signal_with(Word<T>& word, T value, Data to, Data from, std::size_t bytes) const {
    port().move(to, from, bytes);
    port().signal(word, value);
  }
  /// @}

  /// @name More ways to wait
  /// @{

  /// As wait(), and asks at each look for the `bytes` from `more` on that are to come with the word. So the
  /// transfer of their lines begins before the word's has ended.
  template <class T>
  T wait_for_more(const Word<T>& word, Condition<T> condition, int from, const unsigned char* /*more*/,
                  std::size_t /*bytes*/) const {
    return port().wait(word, condition, from);
  }
  /// Looks a few times for a short message's data. If it has not come, returns false, and the caller ends in
  /// a tail call to a function that waits, so that it needs no stack frame. Here, where waits are cheap, it
  /// waits and returns true.
  template <class T>
  bool comes_soon(const Word<T>& word, Condition<T> condition, int from) const {
    port().wait(word, condition, from);
    return true;
  }
  /// Of a wait for any of several words: take_turn(patience) stands between two looks in vain, end_mark()
  /// after one that was not.
  struct Patience {
    void end_mark() {}
  };
  template <class AnyPatience>
  void take_turn(AnyPatience&) const {
    port().pause();
  }
  /// Gives the CPU away between two looks, where that is more than a pause, and ends with the group.
  void yield() const { port().pause(); }
  /// @}

  /// @name Time
  /// @{

  /// A clock of ns for diagnostics.
  std::int64_t now() const { return 0; }
  /// The machine's cycle counter, one clock for all ranks: every load before it has its value, no access
  /// after it has begun; stores before it may still be on their way (put fence() before it where that
  /// matters). ns where the counter is no clock.
  std::int64_t ticks() const { return port().now(); }
  /// Until ticks() has reached a value: a start by time stamp.
  void wait_until(std::int64_t /*ticks*/) const {}
  /// @}

  /// @name Data
  /// @{

  /// A range of the rank's own memory, and a place in shared memory. Data that was made otherwise is a
  /// programmer's error.
  Data bind(const void* pointer, std::size_t /*bytes*/) const {
    return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
  }
  Data shared(void* pointer) const { return Data{static_cast<unsigned char*>(pointer)}; }
  /// move(), for one rank to read next, which writes to `word` whenever it has; `distance` is what is known
  /// of how far that rank is.
  struct Distance {
    void set_host(const HostNumbers&) {}
  };
  template <class AnyDistance>
  void hand(Data to, Data from, std::size_t bytes, AnyDistance&, const Word<std::uint64_t>&) const {
    port().move(to, from, bytes);
  }
  /// The first `bytes` (at most 8) of the data as a value, the rest 0; and back.
  std::uint64_t read_value(Data from, std::size_t bytes) const {
    assert_value(from, bytes);
    return value_at(from.at, bytes);
  }
  void write_value(Data to, std::uint64_t value, std::size_t bytes) const {
    assert_value(to, bytes);
    set_value(to.at, value, bytes);
  }
  /// Combines the pair's two operands. `own`: this rank's, for ports whose memory is not the host's; here
  /// both are read where they lie, since a value that was just stored on the stack comes back some cycles
  /// late.
  [[gnu::always_inline]] void combine_pair(const WordPair& pair, std::uint64_t /*own*/) const {
    pair.kernel(pair.context, pair.to.at, pair.left, pair.right, pair.count);
  }
  /// @}

  /// @name Data of other ranks
  /// @{

  /// Whether the loads and stores of all peers reach the data.
  bool reachable(Data, std::size_t /*bytes*/) const { return true; }
  /// Whether peers can reach the data where it lies, in any way. Its owner asks and tells the others; if they
  /// cannot, the data goes through shared memory.
  bool exposable(Data, std::size_t /*bytes*/) const { return true; }
  /// A handle for peers.
  Exposed expose(Data data) const {
    return Exposed{reinterpret_cast<std::uintptr_t>(data.at), static_cast<std::uint32_t>(port().rank() + 1),
                   static_cast<std::uint32_t>(ExposedKind::pointer)};
  }
  /// Whether loads and stores reach it; if so, its address.
  static bool direct(const Exposed&) { return true; }
  Data view(const Exposed& exposed, std::size_t offset) const {
    return Data{reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(exposed.address) + offset)};
  }
  /// Reads a peer's data, in whichever way it can be reached; writes it.
  void fetch(Data to, const Exposed& from, std::size_t offset, std::size_t bytes) const {
    assert_exposed(from);
    port().move(to, port().view(from, offset), bytes);
  }
  void put(const Exposed& to, std::size_t offset, Data from, std::size_t bytes) const {
    assert_exposed(to);
    port().move(port().view(to, offset), from, bytes);
  }
  /// Reports that a rank sends something other than this rank expects of it, both in words; does not return.
  [[noreturn, gnu::cold]] void differ(int from, const std::string& sent, const std::string& expected) const {
    throw Error("rank " + std::to_string(from) + " sends " + sent + " to rank " +
                std::to_string(port().rank()) + ", which expects " + expected);
  }
  /// @}

 protected:
  ~PortDefaults() = default;

  /// What move() and combine() take for granted, for ports to assert.
  void assert_move(Data to, Data from, std::size_t bytes) const {
    PHICOLL_ASSERT(Port, bytes == 0 || (to && from), acts("moves unbound data", bytes));
    PHICOLL_ASSERT(Port, bytes == 0 || to.at + bytes <= from.at || from.at + bytes <= to.at,
                   acts("moves data onto itself", bytes));
  }
  void assert_combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    const std::size_t bytes = count * op.element_bytes;
    PHICOLL_ASSERT(Port, count == 0 || (op.kernel != nullptr && op.element_bytes != 0),
                   acts("combines by no operator", count));
    PHICOLL_ASSERT(Port, count == 0 || (to && left && right), acts("combines unbound data", bytes));
    for (const Data from : {left, right})
      PHICOLL_ASSERT(Port, count == 0 || to == from || to.at + bytes <= from.at || from.at + bytes <= to.at,
                     acts("combines data into a part of itself", bytes));
  }
  void assert_value(Data data, std::size_t bytes) const {
    PHICOLL_ASSERT(Port, bytes <= sizeof(std::uint64_t), acts("takes too much data for one value", bytes));
    PHICOLL_ASSERT(Port, bytes == 0 || data, acts("takes a value from or to unbound data", bytes));
  }
  void assert_copy(const void* destination, const void* source, std::size_t bytes) const {
    PHICOLL_ASSERT(
        Port,
        (reinterpret_cast<std::uintptr_t>(destination) | reinterpret_cast<std::uintptr_t>(source) | bytes) %
                arch::line_bytes ==
            0,
        acts("copies parts of lines", bytes));
  }
  void assert_exposed(const Exposed& exposed) const {
    PHICOLL_ASSERT(Port, bool(exposed), acts("reaches for data that is not exposed", 0));
  }
  /// "rank 2 moves unbound data, 64 bytes".
  std::string acts(const char* how, std::size_t bytes) const {
    return "rank " + std::to_string(port().rank()) + " " + how +
           (bytes != 0 ? ", " + std::to_string(bytes) + " bytes" : std::string());
  }

 private:
  const Port& port() const { return static_cast<const Port&>(*this); }
};

}  // namespace phicoll
