#include "phicoll/collectives/registry/families.hpp"

namespace phicoll {

const Family& family(Operation operation) {
  using Of = const Family& (*)();
  static constexpr Of families[operations] = {
      family_of<Operation::barrier>,       family_of<Operation::broadcast>, family_of<Operation::reduce>,
      family_of<Operation::allreduce>,     family_of<Operation::gather>,    family_of<Operation::scatter>,
      family_of<Operation::allgather>,     family_of<Operation::alltoall>,  family_of<Operation::scan>,
      family_of<Operation::reduce_scatter>};
  return families[static_cast<int>(operation)]();
}

}  // namespace phicoll
