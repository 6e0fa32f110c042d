// The memory kernels: what they accept, that they move data and count samples on threads, on the counting
// port and on simulated machines, that the states they ask for are reached, and what must hold between
// places.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "phicoll/group/thread_group.hpp"
#include "phicoll/kernels/places.hpp"
#include "phicoll/kernels/run_kernel.hpp"
#include "phicoll/kernels/run_native.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/sim_kernels.hpp"
#include "refusals.hpp"

namespace phicoll {
namespace {

using kernels::KernelSamples;
using kernels::KernelSpec;
using kernels::parse_kernel;
using State = kernels::LineState;

struct Case {
  std::string spec;
  int ranks;
  std::vector<int> measuring;                // ranks that have samples
  const char* simulated = "xeon-phi-5110p";  // on this machine; null: not at all
};

// Every kernel, every state and every choice once.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"read-latency", 2, {0}},
      {"read-latency:state=E:reads=1", 2, {0}},
      {"read-latency:state=S", 3, {0}},
      {"read-latency:state=I:reads=64", 2, {0}},
      {"read-latency:owner=self", 1, {0}},
      {"read-latency:owner=self:state=S", 2, {0}},
      {"read-latency:state=F", 3, {0}, "sandy-bridge-e5-2670"},
      {"read-latency:owner=self:state=F", 2, {0}, "sandy-bridge-e5-2670"},
      {"ping-pong", 2, {0}},
      {"ping-pong:state=F:receive=F", 2, {0}, "sandy-bridge-e5-2670"},
      {"ping-pong:state=M:receive=M", 4, {0, 2}},
      {"ping-pong:state=S:receive=S", 2, {0}},
      {"ping-pong:state=I", 2, {0}},
      {"multi-line:lines=1", 2, {0}},
      {"multi-line:lines=7:state=I:receive=I", 2, {0}},
      {"multi-line:lines=300:state=M:receive=S", 2, {0}},
      {"multi-line:lines=3:state=F:receive=E", 2, {0}, "sandy-bridge-e5-2670"},
      {"pair-bandwidth:lines=20", 4, {0, 1}},
      {"pair-bandwidth:pattern=neighbours:lines=3", 4, {0, 2}},
      {"pair-bandwidth:pattern=link:lines=3:state=M", 6, {0, 1, 2}},
      {"pair-bandwidth:pattern=across:lines=3:receive=E", 4, {0, 1}},
      {"put", 2, {0}},
      {"put:bytes=1000:transfers=3:directions=both", 4, {0, 1, 2, 3}},
      {"put:bytes=65:remote=written:pattern=neighbours", 4, {0, 2}},
      {"put:bytes=4096:call=500:remote=written:directions=both:pattern=link", 4, {0, 1, 2, 3}},
      {"get", 2, {0}},
      {"get:bytes=1000:transfers=3:directions=both", 4, {0, 1, 2, 3}},
      {"get:bytes=65:remote=written:pattern=neighbours", 4, {0, 2}},
      {"get:bytes=4096:call=500:remote=written:directions=both:pattern=link", 4, {0, 1, 2, 3}},
      {"contention", 3, {1, 2}},
      {"contention:state=F:receive=F", 3, {1, 2}, "sandy-bridge-e5-2670"},
      {"contention:state=I:receive=I", 2, {1}},
      {"contention:state=S:receive=S", 3, {1, 2}},
      {"contention:state=M:receive=M", 2, {1}},
      {"read-by-all", 3, {1, 2}},
      {"read-by-all:lines=5:state=S", 3, {1, 2}},
      {"read-by-all:pattern=next:state=S", 3, {0, 1, 2}},
      {"read-by-all:pattern=second:state=E", 3, {0, 1, 2}},
      {"read-by-all:pattern=fours:lines=3:state=I", 5, {0, 1, 2, 3, 4}},
      {"read-by-all:pattern=next:state=F", 3, {0, 1, 2}, "sandy-bridge-e5-2670"},
      {"read-by-all:state=F", 3, {1, 2}, "sandy-bridge-e5-2670"},
      {"p", 2, {0}},
      {"p:transfers=7:call=100:remote=written:directions=both", 4, {0, 1, 2, 3}},
      {"g", 2, {0}},
      {"g:transfers=7:call=100:remote=written:pattern=neighbours", 4, {0, 2}},
      {"atomic", 2, {0}},
      {"atomic:operation=compare-swap:on=shared:transfers=9", 4, {0, 1, 2, 3}},
      {"atomic:operation=fetch-add:on=root:transfers=5:call=100:pattern=link", 4, {0, 1, 2, 3}},
      {"atomic:operation=swap:transfers=3", 2, {0}},
      {"atomic:operation=set:pattern=neighbours", 4, {0, 2}},
      {"atomic:operation=fetch:on=root", 2, {0, 1}},
      {"wait-until", 2, {0}},
      {"wait-until:turns=5:call=100:pattern=link", 4, {0, 1}},
      {"stream:lines=64", 2, {0, 1}},
      {"stream:lines=33:operation=copy:store=no-read:ahead=0", 2, {0, 1}},
      {"stream:lines=33:operation=scale:store=no-read-unordered", 1, {0}},
      {"stream:lines=33:operation=add:start=warm", 2, {0, 1}},
      {"stream:lines=33:way=put-get:block=8:call=100", 2, {0, 1}},
      {"stream:lines=5:operation=scale:way=put-get", 1, {0}},
      {"switch", 2, {0}, nullptr},
      {"switch:turns=3", 4, {0}, nullptr},
  };
  return all;
}

void expect_samples(const KernelSamples& result, const Case& c, std::size_t samples) {
  SCOPED_TRACE(c.spec);
  EXPECT_EQ(result.wrong(), 0u);
  ASSERT_EQ(result.ranks.size(), static_cast<std::size_t>(c.ranks));
  for (int r = 0; r < c.ranks; ++r) {
    const bool measures = std::find(c.measuring.begin(), c.measuring.end(), r) != c.measuring.end();
    EXPECT_EQ(result.ns(r).size(), measures ? samples : 0) << "rank " << r;
    for (const double ns : result.ns(r)) EXPECT_GE(ns, 0) << "rank " << r;
  }
  EXPECT_EQ(result.gigabytes_a_second().size(), result.bytes == 0 ? 0 : samples);
  EXPECT_GE(result.empty_ns(), 0);
  for (const kernels::RankSamples& rank : result.ranks) EXPECT_EQ(rank.empty.size(), 33u);
}

TEST(KernelList, HasEveryKernelWithASourceAndWhatASampleIs) {
  std::vector<std::string> names;
  for (const kernels::KernelInfo& info : kernels::kernel_infos()) {
    names.push_back(info.name);
    EXPECT_NE(info.source, "");
    EXPECT_NE(info.sample, "");
    EXPECT_EQ(parse_kernel(info.name).values.size(), info.parameters.size());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"read-latency", "ping-pong", "multi-line", "pair-bandwidth",
                                             "put", "get", "p", "g", "atomic", "wait-until", "contention",
                                             "read-by-all", "stream", "switch"}));
}

TEST(KernelList, TextIsReadBackAsItIs) {
  const std::string text = "multi-line:state=I:receive=E:lines=12";
  EXPECT_EQ(parse_kernel("multi-line:lines=12:state=I").text(), text);
  EXPECT_EQ(parse_kernel(text).text(), text);
}

TEST(KernelList, BadInputIsRefusedByName) {
  const auto refused = [](const std::string& text) { return refusal_of([&] { parse_kernel(text); }); };
  EXPECT_EQ(refused("pingpong"),
            "kernel: got 'pingpong'; allowed: read-latency, ping-pong, multi-line, pair-bandwidth, "
            "put, get, p, g, atomic, wait-until, contention, read-by-all, stream, switch");
  EXPECT_EQ(refused("ping-pong:receive=I"), "ping-pong:receive: got 'I'; allowed: M, E, S, F");
  EXPECT_EQ(refused("read-latency:state=O"), "read-latency:state: got 'O'; allowed: M, E, S, F, I");
  EXPECT_EQ(refused("pair-bandwidth:pattern=ring"),
            "pair-bandwidth:pattern: got 'ring'; allowed: neighbours, grouped, link, across");
  EXPECT_EQ(refused("multi-line:lines=0"),
            "multi-line:lines: got '0'; allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(refused("contention:lines=3"),
            "contention: got 'lines=3'; allowed: parameter=value with one of state, receive");
  EXPECT_EQ(refused("contention:state"),
            "contention: got 'state'; allowed: parameter=value with one of state, receive");
  EXPECT_EQ(refused("contention:state=E:state=I"), "contention:state: got two values; allowed: one");
  EXPECT_EQ(refusal_of([] { kernels::check_kernel_ranks(parse_kernel("ping-pong"), 3); }),
            "ranks: got 3; allowed: an even number from 2: pairs (ping-pong)");
  EXPECT_EQ(refusal_of([] { kernels::check_kernel_ranks(parse_kernel("read-latency:state=S"), 2); }),
            "ranks: got 2; allowed: 3 or more: reader, owner and another holder (read-latency)");
  EXPECT_EQ(refusal_of([] { kernels::check_kernel_ranks(parse_kernel("pair-bandwidth"), 6); }),
            "ranks: got 6; allowed: a multiple of 4: groups of two pairs (pair-bandwidth)");
  EXPECT_EQ(refusal_of([] { kernels::check_kernel_ranks(parse_kernel("switch"), 1); }),
            "ranks: got 1; allowed: 2 or more: ranks that share a CPU (switch)");
}

TEST(Pairings, EveryRankIsItsPartnersPartner) {
  using kernels::Pairing;
  for (const Pairing pairing : {Pairing::neighbours, Pairing::grouped, Pairing::link, Pairing::across})
    for (int ranks = 4; ranks <= 60; ranks += 4)
      for (int r = 0; r < ranks; ++r) {
        const int partner = kernels::partner_of(pairing, r, ranks);
        ASSERT_GE(partner, 0);
        ASSERT_LT(partner, ranks);
        EXPECT_NE(partner, r);
        EXPECT_EQ(kernels::partner_of(pairing, partner, ranks), r);
      }
}

TEST(Pairings, AcrossAndLinkCrossWhatTheyAreNamedFor) {
  const int ranks = 8;
  for (int r = 0; r < ranks; ++r) {
    const int across = kernels::partner_of(kernels::Pairing::across, r, ranks);
    EXPECT_NE(r < ranks / 2, across < ranks / 2);
    const int link = kernels::partner_of(kernels::Pairing::link, r, ranks);
    EXPECT_NE(r < ranks / 2, link < ranks / 2) << "between the ranks in the middle";
  }
}

// Two packages of two caches of two cores; CPUs 0..7 are the cores' first threads, 8..15 the second ones.
std::vector<os::CpuPlace> two_packages() {
  std::vector<os::CpuPlace> cpus;
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    os::CpuPlace place;
    place.cpu = cpu;
    place.core = core;
    place.l2 = core;
    place.l3 = core / 2;
    place.numa = place.package = core / 4;
    cpus.push_back(place);
  }
  return cpus;
}

TEST(HostPlaces, AreFoundInTheTopology) {
  using Cpus = std::vector<int>;
  const std::vector<os::CpuPlace> cpus = two_packages();
  EXPECT_EQ(kernels::cpus_at(cpus, "same-cpu", 3), (Cpus{0, 0, 0}));
  EXPECT_EQ(kernels::cpus_at(cpus, "same-core", 2), (Cpus{0, 8}));
  EXPECT_EQ(kernels::cpus_at(cpus, "same-l3", 2), (Cpus{0, 1}));
  EXPECT_EQ(kernels::cpus_at(cpus, "other-l3", 2), (Cpus{0, 2}));
  EXPECT_EQ(kernels::cpus_at(cpus, "other-package", 2), (Cpus{0, 4}));
  EXPECT_EQ(kernels::cpus_at(cpus, "other-package", 1), (Cpus{0}));
  // The helper is on a third core, under the reader's cache if it can be.
  EXPECT_EQ(kernels::cpus_at(cpus, "same-core", 3), (Cpus{0, 8, 1}));
  EXPECT_EQ(kernels::cpus_at(cpus, "same-l3", 3), (Cpus{0, 1, 2}));
  EXPECT_EQ(kernels::cpus_at(cpus, "other-package", 3), (Cpus{0, 4, 1}));
  EXPECT_EQ(kernels::cpus_at(cpus, "across-packages", 6), (Cpus{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(kernels::cpus_at(cpus, "across-packages", 10), (Cpus{0, 1, 2, 3, 8, 4, 5, 6, 7, 12}));
}

TEST(HostPlaces, ThatAMachineDoesNotHaveAreRefusedWithThoseThatItHas) {
  std::vector<os::CpuPlace> cpus = two_packages();
  cpus.resize(2);  // two cores under one cache
  for (const char* const where : {"same-core", "other-l3", "other-package", "across-packages", "far"})
    EXPECT_EQ(refusal_of([&] { kernels::cpus_at(cpus, where, 2); }),
              "where: got '" + std::string(where) + "' on this machine's CPUs; allowed: same-cpu, same-l3");
  EXPECT_EQ(refusal_of([&] { kernels::cpus_at(cpus, "same-l3", 3); }),
            "where: got 'same-l3' with three ranks; allowed: two ranks: there is no third core among the "
            "CPUs that may be used");
  EXPECT_EQ(refusal_of([&] { kernels::cpus_at(two_packages(), "across-packages", 3); }),
            "ranks: got 3; allowed: an even number from 2 to 16 across packages");
  EXPECT_EQ(refusal_of([&] { kernels::cpus_at(two_packages(), "same-l3", 4); }),
            "ranks: got 4; allowed: 1 to 3 at same-l3 from each other");
  // Where nothing is known every place but the CPU itself is missing.
  EXPECT_EQ(refusal_of([&] {
              kernels::cpus_at({os::CpuPlace(), os::CpuPlace()}, "same-l3", 2);
            }),
            "where: got 'same-l3' on this machine's CPUs; allowed: same-cpu");
}

TEST(HostPlaces, APlacementIsLeftAlone) {
  EXPECT_EQ(kernels::placement_at("scatter", 2), "scatter");
  EXPECT_EQ(kernels::placement_at("0", 2), "0");
  EXPECT_EQ(kernels::placement_at("", 2), "");
  EXPECT_EQ(refusal_of([] { kernels::placement_at("next-door", 2); }),
            "where: got 'next-door'; allowed: compact, scatter, balanced, CPUs such as 0,4-7, same-cpu, "
            "same-core, same-l3, other-l3, other-package, across-packages");
}

TEST(ReadByAllPatterns, EveryRankReadsSomeoneElseAndIsReadOnce) {
  using Pattern = kernels::ReadByAll::Pattern;
  for (const Pattern pattern : {Pattern::next, Pattern::second, Pattern::fours})
    for (int ranks = 2; ranks <= 21; ++ranks) {
      std::vector<int> readers(static_cast<std::size_t>(ranks));
      for (int r = 0; r < ranks; ++r) {
        const int source = kernels::ReadByAll::source(pattern, r, ranks);
        ASSERT_GE(source, 0);
        ASSERT_LT(source, ranks);
        EXPECT_NE(source, r) << "of " << ranks;
        ++readers[static_cast<std::size_t>(source)];
      }
      // A last group of one rank reads its neighbour, which then has two readers.
      if (pattern == Pattern::fours && ranks % 4 == 1) continue;
      EXPECT_EQ(*std::max_element(readers.begin(), readers.end()), 1) << "of " << ranks;
    }
}

class EveryKernel : public testing::TestWithParam<Case> {};

// Yielding, so that it ends soon on machines with fewer CPUs than ranks.
void expect_native_samples(const Case& given, bool processes) {
  kernels::NativeRun run;
  run.processes = processes;
  run.ranks = given.ranks;
  run.samples = 20;
  run.wait.kind = WaitPolicy::Kind::yield;
  run.placement = kernels::kernel_where(parse_kernel(given.spec)) == "same-cpu" ? "same-cpu" : "";
  run.timeout_ms = 60000;
  expect_samples(kernels::run_native(parse_kernel(given.spec), run), given, 20);
}

TEST_P(EveryKernel, MovesItsDataOnThreads) {
  expect_native_samples(GetParam(), false);
}

TEST_P(EveryKernel, MovesItsDataBetweenProcesses) {
  expect_native_samples(GetParam(), true);
}

TEST_P(EveryKernel, RunsOnTheCountingPort) {
  const Case& c = GetParam();
  const KernelSpec spec = parse_kernel(c.spec);
  KernelSamples result;
  result.spec = spec;
  result.ranks.resize(static_cast<std::size_t>(c.ranks));
  result.bytes = kernels::kernel_bytes(spec);
  CountMachine machine(Shape::unknown(c.ranks), kernels::kernel_footprint(spec, c.ranks));
  machine.run_call(
      [&](int rank) {
        CountPort port(machine, rank);
        kernels::run_kernel(port, spec, kernels::KernelRun{rank, c.ranks, machine.memory(), 2, 1, 0},
                            result.ranks[static_cast<std::size_t>(rank)]);
      },
      {});
  expect_samples(result, c, 2);
}

TEST_P(EveryKernel, KeepsTheProtocolOnASimulatedMachineAndStartsInTime) {
  const Case& c = GetParam();
  if (c.simulated == nullptr) return;  // SimulatedKernels.WhatAMachineCannotBeBroughtIntoIsRefused
  const sim::Machine machine = sim::load_machine(c.simulated);
  for (const Placement placement : {Placement::compact, Placement::scatter}) {
    sim::SimOptions options = sim::kernel_options(7);
    options.check = true;
    const KernelSamples result = sim::simulate_kernel(
        machine, parse_kernel(c.spec), place_ranks(c.ranks, machine.places(), placement), 5, options);
    expect_samples(result, c, 5);
    EXPECT_EQ(result.late(), 0u) << c.spec;
  }
}

TEST_P(EveryKernel, GivesTheSameTimesForTheSameSeed) {
  const Case& c = GetParam();
  if (c.simulated == nullptr) return;
  const bool phi = std::string(c.simulated) == "xeon-phi-5110p";
  const sim::Machine machine = sim::load_machine(phi ? "xeon-phi-se10p" : c.simulated);
  const Shape shape = place_ranks(c.ranks, machine.places(), Placement::scatter);
  const auto ticks = [&](std::uint64_t seed) {
    std::vector<std::int64_t> all;
    for (const kernels::RankSamples& rank :
         sim::simulate_kernel(machine, parse_kernel(c.spec), shape, 5, sim::kernel_options(seed)).ranks)
      all.insert(all.end(), rank.ticks.begin(), rank.ticks.end());
    return all;
  };
  EXPECT_EQ(ticks(3), ticks(3)) << c.spec;
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, testing::ValuesIn(cases()), [](const auto& tested) {
  std::string name = tested.param.spec + "_" + std::to_string(tested.param.ranks);
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
});

TEST(LineStates, AreReachedOnASimulatedMachine) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  sim::Simulation simulation(machine, sim::shape_at(machine, "middle", 2), 4096, sim::kernel_options(1));
  unsigned char* const lines = simulation.memory();
  constexpr std::size_t count = 5;
  const auto state_of = [&](int rank, std::size_t line) {
    return simulation.state(simulation.core_of(rank), simulation.line_of(lines + line * arch::line_bytes));
  };
  const auto bring = [&](State state) {
    simulation.run([&](sim::SimPort& port) {
      if (port.rank() != 0) return;
      kernels::write_lines(port, lines, count, 9);
      kernels::hold_lines(port, lines, count, state);
    });
    if (state == State::shared)
      simulation.run([&](sim::SimPort& port) {
        if (port.rank() == 1) kernels::share_lines(port, lines, count);
      });
  };
  struct Wanted {
    State asked;
    sim::LineState owner, other;
  };
  const Wanted wanted[] = {{State::modified, sim::LineState::modified, sim::LineState::invalid},
                           {State::shared, sim::LineState::shared, sim::LineState::shared},
                           {State::exclusive, sim::LineState::exclusive, sim::LineState::invalid},
                           {State::invalid, sim::LineState::invalid, sim::LineState::invalid},
                           {State::modified, sim::LineState::modified, sim::LineState::invalid}};
  for (const Wanted& w : wanted) {
    bring(w.asked);
    for (std::size_t line = 0; line < count; ++line) {
      EXPECT_EQ(state_of(0, line), w.owner) << "line " << line << ", asked " << static_cast<int>(w.asked);
      EXPECT_EQ(state_of(1, line), w.other) << "line " << line << ", asked " << static_cast<int>(w.asked);
    }
  }
}

// A port whose copies lose the first line, or of other data a word, and which streams and adds nothing.
class LossyPort : public sim::SimPort {
 public:
  using sim::SimPort::SimPort;
  void copy(void* to, const void* from, std::size_t bytes) const {
    sim::SimPort::copy(static_cast<unsigned char*>(to) + 64, static_cast<const unsigned char*>(from) + 64,
                       bytes - 64);
  }
  void store_line(void* line, const void* source, StorePolicy policy) const {
    if (policy == StorePolicy::plain) sim::SimPort::store_line(line, source, policy);
  }
  void move(Data to, Data from, std::size_t bytes) const { sim::SimPort::move(to + 8, from + 8, bytes - 8); }
  template <class T>
  T fetch_add(const Word<T>& word, T) const {
    return load_relaxed(word);
  }
};

TEST(KernelChecks, ACopyThatLosesAWordIsSeen) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  for (const char* const text :
       {"multi-line:lines=3", "contention", "read-by-all:lines=2", "stream:lines=4:store=no-read",
        "put:bytes=64:remote=written", "get:bytes=64", "atomic"}) {
    const KernelSpec spec = parse_kernel(text);
    sim::Simulation simulation(machine, place_ranks(2, machine.places(), Placement::scatter),
                               kernels::kernel_footprint(spec, 2), sim::kernel_options(1));
    KernelSamples result;
    result.ranks.resize(2);
    simulation.run([&](sim::SimPort& port) {
      LossyPort lossy(simulation, port.rank());
      kernels::run_kernel(lossy, spec, kernels::KernelRun{port.rank(), 2, simulation.memory(), 3, 1, 5000},
                          result.ranks[static_cast<std::size_t>(port.rank())]);
    });
    EXPECT_GE(result.wrong(), 3u) << text;
  }
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double mean(const std::vector<std::vector<double>>& ranks) {
  double sum = 0;
  for (const std::vector<double>& values : ranks) sum += mean(values);
  return sum / static_cast<double>(ranks.size());
}

TEST(SimulatedKernels, LocalReadsAreFasterThanRemoteOnesAndTheseThanMemory) {
  for (const char* const name : {"xeon-phi-5110p", "xeon-phi-se10p", "xeon-phi-3120a"}) {
    const sim::Machine machine = sim::load_machine(name);
    for (const State state : {State::modified, State::exclusive, State::shared}) {
      const double local = mean(sim::simulate_read_latency(machine, state, "local", 20, 1));
      const double remote = mean(sim::simulate_read_latency(machine, state, "middle", 20, 1));
      const double memory = mean(sim::simulate_read_latency(machine, State::invalid, "middle", 20, 1));
      EXPECT_LT(2 * local, remote) << name;
      EXPECT_LT(remote, memory) << name;
    }
  }
}

TEST(SimulatedKernels, MoreReceiversMoreLinesAndInvalidBuffersTakeLonger) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  const auto contention = [&](State state, int receivers) {
    return mean(sim::simulate_contention(machine, state, State::exclusive, receivers, 20, 1));
  };
  EXPECT_LT(contention(State::exclusive, 1), contention(State::exclusive, 10));
  EXPECT_LT(contention(State::exclusive, 10), contention(State::exclusive, 40));
  const auto multi = [&](State state, int lines) {
    return mean(sim::simulate_multi_line(machine, state, State::exclusive, lines, "middle", 20, 1));
  };
  EXPECT_LT(multi(State::exclusive, 1), multi(State::exclusive, 16));
  EXPECT_LT(multi(State::exclusive, 16), multi(State::invalid, 16));
  using Pattern = kernels::ReadByAll::Pattern;
  const double distinct = mean(sim::simulate_read_by_all(machine, Pattern::next, 1, 60, 10, 1));
  EXPECT_LT(2 * distinct, mean(sim::simulate_read_by_all(machine, Pattern::root, 1, 60, 10, 1)));
  // panigrahi-2014, figure 3: the contexts of a core take turns to issue the instructions around a copy.
  EXPECT_LT(1.1 * distinct, mean(sim::simulate_read_by_all(machine, Pattern::next, 1, 240, 10, 1)));
}

TEST(SimulatedKernels, EmptyRegionsAreEmpty) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  const KernelSamples result = sim::simulate_kernel(
      machine, parse_kernel("read-latency"), sim::shape_at(machine, "middle", 2), 2, sim::kernel_options(1));
  EXPECT_EQ(result.empty_ns(), 0);
}

TEST(SimulatedKernels, ALineInStateFIsAnsweredForByItsOwner) {
  const sim::Machine machine = sim::load_machine("sandy-bridge-e5-2670");
  const auto read = [&](const char* state, const char* where, int ranks) {
    const KernelSpec spec = parse_kernel("read-latency:state=" + std::string(state));
    return mean(
        sim::simulate_kernel(machine, spec, sim::shape_at(machine, where, ranks), 20, sim::kernel_options(1))
            .ns(0));
  };
  // ramos-hoefler-2013, table 1.8: a line of two holders is answered faster than one of a single holder.
  EXPECT_LT(read("F", "same-package", 3), read("E", "same-package", 2));
  EXPECT_NEAR(read("F", "same-package", 3), read("S", "same-package", 3), 1);
  EXPECT_LT(read("F", "other-package", 3), read("E", "other-package", 2));
}

TEST(SimulatedKernels, WhatAMachineCannotBeBroughtIntoIsRefused) {
  const sim::Machine phi = sim::load_machine("xeon-phi-5110p");
  const sim::Machine bridge = sim::load_machine("sandy-bridge-e5-2670");
  const auto why = [](const sim::Machine& machine, const char* text) {
    return sim::why_not(machine, parse_kernel(text));
  };
  EXPECT_EQ(why(phi, "ping-pong:receive=F"), "the protocol of xeon-phi-5110p has no state F");
  EXPECT_EQ(why(bridge, "ping-pong:receive=F"), "");
  EXPECT_EQ(why(bridge, "switch"),
            "its ranks share a CPU, and a context of a simulated machine has one rank");
  EXPECT_EQ(refusal_of([&] {
              sim::simulate_kernel(phi, parse_kernel("read-latency:state=F"), sim::shape_at(phi, "middle", 3),
                                   1, sim::kernel_options(1));
            }).substr(0, 60),
            "kernel: got 'read-latency:state=F:owner=other:reads=32' on x");
}

TEST(SimulatedKernels, PairsAcrossPackagesAreSlowerThanWithin) {
  const sim::Machine machine = sim::load_machine("sandy-bridge-e5-2670");
  const auto rate = [&](const char* pattern) {
    const KernelSpec spec = parse_kernel("pair-bandwidth:lines=64:pattern=" + std::string(pattern));
    const Shape shape = sim::kernel_shape(machine, 4, kernels::kernel_where(spec));
    const KernelSamples result = sim::simulate_kernel(machine, spec, shape, 10, sim::kernel_options(1));
    return mean(result.gigabytes_a_second());
  };
  EXPECT_GT(rate("grouped"), rate("across"));
  const Shape across = sim::kernel_shape(machine, 4, "across-packages");
  EXPECT_EQ(across[0].package, across[1].package);
  EXPECT_EQ(across[2].package, across[3].package);
  EXPECT_NE(across[0].package, across[2].package);
  EXPECT_NE(across[0].core, across[1].core);
  EXPECT_NE(refusal_of([&] {
              sim::kernel_shape(sim::load_machine("xeon-phi-5110p"), 4, "across-packages");
            }).find("where: got 'across-packages' on xeon-phi-5110p"),
            std::string::npos);
}

TEST(SimulatedKernels, BadInputIsRefusedByName) {
  const sim::Machine machine = sim::load_machine("xeon-phi-5110p");
  EXPECT_NE(refusal_of([&] { sim::shape_at(machine, "far", 2); }).find("distance: got 'far'"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { sim::shape_at(machine, "60", 2); }).find("distance: got '60'"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { sim::shape_at(machine, "other-package", 2); }).find("distance"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              sim::simulate_ping_pong(machine, State::exclusive, State::invalid, "middle", 1, 1);
            }).find("receive: got I"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              sim::simulate_read_latency(machine, State::exclusive, "middle", 0, 1);
            }).find("samples: got 0"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              sim::simulate_contention(machine, State::exclusive, State::exclusive, 240, 1, 1);
            }).find("ranks"),
            std::string::npos);
}

TEST(NativePortTime, ATimeStampIsReachedAndABrokenGroupEndsTheWait) {
  ThreadGroup group(2);
  group.run([](Communicator& comm) {
    NativePort port(comm.control(), comm.rank(), WaitPolicy());
    const std::int64_t now = port.ticks();
    port.wait_until(now + 1000);
    EXPECT_GE(port.ticks(), now + 1000);
    port.wait_until(now);  // past: at once
  });
  EXPECT_THROW(group.run([](Communicator& comm) {
    if (comm.rank() == 0) throw std::runtime_error("gone");
    NativePort port(comm.control(), comm.rank(), WaitPolicy());
    port.wait_until(INT64_MAX);
  }),
               std::runtime_error);
}

}  // namespace
}  // namespace phicoll
