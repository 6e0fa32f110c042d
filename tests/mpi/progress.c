// A rank that waits in a barrier has a large message to send, which the other receives before it comes to the
// barrier.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int bytes = 64 << 20;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const data = calloc((size_t)bytes, 1);
  for (int turn = 0; turn < 10; ++turn) MPI_Barrier(MPI_COMM_WORLD);  // the first ones are the MPI's
  if (rank == 0) {
    MPI_Request request;
    data[bytes - 1] = 42;
    MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) printf("received %d\n", data[bytes - 1]);
  // The same with a passive target, which waits in a barrier while its memory is read and written.
  MPI_Win window;
  int* shared;
  MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
  for (int i = 0; i < 1 << 18; ++i) shared[i] = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    int sum = 0;
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    printf("got %d\n", sum);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  free(data);
  MPI_Finalize();
  return 0;
}
