#include "bench/run_simulated.hpp"

#include "phicoll/errors.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include <atomic>
#include <exception>

#include "bench/watchers.hpp"
#include "build_info/build_info.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/sim/running/simulated_run.hpp"
#include "phicoll/support/json.hpp"
#endif

namespace phicoll {
namespace bench {

#if defined(PHICOLL_HAVE_SIM)

namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class Watcher final : public sim::RunWatcher {
 public:
  Watcher(const measure::SweepValues& values, measure::RecordWriter& writer)
      : writer_(writer),
        acknowledged_(values.has("progress-ack")),
        progress_(acknowledged_ || values.has("progress")),
        interrupted_(catch_interrupts(true)) {}

  void write(const std::string& line) override { writer_.write_line(line); }
  void note(const std::string& text) override { say(text, false); }
  void failed(const std::string& title, const std::string& error) override {
    say(title + " failed: " + first_line(error), false);
  }
  void progress(std::int64_t done, std::int64_t total, const std::string& title) override {
    if (!progress_) return;
    const double elapsed_s = static_cast<double>(os::now_ns() - start_ns_) * 1e-9;
    say("progress: " + std::to_string(done) + " " + std::to_string(total) + " " + title + ", " +
            json_number(elapsed_s, 1) + " s",
        acknowledged_);
  }
  bool interrupted() override { return interrupted_.load(std::memory_order_relaxed); }

 private:
  measure::RecordWriter& writer_;
  bool acknowledged_;
  bool progress_;
  const std::atomic<bool>& interrupted_;
  std::int64_t start_ns_ = os::now_ns();
};

}  // namespace

int run_simulated(const measure::SweepValues& values, const std::vector<std::string>& whole_line) {
  sim::SimulatedRun run(values);
  if (run.left_out()) say("references are left out: those of other systems have no simulated form", false);
  const auto jobs =
      static_cast<std::size_t>(values.has("jobs") ? values.integer("jobs") : os::allowed_cpu_count());
  const std::string output = values.has("output") ? values.text("output") : "-";
  const bool resume = values.has("resume");
  if (resume && output == "-") throw ArgumentError("resume", "standard output", "a file given with -o");

  measure::RecordWriter writer(output, resume);  // before what other runs wrote is read
  if (resume && writer.begun()) {
    const std::string loss = run.resume(output);
    if (!loss.empty()) say(output + ": " + loss, false);
  }
  Watcher watcher(values, writer);
  const sim::RunEnd end = run.simulate(jobs, watcher, whole_line, build_info());
  if (end.failure) try {
      std::rethrow_exception(end.failure);
    } catch (const ResourceError&) {
      throw;
    } catch (const std::exception& failure) {
      say("failed: " + first_line(failure.what()), false);
    }
  if (end.reason == "interrupted") return 130;
  return end.reason == "failed" || end.unverified ? 3 : 0;
}

#else

int run_simulated(const measure::SweepValues&, const std::vector<std::string>&) {
  throw ResourceError("machine: this phicoll-bench was built without the simulated machine");
}

#endif

}  // namespace bench
}  // namespace phicoll
