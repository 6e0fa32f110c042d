#pragma once

// A NativePort that holds its rank up at random between any two steps, and whose data peers reach or not as
// the test says.

#include <sys/prctl.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "phicoll/ports/native_port.hpp"

namespace phicoll {

class DelayPort : public NativePort {
 public:
  static constexpr bool checked = true;
  DelayPort(Control& control, int rank, std::uint32_t seed, bool exposable,
            const CallHistory* calls = nullptr)
      : NativePort(control, rank, WaitPolicy(), calls), state_(seed), exposable_(exposable) {
    prctl(PR_SET_TIMERSLACK, 1000);  // of this thread: with the usual 50 us of it a sleep of 50 takes 105
  }

  using NativePort::signal;
  template <class T>
  void signal(Word<T>& word, T value) const {
    delay();
    NativePort::signal(word, value);
  }
  template <class T>
  T signal_add(Word<T>& word, T value) const {
    delay();
    return NativePort::signal_add(word, value);
  }
  template <class T>
  T wait(const Word<T>& word, Condition<T> condition, int from = any_rank,
         Meanwhile meanwhile = Meanwhile::little) const {
    const T seen = NativePort::wait(word, condition, from, meanwhile);
    delay();
    return seen;
  }
  template <class T>
  T wait_for_more(const Word<T>& word, Condition<T> condition, int from, const unsigned char* more,
                  std::size_t bytes) const {
    const T seen = NativePort::wait_for_more(word, condition, from, more, bytes);
    delay();
    return seen;
  }
  template <class T>
  bool comes_soon(const Word<T>& word, Condition<T> condition, int from) const {
    const bool came = NativePort::comes_soon(word, condition, from);
    delay();
    return came;
  }
  void move(Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) const {
    delay();
    NativePort::move(to, from, bytes, stores);
  }
  void combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    delay();
    NativePort::combine(op, to, left, right, count);
  }
  void fetch(Data to, const Exposed& from, std::size_t offset, std::size_t bytes) const {
    delay();
    NativePort::fetch(to, from, offset, bytes);
  }
  void put(const Exposed& to, std::size_t offset, Data from, std::size_t bytes) const {
    delay();
    NativePort::put(to, offset, from, bytes);
  }
  bool reachable(Data, std::size_t) const { return exposable_; }
  bool exposable(Data, std::size_t) const { return exposable_; }

  /// Any time, so that ranks judge differently which way was the faster one.
  std::int64_t now() const {
    delay();
    return state_ >> 8;
  }
  /// At random, so that both ways are taken.
  bool near(std::size_t) const {
    delay();
    return (state_ >> 20) % 2 == 0;
  }

  /// One step in 64 takes long enough for the others to run far ahead, some give the CPU away.
  void delay() const {
    state_ = state_ * 1664525u + 1013904223u;
    const std::uint32_t draw = state_ >> 16;
    if (draw % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (draw % 8 == 0)
      std::this_thread::yield();
  }

 private:
  mutable std::uint32_t state_;
  bool exposable_;
};

}  // namespace phicoll
