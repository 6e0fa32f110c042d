#include "phicoll/sim/running/port_collectives.hpp"

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

template <class Port>
PortCollective<Port> make_port_collective(Operation operation, const AlgorithmSpec& spec,
                                          const Setup& setup) {
  PortCollective<Port> made;
  switch (operation) {
    case Operation::broadcast:
      made = make_port_broadcast<Port>(spec, setup);
      break;
    case Operation::reduce:
      made = make_port_reduce<Port>(spec, setup);
      break;
    case Operation::allreduce:
      made = make_port_allreduce<Port>(spec, setup);
      break;
    case Operation::gather:
      made = make_port_gather<Port>(spec, setup);
      break;
    case Operation::scatter:
      made = make_port_scatter<Port>(spec, setup);
      break;
    case Operation::allgather:
      made = make_port_allgather<Port>(spec, setup);
      break;
    case Operation::alltoall:
      made = make_port_alltoall<Port>(spec, setup);
      break;
    case Operation::scan:
      made = make_port_scan<Port>(spec, setup);
      break;
    case Operation::reduce_scatter:
      made = make_port_reduce_scatter<Port>(spec, setup);
      break;
    case Operation::barrier:
      throw ArgumentError("operation", to_string(operation), "one that moves data");
  }
  if (!made)
    throw Error(std::string("simulation: ") + to_string(operation) + " has no algorithm " + spec.name +
                " in effect; `auto` is resolved first");
  return made;
}

template PortCollective<SimPort> make_port_collective(Operation, const AlgorithmSpec&, const Setup&);
template PortCollective<CountPort> make_port_collective(Operation, const AlgorithmSpec&, const Setup&);

}  // namespace sim
}  // namespace phicoll
