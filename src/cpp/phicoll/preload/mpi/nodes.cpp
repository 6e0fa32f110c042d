// Communicators with ranks on several nodes. phicoll moves data within each node; one rank per node, its
// leader (the node's first in rank order), calls the MPI's own collective among the leaders. Large broadcasts
// and allreduces go in pieces, so that the MPI sends one piece while the nodes work on the next.
//
// All ranks make the same phicoll calls, and all leaders the same MPI calls, in the same order. A choice that
// leaders must share depends only on the communicator, the bytes, the root and the operator; `nodes.here`
// decides only how a node sums.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

namespace phicoll_mpi {

namespace {

constexpr size_t piece_bytes = size_t{256} << 10;
/// With at least this many ranks and bytes a node sums by an allreduce, which is then much faster than a
/// reduce (simulated).
constexpr int many_ranks = 16;
constexpr size_t larger_bytes = 2048;
constexpr int under_way = 2;  ///< pieces that the MPI has at once

// If the MPI refuses a leader's call, it refuses the other leaders' too; each leader breaks its node's group,
// so that no rank there waits for it. If a node's group breaks for another reason, its first surviving rank
// ends the program (fail() in calls.cpp), since other leaders would wait in the MPI.

/// Ends a leader's call of the MPI. Its error breaks the node's group, so that the node's other ranks get an
/// error too.
PhicollResult of_mpi(Nodes& nodes, int result) {
  if (result == MPI_SUCCESS) return PHICOLL_DONE;
  nodes.refused = true;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(result, words, &length);
  return phicoll_preload_fail(nodes.local, words);
}

const unsigned char* at(const void* memory, size_t bytes) {
  return static_cast<const unsigned char*>(memory) + bytes;
}
unsigned char* at(void* memory, size_t bytes) {
  return static_cast<unsigned char*>(memory) + bytes;
}

bool leads(const Nodes& nodes) {
  return nodes.place == 0;
}

/// One of the calls within a node that make up a call of the program's. If the algorithm that a variable
/// names cannot serve it, `auto` does, and serves the operation's later calls among these ranks too. The call
/// cannot be left to the MPI: the node's ranks get the same answer, but other nodes' ranks may get another.
PhicollResult within(const Nodes& nodes, const char* operation, const PhicollRequest& request) {
  PhicollResult result = phicoll_preload_call(nodes.local, &request);
  if (__builtin_expect(result != PHICOLL_UNFIT, 1)) return result;
  char why[512];  // of the first call
  snprintf(why, sizeof why, "%s", phicoll_preload_error());
  if (phicoll_preload_choose_auto(nodes.local, operation) != PHICOLL_DONE)
    return phicoll_preload_fail(nodes.local, phicoll_preload_error());
  result = phicoll_preload_call(nodes.local, &request);
  static bool told[PHICOLL_reduce_scatter + 1] = {};  // of each operation; as in stays() of calls.cpp
  if (result == PHICOLL_DONE && !__atomic_exchange_n(&told[request.operation], true, __ATOMIC_RELAXED) &&
      leads(nodes))
    say("auto serves a %s within a node: %s", operation, why);
  return result;
}

// Calls within a node. With one rank they only copy.

PhicollResult local_barrier(const Nodes& nodes) {
  const PhicollRequest request = request_of(Row::Barrier, nullptr, nullptr, 0);
  return nodes.local == nullptr ? PHICOLL_DONE : phicoll_preload_call(nodes.local, &request);
}

PhicollResult local_bcast(const Nodes& nodes, void* buffer, size_t bytes, int root) {
  if (nodes.local == nullptr) return PHICOLL_DONE;
  return within(nodes, "broadcast", request_of(Row::Bcast, nullptr, buffer, bytes, nullptr, root));
}

/// To the leader; `send` may be null there, for operands that lie in `receive`.
PhicollResult local_reduce(const Nodes& nodes, const void* send, void* receive, size_t count, size_t bytes,
                           const PhicollOperator* op) {
  if (nodes.local != nullptr)
    return within(nodes, "reduce",
                  request_of(Row::Reduce, send, leads(nodes) ? receive : nullptr, count, op));
  if (send != nullptr && send != receive) memcpy(receive, send, bytes);
  return PHICOLL_DONE;
}

/// A block of each rank of the node to the leader. A null `send` is the leader's in place.
PhicollResult local_gather(const Nodes& nodes, const void* send, void* receive, size_t bytes) {
  if (nodes.local != nullptr) return within(nodes, "gather", request_of(Row::Gather, send, receive, bytes));
  if (send != nullptr && send != receive) memcpy(receive, send, bytes);
  return PHICOLL_DONE;
}

PhicollResult local_scatter(const Nodes& nodes, const void* send, void* receive, size_t bytes) {
  if (nodes.local != nullptr) return within(nodes, "scatter", request_of(Row::Scatter, send, receive, bytes));
  if (receive != nullptr) memcpy(receive, send, bytes);
  return PHICOLL_DONE;
}

/// Counts and displacements of a node's ranks, when only the one at `place` has data.
struct OneBlock {
  OneBlock(const Nodes& nodes, size_t bytes, int place) {
    const size_t both = 2 * static_cast<size_t>(nodes.here) * sizeof(size_t);
    counts = reinterpret_cast<size_t*>(table.take(both));
    memset(counts, 0, both);
    displacements = counts + nodes.here;
    counts[place] = bytes;
  }
  Scratch table;
  size_t *counts, *displacements;
};

/// Moves the leader's data to the rank at `place` of its node alone.
PhicollResult hand_over(const Nodes& nodes, const void* send, void* receive, size_t bytes, int place) {
  if (place == 0) return PHICOLL_DONE;
  const OneBlock block(nodes, bytes, place);
  unsigned char nothing = 0;
  PhicollRequest request =
      request_of(Row::Scatterv, send, nodes.place == place ? receive : &nothing, block.counts[nodes.place]);
  request.send_counts = block.counts;
  request.send_displacements = block.displacements;
  return within(nodes, "scatter", request);
}

/// Moves the data of the rank at `place` to the leader of its node alone.
PhicollResult hand_up(const Nodes& nodes, const void* send, void* receive, size_t bytes, int place) {
  if (place == 0) return PHICOLL_DONE;
  const OneBlock block(nodes, bytes, place);
  const unsigned char nothing = 0;
  PhicollRequest request =
      request_of(Row::Gatherv, nodes.place == place ? send : &nothing, receive, block.counts[nodes.place]);
  request.receive_counts = block.counts;
  request.receive_displacements = block.displacements;
  return within(nodes, "gather", request);
}

/// A leader's requests, at most `under_way` at once; waited for in the order begun, at the latest when a call
/// fails.
class UnderWay {
 public:
  explicit UnderWay(Nodes& nodes) : nodes_(nodes) {}
  ~UnderWay() {
    while (!empty()) wait();
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  MPI_Request* next() { return &requests_[begun_++ % under_way]; }
  bool full() const { return begun_ - ended_ == under_way; }
  bool empty() const { return begun_ == ended_; }
  PhicollResult wait() {
    return of_mpi(nodes_, PMPI_Wait(&requests_[ended_++ % under_way], MPI_STATUS_IGNORE));
  }

 private:
  Nodes& nodes_;
  MPI_Request requests_[under_way] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  unsigned begun_ = 0, ended_ = 0;
};

/// Elements in a piece: at least one.
size_t piece_elements(size_t element_bytes, size_t count) {
  const size_t fit = piece_bytes / element_bytes;
  return fit == 0 ? 1 : fit < count ? fit : count;
}

/// Copies blocks of `bytes` between rank order and the order of nodes.
void reorder(const Comm& comm, unsigned char* to, const unsigned char* from, size_t bytes, bool to_ranks) {
  const Nodes& nodes = *comm.nodes;
  for (int r = 0; r < comm.size; ++r) {
    const size_t in_nodes = static_cast<size_t>(nodes.first[nodes.node_of[r]] + nodes.place_of[r]) * bytes;
    const size_t in_ranks = static_cast<size_t>(r) * bytes;
    memcpy(to + (to_ranks ? in_ranks : in_nodes), from + (to_ranks ? in_nodes : in_ranks), bytes);
  }
}

/// Blocks of the nodes, in bytes, for the MPI's calls with counts.
struct NodeBlocks {
  NodeBlocks(const Nodes& nodes, size_t bytes) {
    const size_t count = static_cast<size_t>(nodes.count);
    counts = reinterpret_cast<int*>(table.take(2 * count * sizeof(int)));
    starts = counts + count;
    for (int n = 0; n < nodes.count; ++n) {
      counts[n] = static_cast<int>(static_cast<size_t>(nodes.first[n + 1] - nodes.first[n]) * bytes);
      starts[n] = static_cast<int>(static_cast<size_t>(nodes.first[n]) * bytes);
    }
  }
  Scratch table;
  int *counts, *starts;
};

/// Fills in which rank is where. Returns false if each rank has a node of its own, where there is nothing to
/// gain.
bool number_nodes(const Comm* comm, Nodes* nodes, const int* in_world) {
  const size_t size = static_cast<size_t>(comm->size);
  nodes->node_of = reinterpret_cast<int*>(nodes + 1);
  nodes->place_of = nodes->node_of + size;
  nodes->first = nodes->place_of + size;
  nodes->members = nodes->first + size + 1;
  nodes->leaders = MPI_COMM_NULL;
  nodes->in_blocks = true;
  for (int r = 0; r < comm->size; ++r) {
    int known = 0;
    while (world.node_of[in_world[known]] != world.node_of[in_world[r]]) ++known;
    nodes->node_of[r] = known == r ? nodes->count++ : nodes->node_of[known];
    if (r > 0 && nodes->node_of[r] < nodes->node_of[r - 1]) nodes->in_blocks = false;
    nodes->place_of[r] = nodes->first[nodes->node_of[r] + 1]++;  // how many the node has so far
  }
  for (int n = 0; n < nodes->count; ++n) nodes->first[n + 1] += nodes->first[n];
  nodes->node = nodes->node_of[comm->rank];
  nodes->place = nodes->place_of[comm->rank];
  for (int r = 0; r < comm->size; ++r)
    if (nodes->node_of[r] == nodes->node) nodes->members[nodes->here++] = world.place[in_world[r]];
  return nodes->count < comm->size;
}

/// The communicator of the ranks on this node.
bool make_local(Comm* comm, Nodes* nodes, uint64_t token) {
  if (nodes->here == 1) return true;
  PhicollResult result = PHICOLL_DONE;
  if (world.threads) {
    result = attach_as(token, nodes->node, nodes->here, nodes->place, &comm->group);
    if (result == PHICOLL_DONE) nodes->local = phicoll_preload_whole(comm->group);
  } else {
    result = phicoll_preload_create(world.group, nodes->members, nodes->here, &nodes->local);
  }
  if (result == PHICOLL_DONE) return true;
  nodes->local = nullptr;
  if (nodes->place == 0)
    say("a communicator of %d ranks stays with the MPI: %s", comm->size, phicoll_preload_error());
  return false;
}

}  // namespace

bool spreads(Row row) {
  switch (row) {
    case Row::Barrier:
    case Row::Bcast:
    case Row::Reduce:
    case Row::Allreduce:
    case Row::Gather:
    case Row::Scatter:
    case Row::Allgather:
      return true;
    default:
      return false;
  }
}

bool keeps_order(const Comm& comm, MPI_Op op) {
  int commutes = 0;
  return comm.nodes->in_blocks || (PMPI_Op_commutative(op, &commutes) == MPI_SUCCESS && commutes != 0);
}

bool fits_counts(const Comm& comm, size_t count) {
  return count <= static_cast<size_t>(INT_MAX) / static_cast<size_t>(comm.size);
}

namespace {

PhicollResult nodes_barrier(const Comm& comm) {
  Nodes& nodes = *comm.nodes;
  PhicollResult result = local_barrier(nodes);
  if (result == PHICOLL_DONE && leads(nodes)) result = of_mpi(nodes, PMPI_Barrier(nodes.leaders));
  return result == PHICOLL_DONE ? local_barrier(nodes) : result;
}

// The root's node shares a piece before its leader sends it. Other leaders receive a piece before their node
// shares it.
PhicollResult nodes_bcast(const Comm& comm, void* buffer, size_t bytes, int root) {
  Nodes& nodes = *comm.nodes;
  const int from = nodes.node_of[root];
  const bool at_root = nodes.node == from;
  const size_t piece = piece_elements(1, bytes);
  if (piece == bytes) {
    PhicollResult result = at_root ? local_bcast(nodes, buffer, bytes, nodes.place_of[root]) : PHICOLL_DONE;
    if (result == PHICOLL_DONE && leads(nodes))
      result = of_mpi(nodes, PMPI_Bcast(buffer, static_cast<int>(bytes), MPI_BYTE, from, nodes.leaders));
    return result == PHICOLL_DONE && !at_root ? local_bcast(nodes, buffer, bytes, 0) : result;
  }
  UnderWay sent(nodes);
  size_t shared = 0;  // what the node has
  size_t begun = 0;   // what the leader has given to the MPI
  while (shared < bytes || !sent.empty()) {
    PhicollResult result = PHICOLL_DONE;
    const bool node_first = at_root && shared < bytes;
    if (node_first) {
      const size_t now = bytes - shared < piece ? bytes - shared : piece;
      result = local_bcast(nodes, at(buffer, shared), now, nodes.place_of[root]);
      shared += now;
    }
    while (result == PHICOLL_DONE && leads(nodes) && begun < (at_root ? shared : bytes) && !sent.full()) {
      const size_t now = bytes - begun < piece ? bytes - begun : piece;
      result = of_mpi(nodes, PMPI_Ibcast(at(buffer, begun), static_cast<int>(now), MPI_BYTE, from,
                                         nodes.leaders, sent.next()));
      begun += now;
    }
    if (result == PHICOLL_DONE && (at_root ? sent.full() || shared == bytes : true) && !sent.empty())
      result = sent.wait();
    if (result == PHICOLL_DONE && !at_root) {
      const size_t now = bytes - shared < piece ? bytes - shared : piece;
      result = local_bcast(nodes, at(buffer, shared), now, 0);
      shared += now;
    }
    if (result != PHICOLL_DONE) return result;
  }
  return PHICOLL_DONE;
}

PhicollResult nodes_reduce(const Comm& comm, const void* send, void* receive, size_t count, size_t bytes,
                           const PhicollOperator* op, const MpiOperator& with, int root) {
  Nodes& nodes = *comm.nodes;
  const int to = nodes.node_of[root];
  const int place = nodes.place_of[root];
  Scratch own;
  void* const sum = leads(nodes) ? (comm.rank == root ? receive : own.take(bytes)) : nullptr;
  if (send == nullptr && sum != receive) send = receive;  // the root, in place, and no leader
  PhicollResult result = local_reduce(nodes, send, sum, count, bytes, op);
  if (result == PHICOLL_DONE && leads(nodes)) {
    const bool at_root = nodes.node == to;
    result = of_mpi(nodes, PMPI_Reduce(at_root ? MPI_IN_PLACE : sum, at_root ? sum : nullptr,
                                       static_cast<int>(count), with.type, with.op, to, nodes.leaders));
  }
  if (result != PHICOLL_DONE || nodes.node != to) return result;
  return hand_over(nodes, sum, receive, bytes, place);
}

PhicollResult nodes_allreduce(const Comm& comm, const void* send, void* receive, size_t count, size_t bytes,
                              const PhicollOperator* op, const MpiOperator& with) {
  Nodes& nodes = *comm.nodes;
  const size_t element = bytes / count;
  const size_t piece = piece_elements(element, count);
  UnderWay sums(nodes);
  size_t summed = 0;
  size_t shared = 0;
  while (shared < count) {
    PhicollResult result = PHICOLL_DONE;
    const bool more = summed < count;
    if (more) {
      const size_t now = count - summed < piece ? count - summed : piece;
      void* const sum = at(receive, summed * element);
      const void* const own = send != nullptr ? at(send, summed * element) : nullptr;  // null: in `sum`
      if (nodes.here >= many_ranks && bytes >= larger_bytes)
        result = within(nodes, "allreduce", request_of(Row::Allreduce, own, sum, now, op));
      else
        result = local_reduce(nodes, own != nullptr || leads(nodes) ? own : sum, sum, now, now * element, op);
      if (result == PHICOLL_DONE && leads(nodes))
        result =
            of_mpi(nodes, piece == count ? PMPI_Allreduce(MPI_IN_PLACE, sum, static_cast<int>(now), with.type,
                                                          with.op, nodes.leaders)
                                         : PMPI_Iallreduce(MPI_IN_PLACE, sum, static_cast<int>(now),
                                                           with.type, with.op, nodes.leaders, sums.next()));
      summed += now;
    }
    // A piece is shared once the next has begun, or at the end. All ranks of a node do this in the same turn.
    if (result == PHICOLL_DONE && (summed - shared >= under_way * piece || !more || summed == count)) {
      const size_t now = count - shared < piece ? count - shared : piece;
      if (!sums.empty()) result = sums.wait();
      if (result == PHICOLL_DONE)
        result = local_bcast(nodes, at(receive, shared * element), now * element, 0);
      shared += now;
    }
    if (result != PHICOLL_DONE) return result;
  }
  return PHICOLL_DONE;
}

PhicollResult nodes_allgather(const Comm& comm, const void* send, void* receive, size_t bytes) {
  Nodes& nodes = *comm.nodes;
  const size_t total = bytes * static_cast<size_t>(comm.size);
  Scratch apart;
  // In the order of nodes, which is that of the ranks if each node's ranks are neighbours.
  unsigned char* const all = nodes.in_blocks ? static_cast<unsigned char*>(receive) : apart.take(total);
  if (send == nullptr) send = at(receive, static_cast<size_t>(comm.rank) * bytes);
  unsigned char* const block = all + static_cast<size_t>(nodes.first[nodes.node]) * bytes;
  PhicollResult result = local_gather(nodes, send == block ? nullptr : send, block, bytes);
  if (result == PHICOLL_DONE && leads(nodes)) {
    const NodeBlocks blocks(nodes, bytes);
    result = of_mpi(nodes, PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, blocks.counts,
                                           blocks.starts, MPI_BYTE, nodes.leaders));
  }
  if (result == PHICOLL_DONE) result = local_bcast(nodes, all, total, 0);
  if (result == PHICOLL_DONE && !nodes.in_blocks)
    reorder(comm, static_cast<unsigned char*>(receive), all, bytes, true);
  return result;
}

PhicollResult nodes_gather(const Comm& comm, const void* send, void* receive, size_t bytes, int root) {
  Nodes& nodes = *comm.nodes;
  const int to = nodes.node_of[root];
  const size_t total = bytes * static_cast<size_t>(comm.size);
  Scratch node_blocks;
  Scratch everything;
  if (send == nullptr) send = at(receive, static_cast<size_t>(root) * bytes);
  unsigned char* const block =
      leads(nodes) ? node_blocks.take(bytes * static_cast<size_t>(nodes.here)) : nullptr;
  PhicollResult result = local_gather(nodes, send, block, bytes);
  const bool has_all = nodes.node == to && (leads(nodes) || comm.rank == root);
  unsigned char* const all = has_all ? everything.take(total) : nullptr;
  if (result == PHICOLL_DONE && leads(nodes)) {
    const NodeBlocks blocks(nodes, bytes);
    result = of_mpi(nodes, PMPI_Gatherv(block, blocks.counts[nodes.node], MPI_BYTE, all, blocks.counts,
                                        blocks.starts, MPI_BYTE, to, nodes.leaders));
  }
  if (result == PHICOLL_DONE && nodes.node == to)
    result = hand_over(nodes, all, all, total, nodes.place_of[root]);
  if (result == PHICOLL_DONE && comm.rank == root)
    reorder(comm, static_cast<unsigned char*>(receive), all, bytes, true);
  return result;
}

PhicollResult nodes_scatter(const Comm& comm, const void* send, void* receive, size_t bytes, int root) {
  Nodes& nodes = *comm.nodes;
  const int from = nodes.node_of[root];
  const size_t total = bytes * static_cast<size_t>(comm.size);
  Scratch node_blocks;
  Scratch everything;
  const bool has_all = nodes.node == from && (leads(nodes) || comm.rank == root);
  unsigned char* const all = has_all ? everything.take(total) : nullptr;
  if (comm.rank == root) reorder(comm, all, static_cast<const unsigned char*>(send), bytes, false);
  PhicollResult result = PHICOLL_DONE;
  if (nodes.node == from) result = hand_up(nodes, all, all, total, nodes.place_of[root]);
  unsigned char* const block =
      leads(nodes) ? node_blocks.take(bytes * static_cast<size_t>(nodes.here)) : nullptr;
  if (result == PHICOLL_DONE && leads(nodes)) {
    const NodeBlocks blocks(nodes, bytes);
    result = of_mpi(nodes, PMPI_Scatterv(all, blocks.counts, blocks.starts, MPI_BYTE, block,
                                         blocks.counts[nodes.node], MPI_BYTE, from, nodes.leaders));
  }
  // The root in place already has its block. The local scatter still gives it one, which is dropped.
  Scratch unwanted;
  if (receive == nullptr) receive = unwanted.take(bytes);
  return result == PHICOLL_DONE ? local_scatter(nodes, block, receive, bytes) : result;
}

}  // namespace

PhicollResult nodes_call(const Comm& comm, const PhicollRequest& r, size_t bytes, const MpiOperator& with) {
  switch (r.operation) {
    case PHICOLL_barrier:
      return nodes_barrier(comm);
    case PHICOLL_broadcast:
      return nodes_bcast(comm, r.receive, bytes, r.root);
    case PHICOLL_reduce:
      return nodes_reduce(comm, r.send, r.receive, r.count, bytes, r.op, with, r.root);
    case PHICOLL_gather:
      return nodes_gather(comm, r.send, r.receive, bytes, r.root);
    case PHICOLL_scatter:
      return nodes_scatter(comm, r.send, r.receive, bytes, r.root);
    case PHICOLL_allgather:
      return nodes_allgather(comm, r.send, r.receive, bytes);
    default:  // spreads() lets no other through
      return nodes_allreduce(comm, r.send, r.receive, r.count, bytes, r.op, with);
  }
}

bool spread(Comm* comm, const int* in_world) {
  const size_t size = static_cast<size_t>(comm->size);
  uint64_t token = random_number();
  if (world.threads) {
    PMPI_Bcast(&token, sizeof token, MPI_BYTE, 0, comm->handle);
    PMPI_Barrier(comm->handle);  // as in attach() of communicators.cpp
  }
  Nodes* const nodes = static_cast<Nodes*>(calloc(1, sizeof(Nodes) + (4 * size + 1) * sizeof(int)));
  int mine =
      nodes != nullptr && number_nodes(comm, nodes, in_world) && make_local(comm, nodes, token) ? 1 : 0;
  int all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm->handle);
  comm->nodes = nodes;
  if (all == 0) {
    release_nodes(comm);
    return false;
  }
  // The MPI may have no communicator left. Its errors, on the leaders' communicator too, are handled in this
  // file.
  MPI_Errhandler handler;
  PMPI_Comm_get_errhandler(comm->handle, &handler);
  PMPI_Comm_set_errhandler(comm->handle, MPI_ERRORS_RETURN);
  mine = PMPI_Comm_split(comm->handle, leads(*nodes) ? 0 : MPI_UNDEFINED, comm->rank, &nodes->leaders) ==
                 MPI_SUCCESS
             ? 1
             : 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm->handle);
  PMPI_Comm_set_errhandler(comm->handle, handler);
  PMPI_Errhandler_free(&handler);
  if (all != 0) return true;
  if (mine != 0 && leads(*nodes)) PMPI_Comm_free(&nodes->leaders);
  release_nodes(comm);
  return false;
}

void release_nodes(Comm* comm) {
  if (comm->nodes == nullptr) return;
  if (comm->group != nullptr)
    phicoll_preload_leave(comm->group);
  else if (comm->nodes->local != nullptr)
    phicoll_preload_free(comm->nodes->local);
  comm->group = nullptr;
  free(comm->nodes);
  comm->nodes = nullptr;
}

}  // namespace phicoll_mpi
