// Ranks that call different collectives, on a communicator in which their numbers are turned around: its rank
// 0 a broadcast, the others a reduction, which with an argument the MPI serves (of long doubles). An error
// ends the program before it prints.

#include "expect.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_set_name(turned, "turned");
  for (int turn = 0; turn < 8; ++turn) MPI_Barrier(turned);
  double data[2] = {1, 2}, sum[2];
  long double operands[2] = {1, 2}, sums[2];
  if (rank == size - 1)
    MPI_Bcast(data, 2, MPI_DOUBLE, size - 1, turned);
  else if (argc > 1)
    MPI_Allreduce(operands, sums, 2, MPI_LONG_DOUBLE, MPI_SUM, turned);
  else
    MPI_Allreduce(data, sum, 2, MPI_DOUBLE, MPI_SUM, turned);
  MPI_Barrier(turned);
  printf("rank %d went on\n", rank);
  MPI_Finalize();
  return 0;
}
