// Arguments that the standard gives no meaning on one rank: null there, while the others' calls move data.
// Prints "right"; a wrong result ends the program with status 1.

#include <mpi.h>
#include <stdio.h>

enum { most = 8 };

static void expect(int got, int wanted, const char* call) {
  if (got == wanted) return;
  printf("%s: got %d, not %d\n", call, got, wanted);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 8; ++turn) {
    // Rank 0 of an exclusive scan receives nothing.
    int own = rank + turn, before = -1;
    MPI_Exscan(&own, rank == 0 ? NULL : &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(before, rank == 0 ? -1 : rank * (rank - 1) / 2 + rank * turn, "exscan");
    expect(own, rank + turn, "exscan's operand");
    MPI_Exscan(&own, rank == 0 ? NULL : &before, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    // Rank 0 has no data, and no displacements. All others exchange an element.
    int counts[most] = {0}, starts[most], sent[most], got[most];
    for (int r = 0; r < size; ++r) {
      starts[r] = r;
      sent[r] = 10 * rank + r + turn;
      got[r] = -1;
      counts[r] = rank != 0 && r != 0;
    }
    if (rank == 0)
      MPI_Alltoallv(NULL, counts, NULL, MPI_INT, NULL, counts, NULL, MPI_INT, MPI_COMM_WORLD);
    else
      MPI_Alltoallv(sent, counts, starts, MPI_INT, got, counts, starts, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      expect(got[r], rank != 0 && r != 0 ? 10 * r + rank + turn : -1, "alltoallv");
  }
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
