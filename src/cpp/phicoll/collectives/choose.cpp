// The rules behind `auto` for operations that move data.

#include "phicoll/collectives/family.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  (void)shape;
  AlgorithmChoice choice;
  const char* name = nullptr;
  switch (facts.operation) {
    case Operation::broadcast:
      name = "ring";
      choice.why = "the root is never held up by a slower rank";
      break;
    case Operation::allreduce:
      name = "one-shot";
      choice.why = "one exchange";
      break;
    default:
      throw ArgumentError("operation", to_string(facts.operation), "one that moves data");
  }
  choice.spec = family(facts.operation).parse(name);
  return choice;
}

}  // namespace phicoll
