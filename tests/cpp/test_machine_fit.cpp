// Machines fitted from a host: which numbers come from measurements, which are assumed and from where, and
// that a simulated transfer then takes what the measured one took.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "phicoll/errors.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/topology.hpp"
#include "phicoll/sim/machine/host_costs.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/machine_listing.hpp"
#include "phicoll/sim/running/fit_machine.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"

namespace phicoll {
namespace sim {
namespace {

HostCost cost(double ns) {
  HostCost found;
  found.ns = ns;
  found.low_ns = ns * 0.9;
  found.high_ns = ns * 1.2;
  found.how = "a made-up measurement";
  return found;
}

/// A host of two cores, as virtual machines are.
HostCosts two_cores() {
  HostCosts costs;
  costs.cpu = "a made-up CPU";
  costs.date = "2026-01-31";
  costs.cores = 2;
  costs.clock_mhz = 2500;
  costs.clock_is_counter = true;
  costs.l1_kib = 48;
  costs.l1_ways = 12;
  costs.l2_kib = 1280;
  costs.l2_ways = 20;
  costs.l1_hit = cost(2);
  costs.l2_hit = cost(5.6);
  costs.atomic = cost(7.2);
  costs.pause = cost(20);
  costs.near_modified = cost(60);
  costs.near_exclusive = cost(52);
  costs.memory = cost(100);
  costs.hand_over = cost(80);
  return costs;
}

std::string kind_of(const Machine& machine, const std::string& parameter) {
  const Evidence* evidence = machine.evidence_of(parameter);
  return evidence == nullptr ? "" : evidence->kind;
}

std::string error_of(const HostCosts& costs, const std::string& name) {
  try {
    fit_machine(costs, name);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(FitMachine, TakesWhatWasMeasuredInCyclesOfTheHostsClock) {
  const Machine machine = fit_machine(two_cores(), "mine");
  EXPECT_EQ(machine.name, "mine");
  EXPECT_NE(machine.summary.find("a made-up CPU"), std::string::npos);
  EXPECT_EQ(machine.p.protocol, Protocol::table);
  EXPECT_EQ(machine.p.cores, 2);
  EXPECT_EQ(machine.p.clock_mhz, 2500);
  EXPECT_EQ(machine.p.l1_hit, 5);
  EXPECT_EQ(machine.p.l2_hit, 14);
  EXPECT_EQ(machine.p.atomic_hit, 18);
  EXPECT_EQ(machine.p.atomic_execute, 13);
  EXPECT_EQ(machine.p.pause, 50);
  EXPECT_EQ(machine.p.l1_kib, 48);
  EXPECT_EQ(machine.p.l2_ways, 20);
  EXPECT_EQ(machine.p.table_near_modified, 150);
  EXPECT_EQ(machine.p.table_near_exclusive, 130);
  EXPECT_EQ(machine.p.table_memory, 250);
  for (const char* parameter :
       {"topology.clock_mhz", "core.l1_hit", "core.atomic_hit", "table.near_modified", "table.memory"})
    EXPECT_EQ(kind_of(machine, parameter), "measured") << parameter;
  EXPECT_NE(machine.evidence_of("core.l1_hit")->source.find("a made-up measurement: 2 ns (1.8 to 2.4"),
            std::string::npos)
      << machine.evidence_of("core.l1_hit")->source;
}

TEST(FitMachine, MarksAsGuessedWhatTwoCpusCannotShow) {
  const Machine machine = fit_machine(two_cores(), "mine");
  const Machine relative = load_machine("sandy-bridge-e5-2670");
  for (const char* parameter : {"core.store_buffer", "core.core_window", "table.far_modified",
                                "table.far_shared", "table.far_memory", "request.merge_reads"}) {
    EXPECT_EQ(kind_of(machine, parameter), "assumed") << parameter;
  }
  EXPECT_NE(machine.evidence_of("core.store_buffer")->source.find(relative.name), std::string::npos);
  EXPECT_EQ(machine.p.store_buffer, relative.p.store_buffer);
  // The same time by the clock on the wall, not the same number of cycles.
  EXPECT_NEAR(machine.ns(machine.p.table_far_modified), relative.ns(relative.p.table_far_modified), 0.5);
}

TEST(FitMachine, MakesASimulatedHandOverTakeWhatTheMeasuredOneTook) {
  for (const double ns : {62.0, 80.0, 150.0}) {
    HostCosts costs = two_cores();
    costs.hand_over = cost(ns);
    const Machine machine = fit_machine(costs, "mine");
    EXPECT_EQ(kind_of(machine, "table.near_shared"), "measured");
    // Within a cycle or two, unless even the cheapest write of a shared line takes longer.
    if (machine.p.table_near_shared > machine.p.l2_hit) {
      EXPECT_NEAR(simulated_hand_over_ns(machine), ns, 0.02 * ns);
    } else {
      EXPECT_GE(simulated_hand_over_ns(machine), ns);
    }
  }
}

TEST(FitMachine, TakesAReadOfASharedLineWhereThreeCoresShowIt) {
  HostCosts costs = two_cores();
  costs.cores = 4;
  costs.near_shared = cost(24);
  const Machine machine = fit_machine(costs, "mine");
  EXPECT_EQ(machine.p.table_near_shared, 60);
}

TEST(FitMachine, AssumesEverythingOnOneCpu) {
  HostCosts costs;
  costs.cpu = "x";
  costs.date = "2026-01-31";
  const Machine machine = fit_machine(costs, "mine");
  for (const MachineListing& line : machine_listing(machine))
    EXPECT_NE(line.kind, "measured") << line.info->name;
  EXPECT_GT(machine.p.table_near_modified, 0);
}

TEST(FitMachine, IsAMachineLikeAnyOther) {
  const Machine machine = fit_machine(two_cores(), "mine");
  EXPECT_EQ(parse_machine_file(machine_file_text(machine), "mine.json").digest, machine.digest);
  const CollectiveRun run =
      simulate_collective(machine, measure::Work(), simulated_algorithm(Operation::barrier, "dissemination"),
                          Shape(machine.places()), {});
  EXPECT_EQ(run.ranks, 2);
  for (const Cycles cycles : run.times(false)) {
    EXPECT_GT(machine.ns(static_cast<double>(cycles)), 30.0);
    EXPECT_LT(machine.ns(static_cast<double>(cycles)), 1000.0);
  }
}

TEST(FitMachine, RefusesWhatCannotBeInAMachineFile) {
  EXPECT_NE(error_of(two_cores(), "a:b").find("name: got 'a:b'"), std::string::npos);
  EXPECT_NE(error_of(two_cores(), "").find("name: got ''"), std::string::npos);
  EXPECT_NE(error_of(two_cores(), "xeon-phi-5110p").find("no shipped machine"), std::string::npos);
  HostCosts large = two_cores();
  large.cores = 300;
  EXPECT_NE(error_of(large, "mine").find("topology.cores = 300"), std::string::npos);
}

TEST(HostCosts, AreMeasuredWhereThisMachineCanShowThem) {
  HostCostOptions options;
  options.launches = 1;
  options.budget_s = 0;
  const HostCosts costs = measure_host_costs(options);
  EXPECT_NE(costs.cpu, "");
  EXPECT_GE(costs.cores, 1);
  EXPECT_EQ(costs.cores % costs.packages, 0);
  for (const HostCost* one : {&costs.l1_hit, &costs.l2_hit, &costs.atomic, &costs.pause, &costs.combine}) {
    EXPECT_GT(one->ns, 0.0);
    EXPECT_LE(one->low_ns, one->ns);
    EXPECT_GE(one->high_ns, one->ns);
    EXPECT_NE(one->how, "");
  }
  std::set<int> cores, packages;
  const std::vector<int> allowed = os::allowed_cpus();
  for (const os::CpuPlace& place : os::read_topology())
    if (std::find(allowed.begin(), allowed.end(), place.cpu) != allowed.end()) {
      cores.insert(place.core);
      packages.insert(place.package);
    }
  if (cores.size() >= 2 && packages.size() == 1) {
    EXPECT_GT(costs.hand_over.ns, 0.0);
  }
  EXPECT_FALSE(costs.near_modified.known());  // the kernels' to measure
  EXPECT_NO_THROW(fit_machine(costs, "mine"));
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
