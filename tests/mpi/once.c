// One large call: a program that ends before measuring the host's numbers would pay.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static char data[1 << 20];
  MPI_Init(&argc, &argv);
  MPI_Bcast(data, sizeof data, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  printf("right\n");
  return 0;
}
