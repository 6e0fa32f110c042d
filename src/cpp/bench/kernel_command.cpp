// `phicoll-bench kernel`: the papers' memory kernels, on threads, on processes or on a simulated machine.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "bench/kernel_records.hpp"
#include "bench/watchers.hpp"
#include "build_info/build_info.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/kernels/places.hpp"
#include "phicoll/kernels/run_native.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/support/split.hpp"
#include "phicoll/support/statistics.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include "phicoll/sim/running/sim_kernels.hpp"
#endif

namespace phicoll {
namespace bench {

namespace {

/// The specs given, each with every value of the options that set a parameter: `--state E,I` stands for
/// `:state=E` and `:state=I`.
std::vector<kernels::KernelSpec> parse_specs(const CommandLine& arguments) {
  std::vector<std::string> texts = arguments.alone();
  if (texts.empty()) {
    std::string names;
    for (const kernels::KernelInfo& info : kernels::kernel_infos())
      names += (names.empty() ? "" : ", ") + info.name;
    throw ArgumentError("kernel", "none", names);
  }
  for (const std::string& text : texts) kernels::parse_kernel(text);
  for (const char* const name : {"state", "receive", "lines"}) {
    const std::string option = std::string("--") + name;
    if (!arguments.has(option)) continue;
    std::vector<std::string> with;
    for (const std::string& text : texts)
      for (const std::string& value : split(arguments.text(option, ""), ','))
        with.push_back(text + ":" + name + "=" + value);
    texts.swap(with);
  }
  std::vector<kernels::KernelSpec> specs;
  for (const std::string& text : texts) specs.push_back(kernels::parse_kernel(text));
  return specs;
}

/// Where the points run: this machine's threads or processes, or a simulated machine.
class Runner {
 public:
  explicit Runner(const CommandLine& arguments) : where_(arguments.text("--where", "")) {
    wait_ = parse_wait_policy(arguments.text("--wait", "spin"));
    mode_ = arguments.text("--mode", "threads");
    if (mode_ != "threads" && mode_ != "processes")
      throw ArgumentError("mode", "'" + mode_ + "'", "threads, processes");
#if defined(PHICOLL_HAVE_SIM)
    if (arguments.has("--machine")) {
      if (arguments.has("--oversubscribe"))
        throw ArgumentError("oversubscribe", "given with a machine", "only without --machine");
      if (arguments.has("--mode"))
        throw ArgumentError("mode", mode_ + " with a machine", "only without --machine");
      mode_ = "simulated";
      machine_.reset(new sim::Machine(sim::load_machine(arguments.text("--machine", ""))));
    }
#else
    if (arguments.has("--machine"))
      throw ResourceError("machine: this phicoll-bench was built without the simulated machine");
#endif
  }

  bool simulated() const {
#if defined(PHICOLL_HAVE_SIM)
    return machine_ != nullptr;
#else
    return false;
#endif
  }
  double ns_per_tick() const {
#if defined(PHICOLL_HAVE_SIM)
    if (machine_) return machine_->ns(1);
#endif
    return os::ns_per_tick();
  }

  /// Places the point's ranks, or notes why the point is skipped. Throws for what cannot run at all. Called
  /// for all points before any of them runs.
  void prepare(KernelPoint& point, bool oversubscribe) const {
    kernels::check_kernel_ranks(point.spec, point.ranks);
    point.where = where_.empty() ? kernels::kernel_where(point.spec) : where_;
    point.wait = to_string(wait_);
    point.mode = mode_;
    point.machine = "host";
    Shape shape;
#if defined(PHICOLL_HAVE_SIM)
    if (machine_) {
      point.machine = machine_->name;
      point.machine_digest = machine_->digest;
      point.skipped = sim::why_not(*machine_, point.spec);
      if (!point.skipped.empty()) return;
      shape = sim::kernel_shape(*machine_, point.ranks, point.where);
    }
#endif
    if (!simulated()) {
      shape = shape_on_host(point.ranks, kernels::placement_at(point.where, point.ranks));
      if (!oversubscribe) kernels::check_kernel_cpus(point.spec, point.ranks, "; more with --oversubscribe");
    }
    for (const CpuLocation& place : shape.places()) point.contexts.push_back(place.cpu);
  }

  /// Throws the error for which a point is skipped.
  void refuse(const KernelPoint& point) const {
#if defined(PHICOLL_HAVE_SIM)
    if (machine_) sim::check_kernel(*machine_, point.spec);
#else
    static_cast<void>(point);  // none is skipped
#endif
  }

  kernels::KernelSamples run(const KernelPoint& point) const {
#if defined(PHICOLL_HAVE_SIM)
    if (machine_) {
      sim::SimOptions options = sim::kernel_options(point.seed);
      options.wait = wait_;
      return sim::simulate_kernel(*machine_, point.spec,
                                  sim::kernel_shape(*machine_, point.ranks, point.where), point.samples,
                                  options);
    }
#endif
    kernels::NativeRun how;
    how.ranks = point.ranks;
    how.samples = point.samples;
    how.seed = point.seed;
    how.wait = wait_;
    how.placement = point.where;
    how.timeout_ms = 60000;
    how.processes = mode_ == "processes";
    return kernels::run_native(point.spec, how);
  }

 private:
  std::string where_;
  std::string mode_;
  WaitPolicy wait_;
#if defined(PHICOLL_HAVE_SIM)
  std::unique_ptr<sim::Machine> machine_;
#endif
};

bool skipped(const KernelPoint& point) {
  return !point.skipped.empty();
}

void print_row(const KernelPoint& point, const kernels::KernelSamples& samples) {
  std::vector<double> ns;
  for (int r = 0; r < point.ranks; ++r) {
    const std::vector<double> of_rank = samples.ns(r);
    ns.insert(ns.end(), of_rank.begin(), of_rank.end());
  }
  const double mean = phicoll::mean(ns);
  double squares = 0;
  for (const double value : ns) squares += (value - mean) * (value - mean);
  const std::vector<double> rates = samples.gigabytes_a_second();
  char rate[32] = "-";
  if (!rates.empty()) std::snprintf(rate, sizeof rate, "%.3f", median(rates));
  std::printf("%-52s %5d %8zu %12.1f %12.1f %10.1f %12.1f %12.1f %9s %6llu\n",
              point.spec.text().substr(0, 52).c_str(), point.ranks, ns.size(), median(ns), mean,
              std::sqrt(squares / static_cast<double>(ns.size())), smallest(ns), largest(ns), rate,
              static_cast<unsigned long long>(samples.late()));
  std::fflush(stdout);
}

std::string settings_json(const std::vector<KernelPoint>& points, const std::string& where) {
  std::vector<std::string> specs;
  std::vector<int> ranks;
  for (const KernelPoint& point : points) {
    if (std::find(specs.begin(), specs.end(), point.spec.text()) == specs.end())
      specs.push_back(point.spec.text());
    if (std::find(ranks.begin(), ranks.end(), point.ranks) == ranks.end()) ranks.push_back(point.ranks);
  }
  return JsonObject()
      .raw("kernels", json_strings(specs))
      .raw("ranks", json_integers(ranks))
      .add("where", where.empty() ? "each kernel's own" : where)
      .add("samples", points.front().samples)
      .text();
}

// Every kernel with every number of ranks.
std::vector<KernelPoint> plan_points(const CommandLine& arguments, const Runner& runner, std::uint64_t seed) {
  std::vector<KernelPoint> points;
  const auto samples =
      static_cast<int>(arguments.integer("--samples", runner.simulated() ? 200 : 1000, 1, 10000000));
  for (const kernels::KernelSpec& spec : parse_specs(arguments))
    for (const int ranks : measure::parse_ranks(arguments.text("-n", "2"))) {
      KernelPoint point;
      point.number = static_cast<int>(points.size());
      point.spec = spec;
      point.ranks = ranks;
      point.samples = samples;
      point.seed = seed;
      runner.prepare(point, arguments.has("--oversubscribe"));
      points.push_back(point);
    }
  if (std::all_of(points.begin(), points.end(), skipped)) runner.refuse(points.front());
  return points;
}

std::vector<int> cpus_of(const std::vector<KernelPoint>& points) {
  std::vector<int> cpus;
  for (const KernelPoint& point : points)
    cpus.insert(cpus.end(), point.contexts.begin(), point.contexts.end());
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

// The points' results: records, if there is a file, and a table, unless the file is standard output.
class Output {
 public:
  explicit Output(const std::string& path) : table_(path != "-") {
    if (!path.empty()) writer_.reset(new measure::RecordWriter(path));
  }

  void begin(const std::vector<std::string>& whole_line, const Runner& runner, std::uint64_t seed,
             const std::vector<KernelPoint>& points, const std::string& where) {
    begin_ns_ = os::now_ns();
    const char* const clock = runner.simulated()             ? "simulated"
                              : os::cycle_counter_is_clock() ? "tsc"
                                                             : "clock_gettime";
    if (writer_)
      writer_->write("context", run_,
                     measure::context_fields(
                         whole_line, build_info(),
                         JsonObject().add("source", clock).add("ns_per_tick", runner.ns_per_tick(), 9).text(),
                         seed, settings_json(points, where)));
    if (table_)
      std::printf("%s, ns\n%-52s %5s %8s %12s %12s %10s %12s %12s %9s %6s\n",
                  runner.simulated() ? ("simulated: " + points.front().machine).c_str()
                                     : ("measured: " + points.front().mode).c_str(),
                  "kernel", "ranks", "samples", "median", "mean", "sd", "least", "most", "GB/s", "late");
  }

  void add(const KernelPoint& point, const Runner& runner) {
    if (skipped(point)) {
      say("skipped: " + point.spec.text() + ": " + point.skipped, false);
      if (writer_) writer_->write("kernel", run_, skipped_fields(point));
      ++done_;
      return;
    }
    const kernels::KernelSamples found = runner.run(point);
    if (found.wrong() != 0) {
      unverified_ = true;
      say(point.spec.text() + ": the data were wrong after " + std::to_string(found.wrong()) + " samples",
          false);
    }
    if (writer_) {
      writer_->write("kernel", run_, kernel_fields(point, found));
      for (int r = 0; r < point.ranks; ++r)
        if (!found.ranks[static_cast<std::size_t>(r)].ticks.empty()) {
          writer_->write("kernel-sample", run_, kernel_sample_fields(point, found, r));
          ++written_;
        }
    }
    // Only verified data is summarised.
    if (table_ && found.wrong() == 0) print_row(point, found);
    ++done_;
  }

  // The command's exit code.
  int end(std::size_t points, const std::string& error) {
    const bool complete = done_ == static_cast<int>(points);
    if (writer_) {
      JsonObject end;
      end.add("reason", !error.empty() ? "failed" : complete ? "complete" : "interrupted");
      if (!error.empty()) end.add("error", error);
      writer_->write("end", run_,
                     end.add("elapsed_s", static_cast<double>(os::now_ns() - begin_ns_) * 1e-9)
                         .add("points", done_)
                         .add("samples", written_)
                         .null("width_reached"));
    }
    if (!error.empty()) return 3;
    if (!complete) return 130;
    return unverified_ ? 3 : 0;
  }

 private:
  const std::string run_ = measure::new_run_id();
  std::int64_t begin_ns_ = 0;
  const bool table_;
  std::unique_ptr<measure::RecordWriter> writer_;
  int done_ = 0;
  std::int64_t written_ = 0;
  bool unverified_ = false;
};

}  // namespace

int kernel_command(const std::vector<std::string>& words, const std::vector<std::string>& whole_line) {
  const CommandLine arguments(words, command_page("kernel"));
  const Runner runner(arguments);
  const auto seed =
      static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, (std::int64_t{1} << 53) - 1));
  const std::vector<KernelPoint> points = plan_points(arguments, runner, seed);
  const double patience_s = arguments.number("--lock-wait", std::stod(measure::native_text("lock-wait")), 0);
  Output output(arguments.text("-o", ""));
  std::unique_ptr<os::CpuLock> lock;
  if (!runner.simulated()) lock.reset(new os::CpuLock(os::CpuLock::acquire(cpus_of(points), patience_s)));
  output.begin(whole_line, runner, seed, points, arguments.text("--where", ""));
  const std::atomic<bool>& interrupted = catch_interrupts();
  std::string error;
  try {
    for (const KernelPoint& point : points) {
      if (interrupted.load(std::memory_order_relaxed)) break;
      output.add(point, runner);
    }
  } catch (const ResourceError&) {
    throw;  // no memory, or a full disk: the end may not be writable either
  } catch (const std::exception& failure) {
    error = failure.what();
    say("failed: " + error, false);
  }
  return output.end(points.size(), error);
}

}  // namespace bench
}  // namespace phicoll
