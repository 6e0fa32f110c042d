// A constructor of a loaded object (-DLOADED) begins a region when the program's first one is about to ask
// the dynamic linker, which serves none but the loading thread meanwhile.
#include <sched.h>
#include <unistd.h>

#ifdef LOADED

extern int step;

__attribute__((constructor)) static void begin(void) {
  int sum = 0;
  __atomic_store_n(&step, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 2) sched_yield();
  usleep(300 * 1000);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
#pragma omp barrier
    sum += 1;
  }
  __atomic_store_n(&step, 1 + sum, __ATOMIC_RELEASE);
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int step;

static void* load(void* path) {
  if (dlopen(path, RTLD_NOW) == NULL) puts(dlerror());
  return NULL;
}

int main(int count, char** words) {
  int sum = 0;
  pthread_t loader;
  pthread_create(&loader, NULL, load, words[count - 1]);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 1) sched_yield();
  __atomic_store_n(&step, 2, __ATOMIC_RELEASE);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
#pragma omp barrier
    sum += 1;
  }
  pthread_join(loader, NULL);
  printf("%d %d\n", step, sum);
  return 0;
}

#endif
