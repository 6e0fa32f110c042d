// A barrier leaves errno as it is, also where it waits for long.
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

static pthread_barrier_t barrier;

static void* late(void* unused) {
  for (int turn = 0; turn < 3; ++turn) {
    usleep(turn * 150 * 1000);
    errno = 7;
    pthread_barrier_wait(&barrier);
    CHECK(errno == 7);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, late, NULL);
  for (int turn = 0; turn < 3; ++turn) {
    errno = 8;
    pthread_barrier_wait(&barrier);
    CHECK(errno == 8);
  }
  pthread_join(thread, NULL);
  if (!wrong) puts("right");
  return wrong;
}
