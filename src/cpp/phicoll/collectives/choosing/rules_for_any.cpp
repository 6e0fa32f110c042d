// The rules for any number of ranks.

#include <algorithm>
#include <cstdint>
#include <string>

#include "phicoll/collectives/choosing/rules.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"

namespace phicoll {
namespace rules {

// In a namespace of its own, as both files' rules have the same names and may be compiled as one source.
namespace {
namespace any_ranks {

using namespace because;
using H = HostNumbers;

// Two ranks that exchange data in two cells, and swap them at every step, hand each line over once. That takes 0.5 to
// 0.85 of the time of a ring from 1 to 256 KB, near and far; in cells of 512 KB, which fit the nearer caches, from
// 384 KB to 4 MB 0.7 to 0.95 of the ring's time near. Which of two cells and slices is faster for allreduces from 1 MB on depends
// on how far the CPUs are and on where both ranks' data lies (allreduce/sliced.hpp), so they try. A reader asks for the lines of
// small pieces together (transport/cells.hpp), and would take them from a writer that swaps cells and is not done with them. In
// few cells such pieces take 0.88 to 1.0 of the time near, and mostly 0.67 to 0.9 far. For smaller ones, and up to 512 bytes,
// both ways take about the same.
constexpr std::size_t few_from = behind_head, few_to = beyond(together_bytes);
// Reduce-scatters of 512 bytes to 1 KB take 0.86 to 0.97 of the time in few cells, near and far; smaller ones, and those of 1 to
// 2 KB, about the same. So any end from 1 to 2 KB is as good.
constexpr std::size_t few_combined_to = beyond(1536);

/// Whether four ranks are two on each of two CPUs.
bool in_pairs(const Shape& shape) {
  if (shape.size() != 4) return false;
  for (int r = 0; r < 4; ++r) {
    int on_its_cpu = 0;
    for (int other = 0; other < 4; ++other) on_its_cpu += shape.share_cpu(r, other) ? 1 : 0;
    if (on_its_cpu != 2) return false;
  }
  return true;
}

AlgorithmChoice broadcast(const Choosing& at) {
  if (at.sharing)
    return at.by_size({{0, "ring:cell=960:cells=2048", ahead},
                       {at.host.at(&H::shared_pass), "ring", root_ahead},
                       {at.host.at(&H::shared_rotate), at.cells("ring:cell=", 2 * at.ring),
                        "ranks that share a CPU find a piece in its cache"},
                       {at.host.at(&H::single), at.cells("ring:once=1:cell=", 2 * at.ring), faster}});
  // In few cells two ranks' messages of up to 960 bytes take 1.02 to 1.5 of the time back to back near, up to 2 far, and the same
  // from a window start.
  return at.by_size({{0, "ring", root_ahead},
                     {at.host.at(&H::pass_rotate), at.half_cells("ring:cell=", at.ring), rotating},
                     {at.host.at(&H::pass_wide), at.cells("ring:cell=", 2 * at.ring), rotating}});
}

AlgorithmChoice reduce(const Choosing& at) {
  // Ranks pinned to a few CPUs: with 4 to 16 on 2 the hierarchy takes 0.6 to 0.9 of the mailbox's time; with 3 it
  // gains nothing.
  if (at.shape.oversubscribed() && at.shape.size() >= 4) {
    const From first = at.shape.size() == 4 ? From(beyond(960)) : at.host.at(&H::shared_reduce);
    AlgorithmChoice levels = at.by_size({{0, "mailbox:cell=960:cells=256", ahead},
                                         {first, "hierarchical:group=cpu:piece=8192:pieces=64", cpu_by_cpu}});
    if (at.fits(levels)) return levels;
  }
  if (at.sharing)
    return at.by_size({{0, "mailbox:cell=960:cells=256", ahead}, {beyond(960), "mailbox", root_waits}});
  // With 4 and 8 ranks on two simulated packages levels take 0.4 to 0.6 of the mailbox's time from 64 B on.
  if (in_several_parts(at.shape)) {
    const Rule few = {0, "mailbox", root_waits};
    const Rule levels = {9, "hierarchical", by_levels};
    const AlgorithmChoice choice = at.by_size({few, levels});
    if (at.fits(choice)) return choice;
  }
  // Simulated on a package of 8 cores, slices take 0.2 to 0.4 of the mailbox's time. Between two ranks, all that
  // could be measured, they take up to 2.7 times what the simulation says. So the rule leaves out what gains less:
  // four ranks, and smaller messages.
  if (at.shape.size() >= 8)
    return at.by_size({{0, "mailbox", root_waits}, {8 << 10, "sliced:chunk=16384:cells=128", root_takes}});
  return at.by_size({{0, "mailbox", root_waits}});
}

AlgorithmChoice allreduce(const Choosing& at) {
  if (at.shape.oversubscribed() && at.shape.size() <= 4) {
    const Rule once = {0, "one-shot", "one exchange, in which each rank is scheduled once"};
    const Rule combined = {at.host.at(&H::shared_combine), at.cells("one-shot:cell=", at.ring / 4), seldom};
    const Rule slices = {at.host.at(&H::shared_slice), at.wide_cells("sliced:chunk=", at.ring), sliced};
    // Two ranks of a CPU combine in its caches, so half as much crosses: 1 MB takes 0.94 of the slices' time between near CPUs
    // and 0.83 between far ones, 2 MB 0.94 to 1 and 0.84, but 512 KB 0.98, and 4 MB 1.26 near.
    if (in_pairs(at.shape)) {
      const Rule by_cpus = {1 << 20, "hierarchical:group=cpu:piece=524288:pieces=2:direct=65536", cpu_by_cpu};
      Rule larger = slices;
      larger.from = From((2 << 20) + 1);
      AlgorithmChoice levels = at.by_size({once, combined, slices, by_cpus, larger});
      if (at.fits(levels)) return levels;
    }
    return at.by_size({once, combined, slices});
  }
  // Ranks pinned to a few CPUs. With 8 on 2 the hierarchy takes 0.4 to 0.8 of the other two's time from 4 to 32 KB. In pieces of
  // 128 KB it takes 0.8 to 0.95 of the slices' time from 64 KB to 16 MB (1 MB 1.02), and 0.65 for 1 MB where a line takes 300 ns
  // and more: each CPU reads from the other what one rank there has combined, not what each rank has. Slices read data that all
  // reach in place; so does the hierarchy, from the beginning, since who reads it is on its writer's CPU.
  if (at.shape.oversubscribed()) {
    AlgorithmChoice few =
        at.by_size({{0, "one-shot", "one exchange, in which each rank is scheduled once"},
                    {at.host.at(&H::shared_levels), "hierarchical:group=cpu", cpu_by_cpu},
                    {at.host.at(&H::shared_levels_wide),
                     "hierarchical:group=cpu:piece=131072:pieces=4:direct=65536", cpu_by_cpu}});
    if (at.fits(few)) return few;
  }
  // On two simulated packages the hierarchy takes 0.7 to 1.0 of the better one's time up to 512 B with 8 ranks;
  // with 4 and 6 it loses at 8 B. At 1 KB it equals the slices.
  if (!at.sharing && at.shape.size() >= 8 && in_several_parts(at.shape)) {
    AlgorithmChoice levels = at.by_size({{0, "hierarchical", by_levels},
                                         {1 << 10, "sliced:chunk=16384:cells=128", sliced},
                                         {128 << 10, "sliced:chunk=262144:cells=8", sliced}});
    if (at.fits(levels)) return levels;
  }
  if (at.pair) {
    const std::string both_ways =
        at.wide_cells(("sliced:whole=" + std::to_string(swapped_bytes) + ":chunk=").c_str(), at.ring);
    return at.by_size({{0, two_cells(), swapping},
                       {few_from, "one-shot:cell=4096:cells=8", few_cells},
                       {few_to, two_cells(), swapping},
                       {at.host.at(&H::slice), both_ways, sliced},
                       {2 * swapped_bytes, both_ways, either}});
  }
  return at.by_size({{0, "one-shot", one_exchange},
                     {at.host.at(&H::slice_many), "sliced:chunk=16384:cells=128", sliced},
                     {at.host.at(&H::wide), at.wide_cells("sliced:chunk=", at.ring), sliced}});
}

AlgorithmChoice gather(const Choosing& at) {
  if (at.facts.vector) return at.by_size({{0, "mailbox", "any counts"}});
  // With 4 and 8 ranks on 2 CPUs, rings of 256 KB without gaps take 0.8 to 0.95 of the time for 1 to 8 KB, between far CPUs 0.2
  // to 0.97: the root's cache holds them. Cells of 256 KB take 0.7 to 0.9 of the time of those of 64 KB for 128 and 256 KB, and
  // 0.95 for 512 KB and 1 MB.
  if (at.sharing)
    return at.by_size(
        {{0, "mailbox:cell=960:cells=256", ahead},
         {beyond(960), "mailbox:cell=4096:cells=64", ahead},
         {beyond(4096), "mailbox:cell=8192:cells=32", ahead},
         {beyond(8192), "mailbox", root_waits},
         {at.host.at(&H::shared_rotate), at.cells("mailbox:cell=", at.ring / 4), seldom},
         {at.beyond_cell(),
          at.wide_cells(at.ranks == 2 ? "mailbox:cell=" : "mailbox:once=1:cell=", at.ring / 2), seldom},
         {at.host.at(&H::single), "single-copy", single}});
  if (!at.pair)
    return at.by_size({{0, "mailbox", root_waits}, {at.host.at(&H::single), "single-copy", single}});
  // In cells that they fill, blocks of 4 KB take 0.83 of the time, and those of 8 KB 0.95; between far CPUs 0.7.
  return at.by_size({{0, "mailbox", root_waits},
                     {beyond(960), "mailbox:cell=4096:cells=256", root_waits},
                     {beyond(4096), "mailbox:cell=8192:cells=64", root_waits},
                     {beyond(8192), "mailbox", root_waits},
                     {at.two_pieces(), at.cells("mailbox:once=1:cell=", at.ring), rotating},
                     // The same algorithm, which from here on may copy once.
                     {CopyWays::least_block, at.cells("mailbox:once=1:cell=", at.ring), faster},
                     {at.host.at(&H::single), "single-copy", single}});
}

AlgorithmChoice scatter(const Choosing& at) {
  if (at.facts.vector) return at.by_size({{0, "mailbox", "any counts"}});
  // With 4 and 8 ranks on 2 CPUs, cells of 256 KB take 0.4 to 0.9 of a single copy's time for 128 KB to 512 KB. For 1, 2 and 4 MB
  // 8 ranks on far CPUs take 0.24, 0.42 and 0.57 of it; near ones 1 for 1 MB and 1.03 (4 ranks 1.13) for 2 MB. A single copy of 4 MB
  // took 1.24 to 1.3 of the cells' time by 4 ranks near, and 0.34 by 8 whose CPUs others used.
  if (at.sharing)
    return at.by_size({{0, "mailbox:cell=960:cells=1024", ahead},
                       {beyond(960), "mailbox:cell=4096:cells=1024", ahead},
                       {at.host.at(&H::shared_send), "mailbox", root_ahead},
                       {at.host.at(&H::shared_rotate), at.cells("mailbox:cell=", 2 * at.ring), seldom},
                       {at.beyond_cell(), at.wide_cells("mailbox:cell=", 2 * at.ring), seldom},
                       {at.host.at(&H::single, 2), "single-copy", single}});
  if (!at.pair)
    return at.by_size({{0, "mailbox", root_ahead}, {at.host.at(&H::single), "single-copy", single}});
  return at.by_size({{0, "mailbox:cell=16384:cells=128", root_ahead},
                     {at.two_pieces(), at.cells("mailbox:once=1:cell=", at.ring), rotating},
                     // The same algorithm, which from here on may copy once.
                     {CopyWays::least_block, at.cells("mailbox:once=1:cell=", at.ring), faster},
                     {at.host.at(&H::single), "single-copy", single}});
}

Rule wide(const Choosing& at) {
  return {at.host.at(at.pair ? &H::pair_wide : &H::wide), at.wide_cells("one-shot:cell=", at.ring / 2),
          rotating};
}
/// One exchange among all ranks, of blocks whose pieces rotate through rings where they are large. The largest of two ranks
/// go either way.
AlgorithmChoice exchange(const Choosing& at) {
  if (!at.pair)
    return at.by_size({{0, "one-shot", one_exchange},
                       {at.host.at(&H::rotate), at.cells("one-shot:cell=", at.ring), rotating},
                       wide(at)});
  return at.by_size(
      {{0, two_cells(), swapping},
       {few_from, "one-shot:cell=4096:cells=8", few_cells},
       {few_to, two_cells(), swapping},
       wide(at),
       {at.host.at(&H::single), at.wide_cells("single-copy:choose=1:cell=", at.ring / 2), faster}});
}

AlgorithmChoice allgather(const Choosing& at) {
  if (at.sharing)
    return at.by_size(
        {{0, "one-shot", one_exchange},
         {at.host.at(&H::shared_exchange), at.wide_cells("one-shot:cell=", at.ring / 4), seldom}});
  return exchange(at);
}

AlgorithmChoice alltoall(const Choosing& at) {
  // Two ranks' blocks of 64 KB to 1 MB take 0.7 to 0.95 of the time in cells of 64 KB, smaller ones as long.
  if (at.facts.vector && at.pair) return at.by_size({{0, at.cells("mailbox:cell=", at.ring), "any counts"}});
  if (at.facts.vector) return at.by_size({{0, "mailbox", "any counts"}});
  if (at.sharing)
    // A rank's cell holds a part of each block, so with many ranks large blocks come in many pieces. These are the
    // largest cells that leave two to each of a few ranks. With 8 ranks on 2 CPUs, they take 0.5 to 0.75 of a single copy's time
    // between far CPUs from 256 KB to 1 MB, and 0.83 to 1.03 between near ones up to 2 MB. The kernel copies large pages
    // faster, and ranks whose CPUs others use wait less for a single copy.
    return at.by_size(
        {{0, "one-shot", one_exchange},
         {at.host.at(&H::shared_pieces), at.cells("one-shot:cell=", at.ring / 4), seldom},
         {at.host.at(&H::shared_exchange),
          at.shape.size() <= 4 ? std::string("one-shot:cell=524288:cells=2")
                               : at.wide_cells("one-shot:cell=", at.ring / 4),
          seldom},
         {at.host.at(&H::shared_single, at.ranks <= 8 ? std::min<std::size_t>(at.ranks, 4) : at.ranks),
          at.shape.size() <= 4 ? std::string("single-copy:choose=1:cell=524288:cells=2")
                               : at.wide_cells("single-copy:choose=1:cell=", at.ring / 4),
          faster}});
  return exchange(at);
}

AlgorithmChoice scan(const Choosing& at) {
  if (at.sharing)
    return at.by_size({{0, "one-shot:cell=960:cells=256", ahead}, {beyond(960), "one-shot", no_later}});
  if (!at.pair) return at.by_size({{0, "one-shot", no_later}});
  return at.by_size(
      {{0, "one-shot", no_later}, {at.host.at(&H::rotate), at.cells("one-shot:cell=", at.ring), rotating}});
}

AlgorithmChoice reduce_scatter(const Choosing& at) {
  // With 4 and 8 ranks on 2 CPUs, 16 KB take 0.85 to 0.95, and 32 KB to 1 MB 0.45 to 0.75, of the time in parts of 64 KB.
  if (at.sharing)
    return at.by_size({{0, "one-shot", one_exchange},
                       {at.host.at(&H::shared_exchange), at.cells("one-shot:part=", at.ring / 8), seldom}});
  if (!at.pair) return at.by_size({{0, "one-shot", one_exchange}});
  return at.by_size({{0, "one-shot:part=4096:cells=8", few_cells},
                     {few_combined_to, "one-shot", one_exchange},
                     {at.host.at(&H::rotate), at.cells("one-shot:part=", at.ring), rotating}});
}

}  // namespace any_ranks
}  // namespace

const Choose for_any[operations] = {
    barrier,           any_ranks::broadcast,     any_ranks::reduce,    any_ranks::allreduce,
    any_ranks::gather, any_ranks::scatter,       any_ranks::allgather, any_ranks::alltoall,
    any_ranks::scan,   any_ranks::reduce_scatter};

}  // namespace rules
}  // namespace phicoll
