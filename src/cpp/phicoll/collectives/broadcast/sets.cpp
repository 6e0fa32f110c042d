#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

namespace {

/// Sections V and VI: both with a shared buffer of 32 KB. Flags are set and unset, and bytes as in
/// Centralized-I.
std::vector<std::string> paper_000() {
  return {"centralized:region=32768:flags=bytes:reset=unset",
          "double-buffered:region=32768:flags=bytes:reset=unset"};
}

/// Section 3.3, every call with a barrier at its end (section 3.1). The text names degrees 1 to 3 of the tree
/// and sizes of the minimum piece; no value of the shift, to which the result was not very sensitive.
std::vector<std::string> paper_002() {
  std::vector<std::string> members;
  const auto add = [&](const std::string& spec) { members.push_back(spec + ":trailing=barrier"); };
  for (const char* const degree : {"2", "3", "4"}) add(std::string("tree-copy:degree=") + degree);
  for (const char* const shift : {"0", "4096"}) add(std::string("one-to-all-shifted:shift=") + shift);
  add("root-copies");
  for (const char* const minimum : {"128", "1024", "2048", "4096", "8192"})
    add(std::string("piece-per-rank:minimum=") + minimum);
  for (const char* const degree : {"1", "2", "3", "4"})
    for (const char* const piece : {"16384", "4096"})
      add(std::string("local-store-tree:degree=") + degree + ":piece=" + piece);
  add("paper-002");
  return members;
}

/// Section 4.4: the trees of figure 4.4 with one line for acknowledgements and section 4.1.2's global flag;
/// the large broadcasts of figure 4.6; section 4.1.1's other acknowledgement.
std::vector<std::string> paper_004() {
  return {"flat:occupied=yes",
          "binomial:occupied=yes",
          "k-nomial:degree=3:occupied=yes",
          "fibonacci:overhead=half:occupied=yes",
          "fibonacci:overhead=quarter:occupied=yes",
          "model-tree:occupied=yes",
          "model-tree:ack=line-per-child:occupied=yes",
          "pipelined-slices",
          "flat-large"};
}

}  // namespace

template <>
std::vector<AlgorithmSet> sets_of<Operation::broadcast>() {
  return {
      {"paper-000", "panigrahi-2014", paper_000()},
      {"paper-002", "velamati-2007", paper_002()},
      {"paper-004", "ramos-hoefler-2013", paper_004()},
  };
}

}  // namespace phicoll
