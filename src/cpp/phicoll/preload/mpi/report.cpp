// The table after the run (PHICOLL_MPI_REPORT=1): what ran in phicoll, with sizes and time, and what passed
// through and why.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"

namespace phicoll_mpi {

const char* const row_names[rows] = {
#define PHICOLL_MPI_ROW(name, ...) #name,
#include "rows.inc"
#undef PHICOLL_MPI_ROW
};

bool reporting = false;

namespace {

constexpr int sizes = 6;
const char* const size_words[sizes] = {"0 B", "1-64 B", "65 B-1 KB", "1-32 KB", "32 KB-1 MB", "more"};
const size_t size_limits[sizes - 1] = {0, 64, 1024, 32768, 1048576};

struct Done {
  double calls, bytes, seconds;
};

struct Table {
  Done done[rows][sizes];
  double passed[rows][whys];
} table;

int size_class(size_t bytes) {
  int at = 0;
  while (at < sizes - 1 && bytes > size_limits[at]) ++at;
  return at;
}

bool is_empty(const Table& all) {
  for (int row = 0; row < rows; ++row) {
    for (int size = 0; size < sizes; ++size)
      if (all.done[row][size].calls > 0) return false;
    for (int why = 1; why < whys; ++why)
      if (all.passed[row][why] > 0) return false;
  }
  return true;
}

/// Why a call passed through, with the number where it is one of a communicator's first.
const char* why_in_words(int why, char* words, size_t bytes) {
  if (why != static_cast<int>(Why::early)) return why_words[why];
  snprintf(words, bytes, "%s: %s%u of each", why_words[why], world.counts_down ? "at most " : "",
           world.first_calls);
  return words;
}

/// `whose`: what the numbers are.
void print(const Table& all, const char* whose) {
  if (is_empty(all)) {
    phicoll_preload_print("phicoll: mpi: %d ranks; no collective calls of %s\n", world.size, whose);
    return;
  }
  phicoll_preload_print("phicoll: mpi: %d ranks; calls, bytes and seconds of %s\n", world.size, whose);
  phicoll_preload_print("%-22s %-11s %12s %16s %12s %12s\n", "in phicoll", "message", "calls", "bytes",
                        "seconds", "us a call");
  for (int row = 0; row < rows; ++row)
    for (int size = 0; size < sizes; ++size) {
      const Done& done = all.done[row][size];
      if (done.calls > 0)
        phicoll_preload_print("%-22s %-11s %12.0f %16.0f %12.6f %12.3f\n", row_names[row], size_words[size],
                              done.calls, done.bytes, done.seconds, done.seconds / done.calls * 1e6);
    }
  phicoll_preload_print("%-22s %-11s %12s   %s\n", "passed through", "", "calls", "why");
  char words[80];
  for (int row = 0; row < rows; ++row)
    for (int why = 1; why < whys; ++why)
      if (all.passed[row][why] > 0)
        phicoll_preload_print("%-22s %-11s %12.0f   %s\n", row_names[row], "", all.passed[row][why],
                              why_in_words(why, words, sizeof words));
}

}  // namespace

double now_seconds() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

bool asked_report() {
  const char* const wanted = getenv("PHICOLL_MPI_REPORT");
  return wanted != nullptr && strcmp(wanted, "1") == 0;
}

void note_done(Row row, size_t bytes, double since) {
  const Tables locked;
  Done& done = table.done[static_cast<int>(row)][size_class(bytes)];
  done.calls += 1;
  done.bytes += static_cast<double>(bytes);
  done.seconds += now_seconds() - since;
}

void note_passed(Row row, Why why) {
  if (!reporting) return;
  const Tables locked;
  table.passed[static_cast<int>(row)][static_cast<int>(why)] += 1;
}

void end_report() {
  if (!reporting) return;
  reporting = false;
  Table* const all = static_cast<Table*>(malloc(sizeof(Table)));
  if (all == nullptr) return;
  memset(all, 0, sizeof *all);
  PMPI_Reduce(&table, all, static_cast<int>(sizeof(Table) / sizeof(double)), MPI_DOUBLE, MPI_SUM, 0,
              MPI_COMM_WORLD);
  if (world.rank == 0) print(*all, "all ranks together");
  free(all);
}

void end_report_alone() {
  if (!reporting) return;
  reporting = false;
  if (world.rank == 0) print(table, "rank 0 alone, as the program ended without MPI_Finalize");
}

}  // namespace phicoll_mpi
