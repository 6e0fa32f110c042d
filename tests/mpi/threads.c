// Threads under MPI_THREAD_MULTIPLE, each with communicators of its own, which they make in any order.

#include <pthread.h>

#include "expect.h"

enum { threads = 3, turns = 300 };
static MPI_Comm of_thread[threads];
static int wrong[threads];

static void* work(void* argument) {
  const int me = *(int*)argument;
  for (int made = 0; made < 3; ++made) {
    MPI_Comm comm;
    int rank, size;
    MPI_Comm_dup(of_thread[me], &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int turn = 0; turn < turns; ++turn) {
      int mine = rank + turn * me, sum = 0, first = rank == turn % size ? turn + me : -1;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
      MPI_Bcast(&first, 1, MPI_INT, turn % size, comm);
      if (sum != size * (size - 1) / 2 + size * turn * me || first != turn + me) wrong[me] = turn + 1;
    }
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int numbers[threads];
  pthread_t running[threads];
  begin_with_threads(&argc, &argv);
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[t]);
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    pthread_create(&running[t], NULL, work, &numbers[t]);
  }
  int failed = 0;
  for (int t = 0; t < threads; ++t) {
    pthread_join(running[t], NULL);
    failed = failed || wrong[t] != 0;
    MPI_Comm_free(&of_thread[t]);
  }
  if (failed) printf("rank %d: wrong\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && !failed) printf("right\n");
  MPI_Finalize();
  return 0;
}
