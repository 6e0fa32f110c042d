/* The usual benchmark program of MPI's collectives, for the calibration of mpi_collectives: warm-up calls, a
 * barrier, a loop between two readings of MPI's clock, the slowest rank's time by the number of calls.
 *
 *   plain_loop barrier|bcast|allreduce BYTES CALLS WARMUP
 *
 * prints nanoseconds per call. It is pinned by its launcher. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(argv[2]), calls = atoi(argv[3]), warmup = atoi(argv[4]);
  float *send = NULL, *recv = NULL;
  if (posix_memalign((void**)&send, 4096, (size_t)bytes + 64) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (posix_memalign((void**)&recv, 4096, (size_t)bytes + 64) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(send, 0, (size_t)bytes);
  memset(recv, 0, (size_t)bytes);
  const char operation = argv[1][1]; /* bArrier, bCast, aLlreduce: a call of strcmp in the loop would show */
  double start = 0;
  for (int i = -warmup; i < calls; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    if (operation == 'a')
      MPI_Barrier(MPI_COMM_WORLD);
    else if (operation == 'c')
      MPI_Bcast(send, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
      MPI_Allreduce(send, recv, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  const double mine = (MPI_Wtime() - start) / calls * 1e9;
  double slowest = 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.2f\n", slowest);
  free(send);
  free(recv);
  MPI_Finalize();
  return 0;
}
