// A thread that is cancelled while it waits in a barrier for long: no point of cancellation. Prints "right",
// or what was wrong.

#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

int main(void) {
  static pthread_t second;
  static atomic_int waits, left;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      second = pthread_self();
      waits = 1;
    } else {
      while (!waits) usleep(100);
      usleep(20000);
      CHECK(pthread_cancel(second) == 0);
      usleep(20000);
      CHECK(!left);
    }
#pragma omp barrier
    if (omp_get_thread_num() == 1) {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
      left = 1;
    }
#pragma omp barrier
    CHECK(left);
  }
  if (!wrong) printf("right\n");
  fflush(stdout);
  _exit(wrong);  // the runtime's threads may wait in any way at the end
}
