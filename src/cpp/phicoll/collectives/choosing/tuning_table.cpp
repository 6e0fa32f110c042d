#include "phicoll/collectives/choosing/tuning_table.hpp"

#include <algorithm>
#include <map>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/input_file.hpp"
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

/// The beginning of a table's error messages: where the error is.
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
  for (const TuningMode mode :
       {TuningMode::threads, TuningMode::processes, TuningMode::simulated, TuningMode::any})
    if (text == to_string(mode)) return mode;
  line.refuse("mode '" + text + "'", "threads, processes, simulated, any");
}

/// Returns what `make` makes; its ArgumentError is reported for this line.
template <class Make>
auto read_by(const Line& line, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const ArgumentError& error) {
    line.refuse(error.argument() + " " + error.got(), error.allowed());
  }
}

constexpr const char* in_place_word = "in-place";

/// "name=value" parts of a spec, values as written.
ParameterValues parts_of(const std::string& given) {
  ParameterValues parts;
  for (const std::string& part : split(given, ':')) {
    const std::size_t equal = std::min(part.find('='), part.size());
    parts.emplace_back(part.substr(0, equal), part.substr(std::min(equal + 1, part.size())));
  }
  return parts;
}

bool is_expression(const std::string& value) {
  return value.size() > 2 && value.front() == '{' && value.back() == '}';
}

/// The value of a parameter of an operation's algorithm, or of any if `algorithm` is empty; null if there is
/// none.
const ParameterInfo* parameter_of(Operation operation, const std::string& algorithm,
                                  const std::string& name) {
  for (const AlgorithmInfo& info : family(operation).algorithms())
    for (const ParameterInfo& parameter : info.parameters)
      if ((algorithm.empty() || info.name == algorithm) && parameter.name == name) return &parameter;
  return nullptr;
}

/// A value as an algorithm takes it: `{...}` is computed, and kept within the parameter's range.
std::string value_of(const std::string& value, const ParameterInfo* parameter, const Shape& shape) {
  if (!is_expression(value)) return value;
  const Expression expression(value.substr(1, value.size() - 2));
  auto number =
      static_cast<long long>(expression.of(shape.host(), shape.size(), Expression::Round::down).value);
  if (parameter != nullptr)
    number = std::max<long long>(parameter->least, std::min<long long>(number, parameter->most));
  return std::to_string(number);
}

/// A computed value must be an expression, any other a value that an algorithm of the operation accepts.
void check_in_place(const TuningRow& row, const Line& line) {
  for (const auto& part : parts_of(row.given)) {
    const ParameterInfo* const parameter = parameter_of(row.operation, "", part.first);
    if (parameter == nullptr || part.second.empty())
      line.refuse("'" + row.given + "'", "parameters of algorithms for " +
                                             std::string(to_string(row.operation)) +
                                             " such as direct={direct}:far=copied");
    if (is_expression(part.second)) {
      read_by(line, [&] { return value_of(part.second, nullptr, Shape::unknown(1)); });
    } else if (parameter->choices.empty()) {
      const long long value = whole_number(part.second, parameter->most);
      if (value < parameter->least) line.refuse(part.first + " '" + part.second + "'", parameter->range());
    } else if (std::find(parameter->choices.begin(), parameter->choices.end(), part.second) ==
               parameter->choices.end()) {
      line.refuse(part.first + " '" + part.second + "'", nearest_or_all(part.second, parameter->choices));
    }
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
  try {
    row.from = Expression(words[3]);
  } catch (const ArgumentError& error) {
    line.refuse("from '" + words[3] + "' bytes", error.allowed());
  }
  if (row.operation == Operation::barrier && words[3] != "0")
    line.refuse("from '" + words[3] + "' bytes for a barrier", "0");
  const AlgorithmSpec spec = read_by(line, [&] { return row.spec(Shape::unknown(row.group.least)); });
  if (spec.name == "auto" && row.given != "auto")
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
    const long long value = whole_number(words[2], most_line_cost);
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
    const long long value = whole_number(words[2], field.most);
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
  return mode == TuningMode::threads     ? "threads"
         : mode == TuningMode::processes ? "processes"
         : mode == TuningMode::any       ? "any"
                                         : "simulated";
}

std::string TuningRow::expanded(const Shape& shape) const {
  if (given.find('{') == std::string::npos) return given;
  const auto parts = parts_of(given);
  std::string text = parts[0].first;
  for (std::size_t i = 1; i < parts.size(); ++i)
    text += ":" + parts[i].first + "=" +
            value_of(parts[i].second, parameter_of(operation, parts[0].first, parts[i].first), shape);
  return text;
}

AlgorithmSpec TuningRow::spec(const Shape& shape) const {
  return family(operation).parse(expanded(shape));
}

ParameterValues TuningRow::values(const Shape& shape) const {
  ParameterValues values = parts_of(given);
  for (auto& value : values) {
    if (!is_expression(value.second)) continue;
    value.second = value_of(value.second, nullptr, shape);
    // A size beyond what algorithms accept means never.
    if (std::stoll(value.second) > parameter_of(operation, "", value.first)->most) value.second = "0";
  }
  return values;
}

std::string TuningRow::text() const {
  return std::string(to_string(operation)) + " " + to_string(mode) + " " + group.text() + " " +
         (in_place ? in_place_word : from.text()) + " " + given;
}

TuningTable TuningTable::parse(const std::string& text, const std::string& name) {
  TuningTable table;
  table.name_ = name;
  table.source_ = text;
  // Orders rows by the calls that they are for.
  std::map<std::string, int> lines;
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
      const std::size_t comment = whole_line.find("# ");
      if (comment != std::string::npos) row.why = whole_line.substr(comment + 2);
      const std::string all = row.text();
      const auto first = lines.emplace(all.substr(0, all.size() - row.given.size()), number);
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

TuningTable::Found TuningTable::find(const Shape& shape, const CallFacts& facts, TuningMode mode,
                                     int cpus) const {
  const Found found = measured(shape, facts, mode, cpus);
  return found.ranks != 0 ? found : by_rule(shape, facts, mode);
}

TuningTable::Found TuningTable::measured(const Shape& shape, const CallFacts& facts, TuningMode mode,
                                         int cpus) const {
  const int ranks = shape.size();
  const auto sharing = shape.sharing() ? RowGroup::Cpus::shared : RowGroup::Cpus::own;
  const auto applies = [&](const TuningRow& row) {
    return row.operation == facts.operation && row.serves(mode) && !row.group.by_rule() &&
           row.group.sharing == sharing;
  };
  Found found;
  const auto near = [](int a, int b) { return std::make_pair(std::max(a, b), std::min(a, b)); };
  for (const TuningRow& row : rows_) {
    if (!applies(row)) continue;
    if (found.ranks != 0) {
      const auto best = near(found.ranks, ranks), own = near(row.group.least, ranks);
      if (nearer(best.first, best.second, own.first, own.second)) continue;
      if (!nearer(own.first, own.second, best.first, best.second)) {
        if (row.group.least > found.ranks) continue;  // equally near: fewer ranks win
        const auto best_cpus = near(found.cpus, cpus), own_cpus = near(row.group.cpus, cpus);
        if (row.group.least == found.ranks &&
            (row.group.cpus == found.cpus ||
             !nearer(own_cpus.first, own_cpus.second, best_cpus.first, best_cpus.second)))
          continue;
      }
    }
    found.ranks = row.group.least;
    found.cpus = row.group.cpus;
  }
  if (found.ranks == 0) return found;
  found.exact = found.ranks == ranks && found.cpus == cpus;
  for (const TuningRow& row : rows_) {
    if (!applies(row) || row.group.least != found.ranks || row.group.cpus != found.cpus) continue;
    const std::size_t from = row.from.of(shape.host(), ranks, Expression::Round::up).value;
    if (from <= facts.bytes) {
      if (found.row == nullptr || from >= found.least) {
        found.row = &row;
        found.least = from;
      }
    } else {
      found.most = std::min(found.most, from - 1);
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
    if (found.row != nullptr &&
        (found.row->is_auto() || family(facts.operation).fits(found.row->spec(shape), shape, facts)))
      break;
  }
  return found;
}

TuningTable::Found TuningTable::of_rules(Rows from, Rows to, const Shape& shape, const CallFacts& facts) {
  Found found;
  found.ranks = shape.size();
  found.exact = true;
  const auto note = [&](const Expression::Value& size) {
    if (size.number == nullptr) return;
    found.numbers += (found.numbers.empty() ? "" : ", ") + std::string(size.number->name) + "=" +
                     std::to_string(shape.host().*size.number->value);
  };
  for (auto row = from; row != to; ++row) {
    // Numbers are measured one by one, so a later row may seem to begin before an earlier one.
    Expression::Value begins = row->from.of(shape.host(), shape.size(), Expression::Round::up);
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
  CallFacts facts;
  facts.operation = operation;
  for (const TuningRow& row : rows_)
    if (row.in_place && row.operation == operation && row.serves(mode) && row.group.serves(shape, facts))
      return &row;
  return nullptr;
}

namespace {

bool begins_by(const TuningRow& row, const HostNumberField& number) {
  const HostNumberField* const named = row.from.of(HostNumbers(), 1, Expression::Round::up).number;
  return named != nullptr && named->value == number.value;
}

}  // namespace

std::pair<const TuningRow*, const TuningRow*> TuningTable::border(Operation operation,
                                                                  const HostNumberField& number) const {
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    const TuningRow& row = rows_[i];
    if (row.operation == operation && !row.in_place && row.group == rows_[i - 1].group &&
        rows_[i - 1].operation == operation && begins_by(row, number))
      return {&rows_[i - 1], &row};
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
