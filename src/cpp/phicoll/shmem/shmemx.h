/* Extensions that other OpenSHMEM libraries have too: shmemx_wtime, and Sandia's names for functions that
 * OpenSHMEM 1.6 has under shmem_ names. Its counters (shmemx_ct_..., shmemx_pcntr_...) and heaps in other memory are not here. */
#ifndef PHICOLL_SHMEMX_H
#define PHICOLL_SHMEMX_H

#include <shmem.h>

/* The PEs that share memory: all of them. */
#define SHMEMX_TEAM_NODE SHMEM_TEAM_SHARED
/* A hint, which has no effect: every allocation ends with a barrier. */
#define SHMEMX_MALLOC_NO_BARRIER (1L << 2)

#ifdef __cplusplus
extern "C" {
#endif
/* Seconds since some moment in the past. */
double shmemx_wtime(void);
/* Where a library that keeps something for each thread learns its number. Nothing is kept here. */
static inline void shmemx_register_gettid(uint64_t (*gettid_fn)(void)) {
  (void)gettid_fn;
}

/* Blocks at strides. `name` has the direction and the type or size: int_ibput, ibput32. */
#define PHICOLL_SHMEMX_BLOCKS(name, type)                                                              \
  static inline void shmemx_##name(type* dest, const type* source, ptrdiff_t dst, ptrdiff_t sst,       \
                                   size_t bsize, size_t nblocks, int pe) {                             \
    shmem_##name(dest, source, dst, sst, bsize, nblocks, pe);                                          \
  }                                                                                                    \
  static inline void shmemx_ctx_##name(shmem_ctx_t ctx, type* dest, const type* source, ptrdiff_t dst, \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) {          \
    shmem_ctx_##name(ctx, dest, source, dst, sst, bsize, nblocks, pe);                                 \
  }
#define PHICOLL_SHMEMX_OF_TYPE(name, type)  \
  PHICOLL_SHMEMX_BLOCKS(name##_ibput, type) \
  PHICOLL_SHMEMX_BLOCKS(name##_ibget, type)
#define PHICOLL_SHMEMX_OF_SIZE(bits, bytes) \
  PHICOLL_SHMEMX_BLOCKS(ibput##bits, void)  \
  PHICOLL_SHMEMX_BLOCKS(ibget##bits, void)
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEMX_OF_TYPE)
PHICOLL_SHMEM_SIZES(PHICOLL_SHMEMX_OF_SIZE)
#undef PHICOLL_SHMEMX_OF_TYPE
#undef PHICOLL_SHMEMX_OF_SIZE
#undef PHICOLL_SHMEMX_BLOCKS

#define PHICOLL_SHMEMX_SCANS(name, type)                                                          \
  static inline int shmemx_##name##_sum_inscan(shmem_team_t team, type* dest, const type* source, \
                                               size_t nelems) {                                   \
    return shmem_##name##_sum_inscan(team, dest, source, nelems);                                 \
  }                                                                                               \
  static inline int shmemx_##name##_sum_exscan(shmem_team_t team, type* dest, const type* source, \
                                               size_t nelems) {                                   \
    return shmem_##name##_sum_exscan(team, dest, source, nelems);                                 \
  }
PHICOLL_SHMEM_SUM_TYPES(PHICOLL_SHMEMX_SCANS)
#undef PHICOLL_SHMEMX_SCANS

#define PHICOLL_SHMEMX_SIGNAL(name)                                                                 \
  static inline void shmemx_ctx_signal_##name(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, \
                                              int pe) {                                             \
    shmem_ctx_signal_##name(ctx, sig_addr, signal, pe);                                             \
  }
PHICOLL_SHMEMX_SIGNAL(set)
PHICOLL_SHMEMX_SIGNAL(add)
#undef PHICOLL_SHMEMX_SIGNAL
#ifdef __cplusplus
}
#endif

/* Names without a type, and signals, which have one name with and without a context. */
#define shmemx_ibput shmem_ibput
#define shmemx_ibget shmem_ibget
#define shmemx_sum_inscan shmem_sum_inscan
#define shmemx_sum_exscan shmem_sum_exscan
#define shmemx_signal_set shmem_signal_set
#define shmemx_signal_add shmem_signal_add

#endif
