// The rules of `auto` for operations that move data. Sizes and cells that depend on the host are data (HostNumbers).
// Those that were only simulated are written here (docs/collectives.md): for ranks in several parts of a machine, and
// for more than eight ranks, or reductions of eight, with a CPU each.

#include "phicoll/collectives/choosing/choose.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

namespace {

/// A size at which a rule begins, and the host's number that it comes from, or null.
struct From {
  From(std::size_t at) : bytes(at) {}
  From(std::size_t at, const char* number) : bytes(at), name(number) {}
  std::size_t bytes;
  const char* name = nullptr;
};

/// A rule: from this many bytes on, this algorithm, for this reason.
struct Rule {
  From from;
  std::string spec;
  const char* why;
};

/// Gives the rules the host's numbers.
class Numbers {
 public:
  explicit Numbers(const HostNumbers& numbers) : numbers_(numbers) {}
  From at(std::int64_t HostNumbers::*number, std::size_t parts = 1) const {
    for (const HostNumberField& field : host_number_fields)
      if (field.value == number) return {static_cast<std::size_t>(numbers_.*number) / parts, field.name};
    return {static_cast<std::size_t>(numbers_.*number) / parts};
  }
  std::size_t operator()(std::int64_t HostNumbers::*number) const {
    return static_cast<std::size_t>(numbers_.*number);
  }

 private:
  const HostNumbers& numbers_;
};

void note_number(AlgorithmChoice& choice, const From& from) {
  if (from.name == nullptr) return;
  choice.numbers +=
      (choice.numbers.empty() ? "" : ", ") + std::string(from.name) + "=" + std::to_string(from.bytes);
}

AlgorithmChoice by_size(const CallFacts& facts, std::initializer_list<Rule> rules) {
  AlgorithmChoice choice;
  From lower(0);
  for (const Rule& rule : rules) {
    // Numbers are measured one by one, so a later rule may seem to begin before an earlier one.
    const From from = rule.from.bytes < lower.bytes ? From(lower.bytes, rule.from.name) : rule.from;
    if (facts.bytes < from.bytes) {
      choice.most = from.bytes - 1;
      note_number(choice, from);
      break;
    }
    lower = from;
    choice.spec.name = rule.spec;
    choice.why = rule.why;
    choice.least = from.bytes;
    choice.numbers.clear();
    note_number(choice, from);
  }
  choice.spec = family(facts.operation).parse(choice.spec.name);
  return choice;
}

constexpr const char* single = "from here on the bytes cross between the CPUs only once that way";
constexpr const char* sliced = "each rank combines a part, all take all parts";
constexpr const char* root_takes = "each rank combines a part, the root takes all parts";
constexpr const char* rotating = "pieces go through a ring that is longer than the readers' caches";
constexpr const char* own_pieces = "a block in pieces of its own";
constexpr const char* few_cells = "few cells, which stay in the nearest cache";
constexpr const char* seldom = "large pieces, so that ranks that share a CPU are seldom scheduled";
constexpr const char* by_levels = "operands are combined within each part of the machine before they cross";
constexpr const char* cpu_by_cpu = "ranks that share a CPU go through one of them";
constexpr const char* doubling = "as many steps as the logarithm of the ranks, a message to one rank in each";
constexpr const char* halving = "each rank combines and passes on a half, then a quarter and so on";
constexpr const char* ahead = "many cells, so that ranks that share a CPU are far ahead before they wait";

/// Whether the ranks are known to be in several parts of the machine (L3s, memory nodes or packages), each with ranks
/// on at least two cores.
bool in_several_parts(const Shape& shape) {
  const std::vector<int> cores = shape.groups(Level::core);
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    const std::vector<int> parts = shape.groups(level);
    std::vector<int> core_of;  // of the first rank of each part
    std::vector<bool> has_two;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const auto part = static_cast<std::size_t>(parts[r]);
      if (part == core_of.size()) {
        core_of.push_back(cores[r]);
        has_two.push_back(false);
      }
      if (cores[r] != core_of[part]) has_two[part] = true;
    }
    if (has_two.size() > 1 && std::find(has_two.begin(), has_two.end(), false) == has_two.end()) return true;
  }
  return false;
}

/// Whether the algorithm can serve the call: an operator may need an order that the parts of the machine do not keep.
bool fits(const AlgorithmChoice& choice, const Shape& shape, const CallFacts& facts) {
  return family(facts.operation).fits(choice.spec, shape, facts);
}

/// More than eight ranks with a CPU each. Their rules were simulated (docs/collectives.md).
bool are_many(const Shape& shape) {
  return shape.size() > 8 && !shape.oversubscribed() && !shape.crowded();
}

/// The size of a message or block, in bytes, from which data that all ranks reach is best read in place; 0: never.
/// Reading in place pays about as soon as a rank's data for the others no longer stays in its L2 (1 MB on the measured
/// host: HostNumbers::direct). Measured between two processes, and among four and eight on two CPUs, with buffers in
/// the group's heap that were written anew for each call (docs/collectives.md).
std::size_t direct_at(const Shape& shape, Operation operation) {
  const auto mb = static_cast<std::size_t>(shape.host().direct);
  const bool sharing = shape.oversubscribed() || shape.crowded();
  const auto part_of = [&](std::size_t all) {
    return std::max(std::size_t{64} << 10, all / static_cast<std::size_t>(shape.size()));
  };
  switch (operation) {
    case Operation::allreduce:
    case Operation::allgather:
    case Operation::gather:
      return mb;
    case Operation::alltoall:
      return are_many(shape) ? std::size_t{1} << 10 : part_of(mb);
    case Operation::reduce_scatter:
      return are_many(shape) ? std::size_t{1} << 10 : part_of(sharing ? mb : 2 * mb);
    case Operation::scatter:
      return part_of(sharing ? mb : 4 * mb);
    case Operation::broadcast:  // whose root is ahead of its readers otherwise
      return sharing ? 4 * mb : shape.size() == 2 ? mb : 2 * mb;
    case Operation::reduce:
    case Operation::scan:
    case Operation::barrier:
      break;
  }
  return 0;
}

/// The choice for many ranks where it differs from that for few; otherwise without a name. One rank's work should not
/// grow with the ranks if it can be shared, so trees, chains and exchanges in log P steps replace one exchange among
/// all.
AlgorithmChoice choose_for_many(const Shape& shape, const CallFacts& facts) {
  const Numbers host(shape.host());
  switch (facts.operation) {
    // The usual cells are so large that each of many ranks has only a few.
    case Operation::gather:
      return by_size(facts, {{0, "mailbox:cell=4096:cells=8", "nobody but the root waits"},
                             {16 << 10, "mailbox", "nobody but the root waits"},
                             {host.at(&HostNumbers::single), "single-copy", single}});
    case Operation::scatter:  // which has so many small ones that a block takes several
      return by_size(facts, {{0, "mailbox", "the root is never held up by a slower rank"},
                             {2 << 10, "mailbox:cell=4096:cells=8", "a block in few pieces"},
                             {host.at(&HostNumbers::single), "single-copy", single}});
    case Operation::alltoall: {
      // A cell holds a part of each block. With 240 ranks these are 34 bytes, and mailboxes take a third of the time; with 128
      // they take 0.8 of it on two EPYCs, and 1.04 on the card.
      const Rule exchange = {0, "one-shot", "one exchange"};
      const Rule pieces = {256, "one-shot:cell=65536:cells=2", "one exchange, in few pieces"};
      if (shape.size() <= 64) return by_size(facts, {exchange, pieces});
      const char* const boxes = "mailbox:cell=256:cells=64";
      if (shape.size() <= 128)
        return by_size(facts, {exchange, {256, boxes, own_pieces}, {2 << 10, pieces.spec, pieces.why}});
      return by_size(facts, {exchange, {128, boxes, own_pieces}});
    }
    case Operation::reduce: {
      const Rule tree = {0, "send-receive-tree:degree=2", "no rank receives from more than log P others"};
      if (shape.size() > 64) return by_size(facts, {tree});
      return by_size(facts, {tree, {16 << 10, "sliced:chunk=65536:cells=32", root_takes}});
    }
    case Operation::allreduce:
      // Buffers of one message: each rank has some for every step.
      return by_size(facts, {{0, "recursive-doubling:transfer=put-get:buffer=256", doubling},
                             {256, "rabenseifner:transfer=put-get:buffer=2048", halving},
                             {2 << 10, "rabenseifner", halving}});
    case Operation::scan:
      return by_size(facts, {{0, "linear", "each rank waits for one other, and combines two operands"}});
    case Operation::reduce_scatter: {
      const bool far =
          shape.size() >= 32 && in_several_parts(shape);  // a long way for each block of an exchange
      return by_size(facts, {{0, "recursive-halving", halving},
                             {std::size_t{far ? 8u : 1u} << 10, "one-shot", "one exchange"}});
    }
    default:
      return AlgorithmChoice();
  }
}

AlgorithmChoice choose_by_size(const Shape& shape, const CallFacts& facts) {
  if (are_many(shape) && !facts.vector) {
    const AlgorithmChoice many = choose_for_many(shape, facts);
    if (!many.spec.name.empty() && fits(many, shape, facts)) return many;
  }
  using H = HostNumbers;
  const Numbers host(shape.host());
  const auto ranks = static_cast<std::size_t>(shape.size());
  const bool sharing = shape.oversubscribed() || shape.crowded();
  // Two ranks with a CPU each have long rings; among more, such rings would have few cells.
  const bool pair = shape.size() == 2 && !sharing;
  const std::size_t ring = host(&H::ring);
  const auto cells = [&](const char* prefix, std::size_t bytes) {
    return with_cells(facts.operation, prefix, host(sharing ? &H::shared_cell : &H::cell), bytes);
  };
  const auto wide_cells = [&](const char* prefix, std::size_t bytes) {
    return with_cells(facts.operation, prefix, host(sharing ? &H::shared_wide_cell : &H::wide_cell), bytes);
  };
  // Through few cells, whose lines stay in the nearest cache, two ranks near each other take 0.6 to 0.9 of the time.
  // Two far from each other take 0.5 to 0.9 beyond 64 B; up to there, a root that is ahead of its reader needs many
  // cells.
  const std::size_t few_from = 129, few_to = 961;
  const auto exchange = [&] {
    const Rule rotate = {host.at(&H::rotate), cells("one-shot:cell=", ring), rotating};
    const Rule wide = {host.at(&H::wide), wide_cells("one-shot:cell=", ring / 2), rotating};
    if (!pair) return by_size(facts, {{0, "one-shot", "one exchange"}, rotate, wide});
    return by_size(facts, {{0, "one-shot", "one exchange"},
                           {few_from, "one-shot:cell=4096:cells=8", few_cells},
                           {few_to, "one-shot", "one exchange"},
                           rotate,
                           wide});
  };
  switch (facts.operation) {
    case Operation::broadcast:
      if (sharing)
        return by_size(facts,
                       {{0, "ring:cell=960:cells=2048", ahead},
                        {host.at(&H::shared_pass), "ring", "the root is never held up by a slower rank"},
                        {host.at(&H::shared_rotate), cells("ring:cell=", 2 * ring),
                         "ranks that share a CPU find a piece in its cache"}});
      if (pair)
        return by_size(facts, {{0, "ring", "the root is never held up by a slower rank"},
                               {few_from, "ring:cell=4096:cells=8", few_cells},
                               {few_to, "ring", "the root is never held up by a slower rank"},
                               {host.at(&H::pass_rotate), cells("ring:cell=", 2 * ring), rotating},
                               {host.at(&H::pass_wide), wide_cells("ring:cell=", 2 * ring), rotating}});
      return by_size(facts, {{0, "ring", "the root is never held up by a slower rank"},
                             {host.at(&H::pass_rotate), cells("ring:cell=", 2 * ring), rotating},
                             {host.at(&H::pass_wide), wide_cells("ring:cell=", 2 * ring), rotating}});
    case Operation::reduce:
      // Ranks pinned to a few CPUs: with 4 to 16 on 2 the hierarchy takes 0.6 to 0.9 of the mailbox's time; with 3 it
      // gains nothing.
      if (shape.oversubscribed() && shape.size() >= 4) {
        const From first = shape.size() == 4 ? From(961) : host.at(&H::shared_reduce);
        AlgorithmChoice levels =
            by_size(facts, {{0, "mailbox:cell=960:cells=256", ahead},
                            {first, "hierarchical:group=cpu:piece=8192:pieces=64", cpu_by_cpu}});
        if (fits(levels, shape, facts)) return levels;
      }
      if (sharing)
        return by_size(
            facts, {{0, "mailbox:cell=960:cells=256", ahead}, {961, "mailbox", "nobody but the root waits"}});
      // With 4 and 8 ranks on two simulated packages levels take 0.4 to 0.6 of the mailbox's time from 64 B on.
      if (in_several_parts(shape)) {
        const Rule few = {0, "mailbox", "nobody but the root waits"};
        const Rule levels = {9, "hierarchical", by_levels};
        const AlgorithmChoice choice = by_size(facts, {few, levels});
        if (fits(choice, shape, facts)) return choice;
      }
      // Simulated on a package of 8 cores, slices take 0.2 to 0.4 of the mailbox's time. Between two ranks, all that
      // could be measured, they take up to 2.7 times what the simulation says. So the rule leaves out what gains less:
      // four ranks, and smaller messages.
      if (shape.size() >= 8)
        return by_size(facts, {{0, "mailbox", "nobody but the root waits"},
                               {8 << 10, "sliced:chunk=16384:cells=128", root_takes}});
      return by_size(facts, {{0, "mailbox", "nobody but the root waits"}});
    case Operation::allreduce:
      if (shape.oversubscribed() && shape.size() <= 4)
        return by_size(facts, {{0, "one-shot", "one exchange, in which each rank is scheduled once"},
                               {host.at(&H::shared_combine), cells("one-shot:cell=", ring / 4), seldom},
                               {host.at(&H::shared_slice), wide_cells("sliced:chunk=", ring), sliced}});
      // Ranks pinned to a few CPUs. With 8 on 2 the hierarchy takes 0.4 to 0.8 of the other two's time from 4 to 32 KB,
      // and in larger pieces 0.7 to 1.0 of the slices' time up to 256 KB; with 16 ranks 0.7 to 0.9 beyond that too.
      if (shape.oversubscribed()) {
        const From end = shape.size() <= 8 ? host.at(&H::shared_levels_end) : From(SIZE_MAX);
        AlgorithmChoice few = by_size(
            facts,
            {{0, "one-shot", "one exchange, in which each rank is scheduled once"},
             {host.at(&H::shared_levels), "hierarchical:group=cpu", cpu_by_cpu},
             {host.at(&H::shared_levels_wide), "hierarchical:group=cpu:piece=65536:pieces=8", cpu_by_cpu},
             {end, wide_cells("sliced:chunk=", ring), sliced}});
        if (fits(few, shape, facts)) return few;
      }
      // On two simulated packages the hierarchy takes 0.7 to 1.0 of the better one's time up to 512 B with 8 ranks;
      // with 4 and 6 it loses at 8 B. At 1 KB it equals the slices.
      if (!sharing && shape.size() >= 8 && in_several_parts(shape)) {
        AlgorithmChoice levels = by_size(facts, {{0, "hierarchical", by_levels},
                                                 {1 << 10, "sliced:chunk=16384:cells=128", sliced},
                                                 {128 << 10, "sliced:chunk=262144:cells=8", sliced}});
        if (fits(levels, shape, facts)) return levels;
      }
      if (pair)
        return by_size(facts, {{0, "one-shot", "one exchange"},
                               {few_from, "one-shot:cell=4096:cells=8", few_cells},
                               {few_to, "one-shot", "one exchange"},
                               {host.at(&H::combine_rotate), cells("one-shot:cell=", ring), rotating},
                               {host.at(&H::slice), wide_cells("sliced:chunk=", ring), sliced}});
      return by_size(facts, {{0, "one-shot", "one exchange"},
                             {host.at(&H::slice_many), "sliced:chunk=16384:cells=128", sliced},
                             {host.at(&H::wide), wide_cells("sliced:chunk=", ring), sliced}});
    case Operation::gather:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      if (sharing)
        return by_size(facts, {{0, "mailbox:cell=960:cells=256", ahead},
                               {961, "mailbox", "nobody but the root waits"},
                               {host.at(&H::shared_rotate), cells("mailbox:cell=", ring / 4), seldom},
                               {host.at(&H::single), "single-copy", single}});
      if (!pair)
        return by_size(facts, {{0, "mailbox", "nobody but the root waits"},
                               {host.at(&H::single), "single-copy", single}});
      return by_size(facts, {{0, "mailbox", "nobody but the root waits"},
                             {host.at(&H::rotate), wide_cells("mailbox:cell=", ring), rotating},
                             {host.at(&H::single), "single-copy", single}});
    case Operation::scatter:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      // Each rank has a ring with at least one cell for each other rank.
      if (sharing && shape.size() <= 32)
        return by_size(facts,
                       {{0, "mailbox:cell=960:cells=1024", ahead},
                        {961, "mailbox:cell=4096:cells=1024", ahead},
                        {host.at(&H::shared_send), "mailbox", "the root is never held up by a slower rank"},
                        {host.at(&H::shared_rotate), cells("mailbox:cell=", ring / 4), seldom},
                        {host.at(&H::shared_single, ranks), "single-copy", single}});
      if (!pair)
        return by_size(facts, {{0, "mailbox", "the root is never held up by a slower rank"},
                               {host.at(&H::single), "single-copy", single}});
      return by_size(facts,
                     {{0, "mailbox:cell=16384:cells=128", "the root is never held up by a slower rank"},
                      {host.at(&H::rotate), cells("mailbox:cell=", ring), rotating},
                      {host.at(&H::single), "single-copy", single}});
    case Operation::allgather:
      if (sharing)
        return by_size(facts,
                       {{0, "one-shot", "one exchange"},
                        {host.at(&H::shared_exchange), wide_cells("one-shot:cell=", ring / 4), seldom}});
      return exchange();
    case Operation::alltoall:
      if (facts.vector) return by_size(facts, {{0, "mailbox", "any counts"}});
      if (sharing)
        // A rank's cell holds a part of each block, so with many ranks large blocks come in many pieces. These are the
        // largest cells of which a few ranks have two each.
        return by_size(facts, {{0, "one-shot", "one exchange"},
                               {host.at(&H::shared_pieces), cells("one-shot:cell=", ring / 4), seldom},
                               {host.at(&H::shared_exchange),
                                shape.size() <= 4 ? std::string("one-shot:cell=524288:cells=2")
                                                  : wide_cells("one-shot:cell=", ring / 4),
                                seldom}});
      return exchange();
    case Operation::scan:
      if (sharing)
        return by_size(facts, {{0, "one-shot:cell=960:cells=256", ahead},
                               {961, "one-shot", "no rank waits for a later one"}});
      if (!pair) return by_size(facts, {{0, "one-shot", "no rank waits for a later one"}});
      return by_size(facts, {{0, "one-shot", "no rank waits for a later one"},
                             {host.at(&H::rotate), cells("one-shot:cell=", ring), rotating}});
    case Operation::reduce_scatter:
      if (!pair) return by_size(facts, {{0, "one-shot", "one exchange"}});
      return by_size(facts, {{0, "one-shot", "one exchange"},
                             {host.at(&H::rotate), cells("one-shot:part=", ring), rotating}});
    case Operation::barrier:
      break;
  }
  throw ArgumentError("operation", to_string(facts.operation), "one that moves data");
}

}  // namespace

std::string with_cells(Operation operation, const std::string& beginning, std::size_t cell,
                       std::size_t ring) {
  const std::string name = beginning.substr(0, beginning.find(':'));
  std::size_t cells = ring / cell;
  for (const AlgorithmInfo& info : family(operation).algorithms())
    for (const ParameterInfo& parameter : info.parameters)
      if (info.name == name && parameter.name == "cells")
        cells = std::max(static_cast<std::size_t>(parameter.least),
                         std::min(cells, static_cast<std::size_t>(parameter.most)));
  return beginning + std::to_string(cell) + ":cells=" + std::to_string(cells);
}

AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text) {
  const std::size_t from = direct_at(shape, operation);
  if (from == 0 || text.find(":direct=") != std::string::npos) return spec;
  for (auto& value : spec.values) {
    if (value.first == "direct") value.second = std::to_string(from);
    if (value.first == "far") value.second = "copied";
  }
  return spec;
}

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  if (!moves_data(facts.operation)) return choose_barrier(shape);
  AlgorithmChoice choice = choose_by_size(shape, facts);
  const AlgorithmSpec copied = choice.spec;
  choice.spec = with_direct(copied, shape, facts.operation, "");
  if (choice.spec == copied) return choice;
  const std::size_t from = direct_at(shape, facts.operation);
  const bool below = facts.known && facts.bytes < from;
  if (below ? from - 1 < choice.most : from > choice.least)
    note_number(choice, Numbers(shape.host()).at(&HostNumbers::direct));
  if (below) {
    choice.most = std::min(choice.most, from - 1);
    return choice;
  }
  if (facts.known) choice.least = std::max(choice.least, from);
  choice.why += "; large data that all ranks reach is read where it lies";
  return choice;
}

}  // namespace phicoll
