// An explicit barrier and a static loop of an OpenMP team, ns each. argv: threads, calls.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  const int threads = atoi(words[1]), calls = atoi(words[2]);
  double barrier = 0, loop = 0;
  (void)count;
#pragma omp parallel num_threads(threads)
  {
    for (int part = 0; part < 2; ++part) {  // the first warms up
#pragma omp barrier
#pragma omp master
      barrier = -omp_get_wtime();
      for (int i = 0; i < calls; ++i) {
#pragma omp barrier
      }
#pragma omp master
      barrier += omp_get_wtime();
#pragma omp barrier
#pragma omp master
      loop = -omp_get_wtime();
      for (int i = 0; i < calls; ++i) {
#pragma omp for schedule(static)
        for (int j = 0; j < threads; ++j) __asm__ volatile("" ::: "memory");
      }
#pragma omp master
      loop += omp_get_wtime();
    }
  }
  printf("%f %f\n", barrier / calls * 1e9, loop / calls * 1e9);
  return 0;
}
