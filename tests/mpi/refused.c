// An operator which the MPI may refuse between nodes: every rank's calls end, with or without an error.
// Prints how many of five calls failed on each rank. If a number of ranks is given, the calls are theirs
// alone, and all ranks then make another together.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 1, result = 0, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm some = MPI_COMM_WORLD;
  if (argc > 1) {
    for (int turn = 0; turn < 5; ++turn) MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank < atoi(argv[1]) ? 0 : MPI_UNDEFINED, rank, &some);
  }
  for (int turn = 0; turn < 5 && some != MPI_COMM_NULL; ++turn)
    failures += MPI_Allreduce(&value, &result, 1, MPI_INTEGER, MPI_LAND, some) != MPI_SUCCESS;
  printf("rank %d: %d\n", rank, failures);
  fflush(stdout);
  if (argc > 1) MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
