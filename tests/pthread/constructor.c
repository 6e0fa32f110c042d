// Loads an object (-DLOADED) whose constructor waits for threads that use a barrier and destroy it: the
// dynamic linker serves the loading thread alone meanwhile.
#include <pthread.h>
#include <stdio.h>

#ifdef LOADED

static pthread_barrier_t barrier;

static void* use(void* destroys) {
  for (int i = 0; i < 10; ++i) pthread_barrier_wait(&barrier);
  if (destroys != NULL) pthread_barrier_destroy(&barrier);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, use, i == 0 ? NULL : &barrier);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

#else

#include <dlfcn.h>

int main(int count, char** words) {
  puts(dlopen(words[count - 1], RTLD_NOW) == NULL ? dlerror() : "loaded");
  return 0;
}

#endif
