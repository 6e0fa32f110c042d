// Every call that runs over several nodes, with each root, beside the values expected. Reductions are by an
// operator that does not commute: the operand of the lower rank. Prints "right"; a wrong result ends the
// program with status 1.

#include <string.h>

#include "expect.h"

enum { count = 600, most = 32 };

static int turn;

static int value(int of, int i) {
  return of * 1000 + i + turn;
}

static void fill(int* at, int of, int elements) {
  for (int i = 0; i < elements; ++i) at[i] = value(of, i);
}

static void lower(void* left, void* right, int* elements, MPI_Datatype* type) {
  (void)type;
  memcpy(right, left, (size_t)*elements * sizeof(int));
}

int main(int argc, char** argv) {
  static int own[count], block[count], all[most * count];
  begin(&argc, &argv);
  if (size > most) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Op first;
  MPI_Op_create(lower, 0, &first);
  for (turn = 0; turn < 2; ++turn)
    for (int root = 0; root<size; root += size> 4 ? size / 2 : 1) {
      fill(block, rank == root ? root : -1, count);
      MPI_Bcast(block, count, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(block[i], value(root, i), "bcast", i);
      fill(own, rank, count);
      MPI_Reduce(own, block, count, MPI_INT, first, root, MPI_COMM_WORLD);
      for (int i = 0; rank == root && i < count; ++i) expect(block[i], value(0, i), "reduce", i);
      MPI_Allreduce(own, block, count, MPI_INT, first, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(block[i], value(0, i), "allreduce", i);
      MPI_Gather(own, count, MPI_INT, all, count, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; rank == root && i < size * count; ++i)
        expect(all[i], value(i / count, i % count), "gather", i);
      for (int r = 0; rank == root && r < size; ++r) fill(all + r * count, r + 7, count);
      MPI_Scatter(all, count, MPI_INT, block, count, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) expect(block[i], value(rank + 7, i), "scatter", i);
      MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
      for (int i = 0; i < size * count; ++i) expect(all[i], value(i / count, i % count), "allgather", i);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  if (rank == 0) printf("right\n");
  MPI_Op_free(&first);
  MPI_Finalize();
  return 0;
}
