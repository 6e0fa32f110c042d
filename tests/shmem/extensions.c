/* shmemx.h: each alias does what the function of 1.6 does. */
#include "check.h"

#include <shmemx.h>

static shmem_ctx_t ctx;

#define BLOCKS(name, type)                                                                  \
  static void blocks_##name(void) {                                                         \
    static type to[16], from[6];                                                            \
    type got[8] = {0};                                                                      \
    for (int i = 0; i < 6; ++i) from[i] = (type)value(me, i);                               \
    memset(to, 0, sizeof to);                                                               \
    shmem_barrier_all();                                                                    \
    shmemx_##name##_ibput(to, from, 4, 3, 2, 2, next);                                      \
    shmemx_ctx_##name##_ibput(ctx, to + 8, from, 4, 3, 2, 2, next);                         \
    shmem_barrier_all();                                                                    \
    for (int i = 0; i < 16; ++i)                                                            \
      CHECK(to[i] == (i % 4 < 2 ? (type)value(before, 3 * (i % 8 / 4) + i % 4) : (type)0)); \
    shmemx_##name##_ibget(got, to, 2, 4, 2, 2, next);                                       \
    shmemx_ctx_##name##_ibget(ctx, got + 4, to, 2, 4, 2, 2, next);                          \
    for (int i = 0; i < 8; ++i) CHECK(got[i] == (type)value(me, 3 * (i % 4 / 2) + i % 2));  \
    shmem_barrier_all();                                                                    \
  }
PHICOLL_SHMEM_RMA_TYPES(BLOCKS)

#define SIZES(bits, bytes)                                                                   \
  static void blocks_of_##bits(void) {                                                       \
    static unsigned char to[4 * bytes], from[2 * bytes];                                     \
    memset(from, me + 1, sizeof from);                                                       \
    shmem_barrier_all();                                                                     \
    shmemx_ibput##bits(to, from, 2, 1, 1, 1, next);                                          \
    shmemx_ctx_ibput##bits(ctx, to + bytes, from, 2, 1, 1, 1, next);                         \
    shmemx_ibget##bits(to + 2 * bytes, from, 1, 1, 1, 1, next);                              \
    shmemx_ctx_ibget##bits(ctx, to + 3 * bytes, from, 1, 1, 1, 1, next);                     \
    shmem_barrier_all();                                                                     \
    for (int i = 0; i < 4 * bytes; ++i) CHECK(to[i] == (i < 2 * bytes ? before : next) + 1); \
    shmem_barrier_all();                                                                     \
  }
PHICOLL_SHMEM_SIZES(SIZES)

#define SCANS(name, type)                                                  \
  static void scans_##name(void) {                                         \
    static type to[2], from[2];                                            \
    from[0] = from[1] = (type)1;                                           \
    shmem_barrier_all();                                                   \
    CHECK(shmemx_##name##_sum_inscan(SHMEMX_TEAM_NODE, to, from, 2) == 0); \
    CHECK(to[0] == (type)(me + 1) && to[1] == (type)(me + 1));             \
    shmem_barrier_all();                                                   \
    CHECK(shmemx_##name##_sum_exscan(SHMEMX_TEAM_NODE, to, from, 2) == 0); \
    CHECK(to[0] == (type)me && to[1] == (type)me);                         \
    shmem_barrier_all();                                                   \
  }
PHICOLL_SHMEM_SUM_TYPES(SCANS)

static void test_names_without_a_type(void) {
  static long to[4], from[2];
  from[0] = from[1] = me;
  shmem_barrier_all();
  shmemx_ibput(to, from, 2, 1, 1, 2, next);
  shmemx_ibput(ctx, to + 1, from, 2, 1, 1, 2, next);
  shmem_barrier_all();
  for (int i = 0; i < 4; ++i) CHECK(to[i] == before);
  shmemx_ibget(to, from, 1, 1, 1, 2, next);
  shmemx_ibget(ctx, to + 2, from, 1, 1, 1, 2, next);
  for (int i = 0; i < 4; ++i) CHECK(to[i] == next);
  CHECK(shmemx_sum_inscan(SHMEM_TEAM_WORLD, to, from, 1) == 0 && to[0] == (long)me * (me + 1) / 2);
  shmem_barrier_all();
  CHECK(shmemx_sum_exscan(SHMEM_TEAM_WORLD, to, from, 1) == 0 && to[0] == (long)me * (me - 1) / 2);
  shmem_barrier_all();
}

static void test_signals(void) {
  static uint64_t word;
  shmemx_signal_set(&word, 5, next);
  CHECK(shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 5) == 5);
  shmem_barrier_all();
  shmemx_signal_add(ctx, &word, 2, next);
  CHECK(shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 7) == 7);
  shmem_barrier_all();
  shmemx_ctx_signal_add(ctx, &word, 1, next);
  CHECK(shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 8) == 8);
  shmem_barrier_all();
  shmemx_ctx_signal_set(ctx, &word, 1, next);
  CHECK(shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 1) == 1);
}

static uint64_t thread_number(void) {
  return 1;
}

int main(void) {
  shmemx_register_gettid(thread_number);
  begin();
  CHECK(shmem_ctx_create(0, &ctx) == 0);
#define CALL(name, type) blocks_##name();
  PHICOLL_SHMEM_RMA_TYPES(CALL)
#undef CALL
#define CALL(bits, bytes) blocks_of_##bits();
  PHICOLL_SHMEM_SIZES(CALL)
#undef CALL
#define CALL(name, type) scans_##name();
  PHICOLL_SHMEM_SUM_TYPES(CALL)
#undef CALL
  test_names_without_a_type();
  test_signals();
  CHECK(shmem_team_n_pes(SHMEMX_TEAM_NODE) == n);
  void* const block = shmem_malloc_with_hints(100, SHMEMX_MALLOC_NO_BARRIER);
  CHECK(block != NULL);
  shmem_free(block);
  const double start = shmemx_wtime();
  CHECK(shmemx_wtime() >= start);
  shmem_finalize();
  return 0;
}
