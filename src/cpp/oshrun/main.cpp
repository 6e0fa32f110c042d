// oshrun: starts an OpenSHMEM program as PEs of one group, on this machine.

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/group/heap.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/descriptor.hpp"
#include "phicoll/shmem/settings.hpp"

namespace {

using phicoll::ArgumentError;

// As of Python's launcher.
constexpr int bad_input = 2;
constexpr int broken = 3;
constexpr int interrupted = 130;
// How long PEs may take to end by themselves once one has failed.
constexpr int grace_ms = 500;
// Of each PE's symmetric heap, unless SHMEM_SYMMETRIC_SIZE says otherwise; and what each has besides, for
// teams.
constexpr std::size_t usual_heap = std::size_t{256} << 20;
constexpr std::size_t spare = std::size_t{32} << 20;

constexpr const char* usage =
    "usage: oshrun [-n PES] [options] PROGRAM [ARGUMENTS]\n"
    "\n"
    "  -n, -np PES        how many PEs (default: the CPUs that may be used)\n"
    "  -l, --label        write the PE's number before each line of output\n"
    "  --placement WHERE  pin PEs: compact, scatter, balanced, or CPUs such as 0,2,4-7\n"
    "  --wait HOW         how PEs wait: adaptive (default), spin, pause, pause(n) or yield\n"
    "  --timeout SECONDS  end a wait that takes longer\n"
    "  --heap BYTES       memory of all PEs together, symmetric heaps, their globals and teams; k, m, g, t\n"
    "  -h, --help         this\n"
    "\n"
    "SHMEM_SYMMETRIC_SIZE sets the size of each PE's symmetric heap. The exit status is that of the PE that "
    "failed first.\n";

struct Given {
  int pes = 0;
  bool label = false;
  std::string heap;
  phicoll::GroupOptions options;
  std::vector<std::string> command;
};

int number(const std::string& option, const std::string& text, int most) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > most)
    throw ArgumentError(option, "'" + text + "'", "1.." + std::to_string(most));
  return static_cast<int>(value);
}

Given parse(int argc, char** argv) {
  Given given;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    std::string option = argv[at], value;
    const std::size_t equals = option.find('=');
    const bool joined = option.compare(0, 2, "--") == 0 && equals != std::string::npos;
    if (joined) {
      value = option.substr(equals + 1);
      option.resize(equals);
    }
    const auto take = [&]() -> const std::string& {
      if (joined) return value;
      if (at + 1 >= argc) throw ArgumentError(option, "nothing", "a value after it");
      return value = argv[++at];
    };
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "-n" || option == "-np" || option == "--np") {
      given.pes = number(option, take(), phicoll::max_ranks);
    } else if (option == "-l" || option == "--label") {
      given.label = true;
    } else if (option == "--placement") {
      given.options.placement = take();
    } else if (option == "--wait") {
      given.options.wait = phicoll::parse_wait_policy(take());
    } else if (option == "--timeout") {
      given.options.timeout_ms = 1000LL * number(option, take(), INT_MAX / 1000);
    } else if (option == "--heap") {
      given.heap = take();
    } else if (option == "-h" || option == "--help") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (option == "--hostfile" || option == "-hostfile" || option == "--host" || option == "-H" ||
               option == "--machinefile") {
      throw ArgumentError(option, take(), "no hosts: phicoll's PEs are processes of this machine");
    } else {
      throw ArgumentError("option", "'" + option + "'", "what oshrun --help lists");
    }
  }
  given.command.assign(argv + at, argv + argc);
  if (given.command.empty()) throw ArgumentError("program", "none", "a program after the options");
  if (given.pes == 0) given.pes = std::min(phicoll::os::allowed_cpu_count(), phicoll::max_ranks);
  return given;
}

/// Bytes of the program's writable segments; 0 for what is no ELF program, a script say.
std::size_t data_bytes(const std::string& program) {
  const int file = open(program.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  Elf64_Ehdr header;
  std::size_t bytes = 0;
  if (pread(file, &header, sizeof header, 0) == sizeof header &&
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      const auto at = static_cast<off_t>(header.e_phoff + static_cast<std::size_t>(i) * sizeof part);
      if (pread(file, &part, sizeof part, at) != sizeof part) break;
      if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0) bytes += part.p_memsz + 2 * 4096;
    }
  close(file);
  return bytes;
}

std::size_t group_heap(const Given& given) {
  if (!given.heap.empty()) return phicoll::shmem::parse_bytes("--heap", given.heap);
  const std::size_t asked = phicoll::shmem::symmetric_size();
  const std::size_t each =
      phicoll::Heap::footprint(asked != 0 ? asked : usual_heap) + data_bytes(given.command[0]) + spare;
  // An eighth stays for teams (World::share_memory).
  return static_cast<std::size_t>(given.pes) * each / 7 * 8;
}

/// The PEs' output, line by line, each with its PE's number. The thread ends when all pipes are closed.
class Labels {
 public:
  explicit Labels(int pes) {
    for (int i = 0; i < 2 * pes; ++i) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0)
        throw phicoll::ResourceError(std::string("no pipe for output: ") + std::strerror(errno));
      from_.push_back({ends[0], POLLIN, 0});
      to_.push_back(ends[1]);
    }
    lines_.resize(from_.size());
  }
  void in_child(int pe) const {
    dup2(to_[static_cast<std::size_t>(2 * pe)], STDOUT_FILENO);
    dup2(to_[static_cast<std::size_t>(2 * pe + 1)], STDERR_FILENO);
  }
  void start() {
    for (const int end : to_) close(end);
    thread_ = std::thread([this] { forward(); });
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void forward() {
    std::size_t open = from_.size();
    while (open != 0) {
      if (poll(from_.data(), from_.size(), -1) < 0) continue;
      for (std::size_t i = 0; i < from_.size(); ++i) {
        if (from_[i].fd < 0 || from_[i].revents == 0) continue;
        char bytes[4096];
        const ssize_t got = read(from_[i].fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got > 0) lines_[i].append(bytes, static_cast<std::size_t>(got));
        if (got <= 0) {
          close(from_[i].fd);
          from_[i].fd = -1;
          --open;
          if (!lines_[i].empty()) lines_[i] += '\n';
        }
        write_lines(i);
      }
    }
  }
  void write_lines(std::size_t i) {
    std::FILE* const out = i % 2 == 0 ? stdout : stderr;
    for (std::size_t end; (end = lines_[i].find('\n')) != std::string::npos; lines_[i].erase(0, end + 1))
      std::fprintf(out, "[%zu] %.*s\n", i / 2, static_cast<int>(end), lines_[i].c_str());
    std::fflush(out);
  }

  std::vector<pollfd> from_;
  std::vector<int> to_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

// What the handler of SIGINT, which may run in any thread, notes and reads. Either it sees the PEs, or run(),
// which stores them first, sees its note: both orders are seq_cst for that.
std::atomic<int> caught{0};
std::atomic<bool> caught_alone{false};
std::atomic<const std::vector<int>*> started{nullptr};

void interrupt_pes() {
  const std::vector<int>* const pes = started.load();
  if (pes == nullptr) return;
  for (const int pe : *pes) {
    siginfo_t status;
    // No child has a number that was reaped, whoever has it now.
    if (waitid(P_PID, static_cast<id_t>(pe), &status, WEXITED | WNOHANG | WNOWAIT) == 0) kill(pe, SIGINT);
  }
}

// The kernel's signal is a terminal's Ctrl-C, which reaches the PEs as well. Any other may have come here
// alone.
void note(int signal, siginfo_t* info, void*) {
  const int before = errno;
  caught.store(signal);
  if (info->si_code != SI_KERNEL) {
    caught_alone.store(true);
    interrupt_pes();
  }
  errno = before;
}

// A broken group's error, in OpenSHMEM's words.
std::string told(const char* error, int status) {
  std::string text = phicoll::shmem::with_pes(error);
  const bool bad_address = WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
  if (bad_address && !phicoll::shmem::setting("PHICOLL_SHMEM_CHECK"))
    text += "; with PHICOLL_SHMEM_CHECK=1 a call says so if its memory is not symmetric";
  return text;
}

int exit_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run(const Given& given) {
  phicoll::GroupOptions options = given.options;
  options.heap_limit = group_heap(given);
  setenv("PHICOLL_WAIT", phicoll::to_string(options.wait).c_str(), 1);
  // Both ends of two pipes, and a descriptor of each process, without which the launcher looks every few
  // milliseconds.
  const auto pes = static_cast<std::size_t>(given.pes);
  const std::size_t pipes = given.label ? 4 * pes : 0;
  const phicoll::os::RaisedDescriptorLimit limit(pipes + pes, pipes, std::to_string(pes) + " PEs");
  std::unique_ptr<Labels> labels(given.label ? new Labels(given.pes) : nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t self = getpid();
  struct sigaction on_interrupt = {};
  on_interrupt.sa_sigaction = note;
  on_interrupt.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGINT, &on_interrupt, nullptr);
  phicoll::Launcher launcher(given.command, given.pes, options, [&](int pe) {
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(1);
    if (pe != 0 && nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (labels) labels->in_child(pe);
    limit.restore();
  });
  started.store(&launcher.pids());
  struct Stopped {  // before the launcher, whose numbers they are
    ~Stopped() { started.store(nullptr); }
  } const stopped;
  if (caught_alone.load()) interrupt_pes();
  if (labels) labels->start();
  const auto finish = [&](int status) {
    if (labels) labels->wait();
    return caught.load() != 0 ? interrupted : status;
  };
  try {
    return finish(launcher.wait(grace_ms));
  } catch (const phicoll::BrokenGroupError& error) {
    // No single rank may be to blame.
    const int ended = error.rank() < 0 ? 0 : launcher.statuses()[static_cast<std::size_t>(error.rank())];
    const int status = exit_status(ended);
    const bool asked = error.rank() >= 0 && std::strstr(error.what(), "called shmem_global_exit") != nullptr;
    const int result = finish(asked || status != 0 ? status : broken);
    if (!asked && caught.load() == 0) std::fprintf(stderr, "oshrun: %s\n", told(error.what(), ended).c_str());
    return result;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "oshrun: %s\n", phicoll::shmem::with_pes(error.what()).c_str());
    return bad_input;
  } catch (const phicoll::Error& error) {
    std::fprintf(stderr, "oshrun: %s\n", phicoll::shmem::with_pes(error.what()).c_str());
    return broken;
  }
}
