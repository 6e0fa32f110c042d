// Forks while another thread begins and ends regions: each child's own region works. Prints "right"; the last
// child ends by exit().
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

enum { forks = 400 };

static int stop;

static int region(void) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
#pragma omp barrier
    sum += 1;
  }
  return sum;
}

static void* regions(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) region();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, regions, NULL);
  for (int i = 0; i < forks && !wrong; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      const int sum = region();
      if (i < forks - 1) _exit(sum != 2);
      exit(sum != 2);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  if (!wrong) puts("right");
  fflush(stdout);
  _exit(wrong);
}
