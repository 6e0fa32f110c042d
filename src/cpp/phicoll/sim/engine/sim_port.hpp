#pragma once

// SimPort: one rank's way into a simulated machine, by the contract of port.hpp. Every call is one
// operation of the rank's context: it takes the simulated time that the machine needs for it, and the rank's
// fiber stands still meanwhile. Total store order as on the Xeon Phi (ramos-hoefler-2013 section 3.1): stores
// become visible in program order, later than the rank goes on; loads see the rank's own stores at once. So
// an acquire and a release cost nothing beyond the load and the store.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "phicoll/arch/line_words.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/software.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/ports/port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {
namespace sim {

class SimPort : public PortDefaults<SimPort> {
 public:
  SimPort(Simulation& simulation, int rank) : simulation_(&simulation), rank_(rank) {}

  int rank() const { return rank_; }

  template <class T>
  T load_relaxed(const Word<T>& word) const {
    assert_word(word);
    return static_cast<T>(simulation_->load(rank_, &word, sizeof(T)));
  }
  template <class T>
  T load_acquire(const Word<T>& word) const {
    return load_relaxed(word);
  }
  template <class T>
  void store_relaxed(Word<T>& word, T value) const {
    assert_word(word);
    simulation_->store(rank_, &word, &value, sizeof(T), StorePolicy::plain, Order::relaxed);
  }
  template <class T>
  void store_release(Word<T>& word, T value) const {
    assert_word(word);
    simulation_->store(rank_, &word, &value, sizeof(T), StorePolicy::plain);
  }
  template <class T>
  T exchange(Word<T>& word, T value) const {
    return update(word, Update::exchange, value);
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired) const {
    const T before = update(word, Update::compare_exchange, desired, expected);
    if (before == expected) return true;
    expected = before;
    return false;
  }
  template <class T>
  T fetch_add(Word<T>& word, T value) const {
    return update(word, Update::add, value);
  }
  template <class T>
  T fetch_or(Word<T>& word, T value) const {
    return update(word, Update::bit_or, value);
  }

  template <class T>
  void signal(Word<T>& word, T value) const {
    software(Software::send);
    store_release(word, value);
  }
  template <class T>
  T signal_add(Word<T>& word, T value) const {
    software(Software::send);
    return fetch_add(word, value);
  }
  template <class T>
  T signal_or(Word<T>& word, T value) const {
    software(Software::send);
    return fetch_or(word, value);
  }
  template <class T>
  void signal(SoleWriterLine<T>& line, T value, StorePolicy policy) const {
    if (policy == StorePolicy::plain) {
      signal(line.word, value);
      return;
    }
    PHICOLL_ASSERT(SimPort, simulation_->is_alone(&line.word, sizeof(T)),
                   acts("stores a line whole in which other words lie", 0));
    software(Software::send);
    unsigned char image[arch::line_bytes] = {};
    std::memcpy(image, &value, sizeof value);
    simulation_->store(rank_, &line, image, sizeof image, policy);
  }
  template <class Lines, class T>
  void signal_each(Lines& lines, int first, int last, T value, StorePolicy policy) const {
    if (!simulation_->has_local_stores())
      return PortDefaults<SimPort>::signal_each(lines, first, last, value, policy);
    std::vector<unsigned char*> places;
    for (int i = first; i < last; ++i) {
      software(Software::send);
      places.push_back(reinterpret_cast<unsigned char*>(&lines[i].word));
    }
    if (!places.empty()) simulation_->store_list(rank_, places, &value, sizeof value);
  }
  template <class T>
  void signal_with(Word<T>& word, T value, Data to, Data from, std::size_t bytes) const {
    if (!simulation_->has_local_stores())
      return PortDefaults<SimPort>::signal_with(word, value, to, from, bytes);
    assert_word(word);
    assert_bound(from, bytes);
    software(Software::send);
    simulation_->store_entry(rank_, &word, &value, sizeof value, to.at, from.at, bytes);
  }
  void signal_bytes(ByteLine& line, std::uint8_t value) const {
    software(Software::send);
    unsigned char image[arch::line_bytes];
    std::memset(image, value, sizeof image);
    simulation_->store(rank_, &line, image, sizeof image, StorePolicy::plain);
  }

  template <class T>
  T wait(const Word<T>& word, Condition<T> condition, int from = any_rank,
         Meanwhile meanwhile = Meanwhile::little) const {
    assert_word(word);
    assert_from(from);
    return static_cast<T>(simulation_->wait(rank_, Awaited::word(word, condition, from, meanwhile)));
  }
  void wait_line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int from = any_rank) const {
    assert_word(line.bytes[0]);
    assert_from(from);
    simulation_->wait(rank_, Awaited::line(line, mask, value, from));
  }

  void load_line(const void* line, void* destination) const {
    simulation_->load_bytes(rank_, line, destination, arch::line_bytes);
  }
  void store_line(void* line, const void* source, StorePolicy policy) const {
    simulation_->store(rank_, line, source, arch::line_bytes, policy);
  }
  void copy(void* destination, const void* source, std::size_t bytes) const {
    assert_copy(destination, source, bytes);
    simulation_->copy(rank_, destination, source, bytes);
  }
  void prefetch(const void* line) const { simulation_->prefetch(rank_, line); }
  void evict(const void* line) const { simulation_->evict(rank_, line); }
  void fence() const { simulation_->fence(rank_); }
  void pause() const { simulation_->pause(rank_); }
  void software(Software what) const { simulation_->software(rank_, what); }

  Data bind(const void* pointer, std::size_t bytes) const {
    const Data data = PortDefaults<SimPort>::bind(pointer, bytes);
    assert_bound(data, bytes);
    return data;
  }
  void move(Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) const {
    assert_move(to, from, bytes);
    assert_bound(to, bytes);
    assert_bound(from, bytes);
    simulation_->copy(rank_, to.at, from.at, bytes, stores);
  }
  void combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    assert_combine(op, to, left, right, count);
    for (const Data data : {to, left, right}) assert_bound(data, count * op.element_bytes);
    simulation_->combine(rank_, op, to.at, left.at, right.at, count);
  }
  std::uint64_t read_value(Data from, std::size_t bytes) const {
    assert_value(from, bytes);
    assert_bound(from, bytes);
    return simulation_->read_value(rank_, from.at, bytes);
  }
  void write_value(Data to, std::uint64_t value, std::size_t bytes) const {
    assert_value(to, bytes);
    assert_bound(to, bytes);
    simulation_->write(rank_, to.at, &value, bytes);
  }
  void combine_pair(const WordPair& pair, std::uint64_t own) const {
    std::uint64_t values[2];
    values[pair.rank] = own;
    values[1 - pair.rank] = load_relaxed(pair.theirs);
    std::uint64_t result = 0;
    pair.kernel(pair.context, &result, values, values + 1, pair.count);
    write_value(pair.to, result, pair.bytes);
  }

  /// The machine's cycle counter; the same on every core.
  std::int64_t ticks() const { return simulation_->ticks(rank_); }
  void wait_until(std::int64_t ticks) const { simulation_->wait_until(rank_, ticks); }
  std::int64_t now() const { return simulation_->nanoseconds(rank_); }

 private:
  template <class T>
  T update(Word<T>& word, Update how, T value, T expected = T{}) const {
    assert_word(word);
    return static_cast<T>(simulation_->update(rank_, &word, sizeof(T), how, value, expected));
  }

  template <class T>
  void assert_word(const Word<T>& word) const {
    PHICOLL_ASSERT(SimPort, simulation_->holds_words(&word), acts("uses a word outside its footprint", 0));
    PHICOLL_ASSERT(SimPort, reinterpret_cast<std::uintptr_t>(&word) % sizeof(T) == 0,
                   acts("uses a word that is not aligned", sizeof(T)));
  }
  void assert_from(int from) const {
    PHICOLL_ASSERT(SimPort, from >= any_rank && from < simulation_->shape().size(),
                   acts("waits for a rank that does not exist", 0));
  }
  void assert_bound(Data data, std::size_t bytes) const {
    PHICOLL_ASSERT(SimPort, bytes == 0 || simulation_->holds(data.at, bytes),
                   acts("uses data that was not bound", bytes));
  }

  Simulation* simulation_;
  int rank_;
};

}  // namespace sim
}  // namespace phicoll
