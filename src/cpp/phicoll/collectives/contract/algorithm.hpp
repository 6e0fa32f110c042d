#pragma once

// What every algorithm file gives, and what it is given.
//
//   struct Dissemination {
//     static AlgorithmFacts facts();                              // name, origin, source, one sentence
//     struct Parameters { ... };
//     template <class Visitor> static void describe(Visitor&, Parameters&);
//     static void limit(Parameters&, const Shape&);               // to the largest useful values: what is in
//     effect static std::size_t footprint(const Parameters&, const Shape&);   // bytes of shared memory,
//     zeroed, line-aligned template <class Port> class Rank {                          // one rank's side
//      public:
//       Rank(const Parameters& effective, const Setup& setup);    // works out who tells whom; no message, no
//       store void operator()(Port& port);                              // one barrier
//     };
//   };
//
// All ranks construct with equal parameters and shapes. A peer may already have run ahead into the first
// operation while this rank still constructs, so a constructor never stores to shared memory.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

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

/// What a rank's side is built from. `memory` is `footprint` bytes, zeroed, aligned to 128 bytes; its
/// position differs between ranks that are processes, its content does not.
struct Setup {
  int rank;
  const Shape& shape;
  unsigned char* memory;
  /// Where `shape` is a part of a group: the group's numbers of its ranks, for the hints in waits. Outlives
  /// what is built from it.
  const int* members = nullptr;

  int size() const { return shape.size(); }
  /// The object of type T at byte `offset` of the memory.
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory + offset);
  }
};

/// An explicit list of algorithm types: a line an algorithm, expanded by every port and by the tests.
template <class... Algorithms>
struct AlgorithmList {};

/// ceil(log_base(n)) for base >= 2, n >= 1, in integers.
constexpr int ceil_log(int base, int n) {
  int rounds = 0;
  for (long reach = 1; reach < n; reach *= base) ++rounds;
  return rounds;
}

}  // namespace phicoll
