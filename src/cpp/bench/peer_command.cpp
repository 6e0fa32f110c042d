// A set of ranks driven by another program, which compares other systems in the same rounds. Between two
// commands every rank sleeps in the kernel.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/measure/clock_facts.hpp"
#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/round_probe.hpp"
#include "phicoll/measure/sample.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/verification.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace bench {

namespace {

// The name=value words that follow a command's first words.
class Options {
 public:
  explicit Options(std::istringstream& words) {
    std::string word;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw ArgumentError("command", "'" + word + "'", "name=value");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  std::string text(const char* name, const char* otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  double number(const char* name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
  }

 private:
  std::map<std::string, std::string> values_;
};

constexpr double lock_wait_s = 300;

class Peer {
 public:
  Peer(const measure::SetConfig& config, const Shape& shape, const measure::ClockFacts& clock)
      : clock_(clock.clock) {
    set_.mode = config.mode;
    set_.shape = measure::tuned(shape, config.mode);
    const measure::WorkerSet::Program program = {"/proc/self/exe", {"--worker", config.mode}, {}};
    set_.workers.reset(new measure::WorkerSet(config, program, most_calls, clock_));
  }

  JsonObject obey(const std::string& line) {
    std::istringstream words(line);
    std::string operation;
    words >> operation;
    if (operation == "probe") return probe(words);
    return sample(operation, words);
  }

 private:
  static constexpr std::size_t most_calls = 4096;  // of a window sample

  std::size_t place_of(std::uint64_t seed, std::size_t footprint) const {
    constexpr std::size_t first = 4096;
    constexpr std::size_t span = std::size_t{8} << 20;
    const std::size_t limit = GroupOptions().memory_limit;
    if (first + footprint > limit)
      throw ArgumentError("algorithm", std::to_string(footprint) + " bytes of shared memory",
                          "at most the group's limit of " + std::to_string(limit - first));
    const std::size_t room = std::min(span, limit - first - footprint);
    return first + static_cast<std::size_t>(Random(seed).below(room / 64 + 1)) * 64;
  }

  JsonObject probe(std::istringstream& words) {
    const auto seed = static_cast<std::uint64_t>(Options(words).number("seed", 1));
    JsonObject answer;
    measure::probe_round(set_, place_of(seed, measure::Probes::bytes()), seed).add_to(answer);
    return answer;
  }

  static measure::Work read_work(const std::string& operation, const std::string& size,
                                 const std::string& buffers, const Options& options, int ranks) {
    measure::Work work = measure::parse_call(operation);
    if (!work.moves_data()) return work;
    work.bytes = measure::parse_sizes(size).at(0);
    work.set_buffers(buffers);
    work.type = parse_type(options.text("type", "float32"));
    work.op = parse_op(options.text("op", "sum"));
    measure::check_work(work);
    measure::check_heap(work, ranks);
    return work;
  }

  JsonObject sample(const std::string& operation, std::istringstream& words) {
    std::string size, definition, buffers;
    words >> size >> definition >> buffers;
    if ((definition != "loop" && definition != "window") ||
        (buffers != "fresh" && buffers != "reused" && buffers != "heap"))
      throw ArgumentError("command", "'" + operation + " " + size + " " + definition + " " + buffers + "'",
                          "OPERATION BYTES loop|window fresh|reused|heap [name=value ...]");
    const Options options(words);
    const measure::Work work = read_work(operation, size, buffers, options, set_.shape.size());
    const std::vector<measure::Subject> subjects =
        measure::parse_subjects(options.text("algorithm", "auto"), work);
    if (subjects.size() != 1) throw ArgumentError("algorithm", "several", "one");
    if (measure::is_openmp_reference(subjects[0].info.name))
      throw ArgumentError("algorithm", subjects[0].text(),
                          "another: OpenMP's threads are no ranks of this set");
    const std::string why = measure::why_not(subjects[0], set_.mode, set_.shape);
    if (!why.empty()) throw ArgumentError("algorithm", subjects[0].text(), "another: " + why);

    std::unique_ptr<measure::Point>& point = points_[subjects[0].key()];
    const auto seed = static_cast<std::uint64_t>(options.number("seed", 1));
    const std::size_t place = place_of(
        seed, std::max(measure::Probes::bytes(), measure::subject_footprint(subjects[0], set_.shape)));
    if (!point) {
      point.reset(new measure::Point());
      point->subject = subjects[0];
      point->mode = set_.mode;
      point->ranks = set_.shape.size();
      measure::verify_point(set_, *point, place, seed);
    }
    measure::Settings settings;
    settings.calls = static_cast<int>(options.number("calls", 0));
    settings.window_calls = std::min(settings.calls > 0 ? settings.calls : 32, static_cast<int>(most_calls));
    settings.cap_ns = options.number("cap_ms", 50) * 1e6;
    JsonObject answer;
    answer.add("algorithm", subjects[0].text());
    if (!subjects[0].reference)
      answer.add("effective", measure::effective_subject(subjects[0], set_.shape).text());
    measure::take_sample(set_, *point, definition, settings, clock_, place, seed, answer);
    answer.add("verified", point->verified);
    if (!point->error.empty()) answer.add("error", point->error);
    std::vector<int> cpus;
    for (int r = 0; r < point->ranks; ++r) cpus.push_back(set_.workers->report(r).cpu);
    answer.raw("cpus", json_integers(cpus));
    return answer;
  }

  measure::StampClock clock_;
  measure::LiveSet set_;
  std::map<std::string, std::unique_ptr<measure::Point>> points_;
};

void answer(const JsonObject& object) {
  std::puts(object.text().c_str());
  std::fflush(stdout);
}

}  // namespace

int peer_command(const std::vector<std::string>& words) {
  // RANKS MODE PLACEMENT [WAIT]
  if (words.size() < 3 || words.size() > 4)
    throw ArgumentError("peer", std::to_string(words.size()) + " words", "RANKS MODE PLACEMENT [WAIT]");
  measure::SetConfig config;
  config.ranks = measure::parse_ranks(words[0]).at(0);
  config.mode = words[1];
  if (config.mode != "threads" && config.mode != "processes")
    throw ArgumentError("mode", "'" + config.mode + "'", "threads, processes");
  config.placement = words[2];
  config.wait = to_string(parse_wait_policy(words.size() == 4 ? words[3] : "adaptive"));
  const Shape shape = shape_on_host(config.ranks, config.placement);
  for (const CpuLocation& place : shape.places()) config.cpus.push_back(place.cpu);
  // Held as long as the set lives. A program that drives several sets has one at a time.
  const os::CpuLock lock = os::CpuLock::acquire(config.cpus, lock_wait_s);
  const measure::ClockFacts clock = measure::measure_clock();
  Peer peer(config, shape, clock);
  answer(JsonObject()
             .add("ok", true)
             .raw("cpus", json_integers(config.cpus))
             .add("clock", clock.clock.cycle_counter != 0 ? "tsc" : "clock_gettime")
             .add("overhead_ns", clock.overhead_ns));
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      answer(peer.obey(line).add("ok", true));
    } catch (const ArgumentError& error) {
      answer(JsonObject().add("ok", false).add("error", error.what()));
    }
  }
  return 0;
}

}  // namespace bench
}  // namespace phicoll
