// A loop of barriers: of MPI (-DMPI), OpenSHMEM (-DSHMEM), OpenMP (-fopenmp) or pthreads. Prints ns a call,
// the CPU time of the last rank in ns a call, and the share of a CPU, in percent, that it takes in a wait
// for rank 0, from 10 ms to 1 s of waiting and from then on. argv: ranks (threads alone), calls, ns of
// computing before each call, ms (0, or more than 1000) that rank 0 comes late to a last barrier.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(MPI)
#include <mpi.h>
#elif defined(SHMEM)
#include <shmem.h>
#elif defined(_OPENMP)
#include <omp.h>
#endif

static long calls, computing_ns, late_ms;

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

/// What one rank does; rank 0 and the last one fill in their results.
static void run(int rank, int ranks, double* took, double* cpu, double* waiting) {
  for (int i = 0; i < 100; ++i) barrier();
  const double start = clock_ns(CLOCK_MONOTONIC), cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < calls; ++i) {
    compute();
    barrier();
  }
  if (rank == 0) *took = (clock_ns(CLOCK_MONOTONIC) - start) / (double)calls;
  if (rank == ranks - 1) *cpu = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start) / (double)calls;
  const clockid_t last = clock_of_last(rank, ranks);
  if (late_ms != 0 && rank == 0) come_late(last, waiting);
  barrier();
}

static double took, cpu, waiting[2];

#if !defined(MPI) && !defined(SHMEM) && !defined(_OPENMP)
static int threads;
static void* thread(void* number) {
  run((int)(long)number, threads, &took, &cpu, waiting);
  return NULL;
}
#endif

int main(int count, char** words) {
  if (count != 5) return 2;
  int rank = 0, ranks = atoi(words[1]);
  calls = atol(words[2]), computing_ns = atol(words[3]), late_ms = atol(words[4]);
#if defined(MPI)
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run(rank, ranks, &took, &cpu, waiting);
  double most;
  MPI_Reduce(&cpu, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  cpu = most;
  MPI_Finalize();
#elif defined(SHMEM)
  shmem_init();
  rank = shmem_my_pe(), ranks = shmem_n_pes();
  run(rank, ranks, &took, &cpu, waiting);
  if (rank == ranks - 1) shmem_double_p(&cpu, cpu, 0);
  shmem_barrier_all();
#elif defined(_OPENMP)
#pragma omp parallel num_threads(ranks)
  run(omp_get_thread_num(), ranks, &took, &cpu, waiting);
#else
  threads = ranks;
  pthread_barrier_init(&meeting, NULL, (unsigned)ranks);
  pthread_t* const all = malloc((size_t)ranks * sizeof *all);
  for (int i = 0; i < ranks; ++i) pthread_create(&all[i], NULL, thread, (void*)(long)i);
  for (int i = 0; i < ranks; ++i) pthread_join(all[i], NULL);
  free(all);
#endif
  if (rank == 0) printf("%.1f %.1f %.2f %.2f\n", took, cpu, waiting[0], waiting[1]);
#if defined(SHMEM)
  shmem_finalize();
#endif
  return 0;
}
