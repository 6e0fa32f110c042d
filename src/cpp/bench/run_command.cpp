#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>

#include "bench/arguments.hpp"
#include "bench/commands.hpp"
#include "bench/extra_references.hpp"
#include "bench/openmp_libraries.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/measure/clock_facts.hpp"
#include "phicoll/measure/random.hpp"
#include "phicoll/measure/sweep.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll_build.hpp"

#include "phicoll/collectives/split.hpp"

namespace phicoll {
namespace bench {

namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
}

// A program that draws a progress bar uses CPU time: with --progress-ack the next round begins once it has
// written a byte to our standard input, or after 0.3 s. So nothing is drawn inside a timed region.
void wait_for_watcher() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  if (poll(&input, 1, 300) > 0 && read(STDIN_FILENO, &byte, 1) < 0) return;
}

std::vector<std::string> choices(const std::string& argument, const std::string& text,
                                 const std::vector<std::string>& allowed) {
  std::string all;
  for (const std::string& name : allowed) all += (all.empty() ? "" : ", ") + name;
  std::vector<std::string> chosen;
  for (const std::string& part : split(text, ',')) {
    if (std::find(allowed.begin(), allowed.end(), part) == allowed.end())
      throw ArgumentError(argument, "'" + part + "'", all + ", separated by commas");
    if (std::find(chosen.begin(), chosen.end(), part) == chosen.end()) chosen.push_back(part);
  }
  return chosen;
}

measure::BuildInfo build_info() {
  return {PHICOLL_COMPILER_ID, PHICOLL_COMPILER_VERSION, PHICOLL_COMPILER_FLAGS, PHICOLL_GIT_COMMIT,
          PHICOLL_GIT_DIRTY};
}

measure::Settings parse_settings(const Arguments& arguments) {
  measure::Settings settings;
  settings.subjects = measure::parse_subjects(arguments.text("--algorithm", "all,references"));
  settings.ranks = measure::parse_ranks(arguments.text("--ranks", "2"));
  settings.modes = choices("mode", arguments.text("--mode", "threads"), {"threads", "processes"});
  settings.definitions =
      choices("definition", arguments.text("--definition", "loop,window"), {"loop", "window"});
  settings.launches = static_cast<int>(arguments.integer("--launches", settings.launches, 1, 100000));
  settings.rounds = static_cast<int>(arguments.integer("--rounds", settings.rounds, 1, 1000000));
  settings.calls = static_cast<int>(arguments.integer("--calls", 0, 0, 100000000));
  settings.window_calls = static_cast<int>(arguments.integer("--window-calls", 32, 1, 100000));
  settings.budget_s = arguments.number("--budget", 0, 0);
  settings.target_width = arguments.number("--target-width", 0, 0);
  settings.placement = arguments.text("--placement", "compact");
  if (settings.placement.empty())
    throw ArgumentError("placement", "''", "compact, scatter, balanced, or a list of CPUs such as 0,2,4-7");
  settings.oversubscribe = arguments.has("--oversubscribe");
  settings.delay_ns = arguments.number("--delay-ns", 0, 0);
  settings.imbalance_ns = arguments.number("--imbalance-ns", 0, 0);
  settings.wait = to_string(parse_wait_policy(arguments.text("--wait", "adaptive")));
  settings.start = choices("start", arguments.text("--start", "warm"), {"warm", "evicted"}).at(0);
  if (settings.start == "evicted" && settings.definitions != std::vector<std::string>{"window"})
    throw ArgumentError("start", "'evicted' with definition loop",
                        "evicted with definition window alone: back-to-back calls leave no time to evict");
  settings.progress = arguments.has("--progress") || arguments.has("--progress-ack");
  settings.resume = arguments.has("--resume");
  settings.output = arguments.text("-o", "-");
  if (settings.resume && settings.output == "-")
    throw ArgumentError("resume", "standard output", "a file given with -o");
  // Of 53 bits: a JSON number that every reader keeps.
  const std::uint64_t drawn = measure::mix_seed(static_cast<std::uint64_t>(std::time(nullptr)),
                                                static_cast<std::uint64_t>(getpid())) >>
                              11;
  settings.seed = static_cast<std::uint64_t>(
      arguments.integer("--seed", static_cast<std::int64_t>(drawn), 0, std::int64_t{1} << 53));
  return settings;
}

// The last run of the file, if it can be continued with these settings; "" when it has ended complete.
std::string run_to_resume(const measure::RecordLines& file, measure::Settings& settings, bool seed_given) {
  const measure::JsonValue* context = nullptr;
  for (const measure::JsonValue& record : file.records)
    if (record["kind"].string == "context") context = &record;
  if (context == nullptr) throw ArgumentError("resume", "a file without a run", "a results file of phicoll");
  const auto file_seed = static_cast<std::uint64_t>((*context)["seed"].number);
  if (!seed_given) settings.seed = file_seed;
  if (settings.seed != file_seed)
    throw ArgumentError("seed", std::to_string(settings.seed),
                        std::to_string(file_seed) + ", as the run to resume has it");
  measure::JsonValue ours;
  measure::JsonValue::parse(settings.json(), &ours);
  const measure::JsonValue& theirs = (*context)["settings"];
  for (const auto& member : ours.object) {
    // How long to go on may change; what is measured may not.
    if (member.first == "budget_s" || member.first == "target_width") continue;
    const std::string before = theirs[member.first].text();
    if (before != member.second.text())
      throw ArgumentError(member.first, member.second.text(), before + ", as the run to resume has it");
  }
  return (*context)["run"].string;
}

}  // namespace

int run_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line) {
  const Arguments arguments(words, command_page("run"));
  if (arguments.alone().size() != 1 || arguments.alone()[0] != "barrier")
    throw ArgumentError("operation",
                        arguments.alone().empty() ? "none" : "'" + arguments.alone().back() + "'", "barrier");
  measure::Settings settings = parse_settings(arguments);
  measure::check_settings(settings);

  std::string run = measure::new_run_id();
  std::vector<measure::JsonValue> earlier;
  bool continuing = false;
  if (settings.resume && access(settings.output.c_str(), F_OK) == 0) {
    measure::RecordLines file = measure::read_records(settings.output, "resume");
    if (file.damaged > 0)
      std::fprintf(stderr, "phicoll-bench: %s: %s\n", settings.output.c_str(), file.loss().c_str());
    run = run_to_resume(file, settings, arguments.has("--seed"));
    earlier = std::move(file.records);
    continuing = true;
  }
  measure::RecordWriter writer(settings.output);

  std::vector<int> cpus;
  for (const int ranks : settings.ranks) {
    const Shape shape = shape_on_host(ranks, settings.placement);
    for (const Place& place : shape.places())
      if (std::find(cpus.begin(), cpus.end(), place.cpu) == cpus.end()) cpus.push_back(place.cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  const os::CpuLock lock = os::CpuLock::acquire(cpus, arguments.number("--lock-wait", 30, 0));

  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const measure::ClockFacts clock = measure::measure_clock();
  measure::Programs programs;
  const std::string self = "/proc/self/exe";
  programs.threads = {self, {"--worker", "threads"}, {}};
  programs.processes = {self, {"--worker", "processes"}, {}};
  programs.std_barrier = !extra_references().empty();
  programs.openmp = find_openmp(arguments.text("--libiomp5", ""));
  if (!continuing) {
    measure::JsonObject context = measure::context_fields(settings, whole_line, build_info(), clock);
    context.add("openmp_environment", openmp_environment());
    writer.write("context", run, context);
  }
  measure::Sweep sweep(
      settings, programs, clock, writer, run,
      [progress_ack = arguments.has("--progress-ack")](const std::string& text) {
        // Progress is for programs that watch; everything else says who speaks.
        const bool progress = text.compare(0, 9, "progress:") == 0;
        std::fprintf(stderr, "%s%s\n", progress ? "" : "phicoll-bench: ", text.c_str());
        if (progress && progress_ack) wait_for_watcher();
      },
      interrupted);
  if (continuing) sweep.resume(earlier);
  const measure::SweepResult result = sweep.run();
  if (!result.error.empty()) std::fprintf(stderr, "phicoll-bench: failed: %s\n", result.error.c_str());
  if (result.reason == "interrupted") return 130;
  return result.reason == "failed" || result.unverified ? 3 : 0;
}

}  // namespace bench
}  // namespace phicoll
