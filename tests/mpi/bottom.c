// Vector calls in which rank 1's displacements are addresses, from MPI_BOTTOM, and the other ranks' are not. Without large counts the
// program must lie low enough in memory (-no-pie).
// Prints "right"; a wrong result ends the program with status 1.

#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4
#define CALL(name) name##_c
typedef MPI_Count Count;
typedef MPI_Aint Displacement;
#else
#define CALL(name) name
typedef int Count;
typedef int Displacement;
#endif

enum { most = 8 };

static void expect(long got, long wanted, const char* what) {
  if (got == wanted) return;
  printf("%s: got %ld, not %ld\n", what, got, wanted);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static Displacement address(void* of) {
  MPI_Aint at;
  MPI_Get_address(of, &at);
  expect((Displacement)at, at, "an address as a displacement");
  return (Displacement)at;
}

int main(int argc, char** argv) {
  static unsigned char sent[most], got[most];
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Count counts[most];
  Displacement from[most], to[most];
  void* const out = rank == 1 ? MPI_BOTTOM : sent;
  void* const in = rank == 1 ? MPI_BOTTOM : got;
  for (int turn = 0; turn < 4; ++turn) {
    for (int r = 0; r < size; ++r) {
      counts[r] = 1;
      from[r] = rank == 1 ? address(sent + r) : r;
      to[r] = rank == 1 ? address(got + r) : r;
      sent[r] = (unsigned char)(10 * rank + r + turn);
    }
    CALL(MPI_Alltoallv)(out, counts, from, MPI_BYTE, in, counts, to, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(got[r], 10 * r + rank + turn, "alltoallv");
    CALL(MPI_Allgatherv)(sent, 1, MPI_BYTE, in, counts, to, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(got[r], 10 * r + turn, "allgatherv");
    CALL(MPI_Gatherv)(sent + 1, 1, MPI_BYTE, in, counts, to, MPI_BYTE, 1, MPI_COMM_WORLD);
    for (int r = 0; rank == 1 && r < size; ++r) expect(got[r], 10 * r + 1 + turn, "gatherv");
    CALL(MPI_Scatterv)(out, counts, from, MPI_BYTE, got, 1, MPI_BYTE, 1, MPI_COMM_WORLD);
    expect(got[0], 10 + rank + turn, "scatterv");
  }
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
