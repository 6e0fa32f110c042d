#pragma once

// STREAM over OpenSHMEM (paper 003, section 4.2): copy, scale, add and triad of arrays of doubles. Each rank
// works on one block of its part at a time, and after each block all ranks reduce. A block's operands are got
// into a buffer and its results put back, or it is computed in place by loads and stores through shmem_ptr,
// perhaps with prefetches, as the paper's compiler directives ask for them.

#include <algorithm>

#include "phicoll/programs/program.hpp"
#include "phicoll/programs/symmetric.hpp"

namespace phicoll {
namespace programs {

struct StreamShmem {
  static ProgramFacts facts() {
    return {"stream-shmem",
            Operation::allreduce,
            "namashivayam-2014, section 4.2 (McCalpin 1995)",
            "STREAM over OpenSHMEM: copy, scale, add and triad, with an allreduce after each block",
            {{"put-get", "blocks are got into a buffer and results put back"},
             {"loads", "loads and stores in place, through shmem_ptr"},
             {"prefetched", "the same, and operands are prefetched"}}};
  }
  enum Way : int { put_get, loads, prefetched };
  static std::vector<ProblemClass> classes() {
    return {{'S', "3 arrays of 2^16 doubles"}, {'W', "3 arrays of 2^20"}, {'A', "3 arrays of 2^23"}};
  }
  static const char* ranks_allowed(char, int) { return nullptr; }
  static std::size_t message_bytes(char) { return sizeof(double); }
  static std::size_t shared_bytes(char letter, int ranks) {
    SharedPieces pieces(nullptr);
    Arrays(pieces, letter, ranks);
    return pieces.bytes();
  }
  static constexpr std::size_t block = 1024;
  /// Doubles of a rank in each array.
  static std::size_t part(char letter, int ranks) {
    const std::size_t all = std::size_t{1} << (letter == 'S' ? 16 : letter == 'W' ? 20 : 23);
    return (all + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  }
  struct Arrays {
    Arrays(SharedPieces& memory, char letter, int ranks)
        : a(memory, part(letter, ranks), ranks),
          b(memory, part(letter, ranks), ranks),
          c(memory, part(letter, ranks), ranks),
          buffers(memory, 3 * block, ranks) {}
    Symmetric<double> a, b, c, buffers;
  };

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter, int way)
        : context_(context),
          way_(way),
          part_(part(letter, context.size())),
          memory_(context.shared()),
          arrays_(memory_, letter, context.size()) {}

    void run() {
      double* const a = arrays_.a.of(context_.rank());
      double* const b = arrays_.b.of(context_.rank());
      double* const c = arrays_.c.of(context_.rank());
      std::fill(a, a + part_, 1.0);
      std::fill(b, b + part_, 2.0);
      std::fill(c, c + part_, 0.0);
      for (const double* array : {a, b, c}) context_.writes(array, part_);
      wrong_ = 0;
      double a_now = 1, b_now = 2, c_now = 0;  // what all elements are
      for (int i = 0; context_.begins_iteration(i, iterations); ++i) {
        pass(c, a, nullptr, c_now = a_now, [](double x, double) { return x; });
        pass(b, c, nullptr, b_now = factor * c_now, [](double x, double) { return factor * x; });
        pass(c, a, b, c_now = a_now + b_now, [](double x, double y) { return x + y; });
        pass(a, b, c, a_now = b_now + factor * c_now, [](double x, double y) { return x + factor * y; });
      }
      for (const double* array : {a, b, c})
        wrong_ += std::count_if(array, array + part_, [&](double x) {
          return x != (array == a ? a_now : array == b ? b_now : c_now);
        });
    }

    ProgramCheck check() const {
      return {"number of wrong elements and sums", static_cast<double>(wrong_), 0, 0};
    }

   private:
    static constexpr int iterations = 10;
    static constexpr double factor = 3;

    /// to = element(left, right), block by block, each followed by a reduction of its last element.
    template <class Element>
    void pass(double* to, const double* left, const double* right, double expected, Element element) {
      double* const buffer = arrays_.buffers.of(context_.rank());
      for (std::size_t at = 0; at < part_; at += block) {
        const std::size_t n = std::min(std::size_t{block}, part_ - at);  // min takes a reference
        if (way_ != put_get) {
          compute(to + at, left + at, right == nullptr ? nullptr : right + at, n, element);
        } else {
          context_.get(buffer, left + at, n);
          if (right != nullptr) context_.get(buffer + block, right + at, n);
          compute(buffer + 2 * block, buffer, right == nullptr ? nullptr : buffer + block, n, element);
          context_.put(to + at, buffer + 2 * block, n);
        }
        double sum = 0;
        context_.allreduce(to + at + n - 1, &sum, 1);
        wrong_ += sum != expected * context_.size();
      }
    }
    template <class Element>
    void compute(double* to, const double* left, const double* right, std::size_t n, Element element) {
      std::size_t at = 0;
      for (; at + doubles_a_line <= n; at += doubles_a_line)
        compute_line(to, left, right, at, doubles_a_line, n, element);
      if (at < n) compute_line(to, left, right, at, n - at, n, element);
    }
    /// Vector code: an operation a line.
    template <class Element>
    void compute_line(double* to, const double* left, const double* right, std::size_t at, std::size_t items,
                      std::size_t n, Element element) {
      if (way_ == prefetched && at + ahead < n) {
        context_.prefetch(left + at + ahead);
        if (right != nullptr) context_.prefetch(right + at + ahead);
      }
      context_.reads(left + at, items);
      if (right != nullptr) context_.reads(right + at, items);
      const double* const second = right == nullptr ? left : right;
      double line[doubles_a_line];
      for (std::size_t i = 0; i < items; ++i) line[i] = element(left[at + i], second[at + i]);
      std::copy_n(line, items, to + at);
      context_.writes(to + at, items);
      context_.computes(1);
    }
    static constexpr std::size_t doubles_a_line = arch::line_bytes / sizeof(double);
    static constexpr std::size_t ahead = 16 * doubles_a_line;

    Context& context_;
    int way_;
    std::size_t part_;
    SharedPieces memory_;
    Arrays arrays_;
    long wrong_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
