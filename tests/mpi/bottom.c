// Vector calls in which rank 1's displacements are addresses, from MPI_BOTTOM, and the other ranks' are not;
// and a type whose elements lie at addresses. Without large counts the program must lie low enough in memory
// (-no-pie). Prints "right"; a wrong result ends the program with status 1.

#include "expect.h"

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

static Displacement address(void* of) {
  MPI_Aint at;
  MPI_Get_address(of, &at);
  expect((Displacement)at, at, "an address as a displacement", 0);
  return (Displacement)at;
}

int main(int argc, char** argv) {
  static unsigned char sent[most], got[most];
  begin(&argc, &argv);
  Count counts[most];
  Displacement from[most], to[most];
  void* const out = rank == 1 ? MPI_BOTTOM : sent;
  void* const in = rank == 1 ? MPI_BOTTOM : got;
  int first = 1;
  MPI_Aint at;
  MPI_Datatype there;
  MPI_Get_address(got, &at);
  MPI_Type_create_hindexed(1, &first, &at, MPI_BYTE, &there);
  MPI_Type_commit(&there);
  for (int turn = 0; turn < 4; ++turn) {
    for (int r = 0; r < size; ++r) {
      counts[r] = 1;
      from[r] = rank == 1 ? address(sent + r) : r;
      to[r] = rank == 1 ? address(got + r) : r;
      sent[r] = (unsigned char)(10 * rank + r + turn);
    }
    CALL(MPI_Alltoallv)(out, counts, from, MPI_BYTE, in, counts, to, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(got[r], 10 * r + rank + turn, "alltoallv", r);
    CALL(MPI_Allgatherv)(sent, 1, MPI_BYTE, in, counts, to, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(got[r], 10 * r + turn, "allgatherv", r);
    CALL(MPI_Gatherv)(sent + 1, 1, MPI_BYTE, in, counts, to, MPI_BYTE, 1, MPI_COMM_WORLD);
    for (int r = 0; rank == 1 && r < size; ++r) expect(got[r], 10 * r + 1 + turn, "gatherv", r);
    CALL(MPI_Scatterv)(out, counts, from, MPI_BYTE, got, 1, MPI_BYTE, 1, MPI_COMM_WORLD);
    expect(got[0], 10 + rank + turn, "scatterv", 0);
    MPI_Bcast(MPI_BOTTOM, 1, there, 1, MPI_COMM_WORLD);
    expect(got[0], 11 + turn, "bcast", 0);
  }
  MPI_Type_free(&there);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
