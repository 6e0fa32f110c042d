#pragma once

// The memory and the scheduler behind CountPort: all ranks of a shape as fibers of the calling thread, and
// the books on who wrote and who obtained what. The definitions are in count_barrier.hpp.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/memory/shape.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/sim/awaited.hpp"
#include "phicoll/sim/count_barrier.hpp"
#include "phicoll/sim/fiber.hpp"

namespace phicoll {

class CountMachine {
 public:
  /// How a word came to be written.
  enum class Write : unsigned char {
    store,         ///< a notification only if another rank obtains it
    signal,        ///< a notification
    arrival,       ///< an atomic update, a notification only if another rank obtains it
    signal_update  ///< an atomic update that is a notification
  };

  CountMachine(const Shape& shape, std::size_t bytes);
  ~CountMachine();

  unsigned char* memory() { return memory_; }
  const Shape& shape() const { return shape_; }

  /// One episode: each rank calls `body(rank)` once, all at the same time.
  Counts run_episode(const std::function<void(int)>& body, const std::vector<int>& order);

  // For CountPort. The memory itself has been read or changed by the port; these keep the books. `ordered`:
  // with release, or acquire.
  void wrote(int rank, const void* word, Write how, bool ordered);
  void wrote_line(int rank, const void* line, Write how);
  void obtained(int rank, const void* word, bool ordered);
  void obtained_line(int rank, const void* line);
  /// The edge of an atomic update's read, before wrote(); its path counts only if the result is used.
  std::int64_t obtained_by_update(int rank, const void* word);
  void used(int rank, std::int64_t rounds_behind);
  /// Message data, in shared memory or a rank's own; bytes from and to other ranks are counted.
  void read_data(int rank, const void* from, std::size_t bytes);
  void wrote_data(int rank, const void* to, std::size_t bytes);
  void wait(int rank, const Awaited& awaited);
  void pause(int rank);

 private:
  struct Line;
  struct WordState;
  struct Member;

  Line& line_of(const void* place);
  WordState& word_of(const void* word);
  void start_version(WordState& word, int rank, Write how, bool ordered, std::int64_t record);
  void finish_write(int rank, Line& line);
  bool look_edge(int rank, WordState& word, int from);
  std::int64_t rounds_behind(int rank, const WordState& word) const;
  void follow(int rank, WordState& word, int from, bool ordered);
  void hear(int rank, const WordState& word);
  void check_heard(int rank) const;
  void consume(int rank, WordState& word);
  void run_ready();
  void suspend(int rank);
  [[noreturn]] void throw_deadlock(const char* what);

  struct RankState {
    std::int64_t rounds = 0;
    std::int64_t chain = 0;
    std::vector<std::uint64_t> heard;  // of whose entry: a bit a rank; empty where it is not followed
    bool entered = false;
    bool left = false;
    bool waiting = false;
    Awaited awaited = {};
    std::unique_ptr<Fiber> fiber;
  };

  Shape shape_;
  std::vector<int> cpu_, core_, l3_, numa_;
  unsigned char* memory_;
  std::size_t bytes_;
  std::vector<Line> lines_;
  std::vector<RankState> ranks_;
  std::deque<int> ready_;
  std::vector<Member> records_;  // stores that are notifications once another rank obtains them
  const std::function<void(int)>* body_ = nullptr;
  Counts counts_;
  std::uint64_t episode_ = 0;
  std::int64_t entered_ = 0;
  std::size_t heard_words_ = 0;
  std::int64_t idle_turns_ = 0;
};

}  // namespace phicoll
