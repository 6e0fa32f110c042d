// A loop of barriers: of MPI (-DMPI), OpenSHMEM (-DSHMEM), OpenMP (-fopenmp) or pthreads. Prints ns a call,
// the CPU time of all ranks in ns a call, and the share of a CPU, in percent, that the last rank takes while
// it waits for a rank that comes late. argv: ranks (threads alone), calls, ns of computing before each call,
// ms that rank 0 comes late to a last barrier.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

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
  barrier();
  if (late_ms == 0) return;
  const struct timespec late = {late_ms / 1000, late_ms % 1000 * 1000000};
  if (rank == 0) nanosleep(&late, NULL);
  const double before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  barrier();
  if (rank == ranks - 1) *waiting = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) / (double)late_ms / 1e4;
}

static double took, cpu, waiting;

#if !defined(MPI) && !defined(SHMEM) && !defined(_OPENMP)
static int threads;
static void* thread(void* number) {
  run((int)(long)number, threads, &took, &cpu, &waiting);
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
  run(rank, ranks, &took, &cpu, &waiting);
  double all[3] = {took, cpu, waiting}, most[3];
  MPI_Reduce(all, most, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  took = most[0], cpu = most[1], waiting = most[2];
  MPI_Finalize();
#elif defined(SHMEM)
  static double found[2];
  shmem_init();
  rank = shmem_my_pe(), ranks = shmem_n_pes();
  run(rank, ranks, &took, &cpu, &waiting);
  const double mine[2] = {cpu, waiting};
  if (rank == ranks - 1) shmem_double_put(found, mine, 2, 0);
  shmem_barrier_all();
  cpu = found[0], waiting = found[1];
#elif defined(_OPENMP)
#pragma omp parallel num_threads(ranks)
  run(omp_get_thread_num(), ranks, &took, &cpu, &waiting);
#else
  threads = ranks;
  pthread_barrier_init(&meeting, NULL, (unsigned)ranks);
  pthread_t* const all = malloc((size_t)ranks * sizeof *all);
  for (int i = 0; i < ranks; ++i) pthread_create(&all[i], NULL, thread, (void*)(long)i);
  for (int i = 0; i < ranks; ++i) pthread_join(all[i], NULL);
  free(all);
#endif
  if (rank == 0) printf("%.1f %.1f %.2f\n", took, cpu, waiting);
#if defined(SHMEM)
  shmem_finalize();
#endif
  return 0;
}
