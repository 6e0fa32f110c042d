#include "phicoll/measure/sweep_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "phicoll/errors.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double most_seed = 9007199254740992;  // 2^53: a JSON number that every reader keeps

OptionUse refused() {
  return {};
}

OptionUse value(const std::string& standard, double least = 0, double most = no_limit) {
  return {true, standard, "", least, most, {}};
}

// An option without a default value. `words` say what happens without one.
OptionUse otherwise(const std::string& words, double least = 0, double most = no_limit) {
  return {true, "", words, least, most, {}};
}

OptionUse one_of(const std::string& standard, std::vector<std::string> choices) {
  return {true, standard, "", 0, no_limit, std::move(choices)};
}

}  // namespace

const char* to_string(OptionKind kind) {
  static const char* const names[] = {"flag",   "integer", "number", "limit",
                                      "choice", "choices", "list",   "name"};
  return names[static_cast<int>(kind)];
}

const std::vector<SweepOption>& sweep_options() {
  using Kind = OptionKind;
  using Scope = OptionScope;
  const auto every = Scope::every_call;
  static const std::vector<SweepOption> options = {
      {"algorithm", "", "algorithm", Kind::list, "A,B:ways=3,...", every, value("all,references"),
       value("all"), "algorithms with parameters, or sets: all, references, paper-001, ..."},
      {"ranks", "n", "ranks", Kind::list, "2,4,8..32:8", every, value("2"), value("2"), "numbers of ranks"},
      {"machine", "", "machine", Kind::name, "M", every, otherwise("this one"), otherwise(""),
       "simulate this machine: a name (list machines) or a machine file, optionally with changes such as "
       "xeon-phi-5110p:ring.hop=0"},
      {"host", "", "host", Kind::name, "H", every, otherwise("this one"), refused(),
       "measure on this host, which ssh can log in to (phicoll run and Python only)"},
      {"host-bench", "", "host_bench", Kind::name, "PATH", every, otherwise("this host's own"), refused(),
       "with --host: the phicoll-bench that is copied there, or the folder that it was built in"},
      {"sizes", "", "sizes", Kind::list, "8,4K,1M", Scope::data, value("8,4K,1M"), value("8,4K"),
       "bytes of the count argument: the message, or one block; not for barriers"},
      {"buffers", "", "buffers", Kind::choices, "LIST", Scope::data,
       one_of("fresh", {"fresh", "reused", "heap"}), one_of("fresh", {"fresh", "reused"}),
       "fresh: the owner writes what it sends before each call; reused: only once; heap: fresh, in the "
       "group's shared heap (not simulated)"},
      {"type", "", "type", Kind::name, "T", Scope::reductions, value("float32"), value("float32"),
       "element type of reductions"},
      {"op", "", "op", Kind::name, "OP", Scope::reductions, value("sum"), value("sum"),
       "operator of reductions"},
      {"class", "", "problem_class", Kind::list, "S,W", Scope::programs, otherwise("the program's first"),
       otherwise("the program's first"), "of a program: classes, which say how large its input is"},
      {"way", "", "way", Kind::list, "put,get", Scope::programs, otherwise("the program's first"),
       otherwise("the program's first"), "of a program that moves data in several ways: which of them"},
      {"mode", "", "mode", Kind::choices, "LIST", every, one_of("threads", {"threads", "processes"}),
       refused(), "what a rank is: threads, processes or both"},
      {"definition", "", "definition", Kind::choices, "LIST", every,
       one_of("loop,window", {"loop", "window"}), one_of("loop", {"loop", "window"}),
       "what is timed: loop, calls back to back; window, each call from a common start. With --start "
       "evicted: window"},
      {"launches", "", "launches", Kind::integer, "N", every, value("12", 1, 100000), refused(),
       "how often new threads or processes are started"},
      {"rounds", "", "rounds", Kind::integer, "N", every, value("8", 1, 1000000), value("1", 1, 100000),
       "rounds in each launch; simulated: seeds, which change where lines lie and when ranks start"},
      {"calls", "", "calls", Kind::integer, "N", every, otherwise("about 0.25 ms worth", 1, 100000000),
       value("20", 1, 100000),
       "calls in a loop sample; simulated: in any sample; of a program, 2 of its iterations"},
      {"window-calls", "", "window_calls", Kind::integer, "N", every, value("32", 1, 100000), refused(),
       "calls in a window sample"},
      {"warm-up", "", "warm_up", Kind::integer, "N", every, refused(), value("2", 0, 100000),
       "untimed calls before a sample; of a program, 1 iteration"},
      {"budget", "", "budget_s", Kind::limit, "S", every, value("20"), value("40"),
       "stop after about this many seconds, once the current round is finished; simulated: without the "
       "points that are left; none: when all are done"},
      {"target-width", "", "target_width", Kind::limit, "F", every, value("none"), refused(),
       "stop once every median's interval is narrower than this share of the median"},
      {"placement", "", "placement", Kind::name, "P", every, value("compact"), value("balanced"),
       "compact, scatter, balanced, or CPUs such as 0,2,4-7"},
      {"oversubscribe", "", "oversubscribe", Kind::flag, "", every, value(""), refused(),
       "allow more ranks than CPUs"},
      {"delay-ns", "", "delay_ns", Kind::number, "NS", every, value("0"), value("0", 0, 1e9),
       "delay between the calls of a loop, taken off their times"},
      {"imbalance-ns", "", "imbalance_ns", Kind::number, "NS", every, value("0"), refused(),
       "largest random delay of a rank in a loop"},
      {"skew-ns", "", "skew_ns", Kind::number, "NS", every, refused(), value("1000", 0, 1e9),
       "ranks start, and enter each call of a window, within this time of each other"},
      {"start", "", "start", Kind::choice, "S", every, one_of("warm", {"warm", "evicted"}),
       one_of("warm", {"warm", "evicted"}),
       "warm; or evicted: before each call the algorithm's flags and slots are in memory alone "
       "(--definition window only)"},
      {"wait", "", "wait", Kind::name, "POLICY", every, value("adaptive"), value("pause(1)"),
       "how a rank waits: spin, pause, pause(n), yield, adaptive"},
      {"tuning", "", "", Kind::name, "FILE", every, otherwise("PHICOLL_TUNING"), otherwise("PHICOLL_TUNING"),
       "tuning table that auto asks before its rules; none: rules only"},
      {"seed", "", "seed", Kind::integer, "N", every, otherwise("random", 0, most_seed),
       value("1", 0, most_seed), "seed of places, orders and delays"},
      {"libiomp5", "", "", Kind::name, "PATH", every, otherwise("found in the usual places"), refused(),
       "Intel's OpenMP library"},
      {"lock-wait", "", "lock_wait_s", Kind::number, "S", every, value("30"), refused(),
       "seconds to wait for CPUs in use by another measurement"},
      {"jobs", "", "jobs", Kind::integer, "N", every, refused(), otherwise("one for each CPU", 1, 1024),
       "points simulated at the same time"},
      {"output", "o", "save", Kind::name, "FILE", every, otherwise("standard output"),
       otherwise("standard output"), "append every record to this file as it is measured (JSON Lines)"},
      {"resume", "", "resume", Kind::flag, "", every, value(""), value(""),
       "continue the last run in FILE; phicoll-bench without -o: in the file that is its standard input"},
      {"progress", "", "", Kind::flag, "", every, value(""), value(""),
       "print a line on stderr each round, for programs: progress: DONE TOTAL WHAT"},
      {"progress-ack", "", "", Kind::flag, "", every, value(""), value(""),
       "the same, but the next round waits for a byte on stdin, or 0.3 s: no progress bar is drawn while "
       "calls are timed"},
  };
  return options;
}

const SweepOption& sweep_option(const std::string& name) {
  for (const SweepOption& option : sweep_options())
    if (option.name == name) return option;
  throw Error("a sweep has no option '" + name + "'");
}

namespace {

std::string default_of(const std::string& name, bool simulated) {
  const OptionUse& use = sweep_option(name).use(simulated);
  if (use.standard.empty()) throw Error("the option '" + name + "' of a sweep has no default");
  return use.standard;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

[[noreturn]] void refuse(const SweepOption& option, const std::string& got, const std::string& allowed) {
  throw ArgumentError(option.name, "'" + got + "'", allowed);
}

void check_integer(const SweepOption& option, const OptionUse& use, const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  const auto value = static_cast<double>(number);
  if (text.empty() || end != text.c_str() + text.size() || value < use.least || value > use.most)
    refuse(option, text,
           "a whole number from " + std::to_string(static_cast<long long>(use.least)) + " to " +
               std::to_string(static_cast<long long>(use.most)));
}

void check_number(const SweepOption& option, const OptionUse& use, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size() && std::isfinite(number);
  if (option.kind == OptionKind::limit) {
    if (text != "none" && (!whole || number <= 0)) refuse(option, text, "a number above 0, or none");
  } else if (!whole || number < use.least || number > use.most) {
    refuse(option, text,
           std::isfinite(use.most)
               ? "a number from " + json_number(use.least) + " to " + json_number(use.most)
               : "a number, " + json_number(use.least) + " or above");
  }
}

void check_choices(const SweepOption& option, const OptionUse& use, const std::string& text) {
  const bool several = option.kind == OptionKind::choices;
  for (const std::string& part : several ? split_list(text) : std::vector<std::string>{text})
    if (std::find(use.choices.begin(), use.choices.end(), part) == use.choices.end())
      refuse(option, part, joined(use.choices) + (several ? ", separated by commas" : ""));
}

void check(const SweepOption& option, const OptionUse& use, const std::string& text) {
  switch (option.kind) {
    case OptionKind::integer:
      return check_integer(option, use, text);
    case OptionKind::number:
    case OptionKind::limit:
      return check_number(option, use, text);
    case OptionKind::choice:
    case OptionKind::choices:
      return check_choices(option, use, text);
    default:
      return;  // a flag has no value; lists and names are checked where they are parsed
  }
}

}  // namespace

std::string native_text(const std::string& name) {
  return default_of(name, false);
}
int native_integer(const std::string& name) {
  return std::atoi(native_text(name).c_str());
}
std::string simulated_text(const std::string& name) {
  return default_of(name, true);
}
int simulated_integer(const std::string& name) {
  return std::atoi(simulated_text(name).c_str());
}
double simulated_number(const std::string& name) {
  return std::strtod(simulated_text(name).c_str(), nullptr);
}

SweepValues::SweepValues(const Work& work, std::map<std::string, std::string> given)
    : work_(work), given_(std::move(given)) {
  std::vector<std::string> names;
  for (const SweepOption& option : sweep_options()) names.push_back(option.name);
  for (const auto& one : given_)
    if (std::find(names.begin(), names.end(), one.first) == names.end())
      throw ArgumentError("option", "'" + one.first + "'", nearest_or_all(one.first, names));
  for (const SweepOption& option : sweep_options()) {
    const auto found = given_.find(option.name);
    if (found == given_.end()) continue;
    const std::string& text = found->second;
    const OptionUse& use = option.use(simulated());
    if (!use.taken)
      refuse(option, text,
             simulated() ? "only without a machine: simulated runs do not have it"
                         : "only with a machine to simulate");
    if (option.scope == OptionScope::programs) {
      if (!work.program.any()) refuse(option, text, "only with programs");
    } else if (option.scope != OptionScope::every_call && !work.moves_data()) {
      refuse(option, text, "only where data moves");
    }
    if (option.scope == OptionScope::reductions && !work.reduces())
      refuse(option, text, "only with reductions");
    check(option, use, text);
  }
}

std::string SweepValues::text(const std::string& name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? sweep_option(name).use(simulated()).standard : found->second;
}

std::int64_t SweepValues::integer(const std::string& name) const {
  return std::strtoll(text(name).c_str(), nullptr, 10);
}

double SweepValues::number(const std::string& name) const {
  return std::strtod(text(name).c_str(), nullptr);  // 0 for "none"
}

std::vector<std::string> SweepValues::choices(const std::string& name) const {
  std::vector<std::string> chosen;
  for (const std::string& part : split_list(text(name)))
    if (std::find(chosen.begin(), chosen.end(), part) == chosen.end()) chosen.push_back(part);
  return chosen;
}

std::vector<std::string> SweepValues::definitions() const {
  if (!has("definition") && text("start") == "evicted") return {"window"};
  if (!has("definition") && work_.program.any()) return {"loop"};
  return choices("definition");
}

std::vector<Work> SweepValues::works() const {
  Work work = work_;
  std::vector<Work> works;
  if (work.program.any() && (has("class") || has("way"))) {
    const programs::ProgramChoice& given = work.program;
    const std::vector<programs::ProgramWay>& ways = given.info().facts.ways;
    const std::string way = ways.empty() ? "" : ways[static_cast<std::size_t>(given.way)].name;
    for (const programs::ProgramChoice& choice :
         programs::parse_choices(given.program, has("class") ? text("class") : std::string(1, given.problem),
                                 has("way") ? text("way") : way)) {
      work.set_program(choice);
      works.push_back(work);
    }
    return works;
  }
  if (!work.moves_data()) return {work};
  if (work.reduces()) {
    work.type = parse_type(text("type"));
    work.op = parse_op(text("op"));
  }
  for (const std::uint64_t size : parse_sizes(text("sizes")))
    for (const std::string& buffers : choices("buffers")) {
      work.bytes = size;
      work.set_buffers(buffers);
      check_work(work);
      works.push_back(work);
    }
  return works;
}

}  // namespace measure
}  // namespace phicoll
