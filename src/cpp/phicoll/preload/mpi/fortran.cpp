// What Fortran programs call where the MPI's Fortran library would call PMPI_ functions: here it is MPI_
// functions. Under Open MPI that is each call; `use mpi_f08` comes to ompi_allreduce_f, the others to
// mpi_allreduce_, as the compiler spells it. Under MPICH and Intel MPI it is those calls of `use mpi_f08`
// that have no buffer: their other Fortran functions call MPI_ functions themselves.

#include "shim.h"

#if defined OPEN_MPI || defined MPICH_VERSION

namespace phicoll_mpi {
namespace {

void give(MPI_Fint* error, int result) {
  if (error != nullptr) *error = static_cast<MPI_Fint>(result);
}

}  // namespace
}  // namespace phicoll_mpi

using Integer = const MPI_Fint*;

// What a call gets, and what it passes on.
#define PHICOLL_FORTRAN(name, given, ...)  \
  void phicoll_fortran_##name given;       \
  void phicoll_fortran_##name given {      \
    phicoll_mpi::give(error, __VA_ARGS__); \
  }
#define PHICOLL_COMM PMPI_Comm_f2c(*comm)
#define PHICOLL_ALSO(name, other) \
  extern __typeof__(phicoll_fortran_##name) other __attribute__((alias("phicoll_fortran_" #name)));

extern "C" {

PHICOLL_FORTRAN(init, (MPI_Fint * error), MPI_Init(nullptr, nullptr))
PHICOLL_FORTRAN(finalize, (MPI_Fint * error), MPI_Finalize())
PHICOLL_FORTRAN(barrier, (Integer comm, MPI_Fint* error), MPI_Barrier(PHICOLL_COMM))

void phicoll_fortran_init_thread(Integer required, MPI_Fint* provided, MPI_Fint* error);
void phicoll_fortran_init_thread(Integer required, MPI_Fint* provided, MPI_Fint* error) {
  int level = MPI_THREAD_SINGLE;
  const int result = MPI_Init_thread(nullptr, nullptr, static_cast<int>(*required), &level);
  if (result == MPI_SUCCESS) *provided = static_cast<MPI_Fint>(level);
  phicoll_mpi::give(error, result);
}

#ifndef OPEN_MPI
PHICOLL_ALSO(init, mpi_init_f08_)
PHICOLL_ALSO(init_thread, mpi_init_thread_f08_)
PHICOLL_ALSO(finalize, mpi_finalize_f08_)
PHICOLL_ALSO(barrier, mpi_barrier_f08_)
#endif
}

#ifdef OPEN_MPI

#pragma GCC visibility push(default)
extern "C" {
// Common blocks of the MPI's Fortran headers, which are known by their addresses. A library has those of its
// compiler's spelling.
#define PHICOLL_COMMON(name, NAME) \
  extern __attribute__((weak)) char NAME[1], name[1], name##_[1], name##__[1];
PHICOLL_COMMON(mpi_fortran_in_place, MPI_FORTRAN_IN_PLACE)
PHICOLL_COMMON(mpi_fortran_bottom, MPI_FORTRAN_BOTTOM)
#undef PHICOLL_COMMON
}
#pragma GCC visibility pop

namespace phicoll_mpi {
namespace {

bool is(const void* given, const void* common) {
  return given == common && common != nullptr;
}

#define PHICOLL_IS(given, name, NAME) \
  (is(given, name##_) || is(given, name##__) || is(given, name) || is(given, NAME))

/// A buffer as C has it.
void* buffer(void* given) {
  if (PHICOLL_IS(given, mpi_fortran_in_place, MPI_FORTRAN_IN_PLACE)) return MPI_IN_PLACE;
  if (PHICOLL_IS(given, mpi_fortran_bottom, MPI_FORTRAN_BOTTOM)) return MPI_BOTTOM;
  return given;
}

int remote_size(MPI_Comm comm) {
  int inter = 0;
  int size = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  return (inter != 0 ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size)) == MPI_SUCCESS ? size
                                                                                                        : 0;
}

/// A number for each rank. An MPI may have been built with INTEGERs of 64 bits.
template <class Integer>
class Numbers {
 public:
  Numbers(const Integer* given, MPI_Comm comm) {
    const int size = given != nullptr ? remote_size(comm) : 0;
    numbers_ = reinterpret_cast<int*>(table_.take(static_cast<size_t>(size) * sizeof(int)));
    for (int r = 0; r < size; ++r) numbers_[r] = static_cast<int>(given[r]);
    if (given == nullptr) numbers_ = nullptr;
  }
  operator const int*() const { return numbers_; }

 private:
  Scratch table_;
  int* numbers_;
};
template <>
class Numbers<int> {
 public:
  Numbers(const int* given, MPI_Comm) : numbers_(given) {}
  operator const int*() const { return numbers_; }

 private:
  const int* numbers_;
};

}  // namespace
}  // namespace phicoll_mpi

using phicoll_mpi::buffer;
using Numbers = phicoll_mpi::Numbers<MPI_Fint>;

#define PHICOLL_SENT buffer(send), static_cast<int>(*send_count), PMPI_Type_f2c(*send_type)
#define PHICOLL_RECEIVED buffer(receive), static_cast<int>(*count), PMPI_Type_f2c(*type)
#define PHICOLL_BLOCKS_SENT                                                                   \
  buffer(send), Numbers(send_count, PHICOLL_COMM), Numbers(send_displacements, PHICOLL_COMM), \
      PMPI_Type_f2c(*send_type)
#define PHICOLL_BLOCKS_RECEIVED \
  buffer(receive), Numbers(count, PHICOLL_COMM), Numbers(displacements, PHICOLL_COMM), PMPI_Type_f2c(*type)
#define PHICOLL_REDUCTION(Name, name)                                                                      \
  PHICOLL_FORTRAN(                                                                                         \
      name,                                                                                                \
      (void* send, void* receive, Integer count, Integer type, Integer op, Integer comm, MPI_Fint* error), \
      MPI_##Name(buffer(send), PHICOLL_RECEIVED, PMPI_Op_f2c(*op), PHICOLL_COMM))
#define PHICOLL_EXCHANGE(Name, name)                                                                \
  PHICOLL_FORTRAN(name,                                                                             \
                  (void* send, Integer send_count, Integer send_type, void* receive, Integer count, \
                   Integer type, Integer comm, MPI_Fint* error),                                    \
                  MPI_##Name(PHICOLL_SENT, PHICOLL_RECEIVED, PHICOLL_COMM))
#define PHICOLL_ROOTED(Name, name)                                                                  \
  PHICOLL_FORTRAN(name,                                                                             \
                  (void* send, Integer send_count, Integer send_type, void* receive, Integer count, \
                   Integer type, Integer root, Integer comm, MPI_Fint* error),                      \
                  MPI_##Name(PHICOLL_SENT, PHICOLL_RECEIVED, static_cast<int>(*root), PHICOLL_COMM))

extern "C" {

PHICOLL_FORTRAN(bcast,
                (void* receive, Integer count, Integer type, Integer root, Integer comm, MPI_Fint* error),
                MPI_Bcast(PHICOLL_RECEIVED, static_cast<int>(*root), PHICOLL_COMM))
PHICOLL_FORTRAN(reduce,
                (void* send, void* receive, Integer count, Integer type, Integer op, Integer root,
                 Integer comm, MPI_Fint* error),
                MPI_Reduce(buffer(send), PHICOLL_RECEIVED, PMPI_Op_f2c(*op), static_cast<int>(*root),
                           PHICOLL_COMM))
PHICOLL_REDUCTION(Allreduce, allreduce)
PHICOLL_REDUCTION(Scan, scan)
PHICOLL_REDUCTION(Exscan, exscan)
PHICOLL_REDUCTION(Reduce_scatter_block, reduce_scatter_block)
PHICOLL_FORTRAN(reduce_scatter,
                (void* send, void* receive, Integer count, Integer type, Integer op, Integer comm,
                 MPI_Fint* error),
                MPI_Reduce_scatter(buffer(send), buffer(receive), Numbers(count, PHICOLL_COMM),
                                   PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), PHICOLL_COMM))
PHICOLL_ROOTED(Gather, gather)
PHICOLL_ROOTED(Scatter, scatter)
PHICOLL_FORTRAN(gatherv,
                (void* send, Integer send_count, Integer send_type, void* receive, Integer count,
                 Integer displacements, Integer type, Integer root, Integer comm, MPI_Fint* error),
                MPI_Gatherv(PHICOLL_SENT, PHICOLL_BLOCKS_RECEIVED, static_cast<int>(*root), PHICOLL_COMM))
PHICOLL_FORTRAN(scatterv,
                (void* send, Integer send_count, Integer send_displacements, Integer send_type, void* receive,
                 Integer count, Integer type, Integer root, Integer comm, MPI_Fint* error),
                MPI_Scatterv(PHICOLL_BLOCKS_SENT, PHICOLL_RECEIVED, static_cast<int>(*root), PHICOLL_COMM))
PHICOLL_EXCHANGE(Allgather, allgather)
PHICOLL_EXCHANGE(Alltoall, alltoall)
PHICOLL_FORTRAN(allgatherv,
                (void* send, Integer send_count, Integer send_type, void* receive, Integer count,
                 Integer displacements, Integer type, Integer comm, MPI_Fint* error),
                MPI_Allgatherv(PHICOLL_SENT, PHICOLL_BLOCKS_RECEIVED, PHICOLL_COMM))
PHICOLL_FORTRAN(alltoallv,
                (void* send, Integer send_count, Integer send_displacements, Integer send_type, void* receive,
                 Integer count, Integer displacements, Integer type, Integer comm, MPI_Fint* error),
                MPI_Alltoallv(PHICOLL_BLOCKS_SENT, PHICOLL_BLOCKS_RECEIVED, PHICOLL_COMM))

// The names that programs call. MPI_Allreduce_f08 is one in C's spelling.
#define PHICOLL_MPI_ROW(Name, name, NAME, ...) \
  PHICOLL_ALSO(name, ompi_##name##_f)          \
  PHICOLL_ALSO(name, mpi_##name)               \
  PHICOLL_ALSO(name, mpi_##name##_)            \
  PHICOLL_ALSO(name, mpi_##name##__)           \
  PHICOLL_ALSO(name, MPI_##NAME)               \
  PHICOLL_ALSO(name, MPI_##Name##_f)           \
  PHICOLL_ALSO(name, MPI_##Name##_f08)
#include "rows.inc"
PHICOLL_MPI_ROW(Init, init, INIT)
PHICOLL_MPI_ROW(Init_thread, init_thread, INIT_THREAD)
PHICOLL_MPI_ROW(Finalize, finalize, FINALIZE)
#undef PHICOLL_MPI_ROW
}

#endif

#endif
