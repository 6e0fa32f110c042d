#pragma once

// The functions of libphicoll-preload.so, for libraries that are preloaded under a program or compiled where
// it runs. They are plain C, so that the part that is compiled against the program's own runtime (an MPI's
// mpi.h, PyTorch's headers) includes nothing else and may be built by another compiler. They throw nothing:
// they return a PhicollResult, and phicoll_preload_error() says why.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHICOLL_PRELOAD_API __attribute__((visibility("default")))

/// The processes of one node that attached together: a phicoll::ProcessGroup.
typedef struct PhicollGroup PhicollGroup;
/// A phicoll::Communicator.
typedef struct PhicollComm PhicollComm;
/// A phicoll::Operator.
typedef struct PhicollOperator PhicollOperator;

/// Threads of this process that meet in a barrier.
typedef struct PhicollThreads PhicollThreads;
/// One thread's side of it. Threads may use it in turn, if each has seen what the one before it did there.
typedef struct PhicollSeat PhicollSeat;

typedef enum PhicollResult {
  PHICOLL_DONE = 0,
  PHICOLL_NO_ROOM = 1,  ///< the shared heap is full: all members got this, and nothing was done
  PHICOLL_BROKEN = 2,   ///< the group cannot go on
  PHICOLL_UNFIT = 3     ///< the algorithm that a variable names cannot serve the call: as for PHICOLL_NO_ROOM
} PhicollResult;

/// The thread's last reason, for any result but PHICOLL_DONE.
PHICOLL_PRELOAD_API const char* phicoll_preload_error(void);
/// phicoll's version, to be compared with the one that the caller was compiled with.
PHICOLL_PRELOAD_API const char* phicoll_preload_version(void);
/// Prints on what was standard error when the process started, also where the program has closed it; a file
/// that has its number now is the program's own. Nothing if the process started without one.
PHICOLL_PRELOAD_API void phicoll_preload_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// PHICOLL_DONE if the variables that choose algorithms (PHICOLL_BARRIER ...) are right.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_check_environment(void);

/// Collective over `size` processes of this node that give the same name. `progress` is called every now and
/// then while this process waits in any of the calls below; null for none. Waits `attach_ms` for the others;
/// any later wait longer than `wait_ms` breaks the group, unless that is 0.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_attach(const char* name, int size, int rank,
                                                         void (*progress)(void), int64_t attach_ms,
                                                         int64_t wait_ms, PhicollGroup** group);
/// Leaves the group, whose communicators must have been freed. Does not wait.
PHICOLL_PRELOAD_API void phicoll_preload_leave(PhicollGroup* group);
/// The communicator of the whole group, which ends with it.
PHICOLL_PRELOAD_API PhicollComm* phicoll_preload_whole(PhicollGroup* group);
/// A communicator of the members, which are ranks of the group in the new order. Collective over these alone.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_create(PhicollGroup* group, const int* members, int size,
                                                         PhicollComm** comm);
PHICOLL_PRELOAD_API void phicoll_preload_free(PhicollComm* comm);
/// Lets `auto` serve an operation ("broadcast") of the communicator from now on, whatever a variable names.
/// All members call it between the same calls.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_choose_auto(PhicollComm* comm, const char* operation);
/// Communicator::reproducible(true). Collective.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_reproducible(PhicollComm* comm);
/// Breaks the communicator's group for a reason that the caller gives, which phicoll_preload_error() then
/// returns: the others' calls end with an error. `comm` may be null. Returns PHICOLL_BROKEN.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_fail(PhicollComm* comm, const char* reason);
/// Whether the process of one of the communicator's ranks has ended; 0 or 1. True of a rank whose death broke
/// the group.
PHICOLL_PRELOAD_API int phicoll_preload_has_ended(PhicollComm* comm, int rank);

/// The operator of these names ("float64", "sum"), or null where phicoll has none.
PHICOLL_PRELOAD_API const PhicollOperator* phicoll_preload_operator(const char* type, const char* op);

/// kernel(context, to, left, right, count) sets to[i] = left[i] op right[i]; `to` may be either of the
/// operands.
typedef void (*PhicollKernel)(void* context, void* to, const void* left, const void* right, size_t count);
/// An operator of the caller's own, to be freed; null for elements of more than 256 bytes. Operands stay in
/// rank order.
PHICOLL_PRELOAD_API PhicollOperator* phicoll_preload_own_operator(size_t element_bytes, int commutative,
                                                                  PhicollKernel kernel, void* context);
PHICOLL_PRELOAD_API void phicoll_preload_free_operator(PhicollOperator* op);

/// Stands for a call that the MPI itself serves, by the name it has there ("Allreduce"); 0 if there is none.
PHICOLL_PRELOAD_API uint64_t phicoll_preload_elsewhere(const char* name);
/// Notes such a call of the communicator before the rank makes it: a rank that waits in one of the calls
/// below for one that waits in the MPI would wait for ever. It finds what is noted, and breaks the group.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_note(PhicollComm* comm, uint64_t elsewhere);

/// The operations, as phicoll::Operation has them.
typedef enum PhicollOperation {
  PHICOLL_barrier,
  PHICOLL_broadcast,
  PHICOLL_reduce,
  PHICOLL_allreduce,
  PHICOLL_gather,
  PHICOLL_scatter,
  PHICOLL_allgather,
  PHICOLL_alltoall,
  PHICOLL_scan,
  PHICOLL_reduce_scatter
} PhicollOperation;
/// A phicoll::Request, whose members mean the same there. In place: a null `send` (scatter: `receive`).
typedef struct PhicollRequest {
  unsigned char operation;  ///< a PhicollOperation
  unsigned char vector, exclusive;
  unsigned type;
  int root;
  const void* send;
  void* receive;
  size_t count;
  const PhicollOperator* op;
  const size_t *send_counts, *send_displacements;
  const size_t *receive_counts, *receive_displacements;
  const void* algorithm;  ///< null: the selected one
} PhicollRequest;
/// Makes the call that the request describes.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_call(PhicollComm* comm, const PhicollRequest* request);
/// Notes a call that other communicators of these ranks are about to serve in parts, so
/// that a rank that makes another call here finds it, and breaks the group.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_note_parts(PhicollComm* comm,
                                                             const PhicollRequest* request);

/// Whether a profile is being made (PHICOLL_PROFILE).
PHICOLL_PRELOAD_API int phicoll_preload_profiles(void);
/// A line below the profile's table. Of equal lines of several processes there is one, with their number.
PHICOLL_PRELOAD_API void phicoll_preload_remark(const char* format, ...)
    __attribute__((format(printf, 1, 2)));
/// A phicoll::CallLog of those calls of a rank that the MPI serves.
typedef struct PhicollLog PhicollLog;
/// Null if no profile is made. `group` and `communicator` must be the same on all ranks of a communicator and
/// differ from any other's; `communicator` 0 is the whole group. `served` names what serves the calls.
PHICOLL_PRELOAD_API PhicollLog* phicoll_preload_log(const char* group, uint64_t communicator, int rank,
                                                    int size, PhicollOperation operation, const char* served);
/// Which call it is: the bytes of its count argument, whether it has counts, and whether it is an exclusive
/// scan.
PHICOLL_PRELOAD_API uint64_t phicoll_preload_log_what(uint64_t bytes, int counted, int exclusive);
/// Before a call, and after it with what the first returned.
PHICOLL_PRELOAD_API uint64_t phicoll_preload_log_enter(PhicollLog* log, uint64_t what);
PHICOLL_PRELOAD_API void phicoll_preload_log_leave(PhicollLog* log, uint64_t entered, uint64_t what);
PHICOLL_PRELOAD_API void phicoll_preload_log_end(PhicollLog* log);
/// Of a process on another host than the profile's folder: its logs stay in its memory.
PHICOLL_PRELOAD_API void phicoll_preload_log_in_memory(void);
/// Those that have ended, from number 0, where they lie; null after the last.
PHICOLL_PRELOAD_API const unsigned char* phicoll_preload_log_kept(unsigned number, size_t* bytes);
/// Writes such a log of a rank on host number `host`, from 1, into the folder.
PHICOLL_PRELOAD_API void phicoll_preload_log_write(const unsigned char* log, size_t bytes, int rank,
                                                   unsigned number, int host);

/// A phicoll::Transfer, to be dropped. Dropping it lets it go on.
typedef struct PhicollTransfer PhicollTransfer;
/// Begin a send, or a receive, of bytes. `let_go(kept)` is called once the transfer has ended and was
/// dropped: until then the memory must stay. A `source` of -1 is any rank. What fails has not begun.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_send(PhicollComm* comm, const void* data, size_t bytes,
                                                       int dest, int tag, void* kept, void (*let_go)(void*),
                                                       PhicollTransfer** transfer);
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_receive(PhicollComm* comm, void* buffer, size_t bytes,
                                                          int source, int tag, void* kept,
                                                          void (*let_go)(void*), PhicollTransfer** transfer);
/// Whether it has ended; goes on with all that the process has begun in the group. `bytes` and `source` are
/// those of a receive's message.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_test(PhicollComm* comm, PhicollTransfer* transfer,
                                                       int* ended, size_t* bytes, int* source);
PHICOLL_PRELOAD_API void phicoll_preload_drop(PhicollTransfer* transfer);

/// PHICOLL_DONE if the text names a barrier (docs/preload.md), `auto` among them.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_check_barrier(const char* barrier);
/// Such a barrier for 1 to phicoll_preload_most_threads() threads, which ends with the process. `crowded`:
/// they have fewer CPUs. `sleepy`: a thread sleeps once it has waited as long as a sleep and a wake take;
/// else it gives its CPU away for a while before.
PHICOLL_PRELOAD_API PhicollResult phicoll_preload_threads(const char* barrier, int size, int crowded,
                                                          int sleepy, PhicollThreads** threads);
PHICOLL_PRELOAD_API PhicollSeat* phicoll_preload_seat(PhicollThreads* threads, int rank);
/// Enters the barrier. All seats must be used equally often. After it, every thread sees what any did before
/// it.
PHICOLL_PRELOAD_API void phicoll_preload_pass(PhicollSeat* seat);
PHICOLL_PRELOAD_API int phicoll_preload_most_threads(void);
/// Call it when the library is loaded: registering for membarrier takes 20 ms once the process has several
/// threads, and the program may bind its threads later. Returns how many CPUs the process may use.
PHICOLL_PRELOAD_API int phicoll_preload_begin(void);

#ifdef __cplusplus
}
#endif
