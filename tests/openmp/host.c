// Loads objects that use OpenMP, which this program does not, or, with -DTEAM, in the middle of a region of
// its own. With -DCLOSES it closes each, and takes the place in memory that the runtime then leaves.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

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
#ifdef CLOSES
    Dl_info runtime;
    dladdr(dlsym(plugin, "omp_get_num_procs"), &runtime);
    dlclose(plugin);
    mmap(runtime.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
#endif
#endif
  }
  return 0;
}
