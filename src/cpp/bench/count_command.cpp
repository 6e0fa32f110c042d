#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/support/json.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#endif

namespace phicoll {
namespace bench {

#if defined(PHICOLL_HAVE_SIM)

namespace {

// Parses "60x4", cores by contexts of a core. Throws ArgumentError("shape").
std::pair<int, int> parse_shape(const std::string& text) {
  int cores = 0;
  int contexts = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &cores, &contexts, &rest) != 2 || cores < 1 || contexts < 1 ||
      cores > 1024 || contexts > 1024 || cores * contexts > 1024)
    throw ArgumentError("shape", "'" + text + "'", "cores x contexts such as 60x4, at most 1024 in all");
  return {cores, contexts};
}

// All pairs of sizes and algorithms; a barrier has no size.
std::vector<measure::Subject> subjects_of(const CommandLine& arguments) {
  if (arguments.alone().size() != 1)
    throw ArgumentError("operation", std::to_string(arguments.alone().size()) + " words",
                        "one: barrier, broadcast, allreduce, ...");
  measure::Work work = measure::parse_call(arguments.alone()[0]);
  const std::string names = arguments.text("--algorithm", "all");
  std::vector<measure::Subject> subjects;
  if (!work.moves_data()) {
    for (const char* const option : {"--sizes", "--type", "--op"})
      if (arguments.has(option)) throw ArgumentError(option + 2, "a value", "none for a barrier");
    for (const AlgorithmSpec& spec : family(work.operation).parse_list(names))
      subjects.push_back(measure::Subject{AlgorithmInfo(), false, spec, work});
    return subjects;
  }
  if (work.reduces()) {
    work.type = parse_type(arguments.text("--type", measure::native_text("type")));
    work.op = parse_op(arguments.text("--op", measure::native_text("op")));
  }
  for (const std::uint64_t bytes : measure::parse_sizes(arguments.text("--sizes", "4K"))) {
    work.bytes = bytes;
    measure::check_work(work);
    for (const AlgorithmSpec& spec : family(work.operation).parse_list(names))
      subjects.push_back(measure::Subject{AlgorithmInfo(), false, spec, work});
  }
  return subjects;
}

void print_head(const measure::Subject& subject) {
  if (subject.work.moves_data())
    std::printf("%-44s %9s %7s %7s %10s %12s %14s %14s\n", subject.work.name().c_str(), "bytes", "rounds",
                "steps", "transfers", "bytes read", "bytes between", "notifications");
  else
    std::printf("%-44s %7s %7s %14s %10s %7s\n", "barrier", "rounds", "chain", "notifications", "core edges",
                "lines");
}

void print_row(const measure::Subject& subject, const std::string& effective, const Counts& counts) {
  const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
  if (subject.work.moves_data())
    std::printf("%-44s %9llu %7lld %7lld %10lld %12lld %14lld %14lld\n", effective.substr(0, 44).c_str(),
                static_cast<unsigned long long>(subject.work.bytes), number(counts.rounds),
                number(counts.steps), number(counts.transfers), number(counts.bytes_read),
                number(counts.bytes_between), number(counts.notifications));
  else
    std::printf("%-44s %7lld %7lld %14lld %10lld %7lld\n", effective.substr(0, 44).c_str(),
                number(counts.rounds), number(counts.longest_chain), number(counts.notifications),
                number(counts.edges_between_cores), number(counts.lines_written));
}

JsonObject record(const measure::Subject& subject, const std::string& effective, const Counts& counts) {
  JsonObject object;
  object.add("operation", subject.work.name())
      .add("algorithm", subject.spec.name)
      .add("spec", subject.spec.text())
      .add("effective", effective)
      .add("rounds", counts.rounds)
      .add("longest_chain", counts.longest_chain)
      .add("notifications", counts.notifications)
      .add("edges", counts.edges)
      .add("edges_between_cpus", counts.edges_between_cpus)
      .add("edges_between_cores", counts.edges_between_cores)
      .add("lines_written", counts.lines_written);
  if (subject.work.moves_data())
    object.add("size_bytes", static_cast<std::int64_t>(subject.work.bytes))
        .add("transfers", counts.transfers)
        .add("bytes_read", counts.bytes_read)
        .add("bytes_written", counts.bytes_written)
        .add("bytes_between", counts.bytes_between)
        .add("combined", counts.combined)
        .add("steps", counts.steps);
  if (subject.work.reduces())
    object.add("type", to_string(subject.work.type)).add("op", to_string(subject.work.op));
  return object;
}

}  // namespace

int count_command(const std::vector<std::string>& words) {
  const CommandLine arguments(words, command_page("count"));
  const std::vector<measure::Subject> subjects = subjects_of(arguments);
  const std::string cores_by_contexts = arguments.text("--shape", "60x4");
  const std::string machine = arguments.text("--machine", "");
  if (!machine.empty() && arguments.has("--shape"))
    throw ArgumentError("machine", "'" + machine + "' and a shape", "one of the two");
  std::pair<int, int> size;
  if (machine.empty()) {
    size = parse_shape(cores_by_contexts);
  } else {
    const sim::Machine found = sim::load_machine(machine);
    size = {found.p.cores, found.p.contexts_per_core};
  }
  const std::string extent = std::to_string(size.first) + "x" + std::to_string(size.second);
  const std::string where = machine.empty() ? extent : machine;
  const int contexts = size.first * size.second;
  const std::vector<int> ranks = measure::parse_ranks(arguments.text("-n", std::to_string(contexts)));
  const std::string placement = arguments.text("--placement", "compact");
  const bool json = arguments.has("--json");
  std::vector<std::string> objects;
  for (const int count : ranks) {
    bool headed = json;  // the heading comes with the first row, so that what is refused prints none
    for (const measure::Subject& subject : subjects) try {
        const Shape shape =
            machine.empty()
                ? place_ranks(count, uniform_machine(size.first, size.second), parse_placement(placement))
                : sim::shape_that_serves(machine, subject.work, subject.spec, count, placement);
        const std::string effective = in_effect(subject.spec, shape, subject.work.facts()).text();
        const Counts counts = sim::count_collective(subject.work, subject.spec, shape);
        if (!headed) {
          std::printf("%d ranks on %s contexts, %s\n", count, where.c_str(), placement.c_str());
          print_head(subjects.front());
          headed = true;
        }
        if (!json) print_row(subject, effective, counts);
        JsonObject object = record(subject, effective, counts);
        object.add("shape", extent).add("placement", placement).add("ranks", count);
        if (!machine.empty()) object.add("machine", machine);
        objects.push_back(object.text());
      } catch (const ArgumentError& error) {
        // If several were given, those that cannot serve the call are left out.
        if (subjects.size() == 1 || error.argument() != "algorithm") throw;
      }
  }
  if (json) {
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
