// Programs drawn at random: sequences of different collectives without barriers between them, by threads, by
// processes, on simulated machines and on the counting port, against a plain computation, with guard zones
// around every buffer. PHICOLL_TEST_SEED repeats a run; every failure prints its seed and its Program.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/run_program.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "random_tables.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace {

/// What drawn programs are made of.
struct Limits {
  int ranks = 6;
  int calls = 8;
  std::size_t bytes = 30000;  // of a block or message
  bool vectors = true;
  bool automatic = false;  // no algorithm is named
};

class Drawer {
 public:
  Drawer(std::uint64_t seed, const Limits& limits) : random_(seed), limits_(limits) {
    program_.seed = seed;
    program_.ranks = 1 + upto(limits.ranks - 1);
    shape_ = Shape::unknown(program_.ranks);
    // Two to send from, two to receive into, one for both; odd sizes.
    const auto n = static_cast<std::size_t>(program_.ranks);
    const std::size_t most = (limits.bytes + 300) * n + 1000;
    program_.buffers = {most, most + 7, most + 1, most, most + 13};
  }

  Program draw() {
    const int calls = 1 + upto(limits_.calls - 1);
    while (static_cast<int>(program_.calls.size()) < calls) {
      ProgramCall call = draw_call();
      if (!fits(call)) continue;
      program_.calls.push_back(call);
      // The same again now and then: rings go round, credits run out.
      for (int more = upto(9) == 0 ? upto(12) : 0; more > 0; --more) {
        if (call.fill != 0) call.fill = 1 + random_.below(1000000);
        program_.calls.push_back(call);
      }
    }
    return program_;
  }

 private:
  int upto(int most) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(most) + 1)); }

  std::size_t draw_count() {
    switch (upto(7)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return 8;
      case 3:
        return static_cast<std::size_t>(upto(16));
      case 4:
        return static_cast<std::size_t>(upto(200));
      case 5: {
        // Around powers of two, where algorithms cut.
        const std::size_t power = std::size_t{1} << upto(14);
        return std::min(limits_.bytes,
                        power + static_cast<std::size_t>(upto(4)) - std::min<std::size_t>(power, 2));
      }
      default:
        return static_cast<std::size_t>(upto(static_cast<int>(limits_.bytes)));
    }
  }

  ProgramCall draw_call() {
    static const std::vector<std::pair<Type, Op>> pairings = operator_pairings();
    ProgramCall call;
    call.operation = static_cast<Operation>(upto(operations - 1));
    const auto n = static_cast<std::size_t>(program_.ranks);
    call.root = upto(program_.ranks - 1);
    if (upto(3) == 0)
      for (int r = 0; r < program_.ranks; ++r) call.delays.push_back(upto(2) == 0 ? upto(20000) : 0);
    if (call.operation == Operation::barrier) return call;
    const auto& known = family(call.operation).algorithms();
    const auto& info = known[static_cast<std::size_t>(upto(static_cast<int>(known.size()) - 1))];
    call.algorithm = limits_.automatic || upto(3) == 0 ? "auto" : with_parameters(info);
    call.exclusive = call.operation == Operation::scan && upto(1) == 0;
    const auto& pairing = pairings[static_cast<std::size_t>(upto(static_cast<int>(pairings.size()) - 1))];
    call.type = pairing.first;
    call.op = pairing.second;
    std::size_t element = 1;
    if (reduces(call.operation)) element = bytes_of(call.type);
    call.count = draw_count() / element;
    call.in_place = call.operation != Operation::broadcast && upto(3) == 0;
    const bool vector_version = call.operation == Operation::gather || call.operation == Operation::scatter ||
                                call.operation == Operation::allgather ||
                                call.operation == Operation::alltoall ||
                                call.operation == Operation::reduce_scatter;
    if (limits_.vectors && vector_version && upto(2) == 0) {
      const bool pairs = call.operation == Operation::alltoall;
      call.counts.resize(pairs ? n * n : n);
      for (std::size_t& count : call.counts) count = draw_count() / element;
      if (pairs && call.in_place)
        for (std::size_t a = 0; a < n; ++a)
          for (std::size_t b = 0; b < a; ++b) call.counts[a * n + b] = call.counts[b * n + a];
      if (call.operation != Operation::reduce_scatter)
        call.gap = static_cast<std::size_t>(upto(2) == 0 ? upto(100) : 0);
      call.count = 0;
    }
    call.send = upto(1);
    call.receive = 2 + upto(1);
    if (call.in_place && upto(1) == 0) call.receive = 4;
    call.send_at = static_cast<std::size_t>(upto(1) == 0 ? 0 : upto(200));
    call.receive_at = static_cast<std::size_t>(upto(1) == 0 ? 0 : upto(200));
    // Not always: what one call received another sends.
    if (upto(3) == 0) std::swap(call.send, call.receive);
    call.fill = upto(1) == 0 ? 0 : 1 + random_.below(1000000);
    return call;
  }

  /// Small values for the parameters now and then: chunk borders and rings that go round within a call.
  std::string with_parameters(const AlgorithmInfo& info) {
    std::string text = info.name;
    if (upto(1) == 0) return text;
    for (const ParameterInfo& parameter : info.parameters) {
      if (upto(2) == 0) continue;
      std::string value;
      if (!parameter.choices.empty()) {
        value =
            parameter.choices[static_cast<std::size_t>(upto(static_cast<int>(parameter.choices.size()) - 1))];
      } else {
        const long most = std::min(parameter.most, parameter.least * 4 + 8);
        value = std::to_string(parameter.least + upto(static_cast<int>(most - parameter.least)));
      }
      text += ":" + parameter.name + "=" + value;
    }
    return text;
  }

  bool fits(ProgramCall& call) {
    Program alone = program_;
    alone.calls = {call};
    try {
      alone.check();
    } catch (const ArgumentError& error) {
      if (error.argument() != "calls[0].fill") return false;  // parameters that do not go together
      call.fill = 1 + random_.below(1000000);
    }
    if (call.operation == Operation::barrier) return true;
    return call.algorithm == "auto" ||
           family(call.operation)
               .fits(family(call.operation).parse(call.algorithm), shape_, program_.facts(call));
  }

  Random random_;
  Limits limits_;
  Program program_;
  Shape shape_;
};

std::string text_of(const Program& program) {
  std::string text = "seed " + std::to_string(program.seed) + ", " + std::to_string(program.ranks) + " ranks";
  for (const ProgramCall& call : program.calls) text += "\n  " + program.describe(call);
  return text;
}

/// A second for each way, a fixed number of programs at the least; the outcome does not depend on it.
template <class Run>
void drawn_programs(std::uint64_t salt, int least, const Limits& limits, Run run) {
  const std::uint64_t first = sim::testing::from_environment("PHICOLL_TEST_SEED", salt * 1000000);
  const bool one = std::getenv("PHICOLL_TEST_SEED") != nullptr;
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = sim::testing::long_run() ? sim::testing::long_seconds() : 1;
  for (int i = 0;; ++i) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if ((one && i == 1) || (i >= least && spent > seconds)) break;
    const Program program = Drawer(first + static_cast<std::uint64_t>(i), limits).draw();
    SCOPED_TRACE(text_of(program));
    try {
      check_same(program.expected(), run(program));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
      return;
    }
  }
}

GroupOptions bounded() {
  GroupOptions options;
  options.timeout_ms = 60000;  // a wait for ever is an error of the test, not its end
  options.memory_limit = std::size_t{256} << 20;
  return options;
}

// Before any thread is started.
TEST(Programs, ByProcesses) {
  drawn_programs(1, sim::testing::draws(20), Limits(),
                 [](const Program& program) { return run_program_by_processes(program, bounded()); });
}

// What is read where it lies, beside what goes through cells: in most programs some ranks' buffers only.
TEST(Programs, ByProcessesWithBuffersInTheHeap) {
  drawn_programs(6, sim::testing::draws(20), Limits(), [](const Program& program) {
    Random random(program.seed ^ 99);
    const std::uint64_t in_heap = program.seed % 3 == 0 ? ~std::uint64_t{0} : random.below(1u << 6);
    return run_program_by_processes(program, bounded(), in_heap);
  });
}

TEST(Programs, ByThreads) {
  drawn_programs(2, sim::testing::draws(25), Limits(),
                 [](const Program& program) { return run_program_by_threads(program, bounded()); });
}

/// Options with a drawn table in a file, which goes with its scope.
class DrawnTable {
 public:
  explicit DrawnTable(std::uint64_t seed) : text_(random_table(seed)) {
    path_ = "/tmp/phicoll-drawn-" + std::to_string(getpid());
    std::ofstream(path_) << text_;
  }
  ~DrawnTable() { unlink(path_.c_str()); }
  DrawnTable(const DrawnTable&) = delete;
  DrawnTable& operator=(const DrawnTable&) = delete;
  const std::string& text() const { return text_; }
  GroupOptions options() const {
    GroupOptions options = bounded();
    options.memory_limit = std::size_t{8} << 20;
    options.tuning = path_;
    return options;
  }

 private:
  std::string text_;
  std::string path_;
};

// Any table that is read is usable, by each mode, with buffers that all reach and with others.
TEST(Programs, UnderTablesOfAnyNumbersAndRows) {
  Limits limits;
  limits.ranks = 4;
  limits.bytes = 100000;
  limits.automatic = true;
  drawn_programs(7, sim::testing::draws(25), limits, [](const Program& program) {
    const DrawnTable table(program.seed);
    try {
      if (program.seed % 2 == 0) return run_program_by_threads(program, table.options());
      return run_program_by_processes(program, table.options(),
                                      program.seed % 3 == 0 ? ~std::uint64_t{0} : 0);
    } catch (const Error& error) {
      throw Error(error.what() + ("\n" + table.text()));
    }
  });
}

TEST(Programs, OnASimulatedMachine) {
  drawn_programs(3, sim::testing::draws(25), Limits(), [](const Program& program) {
    Random random(program.seed ^ 77);
    const sim::Machine machine = program.seed % 3 == 0   ? sim::testing::table_machine(6)
                                 : program.seed % 3 == 1 ? sim::testing::chip(12)
                                                         : sim::testing::random_chip(4, 4, random);
    sim::SimOptions options;
    options.seed = program.seed;
    options.start_skew = 2000;
    options.shuffle = program.seed % 2 == 0;
    return sim::run_program_simulated(program, machine,
                                      sim::testing::anywhere(machine, program.ranks, random), options)
        .buffers;
  });
}

TEST(Programs, OnTheCountingPort) {
  drawn_programs(4, sim::testing::draws(25), Limits(), [](const Program& program) {
    return sim::run_program_counted(program, Shape::unknown(program.ranks)).buffers;
  });
}

TEST(Programs, MoreRanksInSmallCalls) {
  Limits limits;
  limits.ranks = 17;
  limits.bytes = 300;
  drawn_programs(5, sim::testing::draws(10), limits, [](const Program& program) {
    const sim::Machine machine = sim::testing::chip(8);
    Random random(program.seed);
    return sim::run_program_simulated(
               program, machine, sim::testing::anywhere(machine, program.ranks, random), sim::SimOptions())
        .buffers;
  });
}

// The reference computation itself, on programs with known results.
TEST(Programs, WhatIsExpected) {
  Program program;
  program.ranks = 3;
  program.buffers = {12, 12};
  ProgramCall call;
  call.operation = Operation::scan;
  call.type = Type::int32;
  call.op = Op::sum;
  call.count = 3;
  program.calls = {call};
  program.check();
  const auto before = program.initial();
  const auto after = program.expected();
  for (std::size_t e = 0; e < 3; ++e) {
    std::uint32_t sum = 0;
    for (std::size_t r = 0; r < 3; ++r) {
      std::uint32_t own, got;
      std::memcpy(&own, &before[r][0][e * 4], 4);
      std::memcpy(&got, &after[r][1][e * 4], 4);
      sum += own;
      EXPECT_EQ(got, sum);
    }
  }
  program.calls[0].exclusive = true;
  const auto exclusive = program.expected();
  EXPECT_EQ(exclusive[0][1], before[0][1]);
  EXPECT_EQ(exclusive[2][1], after[1][1]);

  program.calls[0] = ProgramCall();
  program.calls[0].operation = Operation::gather;
  program.calls[0].root = 1;
  program.calls[0].counts = {3, 0, 2};
  program.calls[0].gap = 1;
  program.calls[0].receive_at = 4;
  const auto gathered = program.expected();
  EXPECT_EQ(gathered[0], before[0]);
  std::vector<unsigned char> right = before[1][1];
  std::copy_n(before[0][0].begin(), 3, right.begin() + 4);
  std::copy_n(before[2][0].begin(), 2, right.begin() + 9);
  EXPECT_EQ(gathered[1][1], right);
}

TEST(Programs, BadProgramsAreRefusedByName) {
  Program program;
  program.ranks = 2;
  program.buffers = {64, 64};
  ProgramCall call;
  call.operation = Operation::allreduce;
  call.type = Type::float32;
  call.op = Op::max;
  call.count = 4;
  program.calls = {call, call};
  program.check();
  const auto refused = [&](auto change) {
    Program bad = program;
    change(bad.calls[1]);
    try {
      bad.check();
    } catch (const ArgumentError& error) {
      return error.argument();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused([](ProgramCall& c) { c.root = 2; }), "calls[1].root");
  EXPECT_EQ(refused([](ProgramCall& c) { c.count = 17; }), "calls[1].send");
  EXPECT_EQ(refused([](ProgramCall& c) { c.receive = 5; }), "calls[1].receive");
  EXPECT_EQ(refused([](ProgramCall& c) { c.receive = 0; }), "calls[1].receive");
  EXPECT_EQ(refused([](ProgramCall& c) { c.op = Op::sum; }), "calls[1].fill");
  EXPECT_EQ(refused([](ProgramCall& c) { c.op = Op::band; }), "operator");
  EXPECT_EQ(refused([](ProgramCall& c) { c.counts = {1, 1}; }), "calls[1].counts");
  EXPECT_EQ(refused([](ProgramCall& c) { c.delays = {1}; }), "calls[1].delays");
}

// A guard zone that was written is reported with its place.
TEST(Programs, GuardZonesAreWatched) {
  Program program;
  program.buffers = {5, 64};
  const ProgramLayout layout(program);
  std::vector<unsigned char> memory(layout.bytes());
  layout.prepare(program, 0, memory.data());
  EXPECT_EQ(layout.take(program, 0, memory.data()), program.initial()[0]);
  memory[layout.at(0) + 5] ^= 1;
  try {
    layout.take(program, 0, memory.data());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("outside buffer 0: the byte 0 past its end"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace phicoll
