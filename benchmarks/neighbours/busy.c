// A busy neighbour: counts until SIGTERM comes, then prints how far it got.
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t over;
static void end(int number) {
  (void)number;
  over = 1;
}

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, SIG_IGN);  // a terminal's Ctrl-C is the benchmark's
  unsigned long count = 0;
  while (!over) ++count;
  printf("%lu\n", count);
  return 0;
}
