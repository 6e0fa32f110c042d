#include "phicoll/group/process_group.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/cross_copies.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/name_server.hpp"
#include "phicoll/group/outside_view.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/group/watcher.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/membarrier.hpp"

namespace phicoll {

namespace {

constexpr const char* descriptor_variable = "PHICOLL_GROUP_FD";
constexpr const char* rank_variable = "PHICOLL_RANK";
constexpr const char* never_joined = "ended without joining the group";
constexpr int overwritten_grace_ms = 300;  // ranks of an overwritten group may wait for ever

GroupMemory memory_of(os::SharedMemory& shared, std::size_t region_bytes, std::size_t heap_bytes) {
  GroupMemory memory = GroupLayout::at(shared.data(), region_bytes, heap_bytes);
  const std::size_t region = GroupLayout::region_offset();
  const std::size_t heap = GroupLayout::heap_offset(region_bytes);
  os::SharedMemory* const owner = &shared;
  memory.reserve = [owner, region](std::size_t offset, std::size_t bytes) {
    owner->reserve(region + offset, bytes);
  };
  memory.reserve_heap = [owner, heap](std::size_t offset, std::size_t bytes) {
    owner->reserve(heap + offset, bytes);
  };
  return memory;
}

Control& control_of(const os::SharedMemory& shared) {
  return *static_cast<Control*>(shared.data());
}
ProcessHeader& header_of(const os::SharedMemory& shared) {
  return *GroupLayout::header_at(shared.data());
}

/// Whether a group's memory begins here and ends within it.
bool holds_group(const os::SharedMemory& memory) {
  if (memory.size() < GroupLayout::total(0)) return false;
  const ProcessHeader& header = header_of(memory);
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  std::uint64_t left = memory.size();
  for (const std::uint64_t& bytes : {header.region_bytes, header.heap_bytes, header.tuning_bytes}) {
    const std::uint64_t part = untrusted(bytes).below(most, most);
    if (part > left) return false;
    left -= part;
  }
  return untrusted(header.magic).is(ProcessHeader::expected_magic) &&
         untrusted(header.ranks).within(1, max_ranks, 0) != 0 &&
         GroupLayout::total(header.region_bytes, header.heap_bytes) + header.tuning_bytes <= memory.size();
}

/// Where the group's tuning table lies, as pack_tuning made it.
std::string packed_tuning(const os::SharedMemory& shared) {
  const ProcessHeader& header = header_of(shared);
  return std::string(
      static_cast<const char*>(shared.data()) + GroupLayout::total(header.region_bytes, header.heap_bytes),
      header.tuning_bytes);
}

Shape places_of(const ProcessHeader& header, bool crowded) {
  std::vector<CpuLocation> places;
  bool placed = false;
  for (int r = 0; r < header.ranks; ++r) {
    places.push_back(header.members[r].place);
    placed = placed || places.back().cpu >= 0;
  }
  return placed ? Shape(std::move(places)) : Shape::unknown(header.ranks, crowded);
}

/// Once it is known where the ranks are, and by one process.
void decide_to_calibrate(ProcessHeader& header, bool crowded) {
  header.numbers_wanted =
      header.may_calibrate != 0 && lacks_numbers(header.host, places_of(header, crowded), header.tuning_cpus)
          ? 1
          : 0;
}

/// The same on every rank, also where programs that attach may use different CPUs: as the group's maker had
/// it.
Shape shape_of(const os::SharedMemory& memory, bool crowded) {
  const ProcessHeader& header = header_of(memory);
  Shape shape = places_of(header, crowded);
  HostNumbers host = header.host;
  if (header.numbers_wanted != 0) host.state = HostNumbers::wanted;
  shape.set_host(host);
  if (header.tuning_bytes != 0) tune(&shape, unpack_tuning(packed_tuning(memory), header.tuning_cpus));
  return shape;
}

std::string missing_ranks(const OutsideView& group, int* first) {
  std::string missing;
  *first = -1;
  for (int r = 0; r < group.ranks(); ++r) {
    if (group.joined(r)) continue;
    if (*first < 0) *first = r;
    missing += (missing.empty() ? "" : ", ") + std::to_string(r);
  }
  return missing;
}

/// Checks whether the launcher's process of a missing rank has ended, for the ranks from `rank` + 1 to the
/// next one that is taken. So one of the waiting ranks watches each missing rank.
void look_after_missing(OutsideView& group, int rank) {
  for (int step = 1; step < group.ranks(); ++step) {
    const int r = (rank + step) % group.ranks();
    if (group.taken(r)) return;
    const pid_t started = group.started(r);
    if (started == 0 || !os::process_has_ended(started)) continue;
    // It may have taken its rank, and even left, since the first look.
    if (group.taken(r)) return;
    group.break_group(r, never_joined);
    return;
  }
}

int environment_number(const char* name) {
  const char* const text = os::environment(name);
  char* end = nullptr;
  const long number = text != nullptr ? std::strtol(text, &end, 10) : -1;
  if (text == nullptr || *text == '\0' || *end != '\0' || number < 0 || number > INT_MAX)
    throw ArgumentError(name,
                        text == nullptr ? "no such environment variable" : std::string("'") + text + "'",
                        "what a launcher sets for the programs it starts");
  return static_cast<int>(number);
}

/// How a process ended, as a reason to break its group; empty for an orderly end.
std::string ending(int status) {
  if (WIFSIGNALED(status)) return std::string("died of signal ") + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "ended with exit status " + std::to_string(WEXITSTATUS(status));
  return std::string();
}

/// Sleeps until one of the processes has ended, or for some milliseconds.
void await_an_end(const std::vector<int>& ends) {
  int longest_ms = 50;
  for (int end : ends)
    if (end < 0) longest_ms = 2;
  int which = -1;
  os::wait_any_exit(ends.data(), static_cast<int>(ends.size()), -1, longest_ms, &which);
}

/// Reaps these, and no other child of the program; the first that ended badly, or without ever having joined,
/// breaks the group.
int wait_for_all(const std::vector<int>& pids, OutsideView& group, std::vector<int>& statuses,
                 int grace_ms = -1) {
  struct Ends {
    explicit Ends(const std::vector<int>& processes) {
      for (int pid : processes) fds.push_back(os::open_pidfd(pid));
    }
    ~Ends() {
      for (int fd : fds)
        if (fd >= 0) close(fd);
    }
    std::vector<int> fds;
  };
  std::vector<int> running = pids;
  statuses.assign(pids.size(), 0);
  std::int64_t broken_since = 0;
  Ends ends(pids);
  int worst = 0;
  for (;;) {
    bool any_ended = false;
    int gone = -1;
    std::size_t left = 0;
    for (std::size_t r = 0; r < running.size(); ++r) {
      if (running[r] < 0) continue;
      int status = 0;
      const pid_t pid = waitpid(running[r], &status, WNOHANG);
      if (pid == 0 || (pid < 0 && errno == EINTR)) {
        ++left;
        continue;
      }
      any_ended = true;
      running[r] = -1;
      if (pid > 0) statuses[r] = status;
      if (ends.fds[r] >= 0) close(ends.fds[r]);
      ends.fds[r] = -1;
      // ECHILD: the program ignores SIGCHLD, so its children leave no status. The members' states
      // still tell.
      const std::string reason = pid < 0 ? std::string() : ending(status);
      const int rank = static_cast<int>(r);
      if (!reason.empty())
        group.break_group(rank, reason);
      else if (!group.joined(rank))
        group.break_group(rank, never_joined);
      else if (!group.left(rank) && group.pid(rank) == pids[r])
        gone = rank;
      if (pid >= 0 && WIFEXITED(status) && WEXITSTATUS(status) > worst) worst = WEXITSTATUS(status);
    }
    if (left == 0) return worst;
    // Its peers' watchers find that too, unless their memory was overwritten.
    if (gone >= 0) group.break_group(gone, OutsideView::died);
    if (any_ended) continue;
    const bool broken = group.broken();
    const int grace = grace_ms < 0 && group.overwritten() ? overwritten_grace_ms : grace_ms;
    if (grace >= 0 && broken) {
      const std::int64_t now = os::now_ns();
      if (broken_since == 0) broken_since = now;
      if (now - broken_since > static_cast<std::int64_t>(grace) * 1000000)
        for (const int pid : running)
          if (pid > 0) kill(pid, SIGKILL);
    }
    std::vector<int> awaited;
    for (std::size_t r = 0; r < running.size(); ++r)
      if (running[r] >= 0) awaited.push_back(ends.fds[r]);
    await_an_end(awaited);
  }
}

}  // namespace

os::SharedMemory ProcessGroup::create_memory(int ranks, const GroupOptions& options) {
  const Shape shape = shape_on_host(ranks, options.placement);
  check_options(options);
  const std::size_t heap_bytes = heap_bytes_here(options, ranks);
  const std::shared_ptr<const Tuning> tuning = load_tuning(tuning_source(options), TuningMode::processes);
  const std::string packed = tuning != nullptr ? pack_tuning(tuning->table) : std::string();
  const std::size_t tuning_at = GroupLayout::total(options.memory_limit, heap_bytes);
  os::SharedMemory shared = os::SharedMemory::create("phicoll-group", tuning_at + packed.size());
  // Pages that every rank touches without asking.
  shared.reserve(0, GroupLayout::region_offset());
  if (heap_bytes != 0) shared.reserve(GroupLayout::heap_offset(options.memory_limit), 1);
  GroupLayout::prepare(shared.data(), options.memory_limit, heap_bytes, options.calibrate_after_ms);
  if (!packed.empty()) {
    shared.reserve(tuning_at, packed.size());
    std::memcpy(static_cast<char*>(shared.data()) + tuning_at, packed.data(), packed.size());
  }
  Control& control = control_of(shared);
  control.configure(ranks, true, os::allowed_cpu_count(), options.timeout_ms * 1000000);
  ProcessHeader& header = header_of(shared);
  header.region_bytes = options.memory_limit;
  header.heap_bytes = heap_bytes;
  header.cross_copies = options.cross_copies ? 1 : 0;
  header.tuning_bytes = packed.size();
  header.tuning_cpus = os::allowed_cpu_count();
  header.host = stored_numbers();
  header.may_calibrate = may_calibrate(options, header.host) ? 1 : 0;
  header.ranks = ranks;
  header.attach_timeout_ms = options.attach_timeout_ms;
  for (int r = 0; r < ranks; ++r) {
    control.set_cpu(r, shape[r].cpu);
    header.members[r].place = shape[r];
    header.members[r].life.init();
  }
  decide_to_calibrate(header, control.crowded());
  header.magic = ProcessHeader::expected_magic;
  return shared;
}

/// Pins the calling thread to one CPU until the group ends: a program may go on afterwards, and make other
/// groups.
class ProcessGroup::Pin {
 public:
  explicit Pin(int cpu) : thread_(pthread_self()), before_(os::allowed_cpus()) { os::pin_this_thread(cpu); }
  ~Pin() {
    if (pthread_equal(thread_, pthread_self()) == 0) return;  // another thread's destructor: not its CPUs
    try {
      os::set_thread_cpus(before_);
    } catch (const Error&) {
      // The CPUs were taken from the program meanwhile.
    }
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  pthread_t thread_;
  std::vector<int> before_;
};

ProcessGroup::ProcessGroup(os::SharedMemory memory, int rank, const WaitPolicy& wait)
    : kept_(std::make_shared<os::SharedMemory>(std::move(memory))), memory_(*kept_), rank_(rank) {
  if (!holds_group(memory_))
    throw ArgumentError("descriptor", "memory that is not a group's",
                        "what ProcessGroup::create_memory made");
  const int ranks = header_of(memory_).ranks;
  if (rank < 0 || rank >= ranks)
    throw ArgumentError("rank", std::to_string(rank), "0.." + std::to_string(ranks - 1));
  outside_.reset(new OutsideView(memory_.data(), ranks));
  os::register_membarrier();
  claim();
  try {
    enter(wait);
  } catch (const std::exception& error) {
    // The others need not wait for this rank until their attach_timeout. (Without effect if they
    // broke the group.)
    control_of(memory_).break_group(rank, error.what());
    throw;
  }
}

void ProcessGroup::watch_and_pin() {
  ProcessHeader& header = header_of(memory_);
  watcher_.reset(new Watcher(control_of(memory_), *outside_, rank_));  // before pinning: it may run anywhere
  const CpuLocation place = header.members[rank_].place;
  if (place.cpu >= 0 && header.places_announced == 0) pin_.reset(new Pin(place.cpu));
}

/// From a claimed rank to a communicator.
void ProcessGroup::enter(const WaitPolicy& wait) {
  watch_and_pin();
  CrossCopyTrial trial(header_of(memory_), rank_);
  announce_place();
  wait_until_complete();
  try_cross_copies(trial);
  const ProcessHeader& header = header_of(memory_);
  communicator_.reset(new Communicator(memory_of(memory_, header.region_bytes, header.heap_bytes), rank_,
                                       shape_of(memory_, control_of(memory_).crowded()), wait));
}

ProcessGroup::~ProcessGroup() {
  if (!home_.here()) {
    // A process that the rank forked: its threads are not here to be joined, and its place is not given up.
    static_cast<void>(watcher_.release());
    static_cast<void>(server_.release());
    return;
  }
  // A rank that never got to its communicator leaves the group incomplete, and one that unwinds leaves it
  // broken.
  Control& control = control_of(memory_);
  if (claimed_ && std::uncaught_exception()) control.break_group(rank_, "raised an exception");
  communicator_.reset();
  leave();
}

void ProcessGroup::leave() {
  if (claimed_)
    header_of(memory_).members[rank_].state.atomic().store(ProcessHeader::left, std::memory_order_release);
  watcher_.reset();
}

void ProcessGroup::pause() {
  leave();
  pin_.reset();
}

void ProcessGroup::resume() {
  ProcessHeader::Member& member = header_of(memory_).members[rank_];
  member.life.renew();
  member.state.atomic().store(ProcessHeader::attached, std::memory_order_release);
  watch_and_pin();
}

Communicator& ProcessGroup::communicator() {
  return *communicator_;
}

void ProcessGroup::fail(const std::string& reason) {
  communicator_->fail(reason);
}

void ProcessGroup::claim() {
  ProcessHeader::Member& member = header_of(memory_).members[rank_];
  // Takes the rank by storing the pid. Whoever sees that knows which process to watch for its death.
  std::uint32_t nobody = 0;
  if (!member.pid.atomic().compare_exchange_strong(nobody, static_cast<std::uint32_t>(getpid()),
                                                   std::memory_order_acq_rel))
    throw ArgumentError("rank", std::to_string(rank_) + ", which another process has",
                        "a rank that is still free");
  claimed_ = true;
  // Before this rank counts as attached, a release; for those that have seen all attached.
  control_of(memory_).set_pid(rank_, getpid());
  member.state.atomic().store(ProcessHeader::claimed, std::memory_order_release);
}

// Programs that attach may each have CPUs of their own: a launcher of MPI programs pins each rank. The last
// that announces decides, before it counts as attached.
void ProcessGroup::announce_place() {
  ProcessHeader& header = header_of(memory_);
  if (header.places_announced == 0) return;
  const std::vector<int> own = os::allowed_cpus();
  if (own.size() == 1) header.members[rank_].place = shape_on_host(1, std::to_string(own[0]))[0];
  for (const int cpu : own)
    if (cpu < ProcessHeader::most_cpus)
      header.usable_cpus[cpu / 64].atomic().fetch_or(std::uint64_t{1} << (cpu % 64),
                                                     std::memory_order_relaxed);
  const auto before = header.announced_count.atomic().fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 != static_cast<std::uint32_t>(header.ranks)) return;
  int usable = 0;
  for (const Word<std::uint64_t>& cpus : header.usable_cpus)
    usable += __builtin_popcountll(cpus.atomic().load(std::memory_order_relaxed));
  bool placed = true;
  for (int r = 0; r < header.ranks; ++r) placed = placed && header.members[r].place.cpu >= 0;
  header.tuning_cpus = os::cpus_at_once(usable);
  Control& control = control_of(memory_);
  control.configure(header.ranks, true, header.tuning_cpus, control.timeout_ns());
  for (int r = 0; r < header.ranks; ++r) {
    if (!placed) header.members[r].place = CpuLocation();
    control.set_cpu(r, header.members[r].place.cpu);
  }
  decide_to_calibrate(header, control.crowded());
}

void ProcessGroup::wait_until_complete() {
  ProcessHeader& header = header_of(memory_);
  Control& control = control_of(memory_);
  header.members[rank_].state.atomic().store(ProcessHeader::attached, std::memory_order_release);
  std::atomic<std::uint32_t>& count = header.attached_count.atomic();
  count.fetch_add(1, std::memory_order_acq_rel);
  os::futex_wake(&count, INT_MAX, true);
  const std::int64_t deadline = os::now_ns() + header.attach_timeout_ms * 1000000;
  for (;;) {
    const std::uint32_t there = count.load(std::memory_order_acquire);
    if (there >= static_cast<std::uint32_t>(header.ranks)) return;
    if (!control.broken() && os::now_ns() >= deadline) {
      int first = -1;
      const std::string missing = missing_ranks(*outside_, &first);
      if (first >= 0) {
        const std::string reason = "did not attach within " + std::to_string(header.attach_timeout_ms) +
                                   " ms; missing ranks: " + missing;
        control.break_group(first, reason.c_str());
      }
    }
    control.check_broken(rank_);
    if (os::futex_wait(&count, there, 50 * 1000000, true) == ETIMEDOUT) look_after_missing(*outside_, rank_);
  }
}

/// Every rank leaves with the same answer, once all have tried.
void ProcessGroup::try_cross_copies(CrossCopyTrial& trial) {
  ProcessHeader& header = header_of(memory_);
  Control& control = control_of(memory_);
  if (header.cross_copies == 0) {
    trial.finished();  // no pair tries
    return;
  }
  std::atomic<std::uint32_t>& tried = header.tried.atomic();
  if (trial.try_all(control)) {
    control.set_cross_copies(header.cross_copies_failed.atomic().load(std::memory_order_relaxed) == 0);
    // Release: a process that sees the word sees the answer.
    tried.store(1, std::memory_order_release);
    os::futex_wake(&tried, INT_MAX, true);
  }
  const std::int64_t deadline = os::now_ns() + header.attach_timeout_ms * 1000000;
  while (tried.load(std::memory_order_acquire) == 0) {
    // A rank that died broke the group, by its watcher.
    control.check_broken(rank_);
    if (os::now_ns() >= deadline)
      control.break_group(rank_, "waited longer than attach_timeout for ranks that had attached");
    os::futex_wait(&tried, 0, 50 * 1000000, true);
  }
  trial.finished();
}

std::unique_ptr<ProcessGroup> ProcessGroup::join(int descriptor, int rank, const WaitPolicy& wait) {
  // It is this process's from now on: programs that it starts do not inherit it.
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return std::unique_ptr<ProcessGroup>(
      new ProcessGroup(os::SharedMemory::from_descriptor(descriptor, 0), rank, wait));
}

std::unique_ptr<ProcessGroup> ProcessGroup::from_environment(const WaitPolicy& wait) {
  const int rank = environment_number(rank_variable);
  return join(environment_number(descriptor_variable), rank, wait);
}

/// A process's own table must be the group's; a process without one takes the group's.
void ProcessGroup::check_same_tuning(const os::SharedMemory& memory, const GroupOptions& options) {
  const TuningSource source = tuning_source(options);
  if (source.path.empty()) return;
  const TuningTable own = TuningTable::read(source.path);
  const ProcessHeader& header = header_of(memory);
  const std::string given = "'" + source.path + "', digest " + own.digest();
  if (header.tuning_bytes == 0)
    throw ArgumentError("tuning", given, "none, as the group was made with none; all ranks give the same");
  const std::shared_ptr<const Tuning> theirs = unpack_tuning(packed_tuning(memory), header.tuning_cpus);
  if (own.text() != theirs->table.text())
    throw ArgumentError("tuning", given,
                        "the group's: '" + theirs->table.name() + "', digest " + theirs->table.digest());
}

std::unique_ptr<ProcessGroup> ProcessGroup::attach(const std::string& name, int size, int rank,
                                                   const GroupOptions& options) {
  check_ranks(size);
  if (rank < 0 || rank >= size)
    throw ArgumentError("rank", std::to_string(rank), "0.." + std::to_string(size - 1));
  std::unique_ptr<NameServer> server;
  const auto create = [&] {
    os::SharedMemory made = create_memory(size, options);
    GroupLayout::header_at(made.data())->places_announced = options.placement.empty() ? 1 : 0;
    return made;
  };
  os::SharedMemory memory =
      NameServer::find_or_serve(name, size, rank, options.attach_timeout_ms, create, server);
  check_same_tuning(memory, options);
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(std::move(memory), rank, options.wait));
  group->server_ = std::move(server);
  return group;
}

void fork_and_run(int ranks, const GroupOptions& options,
                  const std::function<void(Communicator&)>& function) {
  os::SharedMemory memory = ProcessGroup::create_memory(ranks, options);
  header_of(memory).launcher_pid = static_cast<std::int32_t>(getpid());
  OutsideView outside(memory.data(), ranks);
  std::vector<int> pids;
  pids.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const pid_t pid = fork();
    if (pid < 0) {
      const std::string reason = "could not start rank " + std::to_string(r) + ": " + std::strerror(errno);
      outside.break_group(r, reason);
      break;
    }
    if (pid == 0) {
      int status = 0;
      // Outlives the exception, whose text is the reason that the others see.
      std::unique_ptr<ProcessGroup> group;
      try {
        group = ProcessGroup::join(fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 3), r, options.wait);
        function(group->communicator());
        group.reset();
      } catch (const std::exception& error) {
        outside.break_group(r, error.what());
        status = 1;
      } catch (...) {
        outside.break_group(r, "raised something that is not an exception");
        status = 1;
      }
      group.reset();  // ends the watcher where the function failed
      // Not exit(): the parent's buffers and destructors are not this process's to run.
      _exit(status);
    }
    outside.note_started(r, pid);
    pids.push_back(static_cast<int>(pid));
  }
  std::vector<int> statuses;
  wait_for_all(pids, outside, statuses);
  outside.throw_if_broken();
}

Launcher::Launcher(const std::vector<std::string>& command, int ranks, const GroupOptions& options,
                   const std::function<void(int)>& in_child) {
  if (command.empty()) throw ArgumentError("command", "nothing", "a program and its arguments");
  memory_ = ProcessGroup::create_memory(ranks, options);
  header_of(memory_).launcher_pid = static_cast<std::int32_t>(getpid());
  outside_.reset(new OutsideView(memory_.data(), ranks));
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // All that allocates is done before the fork: this process may have other threads, one of which may hold
  // the heap's lock.
  pids_.reserve(static_cast<std::size_t>(ranks));
  const std::string own[] = {descriptor_variable + std::string("=") + std::to_string(memory_.descriptor()),
                             rank_variable + std::string("=")};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable(*entry);
    const auto names = [&](const char* name) {
      return variable.compare(0, std::strlen(name) + 1, std::string(name) + "=") == 0;
    };
    if (!names(descriptor_variable) && !names(rank_variable)) environment.push_back(*entry);
  }
  environment.push_back(const_cast<char*>(own[0].c_str()));
  environment.resize(environment.size() + 2, nullptr);
  for (int r = 0; r < ranks; ++r) {
    const std::string rank = own[1] + std::to_string(r);
    environment[environment.size() - 2] = const_cast<char*>(rank.c_str());
    const pid_t pid = fork();
    if (pid < 0) {
      const int error = errno;
      end_all();
      throw ResourceError(std::string("could not start rank ") + std::to_string(r) + ": " +
                          std::strerror(error));
    }
    if (pid == 0) {
      fcntl(memory_.descriptor(), F_SETFD, 0);  // this child's copy stays open
      if (in_child) in_child(r);
      execvpe(argv[0], argv.data(), environment.data());
      const std::string reason = std::string("could not start ") + command[0] + ": " + std::strerror(errno);
      outside_->break_group(r, reason);
      _exit(127);
    }
    outside_->note_started(r, pid);
    pids_.push_back(static_cast<int>(pid));
  }
}

void Launcher::end_all() {
  for (int pid : pids_) kill(pid, SIGKILL);
  for (int pid : pids_)
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  pids_.clear();
}

Launcher::~Launcher() {
  end_all();
}

int Launcher::wait(int grace_ms) {
  const int worst = wait_for_all(pids_, *outside_, statuses_, grace_ms);
  pids_.clear();
  outside_->throw_if_broken();
  return worst;
}

}  // namespace phicoll
