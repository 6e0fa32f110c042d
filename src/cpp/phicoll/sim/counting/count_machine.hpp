#pragma once

// The memory and the scheduler of CountPort: all ranks of a shape as fibers of the calling thread, and
// records of which rank wrote and which obtained what. counts.hpp has the definitions.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/memory/shape.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/fiber.hpp"
#include "phicoll/sim/counting/counts.hpp"
#include "phicoll/waiting/awaited.hpp"

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

  /// One call: each rank runs `body(rank)` once, all at the same time. `barrier`: a rank must have heard
  /// of all others when it leaves.
  Counts run_call(const std::function<void(int)>& body, const std::vector<int>& order, bool barrier = true);

  /// These bytes of the memory are a rank's own: its buffers. What lies there is its own at the beginning of
  /// each call.
  void own(int rank, const unsigned char* from, std::size_t bytes);

  /// Who waits for and who writes 16 bytes of the memory: -1 for nobody, the first and another.
  struct Use {
    std::int16_t waits = -1, waits_too = -1, writes = -1, writes_too = -1;
    bool atomic = false;  ///< updated other than by a signal that sets bits
  };
  static constexpr std::size_t use_bytes = 16;
  /// Keeps uses from now on, and no records of data.
  void follow_uses() { uses_.resize(bytes_ / use_bytes); }
  const std::vector<Use>& uses() const { return uses_; }

  // For CountPort, which reads and changes the memory itself; these record it. `ordered`: with release, or
  // acquire.
  void wrote(int rank, const void* word, Write how, bool ordered);
  void wrote_line(int rank, const void* line, Write how);
  void obtained(int rank, const void* word, bool ordered);
  void obtained_line(int rank, const void* line);
  /// The edge of an atomic update's read, before wrote(); its path counts only if the result is used.
  std::int64_t obtained_by_update(int rank, const void* word, bool sets_bits = false);
  void used(int rank, std::int64_t rounds_behind);
  /// A move of message data, in shared memory or in ranks' own, and a combination of two operands.
  void moved(int rank, const void* to, const void* from, std::size_t bytes);
  void combined(int rank, const void* to, const void* left, const void* right, std::size_t bytes,
                std::size_t elements);
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
  struct Byte {
    std::int16_t writer;  // or owner; -1 for none
    std::uint16_t steps;  // crossings between ranks on its way here
  };
  struct OwnRange {
    int rank;
    std::size_t from, bytes;
  };
  std::size_t data_at(const void* place, std::size_t bytes);
  void read_data(int rank, std::size_t from, std::size_t bytes, std::vector<std::uint16_t>& steps);
  void wrote_data(int rank, std::size_t to, const std::vector<std::uint16_t>& steps);
  int owner_of(std::size_t byte) const;
  void forget_data();
  void note_use(int rank, const void* place, std::size_t bytes, bool waits);
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
    std::unique_ptr<os::Fiber> fiber;
  };

  Shape shape_;
  std::vector<int> cpu_, core_, l3_, numa_;
  unsigned char* memory_;
  std::size_t bytes_;
  std::vector<Line> lines_;
  std::vector<RankState> ranks_;
  std::deque<int> ready_;
  std::vector<Member> records_;  // stores that are notifications once another rank obtains them
  std::vector<OwnRange> own_;
  std::vector<Use> uses_;             // empty unless they are followed
  std::vector<Byte> data_;            // of every byte of the memory, once any was moved
  std::vector<std::uint16_t> steps_;  // of the move under way
  bool barrier_ = true;
  const std::function<void(int)>* body_ = nullptr;
  Counts counts_;
  std::uint64_t call_ = 0;
  std::int64_t entered_ = 0;
  std::size_t heard_words_ = 0;
  std::int64_t idle_turns_ = 0;
};

}  // namespace phicoll
