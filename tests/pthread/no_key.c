// Barriers in a program that has taken all keys of threads.
#include <pthread.h>

#include "../check.h"

enum { most = 3, turns = 100 };

static pthread_barrier_t barrier;
static int cells[most], serial;

static void* wait(void* mine) {
  for (int turn = 1; turn <= turns; ++turn) {
    *(int*)mine = turn;
    const int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result != 0) __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < most; ++i) CHECK(cells[i] == turn);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_key_t key;
  while (pthread_key_create(&key, NULL) == 0) {
  }
  pthread_t threads[most];
  pthread_barrier_init(&barrier, NULL, most);
  for (int i = 0; i < most; ++i) pthread_create(&threads[i], NULL, wait, &cells[i]);
  for (int i = 0; i < most; ++i) pthread_join(threads[i], NULL);
  CHECK(serial == turns);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  if (!wrong) puts("right");
  return wrong;
}
