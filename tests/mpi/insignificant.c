// Arguments that the standard gives no meaning on one rank: null there, while the others' calls move data.
// Prints "right"; a wrong result ends the program with status 1.

#include "expect.h"

enum { most = 8 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int turn = 0; turn < 8; ++turn) {
    // Rank 0 of an exclusive scan receives nothing.
    int own = rank + turn, before = -1;
    MPI_Exscan(&own, rank == 0 ? NULL : &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(before, rank == 0 ? -1 : rank * (rank - 1) / 2 + rank * turn, "exscan", 0);
    expect(own, rank + turn, "exscan's operand", 0);
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
      expect(got[r], rank != 0 && r != 0 ? 10 * r + rank + turn : -1, "alltoallv", r);
  }
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
