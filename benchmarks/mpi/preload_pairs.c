// What a preloaded library changes: MPI_X, which it has, and PMPI_X, the MPI's own, take turns in one job, in rounds. Prints for
// each call and size the medians, and the median of the rounds' ratios with its smallest and largest quarter.
// usage: phicoll mpi -- mpiexec -n 2 preload_pairs [largest bytes] [rounds]

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_rounds = 101 };
static char *in, *out;
static int rank, size;

typedef int (*Call)(int own, int bytes);

#define BOTH(name, ...) (own ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
static int barrier(int own, int bytes) {
  (void)bytes;
  return BOTH(Barrier, MPI_COMM_WORLD);
}
static int bcast(int own, int bytes) {
  return BOTH(Bcast, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static int reduce(int own, int bytes) {
  return BOTH(Reduce, in, out, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}
static int allreduce(int own, int bytes) {
  return BOTH(Allreduce, in, out, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static int gather(int own, int bytes) {
  return BOTH(Gather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static int scatter(int own, int bytes) {
  return BOTH(Scatter, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static int allgather(int own, int bytes) {
  return BOTH(Allgather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static int alltoall(int own, int bytes) {
  return BOTH(Alltoall, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/// Seconds a call, of the slowest rank.
static double time_of(Call call, int own, int bytes, int calls) {
  PMPI_Barrier(MPI_COMM_WORLD);
  double took = -MPI_Wtime(), slowest = 0;
  for (int i = 0; i < calls; ++i) call(own, bytes);
  took = (took + MPI_Wtime()) / calls;
  PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    Call call;
  } calls[] = {{"barrier", barrier}, {"bcast", bcast},     {"reduce", reduce},       {"allreduce", allreduce},
               {"gather", gather},   {"scatter", scatter}, {"allgather", allgather}, {"alltoall", alltoall}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int largest = argc > 1 ? atoi(argv[1]) : 1 << 20;
  const int rounds = argc > 2 && atoi(argv[2]) <= most_rounds ? atoi(argv[2]) : 15;
  in = calloc((size_t)largest, (size_t)size);
  out = calloc((size_t)largest, (size_t)size);
  if (rank == 0) printf("%-10s %9s %12s %12s   ratio, quarters\n", "call", "bytes", "plain ns", "phicoll ns");
  for (unsigned c = 0; c < sizeof calls / sizeof calls[0]; ++c)
    for (int bytes = c == 0 ? 0 : 8; bytes <= largest; bytes = bytes * 8) {
      double plain[most_rounds], ours[most_rounds], ratios[most_rounds];
      time_of(calls[c].call, 1, bytes, 20);
      time_of(calls[c].call, 0, bytes, 20);
      double one = time_of(calls[c].call, 1, bytes, 100) + time_of(calls[c].call, 0, bytes, 100);
      int repeat = (int)(3e-3 / one) + 1;
      for (int r = 0; r < rounds; ++r) {
        if (r % 2 == 0) plain[r] = time_of(calls[c].call, 1, bytes, repeat);
        ours[r] = time_of(calls[c].call, 0, bytes, repeat);
        if (r % 2 != 0) plain[r] = time_of(calls[c].call, 1, bytes, repeat);
        ratios[r] = ours[r] / plain[r];
      }
      qsort(plain, (size_t)rounds, sizeof(double), ascending);
      qsort(ours, (size_t)rounds, sizeof(double), ascending);
      qsort(ratios, (size_t)rounds, sizeof(double), ascending);
      if (rank == 0)
        printf("%-10s %9d %12.0f %12.0f   %.2f [%.2f, %.2f]\n", calls[c].name, bytes, plain[rounds / 2] * 1e9,
               ours[rounds / 2] * 1e9, ratios[rounds / 2], ratios[rounds / 4],
               ratios[rounds - 1 - rounds / 4]);
      if (bytes == 0) break;
    }
  MPI_Finalize();
  return 0;
}
