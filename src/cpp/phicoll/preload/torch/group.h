#pragma once

// A rank's side of a group: its calls in their order, from whichever thread, and its messages.

#include <c10/util/Exception.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "phicoll/preload/engine.hpp"

namespace phicoll_torch {

constexpr int any_source = -1;
/// Greater tags are the backend's own.
constexpr int last_tag = 2147483000;
constexpr int arrival_tag = last_tag + 1;
constexpr int release_tag = last_tag + 2;

[[noreturn]] inline void raise(const std::string& why) {
  C10_THROW_ERROR(DistBackendError, "phicoll: " + why);
}

/// Waits that look: at once at first, then giving the CPU away, then in naps, so that an idle rank takes next
/// to no time.
class Patience {
 public:
  void wait() {
    if (++turns_ <= looks) return;
    if (turns_ <= looks + yields) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(nap_us_));
    nap_us_ = std::min(nap_us_ + nap_us_ / 4, longest_nap_us);
  }

 private:
  static constexpr unsigned looks = 300, yields = 200;
  static constexpr int longest_nap_us = 1000;
  unsigned turns_ = 0;
  int nap_us_ = 20;
};

/// Holds a lock under which a tensor may end, which takes Python's lock: never waits while holding that.
class Locked {
 public:
  explicit Locked(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (lock_.owns_lock()) return;
    if (PyGILState_Check() == 0) {
      lock_.lock();
      return;
    }
    const pybind11::gil_scoped_release released;
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

class Group {
 public:
  using Job = std::function<void(Group&)>;

  Group(const std::string& name, int rank, int size, std::int64_t attach_ms, std::int64_t wait_ms,
        bool reproducible, int threads)
      : rank_(rank), size_(size), wait_ms_(wait_ms) {
    done(phicoll_preload_attach(name.c_str(), size, rank, nullptr, attach_ms, wait_ms, &group_));
    whole_ = phicoll_preload_whole(group_);
    // Messages, collective calls and parts of these may come from threads at once, each of which needs a
    // communicator.
    try {
      if (reproducible) done(phicoll_preload_reproducible(whole_));
      messages_ = another();
      while (threads > 1 && static_cast<int>(parts_.size()) < threads) {
        parts_.push_back(another());
        if (reproducible) done(phicoll_preload_reproducible(parts_.back()));
      }
    } catch (...) {
      leave();
      throw;
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
    leave();
  }

  int rank() const { return rank_; }
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  std::int64_t wait_ms() const { return wait_ms_; }

  /// Makes a call. Within run() and begin().
  void call(const PhicollRequest& request) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    done(phicoll_preload_call(whole_, &request));
  }
  /// Makes a call whose data is such elements, a large one by several threads if the group has them.
  void call_in_parts(const PhicollRequest& request, std::size_t element_bytes) {
    if (__builtin_expect(parts_.empty() || !is_large(request, element_bytes), 1)) return call(request);
    calls_.fetch_add(1, std::memory_order_relaxed);
    by_threads(request, element_bytes);
  }

  // Calls are made in the order in which the threads of this rank asked for them: (1) under the lock a call
  // takes the next number; (2) only the one whose number is served makes its call; (3) its end, under the
  // lock, serves the next number.

  /// Makes calls, on this thread.
  template <class Function>
  void run(const Function& function) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const std::uint64_t own = next_++;
      changed_.wait(lock, [&] { return served_ == own; });
    }
    const Turn turn(*this);
    function(*this);
  }

  /// Makes calls on a thread of the group's own. The job throws nothing.
  void begin(Job job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.emplace_back(next_++, std::move(job));
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
  }
  /// Waits for all that was begun.
  void drain() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return served_ == next_; });
  }
  void break_off(const char* why) { phicoll_preload_fail(whole_, why); }

  PhicollTransfer* begin_send(const void* data, std::size_t bytes, int rank, int tag, void* kept,
                              void (*let_go)(void*)) {
    const Locked lock(messages_mutex_);
    PhicollTransfer* made = nullptr;
    done(phicoll_preload_send(messages_, data, bytes, rank, tag, kept, let_go, &made));
    return made;
  }
  PhicollTransfer* begin_receive(void* buffer, std::size_t bytes, int rank, int tag, void* kept,
                                 void (*let_go)(void*)) {
    const Locked lock(messages_mutex_);
    PhicollTransfer* made = nullptr;
    done(phicoll_preload_receive(messages_, buffer, bytes, rank, tag, kept, let_go, &made));
    return made;
  }
  bool test(PhicollTransfer* transfer, std::size_t* bytes, int* source) {
    const Locked lock(messages_mutex_);
    int ended = 0;
    done(phicoll_preload_test(messages_, transfer, &ended, bytes, source));
    return ended != 0;
  }
  /// Any thread may: what goes on has another owner.
  void drop(PhicollTransfer* transfer) { phicoll_preload_drop(transfer); }

  /// A barrier by messages to rank 0, which names the ranks that do not come.
  void monitored_barrier(std::chrono::milliseconds timeout, bool wait_all) {
    const auto limit = timeout.count() >= 0 ? timeout : std::chrono::milliseconds(wait_ms_);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    if (rank_ != 0) {
      pass(true, 0, arrival_tag, deadline);
      if (!pass(false, 0, release_tag, deadline))
        raise("monitored_barrier: rank 0 did not let rank " + std::to_string(rank_) + " go on within " +
              std::to_string(limit.count()) + " ms: it, or another rank, has not come");
      return;
    }
    std::string missing;
    for (int rank = 1; rank < size_; ++rank)
      if (!pass(false, rank, arrival_tag, deadline)) {
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
        if (!wait_all) break;
      }
    if (!missing.empty())
      raise("monitored_barrier: rank " + missing + " has not come within " + std::to_string(limit.count()) +
            " ms");
    for (int rank = 1; rank < size_; ++rank) pass(true, rank, release_tag, deadline);
  }

  void done(PhicollResult result) const {
    if (result != PHICOLL_DONE) raise(phicoll_preload_error());
  }

 private:
  static constexpr std::size_t least_bytes_in_parts = std::size_t{1} << 20;
  static constexpr std::size_t elements_together = 64;  // at least a line of any type

  PhicollComm* another() {
    std::vector<int> members(static_cast<std::size_t>(size_));
    std::iota(members.begin(), members.end(), 0);
    PhicollComm* made = nullptr;
    done(phicoll_preload_create(group_, members.data(), size_, &made));
    return made;
  }
  void leave() {
    for (PhicollComm* const part : parts_) phicoll_preload_free(part);
    if (messages_ != nullptr) phicoll_preload_free(messages_);
    phicoll_preload_leave(group_);
  }

  /// Whether a call is large enough for parts. All ranks must decide alike: they know the size of all calls
  /// but exchanges with counts, for which they agree on the largest.
  bool is_large(const PhicollRequest& request, std::size_t element_bytes) const {
    const std::size_t* const counts =
        request.operation == PHICOLL_alltoall ? request.receive_counts : request.send_counts;
    std::size_t bytes = request.vector != 0
                            ? element_bytes * std::accumulate(counts, counts + size_, std::size_t{0})
                            : element_bytes * request.count;
    if (request.operation == PHICOLL_alltoall) {
      static const PhicollOperator* const greatest = phicoll_preload_operator("uint64", "max");
      PhicollRequest agreed = {};
      agreed.operation = PHICOLL_allreduce;
      agreed.count = 1;
      agreed.op = greatest;
      agreed.receive = &bytes;
      done(phicoll_preload_call(whole_, &agreed));
    } else if (request.vector == 0 &&
               (request.operation == PHICOLL_allgather || request.operation == PHICOLL_reduce_scatter)) {
      bytes *= static_cast<std::size_t>(size_);
    }
    return bytes >= least_bytes_in_parts;
  }

  // Each thread makes the call on a part of each block's elements, in a communicator of its own. (1) The note
  // tells a rank that makes another call, which would not come to the parts; an exchange has agreed before.
  // (2) A rank that lacks threads makes several parts one after the other, each thread's in rising order: so
  // the first part that is open anywhere has a thread in it on all ranks, and ends.
  void by_threads(const PhicollRequest& request, std::size_t element_bytes) {
    if (request.operation != PHICOLL_alltoall) done(phicoll_preload_note_parts(whole_, &request));  // (1)
    const std::size_t parts = parts_.size();
    std::vector<std::string> errors(parts);
    const auto make = [&](std::size_t number) {
      if (make_part(request, element_bytes, number) != PHICOLL_DONE) errors[number] = phicoll_preload_error();
    };
    std::vector<std::thread> helpers;
    helpers.reserve(parts);
    try {
      while (helpers.size() + 1 < parts) helpers.emplace_back(make, helpers.size() + 1);
    } catch (const std::exception&) {
      // The system has no more threads, or no memory for one.
    }
    make(0);
    for (std::size_t number = helpers.size() + 1; number < parts; ++number) make(number);  // (2)
    for (std::thread& helper : helpers) helper.join();
    for (const std::string& error : errors)
      if (!error.empty()) raise(error);
  }

  struct Piece {
    std::size_t begin, count;
  };
  /// The part with this number, of `count` elements.
  Piece piece(std::size_t count, std::size_t number) const {
    const std::size_t most =
        (count / parts_.size() + elements_together) / elements_together * elements_together;
    const std::size_t begin = std::min(count, number * most);
    return {begin, std::min(most, count - begin)};
  }
  /// The ranks' blocks of a part, in bytes.
  struct Blocks {
    std::vector<std::size_t> counts, places;
    void add(const Piece& own, std::size_t place) {
      counts.push_back(own.count);
      places.push_back(place + own.begin);
    }
  };
  template <class Memory>
  static Memory* beyond(Memory* memory, std::size_t bytes) {
    using Byte = std::conditional_t<std::is_const_v<Memory>, const char, char>;
    return memory == nullptr ? nullptr : static_cast<Byte*>(memory) + bytes;
  }

  PhicollResult make_part(const PhicollRequest& request, std::size_t element_bytes, std::size_t number) {
    if (request.operation == PHICOLL_reduce_scatter) return reduce_part(request, element_bytes, number);
    PhicollRequest part = request;
    Blocks sent, received;
    if (request.operation == PHICOLL_alltoall) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) {
        sent.add(piece(request.send_counts[i], number), request.send_displacements[i]);
        received.add(piece(request.receive_counts[i], number), request.receive_displacements[i]);
      }
      part.send_counts = sent.counts.data();
      part.send_displacements = sent.places.data();
    } else {
      const Piece own = piece(request.count, number);
      part.count = own.count;
      part.send = beyond(request.send, own.begin * element_bytes);
      if (request.operation != PHICOLL_allgather) {
        part.receive = beyond(request.receive, own.begin * element_bytes);
        return phicoll_preload_call(parts_[number], &part);
      }
      part.vector = 1;
      for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) received.add(own, i * request.count);
    }
    part.receive_counts = received.counts.data();
    part.receive_displacements = received.places.data();
    return phicoll_preload_call(parts_[number], &part);
  }
  /// A part of a reduce_scatter: of each block a reduction to its rank. Threads begin with different ones.
  PhicollResult reduce_part(const PhicollRequest& request, std::size_t element_bytes, std::size_t number) {
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<std::size_t> counts(ranks, request.count), begins(ranks);
    if (request.vector != 0) counts.assign(request.send_counts, request.send_counts + ranks);
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), std::size_t{0});
    PhicollRequest part = {};
    part.operation = PHICOLL_reduce;
    part.op = request.op;
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t root = (i + number) % ranks;
      const Piece own = piece(counts[root], number);
      part.root = static_cast<int>(root);
      part.count = own.count;
      part.send = beyond(request.send, (begins[root] + own.begin) * element_bytes);
      part.receive = part.root == rank_ ? beyond(request.receive, own.begin * element_bytes) : nullptr;
      const PhicollResult result = phicoll_preload_call(parts_[number], &part);
      if (result != PHICOLL_DONE) return result;
    }
    return PHICOLL_DONE;
  }

  /// Ends a turn, also where the call throws.
  class Turn {
   public:
    explicit Turn(Group& group) : group_(group) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const std::lock_guard<std::mutex> lock(group_.mutex_);
      ++group_.served_;
      group_.changed_.notify_all();
    }

   private:
    Group& group_;
  };

  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return queue_.empty() ? ends_ : queue_.front().first == served_; });
      if (queue_.empty()) return;
      const Job job = std::move(queue_.front().second);
      queue_.pop_front();
      lock.unlock();
      {
        const Turn turn(*this);
        job(*this);
      }
      lock.lock();
    }
  }

  /// An empty message to or from a rank. False if the time is over.
  bool pass(bool sends, int rank, int tag, std::chrono::steady_clock::time_point deadline) {
    const auto nothing = [](void*) {};
    PhicollTransfer* const transfer = sends ? begin_send(nullptr, 0, rank, tag, nullptr, nothing)
                                            : begin_receive(nullptr, 0, rank, tag, nullptr, nothing);
    std::size_t bytes = 0;
    int source = 0;
    bool ended = false;
    for (Patience patience; !(ended = test(transfer, &bytes, &source)); patience.wait())
      if (std::chrono::steady_clock::now() > deadline) break;
    drop(transfer);
    return ended;
  }

  int rank_;
  int size_;
  std::int64_t wait_ms_;
  PhicollGroup* group_ = nullptr;
  PhicollComm* whole_ = nullptr;
  PhicollComm* messages_ = nullptr;
  std::vector<PhicollComm*> parts_;  // of large calls: one for each thread, or none
  std::atomic<std::uint64_t> calls_{0};
  std::mutex mutex_, messages_mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::uint64_t, Job>> queue_;  // that the worker makes, with their numbers
  std::uint64_t next_ = 0, served_ = 0;
  bool ends_ = false;
  std::thread worker_;
};

}  // namespace phicoll_torch
