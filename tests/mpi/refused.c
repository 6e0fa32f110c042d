// An operator which the MPI may refuse between nodes: every rank's calls end, with or without an error.
// Prints how many of five calls failed on each rank.

#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 1, result = 0, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 5; ++turn)
    failures += MPI_Allreduce(&value, &result, 1, MPI_INTEGER, MPI_LAND, MPI_COMM_WORLD) != MPI_SUCCESS;
  printf("rank %d: %d\n", rank, failures);
  MPI_Finalize();
  return 0;
}
