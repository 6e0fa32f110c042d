// Barriers by name: what is accepted, what is refused and how, sets, footprints, and that every algorithm
// exists on every port.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/ports/native_port.hpp"
#include "phicoll/sim/counting/count_port.hpp"

namespace phicoll {
namespace {

std::string error_of(const std::string& text) {
  try {
    family(Operation::barrier).parse_list(text);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

void expect_error(const std::string& text, const std::vector<std::string>& parts) {
  const std::string error = error_of(text);
  ASSERT_NE(error, "") << text << " was accepted";
  for (const std::string& part : parts)
    EXPECT_NE(error.find(part), std::string::npos) << "of " << text << ": " << error << "\nlacks: " << part;
}

TEST(BarrierRegistry, HasTheNamesThatArePromised) {
  const std::vector<std::string> promised = {"sense-reversing",
                                             "combining-tree",
                                             "static-tournament",
                                             "dynamic-tournament",
                                             "dissemination",
                                             "hybrid-dissemination",
                                             "counter-tree-notify",
                                             "centralized-bytes",
                                             "centralized-lines",
                                             "tree",
                                             "k-nomial-tree",
                                             "tournament-tree",
                                             "binomial-tree",
                                             "one-to-all",
                                             "signal-register",
                                             "pairwise-exchange",
                                             "all-to-all",
                                             "dissemination-acknowledged",
                                             "simd-flags",
                                             "libomp-hyper",
                                             "auto"};
  std::set<std::string> names;
  for (const AlgorithmInfo& info : family(Operation::barrier).algorithms()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.source.empty()) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(info.origin, Origin::reference) << info.name;
    for (const ParameterInfo& parameter : info.parameters) {
      EXPECT_NE(parameter.name, "wait") << "goes with every barrier";
      EXPECT_FALSE(parameter.meaning.empty()) << info.name << ":" << parameter.name;
      // The default is in range.
      EXPECT_NO_THROW(
          family(Operation::barrier).parse(info.name + ":" + parameter.name + "=" + parameter.default_value));
    }
  }
  for (const std::string& name : promised) EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(BarrierRegistry, UnknownNameGivesTheNearest) {
  expect_error("disemination", {"algorithm", "'disemination'", "dissemination"});
  expect_error("tourname", {"algorithm"});
  expect_error("paper-003", {"algorithm", "'paper-003', whose algorithms are for allreduce", "paper-004"});
  expect_error("", {"algorithm"});
  expect_error("dissemination,", {"algorithm"});
}

TEST(BarrierRegistry, RefusesParametersByNameValueAndRange) {
  expect_error("dissemination:arity=4", {"dissemination", "parameter 'arity'", "ways", "wait"});
  expect_error("all-to-all:ways=1", {"all-to-all", "parameter 'ways'"});
  expect_error("auto:ways=1", {"auto", "parameter 'ways'"});
  expect_error("dissemination:ways=0", {"dissemination:ways", "'0'", "1 to 1024"});
  expect_error("dissemination:ways=1025", {"dissemination:ways", "'1025'"});
  expect_error("dissemination:ways=", {"dissemination:ways", "''"});
  expect_error("dissemination:ways=two", {"dissemination:ways", "'two'"});
  expect_error("dissemination:ways=3x", {"dissemination:ways", "'3x'"});
  expect_error("dissemination:ways=99999999999999999999", {"dissemination:ways"});
  expect_error("dissemination:layout=lines", {"dissemination:layout", "'lines'", "line-per-round"});
  expect_error("dissemination:ways", {"dissemination", "'ways'", "parameter=value"});
  expect_error("dissemination:=3", {"dissemination", "parameter=value"});
  expect_error("dissemination:", {"dissemination", "parameter=value"});
  expect_error("dissemination:ways=2:ways=3", {"dissemination:ways", "two values"});
  expect_error("dissemination:wait=spin:wait=spin", {"dissemination:wait", "two values"});
  expect_error("dissemination:wait=sleep", {"wait", "'sleep'", "spin"});
  expect_error("dissemination:wait=pause(0)", {"wait", "pause(0)"});
  expect_error("libomp-hyper:gather_bits=11", {"libomp-hyper:gather_bits", "1 to 10"});
  expect_error("dissemination-acknowledged:m=-1", {"dissemination-acknowledged:m", "'-1'", "0 to 1024"});
  expect_error("centralized-bytes:store=no-read", {"centralized-bytes", "parameter 'store'"});
  expect_error("sense-reversing,tree:degree=1", {"tree:degree", "'1'"});
}

TEST(BarrierRegistry, RefusesWholeLineStoresIntoSharedLines) {
  expect_error("dissemination:layout=packed:store=no-read",
               {"dissemination", "layout=packed:store=no-read", "line-per-round"});
  expect_error("one-to-all:store=no-read", {"one-to-all", "layout=lines"});
  expect_error("pairwise-exchange:layout=packed:store=no-read-unordered",
               {"pairwise-exchange", "line-per-round"});
  expect_error("dissemination-acknowledged:store=no-read",
               {"dissemination-acknowledged", "ack=line-per-sender"});
}

TEST(BarrierRegistry, TextIsCanonicalAndParsesToItself) {
  EXPECT_EQ(family(Operation::barrier).parse("dissemination:ways=3").text(),
            "dissemination:ways=3:layout=line-per-round:reset=episode:store=plain");
  EXPECT_EQ(family(Operation::barrier).parse("dissemination:store=no-read:ways=3:wait=spin").text(),
            "dissemination:ways=3:layout=line-per-round:reset=episode:store=no-read:wait=spin");
  for (const std::string& set : family(Operation::barrier).set_names())
    for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list(set))
      EXPECT_EQ(family(Operation::barrier).parse(spec.text()).text(), spec.text());
}

TEST(BarrierRegistry, SetsExpand) {
  EXPECT_EQ(family(Operation::barrier).parse_list("all").size(),
            family(Operation::barrier).algorithms().size())
      << "every one with its defaults, auto too";
  EXPECT_EQ(family(Operation::barrier).parse_list("paper-000").size(), 6u);
  // sr, dsmn, dsmnH; six, four and three values of the trees with local and global flags; pause and spin.
  EXPECT_EQ(family(Operation::barrier).parse_list("paper-001").size(), 2u * (3 + 2 * (6 + 4 + 3)));
  EXPECT_EQ(family(Operation::barrier).parse_list("paper-002").size(), 2u + 4 + 2);
  EXPECT_EQ(family(Operation::barrier).parse_list("paper-004").size(), 2u);
  for (const AlgorithmSet& set : sets_of<Operation::barrier>()) {
    const auto texts = [](const std::string& name) {
      std::vector<std::string> list;
      for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list(name))
        list.push_back(spec.text());
      return list;
    };
    EXPECT_EQ(texts(set.name), texts(set.key)) << "one set by two names";
  }
  EXPECT_EQ(family(Operation::barrier).parse_list("rodchenko-2015,paper-001").size(),
            family(Operation::barrier).parse_list("paper-001").size());
  const std::vector<AlgorithmSpec> mixed = family(Operation::barrier).parse_list("tree,all,tree:degree=3");
  EXPECT_EQ(mixed.size(), family(Operation::barrier).algorithms().size() + 1) << "duplicates are dropped";
  EXPECT_EQ(mixed.front().name, "tree") << "in the order of mention";
}

TEST(BarrierRegistry, ValuesBeyondUseActAsTheLargestUseful) {
  const auto effective = [](const std::string& text, int ranks) {
    return family(Operation::barrier)
        .effective(family(Operation::barrier).parse(text), Shape::unknown(ranks))
        .text();
  };
  EXPECT_EQ(effective("dissemination:ways=1024", 5), effective("dissemination:ways=4", 5));
  EXPECT_EQ(effective("libomp-hyper:gather_bits=10", 5), effective("libomp-hyper:gather_bits=3", 5));
  EXPECT_EQ(effective("dissemination-acknowledged:m=9", 4), effective("dissemination-acknowledged:m=3", 4));
  EXPECT_EQ(effective("dissemination-acknowledged:rounds=printed", 60),
            effective("dissemination-acknowledged:m=4:rounds=printed", 60));
  EXPECT_EQ(effective("dissemination:wait=spin", 4), effective("dissemination", 4) + ":wait=spin");
  EXPECT_NE(effective("auto", 2).substr(0, 4), "auto") << "auto says what it is";
}

TEST(BarrierRegistry, AutoGoesByWhatRanksShare) {
  const auto chosen = [](const Shape& shape) { return choose(shape, CallFacts()).spec.name; };
  EXPECT_EQ(choose(Shape::unknown(2), CallFacts()).spec.values[1].second, "packed");
  EXPECT_EQ(chosen(Shape::unknown(8, true)), "sense-reversing");
  EXPECT_EQ(chosen(Shape::unknown(9)), "dissemination");
  // Cores with several contexts: paper 001's hybrid, inside a core first.
  const AlgorithmSpec on_card =
      choose(place_ranks(240, uniform_machine(60, 4), Placement::balanced), CallFacts()).spec;
  EXPECT_EQ(on_card.text().substr(0, 31), "hybrid-dissemination:group=core");
  // A core a rank: nobody to meet on it.
  EXPECT_EQ(chosen(place_ranks(60, uniform_machine(60, 4), Placement::balanced)), "dissemination");
  // Ranks that share CPUs: the CPU is the group.
  const AlgorithmSpec crowded =
      choose(place_ranks(8, uniform_machine(2, 1), Placement::compact), CallFacts()).spec;
  EXPECT_EQ(crowded.text().substr(0, 30), "hybrid-dissemination:group=cpu");
}

TEST(BarrierRegistry, EveryDefaultFitsAtEveryRankCount) {
  constexpr std::size_t limit = 64u << 20;
  for (const int ranks : {1, 2, 3, 7, 64, 65, 240, 244, 1000, max_ranks})
    for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list("all")) {
      const std::size_t bytes = family(Operation::barrier).footprint(spec, Shape::unknown(ranks));
      EXPECT_GT(bytes, 0u) << spec.text();
      EXPECT_LE(bytes, limit) << spec.text() << " at " << ranks << " ranks";
    }
  EXPECT_EQ(family(Operation::barrier)
                .footprint(family(Operation::barrier).parse("all-to-all"), Shape::unknown(1024)),
            8u << 20);
}

TEST(BarrierRegistry, EveryAlgorithmExistsOnEveryPort) {
  const Shape shape = place_ranks(7, uniform_machine(2, 4), Placement::compact);
  for (const AlgorithmSpec& spec : family(Operation::barrier).parse_list("all")) {
    const AlgorithmSpec effective = family(Operation::barrier).effective(spec, shape);
    const std::size_t bytes = family(Operation::barrier).footprint(effective, shape);
    AlignedVector<unsigned char> memory(bytes);
    for (int rank = 0; rank < shape.size(); ++rank) {
      const phicoll::Setup setup{rank, shape, memory.data()};
      EXPECT_NE(make_collective<NativePort>(Operation::barrier, effective, setup), nullptr) << spec.text();
      EXPECT_NE(make_collective<CountPort>(Operation::barrier, effective, setup), nullptr) << spec.text();
    }
    // A peer may run ahead into the first operation while a rank still constructs.
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](unsigned char b) { return b == 0; }))
        << spec.text() << " stored while it was constructed";
  }
}

}  // namespace
}  // namespace phicoll
