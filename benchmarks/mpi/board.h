/* What the ranks share beside MPI: a file of the launcher's, mapped by all. Meetings and starts go through
 * it, so that nothing of the harness runs inside the MPI that is measured, and nothing of MPI runs between
 * two of its calls. */
#ifndef PHICOLL_BENCHMARKS_BOARD_H
#define PHICOLL_BENCHMARKS_BOARD_H

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { max_ranks = 256, max_windows = 8192 };

/* Each rank's words stand in two lines of their own: neighbouring lines are fetched in pairs. */
typedef struct {
  _Alignas(128) _Atomic uint64_t ready;   /* calls it is ready for */
  _Alignas(128) _Atomic uint64_t entered; /* barriers it has entered */
  _Alignas(128) double number;            /* anything that all must agree on: read after a meeting */
} BoardSeat;

typedef struct {
  _Alignas(128) _Atomic uint32_t arrived;
  _Alignas(128) _Atomic uint32_t meeting;
  BoardSeat seats[max_ranks];
  _Alignas(128) _Atomic int64_t starts[max_windows]; /* 0: not yet; 1: no more windows */
} Board;

typedef struct {
  Board* board;
  int rank, ranks;
  int shares_cpu; /* then whoever waits gives the CPU away: the other must run */
  int crowded;    /* some rank shares its CPU */
} Seat;

static inline Board* open_board(const char* path) {
  const int file = open(path, O_RDWR);
  if (file < 0 || ftruncate(file, (off_t)sizeof(Board)) != 0) return NULL;
  void* memory = mmap(NULL, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : (Board*)memory;
}

/* One turn of waiting for another rank. Now and then MPI is given a chance: a call that has returned here may
 * have left work to its progress engine that the awaited rank needs, perhaps in a call that is timed. */
static inline void wait_turn(const Seat* seat, uint32_t* turns) {
  const uint32_t patience = seat->shares_cpu ? 4 : 64;
  if (++*turns % patience == 0) {
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  if (seat->shares_cpu) sched_yield();
}

/* All ranks leave when all have come. What they wrote to their seats before is seen after. */
static inline void meet(const Seat* seat) {
  Board* board = seat->board;
  const uint32_t meeting = atomic_load_explicit(&board->meeting, memory_order_acquire);
  if (atomic_fetch_add_explicit(&board->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)seat->ranks) {
    atomic_store_explicit(&board->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&board->meeting, meeting + 1, memory_order_release);
    return;
  }
  uint32_t turns = 0;
  while (atomic_load_explicit(&board->meeting, memory_order_acquire) == meeting) wait_turn(seat, &turns);
}

/* The largest of the ranks' numbers, the same on all. */
static inline double agree_on_largest(const Seat* seat, double number) {
  seat->board->seats[seat->rank].number = number;
  meet(seat);
  double largest = number;
  for (int r = 0; r < seat->ranks; ++r)
    if (seat->board->seats[r].number > largest) largest = seat->board->seats[r].number;
  meet(seat); /* nobody may write the next number before all have read this one */
  return largest;
}

#endif
