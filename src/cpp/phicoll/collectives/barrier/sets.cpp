#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

namespace {

void add_values(std::vector<std::string>& members, const std::string& spec,
                const std::vector<std::string>& values, const std::string& rest) {
  for (const std::string& value : values) members.push_back(spec + value + rest);
}

/// Section V: six barriers, one line a rank; section VI compares the trees at degree 6. Flags are set and
/// unset where that is safe. It is not where a flag is awaited by one rank and unset by another, so the two
/// barriers with a release tree of their own number their flags.
std::vector<std::string> paper_000() {
  return {"centralized-bytes",
          "centralized-lines",
          "dissemination:ways=1:layout=line-per-rank:reset=unset",
          "tree:degree=6:reset=unset",
          "tournament-tree:release_degree=6",
          "binomial-tree:release_degree=6:release=heap"};
}

/// Section 5.2: the arities and ways tested, each with a 64-cycle delay in the wait loop ("pause") and
/// without ("spin"), trees with local and with global notification, all with sense reversal. For the
/// dissemination barrier the text gives only figure 1's one way. How flags are stored (section 4: whole
/// lines, without reading them) depends on the machine: every member takes `store=`.
std::vector<std::string> paper_001() {
  std::vector<std::string> plain = {"sense-reversing:reset=sense"};
  for (const char* const notify : {":notify=local:reset=sense", ":notify=global:reset=sense"}) {
    add_values(plain, "combining-tree:arity=", {"2", "3", "4", "8", "16", "32"}, notify);
    add_values(plain, "static-tournament:ways=", {"2", "3", "4", "5"}, notify);
    add_values(plain, "dynamic-tournament:ways=", {"2", "3", "4"}, notify);
  }
  plain.push_back("dissemination:ways=1:reset=sense");
  plain.push_back("hybrid-dissemination:group=core:leaders=last:ways=1:reset=sense");
  std::vector<std::string> members;
  for (const std::string& spec : plain) add_values(members, spec, {":wait=pause", ":wait=spin"}, "");
  return members;
}

/// Section 3.2. Of the degrees in figure 2 the text names 2, 4 and 8; 3 stands for the "other degrees" that
/// were slower. Entries of 16 bytes; flags set and unset, or numbered where unsetting is not safe.
std::vector<std::string> paper_002() {
  std::vector<std::string> members = {"one-to-all:layout=packed:reset=unset",
                                      "signal-register:release=flags"};
  add_values(members, "k-nomial-tree:degree=", {"2", "3", "4", "8"}, ":reset=unset");
  members.push_back("pairwise-exchange:layout=packed");
  members.push_back("dissemination:ways=1:layout=packed");
  return members;
}

/// Section 4.2 and Table B.2: m by the model, with the rounds that the paper prints and with those that the
/// distances need.
std::vector<std::string> paper_004() {
  return {"dissemination-acknowledged:m=0:ack=counter:rounds=printed",
          "dissemination-acknowledged:m=0:ack=counter:rounds=corrected"};
}

}  // namespace

template <>
std::vector<AlgorithmSet> sets_of<Operation::barrier>() {
  return {
      {"paper-000", "panigrahi-2014", paper_000()},
      {"paper-001", "rodchenko-2015", paper_001()},
      {"paper-002", "velamati-2007", paper_002()},
      {"paper-004", "ramos-hoefler-2013", paper_004()},
  };
}

}  // namespace phicoll
