// pthread barriers in all manners: rounds of the same threads, of threads that take turns, that come and go,
// barriers that are made and destroyed by whichever thread comes first. Prints "right", or what was wrong.
// argv[1]: how often.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

enum { most = 8 };

static int turns;
static pthread_barrier_t barrier;
static int threads_here;
static int cells[16 * most];
static atomic_int serials;

static int wait_for_all(pthread_barrier_t* b) {
  const int result = pthread_barrier_wait(b);
  CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serials, 1);
  return result;
}

static void start(int count, void* (*function)(void*), pthread_t* threads) {
  for (long i = 0; i < count; ++i) pthread_create(&threads[i], NULL, function, (void*)i);
}
static void join(int count, pthread_t* threads) {
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

// What a thread wrote before is seen by its neighbour after.
static void* rounds(void* number) {
  const int me = (int)(long)number, next = (me + 1) % threads_here;
  for (int turn = 0; turn < turns; ++turn) {
    cells[16 * me] = turn * 10 + me;
    wait_for_all(&barrier);
    CHECK(cells[16 * next] == turn * 10 + next);
    wait_for_all(&barrier);
  }
  return NULL;
}

static void same_threads(int count) {
  pthread_t threads[most];
  threads_here = count;
  serials = 0;
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
  start(count, rounds, threads);
  join(count, threads);
  // New threads, whose places the old ones left.
  start(count, rounds, threads);
  join(count, threads);
  CHECK(serials == 4 * turns);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
}

// More threads than the barrier is for: each round takes the next who come.
static atomic_int arrivals_left;
static void* taking_turns(void* number) {
  (void)number;
  while (atomic_fetch_sub(&arrivals_left, 1) > 0) wait_for_all(&barrier);
  return NULL;
}

static void more_threads(int count, int of) {
  pthread_t threads[most];
  serials = 0;
  arrivals_left = turns * of;
  pthread_barrier_init(&barrier, NULL, (unsigned)of);
  start(count, taking_turns, threads);
  join(count, threads);
  CHECK(serials == turns);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
}

// Pairs that change: a barrier for two, on which three threads wait in a ring, so that every wait needs one
// of the others.
static pthread_barrier_t of_pair[3];
static void* in_a_ring(void* number) {
  const int me = (int)(long)number;
  for (int turn = 0; turn < turns; ++turn) {
    // 0 meets 1, 1 meets 2, 2 meets 0: every barrier is also met by the others' turn.
    const int shift = turn % 3;
    if (me == 0) wait_for_all(&of_pair[shift]), wait_for_all(&of_pair[(shift + 2) % 3]);
    if (me == 1) wait_for_all(&of_pair[shift]), wait_for_all(&of_pair[(shift + 1) % 3]);
    if (me == 2) wait_for_all(&of_pair[(shift + 1) % 3]), wait_for_all(&of_pair[(shift + 2) % 3]);
  }
  return NULL;
}

static void ring(void) {
  pthread_t threads[most];
  serials = 0;
  for (int i = 0; i < 3; ++i) pthread_barrier_init(&of_pair[i], NULL, 2);
  start(3, in_a_ring, threads);
  join(3, threads);
  CHECK(serials == 3 * turns);
  for (int i = 0; i < 3; ++i) pthread_barrier_destroy(&of_pair[i]);
}

// A thread that comes in the middle of a round, while one that has a place stays away.
static atomic_int stage;
static void* first_pair(void* number) {
  (void)number;
  wait_for_all(&barrier);
  if (atomic_fetch_add(&stage, 1) == 0) {
    wait_for_all(&barrier);  // with the stranger, since the other stays away
    atomic_fetch_add(&stage, 10);
  } else {
    while (atomic_load(&stage) < 12) sched_yield();
  }
  return NULL;
}
static void* stranger(void* number) {
  (void)number;
  while (atomic_load(&stage) < 2) sched_yield();
  wait_for_all(&barrier);
  return NULL;
}
static void stranger_in_a_round(void) {
  pthread_t pair[2], third;
  stage = 0;
  serials = 0;
  pthread_barrier_init(&barrier, NULL, 2);
  start(2, first_pair, pair);
  pthread_create(&third, NULL, stranger, NULL);
  join(2, pair);
  pthread_join(third, NULL);
  CHECK(serials == 2);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
}

// A thousand barriers in memory that is freed by the serial thread at once.
static pthread_barrier_t* _Atomic current;
static void* made_and_destroyed(void* number) {
  const int me = (int)(long)number;
  for (int turn = 0; turn < 1000; ++turn) {
    pthread_barrier_t* mine;
    if (me == 0) {
      mine = malloc(sizeof *mine);
      memset(mine, 0x5a, sizeof *mine);
      pthread_barrier_init(mine, NULL, (unsigned)threads_here);
      atomic_store(&current, mine);
    }
    wait_for_all(&barrier);
    mine = atomic_load(&current);
    if (wait_for_all(mine) == PTHREAD_BARRIER_SERIAL_THREAD) {
      CHECK(pthread_barrier_destroy(mine) == 0);
      memset(mine, 0xa5, sizeof *mine);
      free(mine);
    }
  }
  return NULL;
}
static void many_barriers(int count) {
  pthread_t threads[most];
  threads_here = count;
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  start(count, made_and_destroyed, threads);
  join(count, threads);
  pthread_barrier_destroy(&barrier);
}

// Never destroyed, at one address.
static void forgotten(void) {
  pthread_t threads[most];
  threads_here = 2;
  for (int again = 0; again < 3; ++again) {
    pthread_barrier_init(&barrier, NULL, 2);
    start(2, rounds, threads);
    join(2, threads);
  }
}

static void shared_by_processes(void) {
  pthread_barrier_t* shared =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  CHECK(pthread_barrier_init(shared, &attributes, 2) == 0);
  const pid_t child = fork();
  for (int turn = 0; turn < 100; ++turn) wait_for_all(shared);
  if (child == 0) _exit(wrong);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(pthread_barrier_destroy(shared) == 0);
}

static pthread_barrier_t alike = {{0}};
int main(int count, char** words) {
  turns = count > 1 ? atoi(words[1]) : 200;
  turns -= turns % 12;
  CHECK(pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
  CHECK(pthread_barrier_init(&barrier, NULL, 0xffffffffu) == EINVAL);
  CHECK(pthread_barrier_init(&alike, NULL, 1) == 0);
  for (int i = 0; i < 3; ++i) CHECK(pthread_barrier_wait(&alike) == PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK(pthread_barrier_destroy(&alike) == 0);
  for (int threads = 2; threads <= most; ++threads) same_threads(threads);
  more_threads(4, 2);
  more_threads(6, 3);
  more_threads(8, 2);
  ring();
  for (int again = 0; again < 20; ++again) stranger_in_a_round();
  for (int threads = 2; threads <= 4; ++threads) many_barriers(threads);
  forgotten();
  shared_by_processes();
  if (!wrong) puts("right");
  return wrong;
}
