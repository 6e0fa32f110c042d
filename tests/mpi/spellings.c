// A Fortran call by each name that compilers make of it. Prints "right"; a wrong result ends the program with
// status 1.

#include "expect.h"

#define CALL(name) extern void name(int*, int*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
#define CALLS CALL(mpi_allreduce) CALL(mpi_allreduce_) CALL(mpi_allreduce__) CALL(MPI_ALLREDUCE)
CALLS
#undef CALL

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Fint count = 1, type = MPI_Type_c2f(MPI_INT), op = MPI_Op_c2f(MPI_SUM),
           comm = MPI_Comm_c2f(MPI_COMM_WORLD);
#define CALL(name)                                       \
  {                                                      \
    MPI_Fint error = -1;                                 \
    int one = 1, all = 0;                                \
    name(&one, &all, &count, &type, &op, &comm, &error); \
    expect(error, MPI_SUCCESS, #name, 0);                \
    expect(all, size, #name, 1);                         \
  }
  CALLS
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
