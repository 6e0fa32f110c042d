// Forks while another thread makes and destroys barriers: each child uses a barrier of its own and one of its
// parent's. Prints "right"; the last child ends by exit().
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

enum { forks = 400 };

static int stop;
static pthread_barrier_t inherited;

static void* wait_once(void* barrier) {
  pthread_barrier_wait(barrier);
  return NULL;
}

static void two_wait(pthread_barrier_t* barrier) {
  pthread_t other;
  pthread_create(&other, NULL, wait_once, barrier);
  pthread_barrier_wait(barrier);
  pthread_join(other, NULL);
}

static void* make_and_destroy(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_destroy(&barrier);
  }
  return unused;
}

static void in_child(void) {
  pthread_barrier_t own;
  pthread_barrier_init(&own, NULL, 2);
  two_wait(&own);
  two_wait(&own);
  pthread_barrier_destroy(&own);
  two_wait(&inherited);
  pthread_barrier_destroy(&inherited);
}

int main(void) {
  pthread_t maker;
  pthread_barrier_init(&inherited, NULL, 2);
  two_wait(&inherited);
  pthread_create(&maker, NULL, make_and_destroy, NULL);
  for (int i = 0; i < forks && !wrong; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      in_child();
      if (i < forks - 1) _exit(0);
      exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(maker, NULL);
  two_wait(&inherited);
  if (!wrong) puts("right");
  fflush(stdout);
  _exit(wrong);
}
