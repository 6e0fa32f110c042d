// Machines as data: the shipped files, what a file may say and how a mistake in it is reported, what-if
// changes, digests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/machine/machine_changes.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"

namespace phicoll {
namespace sim {
namespace {

std::string phi_text() {
  static const std::string text = machine_file_text(load_machine("xeon-phi-5110p"));
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

/// The whole line in which `what` stands, exchanged; an empty `with` removes it.
std::string line_replaced(const std::string& text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  const std::size_t begin = text.rfind('\n', at) + 1;
  const std::size_t end = text.find('\n', at) + 1;
  return text.substr(0, begin) + with + text.substr(end);
}

/// How a parameter begins in phi_text(), with the value that the shipped file has now.
std::string field(const std::string& parameter) {
  for (const auto& value : machine_values(load_machine("xeon-phi-5110p").p))
    if (value.first == parameter) {
      const bool number = find_machine_parameter(parameter)->is_number();
      return "\"" + parameter + "\": {\"value\":" + (number ? value.second : "\"" + value.second + "\"") +
             ",";
    }
  ADD_FAILURE() << parameter;
  return "";
}

int line_of(const std::string& text, const std::string& what) {
  int line = 1;
  for (std::size_t i = 0; i < text.find(what); ++i) line += text[i] == '\n' ? 1 : 0;
  return line;
}

std::string error_of(const std::string& text) {
  try {
    parse_machine_file(text, "my.json");
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.argument(), "machine");
    return error.what();
  }
  return "";
}

void expect_error(const std::string& text, int line, const std::vector<std::string>& parts) {
  const std::string error = error_of(text);
  ASSERT_NE(error, "") << "was accepted";
  EXPECT_NE(error.find("'my.json', line " + std::to_string(line) + ":"), std::string::npos)
      << error << "\nnot of line " << line;
  for (const std::string& part : parts)
    EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part;
}

std::string load_error(const std::string& text) {
  try {
    load_machine(text);
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.argument(), "machine");
    return error.what();
  }
  return "";
}

TEST(ShippedMachines, AreThoseThatArePromisedWithTheirCoresAndContexts) {
  struct Expected {
    const char* name;
    int cores, contexts, clock_mhz;
  };
  for (const Expected& e :
       {Expected{"xeon-phi-5110p", 60, 240, 1053}, Expected{"xeon-phi-se10p", 61, 244, 1100},
        Expected{"xeon-phi-3120a", 57, 228, 1100}, Expected{"sandy-bridge-e5-2670", 16, 32, 2600},
        Expected{"epyc-7742", 128, 256, 3400}, Expected{"cell-qs20", 16, 16, 3200},
        Expected{"xeon-8375c", 64, 128, 3500}, Expected{"kunpeng-920", 64, 64, 2600}}) {
    const Machine machine = load_machine(e.name);
    EXPECT_EQ(machine.name, e.name);
    EXPECT_NE(machine.summary, "");
    EXPECT_EQ(machine.p.cores, e.cores) << e.name;
    EXPECT_EQ(machine.contexts(), e.contexts) << e.name;
    EXPECT_EQ(machine.p.clock_mhz, e.clock_mhz) << e.name;
    EXPECT_DOUBLE_EQ(machine.ns(e.clock_mhz), 1000.0);
    EXPECT_EQ(machine.places().size(), static_cast<std::size_t>(e.contexts));
  }
  std::set<std::string> names, digests;
  for (const Machine& machine : shipped_machines()) {
    names.insert(machine.name);
    digests.insert(machine.digest);
  }
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(digests.size(), 8u);
}

TEST(ShippedMachines, SayOfEveryParameterWhereItComesFrom) {
  for (const Machine& machine : shipped_machines())
    for (const MachineParameterInfo& info : machine_parameters()) {
      const Evidence* evidence = machine.evidence_of(info.name);
      const bool used = info.used_by(machine.p.protocol);
      if (!used || !info.optional) {
        EXPECT_EQ(evidence != nullptr, used) << machine.name << " " << info.name;
      }
      if (evidence == nullptr) continue;
      EXPECT_GE(evidence->source.size(), 8u) << machine.name << " " << info.name;
    }
}

TEST(ShippedMachines, GiveBackTheLatenciesTheyWereCalibratedOn) {
  const Machine phi = load_machine("xeon-phi-5110p");
  const MachineParameters& p = phi.p;
  const double mean = p.hop * p.ring_stops / 4.0;  // of the distance to a directory that a hash picks
  const double remote =
      p.miss + p.fill + p.directory_latency + p.owner_latency + p.acknowledge + 4 * p.inject + 4 * mean;
  const double memory = p.miss + p.fill + p.directory_latency + p.memory_latency + 3 * p.inject + 3 * mean;
  EXPECT_NEAR(phi.ns(p.l1_hit), 8.6, 0.05 * 8.6);
  EXPECT_NEAR(phi.ns(remote), 235.8, 0.05 * 235.8);
  EXPECT_NEAR(phi.ns(memory), 277.7, 0.05 * 277.7);
  const Machine se10p = load_machine("xeon-phi-se10p");
  const double channels = se10p.p.memory_controllers * se10p.p.channels_per_controller;
  EXPECT_NEAR(64 * channels / se10p.ns(se10p.p.memory_channel), 163, 0.05 * 163);  // GB/s
  const Machine sandy = load_machine("sandy-bridge-e5-2670");
  EXPECT_NEAR(sandy.ns(sandy.p.l1_hit), 2.3, 0.05 * 2.3);
  EXPECT_NEAR(sandy.ns(sandy.p.table_near_modified), 41.6, 0.05 * 41.6);
  EXPECT_NEAR(sandy.ns(sandy.p.table_near_exclusive), 32.8, 0.05 * 32.8);
  EXPECT_NEAR(sandy.ns(sandy.p.table_near_shared), 15.7, 0.05 * 15.7);
  EXPECT_NEAR(sandy.ns(sandy.p.table_far_modified), 115.4, 0.05 * 115.4);
  EXPECT_NEAR(sandy.ns(sandy.p.table_far_exclusive), 75.7, 0.05 * 75.7);
  EXPECT_NEAR(sandy.ns(sandy.p.table_memory), 69.3, 0.05 * 69.3);
  EXPECT_NEAR(sandy.ns(sandy.p.table_far_memory), 109.3, 0.05 * 109.3);
}

TEST(Machine, PlacesNumberContextsCoreByCore) {
  const std::vector<CpuLocation> places = load_machine("sandy-bridge-e5-2670").places();
  EXPECT_EQ(places[0].core, 0);
  EXPECT_EQ(places[1].core, 0);
  EXPECT_EQ(places[1].cpu, 1);
  EXPECT_EQ(places[15].package, 0);
  EXPECT_EQ(places[16].package, 1);
  EXPECT_EQ(places[16].l3, 1);
  EXPECT_EQ(places[31].core, 15);
  const std::vector<CpuLocation> phi = load_machine("xeon-phi-5110p").places();
  EXPECT_EQ(phi[239].core, 59);
  EXPECT_EQ(phi[239].l3, phi[0].l3);
  const std::vector<CpuLocation> epyc = load_machine("epyc-7742").places();
  EXPECT_EQ(epyc[7].l3, 0);
  EXPECT_EQ(epyc[8].l3, 1);
  EXPECT_EQ(epyc[127].package, 0);
  EXPECT_EQ(epyc[128].package, 1);
  EXPECT_EQ(epyc[255].l3, 31);
}

TEST(MachineFile, IsReadBackAsItWasWritten) {
  for (const Machine& machine : shipped_machines()) {
    const Machine again = parse_machine_file(machine_file_text(machine), "again.json");
    EXPECT_EQ(again.digest, machine.digest);
    EXPECT_EQ(again.name, machine.name);
    EXPECT_EQ(again.summary, machine.summary);
    ASSERT_EQ(again.evidence.size(), machine.evidence.size());
    for (std::size_t i = 0; i < again.evidence.size(); ++i) {
      EXPECT_EQ(again.evidence[i].parameter, machine.evidence[i].parameter);
      EXPECT_EQ(again.evidence[i].kind, machine.evidence[i].kind);
      EXPECT_EQ(again.evidence[i].source, machine.evidence[i].source);
    }
  }
}

TEST(MachineFile, MayHaveNoiseAndItsFieldsInAnyOrder) {
  const Machine noisy = parse_machine_file(replaced(phi_text(), "\"topology.cores\"",
                                                    "\"noise.jitter\": {\"source\": \"a test\", \"kind\": "
                                                    "\"guessed\", \"value\": 7},\n    \"topology.cores\""),
                                           "my.json");
  EXPECT_EQ(noisy.p.jitter, 7);
  EXPECT_NE(noisy.digest, load_machine("xeon-phi-5110p").digest);
}

TEST(MachineFile, EveryMistakeIsReportedWithLineAndField) {
  const std::string good = phi_text();
  ASSERT_EQ(error_of(good), "");
  const std::string hop = field("ring.hop");
  const int line = line_of(good, hop);
  const int parameters = line_of(good, "\"parameters\"");
  // Missing, unknown, twice.
  expect_error(line_replaced(good, hop, ""), parameters, {"without ring.hop"});
  expect_error(replaced(good, "\"ring.hop\"", "\"ring.hopp\""), line,
               {"unknown parameter 'ring.hopp'", "ring.hop"});
  expect_error(replaced(good, "    \"ring.inject\"", "    \"ring.hop\""), line + 1,
               {"\"ring.hop\" for the second time"});
  expect_error(replaced(good, hop, "\"ring.hop\": {\"value\":2,\"note\":\"x\","), line,
               {"'note' in ring.hop", "source"});
  expect_error(replaced(good, hop, "\"ring.hop\": {"), line, {"ring.hop without the field 'value'"});
  expect_error(replaced(good, "\"summary\"", "\"sumary\""), 4, {"unknown field 'sumary'", "summary"});
  expect_error(line_replaced(good, "\"summary\"", ""), 1, {"without the field 'summary'"});
  expect_error(replaced(good, "\"ring.hop\"", "\"table.memory\""), line,
               {"table.memory", "topology.protocol"});
  // Out of range, of the wrong type.
  for (const char* value : {"-2", "1001", "2.5", "\"2\"", "null", "1e30", "[2]", "true"})
    expect_error(replaced(good, hop, std::string("\"ring.hop\": {\"value\":") + value + ","), line,
                 {"ring.hop = ", "0 to 1000 cycles"});
  expect_error(replaced(good, "{\"value\":\"go\",", "{\"value\":\"gone\","),
               line_of(good, "request.completion"), {"request.completion = \"gone\"", "go, data"});
  expect_error(replaced(good, "{\"value\":\"go\",", "{\"value\":0,"), line_of(good, "request.completion"),
               {"request.completion = 0", "go, data"});
  expect_error(line_replaced(good, hop, "\"ring.hop\": 2,\n"), line, {"ring.hop = 2", "\"kind\""});
  expect_error(replaced(good, hop + "\"kind\":\"calibrated\"", hop + "\"kind\":\"felt\""), line,
               {"kind of ring.hop", "measured, published, calibrated, derived, assumed, guessed"});
  expect_error(
      line_replaced(good, hop, "\"ring.hop\": {\"value\":2,\"kind\":\"guessed\",\"source\":\"\"},\n"), line,
      {"source of ring.hop"});
  expect_error(replaced(good, "\"machine\"", "\"results\""), 2, {"phicoll = \"results\""});
  expect_error(replaced(good, "\"xeon-phi-5110p\"", "\"a:b\""), 3, {"name = \"a:b\""});
  // Not JSON.
  expect_error(replaced(good, hop, "\"ring.hop\": {\"value\":,"), line, {"a value is expected"});
  expect_error(replaced(good, "    \"ring.hop\"", "    ring.hop\""), line, {"name in quotes"});
  expect_error("", 1, {"the text ends"});
  expect_error("[]", 1, {"no object"});
  expect_error(good + "x", line_of(good, "\n}\n") + 2, {"more after the end"});
  // What does not go together.
  expect_error(replaced(good, field("topology.ring_stops"), "\"topology.ring_stops\": {\"value\":59,"),
               line_of(good, "topology.ring_stops"), {"topology.ring_stops = 59", "60 cores"});
  expect_error(replaced(good, field("topology.packages"), "\"topology.packages\": {\"value\":7,"),
               line_of(good, "topology.packages"), {"topology.packages = 7", "divisor"});
  expect_error(replaced(good, field("cache.l1_ways"), "\"cache.l1_ways\": {\"value\":7,"),
               line_of(good, "cache.l1_ways"), {"cache.l1_ways = 7", "32 KiB"});
}

TEST(MachineFile, WithoutAnyOneParameterIsRefused) {
  for (const Machine& machine : shipped_machines()) {
    const std::string text = machine_file_text(machine);
    for (const MachineParameterInfo& info : machine_parameters()) {
      if (!info.used_by(machine.p.protocol) || info.optional) continue;
      // The last one has no comma after it: remove the line, then the comma before the end.
      std::string without = line_replaced(text, "\"" + info.name + "\"", "");
      const std::size_t comma = without.find(",\n  }\n");
      if (comma != std::string::npos) without.erase(comma, 1);
      const std::string error = error_of(without);
      EXPECT_NE(error.find(info.name), std::string::npos)
          << machine.name << " " << info.name << ": " << error;
    }
  }
}

// The model: a section that the simulator ignores but for what designed algorithms take from it.

std::string with_model(const std::string& constants) {
  const std::string text = phi_text();
  const std::size_t begin = text.find("  \"model\": {");
  const std::size_t end = text.find("  \"parameters\"");
  return text.substr(0, begin) + "  \"model\": {" + constants + "},\n" + text.substr(end);
}

std::string constant(const std::string& name, const std::string& value, const std::string& more = "",
                     const std::string& kind = "measured", const std::string& unit = "ns") {
  return "\"" + name + "\": {\"value\": " + value + ", \"unit\": \"" + unit + "\", \"kind\": \"" + kind +
         "\", \"source\": \"a test\"" + more + "}";
}

TEST(MachineModel, OfTheShippedMachinesSaysWhatIsPublishedAndWhatIsAssumed) {
  const Machine phi = load_machine("xeon-phi-5110p");
  EXPECT_EQ(phi.costs, LineCosts()) << "the default costs are this machine's";
  EXPECT_FALSE(phi.host.known());
  for (const char* name : {"xeon-phi-se10p", "xeon-phi-3120a"}) {
    const Machine relative = load_machine(name);
    EXPECT_EQ(relative.costs, phi.costs);
    for (const ModelConstant& one : relative.model) {
      EXPECT_TRUE(one.kind == "assumed" || one.kind == "undetermined") << name << " " << one.name;
      if (one.known) {
        EXPECT_EQ(one.source.find("xeon-phi-5110p: "), 0u) << one.source;
      }
    }
  }
  const Machine sandy = load_machine("sandy-bridge-e5-2670");
  EXPECT_EQ(sandy.costs.local, 23);
  EXPECT_EQ(sandy.costs.remote, 416) << "no line.remote: that of a modified line";
  EXPECT_EQ(sandy.costs.memory, 693);
  EXPECT_EQ(sandy.costs.contention, 562 * 416 / 2358) << "undetermined: as much of R_R as on the Xeon Phi";
  EXPECT_EQ(sandy.costs.further_line, 760 * 416 / 2358);
  EXPECT_EQ(load_machine("sandy-bridge-e5-2670:table.near_modified=500").costs, sandy.costs);
}

TEST(MachineModel, OwnNumbersGoBeforeAssumedOnes) {
  const auto remote = [](const std::string& constants) {
    return parse_machine_file(with_model(constants), "my.json").costs.remote;
  };
  EXPECT_EQ(remote(constant("line.remote", "60") + "," + constant("line.remote.M", "70")), 600);
  EXPECT_EQ(remote(constant("line.remote", "235.8", "", "assumed") + "," + constant("line.remote.M", "70")),
            700);
  EXPECT_EQ(remote(constant("line.remote", "235.8", "", "assumed")), 2358);
  EXPECT_EQ(remote(constant("line.remote", "1e9")), most_line_cost) << "no sum may run over";
}

TEST(MachineModel, IsWrittenAsItWasRead) {
  for (const Machine& machine : shipped_machines()) {
    const Machine again = parse_machine_file(machine_file_text(machine), "again.json");
    EXPECT_EQ(again.costs, machine.costs);
    ASSERT_EQ(again.model.size(), machine.model.size());
    EXPECT_FALSE(machine.model.empty());
    for (std::size_t i = 0; i < again.model.size(); ++i) {
      EXPECT_EQ(again.model[i].name, machine.model[i].name);
      EXPECT_EQ(again.model[i].known, machine.model[i].known);
      EXPECT_EQ(again.model[i].value, machine.model[i].value);
      EXPECT_EQ(again.model[i].unit, machine.model[i].unit);
      EXPECT_EQ(again.model[i].kind, machine.model[i].kind);
      EXPECT_EQ(again.model[i].source, machine.model[i].source);
      EXPECT_EQ(again.model[i].standard_error, machine.model[i].standard_error);
    }
  }
  Machine mine = parse_machine_file(
      with_model(constant("line.remote", "61.25", ", \"standard_error\": 0.125")), "mine.json");
  mine.host.cpu = "a made-up CPU";
  mine.host.allowed_cpus = 2;
  mine.host.clock_mhz = 2500;
  const Machine again = parse_machine_file(machine_file_text(mine), "again.json");
  EXPECT_EQ(again.host.cpu, "a made-up CPU");
  EXPECT_EQ(again.host.allowed_cpus, 2);
  EXPECT_EQ(again.host.clock_mhz, 2500);
  ASSERT_EQ(again.model.size(), 1u);
  EXPECT_EQ(again.model[0].value, 61.25);
  EXPECT_EQ(again.model[0].standard_error, 0.125);
  EXPECT_EQ(again.costs.remote, 613) << "tenths";
  EXPECT_EQ(again.digest, load_machine("xeon-phi-5110p").digest) << "of what is simulated only";
}

TEST(MachineModel, MayBeLeftOut) {
  const Machine bare = parse_machine_file(with_model(""), "bare.json");
  EXPECT_TRUE(bare.model.empty());
  EXPECT_EQ(bare.costs, LineCosts());
  std::string text = phi_text();
  const std::size_t begin = text.find("  \"model\": {");
  text.erase(begin, text.find("  \"parameters\"") - begin);
  EXPECT_EQ(parse_machine_file(text, "bare.json").costs, LineCosts());
}

TEST(MachineModel, EveryMistakeIsReportedWithLineAndField) {
  const int line = line_of(phi_text(), "\"model\"");
  ASSERT_EQ(error_of(with_model(constant("line.remote", "61"))), "");
  ASSERT_EQ(error_of(with_model(constant("line.remote", "null", "", "undetermined"))), "");
  ASSERT_EQ(error_of(with_model(constant("overhead", "-4"))), "");
  const auto expect = [&](const std::string& constants, const std::vector<std::string>& words) {
    expect_error(with_model(constants), line, words);
  };
  expect(constant("line.remotee", "61"), {"unknown constant 'line.remotee'", "line.remote"});
  expect(constant("line.remote", "\"61\""), {"line.remote = \"61\"", "above 0"});
  expect(constant("line.remote", "0"), {"line.remote = 0", "above 0"});
  expect(constant("line.remote", "null"), {"line.remote = null", "undetermined"});
  expect(constant("line.remote", "61", "", "undetermined"), {"line.remote = 61", "null"});
  expect(constant("line.remote", "61", "", "guessed"),
         {"kind of line.remote", "measured, published, simulated, assumed, undetermined"});
  expect(constant("line.remote", "61", "", "measured", "us"), {"unit of line.remote", "ns"});
  expect(constant("copy", "6", "", "measured", "ns"), {"unit of copy", "GB/s"});
  expect(constant("line.remote", "61", ", \"standard_error\": -1"), {"standard_error of line.remote"});
  expect(constant("line.remote", "61", ", \"error\": 1"), {"'error' in line.remote", "standard_error"});
  expect("\"line.remote\": 61", {"line.remote = 61", "\"unit\""});
  expect("\"line.remote\": {\"value\": 61}", {"line.remote without the field 'unit'"});
  const auto host = [&](const std::string& text) {
    return replaced(phi_text(), "  \"model\"", "  \"host\": " + text + ",\n  \"model\"");
  };
  ASSERT_EQ(error_of(host("{\"cpu\": \"x\", \"allowed_cpus\": 2, \"clock_mhz\": 2500}")), "");
  expect_error(host("2"), line, {"host = 2", "allowed_cpus"});
  expect_error(host("{\"cpu\": \"x\", \"allowed_cpus\": 0, \"clock_mhz\": 2500}"), line,
               {"allowed_cpus of host = 0", "from 1"});
  expect_error(host("{\"cpu\": \"x\", \"allowed_cpus\": 2}"), line, {"host without the field 'clock_mhz'"});
}

TEST(MachineFile, IsRecognisedByASlashOrItsEndingAndMayBeChanged) {
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "/phicoll-machine:a.json";
  std::ofstream(path) << replaced(phi_text(), "\"xeon-phi-5110p\"", "\"mine\"");
  EXPECT_EQ(load_machine(path).name, "mine");
  EXPECT_EQ(load_machine(path).digest, load_machine("xeon-phi-5110p").digest);
  const Machine changed = load_machine(path + ":ring.hop=0");
  EXPECT_EQ(changed.p.hop, 0);
  EXPECT_EQ(changed.name, "mine:ring.hop=0");
  std::remove(path.c_str());
  EXPECT_NE(load_error(path).find("No such file"), std::string::npos) << load_error(path);
  EXPECT_NE(load_error(folder + "/").find(folder), std::string::npos);
  EXPECT_NE(load_error("mine.json").find("mine.json"), std::string::npos);
}

TEST(MachineText, AnUnknownMachineIsRefusedWithTheNearest) {
  EXPECT_NE(load_error("xeon-phi-5110").find("nearest: xeon-phi-5110p"), std::string::npos);
  EXPECT_NE(load_error("pentium").find("sandy-bridge-e5-2670"), std::string::npos);
  EXPECT_NE(load_error("").find("sandy-bridge-e5-2670"), std::string::npos);
}

TEST(MachineText, ChangesAreSeenInNameDigestAndEvidence) {
  const Machine plain = load_machine("xeon-phi-5110p");
  const Machine changed =
      load_machine("xeon-phi-5110p:directory.service=0:ring.hop=0:request.merge_reads=on");
  EXPECT_EQ(changed.p.hop, 0);
  EXPECT_EQ(changed.p.directory_service, 0);
  EXPECT_EQ(changed.p.merge_reads, Switch::on);
  EXPECT_EQ(changed.name, "xeon-phi-5110p:request.merge_reads=on:ring.hop=0:directory.service=0");
  EXPECT_NE(changed.digest, plain.digest);
  EXPECT_EQ(changed.evidence_of("ring.hop")->kind, "changed");
  EXPECT_NE(
      changed.evidence_of("ring.hop")->source.find("was " + std::to_string(plain.p.hop) + " (calibrated)"),
      std::string::npos);
  EXPECT_EQ(changed.evidence_of("ring.inject")->kind, "guessed");
  // Equal machines are called the same and have the same digest, however they were asked for.
  EXPECT_EQ(load_machine(changed.name).name, changed.name);
  EXPECT_EQ(load_machine(changed.name).digest, changed.digest);
  const Machine same = load_machine("xeon-phi-5110p:ring.hop=" + std::to_string(plain.p.hop));
  EXPECT_EQ(same.name, plain.name);
  EXPECT_EQ(same.digest, plain.digest);
  EXPECT_EQ(load_machine("xeon-phi-5110p:noise.jitter=3").evidence_of("noise.jitter")->kind, "changed");
}

TEST(MachineText, BadChangesAreRefused) {
  struct Bad {
    const char* changes;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{":ring.hops=0", "nearest: ring.hop"}, Bad{":ring.hop=-1", "0 to 1000 cycles"},
        Bad{":ring.hop=1.5", "0 to 1000 cycles"}, Bad{":ring.hop=", "0 to 1000 cycles"},
        Bad{":ring.hop=99999999999", "0 to 1000 cycles"}, Bad{":ring.hop", "name:parameter=value"},
        Bad{":", "name:parameter=value"}, Bad{":=3", "name:parameter=value"},
        Bad{":ring.hop=1:ring.hop=1", "once"}, Bad{":request.completion=gone", "go, data"},
        Bad{":topology.protocol=table", "machine file"}, Bad{":table.memory=3", "topology.protocol"},
        Bad{":topology.cores=80", "80 cores"}, Bad{":noise.os_core=60", "-1 to 59"},
        Bad{":noise.os_core=3", "noise.os_interval"}}) {
    const std::string error = load_error(std::string("xeon-phi-5110p") + bad.changes);
    EXPECT_NE(error.find(bad.says), std::string::npos) << bad.changes << ": " << error;
  }
  EXPECT_NE(load_error("sandy-bridge-e5-2670:ring.hop=3").find("topology.protocol"), std::string::npos);
  EXPECT_NE(load_error("xeon-phi-5110p:topology.l3_per_package=2").find("topology.protocol"),
            std::string::npos);
  EXPECT_NE(load_error("sandy-bridge-e5-2670:topology.l3_per_package=3")
                .find("a divisor of the cores of a package, which are 8"),
            std::string::npos);
  EXPECT_NE(load_error("sandy-bridge-e5-2670:topology.l3_per_package=2").find("table.other_modified"),
            std::string::npos);
}

TEST(MachineDigest, IsStableAndSensitiveToEveryValue) {
  const Machine machine = load_machine("xeon-phi-5110p");
  EXPECT_EQ(machine.digest.size(), 16u);
  EXPECT_EQ(machine.digest, load_machine("xeon-phi-5110p").digest);
  std::set<std::string> digests = {machine.digest};
  std::size_t changes = 0;
  for (const MachineParameterInfo& info : machine_parameters()) {
    MachineParameters changed = machine.p;
    std::string old;
    for (const auto& value : machine_values(changed))
      if (value.first == info.name) old = value.second;
    std::string other = info.is_number() ? std::to_string(info.least) : info.choices[0];
    if (other == old) other = info.is_number() ? std::to_string(info.most) : info.choices[1];
    ASSERT_TRUE(set_machine_value(&changed, info.name, other)) << info.name;
    digests.insert(machine_digest(changed));
    ++changes;
  }
  EXPECT_EQ(digests.size(), changes + 1);
  // FNV-1a, 64 bits, over the sorted lines, without what this machine may leave out and does, and what only
  // others have: the definition, written again.
  std::set<std::string> lines;
  const auto usual = machine_values(MachineParameters());
  for (const auto& value : machine_values(machine.p)) {
    const MachineParameterInfo& info = *find_machine_parameter(value.first);
    const bool left_out = info.optional && info.name.rfind("noise.", 0) != 0 &&
                          std::find(usual.begin(), usual.end(), value) != usual.end();
    if (!left_out && (info.in_directory || info.in_table))
      lines.insert(value.first + "=" + value.second + "\n");
  }
  unsigned long long hash = 0xcbf29ce484222325ull;
  for (const std::string& line : lines)
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", hash);
  EXPECT_EQ(machine.digest, digits);
  EXPECT_EQ(load_machine("sandy-bridge-e5-2670").digest, "415db5ae772594f9") << "machines keep their digests";
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
