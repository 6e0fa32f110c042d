#pragma once

// What an algorithm's file provides, and what it is given.
//
//     struct Dissemination : AlgorithmDefaults {
//       static AlgorithmFacts facts();                       // name, origin, source, one sentence
//       struct Parameters { ... };
//       template <class Visitor>
//       static void describe(Visitor&, Parameters&);         // see parameters.hpp
//       // Bytes of shared memory: zeroed, aligned to a line.
//       static std::size_t footprint(const Parameters& in_effect, const Shape&);
//
//       template <class Port>
//       class Rank {                                         // one rank's side
//        public:
//         Rank(const Parameters& in_effect, const Setup&);   // stores nothing in shared memory
//         void operator()(Port&);                            // of a barrier
//         void operator()(Port&, const Call&);               // of an operation that moves data
//       };
//     };

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

/// How much of a call its algorithm's `start` has done.
enum class Started : unsigned char {
  no,    ///< nothing: this call cannot be made in two parts
  half,  ///< all before the first wait, which may be nothing
  whole  ///< all
};

enum class Origin : unsigned char { paper, phicoll, reference };
inline const char* to_string(Origin origin) {
  return origin == Origin::paper ? "paper" : origin == Origin::phicoll ? "phicoll" : "reference";
}

struct AlgorithmFacts {
  const char* name;
  Origin origin;
  const char* source;   ///< paper by author and year with the section, or the project
  const char* summary;  ///< one sentence
};

/// Turns a rank into the number that a wait names it by: the group's number, if the ranks are a part of a
/// group.
class Hint {
 public:
  explicit Hint(const int* members) : members_(members) {}
  int operator()(int rank) const { return members_ == nullptr ? rank : members_[rank]; }

 private:
  const int* members_;
};

/// What a rank's side is built from. `memory` is `footprint` bytes, zeroed, aligned to 128 bytes. Ranks that
/// are processes may see it at different addresses.
struct Setup {
  int rank;
  const Shape& shape;
  unsigned char* memory;
  /// The group's numbers of these ranks, for the hints in waits, if `shape` is a part of a group. Must
  /// outlive the object built from it, unless that needs hints in its constructor only.
  const int* members = nullptr;

  int size() const { return shape.size(); }
  Hint hint() const { return Hint(members); }
  /// The object of type T at byte `offset` of the memory.
  template <class T>
  T* at(std::size_t offset) const {
    PHICOLL_ASSERT(ThisBuild, offset % alignof(T) == 0,
                   "an object that is not aligned at byte " + std::to_string(offset));
    return reinterpret_cast<T*>(memory + offset);
  }
};

/// An array of lines, each a stride of the shape from the next.
template <class Line>
class StridedLines {
  static_assert(sizeof(Line) == arch::line_bytes, "one line");

 public:
  static std::size_t bytes(const Shape& shape, int count) {
    return static_cast<std::size_t>(count) * shape.stride();
  }
  StridedLines(const Setup& setup, std::size_t offset)
      : first_(setup.at<unsigned char>(offset)), stride_(static_cast<std::ptrdiff_t>(setup.shape.stride())) {}
  Line& operator[](int index) const { return *reinterpret_cast<Line*>(first_ + index * stride_); }

 private:
  unsigned char* first_;
  std::ptrdiff_t stride_;
};

// A Rank may also offer its call in two parts, so that a nonblocking call needs no stack of its own. A
// barrier's parts take no Call.
//
//     Started start(Port&, const Call&);    // all before the first wait; never waits
//     void complete(Port&, const Call&);    // the rest, after start has returned Started::half
//
// An algorithm may redefine the functions of AlgorithmDefaults. All ranks construct with equal parameters and
// shapes. A peer may have begun the first operation while this rank still constructs, so a constructor never
// stores to shared memory.

/// Defaults for what an algorithm may leave out.
struct AlgorithmDefaults {
  /// Lowers parameters to the largest values that are useful for the shape: the values in effect.
  template <class Parameters>
  static void limit(Parameters&, const Shape&) {}
  /// The values that are allowed if these do not go together; otherwise null.
  template <class Parameters>
  static const char* refuse(const Parameters&) {
    return nullptr;
  }
  /// The reason why the algorithm cannot serve such a call, or null.
  template <class Parameters>
  static const char* unfit(const Parameters&, const Shape&, const CallFacts&) {
    return nullptr;
  }
  /// Whether a reduction combines all operands one by one from rank 0 on, each element alike: so its bits
  /// depend on nothing but the operands.
  template <class Parameters>
  static bool in_rank_order(const Parameters&) {
    return false;
  }
  /// The line that every rank writes first in calls of up to 8 bytes, or null. It is asked for before a call
  /// is noted and its algorithm entered, so that it arrives meanwhile.
  static const void* first_line(const Setup&) { return nullptr; }
};

/// ceil(log_base(n)) for base >= 2, n >= 1, in integers.
constexpr int ceil_log(int base, int n) {
  int rounds = 0;
  for (long reach = 1; reach < n; reach *= base) ++rounds;
  return rounds;
}

}  // namespace phicoll
