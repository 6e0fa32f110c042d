#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bench/arguments.hpp"
#include "bench/build_info.hpp"
#include "bench/commands.hpp"
#include "bench/extra_references.hpp"
#include "bench/openmp_libraries.hpp"
#include "bench/run_simulated.hpp"
#include "bench/watchers.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/measure/clock_facts.hpp"
#include "phicoll/measure/resume.hpp"
#include "phicoll/measure/sweep.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace bench {

namespace {

// Every algorithm at every size with every kind of buffers, as asked for.
std::vector<measure::Subject> parse_work(const Arguments& arguments, measure::Work work) {
  const std::string algorithms = arguments.text("--algorithm", "all,references");
  if (!work.moves_data()) {
    refuse_options(arguments, {"--size", "--buffers", "--type", "--op"}, "only where data moves");
    return measure::parse_subjects(algorithms, work);
  }
  if (!work.reduces()) refuse_options(arguments, {"--type", "--op"}, "only with reductions");
  work.type = parse_type(arguments.text("--type", "float32"));
  work.op = parse_op(arguments.text("--op", "sum"));
  std::vector<measure::Subject> subjects;
  for (const std::uint64_t size : measure::parse_sizes(arguments.text("--size", "8,4K,1M")))
    for (const std::string& buffers : arguments.choices("--buffers", "fresh", {"fresh", "reused", "heap"})) {
      work.bytes = size;
      work.set_buffers(buffers);
      measure::check_work(work);
      for (measure::Subject& subject : measure::parse_subjects(algorithms, work))
        subjects.push_back(std::move(subject));
    }
  return subjects;
}

measure::Settings parse_settings(const Arguments& arguments, const measure::Work& work) {
  measure::Settings settings;
  settings.subjects = parse_work(arguments, work);
  settings.ranks = measure::parse_ranks(arguments.text("--ranks", "2"));
  settings.modes = arguments.choices("--mode", "threads", {"threads", "processes"});
  settings.definitions = arguments.choices("--definition", "loop,window", {"loop", "window"});
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
  settings.start = arguments.choices("--start", "warm", {"warm", "evicted"}).at(0);
  measure::check_start(settings.start, settings.definitions);
  settings.progress = arguments.has("--progress") || arguments.has("--progress-ack");
  settings.resume = arguments.has("--resume");
  settings.output = arguments.text("-o", "-");
  if (settings.resume && settings.output == "-")
    throw ArgumentError("resume", "standard output", "a file given with -o");
  // Of 53 bits: a JSON number that every reader keeps.
  const std::uint64_t drawn =
      mix_seed(static_cast<std::uint64_t>(std::time(nullptr)), static_cast<std::uint64_t>(getpid())) >> 11;
  if (const auto tuning = load_tuning(tuning_source(), TuningMode::threads))
    settings.tuning = tuning->table.name() + " " + tuning->table.digest();
  settings.seed = static_cast<std::uint64_t>(
      arguments.integer("--seed", static_cast<std::int64_t>(drawn), 0, std::int64_t{1} << 53));
  return settings;
}

}  // namespace

int run_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line) {
  const Arguments arguments(words, command_page("run"));
  if (arguments.alone().size() > 1)
    throw ArgumentError("operation", "'" + arguments.alone().back() + "' beside another", "one");
  const measure::Work work = measure::parse_call(arguments.alone().empty() ? "" : arguments.alone().front());
  // Before any thread: the ranks' groups, in processes of their own, take it from there too.
  if (arguments.has("--tuning")) setenv("PHICOLL_TUNING", arguments.text("--tuning", "").c_str(), 1);
  if (arguments.has("--machine")) return run_simulated(arguments, whole_line);
  refuse_options(arguments, simulated_options(), "only with --machine");
  measure::Settings settings = parse_settings(arguments, work);
  measure::check_settings(settings);

  std::string run = measure::new_run_id();
  std::vector<JsonValue> earlier;
  bool continuing = false;
  if (settings.resume && access(settings.output.c_str(), F_OK) == 0) {
    measure::RecordLines file = measure::read_records(settings.output, "resume");
    if (file.damaged > 0)
      std::fprintf(stderr, "phicoll-bench: %s: %s\n", settings.output.c_str(), file.loss().c_str());
    run = measure::run_to_resume(file, settings.json(), &settings.seed, arguments.has("--seed"));
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

  const std::atomic<bool>& interrupted = catch_interrupts();
  const measure::ClockFacts clock = measure::measure_clock();
  measure::Programs programs;
  const std::string self = "/proc/self/exe";
  programs.threads = {self, {"--worker", "threads"}, {}};
  programs.processes = {self, {"--worker", "processes"}, {}};
  programs.std_barrier = !extra_references().empty();
  programs.openmp = find_openmp(arguments.text("--libiomp5", ""));
  if (!continuing) {
    JsonObject context = measure::context_fields(settings, whole_line, build_info(), clock);
    context.add("openmp_environment", openmp_environment());
    writer.write("context", run, context);
  }
  measure::Sweep sweep(
      settings, programs, clock, writer, run,
      [acknowledged = arguments.has("--progress-ack")](const std::string& text) { say(text, acknowledged); },
      interrupted);
  if (continuing) sweep.resume(earlier);
  const measure::SweepResult result = sweep.run();
  if (!result.error.empty()) std::fprintf(stderr, "phicoll-bench: failed: %s\n", result.error.c_str());
  if (result.reason == "interrupted") return 130;
  return result.reason == "failed" || result.unverified ? 3 : 0;
}

}  // namespace bench
}  // namespace phicoll
