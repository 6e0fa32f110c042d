// A pthread barrier, ns. argv: threads, calls.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t barrier;
static int calls;
static double took;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void* work(void* first) {
  for (int part = 0; part < 2; ++part) {  // the first warms up
    const double began = now();
    for (int i = 0; i < calls; ++i) pthread_barrier_wait(&barrier);
    if (first != NULL) took = now() - began;
  }
  return NULL;
}

int main(int count, char** words) {
  const int threads = atoi(words[1]);
  pthread_t all[1024];
  (void)count;
  calls = atoi(words[2]);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 1; i < threads; ++i) pthread_create(&all[i], NULL, work, NULL);
  work(&barrier);
  for (int i = 1; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%f\n", took / calls);
  return 0;
}
