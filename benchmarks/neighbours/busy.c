// Busy neighbours: argv[2] processes count in their places of the file argv[1] until SIGTERM comes.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { places = 64, longs_a_place = 8 };  // a line a place

int main(int words, char** word) {
  const int file = words == 3 ? open(word[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  const int all = words == 3 ? atoi(word[2]) : 0;
  if (file < 0 || all > places || ftruncate(file, places * longs_a_place * sizeof(long)) != 0) return 2;
  volatile unsigned long* const counts =
      mmap(NULL, places * longs_a_place * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return 3;
  signal(SIGINT, SIG_IGN);  // a terminal's Ctrl-C is the benchmark's
  const pid_t parent = getpid();
  for (int i = 0; i < all; ++i)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(0);  // the parent was killed before
      for (;;) ++counts[i * longs_a_place];
    }
  pause();
}
