/* The library, the heap, teams, contexts, pointers to other PEs' memory, locks. */
#include "check.h"

static int global = 7;
static struct {
  int initialized[3];
  char untouched[1 << 20];
} data = {{1, 2, 3}, {0}};
static long lock;
static long counter;

static void test_questions(void) {
  int major = 0, minor = 0, is = 0, level = -1;
  char name[SHMEM_MAX_NAME_LEN];
  shmem_info_get_version(&major, &minor);
  CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
  shmem_info_get_name(name);
  CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
  shmem_query_initialized(&is);
  CHECK(is);
  shmem_query_thread(&level);
  CHECK(level == SHMEM_THREAD_MULTIPLE);
  CHECK(shmem_pe_accessible(0) && shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n) &&
        !shmem_pe_accessible(-1));
  int local;
  CHECK(shmem_addr_accessible(&global, next) && !shmem_addr_accessible(&local, next));
  CHECK(!shmem_addr_accessible(&global, n));
  shmem_pcontrol(1);
}

/* Globals are symmetric, keep what they were initialized to, and are reached by plain loads and stores. */
static void test_globals(void) {
  CHECK(global == 7 && data.initialized[0] == 1 && data.initialized[2] == 3 && data.untouched[4096] == 0);
  shmem_barrier_all();
  *(int*)shmem_ptr(&global, next) = 100 + me;
  data.untouched[12345] = (char)(me + 1);
  shmem_barrier_all();
  CHECK(global == 100 + before);
  CHECK(((char*)shmem_ptr(data.untouched, before))[12345] == before + 1);
  int local;
  CHECK(shmem_ptr(&local, next) == NULL && shmem_ptr(&global, n) == NULL &&
        shmem_ptr(&global, me) == &global);
  CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &global, next) == shmem_ptr(&global, next));
  shmem_barrier_all();
}

static void test_heap(void) {
  CHECK(shmem_malloc(0) == NULL);
  CHECK(shmem_malloc((size_t)1 << 50) == NULL);
  shmem_free(NULL);
  char* blocks[50];
  for (int i = 0; i < 50; ++i) {
    blocks[i] = shmem_malloc((size_t)(1 + 997 * i));
    CHECK(blocks[i] != NULL);
    memset(blocks[i], i, (size_t)(1 + 997 * i));
  }
  for (int i = 0; i < 50; i += 2) shmem_free(blocks[i]);
  for (int i = 1; i < 50; i += 2) CHECK(blocks[i][0] == i && blocks[i][997 * i] == i);
  int* again = shmem_calloc(1000, sizeof *again);
  for (int i = 0; i < 1000; ++i) CHECK(again[i] == 0);
  shmem_barrier_all();
  CHECK(shmem_calloc(SIZE_MAX / 2, 4) == NULL);
  /* The same offset on all PEs: what is put here arrives there. */
  shmem_int_p(again + 999, me + 1, next);
  shmem_barrier_all();
  CHECK(again[999] == before + 1);
  again = shmem_realloc(again, 1000000);
  CHECK(again != NULL && again[999] == before + 1);
  again = shmem_realloc(again, 10);
  CHECK(again[0] == 0);
  CHECK(shmem_realloc(again, 0) == NULL);
  for (size_t alignment = 8; alignment <= 64 << 20; alignment *= 2) {
    void* const at = shmem_align(alignment, 100);
    CHECK(at != NULL && (uintptr_t)at % alignment == 0);
    shmem_free(at);
  }
  CHECK(shmem_align(24, 100) == NULL);
  void* const hinted = shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
  CHECK(hinted != NULL && shmem_ptr(hinted, next) != NULL);
  shmem_free(hinted);
  for (int i = 1; i < 50; i += 2) shmem_free(blocks[i]);
  /* All of it can be had again. */
  char* const most = shmem_malloc((size_t)32 << 20);
  CHECK(most != NULL);
  shmem_free(most);
}

static void test_teams(void) {
  CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_SHARED) == n);
  CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
  shmem_team_t even = SHMEM_TEAM_INVALID, x, y;
  const int size = (n + 1) / 2;
  shmem_team_config_t config = {3}, got = {0};
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
  CHECK((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
  if (me % 2 == 0) {
    CHECK(shmem_team_my_pe(even) == me / 2 && shmem_team_n_pes(even) == size);
    CHECK(shmem_team_get_config(even, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
    CHECK(shmem_team_translate_pe(even, size - 1, SHMEM_TEAM_WORLD) == 2 * (size - 1));
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, even) == -1);
    /* PEs of a team's context are the team's. */
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(even, 0, &ctx) == 0);
    shmem_team_t of;
    CHECK(shmem_ctx_get_team(ctx, &of) == 0 && of == even);
    shmem_ctx_int_p(ctx, &global, 1000 + me, (me / 2 + 1) % size);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(even);
    CHECK(global == 1000 + 2 * ((me / 2 + size - 1) % size));
    CHECK(shmem_team_ptr(even, &global, size - 1) == shmem_ptr(&global, 2 * (size - 1)));
    shmem_ctx_session_config_t session = {10};
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &session, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
  }
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &x) != 0 && x == SHMEM_TEAM_INVALID);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x) != 0);
  CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y) == 0);
  CHECK(shmem_team_my_pe(x) == me % (n > 1 ? 2 : 1) && shmem_team_my_pe(y) == me / (n > 1 ? 2 : 1));
  shmem_team_sync(x);
  shmem_team_sync(y);
  shmem_team_destroy(x);
  shmem_team_destroy(y);
  if (even != SHMEM_TEAM_INVALID) shmem_team_destroy(even);
  shmem_team_destroy(SHMEM_TEAM_INVALID);
  /* Many, one after another: their memory comes back. */
  for (int i = 0; i < 50; ++i) {
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &x) == 0);
    shmem_team_sync(x);
    shmem_team_destroy(x);
  }
}

/* Increments that are not atomic, on the last PE, under a lock. */
static void test_locks(void) {
  enum { times = 300 };
  counter = 0;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    if (i % 3 == 0)
      while (shmem_test_lock(&lock) != 0) {
      }
    else
      shmem_set_lock(&lock);
    shmem_long_p(&counter, shmem_long_g(&counter, n - 1) + 1, n - 1);
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  CHECK(shmem_long_g(&counter, n - 1) == (long)n * times);
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me != 0) CHECK(shmem_test_lock(&lock) == 1);
  shmem_barrier_all();
  if (me == 0) shmem_clear_lock(&lock);
  shmem_barrier_all();
}

static void test_old_names(void) {
  CHECK(_my_pe() == me && _num_pes() == n);
  void* block = shmalloc(10);
  block = shrealloc(block, 100);
  CHECK(shrealloc(block, 0) == NULL); /* free */
  block = shrealloc(NULL, 100);       /* malloc */
  CHECK(block != NULL && shmem_addr_accessible(block, next));
  shfree(block);
  CHECK(shmem_realloc(NULL, 0) == NULL);
  shfree(shmemalign(64, 10));
  shmem_set_cache_inv();
  shmem_set_cache_line_inv(&global);
  shmem_clear_cache_inv();
  shmem_clear_cache_line_inv(&global);
  shmem_udcflush();
  shmem_udcflush_line(&global);
}

int main(void) {
  int is = 1, provided = 0;
  shmem_query_initialized(&is);
  if (is || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE)
    return 2;
  begin(); /* once more */
  test_questions();
  test_globals();
  test_heap();
  test_teams();
  test_locks();
  test_old_names();
  shmem_finalize();
  shmem_query_initialized(&is);
  CHECK(is);
  shmem_finalize();
  shmem_query_initialized(&is);
  return is;
}
