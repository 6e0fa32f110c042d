#include "phicoll/collectives/registry/families.hpp"

namespace phicoll {

const Family& family(Operation operation) {
  using Of = const Family& (*)();
  static constexpr Of families[operations] = {
#define PHICOLL_OPERATION(name, ...) family_of<Operation::name>,
      PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
  };
  return families[static_cast<int>(operation)]();
}

}  // namespace phicoll
