// A loop that is cancelled (OMP_CANCELLATION=true), and barriers beside it.
#include <omp.h>
#include <stdio.h>

int main(void) {
  int rounds = 0;
#pragma omp parallel num_threads(2)
  for (int turn = 0; turn < 100; ++turn) {
#pragma omp for
    for (int i = 0; i < 1000; ++i) {
      if (i == 10) {
#pragma omp cancel for
      }
    }
#pragma omp barrier
#pragma omp master
    ++rounds;
#pragma omp barrier
  }
  printf("%d rounds\n", rounds);
  return rounds != 100;
}
