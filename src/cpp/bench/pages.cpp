#include "bench/pages.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {
namespace bench {

namespace {

const char* meaning_of_exit(int code) {
  switch (code) {
    case 0:
      return "well";
    case 1:
      return "the machine says no: no memory, a CPU held by another measurement, a full disk";
    case 2:
      return "bad input; nothing was started";
    case 3:
      return "a set of ranks broke, or a subject failed verification; what was measured is kept";
    default:
      return "interrupted; what was measured is kept";
  }
}

constexpr std::size_t most_columns = 110;

// Words in lines of at most `width` characters.
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

const OptionInfo json_option = {"--json", "", "", "print JSON, for programs", ""};

}  // namespace

const std::vector<CommandPage>& command_pages() {
  static const std::vector<CommandPage> pages = {
      {"run",
       "OPERATION [options]",
       "measure; writes JSON Lines (docs/records.md)",
       {
           {"--algorithm", "A,B:ways=3,...", "all,references; with --machine: all",
            "names with parameters, or sets: all, references, paper-001, ...", ""},
           {"--ranks", "2,4,8..32:8", "2", "numbers of ranks", ""},
           {"--size", "8,4K,1M", "8,4K,1M",
            "bytes of the count argument: the message, or one block; not for barriers", ""},
           {"--buffers", "fresh,reused,heap", "fresh",
            "fresh: the owner writes what it sends before each call; reused: once; heap: fresh, "
            "in the group's shared heap (not with --machine)",
            ""},
           {"--type", "T", "float32", "element type of reductions", ""},
           {"--op", "O", "sum", "operator of reductions", ""},
           {"--mode", "threads,processes", "threads", "what a rank is", ""},
           {"--machine", "M", "",
            "simulate M instead of measuring here: a name (phicoll-bench list machines) or a machine file, "
            "perhaps with changes such as xeon-phi-5110p:ring.hop=0",
            ""},
           {"--definition", "loop,window", "loop,window; with --machine: loop",
            "of run time: back-to-back calls; calls from a common start", ""},
           {"--launches", "N", "12", "new threads or processes this often", ""},
           {"--rounds", "N", "8; with --machine: 1",
            "rounds in each launch; simulated: seeds, each with other places of lines and other starts", ""},
           {"--calls", "N", "0", "calls of a loop; 0: about 0.25 ms of them", ""},
           {"--window-calls", "N", "32", "calls of a window sample", ""},
           {"--budget", "S", "0", "stop after so many seconds, the round in hand is finished; 0: no bound",
            ""},
           {"--target-width", "F", "0",
            "stop once every median's interval is narrower than this share; 0: no such rule", ""},
           {"--placement", "P", "compact; with --machine: balanced",
            "compact, scatter, balanced, or CPUs such as 0,2,4-7", ""},
           {"--oversubscribe", "", "", "allow more ranks than CPUs", ""},
           {"--delay-ns", "NS", "0", "between the barriers of a loop", ""},
           {"--imbalance-ns", "NS", "0", "largest random delay of a rank in a loop", ""},
           {"--start", "S", "warm",
            "warm; evicted: the algorithm's flags and slots are in memory alone before each call (window "
            "only)",
            ""},
           {"--wait", "POLICY", "adaptive; with --machine: pause(1)",
            "spin, pause, pause(n), yield, adaptive", ""},
           {"--tuning", "FILE", "PHICOLL_TUNING", "a tuning table that auto asks; none: its rules", ""},
           {"--seed", "N", "drawn; with --machine: 1", "of places, orders and delays", ""},
           {"--libiomp5", "PATH", "", "Intel's OpenMP library, if it is not found by itself", ""},
           {"--lock-wait", "S", "30", "how long to wait for CPUs that another measurement uses", ""},
           {"--episodes", "N", "20", "with --machine: episodes of a sample", ""},
           {"--warm-up", "N", "2", "with --machine: episodes before them", ""},
           {"--skew-ns", "NS", "1000", "with --machine: ranks start within this time of each other", ""},
           {"--jobs", "N", "the CPUs", "with --machine: points that are simulated at the same time", ""},
           {"-o", "FILE", "-", "append here; - is standard output", "--output"},
           {"--resume", "", "", "continue the last run of FILE", ""},
           {"--progress", "", "", "a line on stderr a round, for programs: progress: DONE TOTAL WHAT", ""},
           {"--progress-ack", "", "",
            "the same, and the next round begins once a byte came on stdin, or after 0.3 s: what draws a bar "
            "draws outside of what is timed",
            ""},
       },
       "With --machine, what only threads and processes have is refused: --mode, --launches, --calls, "
       "--window-calls,\n--budget, --target-width, --oversubscribe, --delay-ns, --imbalance-ns, "
       "--libiomp5, --lock-wait.\n",
       {0, 1, 2, 3, 130}},
      {"compare",
       "FILE",
       "a short table of a results file",
       {},
       "Units are lines, one-way transfers of one cache line in the same round, or switches where ranks "
       "share "
       "CPUs.\n`phicoll compare` shows more.\n",
       {0, 2}},
      {"list",
       "[OPERATION | machines | machine NAME] [options]",
       "every algorithm and reference, with parameters; simulated machines",
       {json_option},
       "",
       {0, 2}},
      {"count",
       "OPERATION [options]",
       "rounds, notifications, lines, transfers: exact counts, without running",
       {
           {"--algorithm", "A,B:ways=3,...", "all",
            "names with parameters, or sets; of several, who cannot serve such a call is left out", ""},
           {"--size", "8,4K,1M", "4K",
            "bytes of the count argument: the message, or one block; not for barriers", ""},
           {"--type", "T", "float32", "element type of reductions", ""},
           {"--op", "O", "sum", "operator of reductions", ""},
           {"--machine", "CORESxCONTEXTS", "60x4", "at most 1024 contexts", ""},
           {"--ranks", "2,4,8..32:8", "all contexts", "numbers of ranks", ""},
           {"--placement", "P", "compact", "compact, scatter, balanced", ""},
           json_option,
       },
       "",
       {0, 1, 2}},
      {"explain",
       "OPERATION [options]",
       "why a collective takes its time on a simulated machine: counters, critical path, trace "
       "(docs/explain.md)",
       {
           {"--algorithm", "A:ways=3", "barrier: hybrid-dissemination; others: auto",
            "one algorithm with parameters", ""},
           {"--size", "4K", "4K", "bytes of the message or of a block, where data moves", ""},
           {"--buffers", "B", "fresh", "fresh: written before each call; or reused", ""},
           {"--type", "T", "float32", "element type of reductions", ""},
           {"--op", "OP", "sum", "operator of reductions", ""},
           {"--machine", "M", "xeon-phi-5110p",
            "a name (phicoll-bench list machines) or a machine file, perhaps changed: "
            "xeon-phi-5110p:ring.hop=0",
            ""},
           {"--ranks", "N", "all contexts", "ranks", ""},
           {"--placement", "P", "balanced", "compact, scatter, balanced, or contexts such as 0,4,8-11", ""},
           {"--definition", "D", "loop", "loop, or window: from rest", ""},
           {"--episodes", "N", "20", "episodes that are simulated", ""},
           {"--warm-up", "N", "2", "episodes before them", ""},
           {"--episode", "K", "-1", "whose path, from 0; -1: the one of median time", ""},
           {"--skew-ns", "NS", "1000", "ranks start within this time of each other", ""},
           {"--wait", "POLICY", "pause(1)", "spin, pause, pause(n)", ""},
           {"--seed", "N", "1", "of the places of lines and the starts of ranks", ""},
           {"--links", "N", "60", "so many links of the path are printed", ""},
           {"--trace", "FILE", "", "write the episode as a timeline for Perfetto (Chrome trace events)", ""},
           {"--all-episodes", "", "", "the trace has all episodes, the warm-up included", ""},
           json_option,
       },
       "",
       {0, 1, 2, 3}},
      {"kernel",
       "NAME[:parameter=value...] ... [options]",
       "the papers' memory kernels: read latency, ping-pong, contention, bandwidth (docs/kernels.md)",
       {
           {"--ranks", "2,4,8..32:8", "2", "numbers of ranks", ""},
           {"--state", "M,E,S,F,I", "", "the parameter `state` of each kernel, each value in turn", ""},
           {"--receive", "M,E,S,F,I", "", "the parameter `receive`", ""},
           {"--lines", "N,...", "", "the parameter `lines`", ""},
           {"--machine", "M", "",
            "simulate M instead of measuring here: a name (phicoll-bench list machines) or a machine file, "
            "perhaps with changes such as xeon-phi-5110p:ring.hop=0",
            ""},
           {"--where", "W", "scatter; switch: same-cpu; pair-bandwidth:pattern=across: across-packages",
            "compact, scatter, balanced, CPUs such as 0,4-7, or where the second rank is from the first: "
            "same-cpu, same-core, same-l3, other-l3, other-package, across-packages (half of the ranks "
            "each); "
            "with --machine: same-core, adjacent, middle, maximum, same-package, other-package, "
            "across-packages, or a core",
            ""},
           {"--samples", "N", "1000; with --machine: 200", "samples of each rank", ""},
           {"--wait", "POLICY", "spin", "how ranks poll: spin, pause, pause(n), yield, adaptive", ""},
           {"--seed", "N", "1", "of addresses, and of where lines live on a simulated machine", ""},
           {"--oversubscribe", "", "", "allow more ranks than CPUs", ""},
           {"--lock-wait", "S", "30", "how long to wait for CPUs that another measurement uses", ""},
           {"-o", "FILE", "",
            "append records here (docs/records.md); - is standard output, without the table", "--output"},
       },
       "Kernels: read-latency, ping-pong, multi-line, pair-bandwidth, contention, read-by-all, stream, "
       "switch.\n",
       {0, 1, 2, 3, 130}},
      {"doctor", "", "what on this machine would spoil a measurement", {}, "", {0, 2}},
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
  lines.push_back({"phicoll-bench --version", "", "", "this program's", ""});
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
