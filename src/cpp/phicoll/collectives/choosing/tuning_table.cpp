#include "phicoll/collectives/choosing/tuning_table.hpp"

#include <algorithm>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/input_file.hpp"
#include "phicoll/os/text_file.hpp"
#include "phicoll/support/digits.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"
#include "phicoll/support/text_hash.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {

namespace {

constexpr std::size_t most_text = std::size_t{1} << 20;
constexpr const char* first_line = "phicoll tuning 1";
constexpr const char* line_forms =
    "'machine NAME', 'host FINGERPRINT', 'cost NAME TENTHS_OF_NS', 'number NAME VALUE', or 'OPERATION MODE "
    "RANKS/CPUS FROM_BYTES SPEC'";

std::string joined(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (text.empty() ? "" : " ") + words[i];
  return text;
}

/// Where an error is: the beginning of its message.
struct Line {
  std::string where;
  [[noreturn]] void refuse(const std::string& got, const std::string& allowed) const {
    throw ArgumentError("tuning", where + got, allowed);
  }
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

constexpr const char* mode_names[] = {"threads", "processes", "simulated", "any"};  // as TuningMode

TuningMode mode_of(const std::string& text, const Line& line) {
  const auto* const name = std::find(std::begin(mode_names), std::end(mode_names), text);
  if (name == std::end(mode_names)) line.refuse("mode '" + text + "'", "threads, processes, simulated, any");
  return static_cast<TuningMode>(name - mode_names);
}

/// What `make` makes. Its ArgumentError becomes this line's, which says `got` in place of what the error got.
template <class Make>
auto read_by(const Line& line, const Make& make, const std::string& got = "") -> decltype(make()) {
  try {
    return make();
  } catch (const ArgumentError& error) {
    const std::string argument = error.argument().empty() ? "" : error.argument() + " ";
    line.refuse(got.empty() ? argument + error.got() : got, error.allowed());
  }
}

constexpr const char* in_place_word = "in-place";

/// A parameter of an operation's algorithm, or of the first that has it if `algorithm` is empty, whose name
/// this sets; null if there is none.
const ParameterInfo* parameter_of(Operation operation, std::string* algorithm, const std::string& name) {
  for (const AlgorithmInfo& info : family(operation).algorithms())
    for (const ParameterInfo& parameter : info.parameters)
      if ((algorithm->empty() || info.name == *algorithm) && parameter.name == name) {
        *algorithm = info.name;
        return &parameter;
      }
  return nullptr;
}

std::string text_of(const std::string& algorithm, const ParameterValues& values) {
  std::string text = algorithm;
  for (const auto& value : values) text += ":" + value.first + "=" + value.second;
  return text;
}

/// Each value must be one that an algorithm of the operation takes.
void check_in_place(const TuningRow& row, const Line& line) {
  const Shape one = Shape::unknown(1);
  for (const auto& value : read_by(line, [&] { return row.values(one); })) {
    std::string algorithm;
    const auto* const known =
        std::find(std::begin(in_place_parameters), std::end(in_place_parameters), value.first);
    if (known == std::end(in_place_parameters) ||
        parameter_of(row.operation, &algorithm, value.first) == nullptr)
      line.refuse("'" + row.given + "'", "direct, far or put, as algorithms for " +
                                             std::string(to_string(row.operation)) +
                                             " have them, such as direct={direct}:far=copied");
    read_by(line, [&] { return family(row.operation).parse(text_of(algorithm, {value})); });
  }
}

TuningRow row_of(const std::vector<std::string>& words, int number, const Line& line) {
  TuningRow row;
  row.operation = operation_of(words[0], line);
  if (words.size() != 5) line.refuse(std::to_string(words.size()) + " words", line_forms);
  row.mode = mode_of(words[1], line);
  try {
    row.group = RowGroup::parse(words[2]);
  } catch (const ArgumentError& error) {
    line.refuse(error.got(), error.allowed());
  }
  row.given = words[4];
  row.line = number;
  row.in_place = words[3] == in_place_word;
  if (row.in_place) {
    if (!row.group.by_rule()) line.refuse("'" + words[2] + "' in place", "a rule such as 2/own or */shared");
    check_in_place(row, line);
    return row;
  }
  const Shape least = Shape::unknown(row.group.least);
  const std::string from = "from '" + words[3] + "' bytes";
  row.from = words[3];
  read_by(
      line, [&] { return row.begins(least); }, from);
  if (row.operation == Operation::barrier && row.from != "0") line.refuse(from + " for a barrier", "0");
  const AlgorithmSpec spec = read_by(line, [&] { return row.spec(least); });
  if (spec.is_auto() && !row.is_auto())
    line.refuse("'" + row.given + "'", "auto alone, which leaves it to the built-in rules");
  return row;
}

/// A field's name in a table: `further-line`.
template <class Field>
std::string name_in_table(const Field& field) {
  std::string name = field.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// Reads "cost local 86" or "number rotate 24576".
template <class Field, std::size_t n>
std::pair<const Field*, std::int64_t> setting_of(const Field (&fields)[n], const char* unit,
                                                 const std::vector<std::string>& words, const Line& line) {
  std::vector<std::string> names;
  for (const Field& field : fields) {
    names.push_back(name_in_table(field));
    if (words.size() != 3 || words[1] != names.back()) continue;
    const long long value = whole_number(words[2], field.most);
    if (value < field.least)
      line.refuse(words[0] + " '" + words[1] + " " + words[2] + "'",
                  unit + ("a whole number from " + std::to_string(field.least)) + " to " +
                      std::to_string(field.most));
    return {&field, value};
  }
  line.refuse("'" + joined(words, 0) + "'",
              words[0] + " NAME VALUE; names: " + nearest_or_all(words.size() > 1 ? words[1] : "", names));
}

/// Computed values may not go together.
bool can_serve(const TuningRow& row, const Shape& shape, const CallFacts& facts) {
  try {
    return row.is_auto() || family(row.operation).fits(row.spec(shape), shape, facts);
  } catch (const ArgumentError&) {
    return false;
  }
}

}  // namespace

const char* to_string(TuningMode mode) {
  return mode_names[static_cast<int>(mode)];
}

Computed TuningRow::begins(const Shape& shape) const {
  return computed(from, shape.host(), shape.size(), Round::up);
}

AlgorithmSpec TuningRow::spec(const Shape& shape) const {
  const bool as_written = given.find('{') == std::string::npos;
  return family(operation).parse(as_written ? given
                                            : text_of(given.substr(0, given.find(':')), values(shape)));
}

ParameterValues TuningRow::values(const Shape& shape) const {
  const std::vector<std::string> parts = split(in_place ? ":" + given : given, ':');
  ParameterValues values = given_values(parts);
  for (auto& value : values) {
    const std::string text = value.second;
    if (text.size() < 3 || text.front() != '{' || text.back() != '}') continue;
    std::string algorithm = parts[0];
    const ParameterInfo* const parameter = parameter_of(operation, &algorithm, value.first);
    if (parameter == nullptr || !parameter->choices.empty()) continue;
    const Computed size = computed(text.substr(1, text.size() - 2), shape.host(), shape.size(), Round::down);
    long number = std::max(parameter->least, static_cast<long>(size.value));
    if (number > parameter->most) number = in_place ? 0 : parameter->most;
    value.second = std::to_string(number);
  }
  return values;
}

std::string TuningRow::text() const {
  return std::string(to_string(operation)) + " " + to_string(mode) + " " + group.text() + " " +
         (in_place ? in_place_word : from) + " " + given;
}

TuningTable TuningTable::parse(const std::string& text, const std::string& name) {
  TuningTable table;
  table.name_ = name;
  table.source_ = text;
  std::map<std::string, int> lines;  // what may be said once
  int number = 0;
  for (const std::string& whole_line : split(text, '\n')) {
    const Line line{name + ":" + std::to_string(++number) + ": "};
    const std::string begins = "'" + printable(whole_line.substr(0, 80)) + "'";
    if (utf8_prefix(whole_line) != whole_line.size())
      line.refuse(begins + ", which is not UTF-8", "a text in UTF-8");
    const std::vector<std::string> words = os::split_words(whole_line.substr(0, whole_line.find('#')));
    if (number == 1) {
      if (joined(words, 0) != first_line)
        line.refuse(text.empty() ? "nothing" : begins, "'" + std::string(first_line) + "' as first line");
      continue;
    }
    if (words.empty()) continue;
    const auto once = [&](const std::string& what, const std::string& said) {
      const auto first = lines.emplace(what, number);
      if (!first.second)
        line.refuse("a second " + said, "one, which line " + std::to_string(first.first->second) + " is");
    };
    const std::string word = words[0], named = word + (words.size() > 1 ? " '" + words[1] + "'" : "");
    if (word == "machine" || word == "host") {
      const bool machine = word == "machine";
      if (words.size() < 2) line.refuse("no value", word + (machine ? " NAME" : " FINGERPRINT"));
      once(word, "'" + word + "'");
      (machine ? table.machine_ : table.host_) = joined(words, 1);
      (machine ? table.machine_line_ : table.host_line_) = number;
    } else if (word == "cost") {
      const auto cost = setting_of(line_cost_fields, "tenths of a nanosecond, ", words, line);
      once(named, named);
      table.costs_.insert(cost);
      table.line_costs_.*cost.first->value = cost.second;
    } else if (word == "number") {
      table.numbers_.insert(setting_of(host_number_fields, "", words, line));
      once(named, named);
    } else {
      TuningRow row = row_of(words, number, line);
      const std::size_t comment = whole_line.find("# ");
      if (comment != std::string::npos) row.why = whole_line.substr(comment + 2);
      const std::string all = row.text();
      once(all.substr(0, all.size() - row.given.size()), "row for '" + joined(words, 0) + "'");
      table.rows_.push_back(std::move(row));
    }
  }
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
  for (const auto& cost : costs_)
    all += "cost " + name_in_table(*cost.first) + " " + std::to_string(cost.second) + "\n";
  for (const auto& number : numbers_)
    all += std::string("number ") + number.first->name + " " + std::to_string(number.second) + "\n";
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
  return hexadecimal(text_hash(text()));
}

TuningTable::Found TuningTable::find(const Shape& shape, const CallFacts& facts, TuningMode mode,
                                     int cpus) const {
  const Found found = measured(shape, facts, mode, cpus);
  return found.ranks != 0 ? found : by_rule(shape, facts, mode);
}

TuningTable::Found TuningTable::measured(const Shape& shape, const CallFacts& facts, TuningMode mode,
                                         int cpus) const {
  const int ranks = shape.size();
  const auto sharing = shape.sharing() ? RowGroup::Cpus::shared : RowGroup::Cpus::own;
  // Below 0 if a is nearer to a number than b by ratio, above 0 if b is.
  const auto nearer = [](int a, int b, int to) {
    const long long far_a = static_cast<long long>(std::max(a, to)) * std::min(b, to),
                    far_b = static_cast<long long>(std::max(b, to)) * std::min(a, to);
    return far_a < far_b ? -1 : far_a > far_b ? 1 : 0;
  };
  const auto precedes = [&](const TuningRow* row_a, const TuningRow* row_b) {
    const RowGroup &a = row_a->group, &b = row_b->group;
    const int by_ranks = nearer(a.least, b.least, ranks);
    if (by_ranks != 0) return by_ranks < 0;
    return a.least != b.least ? a.least < b.least : nearer(a.cpus, b.cpus, cpus) < 0;
  };
  std::vector<const TuningRow*> rows;
  for (const TuningRow& row : rows_)
    if (row.operation == facts.operation && row.serves(mode) && !row.group.by_rule() &&
        row.group.sharing == sharing)
      rows.push_back(&row);
  Found found;
  if (rows.empty()) return found;
  const RowGroup& group = (*std::min_element(rows.begin(), rows.end(), precedes))->group;
  found.ranks = group.least;
  found.cpus = group.cpus;
  found.exact = found.ranks == ranks && found.cpus == cpus;
  for (const TuningRow* const row : rows) {
    if (!(row->group == group)) continue;
    const std::size_t from = row->begins(shape).value;
    if (from > facts.bytes) {
      found.most = std::min(found.most, from - 1);
    } else if (from >= found.least) {
      found.row = row;
      found.least = from;
    }
  }
  return found;
}

TuningTable::Found TuningTable::by_rule(const Shape& shape, const CallFacts& facts, TuningMode mode) const {
  Found found;
  for (auto from = rows_.begin(), to = from; from != rows_.end(); from = to) {
    while (to != rows_.end() && to->operation == from->operation && to->mode == from->mode &&
           to->in_place == from->in_place && to->group == from->group)
      ++to;
    if (from->operation != facts.operation || !from->serves(mode) || from->in_place ||
        !from->group.by_rule() || !from->group.serves(shape, facts))
      continue;
    found = of_rules(from, to, shape, facts);
    if (found.row != nullptr && can_serve(*found.row, shape, facts)) break;
  }
  return found;
}

TuningTable::Found TuningTable::of_rules(Rows from, Rows to, const Shape& shape, const CallFacts& facts) {
  Found found;
  found.ranks = shape.size();
  found.exact = true;
  const auto note = [&](const Computed& size) {
    if (size.number == nullptr) return;
    found.numbers += (found.numbers.empty() ? "" : ", ") + std::string(size.number->name) + "=" +
                     std::to_string(shape.host().*size.number->value);
  };
  for (auto row = from; row != to; ++row) {
    // Numbers are measured one by one, so a later row may seem to begin before an earlier one.
    Computed begins = row->begins(shape);
    begins.value = std::max(begins.value, found.least);
    if (facts.bytes < begins.value) {
      found.most = begins.value - 1;
      note(begins);
      break;
    }
    found.row = &*row;
    found.least = begins.value;
    found.numbers.clear();
    note(begins);
  }
  return found;
}

const TuningRow* TuningTable::in_place(const Shape& shape, Operation operation, TuningMode mode) const {
  const CallFacts facts = call_of(operation);
  for (const TuningRow& row : rows_)
    if (row.in_place && row.operation == operation && row.serves(mode) && row.group.serves(shape, facts))
      return &row;
  return nullptr;
}

std::pair<const TuningRow*, const TuningRow*> TuningTable::border(Operation operation,
                                                                  std::int64_t HostNumbers::*number) const {
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    const TuningRow &before = rows_[i - 1], &row = rows_[i];
    if (row.operation != operation || before.operation != operation || row.in_place ||
        !(row.group == before.group))
      continue;
    const HostNumberField* const named = row.begins(Shape::unknown(1)).number;
    if (named != nullptr && named->value == number) return {&before, &row};
  }
  return {nullptr, nullptr};
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
