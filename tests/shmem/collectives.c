/* Collectives of every type, on teams and on active sets, with results that PEs and places tell apart. */
#include "check.h"

#include <complex.h>
#include <unistd.h>

enum { count = 5, most_pes = 16 };
static long sync_words[SHMEM_SYNC_SIZE];
static shmem_team_t world, odd; /* odd: PEs in reverse order */

#define PER_TYPE(name, type)                                                                             \
  static type name##_to[2 * count * most_pes], name##_from[2 * count * most_pes];                        \
  static void moves_##name(shmem_team_t team) {                                                          \
    const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                              \
    type *const to = name##_to, *const from = name##_from;                                               \
    for (int i = 0; i < 2 * count * size; ++i) from[i] = (type)value(rank, i);                           \
    memset(to, 0, sizeof name##_to);                                                                     \
    shmem_barrier_all();                                                                                 \
    CHECK(shmem_##name##_broadcast(team, to, from, count, size - 1) == 0);                               \
    for (int i = 0; i < count; ++i) CHECK(to[i] == (type)value(size - 1, i));                            \
    shmem_barrier_all();                                                                                 \
    CHECK(shmem_##name##_fcollect(team, to, from, count) == 0);                                          \
    for (int i = 0; i < count * size; ++i) CHECK(to[i] == (type)value(i / count, i % count));            \
    shmem_barrier_all();                                                                                 \
    CHECK(shmem_##name##_collect(team, to, from, (size_t)rank % 3) == 0); /* 0, 1, 2, 0, ... elements */ \
    for (int pe = 0, at = 0; pe < size; ++pe)                                                            \
      for (int i = 0; i < pe % 3; ++i) CHECK(to[at++] == (type)value(pe, i));                            \
    shmem_barrier_all();                                                                                 \
    CHECK(shmem_##name##_alltoall(team, to, from, count) == 0);                                          \
    for (int pe = 0; pe < size; ++pe)                                                                    \
      for (int i = 0; i < count; ++i) CHECK(to[pe * count + i] == (type)value(pe, rank * count + i));    \
    memset(to, 0, sizeof name##_to);                                                                     \
    shmem_barrier_all();                                                                                 \
    CHECK(shmem_##name##_alltoalls(team, to, from, 2, 1, count) == 0);                                   \
    for (int pe = 0; pe < size; ++pe)                                                                    \
      for (int i = 0; i < count; ++i) {                                                                  \
        CHECK(to[2 * (pe * count + i)] == (type)value(pe, rank * count + i));                            \
        CHECK(to[2 * (pe * count + i) + 1] == (type)0);                                                  \
      }                                                                                                  \
    shmem_barrier_all();                                                                                 \
  }
PHICOLL_SHMEM_RMA_TYPES(PER_TYPE)

/* Reductions. PE r's element i is a small number, so that every type holds the results exactly. */
static int small(int rank, int i) {
  return 1 + (rank + i) % 2;
}
#define FOLD(result, start, step)     \
  long long result = start;           \
  for (int pe = 0; pe < size; ++pe) { \
    const long long x = small(pe, i); \
    step;                             \
  }
#define REDUCED(call, type, start, step) \
  memset(to, 0, sizeof to);              \
  shmem_barrier_all();                   \
  call;                                  \
  for (int i = 0; i < count; ++i) {      \
    FOLD(want, start, step)              \
    CHECK(to[i] == (type)want);          \
  }                                      \
  shmem_barrier_all();
#define BEGIN_REDUCTION(name, type)                                       \
  const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team); \
  static type to[count], from[count], work[count];                        \
  (void)work;                                                             \
  for (int i = 0; i < count; ++i) from[i] = (type)small(rank, i);

#define BITS(name, type)                                                          \
  static void bits_##name(shmem_team_t team) {                                    \
    BEGIN_REDUCTION(name, type)                                                   \
    REDUCED(shmem_##name##_and_reduce(team, to, from, count), type, 3, want &= x) \
    REDUCED(shmem_##name##_or_reduce(team, to, from, count), type, 0, want |= x)  \
    REDUCED(shmem_##name##_xor_reduce(team, to, from, count), type, 0, want ^= x) \
  }
PHICOLL_SHMEM_BITS_TYPES(BITS)
#define ORDER(name, type)                                                                          \
  static void order_##name(shmem_team_t team) {                                                    \
    BEGIN_REDUCTION(name, type)                                                                    \
    REDUCED(shmem_##name##_max_reduce(team, to, from, count), type, 0, want = x > want ? x : want) \
    REDUCED(shmem_##name##_min_reduce(team, to, from, count), type, 9, want = x < want ? x : want) \
  }
PHICOLL_SHMEM_ORDER_TYPES(ORDER)
#define SUM(name, type)                                                                            \
  static void sum_##name(shmem_team_t team) {                                                      \
    BEGIN_REDUCTION(name, type)                                                                    \
    REDUCED(shmem_##name##_sum_reduce(team, to, from, count), type, 0, want += x)                  \
    REDUCED(shmem_##name##_prod_reduce(team, to, from, count), type, 1, want *= x)                 \
    REDUCED(shmem_##name##_sum_inscan(team, to, from, count), type, 0, want += pe <= rank ? x : 0) \
    REDUCED(shmem_##name##_sum_exscan(team, to, from, count), type, 0, want += pe < rank ? x : 0)  \
    memcpy(to, from, sizeof to); /* in place */                                                    \
    shmem_barrier_all();                                                                           \
    shmem_##name##_sum_reduce(team, to, to, count);                                                \
    for (int i = 0; i < count; ++i) {                                                              \
      FOLD(want, 0, want += x)                                                                     \
      CHECK(to[i] == (type)want);                                                                  \
    }                                                                                              \
    shmem_barrier_all();                                                                           \
  }
PHICOLL_SHMEM_SUM_TYPES(SUM)

/* Deprecated: on the active set of all PEs but the last, where there are several. */
#define OLD_REDUCED(call, type, start, step) \
  memset(to, 0, sizeof to);                  \
  shmem_barrier_all();                       \
  if (in) {                                  \
    call;                                    \
    for (int i = 0; i < count; ++i) {        \
      FOLD(want, start, step)                \
      CHECK(to[i] == (type)want);            \
    }                                        \
  }                                          \
  shmem_barrier_all();
#define BEGIN_OLD(name, type)                      \
  const int size = n > 1 ? n - 1 : 1;              \
  const int in = me < size;                        \
  static type to[count], from[count], work[count]; \
  for (int i = 0; i < count; ++i) from[i] = (type)small(me, i);
#define ON_SET 0, 0, size, work, sync_words
#define OLD_BITS(name, type)                                                            \
  static void old_bits_##name(void) {                                                   \
    BEGIN_OLD(name, type)                                                               \
    OLD_REDUCED(shmem_##name##_and_to_all(to, from, count, ON_SET), type, 3, want &= x) \
    OLD_REDUCED(shmem_##name##_or_to_all(to, from, count, ON_SET), type, 0, want |= x)  \
    OLD_REDUCED(shmem_##name##_xor_to_all(to, from, count, ON_SET), type, 0, want ^= x) \
  }
PHICOLL_SHMEM_OLD_BITS_TYPES(OLD_BITS)
#define OLD_ORDER(name, type)                                                                            \
  static void old_order_##name(void) {                                                                   \
    BEGIN_OLD(name, type)                                                                                \
    OLD_REDUCED(shmem_##name##_max_to_all(to, from, count, ON_SET), type, 0, want = x > want ? x : want) \
    OLD_REDUCED(shmem_##name##_min_to_all(to, from, count, ON_SET), type, 9, want = x < want ? x : want) \
  }
PHICOLL_SHMEM_OLD_ORDER_TYPES(OLD_ORDER)
#define OLD_SUM(name, type)                                                              \
  static void old_sum_##name(void) {                                                     \
    BEGIN_OLD(name, type)                                                                \
    OLD_REDUCED(shmem_##name##_sum_to_all(to, from, count, ON_SET), type, 0, want += x)  \
    OLD_REDUCED(shmem_##name##_prod_to_all(to, from, count, ON_SET), type, 1, want *= x) \
  }
PHICOLL_SHMEM_OLD_SUM_TYPES(OLD_SUM)

#define OLD_MOVES(bits)                                                                                     \
  static void old_moves_##bits(void) {                                                                      \
    typedef uint##bits##_t type;                                                                            \
    static type to[2 * count * most_pes], from[2 * count * most_pes];                                       \
    const int size = n > 1 ? n - 1 : 1;                                                                     \
    const int in = me < size;                                                                               \
    for (int i = 0; i < 2 * count * n; ++i) from[i] = (type)value(me, i);                                   \
    memset(to, 0, sizeof to);                                                                               \
    shmem_barrier_all();                                                                                    \
    if (in) {                                                                                               \
      shmem_broadcast##bits(to, from, count, size - 1, 0, 0, size, sync_words);                             \
      for (int i = 0; i < count; ++i) CHECK(to[i] == (me == size - 1 ? 0 : (type)value(size - 1, i)));      \
      shmem_barrier(0, 0, size, sync_words);                                                                \
      shmem_fcollect##bits(to, from, count, 0, 0, size, sync_words);                                        \
      for (int i = 0; i < count * size; ++i) CHECK(to[i] == (type)value(i / count, i % count));             \
      shmem_sync(0, 0, size, sync_words);                                                                   \
      shmem_collect##bits(to, from, (size_t)me % 3, 0, 0, size, sync_words);                                \
      for (int pe = 0, at = 0; pe < size; ++pe)                                                             \
        for (int i = 0; i < pe % 3; ++i) CHECK(to[at++] == (type)value(pe, i));                             \
      shmem_barrier(0, 0, size, sync_words);                                                                \
      shmem_alltoall##bits(to, from, count, 0, 0, size, sync_words);                                        \
      for (int pe = 0; pe < size; ++pe)                                                                     \
        for (int i = 0; i < count; ++i) CHECK(to[pe * count + i] == (type)value(pe, me * count + i));       \
      shmem_barrier(0, 0, size, sync_words);                                                                \
      shmem_alltoalls##bits(to, from, 1, 2, count, 0, 0, size, sync_words);                                 \
      for (int pe = 0; pe < size; ++pe)                                                                     \
        for (int i = 0; i < count; ++i) CHECK(to[pe * count + i] == (type)value(pe, 2 * (me * count + i))); \
    }                                                                                                       \
    shmem_barrier_all();                                                                                    \
  }
OLD_MOVES(32)
OLD_MOVES(64)

/* Every second PE: a stride of 2. */
static void test_stride(void) {
  static int one[1], sum[1], work[1];
  const int size = (n + 1) / 2;
  one[0] = 1;
  sum[0] = 0;
  shmem_barrier_all();
  for (int again = 0; again < 2; ++again)
    if (me % 2 == 0) shmem_int_sum_to_all(sum, one, 1, 0, 1, size, work, sync_words);
  CHECK(sum[0] == (me % 2 == 0 ? size : 0));
  shmem_barrier_all();
}

static void test_mem(void) {
  static char to[most_pes * 3], from[3];
  memset(from, me + 1, sizeof from);
  shmem_barrier_all();
  CHECK(shmem_fcollectmem(world, to, from, 3) == 0);
  for (int i = 0; i < 3 * n; ++i) CHECK(to[i] == i / 3 + 1);
  shmem_barrier_all();
  CHECK(shmem_broadcastmem(world, to, from, 2, 0) == 0);
  CHECK(to[0] == 1 && to[1] == 1);
  shmem_barrier_all();
}

/* Sizes about those up to which data is put into the destinations, from every root, in the heap and in globals, into which the
 * communicator puts it where they are not shared. */
static void test_sizes(shmem_team_t team) {
  enum { most = 20000 };
  static unsigned char global[most * most_pes];
  static const int sizes[] = {1,    8,    9,    63,   64,    255,   256,   1000,
                              2048, 2049, 1024, 4096, 16383, 16384, 16385, most};
  const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  unsigned char* const to = shmem_malloc((size_t)(most * n));
  unsigned char* const from = shmem_malloc((size_t)(most * n));
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const int bytes = sizes[s];
    const size_t all = (size_t)bytes * (size_t)size;
    for (int i = 0; i < bytes * size; ++i) from[i] = (unsigned char)(7 * rank + i);
    for (int in_heap = 0; in_heap < 2; ++in_heap) {
      unsigned char* const dest = in_heap ? to : global;
      for (int root = 0; root < size; ++root) {
        memset(dest, 0, (size_t)bytes + 1);
        shmem_barrier_all();
        CHECK(shmem_broadcastmem(team, dest, from, (size_t)bytes, root) == 0);
        for (int i = 0; i < bytes; ++i) CHECK(dest[i] == (unsigned char)(7 * root + i));
        CHECK(dest[bytes] == 0 || bytes == most);
        shmem_barrier_all();
      }
      CHECK(shmem_fcollectmem(team, dest, from, (size_t)bytes) == 0);
      for (int i = 0; i < bytes * size; ++i) CHECK(dest[i] == (unsigned char)(7 * (i / bytes) + i % bytes));
      memset(dest, 0, all);
      shmem_barrier_all();
      CHECK(shmem_alltoallmem(team, dest, from, (size_t)bytes) == 0);
      for (int i = 0; i < bytes * size; ++i)
        CHECK(dest[i] == (unsigned char)(7 * (i / bytes) + i % bytes + bytes * rank));
      memset(dest, 0, all);
      shmem_barrier_all();
      const int mine = bytes - (rank % 3 < bytes ? rank % 3 : 0);
      CHECK(shmem_collectmem(team, dest, from, (size_t)mine) == 0);
      for (int pe = 0, at = 0; pe < size; ++pe)
        for (int i = 0; i < bytes - (pe % 3 < bytes ? pe % 3 : 0); ++i)
          CHECK(dest[at++] == (unsigned char)(7 * pe + i));
      shmem_barrier_all();
    }
  }
  shmem_free(from);
  shmem_free(to);
}

/* Small calls and barriers in any order, from any root, with PEs held up at random. Each call between two barriers has its own
 * destination: a call may put data there while another PE still reads the previous call's. */
static void test_mixed(shmem_team_t team) {
  enum { most = 520, between = 8, calls = 1200 };
  static const int sizes[] = {1, 1, 1, 2, 8, 30, 31, 32, 63, 64, 128, 129, 256, 257, 512, most};
  const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  long* const from = shmem_malloc(between * most * sizeof *from);
  long* const to = shmem_malloc((size_t)(between * most * size) * sizeof *to);
  unsigned alike = 1, own = (unsigned)rank + 2;
  int since = 0; /* the last barrier */
  shmem_barrier_all();
  for (int call = 0; call < calls; ++call) {
    alike = alike * 1664525u + 1013904223u;
    own = own * 1664525u + 1013904223u;
    if (own >> 28 == 0) usleep(50);
    const int what = (int)(alike >> 29), root = (int)(alike >> 8 & 0xff) % size,
              elements = sizes[alike >> 20 & 15];
    if (since == between || what >= 6) {
      shmem_barrier_all();
      since = 0;
      if (what >= 6) continue;
    }
    long* const source = from + since * most;
    long* const dest = to + since * most * size;
    ++since;
    for (int i = 0; i < elements; ++i) source[i] = 1000L * call + 100 * rank + i;
    if (what < 2) {
      CHECK(shmem_long_broadcast(team, dest, source, (size_t)elements, root) == 0);
      for (int i = 0; i < elements; ++i) CHECK(dest[i] == 1000L * call + 100 * root + i);
    } else if (what < 4) {
      CHECK(shmem_long_sum_reduce(team, dest, source, (size_t)elements) == 0);
      for (int i = 0; i < elements; ++i)
        CHECK(dest[i] == size * (1000L * call + i) + 100 * (size * (size - 1) / 2));
    } else {
      CHECK(shmem_long_fcollect(team, dest, source, (size_t)elements) == 0);
      for (int i = 0; i < elements * size; ++i)
        CHECK(dest[i] == 1000L * call + 100 * (i / elements) + i % elements);
    }
  }
  shmem_barrier_all();
  shmem_free(to);
  shmem_free(from);
}

/* Large, in the heap and in globals, so that other algorithms are chosen. */
static void test_large(void) {
  enum { large = 40000 };
  static double from[large];
  double* const to = shmem_malloc(sizeof from);
  for (int i = 0; i < large; ++i) from[i] = me + i;
  shmem_barrier_all();
  shmem_double_sum_reduce(world, to, from, large);
  for (int i = 0; i < large; ++i) CHECK(to[i] == (double)n * i + n * (n - 1) / 2);
  shmem_barrier_all();
  shmem_double_broadcast(world, to, from, large, n / 2);
  for (int i = 0; i < large; ++i) CHECK(to[i] == n / 2 + i);
  shmem_free(to);
}

int main(void) {
  begin();
  world = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_strided(world, n - 1, -1, n, NULL, 0, &odd) == 0);
  shmem_team_t teams[2] = {world, odd};
  for (int t = 0; t < 2; ++t) {
    CHECK(shmem_team_my_pe(teams[t]) == (t == 0 ? me : n - 1 - me));
#define CALL(name, type) moves_##name(teams[t]);
    PHICOLL_SHMEM_RMA_TYPES(CALL)
#undef CALL
#define CALL(name, type) bits_##name(teams[t]);
    PHICOLL_SHMEM_BITS_TYPES(CALL)
#undef CALL
#define CALL(name, type) order_##name(teams[t]);
    PHICOLL_SHMEM_ORDER_TYPES(CALL)
#undef CALL
#define CALL(name, type) sum_##name(teams[t]);
    PHICOLL_SHMEM_SUM_TYPES(CALL)
#undef CALL
  }
#define CALL(name, type) old_bits_##name();
  PHICOLL_SHMEM_OLD_BITS_TYPES(CALL)
#undef CALL
#define CALL(name, type) old_order_##name();
  PHICOLL_SHMEM_OLD_ORDER_TYPES(CALL)
#undef CALL
#define CALL(name, type) old_sum_##name();
  PHICOLL_SHMEM_OLD_SUM_TYPES(CALL)
  old_moves_32();
  old_moves_64();
  test_stride();
  test_mem();
  test_sizes(world);
  test_sizes(odd);
  test_mixed(world);
  test_mixed(odd);
  test_large();
  for (int i = 0; i < 1000; ++i) shmem_barrier_all();
  for (int i = 0; i < 1000; ++i) CHECK(shmem_team_sync(odd) == 0);
  shmem_sync_all();
  shmem_team_destroy(odd);
  shmem_finalize();
  return 0;
}
