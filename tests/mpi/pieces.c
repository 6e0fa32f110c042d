// Broadcasts and allreduces that go between nodes in several pieces, with a last one that is not full, beside
// the values expected. Prints "pieces are right"; a difference ends the program with status 1.

#include "expect.h"

enum { count = 300001 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int* const own = malloc(count * sizeof *own);
  int* const all = malloc(count * sizeof *all);
  if (own == NULL || all == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int turn = 0; turn < 3; ++turn)
    for (int root = 0; root < size; ++root) {
      for (int i = 0; i < count; ++i) own[i] = rank == root ? i * 3 + root + turn : -1;
      MPI_Bcast(own, count, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(own[i], i * 3 + root + turn, "broadcast", i);
      for (int i = 0; i < count; ++i) own[i] = all[i] = i + rank;
      MPI_Allreduce(own, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(all[i], size * i + size * (size - 1) / 2, "allreduce", i);
      MPI_Allreduce(MPI_IN_PLACE, own, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(own[i], i + size - 1, "allreduce in place", i);
    }
  if (rank == 0) printf("pieces are right\n");
  free(own);
  free(all);
  MPI_Finalize();
  return 0;
}
