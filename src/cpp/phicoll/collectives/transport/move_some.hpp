#pragma once

#include <cstddef>

#include "phicoll/memory/data.hpp"

namespace phicoll {

/// A move which may be of no bytes, or to where the bytes are already.
template <class Port>
inline void move_some(Port& port, Data to, Data from, std::size_t bytes, Stores stores = Stores::cached) {
  if (bytes != 0 && to != from) port.move(to, from, bytes, stores);
}

}  // namespace phicoll
