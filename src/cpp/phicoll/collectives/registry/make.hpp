#pragma once

// From a spec to one rank's side of an algorithm on a port.

#include <memory>
#include <string>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

/// Makes an algorithm of one operation; null if the registry has none of that name. cmake/operations.cmake
/// instantiates it once for each operation and port; the definition is in make_from.hpp.
template <class Port, Operation operation>
std::unique_ptr<AnyCollective<Port>> make_of(const AlgorithmSpec& spec, const Setup& setup);

/// Makes an algorithm of any operation. `spec` comes from Family::parse or Family::effective and is not
/// `auto`. The object refers to setup.memory, not to setup.shape. Throws Error for a name that the operation
/// does not have.
template <class Port>
std::unique_ptr<AnyCollective<Port>> make_collective(Operation operation, const AlgorithmSpec& spec,
                                                     const Setup& setup) {
  using Make = std::unique_ptr<AnyCollective<Port>> (*)(const AlgorithmSpec&, const Setup&);
  static constexpr Make makes[operations] = {
#define PHICOLL_OPERATION(name, ...) make_of<Port, Operation::name>,
      PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
  };
  auto made = makes[static_cast<int>(operation)](spec, setup);
  if (!made)
    throw Error(std::string(to_string(operation)) + " has no algorithm " + spec.name +
                " that can be made; `auto` is resolved first");
  return made;
}

}  // namespace phicoll
