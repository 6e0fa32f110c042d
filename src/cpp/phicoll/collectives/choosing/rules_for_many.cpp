// The rules for many ranks. One rank's work should not grow with the ranks if it can be shared, so trees, chains and
// exchanges in log P steps replace one exchange among all.

#include <algorithm>
#include <string>

#include "phicoll/collectives/choosing/rules.hpp"

namespace phicoll {
namespace rules {

// In a namespace of its own, as both files' rules have the same names and may be compiled as one source.
namespace {
namespace many_ranks {

using namespace because;
using H = HostNumbers;

// From a window start a line takes some time for each of its readers, through the levels for a few in each part. Back to back
// the ring is ahead, as its readers overlap. The times of a program's calls add up, so the rule takes the way that loses less
// time where it is behind: with 8 B among 128 ranks of two EPYCs the ring loses 6 us from a window start, the levels 0.1 us in
// a loop.
AlgorithmChoice broadcast(const Choosing& at) {
  const bool parts = at.ranks >= 32 && in_several_parts(at.shape);
  const std::size_t ring_from = parts ? 32 << 10 : at.ranks > 64 ? 2 << 10 : 0;
  if (at.facts.bytes < ring_from)
    return at.by_size({{0, "hierarchical:group=nested:piece=2048:pieces=64", by_levels_down},
                       {ring_from, "ring", root_ahead}});
  AlgorithmChoice choice = for_any[static_cast<std::size_t>(Operation::broadcast)](at);
  choice.least = std::max(choice.least, ring_from);
  return choice;
}

AlgorithmChoice reduce(const Choosing& at) {
  return at.by_size({{0, "send-receive-tree:degree=2", "no rank receives from more than log P others"},
                     {1 << 10, "rabenseifner", halving},
                     {32 << 10, "rabenseifner:least=1024", halving}});
}

AlgorithmChoice allreduce(const Choosing& at) {
  // Buffers of one message: each rank has some for every step.
  return at.by_size({{0, "recursive-doubling:transfer=put-get:buffer=256", doubling},
                     {256, "rabenseifner:transfer=put-get:buffer=2048", halving},
                     {2 << 10, "rabenseifner", halving}});
}

// The usual cells are so large that each of many ranks has only a few.
AlgorithmChoice gather(const Choosing& at) {
  return at.by_size({{0, "mailbox:cell=4096:cells=8", root_waits},
                     {16 << 10, "mailbox", root_waits},
                     {at.host.at(&H::single), "single-copy", single}});
}

AlgorithmChoice scatter(const Choosing& at) {
  return at.by_size({{0, "mailbox", root_ahead}, {at.host.at(&H::single), "single-copy", single}});
}

AlgorithmChoice alltoall(const Choosing& at) {
  // A cell holds a part of each block. With 240 ranks these are 34 bytes, and mailboxes take a third of the time; with 128
  // they take 0.8 of it on two EPYCs, and 1.04 on the card.
  const Rule exchange = {0, "one-shot", one_exchange};
  const Rule pieces = {256, "one-shot:cell=65536:cells=2", "one exchange, in few pieces"};
  if (at.shape.size() <= 64) return at.by_size({exchange, pieces});
  const char* const boxes = "mailbox:cell=256:cells=64";
  if (at.shape.size() <= 128)
    return at.by_size({exchange, {256, boxes, own_pieces}, {2 << 10, pieces.spec, pieces.why}});
  return at.by_size({exchange, {128, boxes, own_pieces}});
}

AlgorithmChoice scan(const Choosing& at) {
  // From rest P ranks take P steps and one more for each further piece of 16 KB, or lg P steps for each piece. Back to back the
  // first way has a step for each piece. Where both lose as much, in one case each, it begins: simulated, with 16 ranks at 16 KB.
  return at.by_size({{0, "recursive-doubling", doubling},
                     {at.ranks << 10, "linear", "pieces overlap, and a rank combines each once"}});
}

AlgorithmChoice reduce_scatter(const Choosing& at) {
  const bool far =
      at.shape.size() >= 32 && in_several_parts(at.shape);  // a long way for each block of an exchange
  return at.by_size(
      {{0, "recursive-halving", halving}, {std::size_t{far ? 8u : 1u} << 10, "one-shot", one_exchange}});
}

}  // namespace many_ranks
}  // namespace

const Choose for_many[operations] = {nullptr,
                                     many_ranks::broadcast,
                                     many_ranks::reduce,
                                     many_ranks::allreduce,
                                     many_ranks::gather,
                                     many_ranks::scatter,
                                     nullptr,
                                     many_ranks::alltoall,
                                     many_ranks::scan,
                                     many_ranks::reduce_scatter};

}  // namespace rules
}  // namespace phicoll
