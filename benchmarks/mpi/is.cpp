// IS of the NAS Parallel Benchmarks (src/cpp/phicoll/programs/is.hpp) on an MPI's collectives, beside
// `phicoll run is`. Prints the milliseconds of each run, one a line; exit code 3 if NPB's verification fails.
//
// mpicxx -std=c++14 -O3 -Isrc/cpp -Ibuild/main/src/cpp/generated benchmarks/mpi/is.cpp -o is
// mpiexec -n 2 ./is A 10

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "phicoll/programs/is.hpp"

namespace {

struct MpiBarrier {
  void operator()() const { MPI_Barrier(MPI_COMM_WORLD); }
};

class MpiContext : public phicoll::programs::BarrierContext<MpiBarrier> {
 public:
  MpiContext(int rank, int size) : BarrierContext(rank, size, nullptr, MpiBarrier()) {}

  void allreduce(const double* send, double* receive, std::size_t count) {
    MPI_Allreduce(send, receive, static_cast<int>(count), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  void allreduce(const std::int32_t* send, std::int32_t* receive, std::size_t count) {
    MPI_Allreduce(send, receive, static_cast<int>(count), MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
  }
  void allgather(const void* send, void* receive, std::size_t bytes) {
    const int n = static_cast<int>(bytes);
    MPI_Allgather(send, n, MPI_BYTE, receive, n, MPI_BYTE, MPI_COMM_WORLD);
  }
  void alltoall(const void* send, void* receive, std::size_t bytes) {
    const int n = static_cast<int>(bytes);
    MPI_Alltoall(send, n, MPI_BYTE, receive, n, MPI_BYTE, MPI_COMM_WORLD);
  }
  void alltoallv(const void* send, const std::size_t* sizes, const std::size_t* at, void* receive,
                 const std::size_t* received, const std::size_t* received_at) {
    const auto ints = [&](const std::size_t* from) { return std::vector<int>(from, from + size()); };
    MPI_Alltoallv(send, ints(sizes).data(), ints(at).data(), MPI_BYTE, receive, ints(received).data(),
                  ints(received_at).data(), MPI_BYTE, MPI_COMM_WORLD);
  }
};

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const char letter = count > 1 ? arguments[1][0] : 'S';
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MpiContext context(rank, size);
  phicoll::programs::Is::Rank<MpiContext> is(context, letter);
  bool right = true;
  for (int run = count > 2 ? std::atoi(arguments[2]) : 1; run > 0; --run) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    is.run();
    const double took = MPI_Wtime() - start;
    double longest;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    right = is.check().right() && right;
    if (rank == 0) std::printf("%.2f\n", longest * 1000);
  }
  MPI_Finalize();
  return right ? 0 : 3;
}
