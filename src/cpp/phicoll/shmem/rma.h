/* Transfers: put, get, strided, nonblocking, with a signal. Included by shmem.h, once for each use of these templates;
 * PHICOLL_SHMEM_FUNCTION(result, name, parameters, body) is what it makes of them. Each function of a context is followed
 * by the same on the default context. Sizes are in elements, strides too. Nonblocking transfers are done when they return,
 * which quiet allows. */

/* shmem_<type>_p, _g: one element, by one store or load. */
#define PHICOLL_SHMEM_P(name, type)                                                                \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_p, (shmem_ctx_t ctx, type * dest, type value, int pe), \
                         {PHICOLL_SHMEM_STORE(type, ctx, dest, value, pe)})                        \
  PHICOLL_SHMEM_FUNCTION(void, name##_p, (type * dest, type value, int pe),                        \
                         {PHICOLL_SHMEM_STORE(type, SHMEM_CTX_DEFAULT, dest, value, pe)})
#define PHICOLL_SHMEM_G(name, type)                                                           \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_g, (shmem_ctx_t ctx, const type* source, int pe), \
                         {PHICOLL_SHMEM_LOAD(type, ctx, source, pe)})                         \
  PHICOLL_SHMEM_FUNCTION(type, name##_g, (const type* source, int pe),                        \
                         {PHICOLL_SHMEM_LOAD(type, SHMEM_CTX_DEFAULT, source, pe)})
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEM_P)
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEM_G)
#undef PHICOLL_SHMEM_P
#undef PHICOLL_SHMEM_G

/* Blocks, for `way` put or get. `name` holds the type or the size: int_put, put32, putmem. */
#define PHICOLL_SHMEM_BLOCK(name, type, element, way)                                               \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name,                                                          \
                         (shmem_ctx_t ctx, type * dest, const type* source, size_t nelems, int pe), \
                         { phicoll_shmem_##way(ctx, dest, source, nelems*(element), pe); })         \
  PHICOLL_SHMEM_FUNCTION(void, name, (type * dest, const type* source, size_t nelems, int pe),      \
                         { phicoll_shmem_##way(SHMEM_CTX_DEFAULT, dest, source, nelems*(element), pe); })
#define PHICOLL_SHMEM_STRIDED(name, type, element, way)                                                   \
  PHICOLL_SHMEM_FUNCTION(                                                                                 \
      void, ctx_##name,                                                                                   \
      (shmem_ctx_t ctx, type * dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,     \
       int pe),                                                                                           \
      { phicoll_shmem_strided_##way(ctx, dest, source, dst, sst, element, 1, nelems, pe); })              \
  PHICOLL_SHMEM_FUNCTION(                                                                                 \
      void, name, (type * dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
      { phicoll_shmem_strided_##way(SHMEM_CTX_DEFAULT, dest, source, dst, sst, element, 1, nelems, pe); })
#define PHICOLL_SHMEM_BLOCKS(name, type, element, way)                                                       \
  PHICOLL_SHMEM_FUNCTION(                                                                                    \
      void, ctx_##name,                                                                                      \
      (shmem_ctx_t ctx, type * dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,         \
       size_t nblocks, int pe),                                                                              \
      { phicoll_shmem_strided_##way(ctx, dest, source, dst, sst, element, bsize, nblocks, pe); })            \
  PHICOLL_SHMEM_FUNCTION(                                                                                    \
      void, name,                                                                                            \
      (type * dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
      {                                                                                                      \
        phicoll_shmem_strided_##way(SHMEM_CTX_DEFAULT, dest, source, dst, sst, element, bsize, nblocks, pe); \
      })
#define PHICOLL_SHMEM_WITH_SIGNAL(name, type, element)                                                       \
  PHICOLL_SHMEM_FUNCTION(                                                                                    \
      void, ctx_##name,                                                                                      \
      (shmem_ctx_t ctx, type * dest, const type* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, \
       int sig_op, int pe),                                                                                  \
      { phicoll_shmem_put_signal(ctx, dest, source, nelems*(element), sig_addr, signal, sig_op, pe); })      \
  PHICOLL_SHMEM_FUNCTION(void, name,                                                                         \
                         (type * dest, const type* source, size_t nelems, uint64_t* sig_addr,                \
                          uint64_t signal, int sig_op, int pe),                                              \
                         {                                                                                   \
                           phicoll_shmem_put_signal(SHMEM_CTX_DEFAULT, dest, source, nelems*(element),       \
                                                    sig_addr, signal, sig_op, pe);                           \
                         })

#define PHICOLL_SHMEM_OF_TYPE(name, type)                          \
  PHICOLL_SHMEM_BLOCK(name##_put, type, sizeof(type), put)         \
  PHICOLL_SHMEM_BLOCK(name##_get, type, sizeof(type), get)         \
  PHICOLL_SHMEM_BLOCK(name##_put_nbi, type, sizeof(type), put)     \
  PHICOLL_SHMEM_BLOCK(name##_get_nbi, type, sizeof(type), get)     \
  PHICOLL_SHMEM_STRIDED(name##_iput, type, sizeof(type), put)      \
  PHICOLL_SHMEM_STRIDED(name##_iget, type, sizeof(type), get)      \
  PHICOLL_SHMEM_BLOCKS(name##_ibput, type, sizeof(type), put)      \
  PHICOLL_SHMEM_BLOCKS(name##_ibget, type, sizeof(type), get)      \
  PHICOLL_SHMEM_WITH_SIGNAL(name##_put_signal, type, sizeof(type)) \
  PHICOLL_SHMEM_WITH_SIGNAL(name##_put_signal_nbi, type, sizeof(type))
#define PHICOLL_SHMEM_OF_SIZE(bits, bytes)                   \
  PHICOLL_SHMEM_BLOCK(put##bits, void, bytes, put)           \
  PHICOLL_SHMEM_BLOCK(get##bits, void, bytes, get)           \
  PHICOLL_SHMEM_BLOCK(put##bits##_nbi, void, bytes, put)     \
  PHICOLL_SHMEM_BLOCK(get##bits##_nbi, void, bytes, get)     \
  PHICOLL_SHMEM_STRIDED(iput##bits, void, bytes, put)        \
  PHICOLL_SHMEM_STRIDED(iget##bits, void, bytes, get)        \
  PHICOLL_SHMEM_BLOCKS(ibput##bits, void, bytes, put)        \
  PHICOLL_SHMEM_BLOCKS(ibget##bits, void, bytes, get)        \
  PHICOLL_SHMEM_WITH_SIGNAL(put##bits##_signal, void, bytes) \
  PHICOLL_SHMEM_WITH_SIGNAL(put##bits##_signal_nbi, void, bytes)
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEM_OF_TYPE)
PHICOLL_SHMEM_SIZES(PHICOLL_SHMEM_OF_SIZE)
PHICOLL_SHMEM_BLOCK(putmem, void, 1, put)
PHICOLL_SHMEM_BLOCK(getmem, void, 1, get)
PHICOLL_SHMEM_BLOCK(putmem_nbi, void, 1, put)
PHICOLL_SHMEM_BLOCK(getmem_nbi, void, 1, get)
PHICOLL_SHMEM_WITH_SIGNAL(putmem_signal, void, 1)
PHICOLL_SHMEM_WITH_SIGNAL(putmem_signal_nbi, void, 1)
#undef PHICOLL_SHMEM_OF_TYPE
#undef PHICOLL_SHMEM_OF_SIZE
#undef PHICOLL_SHMEM_BLOCK
#undef PHICOLL_SHMEM_STRIDED
#undef PHICOLL_SHMEM_BLOCKS
#undef PHICOLL_SHMEM_WITH_SIGNAL

/* Signals of 1.6. Whoever sees a signal sees what this PE put before it. */
#define PHICOLL_SHMEM_SIGNAL(name, sig_op)                                                    \
  PHICOLL_SHMEM_FUNCTION(void, ctx_signal_##name,                                             \
                         (shmem_ctx_t ctx, uint64_t * sig_addr, uint64_t signal, int pe),     \
                         { phicoll_shmem_signal(ctx, sig_addr, signal, sig_op, pe); })        \
  PHICOLL_SHMEM_FUNCTION(void, signal_##name, (uint64_t * sig_addr, uint64_t signal, int pe), \
                         { phicoll_shmem_signal(SHMEM_CTX_DEFAULT, sig_addr, signal, sig_op, pe); })
PHICOLL_SHMEM_SIGNAL(set, SHMEM_SIGNAL_SET)
PHICOLL_SHMEM_SIGNAL(add, SHMEM_SIGNAL_ADD)
#undef PHICOLL_SHMEM_SIGNAL
PHICOLL_SHMEM_FUNCTION(uint64_t, signal_fetch, (const uint64_t* sig_addr),
                       { return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE); })

/* Order. fence() is a release fence: it orders this PE's earlier loads, stores and atomics before its later stores and
 * atomics. x86 and k1om stores become visible in program order, so it binds the compiler alone; memcpy's streaming stores end
 * with a fence of their own. On aarch64 stores to different lines may become visible in any order, and a store may pass an
 * earlier load; it is `dmb ish`, not the cheaper `dmb ishst`, as loads are to be ordered too: a PE that has read another's
 * word and then puts a flag must not be seen to have read later. The PE that waits for the flag looks with acquire loads
 * (ldar), so that its reads of the data come after. quiet() also waits until earlier stores are visible to all: a later load
 * is not executed before them, for which aarch64 needs the full `dmb ish` and x86 a locked instruction. */
PHICOLL_SHMEM_FUNCTION(void, fence, (void), { __atomic_thread_fence(__ATOMIC_RELEASE); })
PHICOLL_SHMEM_FUNCTION(void, quiet, (void), { phicoll_shmem_full_fence(); })
PHICOLL_SHMEM_FUNCTION(void, ctx_fence, (shmem_ctx_t ctx), {
  (void)ctx;
  __atomic_thread_fence(__ATOMIC_RELEASE);
})
PHICOLL_SHMEM_FUNCTION(void, ctx_quiet, (shmem_ctx_t ctx), {
  (void)ctx;
  phicoll_shmem_full_fence();
})
PHICOLL_SHMEM_FUNCTION(void, pe_quiet, (const int* target_pes, size_t npes),
                       { phicoll_shmem_quiet_pes(SHMEM_CTX_DEFAULT, target_pes, npes); })
PHICOLL_SHMEM_FUNCTION(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, size_t npes),
                       { phicoll_shmem_quiet_pes(ctx, target_pes, npes); })
