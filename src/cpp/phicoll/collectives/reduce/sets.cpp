#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

namespace {

/// Section VI measures an unnamed reduce.
std::vector<std::string> paper_000() {
  return {"tree-reconstructed"};
}

/// Section 3.4: the local store's tree in the degrees that the text of figure 4 names, AG with the minimum
/// pieces that section 3.3 found best, the send/receive tree, and the choice by size; every call with a
/// barrier at its end (section 4 ii).
std::vector<std::string> paper_002() {
  std::vector<std::string> members;
  for (const char* const spec :
       {"local-store-tree:degree=1", "local-store-tree:degree=2", "local-store-tree:degree=3",
        "local-store-tree:degree=4", "piece-per-rank:least=2048", "piece-per-rank:least=4096",
        "send-receive-tree", "paper-002"})
    members.push_back(std::string(spec) + ":trailing=barrier");
  return members;
}

/// Section 4.3: one common location, and the tree, whose parents have their children's buffers, with section
/// 4.1.1's two ways of notifying a parent.
std::vector<std::string> paper_004() {
  return {"model-tree:into=common", "model-tree:ack=counter:buffers=parent",
          "model-tree:ack=line-per-child:buffers=parent"};
}

}  // namespace

template <>
std::vector<AlgorithmSet> sets_of<Operation::reduce>() {
  return {
      {"paper-000", "panigrahi-2014", paper_000()},
      {"paper-002", "velamati-2007", paper_002()},
      {"paper-004", "ramos-hoefler-2013", paper_004()},
  };
}

}  // namespace phicoll
