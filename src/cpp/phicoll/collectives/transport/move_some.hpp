#pragma once

#include <cstddef>

#include "phicoll/memory/data.hpp"

namespace phicoll {

/// A move that does nothing if there are no bytes, or if they are already there.
template <class Port>
inline void move_some(Port& port, Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) {
  if (bytes != 0 && to != from) port.move(to, from, bytes, stores);
}

}  // namespace phicoll
