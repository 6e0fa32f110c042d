#include "phicoll/measure/worker_set.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/memory/untrusted.hpp"
#include "phicoll/os/clock.hpp"

extern char** environ;

namespace phicoll {
namespace measure {

namespace {

// A program's run may take seconds where its ranks have a CPU each, and minutes where they share.
constexpr double program_timeout_s = 600;

}  // namespace

WorkerSet::WorkerSet(const SetConfig& config, const Program& program, std::size_t most_calls,
                     const StampClock& clock)
    : config_(config),
      board_(new StepBoard(StepBoard::create(config.ranks, most_calls, clock, config.text()))) {
  try {
    const int board = board_->descriptor();
    if (config.mode == "processes") {
      GroupOptions options;
      options.placement = config.placement;
      options.wait = parse_wait_policy(config.wait);
      group_ = ProcessGroup::create_memory(config.ranks, options);
      const int group = group_.descriptor();
      for (int r = 0; r < config.ranks; ++r)
        start(program, {std::to_string(board), std::to_string(group), std::to_string(r)}, {board, group});
      group_.close_descriptor();
    } else {
      start(program, {std::to_string(board)}, {board});
    }
    intact_ = true;
  } catch (...) {
    stop();
    throw;
  }
}

WorkerSet::~WorkerSet() {
  stop();
}

void WorkerSet::start(const Program& program, const std::vector<std::string>& more,
                      const std::vector<int>& inherit) {
  // Everything that allocates happens before the fork.
  std::vector<std::string> words{program.path};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const auto& change : program.environment)
      if (std::strncmp(*entry, (change.first + "=").c_str(), change.first.size() + 1) == 0) replaced = true;
    if (!replaced) settings.push_back(*entry);
  }
  for (const auto& change : program.environment) settings.push_back(change.first + "=" + change.second);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(&setting[0]);
  environment.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw ResourceError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    // A worker ends with the coordinator, and leaves Ctrl-C to it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    signal(SIGINT, SIG_IGN);
    for (const int descriptor : inherit) fcntl(descriptor, F_SETFD, 0);
    // Standard output may carry results, so what a worker prints goes to standard error.
    dup2(2, 1);
    execve(program.path.c_str(), arguments.data(), environment.data());
    _exit(127);
  }
  pids_.push_back(child);
}

std::string WorkerSet::ended() {
  std::string cause;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i] < 0) continue;
    int status = 0;
    if (waitpid(pids_[i], &status, WNOHANG) != pids_[i]) continue;
    const std::string process = config_.mode == "processes"
                                    ? "the process of rank " + std::to_string(i)
                                    : "the process of the ranks (" + config_.mode + ")";
    pids_[i] = -1;
    intact_ = false;
    // The others exit by themselves when they see that one was killed. The killed one is the cause, whichever
    // is found first.
    if (WIFSIGNALED(status)) {
      killed_ = WTERMSIG(status) == SIGKILL;
      return process + " was ended by signal " + std::to_string(WTERMSIG(status));
    }
    if (cause.empty()) cause = process + " ended with status " + std::to_string(WEXITSTATUS(status));
  }
  return cause;
}

void WorkerSet::run(const Step& step, double timeout_s) {
  if (!intact_) throw SetFailure("the set has ended");
  if (step.work.program.any()) timeout_s = std::max(timeout_s, program_timeout_s);
  board_->post(step);
  const std::int64_t start = os::now_ns();
  bool done = false;
  std::string cause;
  // Waits in slices and looks for deaths, since a process that is killed reports nothing.
  for (std::int64_t slice = 20 * 1000 * 1000; !done; slice = 50 * 1000 * 1000) {
    done = board_->wait_done(slice);
    if (done) break;
    cause = ended();
    if (!cause.empty()) break;
    if (static_cast<double>(os::now_ns() - start) > timeout_s * 1e9) {
      cause = "the step did not end within " + std::to_string(static_cast<int>(timeout_s)) + " s";
      break;
    }
  }
  // The error of the rank that failed first says more than those of the ranks that found the group broken.
  for (int r = 0; r < board_->ranks(); ++r) {
    if (untrusted(report(r).failed).is(0)) continue;
    const std::string error = untrusted_text(report(r).error);
    if (cause.empty() || error.compare(0, 12, "group broken") != 0)
      cause = "rank " + std::to_string(r) + ": " + error;
  }
  if (cause.empty()) return;
  intact_ = false;
  throw SetFailure(cause, killed_);
}

void WorkerSet::stop() {
  if (intact_) {
    Step last = Step();
    last.kind = StepKind::stop;
    board_->post(last);
    intact_ = board_->wait_done(2000 * 1000 * 1000ll);
  }
  const std::int64_t start = os::now_ns();
  for (pid_t& pid : pids_) {
    if (pid < 0) continue;
    if (!intact_) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, intact_ ? WNOHANG : 0) == 0) {
      if (os::now_ns() - start > 2000 * 1000 * 1000ll) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        break;
      }
      usleep(500);
    }
    pid = -1;
  }
  pids_.clear();
  intact_ = false;
}

}  // namespace measure
}  // namespace phicoll
