#include <algorithm>
#include <cstdio>

#include "bench/arguments.hpp"
#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/json.hpp"
#include "phicoll/measure/settings.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include "phicoll/sim/count_barrier.hpp"
#endif

namespace phicoll {
namespace bench {

#if defined(PHICOLL_HAVE_SIM)

namespace {

// "60x4": cores by contexts. Throws ArgumentError("machine").
std::pair<int, int> parse_machine(const std::string& text) {
  int cores = 0;
  int contexts = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &cores, &contexts, &rest) != 2 || cores < 1 || contexts < 1 ||
      cores > 1024 || contexts > 1024 || cores * contexts > 1024)
    throw ArgumentError("machine", "'" + text + "'", "cores x contexts such as 60x4, at most 1024 in all");
  return {cores, contexts};
}

}  // namespace

int count_command(const std::vector<std::string>& words) {
  const Arguments arguments(words, command_page("count"));
  if (arguments.alone().size() != 1 || arguments.alone()[0] != "barrier")
    throw ArgumentError("operation",
                        arguments.alone().empty() ? "none" : "'" + arguments.alone().back() + "'", "barrier");
  const std::vector<AlgorithmSpec> specs = parse_barriers(arguments.text("--algorithm", "all"));
  const std::string machine = arguments.text("--machine", "60x4");
  const std::pair<int, int> size = parse_machine(machine);
  const std::vector<int> ranks =
      measure::parse_ranks(arguments.text("--ranks", std::to_string(size.first * size.second)));
  const Placement placement = parse_placement(arguments.text("--placement", "compact"));
  std::vector<std::string> objects;
  for (const int count : ranks) {
    const Shape shape = place_ranks(count, uniform_machine(size.first, size.second), placement);
    if (!arguments.has("--json"))
      std::printf("%d ranks on %s contexts, %s\n%-44s %7s %7s %14s %10s %7s\n", count, machine.c_str(),
                  to_string(placement), "barrier", "rounds", "chain", "notifications", "core edges", "lines");
    for (const AlgorithmSpec& spec : specs) {
      const Counts counts = count_barrier(spec, shape);
      const std::string text = effective_barrier(spec, shape).text();
      if (!arguments.has("--json"))
        std::printf("%-44s %7lld %7lld %14lld %10lld %7lld\n", text.substr(0, 44).c_str(),
                    static_cast<long long>(counts.rounds), static_cast<long long>(counts.longest_chain),
                    static_cast<long long>(counts.notifications),
                    static_cast<long long>(counts.edges_between_cores),
                    static_cast<long long>(counts.lines_written));
      objects.push_back(measure::JsonObject()
                            .add("operation", "barrier")
                            .add("algorithm", spec.name)
                            .add("spec", spec.text())
                            .add("effective", text)
                            .add("machine", machine)
                            .add("placement", to_string(placement))
                            .add("ranks", count)
                            .add("rounds", counts.rounds)
                            .add("longest_chain", counts.longest_chain)
                            .add("notifications", counts.notifications)
                            .add("edges", counts.edges)
                            .add("edges_between_cpus", counts.edges_between_cpus)
                            .add("edges_between_cores", counts.edges_between_cores)
                            .add("lines_written", counts.lines_written)
                            .text());
    }
  }
  if (arguments.has("--json")) {
    std::puts("[");
    for (std::size_t i = 0; i < objects.size(); ++i)
      std::printf("%s%s\n", objects[i].c_str(), i + 1 < objects.size() ? "," : "");
    std::puts("]");
  }
  return 0;
}

#else

int count_command(const std::vector<std::string>&) {
  throw ResourceError("count: this phicoll-bench was built without the counting machine");
}

#endif

}  // namespace bench
}  // namespace phicoll
