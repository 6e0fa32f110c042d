/* Everything that is a call into the library, as declarations: PHICOLL_SHMEM_DECLARE(result, name, parameters) is what
 * shmem.h makes of each. */

/* The library. */
PHICOLL_SHMEM_DECLARE(void, init, (void))
PHICOLL_SHMEM_DECLARE(int, init_thread, (int requested, int* provided))
PHICOLL_SHMEM_DECLARE(void, query_thread, (int* provided))
PHICOLL_SHMEM_DECLARE(void, query_initialized, (int* initialized))
PHICOLL_SHMEM_DECLARE(void, finalize, (void))
PHICOLL_SHMEM_DECLARE(__attribute__((noreturn)) void, global_exit, (int status))
PHICOLL_SHMEM_DECLARE(int, my_pe, (void))
PHICOLL_SHMEM_DECLARE(int, n_pes, (void))
PHICOLL_SHMEM_DECLARE(int, pe_accessible, (int pe))
PHICOLL_SHMEM_DECLARE(int, addr_accessible, (const void* addr, int pe))
PHICOLL_SHMEM_DECLARE(void*, ptr, (const void* dest, int pe))
PHICOLL_SHMEM_DECLARE(void*, team_ptr, (shmem_team_t team, const void* dest, int pe))
PHICOLL_SHMEM_DECLARE(void, info_get_version, (int* major, int* minor))
PHICOLL_SHMEM_DECLARE(void, info_get_name, (char* name))
PHICOLL_SHMEM_DECLARE(void, pcontrol, (int level, ...))

/* The symmetric heap. */
PHICOLL_SHMEM_DECLARE(void*, malloc, (size_t size))
PHICOLL_SHMEM_DECLARE(void*, malloc_with_hints, (size_t size, long hints))
PHICOLL_SHMEM_DECLARE(void*, calloc, (size_t count, size_t size))
PHICOLL_SHMEM_DECLARE(void*, align, (size_t alignment, size_t size))
PHICOLL_SHMEM_DECLARE(void*, realloc, (void* ptr, size_t size))
PHICOLL_SHMEM_DECLARE(void, free, (void* ptr))

/* Teams and contexts. */
PHICOLL_SHMEM_DECLARE(int, team_my_pe, (shmem_team_t team))
PHICOLL_SHMEM_DECLARE(int, team_n_pes, (shmem_team_t team))
PHICOLL_SHMEM_DECLARE(int, team_get_config,
                      (shmem_team_t team, long config_mask, shmem_team_config_t* config))
PHICOLL_SHMEM_DECLARE(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
PHICOLL_SHMEM_DECLARE(int, team_split_strided,
                      (shmem_team_t parent_team, int start, int stride, int size,
                       const shmem_team_config_t* config, long config_mask, shmem_team_t* new_team))
PHICOLL_SHMEM_DECLARE(int, team_split_2d,
                      (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config,
                       long xaxis_mask, shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
                       long yaxis_mask, shmem_team_t* yaxis_team))
PHICOLL_SHMEM_DECLARE(void, team_destroy, (shmem_team_t team))
PHICOLL_SHMEM_DECLARE(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx))
PHICOLL_SHMEM_DECLARE(int, ctx_create, (long options, shmem_ctx_t* ctx))
PHICOLL_SHMEM_DECLARE(void, ctx_destroy, (shmem_ctx_t ctx))
PHICOLL_SHMEM_DECLARE(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team))
PHICOLL_SHMEM_DECLARE(void, ctx_session_start,
                      (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config,
                       long config_mask))
PHICOLL_SHMEM_DECLARE(void, ctx_session_stop, (shmem_ctx_t ctx))

/* Waiting for a change of a PE's own memory. */
#define PHICOLL_SHMEM_WAIT(name, type)                                                           \
  PHICOLL_SHMEM_DECLARE(void, name##_wait_until, (type * ivar, int cmp, type value))             \
  PHICOLL_SHMEM_DECLARE(void, name##_wait_until_all,                                             \
                        (type * ivars, size_t nelems, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(size_t, name##_wait_until_any,                                           \
                        (type * ivars, size_t nelems, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(                                                                         \
      size_t, name##_wait_until_some,                                                            \
      (type * ivars, size_t nelems, size_t * indices, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(void, name##_wait_until_all_vector,                                      \
                        (type * ivars, size_t nelems, const int* status, int cmp, type* values)) \
  PHICOLL_SHMEM_DECLARE(size_t, name##_wait_until_any_vector,                                    \
                        (type * ivars, size_t nelems, const int* status, int cmp, type* values)) \
  PHICOLL_SHMEM_DECLARE(                                                                         \
      size_t, name##_wait_until_some_vector,                                                     \
      (type * ivars, size_t nelems, size_t * indices, const int* status, int cmp, type* values)) \
  PHICOLL_SHMEM_DECLARE(int, name##_test, (type * ivar, int cmp, type value))                    \
  PHICOLL_SHMEM_DECLARE(int, name##_test_all,                                                    \
                        (type * ivars, size_t nelems, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(size_t, name##_test_any,                                                 \
                        (type * ivars, size_t nelems, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(                                                                         \
      size_t, name##_test_some,                                                                  \
      (type * ivars, size_t nelems, size_t * indices, const int* status, int cmp, type value))   \
  PHICOLL_SHMEM_DECLARE(int, name##_test_all_vector,                                             \
                        (type * ivars, size_t nelems, const int* status, int cmp, type* values)) \
  PHICOLL_SHMEM_DECLARE(size_t, name##_test_any_vector,                                          \
                        (type * ivars, size_t nelems, const int* status, int cmp, type* values)) \
  PHICOLL_SHMEM_DECLARE(                                                                         \
      size_t, name##_test_some_vector,                                                           \
      (type * ivars, size_t nelems, size_t * indices, const int* status, int cmp, type* values))
PHICOLL_SHMEM_WAIT_TYPES(PHICOLL_SHMEM_WAIT)
#undef PHICOLL_SHMEM_WAIT
PHICOLL_SHMEM_DECLARE(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value))

/* Locks. */
PHICOLL_SHMEM_DECLARE(void, set_lock, (long* lock))
PHICOLL_SHMEM_DECLARE(void, clear_lock, (long* lock))
PHICOLL_SHMEM_DECLARE(int, test_lock, (long* lock))

/* Collectives on teams. */
PHICOLL_SHMEM_DECLARE(void, barrier_all, (void))
PHICOLL_SHMEM_DECLARE(void, sync_all, (void))
PHICOLL_SHMEM_DECLARE(int, team_sync, (shmem_team_t team))
#define PHICOLL_SHMEM_COLLECTIVES(prefix, suffix, type)                                                   \
  PHICOLL_SHMEM_DECLARE(int, prefix##broadcast##suffix,                                                   \
                        (shmem_team_t team, type * dest, const type* source, size_t nelems, int PE_root)) \
  PHICOLL_SHMEM_DECLARE(int, prefix##collect##suffix,                                                     \
                        (shmem_team_t team, type * dest, const type* source, size_t nelems))              \
  PHICOLL_SHMEM_DECLARE(int, prefix##fcollect##suffix,                                                    \
                        (shmem_team_t team, type * dest, const type* source, size_t nelems))              \
  PHICOLL_SHMEM_DECLARE(int, prefix##alltoall##suffix,                                                    \
                        (shmem_team_t team, type * dest, const type* source, size_t nelems))              \
  PHICOLL_SHMEM_DECLARE(                                                                                  \
      int, prefix##alltoalls##suffix,                                                                     \
      (shmem_team_t team, type * dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
#define PHICOLL_SHMEM_COLLECTIVES_OF(name, type) PHICOLL_SHMEM_COLLECTIVES(name##_, , type)
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEM_COLLECTIVES_OF)
PHICOLL_SHMEM_COLLECTIVES(, mem, void)
#undef PHICOLL_SHMEM_COLLECTIVES_OF
#undef PHICOLL_SHMEM_COLLECTIVES

#define PHICOLL_SHMEM_REDUCTION(name, type) \
  PHICOLL_SHMEM_DECLARE(int, name, (shmem_team_t team, type * dest, const type* source, size_t nreduce))
#define PHICOLL_SHMEM_BITS(name, type)             \
  PHICOLL_SHMEM_REDUCTION(name##_and_reduce, type) \
  PHICOLL_SHMEM_REDUCTION(name##_or_reduce, type)  \
  PHICOLL_SHMEM_REDUCTION(name##_xor_reduce, type)
#define PHICOLL_SHMEM_ORDER(name, type)            \
  PHICOLL_SHMEM_REDUCTION(name##_max_reduce, type) \
  PHICOLL_SHMEM_REDUCTION(name##_min_reduce, type)
#define PHICOLL_SHMEM_SUM(name, type)               \
  PHICOLL_SHMEM_REDUCTION(name##_sum_reduce, type)  \
  PHICOLL_SHMEM_REDUCTION(name##_prod_reduce, type) \
  PHICOLL_SHMEM_REDUCTION(name##_sum_inscan, type)  \
  PHICOLL_SHMEM_REDUCTION(name##_sum_exscan, type)
PHICOLL_SHMEM_BITS_TYPES(PHICOLL_SHMEM_BITS)
PHICOLL_SHMEM_ORDER_TYPES(PHICOLL_SHMEM_ORDER)
PHICOLL_SHMEM_SUM_TYPES(PHICOLL_SHMEM_SUM)
#undef PHICOLL_SHMEM_BITS
#undef PHICOLL_SHMEM_ORDER
#undef PHICOLL_SHMEM_SUM
#undef PHICOLL_SHMEM_REDUCTION

/* Deprecated: collectives on active sets, whose PEs are PE_start + i * 2^logPE_stride. pSync and pWrk are not used. */
PHICOLL_SHMEM_DECLARE(void, barrier, (int PE_start, int logPE_stride, int PE_size, long* pSync))
PHICOLL_SHMEM_DECLARE(void, sync, (int PE_start, int logPE_stride, int PE_size, long* pSync))
#define PHICOLL_SHMEM_OLD_COLLECTIVES(bits)                                                             \
  PHICOLL_SHMEM_DECLARE(void, broadcast##bits,                                                          \
                        (void* dest, const void* source, size_t nelems, int PE_root, int PE_start,      \
                         int logPE_stride, int PE_size, long* pSync))                                   \
  PHICOLL_SHMEM_DECLARE(void, collect##bits,                                                            \
                        (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, \
                         int PE_size, long* pSync))                                                     \
  PHICOLL_SHMEM_DECLARE(void, fcollect##bits,                                                           \
                        (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, \
                         int PE_size, long* pSync))                                                     \
  PHICOLL_SHMEM_DECLARE(void, alltoall##bits,                                                           \
                        (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, \
                         int PE_size, long* pSync))                                                     \
  PHICOLL_SHMEM_DECLARE(void, alltoalls##bits,                                                          \
                        (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,   \
                         int PE_start, int logPE_stride, int PE_size, long* pSync))
PHICOLL_SHMEM_OLD_COLLECTIVES(32)
PHICOLL_SHMEM_OLD_COLLECTIVES(64)
#undef PHICOLL_SHMEM_OLD_COLLECTIVES
#define PHICOLL_SHMEM_OLD_REDUCTION(name, type)                                                        \
  PHICOLL_SHMEM_DECLARE(void, name,                                                                    \
                        (type * dest, const type* source, int nreduce, int PE_start, int logPE_stride, \
                         int PE_size, type* pWrk, long* pSync))
#define PHICOLL_SHMEM_BITS(name, type)                 \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_and_to_all, type) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_or_to_all, type)  \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_xor_to_all, type)
#define PHICOLL_SHMEM_ORDER(name, type)                \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_max_to_all, type) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_min_to_all, type)
#define PHICOLL_SHMEM_SUM(name, type)                  \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_sum_to_all, type) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_prod_to_all, type)
PHICOLL_SHMEM_OLD_BITS_TYPES(PHICOLL_SHMEM_BITS)
PHICOLL_SHMEM_OLD_ORDER_TYPES(PHICOLL_SHMEM_ORDER)
PHICOLL_SHMEM_OLD_SUM_TYPES(PHICOLL_SHMEM_SUM)
#undef PHICOLL_SHMEM_BITS
#undef PHICOLL_SHMEM_ORDER
#undef PHICOLL_SHMEM_SUM
#undef PHICOLL_SHMEM_OLD_REDUCTION

/* Deprecated before. */
#define PHICOLL_SHMEM_OLD_WAIT(name, type) PHICOLL_SHMEM_DECLARE(void, name##_wait, (type * ivar, type value))
PHICOLL_SHMEM_OLD_WAIT_TYPES(PHICOLL_SHMEM_OLD_WAIT)
#undef PHICOLL_SHMEM_OLD_WAIT
PHICOLL_SHMEM_DECLARE(void, wait, (long* ivar, long value))
PHICOLL_SHMEM_DECLARE(void, set_cache_inv, (void))
PHICOLL_SHMEM_DECLARE(void, set_cache_line_inv, (void* dest))
PHICOLL_SHMEM_DECLARE(void, clear_cache_inv, (void))
PHICOLL_SHMEM_DECLARE(void, clear_cache_line_inv, (void* dest))
PHICOLL_SHMEM_DECLARE(void, udcflush, (void))
PHICOLL_SHMEM_DECLARE(void, udcflush_line, (void* dest))
