/* The operations: which buffers each needs, its call, what it must leave in its buffers. */
#ifndef PHICOLL_BENCHMARKS_OPERATION_H
#define PHICOLL_BENCHMARKS_OPERATION_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>

typedef struct Work Work;

typedef struct {
  const char* name;
  int reduces;    /* float sum; the others move bytes */
  int send_ranks; /* the send buffer holds a block for each rank */
  int recv_ranks; /* so does the receive buffer */
  int root_sends; /* only the root's send buffer counts */
  int root_receives;
  void (*call)(const Work*);
} Operation;

/* One command's buffers. `bytes` is what the count argument says: of a block where there are blocks. */
struct Work {
  const Operation* operation;
  uint64_t bytes;
  int count; /* elements of `type` in `bytes` */
  MPI_Datatype type;
  int root, rank, ranks;
  unsigned char *send, *recv;
  uint64_t send_bytes, recv_bytes; /* 0 where this rank has none */
};

static void call_barrier(const Work* w) {
  (void)w;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void call_bcast(const Work* w) {
  MPI_Bcast(w->rank == w->root ? w->send : w->recv, w->count, w->type, w->root, MPI_COMM_WORLD);
}
static void call_reduce(const Work* w) {
  MPI_Reduce(w->send, w->recv, w->count, w->type, MPI_SUM, w->root, MPI_COMM_WORLD);
}
static void call_allreduce(const Work* w) {
  MPI_Allreduce(w->send, w->recv, w->count, w->type, MPI_SUM, MPI_COMM_WORLD);
}
static void call_gather(const Work* w) {
  MPI_Gather(w->send, w->count, w->type, w->recv, w->count, w->type, w->root, MPI_COMM_WORLD);
}
static void call_scatter(const Work* w) {
  MPI_Scatter(w->send, w->count, w->type, w->recv, w->count, w->type, w->root, MPI_COMM_WORLD);
}
static void call_allgather(const Work* w) {
  MPI_Allgather(w->send, w->count, w->type, w->recv, w->count, w->type, MPI_COMM_WORLD);
}
static void call_alltoall(const Work* w) {
  MPI_Alltoall(w->send, w->count, w->type, w->recv, w->count, w->type, MPI_COMM_WORLD);
}
static void call_scan(const Work* w) {
  MPI_Scan(w->send, w->recv, w->count, w->type, MPI_SUM, MPI_COMM_WORLD);
}
static void call_exscan(const Work* w) {
  MPI_Exscan(w->send, w->recv, w->count, w->type, MPI_SUM, MPI_COMM_WORLD);
}
static void call_reduce_scatter_block(const Work* w) {
  MPI_Reduce_scatter_block(w->send, w->recv, w->count, w->type, MPI_SUM, MPI_COMM_WORLD);
}

static const Operation operations[] = {
    /* name, reduces, send_ranks, recv_ranks, root_sends, root_receives */
    {"barrier", 0, 0, 0, 0, 0, call_barrier},
    {"bcast", 0, 0, 0, 1, 0, call_bcast},
    {"reduce", 1, 0, 0, 0, 1, call_reduce},
    {"allreduce", 1, 0, 0, 0, 0, call_allreduce},
    {"gather", 0, 0, 1, 0, 1, call_gather},
    {"scatter", 0, 1, 0, 1, 0, call_scatter},
    {"allgather", 0, 0, 1, 0, 0, call_allgather},
    {"alltoall", 0, 1, 1, 0, 0, call_alltoall},
    {"scan", 1, 0, 0, 0, 0, call_scan},
    {"exscan", 1, 0, 0, 0, 0, call_exscan},
    {"reduce_scatter_block", 1, 1, 0, 0, 0, call_reduce_scatter_block},
};

static inline const Operation* find_operation(const char* name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
    if (strcmp(operations[i].name, name) == 0) return &operations[i];
  return NULL;
}

/* What the owners write: small whole numbers as floats, so that sums are exact in any order. `flat` is one
 * number for the whole buffer, which costs a store and nothing else; else it differs from element to element.
 */
typedef struct {
  int flat;
  uint32_t salt;
} Pattern;

static inline float pattern_value(Pattern p, int owner, uint64_t index) {
  const uint32_t mixed = p.salt + 37u * (uint32_t)owner + (p.flat ? 0u : (uint32_t)(index + (index >> 6)));
  return (float)(1u + (mixed & 63u));
}

/* Ordinary stores of whole words (never memset's non-temporal ones), and the bytes that are left. */
static inline void write_pattern(unsigned char* buffer, uint64_t bytes, Pattern p, int owner) {
  float* words = (float*)(void*)buffer;
  const uint64_t count = bytes / sizeof(float);
  if (p.flat) {
    const float value = pattern_value(p, owner, 0);
    for (uint64_t i = 0; i < count; ++i) words[i] = value;
  } else {
    for (uint64_t i = 0; i < count; ++i) words[i] = pattern_value(p, owner, i);
  }
  for (uint64_t i = count * sizeof(float); i < bytes; ++i)
    buffer[i] = (unsigned char)pattern_value(p, owner, p.flat ? 0 : i);
}

/* What this rank writes before each call. */
static inline void write_send(const Work* w, Pattern p) {
  if (w->send_bytes != 0) write_pattern(w->send, w->send_bytes, p, w->rank);
}

static inline int same_as_sent(const unsigned char* got, uint64_t bytes, Pattern p, int owner,
                               uint64_t from) {
  const float* words = (const float*)(const void*)got;
  const uint64_t count = bytes / sizeof(float), first = from / sizeof(float);
  int same = 1;
  for (uint64_t i = 0; i < count; ++i) same &= words[i] == pattern_value(p, owner, first + i);
  return same;
}

/* Blocks whose size is not a multiple of a word are written bytewise only at a buffer's end: there the
 * receiver recomputes the sender's whole buffer one byte at a time. */
static inline unsigned char sent_byte(uint64_t at, uint64_t bytes, Pattern p, int owner) {
  const uint64_t whole = bytes / sizeof(float) * sizeof(float);
  if (at >= whole) return (unsigned char)pattern_value(p, owner, p.flat ? 0 : at);
  const float value = pattern_value(p, owner, at / sizeof(float));
  unsigned char of_value[sizeof value];
  memcpy(of_value, &value, sizeof value);
  return of_value[at % sizeof value];
}

static inline int moved(const Work* w, const unsigned char* got, Pattern p, int owner, uint64_t from,
                        uint64_t all) {
  if (w->bytes % sizeof(float) == 0) return same_as_sent(got, w->bytes, p, owner, from);
  for (uint64_t i = 0; i < w->bytes; ++i)
    if (got[i] != sent_byte(from + i, all, p, owner)) return 0;
  return 1;
}

static inline int summed(const Work* w, Pattern p, int first, int last, uint64_t from) {
  const float* got = (const float*)(void*)w->recv;
  const uint64_t count = w->bytes / sizeof(float);
  int same = 1;
  for (uint64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int r = first; r <= last; ++r) sum += pattern_value(p, r, from / sizeof(float) + i);
    same &= got[i] == sum;
  }
  return same;
}

/* Whether the last call left what it must, all owners having written pattern `p` before it. */
static inline int result_is_right(const Work* w, Pattern p) {
  const Operation* op = w->operation;
  const uint64_t of_all = w->bytes * (uint64_t)w->ranks, mine = w->bytes * (uint64_t)w->rank;
  const int last = w->ranks - 1;
  if (op->call == call_barrier || (op->root_receives && w->rank != w->root)) return 1;
  if (op->call == call_bcast)
    return moved(w, w->rank == w->root ? w->send : w->recv, p, w->root, 0, w->bytes);
  if (op->call == call_scatter) return moved(w, w->recv, p, w->root, mine, of_all);
  if (op->call == call_reduce || op->call == call_allreduce) return summed(w, p, 0, last, 0);
  if (op->call == call_scan) return summed(w, p, 0, w->rank, 0);
  if (op->call == call_exscan) return w->rank == 0 || summed(w, p, 0, w->rank - 1, 0);
  if (op->call == call_reduce_scatter_block) return summed(w, p, 0, last, mine);
  int right = 1;
  for (int r = 0; r < w->ranks; ++r) {
    const unsigned char* block = w->recv + w->bytes * (uint64_t)r;
    if (op->call == call_alltoall)
      right &= moved(w, block, p, r, mine, of_all);
    else /* gather, allgather */
      right &= moved(w, block, p, r, 0, w->bytes);
  }
  return right;
}

#endif
