// One large call: a program that ends before measuring the host's numbers would pay.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static char data[1 << 20];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(data, sizeof data, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("right\n");
  return 0;
}
