#include <shmem.h>

static long from = -1;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_p(&from, (long)me, (me + 1) % n);
  shmem_barrier_all();
  const int wrong = from != (me + n - 1) % n;
  shmem_finalize();
  return wrong;
}
