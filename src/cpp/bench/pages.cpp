#include "bench/pages.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/measure/sweep_options.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {
namespace bench {

namespace {

const char* meaning_of_exit(int code) {
  switch (code) {
    case 0:
      return "done";
    case 1:
      return "a resource was missing or refused: memory, disk space, a CPU held by another measurement";
    case 2:
      return "bad input; nothing was started";
    case 3:
      return "a group broke, or a subject failed verification; what was measured is kept";
    default:
      return "interrupted; what was measured is kept";
  }
}

constexpr std::size_t most_columns = 110;

// The text in lines of at most `width` characters.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

std::string left_of(const OptionInfo& option) {
  std::string text = option.name;
  if (!option.also.empty()) text += ", " + option.also;
  if (!option.value.empty()) text += " " + option.value;
  return text;
}

std::string option_lines(const std::vector<OptionInfo>& options) {
  std::size_t column = 0;
  for (const OptionInfo& option : options) column = std::max(column, left_of(option).size());
  std::string text;
  for (const OptionInfo& option : options) {
    const std::string meaning =
        option.meaning + (option.standard.empty() ? "" : " [" + option.standard + "]");
    std::string left = left_of(option);
    for (const std::string& line : wrapped(meaning, most_columns - column - 4)) {
      text += "  " + left + std::string(column - left.size() + 2, ' ') + line + "\n";
      left.clear();
    }
  }
  return text;
}

// The default, and that of a simulated sweep if it differs.
std::string defaults_of(const measure::SweepOption& option) {
  const std::string& here = option.native.shown();
  const std::string& there = option.simulated.shown();
  if (!option.native.taken || !option.simulated.taken) return option.native.taken ? here : there;
  return here == there || there.empty() ? here : here + "; with --machine: " + there;
}

OptionInfo sweep_row(const measure::SweepOption& option, const std::string& standard) {
  const std::string name = "--" + option.name;
  if (option.letter.empty()) return {name, option.value, standard, option.help, ""};
  return {"-" + option.letter, option.value, standard, option.help, name};
}

std::vector<OptionInfo> sweep_rows() {
  std::vector<OptionInfo> rows;
  for (const measure::SweepOption& option : measure::sweep_options()) {
    rows.push_back(sweep_row(option, defaults_of(option)));
    if (!option.native.taken) rows.back().meaning = "with --machine: " + option.help;
  }
  return rows;
}

std::string refused_in_simulation() {
  std::string text = "Options that only threads and processes have are refused with --machine:";
  for (const measure::SweepOption& option : measure::sweep_options())
    if (!option.simulated.taken) text += " --" + option.name;
  std::string lines;
  for (const std::string& line : wrapped(text, most_columns)) lines += line + "\n";
  return lines;
}

// A row that another command shares with a sweep, with the default of a simulated sweep.
OptionInfo simulated_row(const std::string& name) {
  const measure::SweepOption& option = measure::sweep_option(name);
  return sweep_row(option, option.simulated.shown());
}

OptionInfo native_row(const std::string& name) {
  const measure::SweepOption& option = measure::sweep_option(name);
  return sweep_row(option, option.native.shown());
}

const OptionInfo size_option = {
    "--size", "4K", "4K", "bytes of the count argument: the message, or one block; not for barriers", ""};
const OptionInfo json_option = {"--json", "", "", "print JSON, for programs", ""};

CommandPage count_page() {
  return {
      "count",
      "OPERATION [options]",
      "count rounds, notifications, lines and transfers exactly, without running",
      {
          {"--algorithm", "A,B:ways=3,...", "all",
           "algorithms with parameters, or sets; if several, those that cannot serve the call are left out",
           ""},
          {"--sizes", "8,4K,1M", "4K", size_option.meaning, ""},
          native_row("type"),
          native_row("op"),
          {"--shape", "60x4", "60x4", "cores x contexts of a core, at most 1024 in all", ""},
          {"--machine", "M", "", "the contexts of a simulated machine instead, and only what it can run", ""},
          {"-n", "2,4,8..32:8", "all contexts", "numbers of ranks", "--ranks"},
          {"--placement", "P", "compact", "compact, scatter, balanced", ""},
          json_option,
      },
      "",
      {0, 1, 2}};
}

CommandPage explain_page() {
  return {"explain",
          "OPERATION [options]",
          "why a collective takes its time on a simulated machine: counters, critical path, trace "
          "(docs/explain.md)",
          {
              {"--algorithm", "A:ways=3", "barrier: hybrid-dissemination; others: auto",
               "one algorithm with parameters", ""},
              size_option,
              {"--buffers", "B", measure::simulated_text("buffers"),
               "fresh: written before each call; reused: only once", ""},
              simulated_row("type"),
              simulated_row("op"),
              {"--machine", "M", "xeon-phi-5110p",
               "a name (phicoll-bench list machines) or a machine file, optionally with changes such as "
               "xeon-phi-5110p:ring.hop=0",
               ""},
              {"-n", "N", "all contexts", "number of ranks", "--ranks"},
              simulated_row("placement"),
              {"--definition", "D", "loop", "loop: calls back to back; window: each call from rest", ""},
              {"--calls", "N", "20", "calls to simulate", ""},
              simulated_row("warm-up"),
              {"--call", "K", "", "the call to explain, from 0 [the one of median time]", ""},
              simulated_row("skew-ns"),
              {"--wait", "POLICY", measure::simulated_text("wait"), "spin, pause, pause(n)", ""},
              simulated_row("seed"),
              {"--links", "N", "60", "links of the path to print", ""},
              {"--memory-limit", "BYTES", "805306368", "bytes that the record of the explained call may take",
               ""},
              {"--trace", "FILE", "", "write the call as a timeline for Perfetto (Chrome trace events)", ""},
              {"--all-calls", "", "", "trace all calls, including the warm-up", ""},
              json_option,
          },
          "",
          {0, 1, 2, 3}};
}

CommandPage kernel_page() {
  return {
      "kernel",
      "NAME[:parameter=value...] ... [options]",
      "the papers' memory kernels: read latency, ping-pong, contention, bandwidth (docs/kernels.md)",
      {
          {"-n", "2,4,8..32:8", "2", "numbers of ranks", "--ranks"},
          {"--state", "M,E,S,F,I", "", "the parameter `state` of each kernel, each value in turn", ""},
          {"--receive", "M,E,S,F,I", "", "the parameter `receive`", ""},
          {"--lines", "N,...", "", "the parameter `lines`", ""},
          {"--machine", "M", "",
           "simulate M instead of measuring here: a name (phicoll-bench list machines) or a machine file, "
           "optionally with changes such as xeon-phi-5110p:ring.hop=0",
           ""},
          {"--mode", "M", "threads", "ranks of this machine: threads or processes", ""},
          {"--where", "W", "scatter; switch: same-cpu; pair-bandwidth:pattern=across: across-packages",
           "compact, scatter, balanced, CPUs such as 0,4-7, or where the second rank is to the first: "
           "same-cpu, same-core, same-l3, other-l3, other-package, across-packages (half of the ranks on "
           "each); with --machine: same-core, adjacent, middle, maximum, same-package, other-package, "
           "across-packages, or a core",
           ""},
          {"--samples", "N", "1000; with --machine: 200", "samples of each rank", ""},
          {"--wait", "POLICY", "spin", "how ranks poll: spin, pause, pause(n), yield, adaptive", ""},
          {"--seed", "N", "1", "seed of addresses, and of where lines live on a simulated machine", ""},
          native_row("oversubscribe"),
          native_row("lock-wait"),
          {"-o", "FILE", "", "append records here (docs/records.md); - is standard output, without the table",
           "--output"},
      },
      "Kernels: read-latency, ping-pong, multi-line, pair-bandwidth, put, get, p, g, atomic, wait-until,\n"
      "contention, read-by-all, stream, switch.\n",
      {0, 1, 2, 3, 130}};
}

}  // namespace

const std::vector<CommandPage>& command_pages() {
  static const std::vector<CommandPage> pages = {
      {"run",
       "OPERATION|PROGRAM [options]",
       "measure, and write JSON Lines (docs/records.md)",
       sweep_rows(),
       refused_in_simulation(),
       {0, 1, 2, 3, 130}},
      {"compare",
       "FILE",
       "print a short table of a results file",
       {},
       "Units are lines (one-way transfers of a cache line in the same round) or, where ranks share CPUs,\n"
       "switches. `phicoll compare` shows more.\n",
       {0, 2}},
      {"list",
       "[OPERATION | programs | machines | machine NAME] [options]",
       "list algorithms and references with their parameters, programs, or simulated machines",
       {json_option},
       "",
       {0, 2}},
      count_page(),
      explain_page(),
      kernel_page(),
      {"doctor", "", "say what on this machine would spoil a measurement", {}, "", {0, 2}},
  };
  return pages;
}

const CommandPage& command_page(const std::string& name) {
  std::vector<std::string> names;
  for (const CommandPage& page : command_pages()) {
    if (page.name == name) return page;
    names.push_back(page.name);
  }
  throw ArgumentError("command", "'" + name + "'", nearest_or_all(name, names));
}

std::string overview_text() {
  std::string text = "phicoll-bench: shared-memory collectives, measured.\n\n";
  std::vector<OptionInfo> lines;
  for (const CommandPage& page : command_pages())
    lines.push_back({"phicoll-bench " + page.name, page.words, "", page.summary, ""});
  lines.push_back({"phicoll-bench --version", "", "", "print the version", ""});
  return text + option_lines(lines) + "\nphicoll-bench COMMAND --help prints a command's options.\n";
}

std::string help_text(const CommandPage& page) {
  std::string text = "phicoll-bench " + page.name + (page.words.empty() ? "" : " " + page.words) + "\n\n" +
                     page.summary + "\n";
  if (!page.options.empty()) text += "\n" + option_lines(page.options);
  if (!page.more.empty()) text += "\n" + page.more;
  text += "\nExit status:\n";
  for (const int code : page.exits) {
    const std::string number = std::to_string(code);
    text += "  " + std::string(3 - number.size(), ' ') + number + "  " + meaning_of_exit(code) + "\n";
  }
  return text;
}

}  // namespace bench
}  // namespace phicoll
