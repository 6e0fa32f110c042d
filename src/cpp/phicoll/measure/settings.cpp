#include "phicoll/measure/settings.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/support/digits.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace measure {

std::string Settings::json() const {
  std::vector<std::string> texts;
  std::vector<std::string> sizes, buffers;
  const auto add_once = [](std::vector<std::string>& to, const std::string& text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  };
  for (const Subject& subject : subjects) {
    add_once(texts, subject.text());
    add_once(sizes, std::to_string(subject.work.bytes));
    add_once(buffers, subject.work.buffers());
  }
  JsonObject object;
  object.add("launches", launches)
      .add("rounds", rounds)
      .add_if(calls > 0, "calls", calls)
      .add("window_calls", window_calls)
      .raw("definitions", json_strings(definitions))
      .add("delay_ns", delay_ns)
      .add("imbalance_ns", imbalance_ns)
      .add("start", start)
      .add_if(budget_s > 0, "budget_s", budget_s)
      .add_if(target_width > 0, "target_width", target_width, 6)
      .add("placement", placement)
      .add("oversubscribe", oversubscribe)
      .add("wait", wait);
  if (!tuning.empty()) object.add("tuning", tuning);
  if (!numbers.empty()) object.add("host_numbers", numbers);
  object.raw("algorithms", json_strings(texts))
      .raw("ranks", json_integers(ranks))
      .raw("modes", json_strings(modes));
  std::vector<std::string> programs;
  for (const Subject& subject : subjects)
    if (subject.work.program.any()) add_once(programs, subject.work.name());
  if (!programs.empty()) object.raw("programs", json_strings(programs));
  if (!subjects.empty() && subjects.front().work.moves_data()) {
    const Work& work = subjects.front().work;
    object.add("operation", work.name()).raw("sizes", json_list(sizes));
    object.raw("buffers", json_strings(buffers));
    if (work.reduces()) object.add("type", to_string(work.type)).add("op", to_string(work.op));
  }
  return object.text();
}

namespace {

int parse_count(const std::string& whole, const std::string& text) {
  const auto value = static_cast<int>(whole_number(text, max_ranks));
  if (value < 1)
    throw ArgumentError("ranks", "'" + whole + "'",
                        "numbers from 1 to " + std::to_string(max_ranks) + " such as 2,4,8..32:8");
  return value;
}

}  // namespace

void check_heap(const Work& work, int ranks) {
  if (!work.heap) return;
  const std::uint64_t most = heap_bytes_here(GroupOptions(), 1) / 2;
  std::uint64_t all = 0;
  for (int r = 0; r < ranks; ++r)
    all += send_bytes_of(work, r, ranks) + receive_bytes_of(work, r, ranks) + 32768;
  if (all <= most) return;
  throw ArgumentError("size",
                      std::to_string(work.bytes) + " with buffers in the heap, " +
                          std::to_string((all >> 20) + 1) + " MB for " + std::to_string(ranks) +
                          " ranks together",
                      "up to " + std::to_string(most >> 20) + " MB together");
}

Settings parse_settings(const SweepValues& values) {
  for (const char* const name : {"host", "host-bench"})
    if (values.has(name))
      throw ArgumentError(name, "'" + values.text(name) + "'",
                          "phicoll run, which starts phicoll-bench there");
  Settings settings;
  for (const Work& work : values.works())
    for (Subject& subject : parse_subjects(values.text("algorithm"), work))
      settings.subjects.push_back(std::move(subject));
  settings.ranks = parse_ranks(values.text("ranks"));
  settings.modes = values.choices("mode");
  settings.definitions = values.definitions();
  settings.launches = static_cast<int>(values.integer("launches"));
  settings.rounds = static_cast<int>(values.integer("rounds"));
  settings.calls = static_cast<int>(values.integer("calls"));
  settings.window_calls = static_cast<int>(values.integer("window-calls"));
  settings.budget_s = values.number("budget");
  // No estimate for a user who gives a budget.
  settings.estimate = !values.has("budget") || settings.budget_s == 0;
  settings.target_width = values.number("target-width");
  settings.placement = values.text("placement");
  if (settings.placement.empty())
    throw ArgumentError("placement", "''", "compact, scatter, balanced, or a list of CPUs such as 0,2,4-7");
  settings.oversubscribe = values.has("oversubscribe");
  settings.delay_ns = values.number("delay-ns");
  settings.imbalance_ns = values.number("imbalance-ns");
  settings.wait = to_string(parse_wait_policy(values.text("wait")));
  settings.start = values.text("start");
  check_start(settings.start, settings.definitions);
  settings.progress = values.has("progress") || values.has("progress-ack");
  settings.resume = values.has("resume");
  if (values.has("output")) settings.output = values.text("output");
  if (values.has("seed")) settings.seed = static_cast<std::uint64_t>(values.integer("seed"));
  return settings;
}

std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& part : split_list(text)) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      ranks.push_back(parse_count(text, part));
      continue;
    }
    const std::size_t colon = part.find(':', dots);
    const int first = parse_count(text, part.substr(0, dots));
    const int last =
        parse_count(text, part.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2));
    const int step = colon == std::string::npos ? 1 : parse_count(text, part.substr(colon + 1));
    if (last < first)
      throw ArgumentError("ranks", "'" + text + "'",
                          "first..last with first not above last, such as 8..32:8");
    for (int value = first; value <= last; value += step) ranks.push_back(value);
  }
  std::vector<int> unique;
  for (const int value : ranks)
    if (std::find(unique.begin(), unique.end(), value) == unique.end()) unique.push_back(value);
  return unique;
}

void check_start(const std::string& start, const std::vector<std::string>& definitions) {
  if (start != "warm" && start != "evicted") throw ArgumentError("start", "'" + start + "'", "warm, evicted");
  if (start != "evicted" || definitions == std::vector<std::string>{"window"}) return;
  std::string all;
  for (const std::string& definition : definitions) all += (all.empty() ? "" : ",") + definition;
  throw ArgumentError("start", "'evicted' with definition='" + all + "'",
                      "evicted with definition='window' alone: back-to-back calls leave no time to evict");
}

void check_evicted(bool evicted, bool windows) {
  if (evicted) check_start("evicted", {windows ? "window" : "loop"});
}

void check_settings(const Settings& settings) {
  const int allowed = os::allowed_cpu_count();
  bool any = false;
  std::vector<std::string> reasons;
  for (const int ranks : settings.ranks) {
    const Shape shape = shape_on_host(ranks, settings.placement);
    if (!settings.oversubscribe && (ranks > allowed || shape.oversubscribed()))
      throw ArgumentError(
          "ranks", std::to_string(ranks),
          "at most " + std::to_string(allowed) + " (a CPU for each rank) unless --oversubscribe is given");
    for (const Subject& subject : settings.subjects) check_heap(subject.work, ranks);
    for (const Subject& subject : settings.subjects)
      for (const std::string& mode : settings.modes) {
        const std::string reason = why_not(subject, mode, shape);
        any = any || reason.empty();
        const std::string line = subject.info.name + ": " + reason;
        if (std::find(reasons.begin(), reasons.end(), line) == reasons.end()) reasons.push_back(line);
      }
  }
  if (any) return;
  constexpr std::size_t most = 3;  // more reasons would hide the advice
  std::string told;
  for (std::size_t i = 0; i < reasons.size() && i < most; ++i) told += "; " + reasons[i];
  throw ArgumentError("algorithm", "only subjects that do not apply to these ranks and modes",
                      "at least one that does (phicoll-bench list OPERATION)" + told +
                          (reasons.size() > most ? "; ..." : ""));
}

}  // namespace measure
}  // namespace phicoll
