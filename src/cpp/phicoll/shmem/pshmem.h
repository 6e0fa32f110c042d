/* The functions of shmem.h under their second names, pshmem_<...>: for tools that define shmem_<...> themselves (OpenSHMEM
 * 1.5, section 10). */
#ifndef PHICOLL_PSHMEM_H
#define PHICOLL_PSHMEM_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif
#define PHICOLL_SHMEM_DECLARE(result, name, parameters) result pshmem_##name parameters;
#define PHICOLL_SHMEM_FUNCTION(result, name, parameters, ...) result pshmem_##name parameters;
#include <phicoll/shmem/amo.h>
#include <phicoll/shmem/calls.h>
#include <phicoll/shmem/rma.h>
#undef PHICOLL_SHMEM_DECLARE
#undef PHICOLL_SHMEM_FUNCTION
#ifdef __cplusplus
}
#endif

#endif
