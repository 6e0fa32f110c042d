// A loop of barriers: of MPI (-DMPI), OpenSHMEM (-DSHMEM), OpenMP (-fopenmp) or pthreads. Prints ns a call,
// the last rank's CPU time in ns a call, the percent of a CPU that it takes in a wait for rank 0, from 10 ms
// to 1 s of waiting and from then on, and the busy neighbours' counts a second during the loop. argv: ranks
// (threads alone), ms of the loop, ns of computing before each call, ms (0, or more than 1000) that rank 0
// comes late to a last barrier, and the file of the neighbours' counts.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(MPI)
#include <mpi.h>
#elif defined(SHMEM)
#include <shmem.h>
#elif defined(_OPENMP)
#include <omp.h>
#endif

enum { places = 64, longs_a_place = 8 };  // of busy.c's counts

static long loop_ms, computing_ns, late_ms;
static const volatile unsigned long* counts;

static double clock_ns(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static void compute(void) {
  if (computing_ns == 0) return;
  const double end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (double)computing_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

#if !defined(MPI) && !defined(SHMEM) && !defined(_OPENMP)
static pthread_barrier_t meeting;
#endif

static void barrier(void) {
#if defined(MPI)
  MPI_Barrier(MPI_COMM_WORLD);
#elif defined(SHMEM)
  shmem_barrier_all();
#elif defined(_OPENMP)
#pragma omp barrier
#else
  pthread_barrier_wait(&meeting);
#endif
}

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/// Comes late to a barrier, and meanwhile reads how far the clock of the last rank gets.
static void come_late(clockid_t awaiting, double* waiting) {
  const long ends[] = {10, 1000, late_ms};
  double at[3], cpu[3];
  for (int i = 0; i < 3; ++i) {
    sleep_ms(ends[i] - (i == 0 ? 0 : ends[i - 1]));
    at[i] = clock_ns(CLOCK_MONOTONIC), cpu[i] = clock_ns(awaiting);
  }
  for (int i = 0; i < 2; ++i) waiting[i] = 100 * (cpu[i + 1] - cpu[i]) / (at[i + 1] - at[i]);
}

/// The clock of the last rank: of its process, with the threads that phicoll has there, or of the thread.
static clockid_t clock_of_last(int rank, int ranks) {
  static clockid_t found;
#if defined(MPI) || defined(SHMEM)
  static long process;
  if (rank == ranks - 1) process = (long)getpid();
#if defined(MPI)
  MPI_Bcast(&process, 1, MPI_LONG, ranks - 1, MPI_COMM_WORLD);
#else
  if (rank == ranks - 1) shmem_long_p(&process, process, 0);
#endif
  barrier();
  clock_getcpuclockid((pid_t)process, &found);
#else
  if (rank == ranks - 1) pthread_getcpuclockid(pthread_self(), &found);
#endif
  barrier();
  return found;
}

/// Tells all ranks rank 0's number.
static long told(long number, int turn) {
#if defined(MPI)
  (void)turn;
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return number;
#else
  // Two places: rank 0 writes one again after a barrier that the others enter when they have read it.
  static long shared[2];
#if defined(SHMEM)
  if (shmem_my_pe() == 0)
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_p(&shared[turn % 2], number, pe);
#else
  if (number >= 0) shared[turn % 2] = number;
#endif
  barrier();
  return shared[turn % 2];
#endif
}

/// Barriers until the time or the number of calls is reached. Rank 0 judges that between batches of some ms,
/// so a slow barrier does not stretch a run. Returns the number of calls, those of `told` with them.
static long loop(int rank, long ms, long most) {
  long calls = 0;
  double before = clock_ns(CLOCK_MONOTONIC);
  const double end = before + (double)ms * 1e6;
  long batch = 1;
  for (int turn = 0; batch > 0; ++turn) {
    for (long i = 0; i < batch; ++i) {
      compute();
      barrier();
    }
    calls += batch + 1;
    long next = -1;
    if (rank == 0) {
      const double now = clock_ns(CLOCK_MONOTONIC);
      next = now - before < 2e6 ? 2 * batch : now - before > 8e6 ? (batch + 1) / 2 : batch;
      if (now >= end || calls >= most) next = 0;
      before = now;
    }
    batch = told(next, turn);
  }
  return calls;
}

static double neighbours_count(void) {
  double sum = 0;
  for (int i = 0; i < places; ++i) sum += (double)counts[i * longs_a_place];
  return sum;
}

/// What one rank does; rank 0 and the last one fill in their results.
static void run(int rank, int ranks, double* took, double* cpu, double* waiting, double* beside) {
  loop(rank, 100, 100);
  const double start = clock_ns(CLOCK_MONOTONIC), cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const double count = neighbours_count();
  const long calls = loop(rank, loop_ms, 1L << 40);
  const double ns = clock_ns(CLOCK_MONOTONIC) - start;
  if (rank == 0) *took = ns / (double)calls, *beside = (neighbours_count() - count) / ns * 1e9;
  if (rank == ranks - 1) *cpu = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start) / (double)calls;
  const clockid_t last = clock_of_last(rank, ranks);
  if (late_ms != 0 && rank == 0) come_late(last, waiting);
  barrier();
}

static double took, cpu, waiting[2], beside;

#if !defined(MPI) && !defined(SHMEM) && !defined(_OPENMP)
static int threads;
static void* thread(void* number) {
  run((int)(long)number, threads, &took, &cpu, waiting, &beside);
  return NULL;
}
#endif

int main(int count, char** words) {
  if (count != 6) return 2;
  int rank = 0, ranks = atoi(words[1]);
  loop_ms = atol(words[2]), computing_ns = atol(words[3]), late_ms = atol(words[4]);
  counts = mmap(NULL, places * longs_a_place * sizeof *counts, PROT_READ, MAP_SHARED,
                open(words[5], O_RDONLY | O_CLOEXEC), 0);
  if (counts == MAP_FAILED) return 3;
#if defined(MPI)
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run(rank, ranks, &took, &cpu, waiting, &beside);
  double most;
  MPI_Reduce(&cpu, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  cpu = most;
  MPI_Finalize();
#elif defined(SHMEM)
  shmem_init();
  rank = shmem_my_pe(), ranks = shmem_n_pes();
  run(rank, ranks, &took, &cpu, waiting, &beside);
  if (rank == ranks - 1) shmem_double_p(&cpu, cpu, 0);
  shmem_barrier_all();
#elif defined(_OPENMP)
#pragma omp parallel num_threads(ranks)
  run(omp_get_thread_num(), ranks, &took, &cpu, waiting, &beside);
#else
  threads = ranks;
  pthread_barrier_init(&meeting, NULL, (unsigned)ranks);
  pthread_t* const all = malloc((size_t)ranks * sizeof *all);
  for (int i = 0; i < ranks; ++i) pthread_create(&all[i], NULL, thread, (void*)(long)i);
  for (int i = 0; i < ranks; ++i) pthread_join(all[i], NULL);
  free(all);
#endif
  if (rank == 0) printf("%.1f %.1f %.2f %.2f %.0f\n", took, cpu, waiting[0], waiting[1], beside);
  fflush(stdout);  // Debian's Open MPI may die in shmem_finalize
#if defined(SHMEM)
  shmem_finalize();
#endif
  return 0;
}
