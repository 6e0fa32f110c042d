#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "bench/extra_references.hpp"
#include "bench/openmp_libraries.hpp"
#include "bench/run_simulated.hpp"
#include "bench/watchers.hpp"
#include "build_info/build_info.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
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

// A random seed of 53 bits: a JSON number that every reader keeps exactly.
std::uint64_t drawn_seed() {
  return mix_seed(static_cast<std::uint64_t>(std::time(nullptr)), static_cast<std::uint64_t>(getpid())) >> 11;
}

}  // namespace

int run_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line) {
  const CommandLine arguments(words, command_page("run"));
  if (arguments.alone().size() > 1)
    throw ArgumentError("operation", "'" + arguments.alone().back() + "' beside another", "one");
  const measure::Work work =
      measure::parse_measured(arguments.alone().empty() ? "" : arguments.alone().front());
  // Before any thread is started. The groups, in the ranks' own processes, read it from the environment too.
  if (arguments.has("--tuning")) setenv("PHICOLL_TUNING", arguments.text("--tuning", "").c_str(), 1);
  const measure::SweepValues values(work, arguments.given());
  if (values.simulated()) return run_simulated(values, whole_line);
  measure::Settings settings = measure::parse_settings(values);
  if (!values.has("seed")) settings.seed = drawn_seed();
  if (const auto tuning = load_tuning(tuning_source(), TuningMode::threads))
    settings.tuning = tuning->table.name() + " " + tuning->table.digest();
  settings.numbers = numbers_digest(stored_numbers());
  measure::check_settings(settings);

  std::string run = measure::new_run_id();
  std::vector<JsonValue> earlier;
  measure::RecordWriter writer(settings.output, settings.resume);  // before what other runs wrote is read
  const std::string begun = settings.output == "-" ? "/dev/stdin" : settings.output;
  const bool continuing = settings.resume && (writer.begun() || begun != settings.output);
  if (continuing) {
    measure::RecordLines file = measure::read_records(begun, "resume");
    const std::string loss = file.loss();
    if (!loss.empty()) say(begun + ": " + loss, false);
    run = measure::run_to_resume(file, settings.json(), &settings.seed, values.has("seed"));
    earlier = std::move(file.records);
  }

  std::vector<int> cpus;
  for (const int ranks : settings.ranks) {
    const Shape shape = shape_on_host(ranks, settings.placement);
    for (const CpuLocation& place : shape.places())
      if (std::find(cpus.begin(), cpus.end(), place.cpu) == cpus.end()) cpus.push_back(place.cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  const os::CpuLock lock = os::CpuLock::acquire(cpus, values.number("lock-wait"));

  const std::atomic<bool>& interrupted = catch_interrupts();
  const measure::ClockFacts clock = measure::measure_clock();
  measure::Programs programs;
  const std::string self = "/proc/self/exe";
  programs.threads = {self, {"--worker", "threads"}, {}};
  programs.processes = {self, {"--worker", "processes"}, {}};
  programs.std_barrier = !extra_references().empty();
  programs.openmp = find_openmp(values.text("libiomp5"));
  if (!continuing) {
    JsonObject context = measure::context_fields(settings, whole_line, build_info(), clock);
    context.add("openmp_environment", openmp_environment());
    writer.write("context", run, context);
  }
  measure::Sweep sweep(
      settings, programs, clock, writer, run,
      [acknowledged = values.has("progress-ack")](const std::string& text) { say(text, acknowledged); },
      interrupted);
  if (continuing) sweep.resume(earlier);
  const measure::SweepResult result = sweep.run();
  if (!result.error.empty()) std::fprintf(stderr, "phicoll-bench: failed: %s\n", result.error.c_str());
  if (result.reason == "interrupted") return 130;
  return result.reason == "failed" || result.unverified ? 3 : 0;
}

}  // namespace bench
}  // namespace phicoll
