// Tuning tables: what a bad line says, which row serves which call, and that `auto` does what the table says
// in threads, in processes and on a simulated machine.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "attaching.hpp"
#include "patience.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "random_tables.hpp"

namespace phicoll {
namespace {

const std::string head = "phicoll tuning 1\n";

std::string message_of(const std::string& text) {
  try {
    TuningTable::parse(text, "t.tuning");
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.argument(), "tuning");
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& text, const std::vector<std::string>& said) {
  const std::string message = message_of(text);
  EXPECT_FALSE(message.empty()) << text;
  for (const std::string& part : said) EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// A file that goes with its scope.
class File {
 public:
  explicit File(const std::string& text)
      : path_("/tmp/phicoll-tuning-" + std::to_string(getpid()) + "-" + std::to_string(++made_)) {
    std::ofstream(path_) << text;
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  static int made_;
  std::string path_;
};
int File::made_ = 0;

CallFacts allreduce(std::size_t bytes) {
  CallFacts facts;
  facts.operation = Operation::allreduce;
  facts.bytes = bytes;
  return facts;
}

Shape tuned(Shape shape, const std::string& text, TuningMode mode = TuningMode::threads, int cpus = 8) {
  tune(&shape, std::make_shared<const Tuning>(Tuning{TuningTable::parse(text, "t.tuning"), mode, cpus}));
  return shape;
}

TEST(TuningTable, ReadsWhatTheFormatHas) {
  const TuningTable table = TuningTable::parse(
      "phicoll tuning 1\n# made by hand\nmachine here\nhost 2 cpus, Some CPU @ 2.00GHz\ncost local 86\r\n"
      "\nallreduce threads 8/2 4096 sliced:chunk=16384 # measured gain 1.2\nbarrier processes 2/2 0 auto\n",
      "t.tuning");
  EXPECT_EQ(table.machine(), "here");
  EXPECT_EQ(table.host(), "2 cpus, Some CPU @ 2.00GHz");
  ASSERT_NE(table.costs(), nullptr);
  EXPECT_EQ(table.costs()->local, 86);
  EXPECT_EQ(table.costs()->remote, LineCosts().remote);
  ASSERT_EQ(table.rows().size(), 2u);
  const TuningRow& row = table.rows()[0];
  EXPECT_EQ(row.operation, Operation::allreduce);
  EXPECT_EQ(row.line, 7);
  EXPECT_EQ(row.from, "4096");
  EXPECT_EQ(row.group.sharing, RowGroup::Cpus::shared);
  EXPECT_EQ(row.spec(Shape::unknown(8)).name, "sliced");
  EXPECT_EQ(row.why, "measured gain 1.2");
  EXPECT_EQ(TuningTable::parse(table.text(), "again").text(), table.text());
  EXPECT_EQ(TuningTable::parse(table.text(), "again").digest(), table.digest());
  EXPECT_EQ(table.digest().size(), 16u);
}

TEST(TuningTable, SaysWhichLineIsBadAndWhatIsAllowed) {
  expect_refused("", {"t.tuning:1:", "'phicoll tuning 1' as first line"});
  expect_refused("phicoll tuning 2\n", {"t.tuning:1: 'phicoll tuning 2'", "'phicoll tuning 1'"});
  expect_refused(head + "\nallreduse threads 8/2 0 one-shot\n",
                 {"t.tuning:3: 'allreduse'", "nearest: allreduce"});
  expect_refused(head + "allreduce treads 8/2 0 one-shot\n",
                 {"t.tuning:2: mode 'treads'", "threads, processes, simulated"});
  expect_refused(head + "allreduce threads 8/2 0 one-shut\n",
                 {"t.tuning:2: algorithm 'one-shut'", "nearest: one-shot", "; all: "});
  expect_refused(head + "allreduce threads 8/2 0 one-shot:cell=x\n", {"t.tuning:2: one-shot:cell", "'x'"});
  expect_refused(head + "allreduce threads 8 0 one-shot\n", {"t.tuning:2: '8'", "ranks/CPUs such as 8/2"});
  expect_refused(head + "allreduce threads 2000/2 0 one-shot\n", {"'2000/2'", "1 to 1024 ranks"});
  expect_refused(head + "allreduce threads 2/0 0 one-shot\n", {"'2/0'"});
  expect_refused(head + "allreduce threads 8/2 4K one-shot\n", {"from '4K' bytes", "a whole number"});
  expect_refused(head + "allreduce threads 8/2 one-shot\n", {"4 words", "OPERATION MODE RANKS/CPUS"});
  expect_refused(head + "barrier threads 8/2 64 tree\n", {"from '64' bytes for a barrier", "allowed: 0"});
  expect_refused(head + "allreduce threads 8/2 0 auto:wait=spin\n", {"t.tuning:2: 'auto:wait=spin'"});
  expect_refused(head + "host\n", {"t.tuning:2: no value"});
  expect_refused(head + "machine a\nmachine b\n", {"t.tuning:3: a second 'machine'", "line 2"});
  expect_refused(head + "cost lokal 86\n", {"t.tuning:2: 'cost lokal 86'", "nearest: local"});
  expect_refused(head + "cost local 8.6\n", {"t.tuning:2: cost 'local 8.6'", "tenths of a nanosecond"});
  expect_refused(head + "cost local 8\ncost local 9\n", {"t.tuning:3: a second cost 'local'"});
  expect_refused(head + "number rotat 9\n", {"t.tuning:2: 'number rotat 9'", "nearest: rotate"});
  expect_refused(head + "number rotate\n", {"t.tuning:2: 'number rotate'", "number NAME VALUE"});
  expect_refused(head + "number rotate 0\n", {"t.tuning:2: number 'rotate 0'", "from 1 to "});
  expect_refused(head + "number cell 2097152\n", {"number 'cell 2097152'", "1024 to 1048576"});
  expect_refused(head + "number wide 8\nnumber wide 9\n", {"t.tuning:3: a second number 'wide'"});
  expect_refused(head + "barrier threads 2/2 0 tree\nbarrier threads 2/2 0 auto\n",
                 {"t.tuning:3: a second row", "line 2"});
  EXPECT_THROW(TuningTable::read("/nowhere/there.tuning"), ArgumentError);
  EXPECT_THROW(TuningTable::read("/"), ArgumentError);
  EXPECT_THROW(TuningTable::read("/dev/zero"), ArgumentError);
}

TEST(TuningTable, FindsTheNearestGroupWithTheSameSharing) {
  const TuningTable table = TuningTable::parse(head +
                                                   "allreduce threads 2/8 0 one-shot\n"
                                                   "allreduce threads 8/8 0 auto\n"
                                                   "allreduce threads 8/8 1000 sliced\n"
                                                   "allreduce threads 8/2 0 one-shot\n"
                                                   "allreduce threads 64/2 100 one-shot\n",
                                               "t");
  const auto find = [&](int ranks, int cpus, bool sharing, std::size_t bytes) {
    return table.find(Shape::unknown(ranks, sharing), allreduce(bytes), TuningMode::threads, cpus);
  };
  EXPECT_TRUE(find(8, 8, false, 999).exact);
  EXPECT_EQ(find(8, 8, false, 999).row->line, 3);
  EXPECT_EQ(find(8, 8, false, 999).most, 999u);
  EXPECT_EQ(find(8, 8, false, 1000).row->line, 4);
  EXPECT_EQ(find(8, 8, false, 1000).least, 1000u);
  EXPECT_EQ(find(8, 8, false, 1000).most, SIZE_MAX);
  EXPECT_EQ(find(3, 8, false, 8).row->line, 2);
  EXPECT_EQ(find(4, 8, false, 8).row->line, 2) << "as far from 2 as from 8: fewer ranks";
  EXPECT_EQ(find(5, 8, false, 8).row->line, 3);
  EXPECT_FALSE(find(5, 8, false, 8).exact);
  EXPECT_EQ(find(2, 2, true, 8).row->line, 5) << "sharing ranks take sharing rows only";
  EXPECT_EQ(find(64, 2, true, 99).row, nullptr);
  EXPECT_EQ(find(64, 2, true, 99).most, 99u);
  EXPECT_EQ(find(64, 2, true, 99).ranks, 64);
  EXPECT_EQ(table.find(Shape::unknown(2), allreduce(8), TuningMode::processes, 8).ranks, 0);
}

TEST(TuningTable, ReadsRulesAndWhatTheySay) {
  const auto refused = [](const std::string& row, const std::vector<std::string>& said) {
    expect_refused(head + row + "\n", said);
  };
  refused("allreduce any 2-/3 0 one-shot", {"t.tuning:2: '2-/3'", "*/any+counts"});
  refused("allreduce any 9-8/own 0 one-shot", {"'9-8/own'"});
  refused("allreduce any */own+partz 0 one-shot", {"condition 'partz'", "nearest: parts"});
  refused("allreduce any */own rotat one-shot", {"from 'rotat' bytes", "nearest: rotate"});
  refused("allreduce any */own 2*(cell one-shot", {"from '2*(cell' bytes", "such as 2*cell"});
  refused("allreduce any */own near-copy one-shot", {"'near-copy'"});
  refused("allreduce any */own 0 one-shot:cell={" + std::string(100000, '(') + "}",
          {"number 100000 letters; allowed: 250"});
  refused("allreduce any */own in-place far={direct}", {"far '{direct}'", "copied"});
  refused("allreduce any */own in-place cell=4096", {"'cell=4096'", "direct, far or put"});
  refused("allreduce any */own in-place direct=1:direct=2", {"direct two values; allowed: one"});
  refused("allreduce any */own 0 one-shot:cell={cel}", {"number 'cel' in 'cel'", "nearest: cell"});
  refused("allreduce any */own in-place dirct={direct}", {"'dirct={direct}'", "direct={direct}:far=copied"});
  refused("allreduce any */own in-place direct=abc", {"direct 'abc'", "1073741824"});
  refused("allreduce any */own in-place direct=1073741825", {"direct '1073741825'"});
  refused("allreduce any */own in-place far=copid", {"far 'copid'", "copied"});
  refused("allreduce any 2/2 in-place direct={direct}", {"'2/2' in place", "a rule such as 2/own"});
  refused("allreduce any */own 0 one-shot\nallreduce any */own 0 sliced", {"t.tuning:3: a second row"});
  const TuningTable table =
      TuningTable::parse(head +
                             "allreduce any 2-4/own+parts max(4096,2*cell/ranks)+1 "
                             "one-shot:cell={cell/2}:cells={ring/(cell/2)}  # far\n"
                             "allreduce any */any in-place direct={2*direct}:far=copied\n",
                         "t");
  EXPECT_EQ(TuningTable::parse(table.text(), "again").text(), table.text());
  const TuningRow& row = table.rows()[0];
  const Computed from = row.begins(Shape::unknown(3));
  EXPECT_EQ(from.value, 43692u) << "a third of 128 KB, rounded up, and one more";
  EXPECT_STREQ(from.number->name, "cell");
  EXPECT_EQ(row.spec(Shape::unknown(3)).text().find("one-shot:cell=32768:cells=64"), 0u);
  EXPECT_EQ(table.rows()[1].values(Shape::unknown(3))[0].second, "2097152");
}

// Rules serve where nothing was measured; of those for a group the first that can serve the call.
TEST(Automatic, ATablesOwnRulesComeBeforeTheBuiltInOnes) {
  const std::string text = head +
                           "allreduce threads 8/2 0 one-shot:cell=4096\n"
                           "allreduce any 3-/own 0 bruck\n"
                           "allreduce any 3-/own 2*cell auto\n"
                           "allreduce any */any 0 sliced\n"
                           "broadcast any */own in-place direct=4096\n";
  const Shape shape = tuned(Shape::unknown(4), text);
  CallFacts facts = allreduce(8);
  const AlgorithmChoice small = automatic_choice(shape, facts);
  EXPECT_EQ(small.spec.name, "bruck");
  EXPECT_EQ(small.why, "tuned: t.tuning, line 3");
  EXPECT_EQ(small.most, 131071u);
  EXPECT_EQ(small.numbers, "cell=65536");
  EXPECT_NE(automatic_choice(shape, allreduce(1 << 20)).why.find("by rule, as t.tuning, line 4"),
            std::string::npos);
  facts.commutative = false;
  EXPECT_EQ(automatic_choice(shape, facts).spec.name, "sliced") << "the first rules that can serve the call";
  EXPECT_EQ(automatic_choice(tuned(Shape::unknown(2), text), allreduce(8)).spec.name, "sliced");
  EXPECT_EQ(automatic_choice(tuned(Shape::unknown(4, true), text), allreduce(8)).spec.name, "one-shot")
      << "measured";
  facts = CallFacts();
  facts.operation = Operation::broadcast;
  EXPECT_NE(automatic_choice(shape, facts).spec.text().find("direct=4096:far=direct"), std::string::npos)
      << automatic_choice(shape, facts).spec.text();
}

TEST(Automatic, TakesTheRowAndSaysSo) {
  const std::string text = head +
                           "allreduce threads 4/8 0 sliced:chunk=4096\nallreduce threads 4/8 4096 auto\n"
                           "barrier threads 4/8 0 tree:degree=3\n";
  const Shape shape = tuned(Shape::unknown(4), text);
  const AlgorithmChoice small = automatic_choice(shape, allreduce(8));
  EXPECT_EQ(small.spec.name, "sliced");
  EXPECT_EQ(small.why, "tuned: t.tuning, line 2");
  EXPECT_EQ(small.given, "sliced:chunk=4096");
  EXPECT_EQ(small.most, 4095u);
  const AlgorithmChoice large = automatic_choice(shape, allreduce(8192));
  EXPECT_EQ(large.spec.text(), choose(shape, allreduce(8192)).spec.text());
  EXPECT_NE(large.why.find("by rule, as t.tuning, line 3 says"), std::string::npos) << large.why;
  EXPECT_GE(large.least, 4096u);
  EXPECT_EQ(automatic_choice(shape, CallFacts()).spec.name, "tree");
  EXPECT_EQ(family(Operation::barrier).effective(family(Operation::barrier).parse("auto"), shape).name,
            "tree");

  const AlgorithmChoice near = automatic_choice(tuned(Shape::unknown(3), text), allreduce(8));
  EXPECT_EQ(near.spec.name, "sliced");
  EXPECT_NE(near.why.find("the nearest to 3 ranks on 8 CPUs of its 4 ranks on 8 CPUs"), std::string::npos)
      << near.why;
  const AlgorithmChoice other = automatic_choice(tuned(Shape::unknown(4, true), text), allreduce(8));
  EXPECT_EQ(other.spec.text(), choose(Shape::unknown(4, true), allreduce(8)).spec.text());
  EXPECT_NE(other.why.find("t.tuning has no row for allreduce of threads that share CPUs"), std::string::npos)
      << other.why;
}

// A spec without the parameter leaves open whether data is read in place.
TEST(Automatic, ARowThatIsSilentIsServedAsByTheRules) {
  const std::string text = head +
                           "allgather processes 2/8 0 one-shot:cell=4096\n"
                           "allgather processes 2/8 65536 one-shot:cell=4096:direct=0\n"
                           "barrier processes 2/8 0 tree:degree=3\n";
  const Shape shape = tuned(Shape::unknown(2), text, TuningMode::processes, 8);
  CallFacts facts;
  facts.operation = Operation::allgather;
  EXPECT_EQ(automatic_choice(shape, facts).spec.text(),
            "one-shot:cell=4096:cells=128:direct=1048576:far=copied:put=65536");
  facts.bytes = 65536;
  EXPECT_EQ(automatic_choice(shape, facts).spec.text(),
            "one-shot:cell=4096:cells=128:direct=0:far=direct:put=0");
  EXPECT_EQ(automatic_choice(shape, CallFacts()).spec.text(),
            family(Operation::barrier).parse("tree:degree=3").text());
}

TEST(Automatic, WhereDataIsReadDependsOnWhatARankHasForTheOthers) {
  const auto direct = [](Operation operation, const Shape& shape) {
    CallFacts facts;
    facts.operation = operation;
    for (const auto& value : automatic_choice(shape, facts).spec.values)
      if (value.first == "direct") return value.second;
    return std::string("-");
  };
  const Shape two = Shape::unknown(2), many = Shape::unknown(64), crowded = Shape::unknown(8, true);
  EXPECT_EQ(direct(Operation::broadcast, two), "1048576");
  EXPECT_EQ(direct(Operation::allgather, two), "1048576");
  EXPECT_EQ(direct(Operation::alltoall, two), "524288");
  EXPECT_EQ(direct(Operation::alltoall, many), "1024");
  EXPECT_EQ(direct(Operation::scatter, two), "1048576");
  EXPECT_EQ(direct(Operation::scatter, crowded), "131072");
  EXPECT_EQ(direct(Operation::reduce, crowded), "0");
  EXPECT_EQ(direct(Operation::scan, two), "-");

  // One algorithm for all sizes; its reason says what it does with these.
  CallFacts facts;
  facts.operation = Operation::allgather;
  facts.bytes = (1 << 20) - 1;
  const AlgorithmChoice small = automatic_choice(two, facts);
  facts.bytes = 1 << 20;
  const AlgorithmChoice large = automatic_choice(two, facts);
  EXPECT_EQ(small.spec.text(), large.spec.text());
  EXPECT_EQ(small.most + 1, large.least);
  EXPECT_EQ(small.why.find("where it lies"), std::string::npos) << small.why;
  EXPECT_NE(large.why.find("where it lies"), std::string::npos) << large.why;
  facts.operation = Operation::gather;
  facts.bytes = 8 << 20;
  EXPECT_EQ(automatic_choice(two, facts).why.find("where it lies"), std::string::npos) << "a single copy";
}

TEST(Automatic, FollowsTheHostsNumbersAndNamesThoseThatDecide) {
  CallFacts facts = allreduce(40 << 10);
  facts.operation = Operation::scan;
  const auto text_of = [](const AlgorithmChoice& choice, const char* name) {
    for (const auto& value : choice.spec.values)
      if (value.first == name) return value.second;
    return std::string("no such parameter");
  };
  const Shape plain = Shape::unknown(2);
  AlgorithmChoice choice = automatic_choice(plain, facts);
  EXPECT_EQ(choice.numbers, "rotate=24576");
  EXPECT_EQ(text_of(choice, "cell"), "65536");
  const Shape other = tuned(
      plain, head + "number cell 32768\nnumber ring 524288\nnumber rotate 8192\nnumber pair-wide 524288\n");
  choice = automatic_choice(other, facts);
  EXPECT_EQ(choice.numbers, "rotate=8192");
  EXPECT_EQ(choice.least, 8192u);
  EXPECT_EQ(text_of(choice, "cell"), "32768");
  EXPECT_EQ(text_of(choice, "cells"), "16");
  facts.bytes = 8191;
  choice = automatic_choice(other, facts);
  EXPECT_EQ(choice.numbers, "rotate=8192");
  EXPECT_EQ(choice.most, 8191u);
  facts.operation = Operation::allgather;
  EXPECT_EQ(automatic_choice(other, facts).numbers, "pair-wide=524288");
  facts.bytes = std::size_t{2} << 20;
  choice = automatic_choice(other, facts);
  EXPECT_EQ(choice.numbers, "pair-wide=524288, single=8388608, direct=1048576")
      << "where the data is read in place begins later";
  EXPECT_EQ(choice.least, 1048576u);
}

TEST(Automatic, SizesThatFollowFromANumberMoveWithItAndNameIt) {
  CallFacts facts;
  const std::string numbers = head + "number cell 32768\nnumber shared-cell 16384\nnumber single 2097152\n";
  const auto at = [&](Operation operation, const Shape& shape, std::size_t bytes) {
    facts.operation = operation;
    facts.bytes = bytes;
    return choose(shape, facts);
  };
  for (const bool usual : {true, false}) {
    const auto of = [&](int ranks, bool crowded) {
      const Shape plain = Shape::unknown(ranks, crowded);
      return usual ? plain : tuned(plain, numbers);
    };
    const std::size_t cell = usual ? 65536 : 32768,
                      single = usual ? std::size_t{8} << 20 : std::size_t{2} << 20;
    for (const Operation operation : {Operation::gather, Operation::scatter}) {
      const Shape pair = of(2, false);
      EXPECT_EQ(at(operation, pair, 2 * cell - 1).most, 2 * cell - 1);
      const AlgorithmChoice larger = at(operation, pair, 2 * cell);
      EXPECT_EQ(larger.least, 2 * cell);
      EXPECT_EQ(larger.numbers, "cell=" + std::to_string(cell));
      EXPECT_EQ(at(operation, pair, single - 1).spec.name, "mailbox");
      EXPECT_EQ(at(operation, pair, single).spec.name, "single-copy");
      EXPECT_EQ(at(operation, pair, single).numbers, "single=" + std::to_string(single));
      const Shape crowded = of(4, true);
      const std::size_t shared = usual ? 65536 : 32767;  // not before the rule that is ahead of it
      EXPECT_EQ(at(operation, crowded, shared).most, shared);
      EXPECT_EQ(at(operation, crowded, shared + 1).least, shared + 1);
      EXPECT_EQ(at(operation, crowded, shared + 1).numbers.find("shared-cell="), 0u);
    }
    EXPECT_EQ(at(Operation::scatter, of(4, true), single / 2).least, single / 2);
  }
}

// The lines of larger pieces come one after the other.
TEST(Automatic, TwoRanksExchangeInFewCellsWhatAReaderAsksForTogether) {
  CallFacts facts;
  for (const Operation operation : {Operation::allreduce, Operation::allgather, Operation::alltoall}) {
    facts.operation = operation;
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{49}, std::size_t{256}, std::size_t{257}}) {
      facts.bytes = bytes;
      const bool few = bytes >= behind_head && bytes <= together_bytes;
      EXPECT_EQ(choose(Shape::unknown(2), facts).spec.text().find("cells=8") != std::string::npos, few)
          << to_string(operation) << " " << bytes;
    }
  }
}

// Numbers are measured one by one, so any may meet any other.
TEST(Automatic, AnyNumbersGiveAlgorithmsThatCanBeMade) {
  const char* const cells[] = {"1024", "65536", "1048576"};
  const char* const rings[] = {"1024", "262144", "4194304"};
  const Operation operations[] = {Operation::broadcast, Operation::reduce,         Operation::allreduce,
                                  Operation::gather,    Operation::scatter,        Operation::allgather,
                                  Operation::alltoall,  Operation::reduce_scatter, Operation::scan};
  std::size_t chosen = 0;
  for (const char* const cell : cells)
    for (const char* const ring : rings)
      for (const char* const wide : cells) {
        const std::string numbers = head + "number cell " + cell + "\nnumber wide-cell " + wide +
                                    "\nnumber shared-cell " + cell + "\nnumber shared-wide-cell " + wide +
                                    "\nnumber ring " + ring + "\n";
        for (const int ranks : {2, 3, 4, 8, 16, 240})
          for (const bool crowded : {false, true}) {
            const Shape shape = tuned(Shape::unknown(ranks, crowded), numbers);
            for (const Operation operation : operations)
              for (std::size_t bytes = 8; bytes <= std::size_t{64} << 20; bytes *= 8) {
                CallFacts facts = allreduce(bytes);
                facts.operation = operation;
                const AlgorithmChoice choice = automatic_choice(shape, facts);
                const Family& known = family(operation);
                EXPECT_TRUE(known.fits(known.effective(choice.spec, shape), shape, facts))
                    << to_string(operation) << " of " << bytes << " bytes, " << ranks
                    << " ranks: " << choice.spec.text() << "\n"
                    << numbers;
                ++chosen;
              }
          }
      }
  EXPECT_EQ(chosen, 3u * 3 * 3 * 6 * 2 * 9 * 8);
}

// Whatever the reader accepts can be used: a spec that does not parse would end a call in the middle.
TEST(Automatic, AnyTableThatIsReadGivesAlgorithmsThatCanBeMade) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::string table = random_table(seed);
    SCOPED_TRACE(table);
    for (const int ranks : {2, 3, 4, 16})
      for (const bool crowded : {false, true}) {
        const Shape shape = tuned(Shape::unknown(ranks, crowded), table);
        for (int o = 1; o < operations; ++o)
          for (std::size_t bytes = 8; bytes <= std::size_t{1} << 31; bytes *= 64) {
            CallFacts facts = allreduce(bytes);
            facts.operation = static_cast<Operation>(o);
            const Family& known = family(facts.operation);
            const AlgorithmChoice choice = automatic_choice(shape, facts, std::size_t{16} << 20);
            ASSERT_NO_THROW(known.parse(choice.spec.text())) << choice.spec.text();
            ASSERT_TRUE(known.fits(known.effective(choice.spec, shape), shape, facts)) << choice.spec.text();
            ASSERT_LE(choice.least, bytes) << choice.spec.text();
            ASSERT_GE(choice.most, bytes) << choice.spec.text();
          }
      }
  }
}

TEST(Automatic, WhatIsReadWhereItLiesFromMoreThanAGigabyteOnNeverIs) {
  const auto direct_of = [](const std::string& number) {
    const Shape shape = tuned(Shape::unknown(4, false), head + "number direct " + number + "\n");
    CallFacts facts = allreduce(std::size_t{1} << 20);
    facts.operation = Operation::broadcast;  // among more than two ranks from twice the number on
    for (const auto& value : automatic_choice(shape, facts).spec.values)
      if (value.first == "direct") return value.second;
    return std::string("none");
  };
  EXPECT_EQ(direct_of("536870912"), "1073741824");
  EXPECT_EQ(direct_of("536870913"), "0");
  EXPECT_EQ(direct_of("1073741825"), "0");
  EXPECT_EQ(direct_of("1099511627776"), "0");
}

TEST(Automatic, ASizeBelongsToOneRuleWhereALaterNumberIsSmaller) {
  CallFacts facts = allreduce(0);
  facts.operation = Operation::broadcast;
  const Shape shape = tuned(Shape::unknown(2), head + "number pass-rotate 65536\nnumber pass-wide 8192\n");
  const auto at = [&](std::size_t bytes) {
    facts.bytes = bytes;
    return automatic_choice(shape, facts);
  };
  EXPECT_EQ(at(16384).most, 65535u);
  EXPECT_EQ(at(16384).least, 0u);
  EXPECT_EQ(at(65536).least, 65536u);
  EXPECT_EQ(at(65536).spec.text().find("ring:cell=65536"), 0u);
}

TEST(Automatic, RanksThatShareCpusScatterByOneCopyFromTheirOwnSizeOn) {
  CallFacts facts = allreduce(4 << 20);
  facts.operation = Operation::scatter;
  for (const int ranks : {3, 32}) {
    EXPECT_EQ(automatic_choice(Shape::unknown(ranks, true), facts).spec.name, "single-copy");
    EXPECT_EQ(automatic_choice(Shape::unknown(ranks), facts).spec.name, "mailbox");
  }
  // A part of one rank of such a group has no others.
  const Shape alone = Shape::unknown(1, true);
  const AlgorithmSpec spec = automatic_choice(alone, facts).spec;
  EXPECT_TRUE(
      family(Operation::scatter).fits(family(Operation::scatter).effective(spec, alone), alone, facts));
}

TEST(Automatic, ANumberSaysFromWhereResultsAreStoredPastTheCaches) {
  EXPECT_EQ(ResultStores(Shape::unknown(2))(std::size_t{8} << 20), Stores::streaming);
  EXPECT_EQ(ResultStores(Shape::unknown(2))((std::size_t{8} << 20) - 1), Stores::taken);
  const ResultStores early(tuned(Shape::unknown(4), head + "number streamed 65536\n"));
  EXPECT_EQ(early(65536), Stores::streaming);
  EXPECT_EQ(early.exchanged(16384), Stores::streaming) << "four blocks of 16 KB on each of four ranks";
  EXPECT_EQ(early.exchanged(16380), Stores::taken);
}

TEST(Automatic, LeavesItToTheRulesWhereTheRowCannotServe) {
  const Shape shape = tuned(Shape::unknown(4), head +
                                                   "allreduce threads 4/8 0 bruck\n"
                                                   "alltoall threads 4/8 0 one-shot\n"
                                                   "barrier threads 4/8 0 tree\n"
                                                   "broadcast threads 4/8 64 ring\n");
  CallFacts facts = allreduce(8);
  facts.commutative = false;
  const AlgorithmChoice ordered = automatic_choice(shape, facts);
  EXPECT_EQ(ordered.spec.text(), choose(shape, facts).spec.text());
  EXPECT_NE(ordered.why.find("bruck of t.tuning, line 2 cannot serve this"), std::string::npos)
      << ordered.why;
  facts = CallFacts();
  facts.operation = Operation::alltoall;
  facts.vector = true;
  facts.known = false;
  EXPECT_EQ(automatic_choice(shape, facts).spec.name, "mailbox");
  facts = CallFacts();
  facts.operation = Operation::broadcast;
  const AlgorithmChoice below = automatic_choice(shape, facts);
  EXPECT_NE(below.why.find("t.tuning begins above so few bytes"), std::string::npos) << below.why;
  EXPECT_EQ(below.most, 63u);
  const Shape crowded =
      tuned(Shape::unknown(4, true), head + "barrier threads 4/2 0 hybrid-dissemination:group=cpu\n",
            TuningMode::threads, 2);
  const AlgorithmChoice unplaced = automatic_choice(crowded, CallFacts());
  EXPECT_EQ(unplaced.spec.text(), choose(crowded, CallFacts()).spec.text());
  EXPECT_NE(unplaced.why.find("which ranks share one is not known"), std::string::npos) << unplaced.why;
  const AlgorithmChoice narrow = automatic_choice(shape, CallFacts(), 64);
  EXPECT_EQ(narrow.spec.text(), choose(shape, CallFacts()).spec.text());
  EXPECT_NE(narrow.why.find("tree of t.tuning, line 4 has no room in 64 bytes"), std::string::npos)
      << narrow.why;
}

TEST(Automatic, TakesOneOrderOfOperandsWhereAskedTo) {
  const std::set<std::string> in_order = {"mailbox", "sliced", "one-shot", "linear", "pairwise"};
  for (int o = 0; o < operations; ++o)
    for (const int ranks : {2, 3, 5, 8, 9, 33, 240})
      for (const Shape& shape : {Shape::unknown(ranks), Shape::unknown(ranks, true),
                                 place_ranks(ranks, uniform_machine(2, 1), Placement::balanced),
                                 place_ranks(ranks, uniform_machine(60, 4), Placement::balanced)})
        for (const std::size_t bytes : {8, 300, 4096, 100000, 4 << 20}) {
          CallFacts facts;
          facts.operation = static_cast<Operation>(o);
          if (!reduces(facts.operation)) continue;
          facts.bytes = bytes;
          facts.associative = false;
          const CallFacts asked = asked_of(family(facts.operation).parse("auto:reproducible=yes"), facts);
          EXPECT_TRUE(asked.in_rank_order);
          const AlgorithmChoice choice = automatic_choice(shape, asked);
          EXPECT_EQ(in_order.count(choice.spec.name), 1u) << choice.spec.text() << " of " << ranks;
          EXPECT_TRUE(family(facts.operation).fits(choice.spec, shape, asked)) << choice.spec.text();
          facts.associative = true;
          EXPECT_EQ(
              automatic_choice(shape, asked_of(family(facts.operation).parse("auto:reproducible=yes"), facts))
                  .spec,
              automatic_choice(shape, facts).spec)
              << "the order does not matter";
        }
  CallFacts facts = allreduce(8);
  facts.associative = false;
  facts.in_rank_order = true;
  const AlgorithmChoice choice =
      automatic_choice(tuned(Shape::unknown(4), head + "allreduce threads 4/8 0 rabenseifner\n"), facts);
  EXPECT_NE(choice.why.find("cannot serve this: an algorithm that combines the operands one by one"),
            std::string::npos)
      << choice.why;
}

TEST(Tuning, OfAnotherMachineIsRefusedOrUsedAsAsked) {
  const File own(head + "host " + host_fingerprint() + "\nbarrier threads 2/2 0 tree\n");
  EXPECT_NE(load_tuning({own.path(), false}, TuningMode::threads), nullptr);
  const File other(head + "host 7 cpus, Another CPU\nmachine elsewhere\nbarrier threads 2/2 0 tree\n");
  try {
    load_tuning({other.path(), false}, TuningMode::threads);
    FAIL();
  } catch (const ArgumentError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(other.path() + ":2: a table of host '7 cpus, Another CPU'"), std::string::npos);
    EXPECT_NE(text.find(host_fingerprint()), std::string::npos);
    EXPECT_NE(text.find("PHICOLL_TUNING_FOREIGN=use"), std::string::npos);
  }
  EXPECT_NE(load_tuning({other.path(), true}, TuningMode::threads), nullptr);
  EXPECT_THROW(load_simulated_tuning({other.path(), false}, "xeon-phi-5110p", 240), ArgumentError);
  EXPECT_NE(load_simulated_tuning({other.path(), false}, "elsewhere", 240), nullptr);
  EXPECT_EQ(load_tuning(tuning_source("none"), TuningMode::threads), nullptr);
  EXPECT_THROW(tuning_source("x", "perhaps"), ArgumentError);
  GroupOptions options;
  options.tuning = other.path();
  EXPECT_THROW(ThreadGroup(2, options), ArgumentError);
  options.tuning_foreign = "use";
  ThreadGroup(2, options);
}

/// A row for every way that these two ranks may be placed.
std::string for_two(const std::string& operation, const std::string& mode, const std::string& rest) {
  std::string rows;
  for (const char* const group : {" 2/2 ", " 2/1 "}) rows += operation + " " + mode + group + rest + "\n";
  return rows;
}

void expect_tuned(Communicator& comm) {
  EXPECT_EQ(comm.why().spec.name, "tree");
  EXPECT_NE(comm.why().why.find("tuned: "), std::string::npos) << comm.why().why;
  comm.barrier();
  const Operator sum = find_operator(Type::int32, Op::sum);
  std::vector<std::int32_t> values(3000, comm.rank() + 1);
  comm.allreduce(nullptr, values.data(), values.size(), sum);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 9000);
  EXPECT_EQ(comm.collectives().why(allreduce(8)).spec.name, "one-shot");
  EXPECT_EQ(comm.collectives().why(allreduce(12000)).spec.name, "recursive-doubling");
  const std::unique_ptr<Communicator> both = comm.dup();
  EXPECT_EQ(both->collectives().why(allreduce(12000)).spec.name, "recursive-doubling");
  both->allreduce(nullptr, values.data(), values.size(), sum);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 18000);
}

std::string rows_of(const std::string& mode) {
  return for_two("barrier", mode, "0 tree:degree=2") + for_two("allreduce", mode, "0 one-shot") +
         for_two("allreduce", mode, "4096 recursive-doubling");
}

TEST(Tuning, ChangesWhatAutoDoesInThreads) {
  const File table(head + rows_of("threads"));
  GroupOptions options;
  options.tuning = table.path();
  ThreadGroup(2, options).run(expect_tuned);
  setenv("PHICOLL_TUNING", table.path().c_str(), 1);
  ThreadGroup(2).run(expect_tuned);
  options.tuning = "none";
  ThreadGroup(2, options).run([](Communicator& comm) {
    EXPECT_EQ(comm.why().why.find("tuned"), std::string::npos);
    EXPECT_EQ(comm.collectives().why(allreduce(12000)).why.find("tuned"), std::string::npos);
  });
  unsetenv("PHICOLL_TUNING");
}

TEST(Tuning, ReachesProcessesThroughTheirGroup) {
  GroupOptions options;
  {
    const File table(head + rows_of("processes"));
    options.tuning = table.path();
    fork_and_run(2, options, [&](Communicator& comm) {
      // The rank does not need the file: it has the table from its group.
      expect_tuned(comm);
      if (::testing::Test::HasFailure()) throw Error("not tuned");
    });
  }
  EXPECT_THROW(fork_and_run(2, options, [](Communicator&) {}), ArgumentError) << "the file is gone";
}

TEST(Tuning, IsTheSameForAllThatAttach) {
  const File table(head + rows_of("processes")), other(head);
  const std::string name = "tuning-" + std::to_string(getpid());
  GroupOptions options;
  options.attach_timeout_ms = 20000;
  options.tuning = table.path();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Rank 1: first with another table, then with its group's.
    char go = 0;
    if (read(ready[0], &go, 1) != 1) _exit(9);
    GroupOptions wrong = options;
    wrong.tuning = other.path();
    for (int tries = 0;; ++tries) {
      try {
        ProcessGroup::attach(name, 2, 1, wrong);
        _exit(2);
      } catch (const ArgumentError& error) {
        const std::string text = error.what();
        if (text.find("tuning: got '" + other.path()) != 0 || text.find(table.path()) == std::string::npos)
          _exit(3);
        break;
      } catch (const Error&) {
        _exit(4);
      }
    }
    try {
      const auto group = ProcessGroup::attach(name, 2, 1, options);
      expect_tuned(group->communicator());
    } catch (const std::exception&) {
      _exit(5);
    }
    _exit(::testing::Test::HasFailure() ? 6 : 0);
  }
  // Rank 0 makes the group; the other begins a little later, or it would be the one whose table counts.
  std::thread releases([&] {
    EXPECT_TRUE(eventually([] { return has_made_its_group(getpid()); }));
    EXPECT_EQ(write(ready[1], "g", 1), 1);
  });
  try {
    const auto group = ProcessGroup::attach(name, 2, 0, options);
    expect_tuned(group->communicator());
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  releases.join();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(Tuning, ChangesWhatAutoDoesOnASimulatedMachine) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  const std::string contexts = std::to_string(machine.contexts());
  const File table(head + "machine xeon-phi-5110p\nbarrier simulated 4/" + contexts +
                   " 0 tree:degree=3\nallreduce simulated 4/" + contexts + " 0 recursive-doubling\n");
  setenv("PHICOLL_TUNING", table.path().c_str(), 1);
  const Shape shape = sim::place_on_machine(machine, 4, "balanced", sim::tuning_of(machine));
  unsetenv("PHICOLL_TUNING");
  Program program;
  program.ranks = 4;
  program.buffers = {512, 512};
  ProgramCall call;
  call.operation = Operation::allreduce;
  call.count = 512;
  call.fill = 1;
  program.calls = {ProgramCall(), call};
  const sim::ProgramRun run = sim::run_program_simulated(program, machine, shape, {});
  ASSERT_EQ(run.algorithms.size(), 2u);
  EXPECT_EQ(run.algorithms[0].name, "tree");
  EXPECT_EQ(run.algorithms[1].name, "recursive-doubling");
  EXPECT_EQ(run.buffers, program.expected());

  // A point that another process simulates takes the table along.
  sim::SimulatedSettings settings;
  settings.machine = machine;
  settings.tuning = shape.tuning();
  settings.ranks = {4};
  settings.algorithms = {family(Operation::barrier).parse("auto")};
  settings.calls = 3;
  const std::vector<sim::SimulatedPoint> points = sim::plan_points(settings);
  ASSERT_EQ(points.size(), 1u);
  const sim::SimulatedTask task = sim::parse_task(sim::task_text(settings, "run"));
  const sim::PointRecords found = sim::simulate_point(task.settings, points[0], task.run);
  EXPECT_TRUE(found.verified) << found.error;
  EXPECT_NE(found.lines.at(0).find("tuned: "), std::string::npos) << found.lines.at(0);
  EXPECT_NE(found.lines.at(0).find("tree:"), std::string::npos) << found.lines.at(0);
}

TEST(Tuning, LineCostsReachTheShape) {
  const Shape shape = tuned(Shape::unknown(4), head + "cost remote 1000\n");
  EXPECT_EQ(shape.costs().remote, 1000);
  EXPECT_EQ(shape.costs().local, LineCosts().local);
  EXPECT_EQ(tuned(Shape::unknown(4), head).costs(), LineCosts());
}

}  // namespace
}  // namespace phicoll
