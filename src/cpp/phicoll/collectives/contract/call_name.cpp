#include "phicoll/collectives/contract/call_name.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

const std::vector<CallName>& call_names() {
  static const std::vector<CallName> calls = {
      {"barrier", Operation::barrier, false, false},
      {"broadcast", Operation::broadcast, false, false},
      {"bcast", Operation::broadcast, false, false},
      {"reduce", Operation::reduce, false, false},
      {"allreduce", Operation::allreduce, false, false},
      {"gather", Operation::gather, false, false},
      {"gatherv", Operation::gather, true, false},
      {"scatter", Operation::scatter, false, false},
      {"scatterv", Operation::scatter, true, false},
      {"allgather", Operation::allgather, false, false},
      {"allgatherv", Operation::allgather, true, false},
      {"alltoall", Operation::alltoall, false, false},
      {"alltoallv", Operation::alltoall, true, false},
      {"scan", Operation::scan, false, false},
      {"exscan", Operation::scan, false, true},
      {"reduce_scatter_block", Operation::reduce_scatter, false, false},
      {"reduce_scatter", Operation::reduce_scatter, true, false},
  };
  return calls;
}

CallFacts CallName::facts(std::size_t bytes) const {
  CallFacts facts;
  facts.operation = operation;
  facts.vector = vector;
  facts.known = !vector || operation == Operation::allgather || operation == Operation::reduce_scatter;
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
    if (lower == call.name) return call.operation == Operation::broadcast ? call_of(call.operation) : call;
    names.emplace_back(call.name);
  }
  throw ArgumentError("operation", name.empty() ? "none" : "'" + name + "'", nearest_or_all(lower, names));
}

}  // namespace phicoll
