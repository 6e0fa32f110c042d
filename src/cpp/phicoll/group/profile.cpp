#include "phicoll/group/profile.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "phicoll/os/clock.hpp"
#include "phicoll/os/environment.hpp"

namespace phicoll {

struct CallLog::Header {
  char magic[16];
  double ns_per_tick;
  std::uint64_t communicator;                        ///< its place in the group's memory
  std::int32_t rank, size, host, shared;             ///< the host: 0 where the folder is
  std::uint64_t most;                                ///< records that fit; of more calls there are only sums
  std::uint64_t more_calls, more_timed, more_ticks;  ///< ticks are those of the timed
  char group[64];
  char operation[32];
  char algorithm[448];
};

namespace {

/// The logs of a process on another host than the folder.
struct InMemory {
  bool wanted = false;  // set before any is made
  std::mutex lock;
  std::vector<unsigned char*> logs;
};
InMemory& in_memory() {
  static InMemory* const all = new InMemory;  // never destroyed: logs may end after static objects
  return *all;
}

}  // namespace

const char* profile_folder() {
  const char* const folder = os::environment("PHICOLL_PROFILE");
  return !in_memory().wanted && folder != nullptr && folder[0] != 0 ? folder : nullptr;
}
bool calls_are_watched() {
  return in_memory().wanted || profile_folder() != nullptr;
}

namespace {

constexpr std::size_t header_bytes = 4096;
constexpr std::uint64_t most_records = std::uint64_t{1} << 20;
constexpr std::size_t record_bytes = 24;
constexpr std::size_t file_bytes = header_bytes + most_records * record_bytes;
/// Beside such a call the clock is nothing.
constexpr double long_call_ns = 2000;

/// What tells groups apart and is the same on all ranks: the file that backs the memory of processes, or the
/// process and address of threads' memory.
std::string name_of_group(const Control& root, bool shared) {
  char text[64];
  std::snprintf(text, sizeof text, "%d:%p", static_cast<int>(getpid()), static_cast<const void*>(&root));
  if (!shared) return text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  if (!maps) return text;
  const auto at = reinterpret_cast<std::uintptr_t>(&root);
  char line[512];
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    unsigned long from = 0, to = 0, inode = 0;
    char device[16];
    if (std::sscanf(line, "%lx-%lx %*s %*s %15s %lu", &from, &to, device, &inode) != 4) continue;
    if (at < from || at >= to) continue;
    std::snprintf(text, sizeof text, "%s:%lu", device, inode);
    break;
  }
  return text;
}

void copy_text(char* to, std::size_t bytes, const std::string& text) {
  std::snprintf(to, bytes, "%s", text.c_str());
}

bool asked_every() {
  const char* const wanted = std::getenv("PHICOLL_PROFILE_EVERY");
  return wanted != nullptr && std::strcmp(wanted, "1") == 0;
}

/// A new file's memory; null if there is none, which a line on standard error says once.
void* map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(file_bytes)) == 0)
    memory = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (file >= 0) {
    close(file);
    if (memory == MAP_FAILED) unlink(path.c_str());
  }
  if (memory != MAP_FAILED) return memory;
  static std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed))
    std::fprintf(stderr, "phicoll: profile: %s: %s; calls are not watched\n", path.c_str(),
                 std::strerror(error));
  return nullptr;
}

/// The same amount of memory without a file; null if there is none.
void* map_memory() {
  void* const memory =
      mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

void* take_memory() {
  void* const memory = map_memory();
  if (memory == nullptr) return nullptr;
  const std::lock_guard<std::mutex> locked(in_memory().lock);
  in_memory().logs.push_back(static_cast<unsigned char*>(memory));
  return memory;
}

/// Where a process's log with this number is.
std::string path_of(long process, unsigned number) {
  return std::string(profile_folder()) + "/" + std::to_string(process) + "-" + std::to_string(number) +
         ".calls";
}

std::string next_path() {
  static std::atomic<unsigned> made{0};
  return path_of(getpid(), made.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

std::unique_ptr<CallLog> CallLog::make(const LogTitle& title) {
  static_assert(sizeof(Header) == 624 && sizeof(Record) == record_bytes, "as Python reads it");
  if (!calls_are_watched()) return nullptr;
  void* const memory = in_memory().wanted ? take_memory() : map_file(next_path());
  if (memory == nullptr) return nullptr;
  std::unique_ptr<CallLog> log(new CallLog(static_cast<unsigned char*>(memory)));
  Header& header = *static_cast<Header*>(memory);
  header.ns_per_tick = os::ns_per_tick();
  header.communicator = title.communicator;
  header.rank = title.rank;
  header.size = title.size;
  header.shared = title.shared ? 1 : 0;
  header.most = most_records;
  copy_text(header.group, sizeof header.group, title.group);
  copy_text(header.operation, sizeof header.operation, title.operation);
  copy_text(header.algorithm, sizeof header.algorithm, title.algorithm);
  std::memcpy(header.magic, "phicoll-calls-3", sizeof header.magic);
  return log;
}

/// Held over a fork, so that the child finds it whole.
struct CallLog::Live {
  Live() {
    pthread_atfork([] { live().lock.lock(); }, [] { live().lock.unlock(); },
                   [] {
                     for (CallLog* const log : live().logs) log->begin_anew();
                     live().lock.unlock();
                   });
  }
  std::mutex lock;
  std::vector<CallLog*> logs;
};

CallLog::Live& CallLog::live() {
  static Live* const all = new Live;  // never destroyed: logs may end after static objects
  return *all;
}

CallLog::CallLog(unsigned char* memory)
    : memory_(memory),
      next_(reinterpret_cast<Record*>(memory + header_bytes)),
      end_(next_),
      last_(next_ + most_records),
      long_call_(static_cast<std::uint64_t>(long_call_ns / os::ns_per_tick())),
      by_cycles_(os::cycle_counter_is_clock()),
      every_(asked_every()) {
  has_room();
  const std::lock_guard<std::mutex> locked(live().lock);
  live().logs.push_back(this);
}

// Called in a forked child: the file is the parent's.
void CallLog::begin_anew() {
  if (in_memory().wanted) return;  // the child's own copy, which nobody gets
  next_ = end_ = last_ = nullptr;
  untimed_ = nullptr;
  for (Sampled& one : sampled_) one = Sampled{};
  forked_ = true;
}

/// At the child's first call.
bool CallLog::renew() {
  forked_ = false;
  Header header = *reinterpret_cast<const Header*>(memory_);
  // Ranks that are processes make no calls in a child, and what it writes is lost.
  void* memory = header.shared == 0 ? map_file(next_path()) : nullptr;
  if (memory == nullptr) memory = map_memory();
  if (memory == nullptr) std::abort();
  const std::string group = header.group;
  copy_text(header.group, sizeof header.group, std::to_string(getpid()) + group.substr(group.find(':')));
  header.more_calls = header.more_timed = header.more_ticks = 0;
  munmap(memory_, file_bytes);
  memory_ = static_cast<unsigned char*>(memory);
  *static_cast<Header*>(memory) = header;
  next_ = end_ = reinterpret_cast<Record*>(memory_ + header_bytes);
  last_ = next_ + most_records;
  return has_room();
}

CallLog::~CallLog() {
  {
    const std::lock_guard<std::mutex> locked(live().lock);
    std::vector<CallLog*>& logs = live().logs;
    logs.erase(std::find(logs.begin(), logs.end(), this));
  }
  if (!in_memory().wanted) munmap(memory_, file_bytes);
}

void CallLog::stay_in_memory() {
  in_memory().wanted = true;
}

CallLog::Kept CallLog::kept(std::size_t number) {
  const std::lock_guard<std::mutex> locked(in_memory().lock);
  if (number >= in_memory().logs.size()) return {nullptr, 0};
  const unsigned char* const memory = in_memory().logs[number];
  const Record* const first = reinterpret_cast<const Record*>(memory + header_bytes);
  const Record* last = first;
  while (last != first + most_records && last->entered != 0) ++last;
  return {memory, header_bytes + static_cast<std::size_t>(last - first) * sizeof(Record)};
}

void CallLog::write(const Kept& log, int rank, unsigned number, int host) {
  constexpr long no_process = 1 << 23;  // above all of this host's
  Header header;
  std::memcpy(&header, log.data, sizeof header);
  header.host = host;
  void* const memory = map_file(path_of(no_process + rank, number));
  if (memory == nullptr) return;
  std::memcpy(memory, log.data, log.bytes);
  std::memcpy(memory, &header, sizeof header);
  munmap(memory, file_bytes);
}

std::uint64_t CallLog::by_clock() {
  return static_cast<std::uint64_t>(os::now_ns());
}

/// Takes pages for more records, many at once: page by page they would cost as much as the clock.
[[gnu::noinline, gnu::cold]] bool CallLog::has_room() {
  constexpr std::ptrdiff_t piece = 8192;  // records: whole pages
  if (forked_) return renew();
  if (end_ == last_) return false;
#if defined(MADV_POPULATE_WRITE)
  // Before Linux 5.14 stores take the pages. Where there are none left they would end the program.
  if (madvise(end_, piece * sizeof(Record), MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    last_ = end_;
    return false;
  }
#endif
  end_ += piece;
  return true;
}

[[gnu::noinline, gnu::cold]] void CallLog::sum(std::uint64_t entered, std::uint64_t left) {
  Header& sums = *reinterpret_cast<Header*>(memory_);
  ++sums.more_calls;
  if (left != 0) {
    ++sums.more_timed;
    sums.more_ticks += left - entered;
  }
}

namespace {

/// An algorithm with a clock around its calls. A call that is begun and completed in two parts is not noted.
class Watched final : public AnyCollective<NativePort> {
 public:
  Watched(std::unique_ptr<AnyCollective<NativePort>> algorithm, std::unique_ptr<CallLog> log, int mean_of)
      : AnyCollective(
            [](AnyCollective& self, NativePort& port, const Call& call) {
              Watched& own = of(self);
              const std::uint64_t what =
                  CallLog::what(bytes_of(call, own.mean_of_), call.vector, call.exclusive);
              const std::uint64_t entered = own.log_->enter(what);
              (*own.algorithm_)(port, call);
              own.log_->leave(entered, what);
            },
            algorithm->bare() == nullptr ? nullptr : Bare([](AnyCollective& self, NativePort& port) {
              Watched& own = of(self);
              const std::uint64_t entered = own.log_->enter(0);
              own.bare_(*own.algorithm_, port);
              own.log_->leave(entered, 0);
            }),
            [](AnyCollective& self, NativePort& port, const Call& call) {
              return of(self).algorithm_->start(port, call);
            },
            [](AnyCollective& self, NativePort& port, const Call& call) {
              of(self).algorithm_->complete(port, call);
            }),
        algorithm_(std::move(algorithm)),
        bare_(algorithm_->bare()),
        log_(std::move(log)),
        mean_of_(mean_of) {
    name_first_line(algorithm_->first_line());
  }

 private:
  /// A call with counts has the bytes of this rank's block or, if `mean_of` is not 0, the mean of that many
  /// blocks, as the log of an MPI's calls has (preload/mpi/calls.cpp).
  static std::uint64_t bytes_of(const Call& call, int mean_of) {
    if (mean_of == 0 || call.blocks == nullptr) return call.bytes();
    std::uint64_t all = 0;
    for (int i = 0; i < mean_of; ++i) all += call.blocks->counts[i];
    const std::uint64_t mean = all / static_cast<std::uint64_t>(mean_of);
    return call.op.element_bytes != 0 ? mean * call.op.element_bytes : mean;
  }
  static Watched& of(AnyCollective& self) { return static_cast<Watched&>(self); }

  std::unique_ptr<AnyCollective<NativePort>> algorithm_;
  Bare bare_;
  std::unique_ptr<CallLog> log_;
  int mean_of_;
};

}  // namespace

std::unique_ptr<AnyCollective<NativePort>> watched(std::unique_ptr<AnyCollective<NativePort>> algorithm,
                                                   Operation operation, const AlgorithmSpec& spec,
                                                   const Control& control, int rank, int size) {
  if (!calls_are_watched()) return algorithm;
  const bool shared = control.root().shared();
  std::unique_ptr<CallLog> log =
      CallLog::make({name_of_group(control.root(), shared).c_str(), control.offset_of(&control), rank, size,
                     shared, to_string(operation), spec.text().c_str()});
  if (!log) return algorithm;
  const bool mean = operation == Operation::alltoall || operation == Operation::reduce_scatter;
  return std::unique_ptr<AnyCollective<NativePort>>(
      new Watched(std::move(algorithm), std::move(log), mean ? size : 0));
}

}  // namespace phicoll
