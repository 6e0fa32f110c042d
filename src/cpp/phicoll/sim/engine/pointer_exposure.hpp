#pragma once

// What the ports of the simulator have in common: exposed data (all ranks are in one process, so that a
// handle is a pointer and its owner), and ranks that do not fit. `Port` has rank() and move().

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/errors.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

template <class Port>
class PointerExposure {
 public:
  bool reachable(Data, std::size_t) const { return true; }
  bool near(std::size_t) const { return true; }
  bool exposable(Data, std::size_t) const { return true; }
  Exposed expose(Data data) const {
    return Exposed{reinterpret_cast<std::uintptr_t>(data.at), static_cast<std::uint32_t>(port().rank() + 1),
                   static_cast<std::uint32_t>(ExposedKind::pointer)};
  }
  static bool direct(const Exposed&) { return true; }
  static Data view(const Exposed& exposed, std::size_t offset) {
    return Data{reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(exposed.address) + offset)};
  }
  void fetch(Data to, const Exposed& from, std::size_t offset, std::size_t bytes) const {
    port().move(to, view(from, offset), bytes);
  }
  void put(const Exposed& to, std::size_t offset, Data from, std::size_t bytes) const {
    port().move(view(to, offset), from, bytes);
  }
  [[noreturn, gnu::cold]] void differ(int from, const std::string& sent, const std::string& expected) const {
    throw Error("rank " + std::to_string(from) + " sends " + sent + " to rank " +
                std::to_string(port().rank()) + ", which expects " + expected);
  }

 private:
  const Port& port() const { return static_cast<const Port&>(*this); }
};

}  // namespace phicoll
