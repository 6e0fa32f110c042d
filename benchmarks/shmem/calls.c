/* Times OpenSHMEM calls between PE 0 and PE 1, and with -DRAW (needs shmem_ptr) what loads and stores written by hand take
 * for the same. Prints one JSON object, nanoseconds a call: the median of several batches. PE 1 waits in a barrier meanwhile, or
 * does the same ("contended", and what both take part in). Lines are warm. Compiled with each library's own oshcc; two PEs. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { batches = 15, most = 1 << 20 };
static int me, first = 1;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void tell(const char* name, double ns) {
  if (me == 0) printf("%s\"%s\": %.3f", first ? "{" : ", ", name, ns);
  first = 0;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median time of `calls` runs of `body` on PE 0; `other` is what PE 1 does meanwhile. */
#define TIME(name, calls, body, other)                                  \
  do {                                                                  \
    double took[batches];                                               \
    for (int batch = 0; batch < batches; ++batch) {                     \
      shmem_barrier_all();                                              \
      const double start = now();                                       \
      if (me == 0) {                                                    \
        for (long i = 0; i < (calls); ++i) { body; }                    \
      } else {                                                          \
        for (long i = 0; i < (calls); ++i) { other; }                   \
      }                                                                 \
      took[batch] = (now() - start) / (double)(calls);                  \
      shmem_barrier_all();                                              \
    }                                                                   \
    qsort(took, batches, sizeof *took, by_size);                        \
    tell(name, took[batches / 2]);                                      \
  } while (0)
#define NOTHING (void)0

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  char* const heap = shmem_malloc(4 * most);
  /* Half a page apart modulo pages: loads that trail stores there by some bytes would wait for them. */
  char* const source = (char*)aligned_alloc(4096, most + 4096) + 2048;
  long* const word = (long*)heap;
  long* const flag = (long*)(heap + 256);
  static long sync_words[SHMEM_REDUCE_SYNC_SIZE > SHMEM_COLLECT_SYNC_SIZE ? SHMEM_REDUCE_SYNC_SIZE : SHMEM_COLLECT_SYNC_SIZE];
  static double work[most / 8];
  for (unsigned i = 0; i < sizeof sync_words / sizeof *sync_words; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  memset(heap, 0, 4 * most);
  memset(source, 1, most);
  memset(work, 0, sizeof work);
  shmem_barrier_all();
  long sum = 0;
#ifdef RAW
  long* const there = shmem_ptr(word, 1);
  long* const their_flag = shmem_ptr(flag, 1 - me);
  char* const their_heap = shmem_ptr(heap, 1);
  TIME("p", 100000, *(volatile long*)there = i, NOTHING);
  TIME("g", 100000, sum += *(volatile long*)there, NOTHING);
  TIME("put+quiet 8", 100000, *(volatile long*)there = i; __atomic_thread_fence(__ATOMIC_SEQ_CST), NOTHING);
  TIME("fetch_add", 100000, sum += __atomic_fetch_add(there, 1, __ATOMIC_ACQ_REL), NOTHING);
  TIME("fetch_add contended", 100000, sum += __atomic_fetch_add(there, 1, __ATOMIC_ACQ_REL),
       __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL));
  TIME("put 4K", 2000, memcpy(their_heap + 4096, source, 4096), NOTHING);
  TIME("put 64K", 300, memcpy(their_heap + 4096, source, 65536), NOTHING);
  TIME("put 1M", 30, memcpy(their_heap + 4096, source, most), NOTHING);
  TIME("get 4K", 2000, memcpy(source, their_heap + 4096, 4096), NOTHING);
  TIME("get 64K", 300, memcpy(source, their_heap + 4096, 65536), NOTHING);
  TIME("get 1M", 30, memcpy(source, their_heap + 4096, most), NOTHING);
  long turn = 0;
#define AWAIT while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < turn) continue
  TIME("p+wait_until round trip", 5000, ++turn; __atomic_store_n(their_flag, turn, __ATOMIC_RELEASE); AWAIT, ++turn; AWAIT;
       __atomic_store_n(their_flag, turn, __ATOMIC_RELEASE));
  /* Two flags by hand. */
  TIME("barrier_all", 5000, ++turn; __atomic_store_n(their_flag, turn, __ATOMIC_RELEASE); AWAIT, ++turn;
       __atomic_store_n(their_flag, turn, __ATOMIC_RELEASE); AWAIT);
#else
  TIME("p", 100000, shmem_long_p(word, i, 1), NOTHING);
  TIME("g", 100000, sum += shmem_long_g(word, 1), NOTHING);
  TIME("put+quiet 8", 100000, shmem_long_put(word, &i, 1, 1); shmem_quiet(), NOTHING);
  TIME("fetch_add", 100000, sum += shmem_long_atomic_fetch_add(word, 1, 1), NOTHING);
  TIME("fetch_add contended", 100000, sum += shmem_long_atomic_fetch_add(word, 1, 1),
       sum += shmem_long_atomic_fetch_add(word, 1, 1));
  TIME("put 4K", 2000, shmem_putmem(heap + 4096, source, 4096, 1), NOTHING);
  TIME("put 64K", 300, shmem_putmem(heap + 4096, source, 65536, 1), NOTHING);
  TIME("put 1M", 30, shmem_putmem(heap + 4096, source, most, 1), NOTHING);
  TIME("get 4K", 2000, shmem_getmem(source, heap + 4096, 4096, 1), NOTHING);
  TIME("get 64K", 300, shmem_getmem(source, heap + 4096, 65536, 1), NOTHING);
  TIME("get 1M", 30, shmem_getmem(source, heap + 4096, most, 1), NOTHING);
  long turn = 0;
  TIME("p+wait_until round trip", 5000, ++turn; shmem_long_p(flag, turn, 1); shmem_long_wait_until(flag, SHMEM_CMP_GE, turn),
       ++turn; shmem_long_wait_until(flag, SHMEM_CMP_GE, turn); shmem_long_p(flag, turn, 0));
  TIME("barrier_all", 5000, shmem_barrier_all(), shmem_barrier_all());
  double* const to = (double*)(heap + most);
  double* const from = (double*)(heap + 2 * most);
  const struct {
    const char* name;
    int elements, calls;
  } sizes[] = {{"8", 1, 3000}, {"4K", 512, 1000}, {"1M", most / 8, 10}};
  for (int s = 0; s < 3; ++s) {
    const int count = sizes[s].elements, calls = sizes[s].calls;
    char name[40];
/* With a barrier after each call, by which pSync may be used again. */
#define BOTH(what, call)                                       \
  snprintf(name, sizeof name, what " %s", sizes[s].name);      \
  TIME(name, calls, call; shmem_barrier_all(), call; shmem_barrier_all())
    BOTH("broadcast", shmem_broadcast64(to, from, (size_t)count, 0, 0, 0, 2, sync_words));
    BOTH("sum_to_all", shmem_double_sum_to_all(to, from, count, 0, 0, 2, work, sync_words));
    BOTH("collect", shmem_fcollect64(to, from, (size_t)(count + 1) / 2, 0, 0, 2, sync_words));
  }
#endif
  if (me == 0) printf("}\n");
  if (sum == 42) fprintf(stderr, " ");
  fflush(stdout);
  shmem_finalize();
  return 0;
}
