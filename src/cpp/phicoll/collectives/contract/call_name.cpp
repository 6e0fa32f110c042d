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

const std::vector<CallName>& call_names() {
  static const std::vector<CallName> calls = [] {
    std::vector<CallName> names;
    for (int o = 0; o < operations; ++o) {
      const auto operation = static_cast<Operation>(o);
      const OperationRow& row = row_of(operation);
      names.push_back({row.name, operation, false, false});
      if (std::string(row.name) != row.mpi_name) names.push_back({row.mpi_name, operation, false, false});
      if (row.vector_name != nullptr) names.push_back({row.vector_name, operation, true, false});
      if (row.exclusive_name != nullptr) names.push_back({row.exclusive_name, operation, false, true});
    }
    return names;
  }();
  return calls;
}

CallFacts CallName::facts(std::size_t bytes) const {
  CallFacts facts;
  facts.operation = operation;
  facts.vector = vector;
  facts.known = !vector || row_of(operation).counts_known;
  facts.bytes = facts.known ? bytes : 0;
  return facts;
}

const CallName& call_of(Operation operation, bool vector) {
  for (const CallName& call : call_names())
    if (call.operation == operation && call.vector == vector) return call;
  throw ArgumentError("vector", std::string("a ") + to_string(operation),
                      "gather, scatter, allgather, alltoall, reduce_scatter");
}

const CallName& parse_call_name(const std::string& name) {
  std::string lower = name;
  if (!lower.empty() && lower[0] >= 'A' && lower[0] <= 'Z')
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  std::vector<std::string> names;
  for (const CallName& call : call_names()) {
    if (lower == call.name) return call.vector || call.exclusive ? call : call_of(call.operation);
    names.emplace_back(call.name);
  }
  throw ArgumentError("operation", name.empty() ? "none" : "'" + name + "'", nearest_or_all(lower, names));
}

}  // namespace phicoll
