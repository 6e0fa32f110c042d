// For programs of MPI that check what they get: how they begin, and `expect`, which ends them with status 1
// at a wrong value.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static inline void begun(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  begun();
}

/// With MPI_THREAD_MULTIPLE. Where the MPI lacks it, rank 0 says so, and the program ends.
static inline void begin_with_threads(int* argc, char*** argv) {
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  begun();
  if (provided == MPI_THREAD_MULTIPLE) return;
  if (rank == 0) printf("no threads\n");
  MPI_Finalize();
  exit(0);
}

/// Element `at` of what a call has left.
static inline void expect(long got, long wanted, const char* call, long at) {
  if (got == wanted) return;
  printf("rank %d: %s: element %ld is %ld, not %ld\n", rank, call, at, got, wanted);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
