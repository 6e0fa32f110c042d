/* A tool's function in place of the library's: shmem_<name> is weak, pshmem_<name> is the same function. Compiled with
 * PHICOLL_SHMEM_NO_INLINE, so that the program's calls come here. */
#define PHICOLL_SHMEM_NO_INLINE
#include "check.h"

#include <pshmem.h>

static int puts_seen, barriers_seen;
static long word;

void shmem_long_p(long* dest, long what, int pe) {
  ++puts_seen;
  pshmem_long_p(dest, what, pe);
}

void shmem_barrier_all(void) {
  ++barriers_seen;
  pshmem_barrier_all();
}

int main(void) {
  begin();
  shmem_long_p(&word, me, next);
  shmem_barrier_all();
  CHECK(word == before && puts_seen == 1 && barriers_seen == 1);
  CHECK(pshmem_my_pe() == me && pshmem_long_atomic_fetch(&word, next) == me);
  pshmem_finalize();
  return 0;
}
