/* The names without a type: by C11's _Generic, or as overloads in C++. */
#ifndef PHICOLL_SHMEM_GENERIC_H
#define PHICOLL_SHMEM_GENERIC_H

/* clang-format off */
#ifdef __cplusplus

#define PHICOLL_SHMEM_ONE(result, f, name, parameters, arguments) \
  static inline result shmem_##f parameters { return shmem_##name##_##f arguments; }
/* The same on a context too. */
#define PHICOLL_SHMEM_BOTH(result, f, name, parameters, arguments) \
  PHICOLL_SHMEM_ONE(result, f, name, parameters, arguments)        \
  static inline result shmem_##f(shmem_ctx_t ctx, PHICOLL_SHMEM_BARE parameters) { \
    return shmem_ctx_##name##_##f(ctx, PHICOLL_SHMEM_BARE arguments); \
  }
#define PHICOLL_SHMEM_BARE(...) __VA_ARGS__

/* Transfers. */
#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_BOTH(void, p, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(type, g, name, (const type *source, int pe), (source, pe)) \
  PHICOLL_SHMEM_BOTH(void, put, name, \
                      (type *dest, const type *source, size_t nelems, int pe), \
                      (dest, source, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, get, name, \
                      (type *dest, const type *source, size_t nelems, int pe), \
                      (dest, source, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, put_nbi, name, \
                      (type *dest, const type *source, size_t nelems, int pe), \
                      (dest, source, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, get_nbi, name, \
                      (type *dest, const type *source, size_t nelems, int pe), \
                      (dest, source, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, iput, name, \
                      (type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                      (dest, source, dst, sst, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, iget, name, \
                      (type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                      (dest, source, dst, sst, nelems, pe)) \
  PHICOLL_SHMEM_BOTH(void, ibput, name, \
                      (type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                      (dest, source, dst, sst, bsize, nblocks, pe)) \
  PHICOLL_SHMEM_BOTH(void, ibget, name, \
                      (type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                      (dest, source, dst, sst, bsize, nblocks, pe)) \
  PHICOLL_SHMEM_BOTH(void, put_signal, name, \
                      (type *dest, const type *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                      (dest, source, nelems, sig_addr, signal, sig_op, pe)) \
  PHICOLL_SHMEM_BOTH(void, put_signal_nbi, name, \
                      (type *dest, const type *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                      (dest, source, nelems, sig_addr, signal, sig_op, pe))
PHICOLL_SHMEM_RMA_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

/* Atomics. */
#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch, name, (const type *source, int pe), (source, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_set, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(type, atomic_swap, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_nbi, name, (type *fetch, const type *source, int pe), (fetch, source, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_swap_nbi, name, \
                      (type *fetch, type *dest, type value, int pe), \
                      (fetch, dest, value, pe))
PHICOLL_SHMEM_EXTENDED_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_BOTH(type, atomic_compare_swap, name, \
                      (type *dest, type cond, type value, int pe), \
                      (dest, cond, value, pe)) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch_inc, name, (type *dest, int pe), (dest, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_inc, name, (type *dest, int pe), (dest, pe)) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch_add, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_add, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_compare_swap_nbi, name, \
                      (type *fetch, type *dest, type cond, type value, int pe), \
                      (fetch, dest, cond, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_inc_nbi, name, (type *fetch, type *dest, int pe), (fetch, dest, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_add_nbi, name, \
                      (type *fetch, type *dest, type value, int pe), \
                      (fetch, dest, value, pe))
PHICOLL_SHMEM_AMO_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch_and, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_and, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_and_nbi, name, \
                      (type *fetch, type *dest, type value, int pe), \
                      (fetch, dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch_or, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_or, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_or_nbi, name, \
                      (type *fetch, type *dest, type value, int pe), \
                      (fetch, dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(type, atomic_fetch_xor, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_xor, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_BOTH(void, atomic_fetch_xor_nbi, name, \
                      (type *fetch, type *dest, type value, int pe), \
                      (fetch, dest, value, pe))
PHICOLL_SHMEM_BITWISE_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

/* Atomics under their names before 1.4. */
#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(type, fetch, name, (const type *source, int pe), (source, pe)) \
  PHICOLL_SHMEM_ONE(void, set, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_ONE(type, swap, name, (type *dest, type value, int pe), (dest, value, pe))
PHICOLL_SHMEM_EXTENDED_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(type, cswap, name, (type *dest, type cond, type value, int pe), (dest, cond, value, pe)) \
  PHICOLL_SHMEM_ONE(type, finc, name, (type *dest, int pe), (dest, pe)) \
  PHICOLL_SHMEM_ONE(void, inc, name, (type *dest, int pe), (dest, pe)) \
  PHICOLL_SHMEM_ONE(type, fadd, name, (type *dest, type value, int pe), (dest, value, pe)) \
  PHICOLL_SHMEM_ONE(void, add, name, (type *dest, type value, int pe), (dest, value, pe))
PHICOLL_SHMEM_AMO_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

/* Waits and tests. */
#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(void, wait_until, name, (type *ivar, int cmp, type value), (ivar, cmp, value)) \
  PHICOLL_SHMEM_ONE(void, wait_until_all, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type value), \
                      (ivars, nelems, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(size_t, wait_until_any, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type value), \
                      (ivars, nelems, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(size_t, wait_until_some, name, \
                      (type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, type value), \
                      (ivars, nelems, indices, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(void, wait_until_all_vector, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type *values), \
                      (ivars, nelems, status, cmp, values)) \
  PHICOLL_SHMEM_ONE(size_t, wait_until_any_vector, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type *values), \
                      (ivars, nelems, status, cmp, values)) \
  PHICOLL_SHMEM_ONE(size_t, wait_until_some_vector, name, \
                      (type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, type *values), \
                      (ivars, nelems, indices, status, cmp, values)) \
  PHICOLL_SHMEM_ONE(int, test, name, (type *ivar, int cmp, type value), (ivar, cmp, value)) \
  PHICOLL_SHMEM_ONE(int, test_all, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type value), \
                      (ivars, nelems, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(size_t, test_any, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type value), \
                      (ivars, nelems, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(size_t, test_some, name, \
                      (type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, type value), \
                      (ivars, nelems, indices, status, cmp, value)) \
  PHICOLL_SHMEM_ONE(int, test_all_vector, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type *values), \
                      (ivars, nelems, status, cmp, values)) \
  PHICOLL_SHMEM_ONE(size_t, test_any_vector, name, \
                      (type *ivars, size_t nelems, const int *status, int cmp, type *values), \
                      (ivars, nelems, status, cmp, values)) \
  PHICOLL_SHMEM_ONE(size_t, test_some_vector, name, \
                      (type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, type *values), \
                      (ivars, nelems, indices, status, cmp, values))
PHICOLL_SHMEM_WAIT_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

/* Collectives on teams. */
#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(int, broadcast, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nelems, int PE_root), \
                      (team, dest, source, nelems, PE_root)) \
  PHICOLL_SHMEM_ONE(int, collect, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nelems), \
                      (team, dest, source, nelems)) \
  PHICOLL_SHMEM_ONE(int, fcollect, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nelems), \
                      (team, dest, source, nelems)) \
  PHICOLL_SHMEM_ONE(int, alltoall, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nelems), \
                      (team, dest, source, nelems)) \
  PHICOLL_SHMEM_ONE(int, alltoalls, name, \
                      (shmem_team_t team, type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
                      (team, dest, source, dst, sst, nelems))
PHICOLL_SHMEM_RMA_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(int, and_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, or_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, xor_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce))
PHICOLL_SHMEM_BITS_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(int, max_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, min_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce))
PHICOLL_SHMEM_ORDER_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

#define PHICOLL_SHMEM_OVERLOADS(name, type) \
  PHICOLL_SHMEM_ONE(int, sum_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, prod_reduce, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, sum_inscan, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce)) \
  PHICOLL_SHMEM_ONE(int, sum_exscan, name, \
                      (shmem_team_t team, type *dest, const type *source, size_t nreduce), \
                      (team, dest, source, nreduce))
PHICOLL_SHMEM_SUM_DISTINCT(PHICOLL_SHMEM_OVERLOADS)
#undef PHICOLL_SHMEM_OVERLOADS

static inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
static inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
static inline void shmem_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes) {
  shmem_ctx_pe_quiet(ctx, target_pes, npes);
}
static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* The function that list's types have for what the first or second argument points to. A list ends in a comma, hence the
 * last association. */
#define PHICOLL_SHMEM_SELECT(which, list, of, ...) \
  _Generic(*PHICOLL_SHMEM_##which(__VA_ARGS__, 0), PHICOLL_SHMEM_##list##_DISTINCT(of) struct phicoll_shmem_ctx: 0)
#define PHICOLL_SHMEM_FIRST(a, ...) (a)
#define PHICOLL_SHMEM_SECOND(a, b, ...) (b)
/* The number of arguments tells a call on a context from one without, which takes `count`. */
#define PHICOLL_SHMEM_CALL(count, list, f, ...) \
  PHICOLL_SHMEM_PASTE(PHICOLL_SHMEM_##count##_OF_, PHICOLL_SHMEM_COUNT(__VA_ARGS__))(list, f, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_COUNT(...) PHICOLL_SHMEM_COUNT_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PHICOLL_SHMEM_COUNT_(a, b, c, d, e, f, g, h, i, count, ...) count
#define PHICOLL_SHMEM_PASTE(a, b) PHICOLL_SHMEM_PASTE_(a, b)
#define PHICOLL_SHMEM_PASTE_(a, b) a##b
#define PHICOLL_SHMEM_2_OF_2(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_2_OF_3(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_3_OF_3(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_3_OF_4(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_4_OF_4(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_4_OF_5(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_5_OF_5(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_5_OF_6(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_6_OF_6(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_6_OF_7(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_7_OF_7(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_7_OF_8(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_8_OF_8(list, f, ...) PHICOLL_SHMEM_SELECT(FIRST, list, PHICOLL_SHMEM_OF_##f, __VA_ARGS__)
#define PHICOLL_SHMEM_8_OF_9(list, f, ...) PHICOLL_SHMEM_SELECT(SECOND, list, PHICOLL_SHMEM_ON_##f, __VA_ARGS__)

/* Transfers. */
#define PHICOLL_SHMEM_OF_p(name, type) type: shmem_##name##_p,
#define PHICOLL_SHMEM_ON_p(name, type) type: shmem_ctx_##name##_p,
#define shmem_p(...) PHICOLL_SHMEM_CALL(3, RMA, p, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_g(name, type) type: shmem_##name##_g,
#define PHICOLL_SHMEM_ON_g(name, type) type: shmem_ctx_##name##_g,
#define shmem_g(...) PHICOLL_SHMEM_CALL(2, RMA, g, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_put(name, type) type: shmem_##name##_put,
#define PHICOLL_SHMEM_ON_put(name, type) type: shmem_ctx_##name##_put,
#define shmem_put(...) PHICOLL_SHMEM_CALL(4, RMA, put, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_get(name, type) type: shmem_##name##_get,
#define PHICOLL_SHMEM_ON_get(name, type) type: shmem_ctx_##name##_get,
#define shmem_get(...) PHICOLL_SHMEM_CALL(4, RMA, get, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_put_nbi(name, type) type: shmem_##name##_put_nbi,
#define PHICOLL_SHMEM_ON_put_nbi(name, type) type: shmem_ctx_##name##_put_nbi,
#define shmem_put_nbi(...) PHICOLL_SHMEM_CALL(4, RMA, put_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_get_nbi(name, type) type: shmem_##name##_get_nbi,
#define PHICOLL_SHMEM_ON_get_nbi(name, type) type: shmem_ctx_##name##_get_nbi,
#define shmem_get_nbi(...) PHICOLL_SHMEM_CALL(4, RMA, get_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_iput(name, type) type: shmem_##name##_iput,
#define PHICOLL_SHMEM_ON_iput(name, type) type: shmem_ctx_##name##_iput,
#define shmem_iput(...) PHICOLL_SHMEM_CALL(6, RMA, iput, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_iget(name, type) type: shmem_##name##_iget,
#define PHICOLL_SHMEM_ON_iget(name, type) type: shmem_ctx_##name##_iget,
#define shmem_iget(...) PHICOLL_SHMEM_CALL(6, RMA, iget, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_ibput(name, type) type: shmem_##name##_ibput,
#define PHICOLL_SHMEM_ON_ibput(name, type) type: shmem_ctx_##name##_ibput,
#define shmem_ibput(...) PHICOLL_SHMEM_CALL(7, RMA, ibput, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_ibget(name, type) type: shmem_##name##_ibget,
#define PHICOLL_SHMEM_ON_ibget(name, type) type: shmem_ctx_##name##_ibget,
#define shmem_ibget(...) PHICOLL_SHMEM_CALL(7, RMA, ibget, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_put_signal(name, type) type: shmem_##name##_put_signal,
#define PHICOLL_SHMEM_ON_put_signal(name, type) type: shmem_ctx_##name##_put_signal,
#define shmem_put_signal(...) PHICOLL_SHMEM_CALL(7, RMA, put_signal, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_put_signal_nbi(name, type) type: shmem_##name##_put_signal_nbi,
#define PHICOLL_SHMEM_ON_put_signal_nbi(name, type) type: shmem_ctx_##name##_put_signal_nbi,
#define shmem_put_signal_nbi(...) PHICOLL_SHMEM_CALL(7, RMA, put_signal_nbi, __VA_ARGS__)

/* Atomics. */
#define PHICOLL_SHMEM_OF_atomic_fetch(name, type) type: shmem_##name##_atomic_fetch,
#define PHICOLL_SHMEM_ON_atomic_fetch(name, type) type: shmem_ctx_##name##_atomic_fetch,
#define shmem_atomic_fetch(...) PHICOLL_SHMEM_CALL(2, EXTENDED, atomic_fetch, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_set(name, type) type: shmem_##name##_atomic_set,
#define PHICOLL_SHMEM_ON_atomic_set(name, type) type: shmem_ctx_##name##_atomic_set,
#define shmem_atomic_set(...) PHICOLL_SHMEM_CALL(3, EXTENDED, atomic_set, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_swap(name, type) type: shmem_##name##_atomic_swap,
#define PHICOLL_SHMEM_ON_atomic_swap(name, type) type: shmem_ctx_##name##_atomic_swap,
#define shmem_atomic_swap(...) PHICOLL_SHMEM_CALL(3, EXTENDED, atomic_swap, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_nbi(name, type) type: shmem_##name##_atomic_fetch_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_nbi,
#define shmem_atomic_fetch_nbi(...) PHICOLL_SHMEM_CALL(3, EXTENDED, atomic_fetch_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_swap_nbi(name, type) type: shmem_##name##_atomic_swap_nbi,
#define PHICOLL_SHMEM_ON_atomic_swap_nbi(name, type) type: shmem_ctx_##name##_atomic_swap_nbi,
#define shmem_atomic_swap_nbi(...) PHICOLL_SHMEM_CALL(4, EXTENDED, atomic_swap_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_compare_swap(name, type) type: shmem_##name##_atomic_compare_swap,
#define PHICOLL_SHMEM_ON_atomic_compare_swap(name, type) type: shmem_ctx_##name##_atomic_compare_swap,
#define shmem_atomic_compare_swap(...) PHICOLL_SHMEM_CALL(4, AMO, atomic_compare_swap, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_inc(name, type) type: shmem_##name##_atomic_fetch_inc,
#define PHICOLL_SHMEM_ON_atomic_fetch_inc(name, type) type: shmem_ctx_##name##_atomic_fetch_inc,
#define shmem_atomic_fetch_inc(...) PHICOLL_SHMEM_CALL(2, AMO, atomic_fetch_inc, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_inc(name, type) type: shmem_##name##_atomic_inc,
#define PHICOLL_SHMEM_ON_atomic_inc(name, type) type: shmem_ctx_##name##_atomic_inc,
#define shmem_atomic_inc(...) PHICOLL_SHMEM_CALL(2, AMO, atomic_inc, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_add(name, type) type: shmem_##name##_atomic_fetch_add,
#define PHICOLL_SHMEM_ON_atomic_fetch_add(name, type) type: shmem_ctx_##name##_atomic_fetch_add,
#define shmem_atomic_fetch_add(...) PHICOLL_SHMEM_CALL(3, AMO, atomic_fetch_add, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_add(name, type) type: shmem_##name##_atomic_add,
#define PHICOLL_SHMEM_ON_atomic_add(name, type) type: shmem_ctx_##name##_atomic_add,
#define shmem_atomic_add(...) PHICOLL_SHMEM_CALL(3, AMO, atomic_add, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_compare_swap_nbi(name, type) type: shmem_##name##_atomic_compare_swap_nbi,
#define PHICOLL_SHMEM_ON_atomic_compare_swap_nbi(name, type) type: shmem_ctx_##name##_atomic_compare_swap_nbi,
#define shmem_atomic_compare_swap_nbi(...) PHICOLL_SHMEM_CALL(5, AMO, atomic_compare_swap_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_inc_nbi(name, type) type: shmem_##name##_atomic_fetch_inc_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_inc_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_inc_nbi,
#define shmem_atomic_fetch_inc_nbi(...) PHICOLL_SHMEM_CALL(3, AMO, atomic_fetch_inc_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_add_nbi(name, type) type: shmem_##name##_atomic_fetch_add_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_add_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_add_nbi,
#define shmem_atomic_fetch_add_nbi(...) PHICOLL_SHMEM_CALL(4, AMO, atomic_fetch_add_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_and(name, type) type: shmem_##name##_atomic_fetch_and,
#define PHICOLL_SHMEM_ON_atomic_fetch_and(name, type) type: shmem_ctx_##name##_atomic_fetch_and,
#define shmem_atomic_fetch_and(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_fetch_and, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_and(name, type) type: shmem_##name##_atomic_and,
#define PHICOLL_SHMEM_ON_atomic_and(name, type) type: shmem_ctx_##name##_atomic_and,
#define shmem_atomic_and(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_and, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_and_nbi(name, type) type: shmem_##name##_atomic_fetch_and_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_and_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_and_nbi,
#define shmem_atomic_fetch_and_nbi(...) PHICOLL_SHMEM_CALL(4, BITWISE, atomic_fetch_and_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_or(name, type) type: shmem_##name##_atomic_fetch_or,
#define PHICOLL_SHMEM_ON_atomic_fetch_or(name, type) type: shmem_ctx_##name##_atomic_fetch_or,
#define shmem_atomic_fetch_or(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_fetch_or, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_or(name, type) type: shmem_##name##_atomic_or,
#define PHICOLL_SHMEM_ON_atomic_or(name, type) type: shmem_ctx_##name##_atomic_or,
#define shmem_atomic_or(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_or, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_or_nbi(name, type) type: shmem_##name##_atomic_fetch_or_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_or_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_or_nbi,
#define shmem_atomic_fetch_or_nbi(...) PHICOLL_SHMEM_CALL(4, BITWISE, atomic_fetch_or_nbi, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_xor(name, type) type: shmem_##name##_atomic_fetch_xor,
#define PHICOLL_SHMEM_ON_atomic_fetch_xor(name, type) type: shmem_ctx_##name##_atomic_fetch_xor,
#define shmem_atomic_fetch_xor(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_fetch_xor, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_xor(name, type) type: shmem_##name##_atomic_xor,
#define PHICOLL_SHMEM_ON_atomic_xor(name, type) type: shmem_ctx_##name##_atomic_xor,
#define shmem_atomic_xor(...) PHICOLL_SHMEM_CALL(3, BITWISE, atomic_xor, __VA_ARGS__)
#define PHICOLL_SHMEM_OF_atomic_fetch_xor_nbi(name, type) type: shmem_##name##_atomic_fetch_xor_nbi,
#define PHICOLL_SHMEM_ON_atomic_fetch_xor_nbi(name, type) type: shmem_ctx_##name##_atomic_fetch_xor_nbi,
#define shmem_atomic_fetch_xor_nbi(...) PHICOLL_SHMEM_CALL(4, BITWISE, atomic_fetch_xor_nbi, __VA_ARGS__)

/* Atomics under their names before 1.4. */
#define PHICOLL_SHMEM_OF_fetch(name, type) type: shmem_##name##_fetch,
#define shmem_fetch(...) PHICOLL_SHMEM_SELECT(FIRST, EXTENDED, PHICOLL_SHMEM_OF_fetch, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_set(name, type) type: shmem_##name##_set,
#define shmem_set(...) PHICOLL_SHMEM_SELECT(FIRST, EXTENDED, PHICOLL_SHMEM_OF_set, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_swap(name, type) type: shmem_##name##_swap,
#define shmem_swap(...) PHICOLL_SHMEM_SELECT(FIRST, EXTENDED, PHICOLL_SHMEM_OF_swap, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_cswap(name, type) type: shmem_##name##_cswap,
#define shmem_cswap(...) PHICOLL_SHMEM_SELECT(FIRST, AMO, PHICOLL_SHMEM_OF_cswap, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_finc(name, type) type: shmem_##name##_finc,
#define shmem_finc(...) PHICOLL_SHMEM_SELECT(FIRST, AMO, PHICOLL_SHMEM_OF_finc, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_inc(name, type) type: shmem_##name##_inc,
#define shmem_inc(...) PHICOLL_SHMEM_SELECT(FIRST, AMO, PHICOLL_SHMEM_OF_inc, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_fadd(name, type) type: shmem_##name##_fadd,
#define shmem_fadd(...) PHICOLL_SHMEM_SELECT(FIRST, AMO, PHICOLL_SHMEM_OF_fadd, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_add(name, type) type: shmem_##name##_add,
#define shmem_add(...) PHICOLL_SHMEM_SELECT(FIRST, AMO, PHICOLL_SHMEM_OF_add, __VA_ARGS__)(__VA_ARGS__)

/* Waits and tests. */
#define PHICOLL_SHMEM_OF_wait_until(name, type) type: shmem_##name##_wait_until,
#define shmem_wait_until(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_all(name, type) type: shmem_##name##_wait_until_all,
#define shmem_wait_until_all(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_all, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_any(name, type) type: shmem_##name##_wait_until_any,
#define shmem_wait_until_any(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_any, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_some(name, type) type: shmem_##name##_wait_until_some,
#define shmem_wait_until_some(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_some, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_all_vector(name, type) type: shmem_##name##_wait_until_all_vector,
#define shmem_wait_until_all_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_all_vector, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_any_vector(name, type) type: shmem_##name##_wait_until_any_vector,
#define shmem_wait_until_any_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_any_vector, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_wait_until_some_vector(name, type) type: shmem_##name##_wait_until_some_vector,
#define shmem_wait_until_some_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_wait_until_some_vector, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test(name, type) type: shmem_##name##_test,
#define shmem_test(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_all(name, type) type: shmem_##name##_test_all,
#define shmem_test_all(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_all, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_any(name, type) type: shmem_##name##_test_any,
#define shmem_test_any(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_any, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_some(name, type) type: shmem_##name##_test_some,
#define shmem_test_some(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_some, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_all_vector(name, type) type: shmem_##name##_test_all_vector,
#define shmem_test_all_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_all_vector, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_any_vector(name, type) type: shmem_##name##_test_any_vector,
#define shmem_test_any_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_any_vector, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_test_some_vector(name, type) type: shmem_##name##_test_some_vector,
#define shmem_test_some_vector(...) PHICOLL_SHMEM_SELECT(FIRST, WAIT, PHICOLL_SHMEM_OF_test_some_vector, __VA_ARGS__)(__VA_ARGS__)

/* Collectives on teams. */
#define PHICOLL_SHMEM_OF_broadcast(name, type) type: shmem_##name##_broadcast,
#define shmem_broadcast(...) PHICOLL_SHMEM_SELECT(SECOND, RMA, PHICOLL_SHMEM_OF_broadcast, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_collect(name, type) type: shmem_##name##_collect,
#define shmem_collect(...) PHICOLL_SHMEM_SELECT(SECOND, RMA, PHICOLL_SHMEM_OF_collect, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_fcollect(name, type) type: shmem_##name##_fcollect,
#define shmem_fcollect(...) PHICOLL_SHMEM_SELECT(SECOND, RMA, PHICOLL_SHMEM_OF_fcollect, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_alltoall(name, type) type: shmem_##name##_alltoall,
#define shmem_alltoall(...) PHICOLL_SHMEM_SELECT(SECOND, RMA, PHICOLL_SHMEM_OF_alltoall, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_alltoalls(name, type) type: shmem_##name##_alltoalls,
#define shmem_alltoalls(...) PHICOLL_SHMEM_SELECT(SECOND, RMA, PHICOLL_SHMEM_OF_alltoalls, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_and_reduce(name, type) type: shmem_##name##_and_reduce,
#define shmem_and_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, BITS, PHICOLL_SHMEM_OF_and_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_or_reduce(name, type) type: shmem_##name##_or_reduce,
#define shmem_or_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, BITS, PHICOLL_SHMEM_OF_or_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_xor_reduce(name, type) type: shmem_##name##_xor_reduce,
#define shmem_xor_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, BITS, PHICOLL_SHMEM_OF_xor_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_max_reduce(name, type) type: shmem_##name##_max_reduce,
#define shmem_max_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, ORDER, PHICOLL_SHMEM_OF_max_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_min_reduce(name, type) type: shmem_##name##_min_reduce,
#define shmem_min_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, ORDER, PHICOLL_SHMEM_OF_min_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_sum_reduce(name, type) type: shmem_##name##_sum_reduce,
#define shmem_sum_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, SUM, PHICOLL_SHMEM_OF_sum_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_prod_reduce(name, type) type: shmem_##name##_prod_reduce,
#define shmem_prod_reduce(...) PHICOLL_SHMEM_SELECT(SECOND, SUM, PHICOLL_SHMEM_OF_prod_reduce, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_sum_inscan(name, type) type: shmem_##name##_sum_inscan,
#define shmem_sum_inscan(...) PHICOLL_SHMEM_SELECT(SECOND, SUM, PHICOLL_SHMEM_OF_sum_inscan, __VA_ARGS__)(__VA_ARGS__)
#define PHICOLL_SHMEM_OF_sum_exscan(name, type) type: shmem_##name##_sum_exscan,
#define shmem_sum_exscan(...) PHICOLL_SHMEM_SELECT(SECOND, SUM, PHICOLL_SHMEM_OF_sum_exscan, __VA_ARGS__)(__VA_ARGS__)

#define PHICOLL_SHMEM_BY_COUNT(prefix, ...) PHICOLL_SHMEM_PASTE(prefix, PHICOLL_SHMEM_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PHICOLL_SHMEM_SIGNAL_SET_3 shmem_signal_set
#define PHICOLL_SHMEM_SIGNAL_SET_4 shmem_ctx_signal_set
#define shmem_signal_set(...) PHICOLL_SHMEM_BY_COUNT(PHICOLL_SHMEM_SIGNAL_SET_, __VA_ARGS__)
#define PHICOLL_SHMEM_SIGNAL_ADD_3 shmem_signal_add
#define PHICOLL_SHMEM_SIGNAL_ADD_4 shmem_ctx_signal_add
#define shmem_signal_add(...) PHICOLL_SHMEM_BY_COUNT(PHICOLL_SHMEM_SIGNAL_ADD_, __VA_ARGS__)
#define PHICOLL_SHMEM_PE_QUIET_2 shmem_pe_quiet
#define PHICOLL_SHMEM_PE_QUIET_3 shmem_ctx_pe_quiet
#define shmem_pe_quiet(...) PHICOLL_SHMEM_BY_COUNT(PHICOLL_SHMEM_PE_QUIET_, __VA_ARGS__)
#define PHICOLL_SHMEM_SYNC_1 shmem_team_sync
#define PHICOLL_SHMEM_SYNC_4 shmem_sync
#define shmem_sync(...) PHICOLL_SHMEM_BY_COUNT(PHICOLL_SHMEM_SYNC_, __VA_ARGS__)

#else

void shmem_wait_until(long *ivar, int cmp, long value);

#endif
/* clang-format on */

#endif
