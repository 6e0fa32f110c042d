// What a host loads: a region with barriers, and, with -DTASKS, orphaned tasks for a team of the host's. With
// -DWAITS a constructor waits for a thread that begins the first region: the dynamic linker serves the
// loading thread alone meanwhile.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

int in_a_team_of_my_own(void) {
  int before[8] = {0}, wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  for (int turn = 1; turn < 200; ++turn) {
    before[omp_get_thread_num()] = turn;
#pragma omp barrier
    wrong += before[(omp_get_thread_num() + 1) % omp_get_num_threads()] != turn;
#pragma omp barrier
  }
  return wrong;
}

#ifdef TASKS
void in_a_team_of_the_host(int* done) {
  for (int i = 0; i < 25; ++i) {
#pragma omp task firstprivate(done)
#pragma omp atomic
    ++*done;
  }
#pragma omp taskloop
  for (int i = 0; i < 25; ++i) {
#pragma omp atomic
    ++*done;
  }
}
#endif

#ifdef WAITS
static void* in_a_thread(void* wrong) {
  *(int*)wrong = in_a_team_of_my_own();
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  int wrong = -1;
  pthread_t thread;
  pthread_create(&thread, NULL, in_a_thread, &wrong);
  pthread_join(thread, NULL);
  printf("%d wrong in a constructor\n", wrong);
}
#endif
