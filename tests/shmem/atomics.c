/* Atomics of every type: what each returns and leaves, and that none is lost when all PEs update one word. */
#include "check.h"

static shmem_ctx_t ctx;
enum { many = 500 };

/* Between two barriers one PE after another would be too slow: each PE has a word of its own on the next PE. */
#define EXTENDED(name, type)                                                                 \
  static type name##_word;                                                                   \
  static void extended_##name(void) {                                                        \
    type fetched = 0;                                                                        \
    name##_word = (type)value(me, 0);                                                        \
    shmem_barrier_all();                                                                     \
    CHECK(shmem_##name##_atomic_fetch(&name##_word, next) == (type)value(next, 0));          \
    CHECK(shmem_ctx_##name##_atomic_fetch(ctx, &name##_word, next) == (type)value(next, 0)); \
    shmem_##name##_atomic_fetch_nbi(&fetched, &name##_word, next);                           \
    shmem_quiet();                                                                           \
    CHECK(fetched == (type)value(next, 0));                                                  \
    CHECK(shmem_##name##_fetch(&name##_word, next) == (type)value(next, 0));                 \
    shmem_barrier_all();                                                                     \
    shmem_##name##_atomic_set(&name##_word, 11, next);                                       \
    CHECK(shmem_##name##_atomic_swap(&name##_word, 12, next) == 11);                         \
    CHECK(shmem_ctx_##name##_atomic_swap(ctx, &name##_word, 13, next) == 12);                \
    shmem_##name##_atomic_swap_nbi(&fetched, &name##_word, 14, next);                        \
    shmem_quiet();                                                                           \
    CHECK(fetched == 13);                                                                    \
    shmem_ctx_##name##_atomic_swap_nbi(ctx, &fetched, &name##_word, 15, next);               \
    shmem_ctx_quiet(ctx);                                                                    \
    CHECK(fetched == 14 && shmem_##name##_swap(&name##_word, 16, next) == 15);               \
    shmem_ctx_##name##_atomic_set(ctx, &name##_word, 17, next);                              \
    shmem_##name##_set(&name##_word, 18, next);                                              \
    shmem_barrier_all();                                                                     \
    CHECK(name##_word == 18);                                                                \
    shmem_barrier_all();                                                                     \
  }
PHICOLL_SHMEM_EXTENDED_TYPES(EXTENDED)

#define STANDARD(name, type)                                                            \
  static type name##_sum;                                                               \
  static void standard_##name(void) {                                                   \
    type* const w = &name##_word;                                                       \
    type got = 0;                                                                       \
    *w = 5;                                                                             \
    name##_sum = 0;                                                                     \
    shmem_barrier_all();                                                                \
    CHECK(shmem_##name##_atomic_fetch_add(w, 2, next) == 5);                            \
    CHECK(shmem_ctx_##name##_atomic_fetch_add(ctx, w, 2, next) == 7);                   \
    CHECK(shmem_##name##_atomic_fetch_inc(w, next) == 9);                               \
    CHECK(shmem_ctx_##name##_atomic_fetch_inc(ctx, w, next) == 10);                     \
    shmem_##name##_atomic_add(w, 3, next);                                              \
    shmem_ctx_##name##_atomic_add(ctx, w, 3, next);                                     \
    shmem_##name##_atomic_inc(w, next);                                                 \
    shmem_ctx_##name##_atomic_inc(ctx, w, next);                                        \
    CHECK(shmem_##name##_atomic_compare_swap(w, 18, 1, next) == 19);                    \
    CHECK(shmem_ctx_##name##_atomic_compare_swap(ctx, w, 19, 20, next) == 19);          \
    shmem_##name##_atomic_fetch_add_nbi(&got, w, 5, next);                              \
    CHECK(got == 20);                                                                   \
    shmem_ctx_##name##_atomic_fetch_add_nbi(ctx, &got, w, 5, next);                     \
    CHECK(got == 25);                                                                   \
    shmem_##name##_atomic_fetch_inc_nbi(&got, w, next);                                 \
    CHECK(got == 30);                                                                   \
    shmem_ctx_##name##_atomic_fetch_inc_nbi(ctx, &got, w, next);                        \
    CHECK(got == 31);                                                                   \
    shmem_##name##_atomic_compare_swap_nbi(&got, w, 32, 40, next);                      \
    CHECK(got == 32);                                                                   \
    shmem_ctx_##name##_atomic_compare_swap_nbi(ctx, &got, w, 32, 41, next);             \
    CHECK(got == 40);                                                                   \
    CHECK(shmem_##name##_fadd(w, 1, next) == 40 && shmem_##name##_finc(w, next) == 41); \
    shmem_##name##_add(w, 2, next);                                                     \
    shmem_##name##_inc(w, next);                                                        \
    CHECK(shmem_##name##_cswap(w, 45, 50, next) == 45);                                 \
    for (int i = 0; i < many; ++i) {                                                    \
      shmem_##name##_atomic_inc(&name##_sum, 0);                                        \
      shmem_##name##_atomic_add(&name##_sum, 2, n - 1);                                 \
    }                                                                                   \
    shmem_barrier_all();                                                                \
    CHECK(*w == 50);                                                                    \
    if (me == 0) CHECK(name##_sum == (type)((n == 1 ? 3 : 1) * n * many));              \
    if (me == n - 1 && n > 1) CHECK(name##_sum == (type)(2 * n * many));                \
    shmem_barrier_all();                                                                \
  }
PHICOLL_SHMEM_AMO_TYPES(STANDARD)

#define BITWISE(name, type)                                                     \
  static void bitwise_##name(void) {                                            \
    type* const w = &name##_word;                                               \
    type got = 0;                                                               \
    *w = 0xf0;                                                                  \
    shmem_barrier_all();                                                        \
    CHECK(shmem_##name##_atomic_fetch_or(w, 0x0c, next) == 0xf0);               \
    CHECK(shmem_ctx_##name##_atomic_fetch_and(ctx, w, 0x3c, next) == 0xfc);     \
    CHECK(shmem_##name##_atomic_fetch_xor(w, 0xff, next) == 0x3c);              \
    shmem_##name##_atomic_or(w, 0x04, next);                                    \
    shmem_##name##_atomic_and(w, 0xc7, next);                                   \
    shmem_ctx_##name##_atomic_xor(ctx, w, 0x01, next);                          \
    shmem_##name##_atomic_fetch_or_nbi(&got, w, 0x10, next);                    \
    CHECK(got == 0xc6);                                                         \
    shmem_ctx_##name##_atomic_fetch_and_nbi(ctx, &got, w, 0x1f, next);          \
    CHECK(got == 0xd6);                                                         \
    shmem_##name##_atomic_fetch_xor_nbi(&got, w, 0x02, next);                   \
    CHECK(got == 0x16);                                                         \
    shmem_barrier_all();                                                        \
    CHECK(*w == 0x14);                                                          \
    *w = 0;                                                                     \
    shmem_barrier_all();                                                        \
    shmem_##name##_atomic_or(w, (type)1 << (me % 30), 0);                       \
    shmem_##name##_atomic_xor(w, (type)1 << 30, 0);                             \
    shmem_barrier_all();                                                        \
    if (me == 0) CHECK(*w == ((type)1 << n) - 1 + (n % 2 ? (type)1 << 30 : 0)); \
    shmem_barrier_all();                                                        \
  }
PHICOLL_SHMEM_BITWISE_TYPES(BITWISE)

int main(void) {
  begin();
  CHECK(shmem_ctx_create(0, &ctx) == 0);
#define CALL(name, type) extended_##name();
  PHICOLL_SHMEM_EXTENDED_TYPES(CALL)
#undef CALL
#define CALL(name, type) standard_##name();
  PHICOLL_SHMEM_AMO_TYPES(CALL)
#undef CALL
#define CALL(name, type) bitwise_##name();
  PHICOLL_SHMEM_BITWISE_TYPES(CALL)
  long_word = 60;
  shmem_barrier_all();
  CHECK((shmem_swap)(&long_word, 61, next) == 60); /* the function, not C11's generic name */
  shmem_barrier_all();
  CHECK(long_word == 61);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return 0;
}
