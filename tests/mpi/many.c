// Four communicators, one after the other, with 70 allreduces each. Prints "right"; a wrong result ends the
// program with status 1.

#include "expect.h"

int main(int argc, char** argv) {
  begin_with_threads(&argc, &argv);
  for (int made = 0; made < 4; ++made) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int turn = 0; turn < 70; ++turn) {
      int own = rank + turn, sum = 0;
      MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
      expect(sum, size * (size - 1) / 2 + size * turn, "allreduce", turn);
    }
    MPI_Comm_free(&comm);
  }
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
