// Every construct that ends in a barrier, in teams of many sizes, nested too: what one thread writes before
// it, all others see after it. Prints "right", or what was wrong. argv[1]: how often.

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "../check.h"

enum { most = 8 };

// Each thread writes its line and reads its neighbours' after the barrier.
static void orphaned(int* cells, int turn) {
  const int me = omp_get_thread_num(), all = omp_get_num_threads();
  cells[16 * me] = turn * 100 + me;
#pragma omp barrier
  const int next = (me + 1) % all, across = (me + all / 2) % all;
  CHECK(cells[16 * next] == turn * 100 + next);
  CHECK(cells[16 * across] == turn * 100 + across);
#pragma omp barrier
}

static void constructs(int turns) {
  const int all = omp_get_num_threads();
  static int cells[16 * most], loop[64], chosen, copied;
  int* const mine = cells;
  for (int turn = 0; turn < turns; ++turn) {
    orphaned(mine, turn);
#pragma omp for schedule(static)
    for (int i = 0; i < 64; ++i) loop[i] = turn + i;
    for (int i = 0; i < 64; ++i) CHECK(loop[i] == turn + i);
#pragma omp barrier
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 64; ++i) loop[i] = turn - i;
    for (int i = 0; i < 64; ++i) CHECK(loop[i] == turn - i);
#pragma omp barrier
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < 64; ++i) loop[i] = turn * i;
#pragma omp barrier
    for (int i = 0; i < 64; ++i) CHECK(loop[i] == turn * i);
#pragma omp barrier
#pragma omp for schedule(runtime)
    for (int i = 0; i < 64; ++i) loop[i] = i;
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 16; ++i) {
#pragma omp ordered
      loop[i] = i == 0 ? turn : loop[i - 1] + 1;
    }
    CHECK(loop[15] == turn + 15);
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
      loop[0] = turn;
#pragma omp section
      loop[1] = turn + 1;
#pragma omp section
      loop[2] = turn + 2;
    }
    CHECK(loop[0] == turn && loop[1] == turn + 1 && loop[2] == turn + 2);
#pragma omp barrier
#pragma omp single
    chosen = turn;
    CHECK(chosen == turn);
#pragma omp barrier
    int own;
#pragma omp single copyprivate(own)
    own = turn + 7;
    CHECK(own == turn + 7);
#pragma omp single
    copied = 0;
    int sum = 0;
#pragma omp for reduction(+ : copied)
    for (int i = 0; i < 64; ++i) copied += i;
    CHECK(copied == 2016);
    (void)sum;
#pragma omp barrier
#pragma omp master
    chosen = -turn;
#pragma omp barrier
    CHECK(chosen == -turn && all == omp_get_num_threads());
#pragma omp barrier
  }
}

static void nested(int outer, int inner, int turns) {
#pragma omp parallel num_threads(outer)
  {
    static int cells[16 * most];
    for (int turn = 0; turn < turns; ++turn) {
      int inner_cells[16 * most] = {0};
#pragma omp parallel num_threads(inner)
      {
        orphaned(inner_cells, turn);
        if (turn % 2) orphaned(inner_cells, turn + 1);
#pragma omp parallel num_threads(1)
        {
#pragma omp barrier
        }
        orphaned(inner_cells, turn + 2);
      }
      orphaned(cells, turn);
#pragma omp parallel if (0)
      {
#pragma omp barrier
      }
      orphaned(cells, turn);
    }
  }
}

// Teams of threads that the program itself made.
static void* team_of_a_thread(void* turns) {
  int cells[16 * most] = {0};
#pragma omp parallel num_threads(2)
  for (int turn = 0; turn < *(int*)turns; ++turn) orphaned(cells, turn);
  return NULL;
}

int main(int count, char** words) {
  int turns = count > 1 ? atoi(words[1]) : 50;
  omp_set_dynamic(0);
  omp_set_max_active_levels(3);
  for (int threads = 1; threads <= most; ++threads) {
#pragma omp parallel num_threads(threads)
    constructs(turns);
  }
  for (int turn = 0; turn < 10 * turns; ++turn) {
    int cells[16 * most] = {0}, sum = 0;
#pragma omp parallel num_threads(1 + turn % 5)
    orphaned(cells, turn);
#pragma omp parallel for num_threads(2 + turn % 3) schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 10; ++i) sum += i;
    CHECK(sum == 45);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
      cells[0] = turn;
#pragma omp section
      cells[16] = turn;
    }
    CHECK(cells[0] == turn && cells[16] == turn);
  }
  nested(2, 2, turns);
  nested(3, 2, turns / 2);
  pthread_t threads[4];
  for (int again = 0; again < 5; ++again) {
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, team_of_a_thread, &turns);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
  if (!wrong) puts("right");
  return wrong;
}
