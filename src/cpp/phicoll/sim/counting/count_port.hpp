#pragma once

// CountPort: one rank's way into a CountMachine, by the contract of port.hpp. Nothing happens at the same
// time, so memory orders have no effect; fences, prefetches, evictions and the store policy change nothing
// that is counted.

#include <cstdint>
#include <cstring>

#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/software.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/ports/port.hpp"
#include "phicoll/sim/counting/count_machine.hpp"

namespace phicoll {

/// What an atomic update found. A rank that throws it away has learnt nothing from it: only its use counts.
template <class T>
class CountedResult {
 public:
  CountedResult(CountMachine& machine, int rank, std::int64_t behind, T value)
      : machine_(&machine), rank_(rank), behind_(behind), value_(value) {}
  operator T() const {
    machine_->used(rank_, behind_);
    return value_;
  }

 private:
  CountMachine* machine_;
  int rank_;
  std::int64_t behind_;
  T value_;
};

class CountPort : public PortDefaults<CountPort> {
 public:
  CountPort(CountMachine& machine, int rank) : machine_(&machine), rank_(rank) {}

  int rank() const { return rank_; }

  template <class T>
  T load_relaxed(const Word<T>& word) const {
    machine_->obtained(rank_, &word, false);
    return value_of(word);
  }
  template <class T>
  T load_acquire(const Word<T>& word) const {
    machine_->obtained(rank_, &word, true);
    return value_of(word);
  }
  template <class T>
  void store_relaxed(Word<T>& word, T value) const {
    set(word, value, CountMachine::Write::store, false);
  }
  template <class T>
  void store_release(Word<T>& word, T value) const {
    set(word, value, CountMachine::Write::store, true);
  }
  template <class T>
  CountedResult<T> exchange(Word<T>& word, T value) const {
    return update(
        word, [value](T) { return value; }, CountMachine::Write::arrival);
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired) const {
    const T seen = value_of(word);
    if (seen != expected) {
      expected = load_acquire(word);
      return false;
    }
    // Success tells the rank what was there: a result that is used.
    static_cast<void>(static_cast<T>(exchange(word, desired)));
    return true;
  }
  template <class T>
  CountedResult<T> fetch_add(Word<T>& word, T value) const {
    return update(
        word, [value](T seen) { return static_cast<T>(seen + value); }, CountMachine::Write::arrival);
  }
  template <class T>
  CountedResult<T> fetch_or(Word<T>& word, T value) const {
    return update(
        word, [value](T seen) { return static_cast<T>(seen | value); }, CountMachine::Write::arrival);
  }

  template <class T>
  void signal(Word<T>& word, T value) const {
    set(word, value, CountMachine::Write::signal, true);
  }
  template <class T>
  CountedResult<T> signal_add(Word<T>& word, T value) const {
    return update(
        word, [value](T seen) { return static_cast<T>(seen + value); }, CountMachine::Write::signal_update);
  }
  template <class T>
  CountedResult<T> signal_or(Word<T>& word, T value) const {
    return update(
        word, [value](T seen) { return static_cast<T>(seen | value); }, CountMachine::Write::signal_update,
        true);
  }
  template <class T>
  void signal(SoleWriterLine<T>& line, T value, StorePolicy policy) const {
    if (policy == StorePolicy::plain) {
      signal(line.word, value);
      return;
    }
    unsigned char image[arch::line_bytes] = {};
    std::memcpy(image, &value, sizeof value);
    std::memcpy(static_cast<void*>(&line), image, sizeof image);
    machine_->wrote_line(rank_, &line, CountMachine::Write::signal);
  }
  void signal_bytes(ByteLine& line, std::uint8_t value) const {
    std::memset(static_cast<void*>(&line), value, sizeof line);
    machine_->wrote_line(rank_, &line, CountMachine::Write::signal);
  }

  template <class T>
  T wait(const Word<T>& word, Condition<T> condition, int from = any_rank,
         Meanwhile meanwhile = Meanwhile::little) const {
    machine_->wait(rank_, Awaited::word(word, condition, from, meanwhile));
    return value_of(word);
  }
  void wait_line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int from = any_rank) const {
    machine_->wait(rank_, Awaited::line(line, mask, value, from));
  }

  void load_line(const void* line, void* destination) const {
    machine_->obtained_line(rank_, line);
    std::memcpy(destination, line, arch::line_bytes);
  }
  void store_line(void* line, const void* source, StorePolicy) const {
    std::memcpy(line, source, arch::line_bytes);
    machine_->wrote_line(rank_, line, CountMachine::Write::store);
  }
  void fence() const {}
  void pause() const { machine_->pause(rank_); }
  void copy(void* destination, const void* source, std::size_t bytes) const {
    assert_copy(destination, source, bytes);
    auto* to = static_cast<unsigned char*>(destination);
    const auto* from = static_cast<const unsigned char*>(source);
    unsigned char line[arch::line_bytes];
    for (std::size_t at = 0; at < bytes; at += arch::line_bytes) {
      load_line(from + at, line);
      store_line(to + at, line, StorePolicy::plain);
    }
  }
  void move(Data to, Data from, std::size_t bytes, Stores = Stores::cached) const {
    assert_move(to, from, bytes);
    if (bytes == 0) return;
    machine_->moved(rank_, to.at, from.at, bytes);
    std::memcpy(to.at, from.at, bytes);
  }
  void combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    assert_combine(op, to, left, right, count);
    if (count == 0) return;
    machine_->combined(rank_, to.at, left.at, right.at, count * op.element_bytes, count);
    op.kernel(op.context, to.at, left.at, right.at, count);
  }
  void combine_pair(const WordPair& pair, std::uint64_t own) const {
    load_relaxed(pair.theirs);
    PortDefaults<CountPort>::combine_pair(pair, own);
  }

 private:
  template <class T>
  static T value_of(const Word<T>& word) {
    return word.atomic().load(std::memory_order_relaxed);
  }
  template <class T>
  void set(Word<T>& word, T value, CountMachine::Write how, bool ordered) const {
    word.atomic().store(value, std::memory_order_relaxed);
    machine_->wrote(rank_, &word, how, ordered);
  }
  template <class T, class Change>
  CountedResult<T> update(Word<T>& word, Change change, CountMachine::Write how,
                          bool sets_bits = false) const {
    const T before = value_of(word);
    const std::int64_t behind = machine_->obtained_by_update(rank_, &word, sets_bits);
    set(word, change(before), how, true);
    return CountedResult<T>(*machine_, rank_, behind, before);
  }

  CountMachine* machine_;
  int rank_;
};

}  // namespace phicoll
