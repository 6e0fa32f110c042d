// The communicators that have called a collective: a table by handle, which an attribute keeps true when one
// is freed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

namespace phicoll_mpi {

Comm* latest = nullptr;

namespace {

constexpr size_t buckets = 256;
Comm* table[buckets];
int keyval = MPI_KEYVAL_INVALID;

Comm** bucket_of(MPI_Comm handle) {
  uint64_t bits = 0;
  memcpy(&bits, &handle, sizeof handle);
  return &table[(bits * 0x9e3779b97f4a7c15u) >> 56];
}

void release(Comm* comm) {
  end_logs(comm);
  release_nodes(comm);
  if (comm->group != nullptr)
    phicoll_preload_leave(comm->group);
  else if (comm->ranks != nullptr)
    phicoll_preload_free(comm->ranks);
  comm->group = nullptr;
  comm->ranks = nullptr;
}

/// Called by the MPI when the communicator is freed.
int on_delete(MPI_Comm, int, void* attribute, void*) {
  Comm* const gone = static_cast<Comm*>(attribute);
  {
    const Tables locked;
    for (Comm** at = bucket_of(gone->handle); *at != nullptr; at = &(*at)->next)
      if (*at == gone) {
        *at = gone->next;
        break;
      }
    if (latest == gone) latest = nullptr;
  }
  if (gone->nodes != nullptr && gone->nodes->leaders != MPI_COMM_NULL) PMPI_Comm_free(&gone->nodes->leaders);
  release(gone);
  free(gone);
  return MPI_SUCCESS;
}

bool stays(const Comm& comm) {
  if (comm.rank == 0)
    say("a communicator of %d ranks stays with the MPI: %s", comm.size, phicoll_preload_error());
  return false;
}

/// A part of the node's group. All members get the same answer.
bool create(Comm* comm, const int* members) {
  if (phicoll_preload_create(world.group, members, comm->size, &comm->ranks) == PHICOLL_DONE) return true;
  comm->ranks = nullptr;
  return stays(*comm);
}

/// A group of its own, which no other thread's call is in the way of. Attaching waits without progress of the
/// MPI's and for a bounded time, so all ranks come to it together: the barrier waits for late ones as the
/// program's call would.
bool attach(Comm* comm) {
  uint64_t token = random_number();
  PMPI_Bcast(&token, sizeof token, MPI_BYTE, 0, comm->handle);
  PMPI_Barrier(comm->handle);
  int mine = attach_as(token, 0, comm->size, comm->rank, &comm->group) == PHICOLL_DONE ? 1 : 0;
  int all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm->handle);
  if (all != 0) {
    comm->ranks = phicoll_preload_whole(comm->group);
    return true;
  }
  release(comm);
  return stays(*comm);
}

/// Why the calls of a communicator of `comm->size` ranks pass through. The same on all its ranks.
Why decide(Comm* comm) {
  if (world.why != Why::none) return world.why;
  const size_t size = static_cast<size_t>(comm->size);
  int* const in_order = static_cast<int*>(malloc(3 * size * sizeof(int)));
  int* const in_world = in_order + size;
  int* const members = in_world + size;
  for (int r = 0; r < comm->size; ++r) in_order[r] = r;
  MPI_Group ranks;
  PMPI_Comm_group(comm->handle, &ranks);
  PMPI_Group_translate_ranks(ranks, comm->size, in_order, world.ranks, in_world);
  PMPI_Group_free(&ranks);
  Why why = Why::none;
  for (int r = 0; r < comm->size && why != Why::outside; ++r) {
    if (in_world[r] == MPI_UNDEFINED) {
      why = Why::outside;
    } else {
      if (world.node_of[in_world[r]] != world.node_of[in_world[0]]) why = Why::nodes;
      members[r] = world.place[in_world[r]];
    }
  }
  if (why == Why::nodes) spread(comm, in_world);
  if (why == Why::none && !(world.threads ? attach(comm) : create(comm, members))) why = Why::room;
  free(in_order);
  return why;
}

/// The first number that no other communicator with the same ranks has. If world.threads, rank 0 chooses.
void choose_twin(Comm* comm, uint64_t members) {
  const Tables locked;
  comm->members = members;
  if (world.threads && comm->rank != 0) return;
  constexpr unsigned most_twins = 4096;  // more share the last one's number
  bool taken[most_twins] = {};
  for (const Comm* first : table)
    for (const Comm* other = first; other != nullptr; other = other->next)
      if (other != comm && other->members == comm->members) taken[other->twin] = true;
  comm->twin = 0;
  while (comm->twin < most_twins - 1 && taken[comm->twin]) ++comm->twin;
}

}  // namespace

Comm* look_up(MPI_Comm handle) {
  if (!world.joined || handle == MPI_COMM_NULL) return nullptr;
  Comm** const bucket = bucket_of(handle);
  {
    const Tables locked;
    for (Comm* known = *bucket; known != nullptr; known = known->next)
      if (known->handle == handle) {
        if (!world.threads) latest = known;
        return known;
      }
  }
  int inter = 0;
  if (PMPI_Comm_test_inter(handle, &inter) != MPI_SUCCESS) return nullptr;
  Comm* const made = static_cast<Comm*>(calloc(1, sizeof(Comm)));
  if (made == nullptr) return nullptr;
  made->handle = handle;
  PMPI_Comm_size(handle, &made->size);
  PMPI_Comm_rank(handle, &made->rank);
  if (inter != 0)
    made->why = Why::inter;
  else if (made->size == 1)
    made->why = Why::alone;
  else
    made->why = Why::early;
  {
    const Tables locked;
    made->next = *bucket;
    *bucket = made;
    if (!world.threads) latest = made;
  }
  PMPI_Comm_set_attr(handle, keyval, made);
  return made;
}

// With threads a communicator's group takes milliseconds to make. Each that was made halves the number of
// first calls of those that come after it, but only while there are at least `calls_a_group` calls of all
// communicators to a group. As ranks may have made different groups, they agree about that, after 4, 8, 16
// and 32 calls.
void count_call(Comm* comm) {
  constexpr unsigned fewest_first_calls = 7;
  constexpr unsigned calls_a_group = 32;
  static unsigned groups = 0;  // of all threads
  const unsigned calls = ++comm->calls;
  bool now = calls > world.first_calls;
  if (!now && world.counts_down && calls >= 4 && (calls & (calls - 1)) == 0) {
    const unsigned made = __atomic_load_n(&groups, __ATOMIC_RELAXED);
    const unsigned halved = made < 8 ? world.first_calls >> made : 0;
    const bool mine = made != 0 && calls >= (halved > fewest_first_calls ? halved : fewest_first_calls) &&
                      __atomic_load_n(&calls_begun, __ATOMIC_RELAXED) >= calls_a_group * (made + 1);
    int agrees = mine ? 1 : 0;
    int all = 0;
    now = PMPI_Allreduce(&agrees, &all, 1, MPI_INT, MPI_MIN, comm->handle) == MPI_SUCCESS && all != 0;
  }
  if (!now) return;
  comm->why = decide(comm);
  __atomic_fetch_add(&groups, 1, __ATOMIC_RELAXED);
}

bool number_communicator(Comm* comm) {
  const size_t size = static_cast<size_t>(comm->size);
  int* const in_order = static_cast<int*>(malloc(2 * size * sizeof(int)));
  if (in_order == nullptr) return false;
  int* const in_world = in_order + size;
  for (int r = 0; r < comm->size; ++r) in_order[r] = r;
  MPI_Group ranks;
  PMPI_Comm_group(comm->handle, &ranks);
  PMPI_Group_translate_ranks(ranks, comm->size, in_order, world.ranks, in_world);
  PMPI_Group_free(&ranks);
  uint64_t hash = 0xcbf29ce484222325u;
  for (int r = 0; r < comm->size; ++r) hash = (hash ^ static_cast<uint32_t>(in_world[r])) * 0x100000001b3u;
  free(in_order);
  choose_twin(comm, hash << 16 | 1);
  if (!world.threads) return true;
  if (comm->why != Why::inter)
    return PMPI_Bcast(&comm->twin, 1, MPI_UNSIGNED, 0, comm->handle) == MPI_SUCCESS;
  // Between two groups a reduction's result is the other group's, so the number goes there and back.
  const unsigned mine = comm->rank == 0 ? comm->twin : 0;
  unsigned there = 0;
  return PMPI_Allreduce(&mine, &there, 1, MPI_UNSIGNED, MPI_MAX, comm->handle) == MPI_SUCCESS &&
         PMPI_Allreduce(&there, &comm->twin, 1, MPI_UNSIGNED, MPI_MAX, comm->handle) == MPI_SUCCESS;
}

void name_communicator(const Comm& comm, char* words, size_t bytes) {
  const bool on_nodes = comm.nodes != nullptr || (!world.threads && !world.one_node);
  const char* const numbers = on_nodes        ? "those among this node's ranks"
                              : world.threads ? "this communicator's"
                                              : "MPI_COMM_WORLD's";
  int same = MPI_UNEQUAL;
  if (PMPI_Comm_compare(comm.handle, MPI_COMM_WORLD, &same) == MPI_SUCCESS && same == MPI_IDENT) {
    snprintf(words, bytes, on_nodes ? "MPI_COMM_WORLD (numbers are %s)" : "MPI_COMM_WORLD", numbers);
    return;
  }
  constexpr int most = 8;
  int in_comm[most];
  int in_world[most];
  const int shown = comm.size < most ? comm.size : most;
  for (int r = 0; r < shown; ++r) in_comm[r] = r;
  MPI_Group ranks;
  PMPI_Comm_group(comm.handle, &ranks);
  PMPI_Group_translate_ranks(ranks, shown, in_comm, world.ranks, in_world);
  PMPI_Group_free(&ranks);
  char list[12 * most] = "";
  for (int r = 0; r < shown; ++r) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%d", r == 0 ? "" : ", ", in_world[r]);
  }
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm.handle, name, &length);
  const bool named = *name != '\0';
  snprintf(words, bytes, "a communicator%s%s%s (ranks %s%s of MPI_COMM_WORLD; numbers are %s)",
           named ? " '" : "", name, named ? "'" : "", list, shown < comm.size ? ", ..." : "", numbers);
}

void start_communicators() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, nullptr);
}

// The entries stay until the MPI deletes their attributes. Leaders' communicators are left to MPI_Finalize:
// MPI_Comm_free is collective, and ranks may have the entries in different orders.
void end_communicators() {
  for (Comm* first : table)
    for (Comm* comm = first; comm != nullptr; comm = comm->next) {
      release(comm);
      comm->why = Why::inactive;
    }
  PMPI_Comm_free_keyval(&keyval);
}

}  // namespace phicoll_mpi
