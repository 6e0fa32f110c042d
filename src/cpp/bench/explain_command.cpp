#include <cmath>
#include <cstdio>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include "phicoll/sim/explaining/chrome_trace.hpp"
#include "phicoll/sim/explaining/explanation.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "phicoll/support/utf8.hpp"
#endif

namespace phicoll {
namespace bench {

#if defined(PHICOLL_HAVE_SIM)

int explain_command(const std::vector<std::string>& words) {
  const CommandLine arguments(words, command_page("explain"));
  if (arguments.alone().size() > 1)
    throw ArgumentError("operation", "'" + arguments.alone().back() + "' beside another", "one");
  const measure::Work work = measure::parse_call(arguments.alone().empty() ? "" : arguments.alone().front());
  if (!work.moves_data())
    arguments.refuse({"--size", "--buffers", "--type", "--op"}, "only where data moves");
  const std::string algorithm =
      arguments.text("--algorithm", work.moves_data() ? "auto" : "hybrid-dissemination");
  const AlgorithmSpec spec = sim::simulated_algorithm(work.operation, algorithm);
  const sim::Machine machine = sim::load_machine(arguments.text("--machine", "xeon-phi-5110p"));
  sim::ExplainOptions options;
  const auto given = [&](const char* name) {
    return arguments.text(std::string("--") + name, measure::simulated_text(name));
  };
  options.work = sim::simulated_works(work, {measure::parse_size(arguments.text("--size", "4K"))},
                                      {given("buffers")}, given("type"), given("op"))
                     .front();
  options.placement = given("placement");
  const int ranks = static_cast<int>(arguments.integer("-n", machine.contexts(), 1, machine.contexts()));
  const Shape shape = sim::place_on_machine(machine, ranks, options.placement, sim::tuning_of(machine));
  const std::string definition = arguments.text("--definition", "loop");
  if (definition != "loop" && definition != "window")
    throw ArgumentError("definition", "'" + definition + "'", "loop or window");
  options.window = definition == "window";
  const std::int64_t seed =
      arguments.integer("--seed", measure::simulated_integer("seed"), 0, (std::int64_t{1} << 53) - 1);
  options.seed = static_cast<std::uint64_t>(seed);
  options.calls = static_cast<int>(arguments.integer("--calls", options.calls, 1, 1000));
  options.warm_up = static_cast<int>(arguments.integer("--warm-up", options.warm_up, 0, 1000));
  options.call = static_cast<int>(arguments.integer("--call", -1, -1, options.calls - 1));
  options.wait = parse_wait_policy(given("wait"));
  options.start_skew = static_cast<sim::Cycles>(std::llround(
      arguments.number("--skew-ns", measure::simulated_number("skew-ns"), 0) * machine.p.clock_mhz / 1000));
  const std::int64_t links = arguments.integer("--links", 60, 0, 1000000);
  const std::string trace = arguments.text("--trace", "");
  if (!trace.empty()) sim::check_trace_path(trace);

  options.memory_limit = static_cast<std::size_t>(arguments.integer(
      "--memory-limit", static_cast<std::int64_t>(options.memory_limit), 1, std::int64_t{1} << 46));
  options.log_all = !trace.empty() && arguments.has("--all-calls");
  options.say = [](const std::string& text) {
    std::fprintf(stderr, "phicoll-bench: note: %s\n", printable(text).c_str());
  };
  const sim::Explanation found = sim::explain_collective(machine, spec, shape, options);
  if (!trace.empty()) {
    const std::size_t bytes = sim::write_chrome_trace(trace, found, arguments.has("--all-calls"));
    std::fprintf(stderr, "phicoll-bench: wrote %s, %.1f MB; open it at ui.perfetto.dev\n",
                 printable(trace).c_str(), static_cast<double>(bytes) * 1e-6);
  }
  const std::string text = arguments.has("--json")
                               ? sim::explanation_json(found) + "\n"
                               : printable(sim::explanation_text(found, static_cast<int>(links)));
  std::fputs(text.c_str(), stdout);
  return 0;
}

#else

int explain_command(const std::vector<std::string>&) {
  throw ResourceError("explain: this phicoll-bench was built without the simulated machine");
}

#endif

}  // namespace bench
}  // namespace phicoll
