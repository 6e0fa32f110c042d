/* What the test programs share: CHECK, this PE and its neighbours, and values that tell PEs and places apart in every type. */
#ifndef PHICOLL_TESTS_SHMEM_CHECK_H
#define PHICOLL_TESTS_SHMEM_CHECK_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n, next, before;

#define CHECK(what)                                                                  \
  do {                                                                               \
    if (!(what)) {                                                                   \
      fprintf(stderr, "PE %d of %d: %s:%d: %s\n", me, n, __FILE__, __LINE__, #what); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

static inline void begin(void) {
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  next = (me + 1) % n;
  before = (me + n - 1) % n;
}

/* 1..100: of a PE, at a place. */
static inline int value(int pe, int i) {
  return 1 + (37 * pe + i) % 100;
}

#endif
