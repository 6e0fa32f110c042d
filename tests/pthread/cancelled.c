// Threads that are cancelled before and in a wait: no point of cancellation, so they leave it with the
// others, and the barrier goes on. Prints "right", or what was wrong.

#include <pthread.h>
#include <unistd.h>

#include "../check.h"

static pthread_barrier_t barrier;
static atomic_int asked, waits, left, beyond;

static void wait_at(pthread_barrier_t* b) {
  const int result = pthread_barrier_wait(b);
  CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void* cancelled(void* before) {
  if (before != NULL)
    while (!asked) {
    }
  waits = 1;
  wait_at(&barrier);
  left = 1;
  pthread_testcancel();
  beyond = 1;
  return NULL;
}

static void* two_rounds(void* number) {
  (void)number;
  wait_at(&barrier);
  wait_at(&barrier);
  return NULL;
}

/// A thread waits until it sleeps, long after it would nap, before this one comes.
static void one(int before) {
  pthread_t thread;
  void* end = NULL;
  asked = waits = left = beyond = 0;
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  CHECK(pthread_create(&thread, NULL, cancelled, before ? &barrier : NULL) == 0);
  if (!before) {
    while (!waits) usleep(100);
    usleep(20000);
  }
  CHECK(pthread_cancel(thread) == 0);
  asked = 1;
  usleep(20000);
  CHECK(!left);
  wait_at(&barrier);
  CHECK(pthread_join(thread, &end) == 0);
  CHECK(left);
  CHECK(!beyond);
  CHECK(end == PTHREAD_CANCELED);
  CHECK(pthread_create(&thread, NULL, two_rounds, NULL) == 0);
  two_rounds(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
}

int main(void) {
  one(1);
  one(0);
  if (!wrong) printf("right\n");
  return wrong;
}
