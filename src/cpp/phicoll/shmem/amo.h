/* Atomic operations, as rma.h: each by one locked instruction on the PE's own word. Atomic with respect to each other, to
 * shmem_p and to shmem_g. The nonblocking ones, which store what they fetch, are done when they return. */

#define PHICOLL_SHMEM_AT(type, ctx, address, pe) ((type*)phicoll_shmem_at(ctx, address, sizeof(type), pe))

/* fetch, set, swap. Generic built-ins, which take floating-point types too. */
#define PHICOLL_SHMEM_FETCH(ctx, type, source, pe, result) \
  __atomic_load(PHICOLL_SHMEM_AT(type, ctx, source, pe), result, __ATOMIC_RELAXED)
#define PHICOLL_SHMEM_SET(ctx, type, dest, value, pe) \
  __atomic_store(PHICOLL_SHMEM_AT(type, ctx, dest, pe), &value, __ATOMIC_RELEASE)
#define PHICOLL_SHMEM_SWAP(ctx, type, dest, value, pe, result) \
  __atomic_exchange(PHICOLL_SHMEM_AT(type, ctx, dest, pe), &value, result, __ATOMIC_ACQ_REL)

#define PHICOLL_SHMEM_EXTENDED_AMO(name, type)                                                               \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_atomic_fetch, (shmem_ctx_t ctx, const type* source, int pe), {   \
    type fetched;                                                                                            \
    PHICOLL_SHMEM_FETCH(ctx, type, source, pe, &fetched);                                                    \
    return fetched;                                                                                          \
  })                                                                                                         \
  PHICOLL_SHMEM_FUNCTION(type, name##_atomic_fetch, (const type* source, int pe), {                          \
    type fetched;                                                                                            \
    PHICOLL_SHMEM_FETCH(SHMEM_CTX_DEFAULT, type, source, pe, &fetched);                                      \
    return fetched;                                                                                          \
  })                                                                                                         \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_fetch_nbi,                                                \
                         (shmem_ctx_t ctx, type * fetch, const type* source, int pe),                        \
                         { PHICOLL_SHMEM_FETCH(ctx, type, source, pe, fetch); })                             \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_fetch_nbi, (type * fetch, const type* source, int pe),          \
                         { PHICOLL_SHMEM_FETCH(SHMEM_CTX_DEFAULT, type, source, pe, fetch); })               \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_set, (shmem_ctx_t ctx, type * dest, type value, int pe),  \
                         { PHICOLL_SHMEM_SET(ctx, type, dest, value, pe); })                                 \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_set, (type * dest, type value, int pe),                         \
                         { PHICOLL_SHMEM_SET(SHMEM_CTX_DEFAULT, type, dest, value, pe); })                   \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_atomic_swap, (shmem_ctx_t ctx, type * dest, type value, int pe), \
                         {                                                                                   \
                           type fetched;                                                                     \
                           PHICOLL_SHMEM_SWAP(ctx, type, dest, value, pe, &fetched);                         \
                           return fetched;                                                                   \
                         })                                                                                  \
  PHICOLL_SHMEM_FUNCTION(type, name##_atomic_swap, (type * dest, type value, int pe), {                      \
    type fetched;                                                                                            \
    PHICOLL_SHMEM_SWAP(SHMEM_CTX_DEFAULT, type, dest, value, pe, &fetched);                                  \
    return fetched;                                                                                          \
  })                                                                                                         \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_swap_nbi,                                                 \
                         (shmem_ctx_t ctx, type * fetch, type * dest, type value, int pe),                   \
                         { PHICOLL_SHMEM_SWAP(ctx, type, dest, value, pe, fetch); })                         \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_swap_nbi, (type * fetch, type * dest, type value, int pe),      \
                         { PHICOLL_SHMEM_SWAP(SHMEM_CTX_DEFAULT, type, dest, value, pe, fetch); })           \
  /* deprecated in 1.4 */                                                                                    \
  PHICOLL_SHMEM_FUNCTION(type, name##_fetch, (const type* source, int pe), {                                 \
    type fetched;                                                                                            \
    PHICOLL_SHMEM_FETCH(SHMEM_CTX_DEFAULT, type, source, pe, &fetched);                                      \
    return fetched;                                                                                          \
  })                                                                                                         \
  PHICOLL_SHMEM_FUNCTION(void, name##_set, (type * dest, type value, int pe),                                \
                         { PHICOLL_SHMEM_SET(SHMEM_CTX_DEFAULT, type, dest, value, pe); })                   \
  PHICOLL_SHMEM_FUNCTION(type, name##_swap, (type * dest, type value, int pe), {                             \
    type fetched;                                                                                            \
    PHICOLL_SHMEM_SWAP(SHMEM_CTX_DEFAULT, type, dest, value, pe, &fetched);                                  \
    return fetched;                                                                                          \
  })
PHICOLL_SHMEM_EXTENDED_TYPES(PHICOLL_SHMEM_EXTENDED_AMO)
/* Deprecated: the name without a type as a function of long. C11 and C++ have it for every type. */
#if !defined(__cplusplus) || defined(PHICOLL_SHMEM_LIBRARY)
PHICOLL_SHMEM_FUNCTION(long, swap, (long* dest, long value, int pe), {
  long before;
  PHICOLL_SHMEM_SWAP(SHMEM_CTX_DEFAULT, long, dest, value, pe, &before);
  return before;
})
#endif
#undef PHICOLL_SHMEM_EXTENDED_AMO
#undef PHICOLL_SHMEM_FETCH
#undef PHICOLL_SHMEM_SET
#undef PHICOLL_SHMEM_SWAP

/* dest op= value for `way` add, or, and, xor, whose name is `op`: op, fetch_op, and fetch_op nonblocking. */
#define PHICOLL_SHMEM_UPDATE(ctx, type, dest, way, value, pe) \
  __atomic_fetch_##way(PHICOLL_SHMEM_AT(type, ctx, dest, pe), value, __ATOMIC_ACQ_REL)
#define PHICOLL_SHMEM_UPDATING(name, type, op)                                                               \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_atomic_fetch_##op,                                               \
                         (shmem_ctx_t ctx, type * dest, type value, int pe),                                 \
                         { return PHICOLL_SHMEM_UPDATE(ctx, type, dest, op, value, pe); })                   \
  PHICOLL_SHMEM_FUNCTION(type, name##_atomic_fetch_##op, (type * dest, type value, int pe),                  \
                         { return PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, op, value, pe); })     \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_fetch_##op##_nbi,                                         \
                         (shmem_ctx_t ctx, type * fetch, type * dest, type value, int pe),                   \
                         { *fetch = PHICOLL_SHMEM_UPDATE(ctx, type, dest, op, value, pe); })                 \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_fetch_##op##_nbi,                                               \
                         (type * fetch, type * dest, type value, int pe),                                    \
                         { *fetch = PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, op, value, pe); })   \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_##op, (shmem_ctx_t ctx, type * dest, type value, int pe), \
                         { PHICOLL_SHMEM_UPDATE(ctx, type, dest, op, value, pe); })                          \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_##op, (type * dest, type value, int pe),                        \
                         { PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, op, value, pe); })
#define PHICOLL_SHMEM_BITWISE_AMO(name, type) \
  PHICOLL_SHMEM_UPDATING(name, type, and)     \
  PHICOLL_SHMEM_UPDATING(name, type, or)      \
  PHICOLL_SHMEM_UPDATING(name, type, xor)
PHICOLL_SHMEM_BITWISE_TYPES(PHICOLL_SHMEM_BITWISE_AMO)
#undef PHICOLL_SHMEM_BITWISE_AMO

/* Returns what was there; stores `value` if that was `cond`. */
#define PHICOLL_SHMEM_COMPARE_SWAP(ctx, type, dest, cond, value, pe)                                    \
  __atomic_compare_exchange_n(PHICOLL_SHMEM_AT(type, ctx, dest, pe), &cond, value, 0, __ATOMIC_ACQ_REL, \
                              __ATOMIC_ACQUIRE)
#define PHICOLL_SHMEM_STANDARD_AMO(name, type)                                                             \
  PHICOLL_SHMEM_UPDATING(name, type, add)                                                                  \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_atomic_fetch_inc, (shmem_ctx_t ctx, type * dest, int pe),      \
                         { return PHICOLL_SHMEM_UPDATE(ctx, type, dest, add, 1, pe); })                    \
  PHICOLL_SHMEM_FUNCTION(type, name##_atomic_fetch_inc, (type * dest, int pe),                             \
                         { return PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, 1, pe); })      \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_fetch_inc_nbi,                                          \
                         (shmem_ctx_t ctx, type * fetch, type * dest, int pe),                             \
                         { *fetch = PHICOLL_SHMEM_UPDATE(ctx, type, dest, add, 1, pe); })                  \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_fetch_inc_nbi, (type * fetch, type * dest, int pe),           \
                         { *fetch = PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, 1, pe); })    \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_inc, (shmem_ctx_t ctx, type * dest, int pe),            \
                         { PHICOLL_SHMEM_UPDATE(ctx, type, dest, add, 1, pe); })                           \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_inc, (type * dest, int pe),                                   \
                         { PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, 1, pe); })             \
  PHICOLL_SHMEM_FUNCTION(type, ctx_##name##_atomic_compare_swap,                                           \
                         (shmem_ctx_t ctx, type * dest, type cond, type value, int pe), {                  \
                           PHICOLL_SHMEM_COMPARE_SWAP(ctx, type, dest, cond, value, pe);                   \
                           return cond;                                                                    \
                         })                                                                                \
  PHICOLL_SHMEM_FUNCTION(type, name##_atomic_compare_swap, (type * dest, type cond, type value, int pe), { \
    PHICOLL_SHMEM_COMPARE_SWAP(SHMEM_CTX_DEFAULT, type, dest, cond, value, pe);                            \
    return cond;                                                                                           \
  })                                                                                                       \
  PHICOLL_SHMEM_FUNCTION(void, ctx_##name##_atomic_compare_swap_nbi,                                       \
                         (shmem_ctx_t ctx, type * fetch, type * dest, type cond, type value, int pe), {    \
                           PHICOLL_SHMEM_COMPARE_SWAP(ctx, type, dest, cond, value, pe);                   \
                           *fetch = cond;                                                                  \
                         })                                                                                \
  PHICOLL_SHMEM_FUNCTION(void, name##_atomic_compare_swap_nbi,                                             \
                         (type * fetch, type * dest, type cond, type value, int pe), {                     \
                           PHICOLL_SHMEM_COMPARE_SWAP(SHMEM_CTX_DEFAULT, type, dest, cond, value, pe);     \
                           *fetch = cond;                                                                  \
                         })                                                                                \
  /* deprecated in 1.4 */                                                                                  \
  PHICOLL_SHMEM_FUNCTION(type, name##_cswap, (type * dest, type cond, type value, int pe), {               \
    PHICOLL_SHMEM_COMPARE_SWAP(SHMEM_CTX_DEFAULT, type, dest, cond, value, pe);                            \
    return cond;                                                                                           \
  })                                                                                                       \
  PHICOLL_SHMEM_FUNCTION(type, name##_finc, (type * dest, int pe),                                         \
                         { return PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, 1, pe); })      \
  PHICOLL_SHMEM_FUNCTION(void, name##_inc, (type * dest, int pe),                                          \
                         { PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, 1, pe); })             \
  PHICOLL_SHMEM_FUNCTION(type, name##_fadd, (type * dest, type value, int pe),                             \
                         { return PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, value, pe); })  \
  PHICOLL_SHMEM_FUNCTION(void, name##_add, (type * dest, type value, int pe),                              \
                         { PHICOLL_SHMEM_UPDATE(SHMEM_CTX_DEFAULT, type, dest, add, value, pe); })
PHICOLL_SHMEM_AMO_TYPES(PHICOLL_SHMEM_STANDARD_AMO)
#undef PHICOLL_SHMEM_STANDARD_AMO
#undef PHICOLL_SHMEM_COMPARE_SWAP
#undef PHICOLL_SHMEM_UPDATING
#undef PHICOLL_SHMEM_UPDATE
#undef PHICOLL_SHMEM_AT
