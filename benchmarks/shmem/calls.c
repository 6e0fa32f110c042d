/* Times OpenSHMEM calls between PE 0 and PE 1, and with -DRAW (needs shmem_ptr) what loads and stores written by hand take
 * for the same. Prints one JSON object, nanoseconds a call: the median of several batches. PE 1 waits in a barrier meanwhile,
 * computes, or does the same ("contended", and what both take part in). Lines are warm but where "cold" stands. Compiled with
 * each library's own oshcc; two PEs. */
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

/* The median time of `calls` runs of `body` on PE 0; `other` is what PE 1 does meanwhile, and `before` what both do first. */
#define TIME_AFTER(before, name, calls, body, other)                    \
  do {                                                                  \
    double took[batches];                                               \
    for (int batch = 0; batch < batches; ++batch) {                     \
      before;                                                           \
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
#define TIME(name, calls, body, other) TIME_AFTER(NOTHING, name, calls, body, other)
/* With lines that PE 1 has just stored to, so that they are in its caches alone, as far as these hold them. */
#define COLD(name, bytes, calls, body) TIME_AFTER(if (me == 1) memset(heap + cold, batch, bytes), name " cold", calls, body, NOTHING)
/* The PGAS microbenchmarks' bidirectional test: PE 1 does the same to PE 0. */
#define BOTH_WAYS(name, calls, body) TIME(name ", both ways", calls, body, body)
#define BUSY(name, calls, body) TIME(name ", peer computes", calls, body, compute())

/* Some 20 ns in registers. */
static void compute(void) {
  static double kept = 1;
  double x = kept;
  for (int i = 0; i < 10; ++i) x = x * 0.999 + 0.001;
  kept = x;
}

/* Offsets in PE 1's heap, in longs or bytes. */
enum { cold = 1 << 20, line = 8, cold_bytes = 1 << 18, cold_lines = cold_bytes / 64 };
#ifdef RAW
#define P(at, value) (*(volatile long*)(there + (at)) = (value))
#define G(at) (*(volatile long*)(there + (at)))
#define PUT_QUIET(at, value) (P(at, value), __atomic_thread_fence(__ATOMIC_SEQ_CST))
#define ADD(at) __atomic_fetch_add(there + (at), 1, __ATOMIC_ACQ_REL)
#define ADD_HERE() __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL)
#define PUT(at, bytes) memcpy((char*)there + (at), source, bytes)
#define GET(at, bytes) memcpy(source, (char*)there + (at), bytes)
#define PUT_PEER(at, bytes) memcpy((char*)peer + (at), source, bytes)
#define GET_PEER(at, bytes) memcpy(source, (char*)peer + (at), bytes)
#define TELL(pe, value) __atomic_store_n(their_flag, value, __ATOMIC_RELEASE)
#define AWAIT(value) while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < (value)) continue
#define BARRIER() ++turn; TELL(1 - me, turn); AWAIT(turn) /* two flags by hand */
#else
#define P(at, value) shmem_long_p(word + (at), value, 1)
#define G(at) shmem_long_g(word + (at), 1)
#define PUT_QUIET(at, value) shmem_long_put(word + (at), &(value), 1, 1); shmem_quiet()
#define ADD(at) shmem_long_atomic_fetch_add(word + (at), 1, 1)
#define ADD_HERE() ADD(0)
#define PUT(at, bytes) shmem_putmem(heap + (at), source, bytes, 1)
#define GET(at, bytes) shmem_getmem(source, heap + (at), bytes, 1)
#define PUT_PEER(at, bytes) shmem_putmem(heap + (at), source, bytes, 1 - me)
#define GET_PEER(at, bytes) shmem_getmem(source, heap + (at), bytes, 1 - me)
#define TELL(pe, value) shmem_long_p(flag, value, pe)
#define AWAIT(value) shmem_long_wait_until(flag, SHMEM_CMP_GE, value)
#define BARRIER() shmem_barrier_all()
#endif

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
  long sum = 0, turn = 0;
#ifdef RAW
  long* const there = shmem_ptr(word, 1);
  char* const peer = shmem_ptr(heap, 1 - me);
  long* const their_flag = shmem_ptr(flag, 1 - me);
#endif
  TIME("p", 100000, P(0, i), NOTHING);
  BUSY("p", 100000, P(0, i));
  COLD("p", cold_bytes, cold_lines, P(cold / 8 + line * i, i));
  TIME("g", 100000, sum += G(0), NOTHING);
  BUSY("g", 100000, sum += G(0));
  COLD("g", cold_bytes, cold_lines, sum += G(cold / 8 + line * i));
  TIME("put+quiet 8", 100000, PUT_QUIET(0, i), NOTHING);
  BUSY("put+quiet 8", 100000, PUT_QUIET(0, i));
  COLD("put+quiet 8", cold_bytes, cold_lines, PUT_QUIET(cold / 8 + line * i, i));
  TIME("fetch_add", 100000, sum += ADD(0), NOTHING);
  BUSY("fetch_add", 100000, sum += ADD(0));
  COLD("fetch_add", cold_bytes, cold_lines, sum += ADD(cold / 8 + line * i));
  TIME("fetch_add contended", 100000, sum += ADD(0), sum += ADD_HERE());
  TIME("put 4K", 2000, PUT(cold, 4096), NOTHING);
  COLD("put 4K", cold_bytes, cold_bytes / 4096, PUT(cold + 4096 * i, 4096));
  TIME("put 64K", 300, PUT(cold, 65536), NOTHING);
  COLD("put 64K", cold_bytes, cold_bytes / 65536, PUT(cold + 65536 * i, 65536));
  TIME("put 1M", 30, PUT(cold, most), NOTHING);
  COLD("put 1M", most, 1, PUT(cold, most));
  TIME("get 4K", 2000, GET(cold, 4096), NOTHING);
  COLD("get 4K", cold_bytes, cold_bytes / 4096, GET(cold + 4096 * i, 4096));
  TIME("get 64K", 300, GET(cold, 65536), NOTHING);
  COLD("get 64K", cold_bytes, cold_bytes / 65536, GET(cold + 65536 * i, 65536));
  TIME("get 1M", 30, GET(cold, most), NOTHING);
  COLD("get 1M", most, 1, GET(cold, most));
  BOTH_WAYS("put 8", 100000, PUT_PEER(cold, 8));
  BOTH_WAYS("put 4K", 2000, PUT_PEER(cold, 4096));
  BOTH_WAYS("put 64K", 300, PUT_PEER(cold, 65536));
  BOTH_WAYS("put 1M", 30, PUT_PEER(cold, most));
  BOTH_WAYS("get 8", 100000, GET_PEER(cold, 8));
  BOTH_WAYS("get 4K", 2000, GET_PEER(cold, 4096));
  BOTH_WAYS("get 64K", 300, GET_PEER(cold, 65536));
  BOTH_WAYS("get 1M", 30, GET_PEER(cold, most));
  TIME("p+wait_until round trip", 5000, ++turn; TELL(1, turn); AWAIT(turn), ++turn; AWAIT(turn); TELL(0, turn));
  TIME("barrier_all", 5000, BARRIER(), BARRIER());
#ifndef RAW
  double* const to = (double*)(heap + most);
  double* const from = (double*)(heap + 2 * most);
  const struct {
    const char* name;
    int elements, calls;
  } sizes[] = {{"8", 1, 3000}, {"512", 64, 2000}, {"1K", 128, 2000}, {"2K", 256, 1500}, {"4K", 512, 1000}, {"1M", most / 8, 10}};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const int count = sizes[s].elements, calls = sizes[s].calls;
    char name[60];
/* With a barrier after each call, so that pSync may be used again: with a source that stays as it is, and with one that its
 * owner stores anew before each call, and a result of which each line is read after it. */
#define ANEW(call)                                                     \
  memset(from, (int)i % 32, 8 * (size_t)count);                       \
  call;                                                               \
  for (int j = 0; j < count; j += line) sum += ((const long*)to)[j];  \
  shmem_barrier_all()
#define BOTH(what, call)                                                                                  \
  snprintf(name, sizeof name, what " %s", sizes[s].name);                                                 \
  TIME(name, calls, call; shmem_barrier_all(), call; shmem_barrier_all());                                \
  snprintf(name, sizeof name, what " %s, stored anew and read", sizes[s].name);                           \
  TIME(name, calls, ANEW(call), ANEW(call))
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
