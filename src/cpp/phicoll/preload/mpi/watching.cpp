// Writes the calls that the MPI serves into the profile (PHICOLL_PROFILE): the calls that phicoll passes on,
// with the reason; the calls over several nodes; or all calls if the program is only watched
// (PHICOLL_MPI_ONLY=1). Rank 0's node has the profile's folder. Ranks of other nodes, which may have other
// disks, keep their logs in memory until MPI_Finalize and send them to rank 0.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

namespace phicoll_mpi {

bool watching = false;
thread_local Why passing_for __attribute__((tls_model("initial-exec"))) = Why::inactive;

namespace {

const char* const why_words[whys] = {"",
                                     "phicoll has no group",
                                     "the communicator's first calls",
                                     "one rank",
                                     "an intercommunicator",
                                     "several nodes",
                                     "ranks outside MPI_COMM_WORLD",
                                     "the shared heap is full",
                                     "the algorithm that a variable names cannot serve it",
                                     "an operator or type that phicoll lacks",
                                     "refused by the MPI"};
constexpr char folder_variable[] = "PHICOLL_PROFILE";
constexpr char every_variable[] = "PHICOLL_PROFILE_EVERY";

char group_name[32];
bool failed = false;  // to make a log, of whichever thread: no other is tried

bool is_one(const char* variable) {
  const char* const text = getenv(variable);
  return text != nullptr && strcmp(text, "1") == 0;
}

/// What serves a call, in the profile.
const char* server(Why why, char* words, size_t bytes) {
  if (asked_only()) return "MPI";
  if (why == Why::none) return "phicoll on each node, MPI between";
  const int at = snprintf(words, bytes, "MPI (%s", why_words[static_cast<int>(why)]);
  char* const end = words + at;
  const size_t left = bytes - static_cast<size_t>(at);
  if (why == Why::early)
    snprintf(end, left, ", %s%u of each)", world.counts_down ? "at most " : "", world.first_calls);
  else
    snprintf(end, left, ")");
  return words;
}

// A communicator's collectives are made by one thread at a time.
PhicollLog* log_of(Comm* comm, Row row, Why why) {
  if (comm->logs == nullptr) {
    if (!number_communicator(comm)) return nullptr;
    comm->logs = static_cast<PhicollLog**>(calloc(static_cast<size_t>(rows * whys), sizeof(PhicollLog*)));
    if (comm->logs == nullptr) return nullptr;
  }
  PhicollLog*& log = comm->logs[static_cast<int>(row) * whys + static_cast<int>(why)];
  if (log == nullptr && !__atomic_load_n(&failed, __ATOMIC_RELAXED)) {
    char words[160];
    log = phicoll_preload_log(group_name, comm->handle == MPI_COMM_WORLD ? 0 : comm->members + comm->twin,
                              comm->rank, comm->size, kinds[static_cast<int>(row)].operation,
                              server(why, words, sizeof words));
    if (log == nullptr) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  }
  return log;
}

}  // namespace

bool asked_only() {
  return is_one("PHICOLL_MPI_ONLY");
}

void start_watching(uint64_t group) {
  watching = group != 0;
  if (!watching) {
    unsetenv(folder_variable);
    return;
  }
  snprintf(group_name, sizeof group_name, "mpi:%016llx", static_cast<unsigned long long>(group));
  struct {
    char folder[PATH_MAX];
    bool every;
  } wanted = {};
  if (world.rank == 0) {
    const char* const folder = getenv(folder_variable);
    wanted.every = is_one(every_variable);
    if (access(folder, W_OK) == 0)
      snprintf(wanted.folder, sizeof wanted.folder, "%s", folder);
    else
      say("no calls are watched, as rank 0 cannot write the profile's folder (%s), which phicoll makes on "
          "the "
          "host it runs on: %s",
          strerror(errno), folder);
  }
  PMPI_Bcast(&wanted, sizeof wanted, MPI_BYTE, 0, MPI_COMM_WORLD);
  watching = wanted.folder[0] != '\0';
  if (!watching)
    unsetenv(folder_variable);
  else if (world.node_of[world.rank] == world.node_of[0])
    setenv(folder_variable, wanted.folder, 1);
  else
    phicoll_preload_log_in_memory();
  if (wanted.every) setenv(every_variable, "1", 1);
}

void end_watching() {
  if (!watching) return;
  watching = false;
  MPI_Comm apart = MPI_COMM_NULL;  // no message of the program's is taken for one of these
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &apart) != MPI_SUCCESS) return;
  // A log is one message of some 25 MB at most, with its bytes before it; 0 follows the last.
  const bool elsewhere = world.node_of[world.rank] != world.node_of[0];
  uint64_t bytes = elsewhere ? 1 : 0;
  for (unsigned number = 0; bytes != 0; ++number) {
    size_t kept = 0;
    const unsigned char* const log = phicoll_preload_log_kept(number, &kept);
    bytes = kept;
    PMPI_Send(&bytes, sizeof bytes, MPI_BYTE, 0, 0, apart);
    if (bytes != 0) PMPI_Send(log, static_cast<int>(bytes), MPI_BYTE, 0, 0, apart);
  }
  for (int rank = 0; world.rank == 0 && rank < world.size; ++rank) {
    const int host = world.node_of[rank];
    bytes = host != world.node_of[0] ? 1 : 0;
    for (unsigned number = 0; bytes != 0; ++number) {
      PMPI_Recv(&bytes, sizeof bytes, MPI_BYTE, rank, 0, apart, MPI_STATUS_IGNORE);
      if (bytes == 0) continue;
      Scratch room;
      unsigned char* const log = room.take(bytes);
      PMPI_Recv(log, static_cast<int>(bytes), MPI_BYTE, rank, 0, apart, MPI_STATUS_IGNORE);
      phicoll_preload_log_write(log, bytes, rank, number, host);
    }
  }
  PMPI_Comm_free(&apart);
}

Noted::Noted(MPI_Comm handle, Row row, Why why) : row_(row), comm_(find(handle)), log_(nullptr) {
  if (comm_ != nullptr) log_ = log_of(comm_, row, why);
}

void Noted::enter(uint64_t bytes) {
  const Kind& kind = kinds[static_cast<int>(row_)];
  what_ = phicoll_preload_log_what(bytes, kind.vector ? 1 : 0, kind.exclusive ? 1 : 0);
  entered_ = phicoll_preload_log_enter(log_, what_);
}

void end_logs(Comm* comm) {
  if (comm->logs == nullptr) return;
  for (int log = 0; log < rows * whys; ++log) phicoll_preload_log_end(comm->logs[log]);
  free(comm->logs);
  comm->logs = nullptr;
}

}  // namespace phicoll_mpi
