#include "phicoll/preload/engine.hpp"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/environment.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/profile.hpp"
#include "phicoll/os/kept_errno.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/preload/guarded.hpp"
#include "phicoll/preload/uncancelled.hpp"
#include "phicoll/version.hpp"

using phicoll::Communicator;
using phicoll::Operator;

struct PhicollGroup {
  std::unique_ptr<phicoll::ProcessGroup> processes;
};

namespace {

using phicoll::Request;
#define PHICOLL_OPERATION(name, ...)                                          \
  static_assert(static_cast<int>(phicoll::Operation::name) == PHICOLL_##name, \
                "engine.hpp lacks an operation");
PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
#define PHICOLL_MEMBER(name, of_request)                                           \
  static_assert(offsetof(PhicollRequest, name) == offsetof(Request, of_request) && \
                    sizeof(PhicollRequest::name) <= sizeof(Request::of_request),   \
                "engine.hpp has another request")
PHICOLL_MEMBER(operation, operation);
PHICOLL_MEMBER(vector, vector);
PHICOLL_MEMBER(exclusive, exclusive);
PHICOLL_MEMBER(type, type);
PHICOLL_MEMBER(root, root);
PHICOLL_MEMBER(send, send);
PHICOLL_MEMBER(receive, receive);
PHICOLL_MEMBER(count, count);
PHICOLL_MEMBER(op, op);
PHICOLL_MEMBER(send_counts, send_blocks);
PHICOLL_MEMBER(receive_counts, receive_blocks);
PHICOLL_MEMBER(algorithm, algorithm);
#undef PHICOLL_MEMBER
static_assert(sizeof(PhicollRequest) == sizeof(Request), "engine.hpp has another request");

// Virtual: a machine gives pages as they are used. Each sub-communicator takes up to 32 MB of it, 4 MB once
// they have half.
constexpr std::size_t heap_limit = std::size_t{1} << 30;

// Measuring takes 80 ms. It waits until large calls have come for 20 times as long, as a shorter program
// would not win the 80 ms back.
constexpr std::int64_t calibrate_after_ms = 20 * phicoll::calibrating_ns / 1000000;

Communicator& of(PhicollComm* comm) {
  return *reinterpret_cast<Communicator*>(comm);
}

/// Makes a call. The others are in it, so whatever stops this rank breaks the group.
template <class Function>
PhicollResult called(PhicollComm* comm, Function function) {
  try {
    function(of(comm));
    return PHICOLL_DONE;
  } catch (const phicoll::RegionFullError& error) {
    return failed(PHICOLL_UNFIT, error.what());
  } catch (const std::exception& error) {
    const auto* const bad = dynamic_cast<const phicoll::ArgumentError*>(&error);
    if (bad != nullptr && bad->argument() == "algorithm") return failed(PHICOLL_UNFIT, error.what());
    try {
      of(comm).fail(error);
    } catch (const std::exception&) {
      // A process that a rank forked is refused, without effect on the group.
    }
    return failed(PHICOLL_BROKEN, error.what());
  }
}

thread_local std::string last_error;

/// The file that was standard error when the process started.
///
/// A program may close it before its end, or open a file of its own in its place, which nothing must be
/// printed into. So a copy is kept, under a number that programs hardly use. It goes where a program closes
/// all descriptors, and with a fork, since a daemon must not hold the terminal or pipe of its parent.
class Errors {
 public:
  void look() {
    if (fstat(STDERR_FILENO, &file_) != 0) return;
    copy_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, copy_from);
    there_ = true;
  }
  void forget_copy() {
    if (is_open(copy_)) close(copy_);
    copy_ = -1;
  }
  /// A descriptor of that file, or -1.
  int descriptor() const {
    if (!there_) return -1;
    return is_open(STDERR_FILENO) ? STDERR_FILENO : is_open(copy_) ? copy_ : -1;
  }

 private:
  static constexpr int copy_from = 700;

  bool is_open(int descriptor) const {
    struct stat now;
    return descriptor >= 0 && fstat(descriptor, &now) == 0 && now.st_dev == file_.st_dev &&
           now.st_ino == file_.st_ino && now.st_rdev == file_.st_rdev;
  }

  struct stat file_ = {};
  int copy_ = -1;
  bool there_ = false;
};

Errors errors;

// Runs when the library is loaded: before those that use it, and before the program's own code. Once a
// process has threads, as MPIs start in MPI_Init, the kernel takes 10 to 30 ms to register it.
__attribute__((constructor)) void loaded() {
  errors.look();
  pthread_atfork(nullptr, nullptr, [] { errors.forget_copy(); });
  phicoll::os::register_membarrier();
}

}  // namespace

PhicollResult failed(PhicollResult result, const char* why) {
  try {
    last_error = why;
  } catch (const std::exception&) {
    last_error.clear();
  }
  return result;
}

const char* phicoll_preload_error(void) {
  return last_error.c_str();
}

void phicoll_preload_print(const char* format, ...) {
  const phicoll_preload::Uncancelled uncancelled;
  const phicoll::os::KeptErrno kept;
  const int descriptor = errors.descriptor();
  if (descriptor < 0) return;
  va_list values;
  va_start(values, format);
  vdprintf(descriptor, format, values);
  va_end(values);
}

const char* phicoll_preload_version(void) {
  return PHICOLL_VERSION;
}

PhicollResult phicoll_preload_check_environment(void) {
  return guarded([] {
    phicoll::check_environment();
    for (int operation = 0; operation < phicoll::operations; ++operation)
      phicoll::environment_choice(static_cast<phicoll::Operation>(operation));
  });
}

PhicollResult phicoll_preload_attach(const char* name, int size, int rank, void (*progress)(void),
                                     int64_t attach_ms, int64_t wait_ms, PhicollGroup** group) {
  return guarded([&] {
    phicoll::GroupOptions options;
    options.heap_limit = heap_limit;
    options.calibrate_after_ms = calibrate_after_ms;
    options.attach_timeout_ms = attach_ms;
    options.timeout_ms = wait_ms;
    std::unique_ptr<PhicollGroup> made(new PhicollGroup);
    made->processes = phicoll::ProcessGroup::attach(name, size, rank, options);
    made->processes->communicator().set_progress(progress);
    *group = made.release();
  });
}

void phicoll_preload_leave(PhicollGroup* group) {
  guarded([group] { delete group; });
}

PhicollComm* phicoll_preload_whole(PhicollGroup* group) {
  return reinterpret_cast<PhicollComm*>(&group->processes->communicator());
}

PhicollResult phicoll_preload_create(PhicollGroup* group, const int* members, int size, PhicollComm** comm) {
  return guarded([&] {
    Communicator& whole = group->processes->communicator();
    *comm = reinterpret_cast<PhicollComm*>(
        whole.create_group(std::vector<int>(members, members + size)).release());
  });
}

void phicoll_preload_free(PhicollComm* comm) {
  guarded([comm] { delete &of(comm); });
}

PhicollResult phicoll_preload_choose_auto(PhicollComm* comm, const char* operation) {
  return guarded([=] {
    for (int o = 0; o < phicoll::operations; ++o)
      if (std::strcmp(phicoll::operation_rows[o].name, operation) == 0)
        of(comm).select(static_cast<phicoll::Operation>(o), "auto");
  });
}

PhicollResult phicoll_preload_reproducible(PhicollComm* comm) {
  return guarded([=] { of(comm).reproducible(true); });
}

PhicollResult phicoll_preload_fail(PhicollComm* comm, const char* reason) {
  const std::runtime_error error(reason);  // a copy: `reason` may be the last error, which the next replaces
  if (comm != nullptr) guarded([&] { of(comm).fail(error); });
  return failed(PHICOLL_BROKEN, error.what());
}

int phicoll_preload_has_ended(PhicollComm* comm, int rank) {
  bool ended = false;
  guarded([&] { ended = phicoll::os::process_has_ended(of(comm).control().pid(rank)); });
  return ended ? 1 : 0;
}

const PhicollOperator* phicoll_preload_operator(const char* type, const char* op) {
  struct Table {
    Operator of[phicoll::types][phicoll::ops];
    Table() {
      for (const auto& pairing : phicoll::operator_pairings())
        of[static_cast<int>(pairing.first)][static_cast<int>(pairing.second)] =
            phicoll::find_operator(pairing.first, pairing.second);
    }
  };
  try {
    static const Table table;
    const Operator& found =
        table.of[static_cast<int>(phicoll::parse_type(type))][static_cast<int>(phicoll::parse_op(op))];
    return found.kernel != nullptr ? reinterpret_cast<const PhicollOperator*>(&found) : nullptr;
  } catch (const std::exception& error) {
    failed(PHICOLL_BROKEN, error.what());
    return nullptr;
  }
}

PhicollOperator* phicoll_preload_own_operator(size_t element_bytes, int commutative, PhicollKernel kernel,
                                              void* context) {
  if (element_bytes == 0 || element_bytes > phicoll::max_element_bytes) return nullptr;
  Operator* made = nullptr;
  guarded([&] {
    made = new Operator(
        phicoll::user_operator(static_cast<std::uint32_t>(element_bytes), commutative != 0, kernel, context));
  });
  return reinterpret_cast<PhicollOperator*>(made);
}

void phicoll_preload_free_operator(PhicollOperator* op) {
  delete reinterpret_cast<Operator*>(op);
}

uint64_t phicoll_preload_elsewhere(const char* name) {
  uint64_t call = 0;
  guarded([&] { call = phicoll::call_signature::of_elsewhere(phicoll::parse_call_name(name)); });
  return call;
}

PhicollResult phicoll_preload_note(PhicollComm* comm, uint64_t elsewhere) {
  return called(comm, [=](Communicator& c) { c.note_elsewhere(elsewhere); });
}

PhicollResult phicoll_preload_call(PhicollComm* comm, const PhicollRequest* request) {
  return called(comm, [=](Communicator& c) { c.call(*reinterpret_cast<const phicoll::Request*>(request)); });
}

PhicollResult phicoll_preload_note_parts(PhicollComm* comm, const PhicollRequest* request) {
  return called(comm, [=](Communicator& c) {
    const auto& r = *reinterpret_cast<const Request*>(request);
    phicoll::CallFacts facts;
    facts.operation = r.operation;
    facts.bytes = r.count * (r.op != nullptr ? r.op->element_bytes : 1);
    phicoll::Call call;
    call.root = r.root;
    if (r.op != nullptr) call.op = *r.op;
    c.note_elsewhere(phicoll::call_signature::of(facts, call, c.size(), 0));
  });
}

int phicoll_preload_profiles(void) {
  return phicoll::calls_are_watched() ? 1 : 0;
}

void phicoll_preload_remark(const char* format, ...) {
  const phicoll_preload::Uncancelled uncancelled;
  const phicoll::os::KeptErrno kept;
  const char* const folder = phicoll::profile_folder();
  char path[PATH_MAX];
  if (folder == nullptr || std::snprintf(path, sizeof path, "%s/%d.remarks", folder,
                                         static_cast<int>(getpid())) >= static_cast<int>(sizeof path))
    return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  va_list values;
  va_start(values, format);
  vdprintf(file, format, values);
  va_end(values);
  dprintf(file, "\n");
  close(file);
}

PhicollLog* phicoll_preload_log(const char* group, uint64_t communicator, int rank, int size,
                                PhicollOperation operation, const char* served) {
  const char* const name = to_string(static_cast<phicoll::Operation>(operation));
  std::unique_ptr<phicoll::CallLog> made;
  guarded([&] { made = phicoll::CallLog::make({group, communicator, rank, size, true, name, served}); });
  return reinterpret_cast<PhicollLog*>(made.release());
}

uint64_t phicoll_preload_log_what(uint64_t bytes, int counted, int exclusive) {
  return phicoll::CallLog::what(bytes, counted != 0, exclusive != 0);
}

uint64_t phicoll_preload_log_enter(PhicollLog* log, uint64_t what) {
  return reinterpret_cast<phicoll::CallLog*>(log)->enter(what);
}

void phicoll_preload_log_leave(PhicollLog* log, uint64_t entered, uint64_t what) {
  reinterpret_cast<phicoll::CallLog*>(log)->leave(entered, what);
}

void phicoll_preload_log_end(PhicollLog* log) {
  delete reinterpret_cast<phicoll::CallLog*>(log);
}

void phicoll_preload_log_in_memory(void) {
  phicoll::CallLog::stay_in_memory();
}

const unsigned char* phicoll_preload_log_kept(unsigned number, size_t* bytes) {
  const phicoll::CallLog::Kept log = phicoll::CallLog::kept(number);
  *bytes = log.bytes;
  return log.data;
}

void phicoll_preload_log_write(const unsigned char* log, size_t bytes, int rank, unsigned number, int host) {
  guarded([=] { phicoll::CallLog::write({log, bytes}, rank, number, host); });
}

namespace {

using phicoll::SharedTransfer;

SharedTransfer& of(PhicollTransfer* transfer) {
  return *reinterpret_cast<SharedTransfer*>(transfer);
}

/// Hands a transfer out. It has begun: nothing below may throw.
void keep(const SharedTransfer& begun, void* kept, void (*let_go)(void*), SharedTransfer* made) {
  begun->kept = std::shared_ptr<void>(kept, let_go);
  *made = begun;
}

}  // namespace

PhicollResult phicoll_preload_send(PhicollComm* comm, const void* data, size_t bytes, int dest, int tag,
                                   void* kept, void (*let_go)(void*), PhicollTransfer** transfer) {
  return guarded([=] {
    std::unique_ptr<SharedTransfer> made(new SharedTransfer);
    keep(of(comm).begin_send(data, bytes, dest, tag), kept, let_go, made.get());
    *transfer = reinterpret_cast<PhicollTransfer*>(made.release());
  });
}

PhicollResult phicoll_preload_receive(PhicollComm* comm, void* buffer, size_t bytes, int source, int tag,
                                      void* kept, void (*let_go)(void*), PhicollTransfer** transfer) {
  return guarded([=] {
    std::unique_ptr<SharedTransfer> made(new SharedTransfer);
    keep(of(comm).begin_receive(buffer, bytes, source, tag), kept, let_go, made.get());
    *transfer = reinterpret_cast<PhicollTransfer*>(made.release());
  });
}

PhicollResult phicoll_preload_test(PhicollComm* comm, PhicollTransfer* transfer, int* ended, size_t* bytes,
                                   int* source) {
  return guarded([=] {
    const phicoll::Transfer& tested = *of(transfer);
    *ended = of(comm).test(tested) ? 1 : 0;
    *bytes = tested.envelope.bytes;
    *source = tested.envelope.source;
  });
}

void phicoll_preload_drop(PhicollTransfer* transfer) {
  delete reinterpret_cast<SharedTransfer*>(transfer);
}
