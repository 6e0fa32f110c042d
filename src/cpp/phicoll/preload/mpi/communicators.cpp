// The communicators that have called a collective: a table by handle, which an attribute keeps true when one is freed.

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

/// A group of its own, which no other thread's call is in the way of. Attaching waits without progress of the MPI's and for a
/// bounded time, so all ranks come to it together: the barrier waits for late ones as the program's call would.
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

void count_call(Comm* comm) {
  if (++comm->calls > world.first_calls) comm->why = decide(comm);
}

void start_communicators() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, nullptr);
}

// The entries stay until the MPI deletes their attributes. Leaders' communicators are left to MPI_Finalize: MPI_Comm_free is collective,
// and ranks may have the entries in different orders.
void end_communicators() {
  for (Comm* first : table)
    for (Comm* comm = first; comm != nullptr; comm = comm->next) {
      release(comm);
      comm->why = Why::inactive;
    }
  PMPI_Comm_free_keyval(&keyval);
}

}  // namespace phicoll_mpi
