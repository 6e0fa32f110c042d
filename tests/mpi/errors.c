// What an MPI refuses: the same return codes with the library as without.

#include <mpi.h>
#include <stdio.h>

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank, size, value = 1, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Refused by each rank alone, before it tells another.
  const int codes[] = {
      MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD),
      MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD),
      MPI_Allreduce(&value, &sum, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
      MPI_Allreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD),
      MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD),
      MPI_Scatter(NULL, 1, MPI_INT, &sum, -1, MPI_INT, 0, MPI_COMM_WORLD),
      MPI_Gather(&value, 1, MPI_INT, NULL, 1, MPI_INT, -3, MPI_COMM_WORLD),
  };
  for (unsigned i = 0; rank == 0 && i < sizeof codes / sizeof codes[0]; ++i)
    printf("%u: %d\n", i, class_of(codes[i]));
  const int fine = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (fine != MPI_SUCCESS || sum != size) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
