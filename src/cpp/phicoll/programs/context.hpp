#pragma once

// What a program sees of a rank: its number, the collectives and memory that all ranks reach.
//
// A program also says which items of shared memory it reads and writes, and how much it computes. That is
// nothing here; a simulated rank (sim/running/whole_program.cpp) takes its machine's time for it.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "phicoll/arch/arch.hpp"

namespace phicoll {
namespace programs {

/// How many operations a root or a division counts as.
constexpr long slow_operation = 20;

/// A rank that meets the others in `barrier`, anything callable. What a rank wrote to shared memory before a
/// barrier, all read after it.
template <class Barrier>
class BarrierContext {
 public:
  /// `shared`: the same memory on every rank, aligned to a page.
  BarrierContext(int rank, int size, unsigned char* shared, Barrier barrier)
      : rank_(rank), size_(size), shared_(shared), barrier_(barrier) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  unsigned char* shared() const { return shared_; }
  void barrier() {
    note_call();
    barrier_();
  }
  /// OpenSHMEM's put and get: copies, as phicoll's are, since all ranks reach the shared memory.
  template <class T>
  void put(T* to, const T* from, std::size_t count) {
    std::copy_n(from, count, to);
  }
  template <class T>
  void get(T* to, const T* from, std::size_t count) {
    std::copy_n(from, count, to);
  }
  /// Collectives so far.
  std::uint64_t calls() const { return calls_; }

  /// Whether outer iteration `i` of `all` runs: each rank asks before it. Simulated, not all do.
  bool begins_iteration(int i, int all) { return i < all; }
  template <class T>
  void reads(const T*, std::size_t) const {}
  /// After they are written.
  template <class T>
  void writes(const T*, std::size_t) const {}
  /// Before it is read, some way ahead.
  template <class T>
  void prefetch(const T* item) const {
    __builtin_prefetch(item);
  }
  /// Arithmetic operations, and loads and stores of a rank's own items. A root or a division counts as
  /// `slow_operation`.
  void computes(long) const {}

 protected:
  void note_call() { ++calls_; }

 private:
  int rank_;
  int size_;
  unsigned char* shared_;
  Barrier barrier_;
  std::uint64_t calls_ = 0;
};

/// Items first to end - 1 of a loop.
struct Share {
  long first, end;
};
/// A rank's part of a loop over `items`, as OpenMP's static schedule divides it.
inline Share share_of(long items, int rank, int size) {
  const long whole = items / size, more = items % size;
  const long first = rank * whole + (rank < more ? rank : more);
  return {first, first + whole + (rank < more ? 1 : 0)};
}

/// Gives out shared memory piece by piece; all ranks ask for the same. Without memory it counts the bytes.
class SharedPieces {
 public:
  explicit SharedPieces(unsigned char* memory) : memory_(memory) {}
  template <class T>
  T* take(std::size_t items) {
    const std::size_t at = bytes_;
    bytes_ += arch::whole_strides(items * sizeof(T));
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  unsigned char* memory_;
  std::size_t bytes_ = 0;
};

/// Sums over all ranks by one barrier, as OpenMP's reduction clause at a loop's end: each rank writes its
/// part to a line of its own and adds up all of them in rank order, so all get the same.
/// 1. Sums use two sets of lines by turns. A rank writes to a set again only after the barrier of the sum
///    between.
/// 2. All ranks come to that barrier after they have read the set. So nobody overwrites what others read.
class SharedSums {
 public:
  static constexpr int most = 6;  ///< values of one sum
  SharedSums(SharedPieces& pieces, int size)
      : cells_(pieces.take<Cell>(2 * static_cast<std::size_t>(size))), size_(size) {}

  template <class Context, int n>
  void add(Context& context, double (&values)[n]) {
    static_assert(n <= most, "fits a cell");
    Cell* const cells = cells_ + (turn_ ? size_ : 0);
    turn_ = !turn_;
    for (int i = 0; i < n; ++i) cells[context.rank()].values[i] = values[i];
    context.writes(cells[context.rank()].values, n);
    context.barrier();
    context.reads(cells, static_cast<std::size_t>(size_));
    context.computes(long{n} * size_);
    for (int i = 0; i < n; ++i) {
      values[i] = 0;
      for (int r = 0; r < size_; ++r) values[i] += cells[r].values[i];
    }
  }
  template <class Context>
  double add(Context& context, double value) {
    double values[1] = {value};
    add(context, values);
    return values[0];
  }

 private:
  struct alignas(arch::stride_bytes) Cell {
    double values[most];
  };
  Cell* cells_;
  int size_;
  bool turn_ = false;
};

}  // namespace programs
}  // namespace phicoll
