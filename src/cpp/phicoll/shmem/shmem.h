/* OpenSHMEM 1.5 and the additions of 1.6, on one machine.
 *
 * Transfers and atomics on symmetric memory are inlined: the store, load, copy or locked instruction at the address plus
 * what one table says of the PE. Everything is a function of the library too, with the name pshmem_ for the same function
 * (pshmem.h); a tool that puts its own functions in place of the library's wants programs compiled with
 * PHICOLL_SHMEM_NO_INLINE defined. */
#ifndef PHICOLL_SHMEM_H
#define PHICOLL_SHMEM_H

#include <phicoll/shmem/types.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN 256
#define SHMEM_VENDOR_STRING "phicoll"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CTX_PRIVATE (1L << 0)
#define SHMEM_CTX_SERIALIZED (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

/* Work arrays of collectives on active sets, which are not used here. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

/* Deprecated names. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

#ifdef __cplusplus
extern "C" {
#endif

/* A team: this PE's number in it, its size, and what the library keeps of it. */
typedef struct phicoll_shmem_team {
  int my_pe;
  int n_pes;
  void* kept;
} * shmem_team_t;
extern struct phicoll_shmem_team phicoll_shmem_team_world, phicoll_shmem_team_shared;
#define SHMEM_TEAM_WORLD (&phicoll_shmem_team_world)
#define SHMEM_TEAM_SHARED (&phicoll_shmem_team_shared)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
typedef struct {
  int num_contexts;
} shmem_team_config_t;

/* A context. delta[pe] is what to add to the address of a symmetric object to reach it in PE `pe` of the context's team. It
 * is null where every access is the library's: before shmem_init and after shmem_finalize, in checked mode, and where the
 * program's data segment is reached by copies between processes only. */
typedef struct phicoll_shmem_ctx {
  const ptrdiff_t* delta;
  shmem_team_t team;
  long options;
} * shmem_ctx_t;
extern struct phicoll_shmem_ctx phicoll_shmem_ctx_default;
#define SHMEM_CTX_DEFAULT (&phicoll_shmem_ctx_default)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
typedef struct {
  size_t total_ops;
} shmem_ctx_session_config_t;

/* What the inlined functions leave to the library. Sizes are in bytes, strides in elements. */
void phicoll_shmem_slow_put(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void phicoll_shmem_slow_get(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void phicoll_shmem_slow_copy(void* dest, const void* source, size_t bytes);
void phicoll_shmem_refuse_sig_op(int sig_op);
void phicoll_shmem_check_pes(shmem_ctx_t ctx, const int* pes, size_t npes);
void* phicoll_shmem_slow_at(shmem_ctx_t ctx, const void* address, size_t bytes, int pe);
void phicoll_shmem_strided_put(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t element, size_t bsize, size_t nblocks, int pe);
void phicoll_shmem_strided_get(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t element, size_t bsize, size_t nblocks, int pe);

#define PHICOLL_SHMEM_HELPER extern inline __attribute__((gnu_inline, always_inline))
/* No later access is done before earlier stores are visible to all. A locked instruction serves x86, where it takes less time
 * than MFENCE, and k1om, which has no MFENCE. */
PHICOLL_SHMEM_HELPER void phicoll_shmem_full_fence(void) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__ __volatile__("lock; orl $0, (%%rsp)" : : : "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
/* Where the object at `address` lies for PE `pe`: in integers, since it is another object. */
#define PHICOLL_SHMEM_MOVED(ctx, address, pe) ((uintptr_t)(address) + (uintptr_t)(ctx)->delta[pe])
PHICOLL_SHMEM_HELPER void* phicoll_shmem_at(shmem_ctx_t ctx, const void* address, size_t bytes, int pe) {
  if (__builtin_expect(ctx->delta != 0, 1)) return (void*)PHICOLL_SHMEM_MOVED(ctx, address, pe);
  return phicoll_shmem_slow_at(ctx, address, bytes, pe);
}
/* With 0 bytes an address may be null, which memcpy does not allow. Where the destination begins up to 63 bytes after the source within
 * their pages of 4 KB, some CPUs' string move, which memcpy takes for 2 to 4 KB and more, is up to 25 times as slow. */
PHICOLL_SHMEM_HELPER void phicoll_shmem_copy(void* dest, const void* source, size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_expect(bytes >= 2048 && ((uintptr_t)dest - (uintptr_t)source - 1) % 4096 < 63, 0)) {
    phicoll_shmem_slow_copy(dest, source, bytes);
    return;
  }
#endif
  if (bytes != 0) __builtin_memcpy(dest, source, bytes);
}
PHICOLL_SHMEM_HELPER void phicoll_shmem_put(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes,
                                            int pe) {
  if (__builtin_expect(ctx->delta != 0, 1)) {
    phicoll_shmem_copy((void*)PHICOLL_SHMEM_MOVED(ctx, dest, pe), source, bytes);
  } else {
    phicoll_shmem_slow_put(ctx, dest, source, bytes, pe);
  }
}
PHICOLL_SHMEM_HELPER void phicoll_shmem_get(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes,
                                            int pe) {
  if (__builtin_expect(ctx->delta != 0, 1)) {
    phicoll_shmem_copy(dest, (const void*)PHICOLL_SHMEM_MOVED(ctx, source, pe), bytes);
  } else {
    phicoll_shmem_slow_get(ctx, dest, source, bytes, pe);
  }
}
PHICOLL_SHMEM_HELPER void phicoll_shmem_signal(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal,
                                               int sig_op, int pe) {
  uint64_t* word = (uint64_t*)phicoll_shmem_at(ctx, sig_addr, sizeof *sig_addr, pe);
  if (sig_op == SHMEM_SIGNAL_ADD)
    __atomic_fetch_add(word, signal, __ATOMIC_RELEASE);
  else if (sig_op == SHMEM_SIGNAL_SET)
    __atomic_store_n(word, signal, __ATOMIC_RELEASE);
  else
    phicoll_shmem_refuse_sig_op(sig_op);
}
PHICOLL_SHMEM_HELPER void phicoll_shmem_quiet_pes(shmem_ctx_t ctx, const int* target_pes, size_t npes) {
  if (__builtin_expect(ctx->delta == 0, 0)) phicoll_shmem_check_pes(ctx, target_pes, npes);
  if (npes != 0) phicoll_shmem_full_fence();
}
PHICOLL_SHMEM_HELPER void phicoll_shmem_put_signal(shmem_ctx_t ctx, void* dest, const void* source,
                                                   size_t bytes, uint64_t* sig_addr, uint64_t signal,
                                                   int sig_op, int pe) {
  phicoll_shmem_put(ctx, dest, source, bytes, pe);
  phicoll_shmem_signal(ctx, sig_addr, signal, sig_op, pe);
}
/* volatile: one whole store or load each time, which no loop drops. `kept`: a parameter whose address is taken would be stored on
 * the stack each time. */
#define PHICOLL_SHMEM_STORE(type, ctx, dest, value, pe)          \
  if (__builtin_expect((ctx)->delta != 0, 1)) {                  \
    *(volatile type*)PHICOLL_SHMEM_MOVED(ctx, dest, pe) = value; \
  } else {                                                       \
    type kept = value;                                           \
    phicoll_shmem_slow_put(ctx, dest, &kept, sizeof(type), pe);  \
  }
#define PHICOLL_SHMEM_LOAD(type, ctx, source, pe)                       \
  type value;                                                           \
  if (__builtin_expect((ctx)->delta != 0, 1))                           \
    return *(const volatile type*)PHICOLL_SHMEM_MOVED(ctx, source, pe); \
  phicoll_shmem_slow_get(ctx, &value, source, sizeof(type), pe);        \
  return value;

#define PHICOLL_SHMEM_DECLARE(result, name, parameters) result shmem_##name parameters;
#include <phicoll/shmem/calls.h>
#undef PHICOLL_SHMEM_DECLARE

/* Deprecated names, in 1.2. */
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void* shmalloc(size_t size);
void* shmemalign(size_t alignment, size_t size);
void* shrealloc(void* ptr, size_t size);
void shfree(void* ptr);

/* Inlined where the compiler optimizes; an address of one, and a call that is not inlined, are the library's function. */
#if defined(__OPTIMIZE__) && !defined(PHICOLL_SHMEM_NO_INLINE)
#define PHICOLL_SHMEM_FUNCTION(result, name, parameters, ...) \
  extern inline __attribute__((gnu_inline)) result shmem_##name parameters __VA_ARGS__
#else
#define PHICOLL_SHMEM_FUNCTION(result, name, parameters, ...) result shmem_##name parameters;
#endif
#ifndef PHICOLL_SHMEM_LIBRARY
#include <phicoll/shmem/amo.h>
#include <phicoll/shmem/rma.h>
#endif
#undef PHICOLL_SHMEM_FUNCTION

#ifdef __cplusplus
}
#endif

#ifndef PHICOLL_SHMEM_LIBRARY
#include <phicoll/shmem/generic.h>
#endif

#endif
