#include "phicoll/collectives/scatter/registry.hpp"
#include "phicoll/sim/running/port_collectives.hpp"

namespace phicoll {
namespace sim {

template <class Port>
PortCollective<Port> make_port_scatter(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<Port>(ScatterList{}, spec, setup);
}

template PortCollective<SimPort> make_port_scatter(const AlgorithmSpec&, const Setup&);
template PortCollective<CountPort> make_port_scatter(const AlgorithmSpec&, const Setup&);

}  // namespace sim
}  // namespace phicoll
