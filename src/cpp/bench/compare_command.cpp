// `phicoll-bench compare`: a short table of a results file. Every entry is a ratio within rounds or an exact
// interval. The Python command `phicoll compare` shows more.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "bench/arguments.hpp"
#include "bench/commands.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace bench {

namespace {

using RoundKey = std::tuple<std::string, std::string, int, int, int>;  // run, mode, ranks, launch, round

struct Value {
  double ns;
  double
      units;  ///< of the round's ping-pong, or switch where ranks share a CPU; cycles where simulated; or NaN
  int launch;
  int round;
};

struct Row {
  std::string spec;
  bool verified = true;
  std::map<std::pair<int, int>, Value> values;  ///< by launch and round
  double middle = 0;
};

// What the rows of one table share: ranks, definition, mode, label, unit, operation with its buffers and
// elements, size.
using TableKey =
    std::tuple<int, std::string, std::string, std::string, std::string, std::string, std::uint64_t>;

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

// The units of a test: the rounds, or the medians of launches if launches account for a tenth of the variance
// or more.
std::vector<double> units_of(const std::vector<double>& logs, const std::vector<int>& launches,
                             bool* by_launch) {
  const VarianceComponents parts = variance_components(logs, launches);
  *by_launch = parts.groups > 1 && parts.between_share >= 0.1;
  if (!*by_launch) return logs;
  std::map<int, std::vector<double>> groups;
  for (std::size_t i = 0; i < logs.size(); ++i) groups[launches[i]].push_back(logs[i]);
  std::vector<double> medians;
  for (const auto& group : groups) medians.push_back(median(group.second));
  return medians;
}

std::string cell(double value, int decimals = 2) {
  char text[40];
  if (!std::isfinite(value)) return "-";
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

void print_table(const TableKey& key, std::vector<Row>& rows) {
  const std::string label = std::get<3>(key).empty() ? "" : ", " + std::get<3>(key);
  const std::string& what = std::get<5>(key);
  const std::string of = what.empty() ? "" : what + ", " + std::to_string(std::get<6>(key)) + " bytes, ";
  std::printf("\n%s%d ranks as %s, %s%s; in %s\n", of.c_str(), std::get<0>(key), std::get<2>(key).c_str(),
              std::get<1>(key).c_str(), label.c_str(), std::get<4>(key).c_str());
  const bool simulated = std::get<4>(key) == "cycles";
  const double scale = simulated ? 1e-3 : 1;
  const auto middle_of = [](const Row& row, int parity) {
    std::vector<double> values;
    for (const auto& entry : row.values)
      if (parity < 0 || entry.second.round % 2 == parity)
        values.push_back(std::isfinite(entry.second.units) ? entry.second.units : entry.second.ns);
    return median(values);
  };
  for (Row& row : rows) row.middle = middle_of(row, -1);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.middle < b.middle; });
  // The best is chosen on odd rounds and compared on even ones, so that it is not chosen by luck. One seed
  // leaves no choice: it serves for both.
  const bool one_seed = simulated && std::all_of(rows.begin(), rows.end(),
                                                 [](const Row& row) { return row.values.size() <= 1; });
  const int odd = one_seed ? -1 : 1;
  const Row* best = nullptr;
  for (const Row& row : rows)
    if (row.verified && std::isfinite(middle_of(row, odd)) &&
        (best == nullptr || middle_of(row, odd) < middle_of(*best, odd)))
      best = &row;

  struct Against {
    Interval ratio;
    double p = 1;
    bool by_launch = false;
  };
  std::vector<Against> against(rows.size());
  std::vector<double> p_values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> logs;
    std::vector<int> launches;
    if (best != nullptr && &rows[i] != best)
      for (const auto& entry : rows[i].values) {
        const auto other = best->values.find(entry.first);
        if (entry.second.round % 2 != 0 || other == best->values.end()) continue;
        logs.push_back(std::log(entry.second.ns / other->second.ns));
        launches.push_back(entry.second.launch);
      }
    if (logs.empty()) continue;
    const std::vector<double> units = units_of(logs, launches, &against[i].by_launch);
    against[i].ratio = median_interval(units, 0.95);
    against[i].p = sign_test(units, 0);
    p_values.push_back(against[i].p);
  }
  const std::vector<double> adjusted = holm(p_values);

  std::printf("%-52s %5s %30s %22s %22s\n", "barrier", "n",
              simulated ? "median us [95 %]" : "median ns [95 %]", simulated ? "cycles" : "units",
              "to the best [95 %]");
  std::size_t next = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::vector<double> ns, units;
    for (const auto& entry : row.values) {
      ns.push_back(entry.second.ns * scale);
      if (std::isfinite(entry.second.units)) units.push_back(entry.second.units);
    }
    const auto interval = [simulated](const std::vector<double>& values, int decimals) {
      const Interval found = median_interval(values, 0.95);
      if (values.empty()) return std::string("-");
      const std::string text = cell(found.value, decimals);
      if (simulated && values.size() == 1) return text;  // one seed has no interval
      return found.valid ? text + " [" + cell(found.low, decimals) + ", " + cell(found.high, decimals) + "]"
                         : text + " [too few]";
    };
    std::string ratio = &row == best ? "1 (the best)" : "-";
    if (against[i].ratio.count > 0) {
      const bool resolved = adjusted[next++] < 0.05;
      const Interval& r = against[i].ratio;
      ratio = cell(std::exp(r.value));
      if (one_seed) {
        std::printf("%-52s %5zu %30s %22s %22s\n", row.spec.substr(0, 52).c_str(), row.values.size(),
                    interval(ns, 3).c_str(), interval(units, 1).c_str(), ratio.c_str());
        continue;
      }
      ratio += r.valid ? " [" + cell(std::exp(r.low)) + ", " + cell(std::exp(r.high)) + "]" : " [too few]";
      if (!resolved) ratio += " ~";
      if (against[i].by_launch) ratio += " L";
    }
    std::printf("%-52s %5zu %30s %22s %22s%s\n", row.spec.substr(0, 52).c_str(), row.values.size(),
                interval(ns, simulated ? 3 : 1).c_str(), interval(units, simulated ? 1 : 2).c_str(),
                ratio.c_str(), row.verified ? "" : "  NOT VERIFIED, not ranked");
  }
}

}  // namespace

int compare_command(const std::vector<std::string>& words) {
  const Arguments arguments(words, command_page("compare"));
  if (arguments.alone().size() != 1)
    throw ArgumentError("file", std::to_string(arguments.alone().size()) + " names", "one results file");
  const std::string path = arguments.alone()[0];
  const measure::RecordLines file = measure::read_records(path, "file");
  if (file.damaged > 0) std::fprintf(stderr, "phicoll-bench: %s: %s\n", path.c_str(), file.loss().c_str());
  std::map<std::pair<std::string, int>, const JsonValue*> points;
  std::map<std::pair<std::string, int>, bool> verified;
  std::map<RoundKey, const JsonValue*> rounds;
  const auto integer = [](const JsonValue& value) { return static_cast<int>(value.number); };
  for (const JsonValue& record : file.records) {
    const std::string& run = record["run"].string;
    if (record["kind"].string == "point") {
      const auto key = std::make_pair(run, integer(record["point"]));
      points[key] = &record;
      const auto known = verified.find(key);  // one failure is final
      verified[key] = record["verified"].boolean && (known == verified.end() || known->second);
    } else if (record["kind"].string == "round") {
      rounds[RoundKey(run, record["mode"].string, integer(record["ranks"]), integer(record["launch"]),
                      integer(record["round"]))] = &record;
    }
  }
  std::map<TableKey, std::map<std::string, Row>> tables;
  std::map<std::string, int> run_number;
  for (const JsonValue& record : file.records) {
    if (record["kind"].string != "sample" || record["ns"].list.empty()) continue;
    const std::string& run = record["run"].string;
    const auto key = std::make_pair(run, integer(record["point"]));
    const auto found = points.find(key);
    if (found == points.end()) continue;
    const JsonValue& point = *found->second;
    const int ranks = integer(point["ranks"]);
    const int launch = integer(record["launch"]);
    const int round = integer(record["round"]);
    const auto probes = rounds.find(RoundKey(run, point["mode"].string, ranks, launch, round));
    const JsonValue none;
    const JsonValue& probe = probes == rounds.end() ? none : *probes->second;
    const bool shares = point["oversubscribed"].boolean;
    const double unit = probe[shares ? "switch_ns" : "pingpong_ns"].number;
    std::string definition = record["definition"].string;
    if (record["delay_ns"].number > 0 || record["imbalance_ns"].number > 0)
      definition += " with delay " + cell(record["delay_ns"].number, 0) + " and imbalance " +
                    cell(record["imbalance_ns"].number, 0) + " ns";
    const bool simulated = point["mode"].string == "simulated";
    std::string mode = point["mode"].string;
    if (simulated) mode += " on " + point["machine"].string + ", " + point["placement"].string;
    const TableKey table(ranks, definition, mode, probe["label"].string,
                         simulated ? "cycles"
                         : shares  ? "switches"
                                   : "lines",
                         what_of(point), static_cast<std::uint64_t>(point["size_bytes"].number));
    Row& row = tables[table][point["spec"].string];
    row.spec = point["spec"].string;
    row.verified = row.verified && verified[key];
    // Launches of different runs are distinct.
    const int of_run = run_number.emplace(run, static_cast<int>(run_number.size())).first->second;
    const double ns = value_of(record);
    const int own_launch = of_run * 1000000 + launch;
    const double units = simulated ? record["value_cycles"].number : unit > 0 ? ns / unit : NAN;
    row.values[{own_launch, round}] = Value{ns, units, own_launch, round};
  }
  if (tables.empty()) std::printf("%s holds no samples\n", path.c_str());
  for (auto& table : tables) {
    std::vector<Row> rows;
    for (auto& row : table.second) rows.push_back(std::move(row.second));
    print_table(table.first, rows);
  }
  std::printf(
      "\nunits: lines are one-way transfers of one cache line in the same round, switches those between two "
      "ranks of one CPU, cycles those of the simulated machine, each n with a seed of its own.\n~: no "
      "difference resolved (sign test, Holm over the table). L: the unit of the "
      "test is "
      "the launch, not the round.\n");
  return 0;
}

}  // namespace bench
}  // namespace phicoll
