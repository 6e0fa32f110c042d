#pragma once

// shmem.h for the library's own sources: declarations without generic names, and how a function is exported.

#define PHICOLL_SHMEM_LIBRARY 1
#include "phicoll/shmem/shmem.h"

// Begins the definition of pshmem_<name>; shmem_<name> is a weak second name, which a tool may define itself.
#define PHICOLL_SHMEM_EXPORT(result, name, parameters)                                     \
  extern "C" result pshmem_##name parameters;                                              \
  extern "C" result shmem_##name parameters __attribute__((weak, alias("pshmem_" #name))); \
  extern "C" result pshmem_##name parameters
