// What a host loads: a region with barriers, and, with -DTASKS, orphaned tasks for a team of the host's.
#include <omp.h>

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
