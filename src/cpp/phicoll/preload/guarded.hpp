#pragma once

// How the functions of engine.hpp turn exceptions into results.

#include <exception>

#include "phicoll/errors.hpp"
#include "phicoll/preload/engine.hpp"

/// Keeps the reason for phicoll_preload_error().
PhicollResult failed(PhicollResult result, const char* why);

template <class Function>
PhicollResult guarded(Function function) {
  try {
    function();
    return PHICOLL_DONE;
  } catch (const phicoll::ResourceError& error) {
    return failed(PHICOLL_NO_ROOM, error.what());
  } catch (const std::exception& error) {
    return failed(PHICOLL_BROKEN, error.what());
  }
}
