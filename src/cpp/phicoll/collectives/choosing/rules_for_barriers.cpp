#include <set>

#include "phicoll/collectives/choosing/rules.hpp"
#include "phicoll/collectives/registry/family.hpp"

namespace phicoll {
namespace rules {

namespace {

AlgorithmSpec spec(const char* text) {
  return family(Operation::barrier).parse(text);
}

}  // namespace

AlgorithmChoice barrier(const Choosing& at) {
  const Shape& shape = at.shape;
  const int ranks = shape.size();
  if (ranks == 1) return {spec("dissemination"), "one rank waits for nobody"};
  // Where ranks share CPUs, switches decide: the ranks of a CPU meet at a counter, then one rank of each CPU goes on.
  if (shape.oversubscribed())
    return {spec("hybrid-dissemination:group=cpu"),
            "ranks share CPUs: one counter a CPU, and one rank of each meets the others, so each CPU "
            "switches the fewest "
            "times"};
  if (ranks == 2)
    return {spec("dissemination:layout=packed"),
            "two ranks tell each other in one line, which one transfer hands over with both flags"};
  // Some ranks share a CPU, but not known ones: in each of several rounds a rank may wait for one that is not running.
  // Against dissemination, unplaced threads on 2 CPUs: 0.66 of its time with 3 ranks, 0.57 with 8, 0.48 with 16, 0.24
  // with 64; the other flat barriers came close up to 16 ranks and no further.
  if (shape.crowded())
    return {spec("sense-reversing:releases=root"),
            "more ranks than CPUs, placed by the system: one counter, so that each rank waits only once"};
  // Paper 001's hybrid: every round of a dissemination between all ranks would have an edge between cores.
  const std::vector<int> cores = shape.groups(Level::core);
  if (static_cast<int>(std::set<int>(cores.begin(), cores.end()).size()) < ranks)
    return {spec("hybrid-dissemination"),
            "cores hold several ranks: they meet on their core, then one rank of each core disseminates"};
  return {spec("dissemination"), "the fewest rounds, and no line that all ranks wait for"};
}

}  // namespace rules
}  // namespace phicoll
