#include "phicoll/group/profile.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "phicoll/os/clock.hpp"

namespace phicoll {

namespace {

/// What Python reads (phicoll/explaining/call_logs.py), in this machine's byte order.
struct WatchedCall {
  std::uint64_t entered;  ///< ticks; 0: no call
  std::uint64_t left;
  std::uint64_t bytes;  ///< of the count argument
};
struct WatchedHeader {
  char magic[16];
  double ns_per_tick;
  std::uint64_t communicator;  ///< its place in the group's memory
  std::int32_t rank, size, process, shared;
  std::uint64_t most;  ///< calls that fit; of more there are only sums
  std::uint64_t more_calls, more_ticks, more_bytes;
  char group[64];
  char operation[32];
  char algorithm[448];
};
static_assert(sizeof(WatchedHeader) == 624 && sizeof(WatchedCall) == 24, "as Python reads it");

constexpr std::size_t header_bytes = 4096;
constexpr std::uint64_t most_calls = std::uint64_t{1} << 20;
constexpr std::size_t file_bytes = header_bytes + most_calls * sizeof(WatchedCall);

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

/// All ranks' clock. Without the gaps of NativePort::ticks(), which would cost as much as the stamp: a stamp
/// may lie some tens of cycles off.
inline std::uint64_t stamp(bool by_cycles) {
  return __builtin_expect(by_cycles, 1) ? arch::cycles() : static_cast<std::uint64_t>(os::now_ns());
}

/// A rank's calls of one algorithm, in a mapped file, which stays however the process ends. Pages are taken
/// as calls fill them.
class CallLog {
 public:
  static std::unique_ptr<CallLog> make(const char* folder) {
    static std::atomic<unsigned> made{0};
    const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + "-" +
                             std::to_string(made.fetch_add(1, std::memory_order_relaxed)) + ".calls";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    void* memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, static_cast<off_t>(file_bytes)) == 0)
      memory = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    if (file >= 0) close(file);
    if (memory != MAP_FAILED)
      return std::unique_ptr<CallLog>(new CallLog(static_cast<unsigned char*>(memory)));
    static std::atomic<bool> told{false};
    if (!told.exchange(true, std::memory_order_relaxed))
      std::fprintf(stderr, "phicoll: profile: %s: %s; calls are not watched\n", path.c_str(),
                   std::strerror(error));
    return nullptr;
  }
  ~CallLog() { munmap(memory_, file_bytes); }
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  WatchedHeader& header() const { return *reinterpret_cast<WatchedHeader*>(memory_); }
  void note(std::uint64_t entered, std::uint64_t left, std::uint64_t bytes) {
    if (__builtin_expect(next_ != end_, 1) || has_room()) {
      *next_++ = WatchedCall{entered, left, bytes};
      return;
    }
    WatchedHeader& sums = header();
    ++sums.more_calls;
    sums.more_ticks += left - entered;
    sums.more_bytes += bytes;
  }

 private:
  explicit CallLog(unsigned char* memory)
      : memory_(memory), next_(reinterpret_cast<WatchedCall*>(memory + header_bytes)), end_(next_) {
    has_room();
  }
  /// Takes pages for more calls, many at once: page by page they would cost as much as the clock.
  [[gnu::noinline, gnu::cold]] bool has_room() {
    constexpr std::ptrdiff_t piece = 8192;  // calls: whole pages
    if (end_ == last_) return false;
#if defined(MADV_POPULATE_WRITE)
    // Before Linux 5.14 stores take the pages. Where there are none left they would end the program.
    if (madvise(end_, piece * sizeof(WatchedCall), MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
      last_ = end_;
      return false;
    }
#endif
    end_ += piece;
    return true;
  }
  unsigned char* memory_;
  WatchedCall* next_;
  WatchedCall* end_;   // of the pages taken
  WatchedCall* last_;  // of the file, or of what there was room for
};

/// An algorithm with a clock around its calls. A call that throws is not noted, nor is one that is begun and
/// completed in two parts.
class Watched final : public AnyCollective<NativePort> {
 public:
  Watched(std::unique_ptr<AnyCollective<NativePort>> algorithm, std::unique_ptr<CallLog> log)
      : AnyCollective(
            [](AnyCollective& self, NativePort& port, const Call& call) {
              Watched& own = of(self);
              const std::uint64_t entered = stamp(own.by_cycles_);
              (*own.algorithm_)(port, call);
              own.log_->note(entered, stamp(own.by_cycles_), call.bytes());
            },
            algorithm->bare() == nullptr ? nullptr : Bare([](AnyCollective& self, NativePort& port) {
              Watched& own = of(self);
              const std::uint64_t entered = stamp(own.by_cycles_);
              own.bare_(*own.algorithm_, port);
              own.log_->note(entered, stamp(own.by_cycles_), 0);
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
        by_cycles_(os::cycle_counter_is_clock()) {
    name_first_line(algorithm_->first_line());
  }

 private:
  static Watched& of(AnyCollective& self) { return static_cast<Watched&>(self); }

  std::unique_ptr<AnyCollective<NativePort>> algorithm_;
  Bare bare_;
  std::unique_ptr<CallLog> log_;
  bool by_cycles_;
};

}  // namespace

std::unique_ptr<AnyCollective<NativePort>> watched(std::unique_ptr<AnyCollective<NativePort>> algorithm,
                                                   Operation operation, const AlgorithmSpec& spec,
                                                   const Control& control, int rank, int size) {
  const char* const folder = std::getenv("PHICOLL_PROFILE");
  if (folder == nullptr || folder[0] == 0) return algorithm;
  std::unique_ptr<CallLog> log = CallLog::make(folder);
  if (!log) return algorithm;
  WatchedHeader& header = log->header();
  std::memcpy(header.magic, "phicoll-calls-1", sizeof header.magic);
  header.ns_per_tick = os::ns_per_tick();
  header.communicator = control.offset_of(&control);
  header.rank = rank;
  header.size = size;
  header.process = static_cast<std::int32_t>(getpid());
  header.shared = control.root().shared() ? 1 : 0;
  header.most = most_calls;
  copy_text(header.group, sizeof header.group, name_of_group(control.root(), header.shared != 0));
  copy_text(header.operation, sizeof header.operation, to_string(operation));
  copy_text(header.algorithm, sizeof header.algorithm, spec.text());
  return std::unique_ptr<AnyCollective<NativePort>>(new Watched(std::move(algorithm), std::move(log)));
}

}  // namespace phicoll
