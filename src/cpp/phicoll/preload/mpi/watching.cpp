// Writes the calls that the MPI serves into the profile (PHICOLL_PROFILE): the calls that phicoll passes on,
// or all calls if the program is only watched (PHICOLL_MPI_ONLY=1).

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

namespace phicoll_mpi {

bool watching = false;

namespace {
char group_name[32];
bool failed = false;  // to make a log, of whichever thread: no other is tried
}  // namespace

bool asked_only() {
  const char* const wanted = getenv("PHICOLL_MPI_ONLY");
  return wanted != nullptr && strcmp(wanted, "1") == 0;
}

void start_watching(uint64_t group) {
  watching = group != 0;
  snprintf(group_name, sizeof group_name, "mpi:%016llx", static_cast<unsigned long long>(group));
}

// A communicator's collectives are made by one thread at a time.
PhicollLog* log_of(Comm* comm, Row row) {
  if (comm->why == Why::inter) return nullptr;
  if (comm->logs == nullptr) {
    if (!number_communicator(comm)) return nullptr;
    comm->logs = static_cast<PhicollLog**>(calloc(static_cast<size_t>(rows), sizeof(PhicollLog*)));
    if (comm->logs == nullptr) return nullptr;
  }
  PhicollLog*& log = comm->logs[static_cast<int>(row)];
  if (log == nullptr && !__atomic_load_n(&failed, __ATOMIC_RELAXED)) {
    log = phicoll_preload_log(group_name, comm->handle == MPI_COMM_WORLD ? 0 : comm->members + comm->twin,
                              comm->rank, comm->size, kinds[static_cast<int>(row)].operation, "MPI");
    if (log == nullptr) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  }
  return log;
}

void end_logs(Comm* comm) {
  if (comm->logs == nullptr) return;
  for (int row = 0; row < rows; ++row) phicoll_preload_log_end(comm->logs[row]);
  free(comm->logs);
  comm->logs = nullptr;
}

}  // namespace phicoll_mpi
