/* Calls of shmem_init within each other and after the end: 1.6 ends with the last shmem_finalize, and begins again. */
#include "check.h"

static long word, kept = 7;

static int initialized(void) {
  int is = 0;
  shmem_query_initialized(&is);
  return is;
}

static void test_use(long round) {
  CHECK(initialized() && shmem_my_pe() == me && shmem_n_pes() == n);
  word = 0;
  shmem_barrier_all();
  shmem_long_p(&word, 10 * round + me, next);
  long* const block = shmem_calloc(100000, sizeof *block);
  CHECK(block != NULL && block[99999] == 0);
  CHECK(word == 10 * round + before);
  shmem_barrier_all();
  shmem_long_p(block + 99999, me + 1, next);
  shmem_ctx_t ctx;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  shmem_ctx_long_p(ctx, block, me + 2, next);
  shmem_team_t team;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
  shmem_barrier_all();
  CHECK(block[99999] == before + 1 && block[0] == before + 2);
  shmem_long_sum_reduce(team, &word, block, 1);
  CHECK(word == (long)n * (n + 3) / 2);
  /* The context, the team and the block stay: the end takes them. */
}

int main(void) {
  CHECK(!initialized());
  begin();
  int provided = 0;
  CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
  start_pes(0); /* asks for no shmem_finalize */
  test_use(0);
  shmem_finalize();
  test_use(1);
  shmem_finalize();
  for (int round = 2; round < 5; ++round) {
    CHECK(!initialized() && kept == 5 + round);
    shmem_init();
    if (round == 3) shmem_init();
    test_use(round);
    ++kept;
    shmem_finalize();
    if (round == 3) shmem_finalize();
  }
  CHECK(!initialized() && kept == 10);
  /* Begins once more, and ends without shmem_finalize where the C library tells the exit status. */
  shmem_init();
  shmem_init();
  test_use(5);
#ifdef PHICOLL_FORCE_FALLBACKS
  shmem_finalize();
  shmem_finalize();
#endif
  return 0;
}
