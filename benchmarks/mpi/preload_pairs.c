// What a preloaded library changes: MPI_X, which it has, and PMPI_X, the MPI's own, take turns in one job, in
// rounds. Prints for each call and size the medians, and the median of the rounds' ratios with its smallest
// and largest quarter. With `fresh` each rank writes its send buffer before each call; the time of the writes
// alone is subtracted. usage: phicoll mpi -- mpiexec -n 2 preload_pairs [largest bytes] [rounds] [fresh]
// [call] [smallest bytes]

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_rounds = 101 };
static char *in, *out;
static int rank, size, fresh;

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

static int nothing(int own, int bytes) {
  (void)own, (void)bytes;
  return 0;
}

/// Seconds a turn, of the slowest rank. A turn writes `written` bytes and calls.
static double time_of(Call call, int own, int bytes, size_t written, int turns) {
  static int turn;
  PMPI_Barrier(MPI_COMM_WORLD);
  double took = -MPI_Wtime(), slowest = 0;
  for (int i = 0; i < turns; ++i) {
    if (written != 0) memset(in, ++turn & 63, written);
    call(own, bytes);
  }
  took = (took + MPI_Wtime()) / turns;
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
  fresh = argc > 3 && strcmp(argv[3], "fresh") == 0;
  const char* const only = argc > 4 ? argv[4] : "all";
  const int smallest = argc > 5 ? atoi(argv[5]) : 8;
  in = malloc((size_t)largest * (size_t)size);
  out = malloc((size_t)largest * (size_t)size);
  memset(in, 0, (size_t)largest * (size_t)size);  // its own pages
  memset(out, 0, (size_t)largest * (size_t)size);
  if (rank == 0) printf("%-10s %9s %12s %12s   ratio, quarters\n", "call", "bytes", "plain ns", "phicoll ns");
  for (unsigned c = 0; c < sizeof calls / sizeof calls[0]; ++c) {
    if (strcmp(only, "all") != 0 && strcmp(only, calls[c].name) != 0) continue;
    for (int bytes = c == 0 ? 0 : smallest; bytes <= largest; bytes = bytes * 8) {
      double plain[most_rounds], ours[most_rounds], ratios[most_rounds];
      const Call call = calls[c].call;
      const size_t written =
          fresh ? (size_t)bytes * (size_t)(call == scatter || call == alltoall ? size : 1) : 0;
      const int warm = bytes > 100000 ? 3 : 100;
      time_of(call, 1, bytes, written, 4);
      time_of(call, 0, bytes, written, 4);
      double one = time_of(call, 1, bytes, written, warm) + time_of(call, 0, bytes, written, warm);
      int repeat = (int)(3e-3 / one) + 1;
      for (int r = 0; r < rounds; ++r) {
        const double writing = fresh ? time_of(nothing, 0, bytes, written, repeat) : 0;
        if (r % 2 == 0) plain[r] = time_of(call, 1, bytes, written, repeat) - writing;
        ours[r] = time_of(call, 0, bytes, written, repeat) - writing;
        if (r % 2 != 0) plain[r] = time_of(call, 1, bytes, written, repeat) - writing;
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
  }
  MPI_Finalize();
  return 0;
}
