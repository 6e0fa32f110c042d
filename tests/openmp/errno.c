// A barrier leaves errno as it is, also where it is the program's first call of OpenMP, and where it waits
// for long.
#include <errno.h>
#include <omp.h>
#include <unistd.h>

#include "../check.h"

int main(void) {
  errno = 9;
#pragma omp barrier
  CHECK(errno == 9);
#pragma omp parallel num_threads(2)
  for (int turn = 0; turn < 3; ++turn) {
    if (omp_get_thread_num() == 1) usleep(turn * 150 * 1000);
    errno = 7 + omp_get_thread_num();
#pragma omp barrier
    CHECK(errno == 7 + omp_get_thread_num());
  }
  if (!wrong) puts("right");
  return wrong;
}
