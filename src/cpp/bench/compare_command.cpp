// `phicoll-bench compare`: a short table of a results file. Every entry is a ratio within rounds or an exact
// interval. The Python command `phicoll compare` shows more.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/support/statistics.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {
namespace bench {

namespace {

const double confidence = 0.95;

using RoundKey = std::tuple<std::string, std::string, int, int, int>;  // run, mode, ranks, launch, round

/// Of one table: run, launch, round.
using Round = std::tuple<std::string, int, int>;

struct Value {
  Round round;
  double ns;
  double units;  ///< of the round's ping-pong, or switch where ranks share a CPU; simulated cycles; or NaN
};

struct Row {
  std::string spec;
  bool verified = true;
  std::string error;
  std::vector<Value> values;
};

// What the rows of one table share.
struct Table {
  std::string title;
  std::string unit;
  std::vector<Row> rows;  ///< in order of first appearance
};

// A row's time over the best one's in the same rounds.
struct Ratio {
  Interval logs;
  std::size_t units = 0;
  bool resolved = false;
};

// The operation with its buffers and elements; "" for a barrier.
std::string what_of(const JsonValue& point) {
  std::string what = point["operation"].string;
  if (what.empty() || what == "barrier") return "";
  for (const char* const name : {"buffers", "type", "op"})
    if (!point[name].string.empty()) what += " " + point[name].string;
  return what;
}

double value_of(const JsonValue& sample) {
  if (!sample["value_ns"].is_null()) return sample["value_ns"].number;
  std::vector<double> ns;
  for (const JsonValue& value : sample["ns"].list) ns.push_back(value.number);
  return sample["definition"].string == "window" ? midmean(ns) : largest(ns);
}

std::string cell(double value, int decimals = 2) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Three significant digits, with separators of thousands.
std::string number(double value) {
  if (std::abs(value) < 100) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  std::string text = cell(value, 0);
  const std::ptrdiff_t first = text[0] == '-' ? 1 : 0;
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// The independent values among those of the rounds. Simulated rounds are seeds, which are independent.
std::vector<double> independent(const std::vector<double>& values, const std::vector<int>& launches,
                                bool simulated) {
  return simulated ? values : units_of(values, launches).values;
}

// Median and interval, as `phicoll compare` writes them.
std::string interval_cell(const std::vector<double>& units, double scale, bool simulated) {
  if (units.empty()) return "-";
  const Interval found = median_interval(units, confidence);
  const std::string middle = number(found.value * scale);
  if (simulated && units.size() == 1) return middle;  // one seed has no interval
  return middle + " [" + number(found.low * scale) + ", " + number(found.high * scale) + "]" +
         (found.valid ? "" : " ?");
}

// The rounds on which the best is chosen and those on which it is compared, so that it is not chosen by luck:
// the odd and the even ones, or every other one where all numbers have one parity. One round serves for both.
std::pair<std::vector<int>, std::vector<int>> split_rounds(const std::vector<Round>& rounds) {
  std::vector<int> odd, even;
  for (std::size_t i = 0; i < rounds.size(); ++i)
    (std::get<2>(rounds[i]) % 2 == 1 ? odd : even).push_back(static_cast<int>(i));
  if (odd.empty() || even.empty()) {
    odd.clear();
    even.clear();
    for (std::size_t i = 0; i < rounds.size(); ++i) (i % 2 == 1 ? odd : even).push_back(static_cast<int>(i));
  }
  if (odd.empty()) odd = even;
  return std::make_pair(odd, even);
}

// The ratios of a table's verified rows to the best of them, which is `best`; none for a row that shares no
// round with it.
std::vector<Ratio> ratios_to_best(const std::vector<Row>& rows, std::size_t* best) {
  std::set<Round> all;
  for (const Row& row : rows)
    if (row.verified)
      for (const Value& value : row.values) all.insert(value.round);
  const std::vector<Round> rounds(all.begin(), all.end());
  std::map<Round, int> index;
  for (std::size_t i = 0; i < rounds.size(); ++i) index[rounds[i]] = static_cast<int>(i);
  std::vector<std::map<int, double>> logs(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].verified)
      for (const Value& value : rows[i].values)
        logs[i][index[value.round]] = std::log(std::max(value.ns, smallest_ns));
  const auto chosen_and_compared = split_rounds(rounds);
  *best = choose_best(logs, chosen_and_compared.first);
  std::vector<Ratio> found(rows.size());
  if (*best == rows.size()) return found;

  std::vector<std::vector<double>> units(rows.size());
  std::vector<double> p_values;
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> ratios;
    std::vector<int> launches;
    std::map<std::pair<std::string, int>, int> numbers;
    for (const int round : chosen_and_compared.second) {
      if (i == *best || logs[i].count(round) == 0 || logs[*best].count(round) == 0) continue;
      ratios.push_back(std::exp(logs[i][round] - logs[*best][round]));
      const Round& at = rounds[static_cast<std::size_t>(round)];
      const auto launch = std::make_pair(std::get<0>(at), std::get<1>(at));
      launches.push_back(numbers.emplace(launch, static_cast<int>(numbers.size())).first->second);
    }
    if (ratios.empty()) continue;
    units[i] = units_of(ratios, launches).values;
    for (double& value : units[i]) value = std::log(value);
    p_values.push_back(sign_test(units[i], 0));
    tested.push_back(i);
  }
  const std::vector<double> levels = holm_levels(p_values, confidence);
  for (std::size_t k = 0; k < tested.size(); ++k) {
    Ratio& ratio = found[tested[k]];
    ratio.logs = median_interval(units[tested[k]], levels[k]);
    ratio.units = units[tested[k]].size();
    ratio.resolved = ratio.logs.valid && (ratio.logs.low > 0 || ratio.logs.high < 0);
  }
  return found;
}

std::string ratio_cell(const Ratio& ratio, bool one_seed) {
  if (ratio.units == 0) return "-";
  std::string text = cell(std::exp(ratio.logs.value));
  if (one_seed) return text;
  if (ratio.logs.valid)
    text += " [" + cell(std::exp(ratio.logs.low)) + ", " + cell(std::exp(ratio.logs.high)) + "]";
  if (!ratio.resolved)
    text += " n.s. (" + std::to_string(ratio.units) + (ratio.units == 1 ? " unit)" : " units)");
  return text;
}

void print_table(const Table& table) {
  std::printf("\n%s\n", table.title.c_str());
  const bool simulated = table.unit == "cycles";
  std::size_t best = 0;
  const std::vector<Ratio> ratios = ratios_to_best(table.rows, &best);
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t i) {
    const double ratio = i == best ? -HUGE_VAL : ratios[i].units > 0 ? ratios[i].logs.value : HUGE_VAL;
    return std::make_tuple(!table.rows[i].verified, ratio, table.rows[i].spec);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::printf("%-52s %5s  %-26s %-24s %s\n", "algorithm", "n",
              simulated ? "median us [seeds]" : "median ns [95 %]",
              (table.unit + (simulated ? " [seeds]" : " [95 %]")).c_str(), "ratio to best");
  for (const std::size_t i : order) {
    const Row& row = table.rows[i];
    if (!row.verified) {
      std::printf("%-52s %5zu  not verified%s%s\n", row.spec.substr(0, 52).c_str(), row.values.size(),
                  row.error.empty() ? "" : ": ", row.error.c_str());
      continue;
    }
    std::vector<double> ns, units;
    std::vector<int> launches, unit_launches;
    std::map<std::pair<std::string, int>, int> numbers;
    for (const Value& value : row.values) {
      const auto launch = std::make_pair(std::get<0>(value.round), std::get<1>(value.round));
      const int of = numbers.emplace(launch, static_cast<int>(numbers.size())).first->second;
      ns.push_back(value.ns);
      launches.push_back(of);
      if (!std::isfinite(value.units)) continue;
      units.push_back(value.units);
      unit_launches.push_back(of);
    }
    const bool one_seed = simulated && row.values.size() == 1;
    std::printf("%-52s %5zu  %-26s %-24s %s\n", row.spec.substr(0, 52).c_str(), row.values.size(),
                interval_cell(independent(ns, launches, simulated), simulated ? 1e-3 : 1, simulated).c_str(),
                interval_cell(independent(units, unit_launches, simulated), 1, simulated).c_str(),
                i == best ? "1 (best)" : ratio_cell(ratios[i], one_seed).c_str());
  }
}

// A point's setting in words: what the rows of its table share.
std::string title_of(const JsonValue& point, const JsonValue& sample, const JsonValue& probe,
                     const std::string& unit) {
  std::string title;
  const std::string what = what_of(point);
  if (!what.empty()) title = what + ", " + number(point["size_bytes"].number) + " bytes, ";
  title += number(point["ranks"].number) + " ranks as " + point["mode"].string;
  if (point["mode"].string == "simulated")
    title += " on " + point["machine"].string + ", " + point["placement"].string;
  title += ", " + sample["definition"].string;
  if (sample["delay_ns"].number > 0 || sample["imbalance_ns"].number > 0)
    title += " with delay " + cell(sample["delay_ns"].number, 0) + " and imbalance " +
             cell(sample["imbalance_ns"].number, 0) + " ns";
  const std::string& start = point["start"].string;
  if (!start.empty() && start != "warm") title += ", " + start + " start";
  if (!probe["label"].string.empty()) title += ", " + probe["label"].string;
  return title + "; in " + unit;
}

/// Makes all texts of a record, which may be anybody's, such that a terminal shows them.
void make_printable(JsonValue* value) {
  value->string = printable_line(value->string);
  for (JsonValue& one : value->list) make_printable(&one);
  for (auto& member : value->object) make_printable(&member.second);
}

}  // namespace

int compare_command(const std::vector<std::string>& words) {
  const CommandLine arguments(words, command_page("compare"));
  if (arguments.alone().size() != 1)
    throw ArgumentError("file", std::to_string(arguments.alone().size()) + " names", "one results file");
  const std::string path = arguments.alone()[0];
  measure::RecordLines file = measure::read_records(path, "file");
  const std::string loss = file.loss();
  if (!loss.empty()) std::fprintf(stderr, "phicoll-bench: %s\n", printable_line(path + ": " + loss).c_str());
  for (JsonValue& record : file.records) make_printable(&record);
  std::map<std::pair<std::string, int>, const JsonValue*> points;
  std::map<std::pair<std::string, int>, const JsonValue*> failed;  // one failure is final
  std::map<RoundKey, const JsonValue*> rounds;
  const auto integer = [](const JsonValue& value) { return static_cast<int>(value.number); };
  for (const JsonValue& record : file.records) {
    const std::string& run = record["run"].string;
    if (record["kind"].string == "point") {
      const auto key = std::make_pair(run, integer(record["point"]));
      points[key] = &record;
      if (!record["verified"].boolean) failed.emplace(key, &record);
    } else if (record["kind"].string == "round") {
      rounds[RoundKey(run, record["mode"].string, integer(record["ranks"]), integer(record["launch"]),
                      integer(record["round"]))] = &record;
    }
  }
  // By title and everything else that the rows of a table share; rows by what makes a subject.
  std::map<std::pair<std::string, std::string>, Table> tables;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
  for (const JsonValue& record : file.records) {
    if (record["kind"].string != "sample" || record["ns"].list.empty()) continue;
    const std::string& run = record["run"].string;
    const auto key = std::make_pair(run, integer(record["point"]));
    const auto found = points.find(key);
    if (found == points.end()) continue;
    const JsonValue& point = *found->second;
    const int launch = integer(record["launch"]);
    const int round = integer(record["round"]);
    const auto probes =
        rounds.find(RoundKey(run, point["mode"].string, integer(point["ranks"]), launch, round));
    const JsonValue none;
    const JsonValue& probe = probes == rounds.end() ? none : *probes->second;
    const bool simulated = point["mode"].string == "simulated";
    const bool shares = point["oversubscribed"].boolean;
    const std::string unit_name = simulated ? "cycles" : shares ? "switches" : "lines";
    std::string others = point["placement"].string + " " + point["machine_digest"].string;
    for (const JsonValue& cpu : point["cpus"].list) others += " " + cell(cpu.number, 0);
    Table& table = tables[std::make_pair(title_of(point, record, probe, unit_name), others)];
    if (table.rows.empty()) {
      table.title = title_of(point, record, probe, unit_name);
      table.unit = unit_name;
    }
    const std::string subject =
        point["spec"].string + " " + point["wait"].string + " " + point["store"].string;
    const std::size_t at =
        known.emplace(std::make_tuple(table.title, others, subject), table.rows.size()).first->second;
    if (at == table.rows.size()) table.rows.emplace_back();
    Row& row = table.rows[at];
    row.spec = point["spec"].string;
    const auto failure = failed.find(key);
    if (failure != failed.end()) {
      row.verified = false;
      row.error = (*failure->second)["verification"]["error"].string;
    }
    const double ns = value_of(record);
    const double unit = probe[shares ? "switch_ns" : "pingpong_ns"].number;
    const double units = simulated ? record["value_cycles"].number : unit > 0 ? ns / unit : NAN;
    row.values.push_back(Value{Round(run, launch, round), ns, units});
  }
  if (tables.empty()) std::printf("%s holds no samples\n", printable_line(path).c_str());
  for (const auto& table : tables) print_table(table.second);
  for (const auto& one : failed) {
    const JsonValue& point = *one.second;
    const std::string& error = point["verification"]["error"].string;
    std::printf("\nnot verified: %s with %d ranks as %s%s%s\n", point["spec"].string.c_str(),
                integer(point["ranks"]), point["mode"].string.c_str(), error.empty() ? "" : ": ",
                error.c_str());
  }
  std::printf(
      "\nunits: lines are one-way transfers of one cache line in the same round, switches those between two "
      "ranks of one CPU, cycles those of the simulated machine, each n with a seed of its own.\nMedians and "
      "their intervals are over launches where these differ, else over rounds; ratios within rounds. n.s.: "
      "not "
      "significant (sign test, Holm over the table). ?: too few units for 95 %%; the whole range is "
      "shown.\n");
  return 0;
}

}  // namespace bench
}  // namespace phicoll
