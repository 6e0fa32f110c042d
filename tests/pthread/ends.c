// Ends in the way that its first argument names. With a second one it uses a barrier before, or begins a
// parallel region with one.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end_at_once(int number) {
  (void)number;
  _exit(0);
}

static void* enter(void* barrier) {
  pthread_barrier_wait(barrier);
  return NULL;
}

int main(int count, char** words) {
  const char* const way = words[1];
  if (count > 2 && strcmp(words[2], "region") != 0) {
    pthread_barrier_t barrier;
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, enter, &barrier);
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
    }
  } else if (count > 2) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
#pragma omp parallel num_threads(2)
    getpid();
  }
  if (strcmp(way, "fclose") == 0) return fclose(stderr);
  if (strcmp(way, "close") == 0) return close(STDERR_FILENO);
  if (strcmp(way, "replaced") == 0) return freopen(count > 3 ? words[3] : "/dev/null", "w", stderr) == NULL;
  if (strcmp(way, "_exit") == 0) _exit(0);
  if (strcmp(way, "_Exit") == 0) _Exit(0);
  if (strcmp(way, "quick_exit") == 0) quick_exit(0);
  if (strcmp(way, "handler") == 0) {
    signal(SIGUSR1, end_at_once);
    raise(SIGUSR1);
  }
  return 1;
}
