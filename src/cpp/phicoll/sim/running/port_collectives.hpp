#pragma once

// The data collectives on the ports of the simulator: which list makes an algorithm of a spec. Each
// operation's algorithms are instantiated in a file of its own, port_<operation>.cpp.

#include <memory>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/engine/sim_port.hpp"

namespace phicoll {
namespace sim {

template <class Port>
using PortCollective = std::unique_ptr<AnyCollective<Port>>;

/// Defined for SimPort and CountPort. `spec` is effective; null if the list has no such algorithm.
template <class Port>
PortCollective<Port> make_port_broadcast(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_reduce(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_allreduce(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_gather(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_scatter(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_allgather(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_alltoall(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_scan(const AlgorithmSpec& spec, const Setup& setup);
template <class Port>
PortCollective<Port> make_port_reduce_scatter(const AlgorithmSpec& spec, const Setup& setup);

/// One rank's side of an algorithm that moves data. Throws ArgumentError("operation") for a barrier.
template <class Port>
PortCollective<Port> make_port_collective(Operation operation, const AlgorithmSpec& spec, const Setup& setup);

}  // namespace sim
}  // namespace phicoll
