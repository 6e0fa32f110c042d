/* The names without a type. The lists are this program's own: within one of the library's, the names would not expand. */
#include "check.h"

#define ATOMIC(X)         \
  X(int, int)             \
  X(long, long)           \
  X(longlong, long long)  \
  X(uint, unsigned int)   \
  X(ulong, unsigned long) \
  X(ulonglong, unsigned long long)
#define OTHERS(X)            \
  X(float, float)            \
  X(double, double)          \
  X(longdouble, long double) \
  X(char, char)              \
  X(schar, signed char)      \
  X(short, short)            \
  X(uchar, unsigned char)    \
  X(ushort, unsigned short)

static shmem_ctx_t ctx;

#define TRANSFERS(name, type)                                       \
  static type name##_word[6];                                       \
  static void transfers_##name(void) {                              \
    type mine[4] = {1, 2, 3, 4};                                    \
    memset(name##_word, 0, sizeof name##_word);                     \
    shmem_barrier_all();                                            \
    shmem_p(&name##_word[0], mine[2], next);                        \
    shmem_put(name##_word + 1, mine, 2, next);                      \
    shmem_put(ctx, name##_word + 3, mine, 1, next);                 \
    shmem_iput(ctx, name##_word + 4, mine, 1, 2, 2, next);          \
    shmem_barrier_all();                                            \
    const type want[6] = {3, 1, 2, 1, 1, 3};                        \
    for (int i = 0; i < 6; ++i) CHECK(name##_word[i] == want[i]);   \
    CHECK(shmem_g((const type*)&name##_word[5], next) == (type)3);  \
    CHECK(shmem_g(ctx, &name##_word[1], next) == (type)1);          \
    shmem_get(ctx, mine, (const type*)name##_word, 4, next);        \
    CHECK(mine[0] == (type)3 && mine[3] == (type)1);                \
    static type sums[2], ones[2];                                   \
    ones[0] = ones[1] = 1;                                          \
    shmem_sum_reduce(SHMEM_TEAM_WORLD, sums, ones, 2);              \
    CHECK(sums[1] == (type)n);                                      \
    shmem_max_reduce(SHMEM_TEAM_WORLD, sums, ones, 1);              \
    CHECK(sums[0] == (type)1);                                      \
    shmem_broadcast(SHMEM_TEAM_WORLD, sums, name##_word, 1, n - 1); \
    CHECK(sums[0] == (type)3);                                      \
    shmem_barrier_all();                                            \
  }
ATOMIC(TRANSFERS)
OTHERS(TRANSFERS)

#define ATOMICS(name, type)                                                         \
  static void atomics_##name(void) {                                                \
    name##_word[0] = 1;                                                             \
    shmem_barrier_all();                                                            \
    shmem_atomic_add(&name##_word[0], (type)2, next);                               \
    CHECK(shmem_atomic_fetch_inc(ctx, &name##_word[0], next) == 3);                 \
    CHECK(shmem_atomic_compare_swap(&name##_word[0], (type)4, (type)9, next) == 4); \
    CHECK(shmem_atomic_fetch((const type*)&name##_word[0], next) == 9);             \
    shmem_wait_until(&name##_word[0], SHMEM_CMP_EQ, (type)9);                       \
    CHECK(shmem_test(&name##_word[0], SHMEM_CMP_GT, (type)8));                      \
    shmem_sync(SHMEM_TEAM_WORLD);                                                   \
  }
ATOMIC(ATOMICS)

int main(void) {
  begin();
  CHECK(shmem_ctx_create(0, &ctx) == 0);
#define CALL(name, type) transfers_##name();
  ATOMIC(CALL)
  OTHERS(CALL)
#undef CALL
#define CALL(name, type) atomics_##name();
  ATOMIC(CALL)
  shmem_finalize();
  return 0;
}
