#include "phicoll/collectives/scan/registry.hpp"
#include "phicoll/sim/running/port_collectives.hpp"

namespace phicoll {
namespace sim {

template <class Port>
PortCollective<Port> make_port_scan(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<Port>(ScanList{}, spec, setup);
}

template PortCollective<SimPort> make_port_scan(const AlgorithmSpec&, const Setup&);
template PortCollective<CountPort> make_port_scan(const AlgorithmSpec&, const Setup&);

}  // namespace sim
}  // namespace phicoll
