#include "phicoll/collectives/choosing/tuning_table.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/input_file.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/text_hash.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {

namespace {

constexpr std::size_t most_text = std::size_t{1} << 20;
constexpr const char* first_line = "phicoll tuning 1";
constexpr const char* line_forms =
    "'machine NAME', 'host FINGERPRINT', 'cost NAME TENTHS_OF_NS', 'number NAME VALUE', or 'OPERATION MODE "
    "RANKS/CPUS FROM_BYTES "
    "SPEC'";

/// A line's words, without its comment.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c == '#') break;
    if (c == ' ' || c == '\t' || c == '\r') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string joined(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (text.empty() ? "" : " ") + words[i];
  return text;
}

/// Digits only, up to `most`; -1 for anything else.
long long whole(const std::string& text, long long most) {
  if (text.empty() || text.size() > 18) return -1;
  long long value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value <= most ? value : -1;
}

/// How the errors of a table begin: where it is wrong.
class Line {
 public:
  Line(const std::string& table, int number) : where_(table + ":" + std::to_string(number) + ": ") {}
  [[noreturn]] void refuse(const std::string& got, const std::string& allowed) const {
    throw ArgumentError("tuning", where_ + got, allowed);
  }

 private:
  std::string where_;
};

Operation operation_of(const std::string& text, const Line& line) {
  std::vector<std::string> names;
  for (int o = 0; o < operations; ++o) {
    names.emplace_back(to_string(static_cast<Operation>(o)));
    if (names.back() == text) return static_cast<Operation>(o);
  }
  for (const char* const word : {"machine", "host", "cost", "number"}) names.emplace_back(word);
  line.refuse("'" + text + "'", nearest_or_all(text, names));
}

TuningMode mode_of(const std::string& text, const Line& line) {
  for (const TuningMode mode : {TuningMode::threads, TuningMode::processes, TuningMode::simulated})
    if (text == to_string(mode)) return mode;
  line.refuse("mode '" + text + "'", "threads, processes, simulated");
}

TuningRow row_of(const std::vector<std::string>& words, int number, const Line& line) {
  TuningRow row;
  row.operation = operation_of(words[0], line);
  if (words.size() != 5) line.refuse(std::to_string(words.size()) + " words", line_forms);
  row.mode = mode_of(words[1], line);
  const std::size_t slash = words[2].find('/');
  const long long ranks = slash == std::string::npos ? -1 : whole(words[2].substr(0, slash), max_ranks);
  const long long cpus = slash == std::string::npos ? -1 : whole(words[2].substr(slash + 1), 1 << 20);
  if (ranks < 1 || cpus < 1)
    line.refuse("'" + words[2] + "'", "ranks/CPUs such as 8/2, of 1 to " + std::to_string(max_ranks) +
                                          " ranks on 1 to 1048576 CPUs");
  row.ranks = static_cast<int>(ranks);
  row.cpus = static_cast<int>(cpus);
  const long long from = whole(words[3], 1LL << 47);
  if (from < 0) line.refuse("from '" + words[3] + "' bytes", "a whole number from 0 to 140737488355328");
  if (row.operation == Operation::barrier && from != 0)
    line.refuse("from '" + words[3] + "' bytes for a barrier", "0");
  row.from = static_cast<std::size_t>(from);
  row.given = words[4];
  row.line = number;
  try {
    row.spec = family(row.operation).parse(row.given);
  } catch (const ArgumentError& error) {
    // The spec's "argument: got X; allowed: Y" becomes this line's.
    const std::string text = error.what();
    const std::size_t got = text.find("got ");
    const std::size_t allowed = text.find("; allowed: ");
    if (got == std::string::npos || allowed == std::string::npos) line.refuse(text, "a spec");
    line.refuse(error.argument() + " " + text.substr(got + 4, allowed - got - 4), text.substr(allowed + 11));
  }
  if (row.spec.name == "auto" && row.given != "auto")
    line.refuse("'" + row.given + "'", "auto alone, which leaves it to the built-in rules");
  return row;
}

/// A cost's name in a table: `further-line`.
std::string cost_name(const LineCostField& field) {
  std::string name = field.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void set_cost(LineCosts* costs, const std::vector<std::string>& words, const Line& line) {
  std::string names;
  for (const LineCostField& field : line_cost_fields) {
    const std::string name = cost_name(field);
    names += (names.empty() ? "" : ", ") + name;
    if (words.size() != 3 || words[1] != name) continue;
    const long long value = whole(words[2], most_line_cost);
    if (value < 0)
      line.refuse("cost '" + words[2] + "'",
                  "tenths of a nanosecond, a whole number from 0 to " + std::to_string(most_line_cost));
    costs->*field.value = value;
    return;
  }
  line.refuse("'" + joined(words, 0) + "'", "cost NAME TENTHS_OF_NS with a name of " + names);
}

std::pair<const HostNumberField*, std::int64_t> number_of(const std::vector<std::string>& words,
                                                          const Line& line) {
  std::vector<std::string> names;
  for (const HostNumberField& field : host_number_fields) {
    names.emplace_back(field.name);
    if (words.size() != 3 || words[1] != field.name) continue;
    const long long value = whole(words[2], field.most);
    if (value < field.least)
      line.refuse("number '" + words[1] + " " + words[2] + "'",
                  "a whole number from " + std::to_string(field.least) + " to " + std::to_string(field.most));
    return {&field, value};
  }
  line.refuse("'" + joined(words, 0) + "'",
              "number NAME VALUE; names: " + nearest_or_all(words.size() > 1 ? words[1] : "", names));
}

/// Whether a/b is nearer to 1 than c/d, each the larger of two numbers over the smaller.
bool nearer(int a, int b, int c, int d) {
  return static_cast<long long>(a) * d < static_cast<long long>(c) * b;
}

}  // namespace

const char* to_string(TuningMode mode) {
  return mode == TuningMode::threads ? "threads" : mode == TuningMode::processes ? "processes" : "simulated";
}

std::string TuningRow::text() const {
  return std::string(to_string(operation)) + " " + to_string(mode) + " " + std::to_string(ranks) + "/" +
         std::to_string(cpus) + " " + std::to_string(from) + " " + given;
}

TuningTable TuningTable::parse(const std::string& text, const std::string& name) {
  TuningTable table;
  table.name_ = name;
  table.source_ = text;
  // Rows by the calls that they are for.
  std::map<std::tuple<Operation, TuningMode, int, int, std::size_t>, int> lines;
  bool begun = false;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string whole_line = text.substr(at, end - at);
    at = end + 1;
    const Line line(name, ++number);
    if (utf8_prefix(whole_line) != whole_line.size())
      line.refuse("'" + printable(whole_line.substr(0, 80)) + "', which is not UTF-8", "a text in UTF-8");
    const std::vector<std::string> words = words_of(whole_line);
    if (!begun) {
      if (joined(words, 0) != first_line)
        line.refuse("'" + printable(whole_line.substr(0, 80)) + "'",
                    "'" + std::string(first_line) + "' as first line");
      begun = true;
      continue;
    }
    if (words.empty()) continue;
    if (words[0] == "machine" || words[0] == "host") {
      const bool machine = words[0] == "machine";
      std::string& value = machine ? table.machine_ : table.host_;
      int& known = machine ? table.machine_line_ : table.host_line_;
      if (words.size() < 2) line.refuse("no value", words[0] + (machine ? " NAME" : " FINGERPRINT"));
      if (known != 0)
        line.refuse("a second '" + words[0] + "'", "one, which line " + std::to_string(known) + " is");
      value = joined(words, 1);
      known = number;
    } else if (words[0] == "cost") {
      set_cost(&table.costs_, words, line);
      for (const std::string& earlier : table.costs_given_)
        if (earlier == words[1]) line.refuse("a second cost '" + words[1] + "'", "one");
      table.costs_given_.push_back(words[1]);
    } else if (words[0] == "number") {
      const auto given = number_of(words, line);
      for (const auto& earlier : table.numbers_)
        if (earlier.first == given.first) line.refuse("a second number '" + words[1] + "'", "one");
      table.numbers_.push_back(given);
    } else {
      TuningRow row = row_of(words, number, line);
      const auto first =
          lines.emplace(std::make_tuple(row.operation, row.mode, row.ranks, row.cpus, row.from), number);
      if (!first.second)
        line.refuse("a second row for '" + joined(words, 0) + "'",
                    "one, which line " + std::to_string(first.first->second) + " is");
      table.rows_.push_back(std::move(row));
    }
  }
  if (!begun) Line(name, 1).refuse("nothing", "'" + std::string(first_line) + "' as first line");
  return table;
}

TuningTable TuningTable::read(const std::string& path) {
  std::string text;
  os::InputFile file(path);
  if (!file.read_all(most_text, &text))
    throw ArgumentError("tuning", "'" + path + "' (" + file.fault() + ")", "a tuning table that can be read");
  return parse(text, path);
}

std::string TuningTable::text() const {
  std::string all = std::string(first_line) + "\n";
  if (!machine_.empty()) all += "machine " + machine_ + "\n";
  if (!host_.empty()) all += "host " + host_ + "\n";
  for (const LineCostField& field : line_cost_fields)
    for (const std::string& given : costs_given_)
      if (given == cost_name(field))
        all += "cost " + given + " " + std::to_string(costs_.*field.value) + "\n";
  for (const HostNumberField& field : host_number_fields)
    for (const auto& number : numbers_)
      if (number.first == &field)
        all += std::string("number ") + field.name + " " + std::to_string(number.second) + "\n";
  for (const TuningRow& row : rows_) all += row.text() + "\n";
  return all;
}

void TuningTable::apply_numbers(HostNumbers* host) const {
  for (const auto& number : numbers_) host->*number.first->value = number.second;
}

bool TuningTable::sets(const HostNumberField& number) const {
  return std::any_of(numbers_.begin(), numbers_.end(),
                     [&](const auto& given) { return given.first->value == number.value; });
}

std::string TuningTable::digest() const {
  const std::uint64_t hash = text_hash(text());
  std::string digits;
  for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[(hash >> i) & 15u];
  return digits;
}

TuningTable::Found TuningTable::find(Operation operation, TuningMode mode, int ranks, int cpus, bool sharing,
                                     std::size_t bytes) const {
  const auto applies = [&](const TuningRow& row) {
    return row.operation == operation && row.mode == mode && row.sharing() == sharing;
  };
  Found found;
  const auto near = [](int a, int b) { return std::make_pair(std::max(a, b), std::min(a, b)); };
  for (const TuningRow& row : rows_) {
    if (!applies(row)) continue;
    if (found.ranks != 0) {
      const auto best = near(found.ranks, ranks), own = near(row.ranks, ranks);
      if (nearer(best.first, best.second, own.first, own.second)) continue;
      if (!nearer(own.first, own.second, best.first, best.second)) {
        if (row.ranks > found.ranks) continue;  // equally near: fewer ranks win
        const auto best_cpus = near(found.cpus, cpus), own_cpus = near(row.cpus, cpus);
        if (row.ranks == found.ranks &&
            (row.cpus == found.cpus ||
             !nearer(own_cpus.first, own_cpus.second, best_cpus.first, best_cpus.second)))
          continue;
      }
    }
    found.ranks = row.ranks;
    found.cpus = row.cpus;
  }
  if (found.ranks == 0) return found;
  found.exact = found.ranks == ranks && found.cpus == cpus;
  for (const TuningRow& row : rows_) {
    if (!applies(row) || row.ranks != found.ranks || row.cpus != found.cpus) continue;
    if (row.from <= bytes) {
      if (found.row == nullptr || row.from >= found.row->from) found.row = &row;
    } else {
      found.most = std::min(found.most, row.from - 1);
    }
  }
  if (found.row != nullptr) found.least = found.row->from;
  return found;
}

void tune(Shape* shape, const std::shared_ptr<const Tuning>& tuning) {
  shape->set_tuning(tuning);
  if (tuning == nullptr) return;
  if (tuning->table.costs() != nullptr) shape->set_costs(*tuning->table.costs());
  HostNumbers host = shape->host();
  tuning->table.apply_numbers(&host);
  shape->set_host(host);
}

}  // namespace phicoll
