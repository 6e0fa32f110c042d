/* Transfers of every type and size, on the default context and another, between globals and between blocks of the heap. */
#include "check.h"

enum { words = 24 };
static uint64_t signals[2];
static shmem_ctx_t ctx;

/* Clears what the PE before writes to. No PE may write before that. */
static void clear(void* to, size_t bytes) {
  memset(to, 0, bytes);
  shmem_barrier_all();
}

#define BLOCK(put, type, to, mine, count) \
  clear(to, sizeof(type) * words);        \
  put;                                    \
  shmem_barrier_all();                    \
  for (int i = 0; i < words; ++i) CHECK(((type*)to)[i] == (i < count ? (type)value(before, i) : (type)0));

#define TRANSFERS(name, type)                                                                            \
  static type name##_global[words], name##_source[words];                                                \
  static void test_##name(type* to, const type* from) {                                                  \
    type mine[words], got[words];                                                                        \
    for (int i = 0; i < words; ++i) mine[i] = (type)value(me, i);                                        \
    clear(to, sizeof mine);                                                                              \
    shmem_##name##_p(to, mine[0], next);                                                                 \
    shmem_ctx_##name##_p(ctx, to + 1, mine[1], next);                                                    \
    shmem_barrier_all();                                                                                 \
    CHECK(to[0] == (type)value(before, 0) && to[1] == (type)value(before, 1));                           \
    CHECK(shmem_##name##_g(from + 3, next) == (type)value(next, 3));                                     \
    CHECK(shmem_ctx_##name##_g(ctx, from + 4, before) == (type)value(before, 4));                        \
    BLOCK(shmem_##name##_put(to, mine, words, next), type, to, mine, words)                              \
    BLOCK(shmem_ctx_##name##_put(ctx, to, mine, 5, next), type, to, mine, 5)                             \
    BLOCK(shmem_##name##_put_nbi(to, mine, 7, next), type, to, mine, 7)                                  \
    BLOCK(shmem_ctx_##name##_put_nbi(ctx, to, mine, 1, next), type, to, mine, 1)                         \
    clear(to, sizeof mine);                                                                              \
    signals[0] = signals[1] = 0;                                                                         \
    shmem_barrier_all();                                                                                 \
    shmem_##name##_put_signal(to, mine, 3, &signals[0], 5, SHMEM_SIGNAL_SET, next);                      \
    shmem_##name##_put_signal_nbi(to + 3, mine + 3, 3, &signals[0], 2, SHMEM_SIGNAL_ADD, next);          \
    shmem_ctx_##name##_put_signal(ctx, to + 6, mine + 6, 3, &signals[0], 1, SHMEM_SIGNAL_ADD, next);     \
    shmem_ctx_##name##_put_signal_nbi(ctx, to + 9, mine + 9, 3, &signals[1], 9, SHMEM_SIGNAL_SET, next); \
    CHECK(shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, 9) == 9);                                   \
    CHECK(shmem_signal_fetch(&signals[0]) == 8);                                                         \
    for (int i = 0; i < 12; ++i) CHECK(to[i] == (type)value(before, i));                                 \
    shmem_barrier_all();                                                                                 \
    /* Get: all, then some. */                                                                           \
    memset(got, 0, sizeof got);                                                                          \
    shmem_##name##_get(got, from, 6, next);                                                              \
    shmem_ctx_##name##_get(ctx, got + 6, from + 6, 6, next);                                             \
    shmem_##name##_get_nbi(got + 12, from + 12, 6, next);                                                \
    shmem_ctx_##name##_get_nbi(ctx, got + 18, from + 18, 6, next);                                       \
    shmem_quiet();                                                                                       \
    shmem_ctx_quiet(ctx);                                                                                \
    for (int i = 0; i < words; ++i) CHECK(got[i] == (type)value(next, i));                               \
    /* Strides: element i of the source, every third, to every second of the destination. */             \
    clear(to, sizeof mine);                                                                              \
    shmem_##name##_iput(to, mine, 2, 3, 4, next);                                                        \
    shmem_ctx_##name##_iput(ctx, to + 8, mine, 2, 3, 4, next);                                           \
    shmem_barrier_all();                                                                                 \
    for (int i = 0; i < 8; ++i) {                                                                        \
      CHECK(to[2 * i] == (type)value(before, 3 * (i % 4)));                                              \
      CHECK(to[2 * i + 1] == (type)0);                                                                   \
    }                                                                                                    \
    memset(got, 0, sizeof got);                                                                          \
    shmem_##name##_iget(got, from, 2, 3, 4, before);                                                     \
    shmem_ctx_##name##_iget(ctx, got + 8, from, 1, 2, 4, before);                                        \
    for (int i = 0; i < 4; ++i)                                                                          \
      CHECK(got[2 * i] == (type)value(before, 3 * i) && got[2 * i + 1] == (type)0);                      \
    for (int i = 0; i < 4; ++i) CHECK(got[8 + i] == (type)value(before, 2 * i));                         \
    /* Blocks of two, three apart at the source and four at the destination. */                          \
    clear(to, sizeof mine);                                                                              \
    shmem_##name##_ibput(to, mine, 4, 3, 2, 3, next);                                                    \
    shmem_ctx_##name##_ibput(ctx, to + 12, mine, 4, 3, 2, 3, next);                                      \
    shmem_barrier_all();                                                                                 \
    for (int i = 0; i < words; ++i)                                                                      \
      CHECK(to[i] == (i % 4 < 2 ? (type)value(before, 3 * (i % 12 / 4) + i % 4) : (type)0));             \
    memset(got, 0, sizeof got);                                                                          \
    shmem_##name##_ibget(got, from, 2, 5, 2, 3, next);                                                   \
    shmem_ctx_##name##_ibget(ctx, got + 6, from, 2, 5, 2, 3, next);                                      \
    for (int i = 0; i < 12; ++i) CHECK(got[i] == (type)value(next, 5 * (i % 6 / 2) + i % 2));            \
    shmem_barrier_all();                                                                                 \
  }                                                                                                      \
  static void both_##name(void) {                                                                        \
    type* const heap = shmem_malloc(2 * sizeof name##_global);                                           \
    for (int i = 0; i < words; ++i) name##_source[i] = heap[words + i] = (type)value(me, i);             \
    shmem_barrier_all();                                                                                 \
    test_##name(name##_global, name##_source);                                                           \
    test_##name(heap, heap + words);                                                                     \
    test_##name(heap, name##_source);                                                                    \
    shmem_free(heap);                                                                                    \
  }
PHICOLL_SHMEM_RMA_TYPES(TRANSFERS)

/* Functions by size: what they move is compared as bytes. */
enum { most = 16 * words };
static unsigned char to[most], from[most];

static void check_bytes(int step, int bytes, int pe, int first) {
  for (int i = 0; i < words / 2; ++i)
    for (int b = 0; b < bytes; ++b)
      CHECK(to[i * step * bytes + b] == value(pe, (i * first * bytes + b) % 100));
}

#define BY_SIZE(bits, bytes)                                                               \
  static void test_size_##bits(void) {                                                     \
    for (int i = 0; i < most; ++i) from[i] = (unsigned char)value(me, i % 100);            \
    clear(to, most);                                                                       \
    shmem_put##bits(to, from, words / 2, next);                                            \
    shmem_barrier_all();                                                                   \
    check_bytes(1, bytes, before, 1);                                                      \
    CHECK(to[words / 2 * bytes] == 0);                                                     \
    clear(to, most);                                                                       \
    shmem_ctx_put##bits##_nbi(ctx, to, from, words / 2, next);                             \
    shmem_barrier_all();                                                                   \
    check_bytes(1, bytes, before, 1);                                                      \
    clear(to, most);                                                                       \
    shmem_iput##bits(to, from, 2, 1, words / 2, next);                                     \
    shmem_barrier_all();                                                                   \
    check_bytes(2, bytes, before, 1);                                                      \
    clear(to, most);                                                                       \
    shmem_ctx_get##bits(ctx, to, from, words / 2, next);                                   \
    check_bytes(1, bytes, next, 1);                                                        \
    shmem_get##bits##_nbi(to, from, words / 2, before);                                    \
    check_bytes(1, bytes, before, 1);                                                      \
    clear(to, most);                                                                       \
    shmem_iget##bits(to, from, 1, 2, words / 2, next);                                     \
    check_bytes(1, bytes, next, 2);                                                        \
    clear(to, most);                                                                       \
    shmem_ibget##bits(to, from, 2, 2, 2, words / 4, next);                                 \
    check_bytes(1, bytes, next, 1);                                                        \
    clear(to, most);                                                                       \
    shmem_ctx_ibput##bits(ctx, to, from, 2, 2, 2, words / 4, next);                        \
    signals[0] = 0;                                                                        \
    shmem_barrier_all();                                                                   \
    check_bytes(1, bytes, before, 1);                                                      \
    clear(to, most);                                                                       \
    shmem_put##bits##_signal(to, from, words / 2, &signals[0], 3, SHMEM_SIGNAL_ADD, next); \
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 3);                                 \
    check_bytes(1, bytes, before, 1);                                                      \
    shmem_barrier_all();                                                                   \
  }
PHICOLL_SHMEM_SIZES(BY_SIZE)

static void test_mem(void) {
  clear(to, most);
  shmem_putmem(to, from, 17, next);
  shmem_barrier_all();
  for (int i = 0; i < 18; ++i) CHECK(to[i] == (i < 17 ? value(before, i) : 0));
  clear(to, most);
  shmem_ctx_getmem(ctx, to, from, 19, next);
  for (int i = 0; i < 20; ++i) CHECK(to[i] == (i < 19 ? value(next, i) : 0));
  signals[0] = 1;
  clear(to, most);
  shmem_putmem_signal_nbi(to, from, 100, &signals[0], 7, SHMEM_SIGNAL_SET, next);
  shmem_signal_wait_until(&signals[0], SHMEM_CMP_GE, 7);
  for (int i = 0; i < 100; ++i) CHECK(to[i] == value(before, i));
  shmem_putmem(to, NULL, 0, next); /* nothing */
  shmem_barrier_all();
}

static void test_signals(void) {
  signals[0] = 10;
  shmem_barrier_all();
  shmem_signal_add(&signals[0], 5, next);
  shmem_barrier_all();
  CHECK(shmem_signal_fetch(&signals[0]) == 15);
  shmem_barrier_all();
  shmem_ctx_signal_set(ctx, &signals[0], (uint64_t)me, next);
  int pes[1] = {next};
  shmem_pe_quiet(pes, 1);
  shmem_ctx_pe_quiet(ctx, pes, 1);
  shmem_fence();
  shmem_ctx_fence(ctx);
  shmem_barrier_all();
  CHECK(signals[0] == (uint64_t)before);
  shmem_barrier_all();
}

/* Large blocks whose destination begins any few bytes after the source within their pages, where memcpy may be slow. */
static void test_places(void) {
  enum { most = 5000, page = 4096 };
  char* const to = shmem_align(page, 4 * page);
  char* const from = shmem_align(page, 4 * page);
  char* const here = aligned_alloc(page, 4 * page);
  const size_t sizes[] = {2047, 2048, 2049, most};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t after = 0; after < 70; ++after) {
      const size_t bytes = sizes[s];
      for (size_t i = 0; i < bytes; ++i) from[i] = (char)value(me, (int)(i + after));
      memset(here, 1, 4 * page);
      clear(to, 4 * page);
      shmem_putmem(to + page + after, from, bytes, next);
      shmem_getmem(here + page + after, from, bytes, next);
      shmem_barrier_all();
      CHECK(to[page + after - 1] == 0 && to[page + after + bytes] == 0);
      CHECK(here[page + after - 1] == 1 && here[page + after + bytes] == 1);
      for (size_t i = 0; i < bytes; ++i) {
        CHECK(to[page + after + i] == (char)value(before, (int)(i + after)));
        CHECK(here[page + after + i] == (char)value(next, (int)(i + after)));
      }
      shmem_barrier_all();
    }
  free(here);
  shmem_free(from);
  shmem_free(to);
}

int main(void) {
  begin();
  CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
#define CALL(name, type) both_##name();
  PHICOLL_SHMEM_RMA_TYPES(CALL)
#define CALL_SIZE(bits, bytes) test_size_##bits();
  PHICOLL_SHMEM_SIZES(CALL_SIZE)
  test_mem();
  test_signals();
  test_places();
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return 0;
}
