// Tasks that only a barrier runs.
#include <omp.h>
#include <stdio.h>

int main(void) {
  int done = 0, seen = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    for (int i = 0; i < 50; ++i) {
#pragma omp task shared(done)
#pragma omp atomic
      ++done;
    }
#pragma omp barrier
#pragma omp master
    seen = done;
  }
  printf("%d of 50\n", seen);
  return seen != 50;
}
