// Ends without collective calls, without MPI_Finalize or without a standard error, as its argument says.

#include "expect.h"

#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* const way = argv[1];
  if (strcmp(way, "nothing") == 0) return argc == 0 ? MPI_Finalize() : 0;
  begin(&argc, &argv);
  for (int turn = 0; turn < 10 && strcmp(way, "idle") != 0; ++turn) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(way, "at once") == 0) {
    const pid_t child = fork();  // says nothing
    if (child == 0) exit(0);
    _exit(0);
  }
  if (strcmp(way, "closed") == 0) fclose(stderr);
  MPI_Finalize();
  return 0;
}
