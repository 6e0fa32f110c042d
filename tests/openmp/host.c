// Loads objects that use OpenMP, which this program does not, or, with -DTEAM, in the middle of a region of its own.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
#ifdef TEAM
    int done = 0, rounds = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp master
      {
        void* const plugin = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        if (plugin == NULL) puts(dlerror());
        ((void (*)(int*))dlsym(plugin, "in_a_team_of_the_host"))(&done);
      }
#pragma omp barrier
#pragma omp master
      rounds = done;
    }
    printf("%d of 50\n", rounds);
#else
    void* const plugin = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) puts(dlerror());
    printf("%d wrong\n", ((int (*)(void))dlsym(plugin, "in_a_team_of_my_own"))());
#endif
  }
  return 0;
}
