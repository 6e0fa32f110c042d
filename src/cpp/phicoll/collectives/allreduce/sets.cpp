#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

namespace {

/// Section 5: the four algorithms with put/get (figure 7) and with load/store (figures 8 and 9), "left
/// computes" and the merged middle stage where sections 5.1.2 and 5.1.4 apply them, the baseline of section
/// 6.2.1, and the choice by size.
std::vector<std::string> paper_003() {
  return {"flat-tree:transfer=put-get",
          "recursive-doubling:transfer=put-get",
          "bruck:transfer=put-get",
          "rabenseifner:transfer=put-get:merge_middle=no",
          "rabenseifner:transfer=put-get:merge_middle=yes",
          "flat-tree:transfer=load-store",
          "recursive-doubling:transfer=load-store",
          "recursive-doubling:transfer=load-store:exchange=copied",
          "recursive-doubling:transfer=load-store:left_computes=yes",
          "bruck:transfer=load-store",
          "rabenseifner:transfer=load-store:merge_middle=no",
          "rabenseifner:transfer=load-store:merge_middle=yes",
          "rabenseifner:transfer=load-store:merge_middle=yes:left_computes=yes",
          "all-reads-all",
          "paper-003"};
}

}  // namespace

template <>
std::vector<AlgorithmSet> sets_of<Operation::allreduce>() {
  return {
      {"paper-003", "namashivayam-2014", paper_003()},
  };
}

}  // namespace phicoll
