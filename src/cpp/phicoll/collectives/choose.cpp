// The rules behind `auto` for operations that move data.

#include "phicoll/collectives/family.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

/// From so many bytes on, that algorithm, because.
struct Rule {
  std::size_t from;
  const char* spec;
  const char* why;
};

AlgorithmChoice by_size(const CallFacts& facts, std::initializer_list<Rule> rules) {
  AlgorithmChoice choice;
  for (const Rule& rule : rules) {
    if (facts.bytes < rule.from) {
      choice.most = rule.from - 1;
      break;
    }
    choice.spec.name = rule.spec;
    choice.why = rule.why;
    choice.least = rule.from;
  }
  choice.spec = family(facts.operation).parse(choice.spec.name);
  return choice;
}

constexpr const char* single = "from here on the bytes cross between the CPUs only once that way";
constexpr const char* sliced = "each rank combines a part, all take all parts";
constexpr const char* rotating = "pieces go through a ring that is longer than the readers' caches";
constexpr const char* whole = "few steps, each of which keeps the prefetchers busy";

}  // namespace

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  const bool sharing = shape.oversubscribed() || shape.crowded();
  switch (facts.operation) {
    case Operation::broadcast:
      if (sharing)
        return by_size(facts, {{0, "ring", "the root is never held up by a slower rank"},
                               {32 << 10, "ring:cell=65536:cells=32",
                                "ranks that share a CPU find a piece in its cache"}});
      return by_size(facts, {{0, "ring", "the root is never held up by a slower rank"},
                             {512 << 10, "single-copy", single}});
    case Operation::reduce:
      return by_size(facts, {{0, "mailbox", "nobody but the root waits"}});
    case Operation::allreduce:
      // Ranks pinned to a few CPUs: 0.2 to 0.7 of the exchanges' time with 8 on 2, 0.45 to 1 with 4.
      if (shape.oversubscribed()) {
        AlgorithmChoice levels =
            by_size(facts, {{0, "hierarchical:group=cpu", "ranks that share a CPU go through one of them"},
                            {128 << 10, "hierarchical:group=cpu:piece=65536",
                             "ranks that share a CPU go through one of them, in large pieces"}});
        if (family(facts.operation).fits(levels.spec, shape, facts)) return levels;
      }
      return by_size(facts, {{0, "one-shot", "one exchange"},
                             {2 << 10, "sliced:chunk=16384:cells=128", sliced},
                             {128 << 10, "sliced:chunk=262144:cells=8", sliced}});
    case Operation::gather:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      return by_size(facts,
                     {{0, "mailbox", "nobody but the root waits"}, {512 << 10, "single-copy", single}});
    case Operation::scatter:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      return by_size(facts, {{0, "mailbox", "the root is never held up by a slower rank"},
                             {512 << 10, "single-copy", single}});
    case Operation::allgather:
      return by_size(facts, {{0, "one-shot", "one exchange"},
                             {24 << 10, "one-shot:cell=65536:cells=32", rotating},
                             {256 << 10, "one-shot:cell=1048576:cells=2", whole},
                             {4 << 20, "single-copy", single}});
    case Operation::alltoall:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      return by_size(facts, {{0, "one-shot", "one exchange"},
                             {24 << 10, "one-shot:cell=65536:cells=32", rotating},
                             {256 << 10, "one-shot:cell=1048576:cells=2", whole},
                             {4 << 20, "single-copy", single}});
    case Operation::scan:
      return by_size(facts, {{0, "one-shot", "no rank waits for a later one"}});
    case Operation::reduce_scatter:
      return by_size(facts, {{0, "one-shot", "one exchange"}});
    case Operation::barrier:
      break;
  }
  throw ArgumentError("operation", to_string(facts.operation), "one that moves data");
}

}  // namespace phicoll
