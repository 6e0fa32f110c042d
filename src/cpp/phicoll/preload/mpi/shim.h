#pragma once

// libphicoll-mpi.so: the collectives of a program's MPI, in phicoll. It is preloaded, defines MPI_* and calls
// PMPI_* where the MPI itself is meant. Compiled against that MPI's mpi.h by `phicoll mpi`, as C++ without
// its library: whatever compiler mpicc calls, nothing but libc and the MPI is needed beside
// libphicoll-preload.so.
//
// Whether a call runs in phicoll is decided by what all its ranks share alone (the communicator's members,
// the operator, the predefined type of a reduction), so that all decide alike without a message.

// MPI's former C++ functions, which some mpi.h still declare, are in a library that mpicc does not link.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "phicoll/preload/engine.hpp"

// Hidden names are reached faster, and the program needs none of these.
#pragma GCC visibility push(hidden)

namespace phicoll_mpi {

/// Why a call passes through to the MPI. In the order of `why_words` (watching.cpp).
enum class Why : unsigned char {
  none,       ///< it runs in phicoll
  inactive,   ///< phicoll has no group: before MPI_Init, after MPI_Finalize, or attaching failed
  early,      ///< one of a communicator's first calls, which are not worth making anything for
  alone,      ///< a communicator of one rank
  inter,      ///< an intercommunicator
  nodes,      ///< ranks on several nodes
  outside,    ///< ranks that are not in MPI_COMM_WORLD
  room,       ///< the group's shared heap was full when the communicator first called
  algorithm,  ///< one that a variable names and that cannot serve the call
  operation,  ///< an operator or type that phicoll does not have, such as a sum of long doubles
  argument    ///< something that the MPI will refuse
};
constexpr int whys = 11;

/// The intercepted collectives, one row each.
enum class Row : unsigned char {
#define PHICOLL_MPI_ROW(name, ...) name,
#include "rows.inc"
#undef PHICOLL_MPI_ROW
  count
};
constexpr int rows = static_cast<int>(Row::count);
extern const char* const row_names[rows];

/// Which call of phicoll's a row's is.
struct Kind {
  PhicollOperation operation;
  bool vector, exclusive;
};
constexpr Kind kinds[rows] = {
#define PHICOLL_MPI_ROW(name, lower, upper, operation, vector, exclusive) \
  {PHICOLL_##operation, vector, exclusive},
#include "rows.inc"
#undef PHICOLL_MPI_ROW
};
/// What phicoll is asked for by a row's call. The other arguments are those of phicoll::Request.
constexpr PhicollRequest request_of(Row row, const void* send, void* receive, size_t count,
                                    const PhicollOperator* op = nullptr, int root = 0) {
  const Kind& kind = kinds[static_cast<int>(row)];
  PhicollRequest made = {};
  made.operation = static_cast<unsigned char>(kind.operation);
  made.vector = kind.vector;
  made.exclusive = kind.exclusive;
  made.send = send;
  made.receive = receive;
  made.count = count;
  made.op = op;
  made.root = root;
  return made;
}

/// The nodes of a communicator that has ranks on several. They are numbered in the order of their first
/// ranks.
struct Nodes {
  PhicollComm* local;  ///< the ranks on this rank's node; null where it is alone
  MPI_Comm leaders;    ///< the first rank of each node; MPI_COMM_NULL on others
  int count;           ///< of nodes
  int node, place;     ///< of this rank: its node, and its place among the node's ranks
  int here;            ///< ranks on its node
  bool in_blocks;      ///< each node's ranks are neighbours in rank order
  bool refused;        ///< the MPI refused this leader a call, which it then does other leaders, too
  int* node_of;        ///< of each rank
  int* place_of;       ///< of each rank
  int* first;          ///< first[n]: ranks on the nodes before n; first[count]: all
  int* members;        ///< the node's ranks in the node's group
};

/// phicoll's operator for a type and an operator of the MPI's.
struct Reducing {
  MPI_Datatype type;
  MPI_Op op;
  const PhicollOperator* with;
  size_t extent;  ///< bytes from an element to the next; the gaps in pairs are part of phicoll's elements
};

/// A communicator as phicoll knows it.
struct Comm {
  PhicollComm* ranks;   ///< null: its calls pass through, or run by `nodes`
  PhicollGroup* group;  ///< its own, if world.threads
  Nodes* nodes;         ///< if its ranks are on several nodes
  Why why;
  int rank, size;
  unsigned calls;  ///< collective ones so far, while `why` is `early`
  MPI_Comm handle;
  Reducing reducing;  ///< of its last reduction by one of phicoll's operators; `with` is null before
  PhicollLog** logs;  ///< of its calls that the MPI serves, by row and reason; null while none is watched
  uint64_t members;   ///< a hash of its ranks; 0 until it has logs
  unsigned twin;      ///< tells it from communicators of the same ranks
  Comm* next;         ///< in its bucket
};

// --- world.cpp: the program's ranks, and which of them is on which node

struct World {
  PhicollGroup* group;  ///< of this node's ranks; null: everything passes through, unless `threads`
  bool
      /// MPI_THREAD_MULTIPLE: each communicator has a group of its own, as threads may make them at once
      threads;
  Why why;  ///< `none` if every node's ranks have attached
  bool joined;
  int size, rank;
  MPI_Group ranks;
  int* node_of;          ///< of each rank
  int* place;            ///< of each rank among those of its node
  unsigned first_calls;  ///< how many collectives of each communicator pass through
  bool counts_down;      ///< they are fewer for communicators that come after others have had theirs
  bool one_node;
};
extern World world;

/// Tells a wait of one call from that of the next.
extern unsigned calls_begun;

/// Attaches the processes of a communicator of ranks on one node that all have the same token.
PhicollResult attach_as(uint64_t token, int part, int size, int rank, PhicollGroup** group);
uint64_t random_number();

/// Gives its thread the tables alone while it lives; locks nothing if the program has one thread at a time.
class Tables {
 public:
  Tables();
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
};

/// A line on stderr.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// --- communicators.cpp

/// The last communicator that was looked up, which most calls use again; null if world.threads.
extern Comm* latest;
Comm* look_up(MPI_Comm handle);
inline Comm* find(MPI_Comm handle) {
  Comm* const known = latest;
  return __builtin_expect(known != nullptr && known->handle == handle, 1) ? known : look_up(handle);
}
/// Counts a call of a communicator that has not been settled yet, and settles it at the last of its first
/// calls. All ranks count the same calls.
void count_call(Comm* comm);
/// Which communicator it is, and by what phicoll's errors number its ranks.
void name_communicator(const Comm& comm, char* words, size_t bytes);
/// Sets `members` and `twin`, in the communicator's first call that is watched. All ranks get the same values
/// without a message, as they first use their communicators in the same order; if world.threads, they get
/// those of the communicator's rank 0. Returns false without memory.
bool number_communicator(Comm* comm);
void start_communicators();
void end_communicators();

// --- nodes.cpp

/// The calls that run over several nodes. The others are the MPI's there.
bool spreads(Row row);
/// Prepares a communicator for them; collective. `in_world`: the rank in MPI_COMM_WORLD of each rank. Returns
/// false, on all ranks alike, if each rank has a node of its own or a node's ranks could not meet.
bool spread(Comm* comm, const int* in_world);
void release_nodes(Comm* comm);
/// Whether a reduction by nodes may be used: its operator commutes, or the nodes keep rank order.
bool keeps_order(const Comm& comm, MPI_Op op);
/// Whether the MPI's int counts have room for the elements or bytes of all ranks.
bool fits_counts(const Comm& comm, size_t count);

struct MpiOperator {
  MPI_Datatype type;
  MPI_Op op;
};

/// A call over nodes, as phicoll_preload_call makes it in one. `bytes`: of a reduction's elements, or of
/// `count`.
PhicollResult nodes_call(const Comm& comm, const PhicollRequest& request, size_t bytes,
                         const MpiOperator& with);

// --- types.cpp

/// A datatype as data: `plain` if its elements lie in memory as they are sent.
struct TypeFacts {
  bool plain;
  size_t size;      ///< bytes of data
  MPI_Aint extent;  ///< from an element to the next
};
void start_types();
void end_types();
/// Returns false for a datatype that the MPI will refuse.
bool facts_of(MPI_Datatype type, TypeFacts* facts);
/// Finds phicoll's operator. Returns false, and leaves `reducing` as it was, where it has none.
bool find_operator(MPI_Datatype type, MPI_Op op, Reducing* reducing);

/// An operator that the program has made, for one call.
class OwnOperator {
 public:
  OwnOperator() = default;
  ~OwnOperator() {
    if (__builtin_expect(made_ != nullptr, 0)) phicoll_preload_free_operator(made_);
  }
  OwnOperator(const OwnOperator&) = delete;
  OwnOperator& operator=(const OwnOperator&) = delete;
  /// Null where the operator is not the program's, or elements have gaps or more than 256 bytes.
  const Reducing* make(MPI_Datatype type, MPI_Op op);

 private:
  static void combine(void* self, void* to, const void* left, const void* right, size_t count);

  PhicollOperator* made_ = nullptr;
  Reducing reducing_;  // set if made_ is
};
/// Whether the MPI's pack gives the bare bytes of the data; if not, phicoll serves only predefined types.
extern bool packs_plainly;

/// Memory that a call needs for itself.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    if (__builtin_expect(memory_ != nullptr, 0)) free(memory_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  unsigned char* take(size_t bytes);

 private:
  unsigned char* memory_ = nullptr;
};
/// Counts that a call needs for itself; few of them take no allocation.
class Counts {
 public:
  Counts() {}  // leaves `near_` as it is
  size_t* take(size_t count) {
    return __builtin_expect(count <= sizeof near_ / sizeof *near_, 1)
               ? near_
               : reinterpret_cast<size_t*>(far_.take(count * sizeof(size_t)));
  }

 private:
  size_t near_[32];
  Scratch far_;
};
void pack(unsigned char* to, const void* from, size_t count, MPI_Datatype type, const TypeFacts& facts);
void unpack(void* to, const unsigned char* from, size_t count, MPI_Datatype type, const TypeFacts& facts);

// --- watching.cpp

extern bool watching;
/// Whether PHICOLL_MPI_ONLY has all calls stay with the MPI.
bool asked_only();
/// Collective over MPI_COMM_WORLD, with the nodes known: has the calls that the MPI serves noted in the
/// profile that is being made. `group` is 0 where none is.
void start_watching(uint64_t group);
/// Collective, after all logs have ended: rank 0 gets those of other nodes' ranks.
void end_watching();
/// Why the calling thread's next call is the MPI's.
extern thread_local Why passing_for __attribute__((tls_model("initial-exec")));
inline void note_passed(Why why) {
  passing_for = why;
}
/// A call on a communicator, noted while it lives, as the MPI serves it for this reason; or as nodes do.
class Noted {
 public:
  Noted(MPI_Comm handle, Row row, Why why);
  ~Noted() {
    if (log_ != nullptr) phicoll_preload_log_leave(log_, entered_, what_);
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  /// Null if the communicator's calls are not watched.
  const Comm* comm() const { return log_ != nullptr ? comm_ : nullptr; }
  void enter(uint64_t bytes);

 private:
  Row row_;
  Comm* comm_;
  PhicollLog* log_;
  uint64_t entered_ = 0, what_ = 0;
};
void end_logs(Comm* comm);

/// A call as the MPI serves it. `count(comm)` is the number of elements of `type` in its count argument.
template <class Count, class Call>
struct Passing {
  Row row;
  MPI_Comm comm;
  MPI_Datatype type;
  Count count;
  Call call;

  int operator()() const { return __builtin_expect(watching, 0) ? watched() : call(); }

 private:
  [[gnu::noinline, gnu::cold]] int watched() const {
    Noted noted(comm, row, passing_for);
    if (noted.comm() != nullptr) {
      TypeFacts facts = {true, 0, 0};
      if (type != MPI_DATATYPE_NULL) facts_of(type, &facts);
      // The counts of a call between two groups are the other group's.
      const bool sized = noted.comm()->why != Why::inter || !kinds[static_cast<int>(row)].vector;
      noted.enter(sized ? static_cast<uint64_t>(count(*noted.comm())) * facts.size : 0);
    }
    return call();
  }
};
template <class Count, class Call>
Passing<Count, Call> passing(Row row, MPI_Comm comm, MPI_Datatype type, Count count, Call call) {
  return {row, comm, type, count, call};
}
/// The elements of a rank's block in a call with counts; and of the mean block.
template <class Count>
long long block_of(const Count* counts, int rank) {
  return counts != nullptr ? static_cast<long long>(counts[rank]) : 0;
}
template <class Count>
long long mean_block(const Count* counts, int ranks) {
  long long all = 0;
  for (int r = 0; r < ranks; ++r) all += block_of(counts, r);
  return all / ranks;
}

}  // namespace phicoll_mpi

#pragma GCC visibility pop
