#pragma once

// What a call is refused for, as the tests compare it.

#include <functional>
#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {
constexpr const char* nothing_refused = "nothing was refused";

/// The message of the ArgumentError that `call` throws, or that it throws none. Others pass.
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return nothing_refused;
}

}  // namespace phicoll
