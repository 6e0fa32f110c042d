/* Extensions that other OpenSHMEM libraries have too. */
#ifndef PHICOLL_SHMEMX_H
#define PHICOLL_SHMEMX_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Seconds since some moment in the past. */
double shmemx_wtime(void);
#ifdef __cplusplus
}
#endif

#endif
