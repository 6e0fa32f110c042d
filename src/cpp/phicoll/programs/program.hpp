#pragma once

// What a parallel program provides: a template over a rank's context (context.hpp).
//
//     struct NBody {
//       static ProgramFacts facts();
//       static std::vector<ProblemClass> classes();                 // the first is the default
//       static const char* ranks_allowed(char problem, int ranks);  // null: yes
//       static std::size_t message_bytes(char problem);             // of the collective; 0: a barrier
//       static std::size_t shared_bytes(char problem, int ranks);   // of memory that all ranks reach
//       template <class Context> class Rank {
//        public:
//         Rank(Context& context, char problem);  // what no run changes: not timed. With ways: and int way
//         void run();                            // a whole run from its beginning
//         ProgramCheck check();                  // of the last run; collective
//       };
//     };

#include <string>
#include <vector>

#include "phicoll/collectives/contract/operation.hpp"

namespace phicoll {
namespace programs {

/// A way in which a program can do what it does, such as to move data.
struct ProgramWay {
  const char* name;
  const char* meaning;
};

struct ProgramFacts {
  const char* name;
  Operation operation;  ///< the collective whose algorithms are compared
  const char* source;
  const char* summary;                ///< one sentence
  std::vector<ProgramWay> ways = {};  ///< the first is the default; none: there is but one
};

/// A size of a program's input.
struct ProblemClass {
  char letter;
  const char* size;  ///< in words
};

/// A value that a run computed, and what it has to be. NaN is never right.
struct ProgramCheck {
  const char* what;
  double value;
  double expected;
  double tolerance;  ///< the largest difference allowed
  bool right() const { return value - expected <= tolerance && expected - value <= tolerance; }
};

}  // namespace programs
}  // namespace phicoll
