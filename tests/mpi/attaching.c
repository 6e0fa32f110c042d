// A large message that its receiver's MPI must move on while other ranks of the communicator are still to
// come to the call that attaches, under MPI_THREAD_MULTIPLE. Prints "right".

#include "expect.h"

enum { count = 16 << 20 };

int main(int argc, char** argv) {
  begin_with_threads(&argc, &argv);
  int* const data = malloc(count * sizeof *data);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < count; ++i) data[i] = rank == 1 ? i : -1;
  for (int turn = 0; turn < 3; ++turn) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Irecv(data, count, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Send(data, count, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);  // attaches
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += data[i] != (rank < 2 ? i : -1);
  if (wrong != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  free(data);
  MPI_Finalize();
  return 0;
}
