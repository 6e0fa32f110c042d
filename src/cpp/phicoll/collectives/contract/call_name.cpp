#include "phicoll/collectives/contract/call_name.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

const char* name_of_call(Operation operation, bool vector, bool exclusive) {
  const OperationRow& row = row_of(operation);
  if (vector && row.vector_name != nullptr) return row.vector_name;
  if (exclusive && row.exclusive_name != nullptr) return row.exclusive_name;
  return row.name;
}

namespace {

CallFacts with_bytes(CallFacts facts, std::size_t bytes) {
  if (facts.known) facts.bytes = bytes;
  return facts;
}

}  // namespace

const std::vector<std::pair<const char*, CallFacts>>& call_names() {
  using Named = std::pair<const char*, CallFacts>;
  static const std::vector<Named> calls = [] {
    std::vector<Named> names;
    for (int o = 0; o < operations; ++o) {
      CallFacts plain;
      plain.operation = static_cast<Operation>(o);
      const OperationRow& row = row_of(plain.operation);
      names.emplace_back(row.name, plain);
      if (std::string(row.name) != row.mpi_name) names.emplace_back(row.mpi_name, plain);
      CallFacts vector = plain;
      vector.vector = true;
      vector.known = row.counts_known;
      if (row.vector_name != nullptr) names.emplace_back(row.vector_name, vector);
      CallFacts exclusive = plain;
      exclusive.exclusive = true;
      if (row.exclusive_name != nullptr) names.emplace_back(row.exclusive_name, exclusive);
    }
    return names;
  }();
  return calls;
}

CallFacts call_of(Operation operation, bool vector, std::size_t bytes) {
  for (const auto& named : call_names())
    if (named.second.operation == operation && named.second.vector == vector)
      return with_bytes(named.second, bytes);
  throw ArgumentError("vector", std::string("a ") + to_string(operation),
                      "gather, scatter, allgather, alltoall, reduce_scatter");
}

CallFacts parse_call_name(const std::string& name, std::size_t bytes) {
  std::string lower = name;
  if (!lower.empty() && lower[0] >= 'A' && lower[0] <= 'Z')
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  std::vector<std::string> names;
  for (const auto& named : call_names()) {
    if (lower == named.first) return with_bytes(named.second, bytes);
    names.emplace_back(named.first);
  }
  throw ArgumentError("operation", name.empty() ? "none" : "'" + name + "'", nearest_or_all(lower, names));
}

}  // namespace phicoll
