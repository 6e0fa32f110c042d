#include "phicoll/collectives/choosing/choose.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

/// An algorithm's parameters where all ranks reach the data: from the group's table or else from the built-in
/// rules. In an exchange a rank that puts waits for the others before it copies, which costs ranks that share
/// CPUs more than it saves.
ParameterValues in_place(const Shape& shape, Operation operation) {
  const Tuning* const tuning = shape.tuning().get();
  const TuningRow* row = tuning == nullptr ? nullptr : tuning->table.in_place(shape, operation, tuning->mode);
  if (row == nullptr) row = default_rules().in_place(shape, operation, TuningMode::any);
  return row == nullptr ? ParameterValues() : row->values(shape);
}

/// The size in a parameter; 0 if it has none.
std::size_t size_in(const ParameterValues& values, const char* parameter) {
  for (const auto& value : values)
    if (value.first == parameter) return static_cast<std::size_t>(std::stoull(value.second));
  return 0;
}

bool gives(const std::string& text, const std::string& parameter) {
  return text.find(":" + parameter + "=") != std::string::npos;
}

}  // namespace

AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text) {
  if (gives(text, "direct")) return spec;
  for (const auto& value : spec.values)
    if (value.first == "direct" && value.second != "0") return spec;  // by a rule of its own
  for (const auto& given : in_place(shape, operation))
    for (auto& value : spec.values)
      if (value.first == given.first && !gives(text, given.first)) value.second = given.second;
  return spec;
}

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  const TuningTable::Found found = default_rules().find(shape, facts, TuningMode::any, 1);
  if (found.row == nullptr)
    throw Error("defaults.tuning has no row for such a call");  // never: tests ask for all
  AlgorithmChoice choice;
  const AlgorithmSpec copied = found.row->spec(shape);
  choice.spec = with_direct(copied, shape, facts.operation, "");
  choice.why = found.row->why;
  choice.line = found.row->line;
  choice.least = found.least;
  choice.most = found.most;
  choice.numbers = found.numbers;
  if (choice.spec == copied) return choice;

  const ParameterValues values = in_place(shape, facts.operation);
  const std::size_t direct = size_in(values, "direct");
  const std::size_t put = size_in(choice.spec.values, "put") == 0 ? 0 : size_in(values, "put");
  const bool below = direct != 0 && facts.known && facts.bytes < direct;
  if (direct != 0 && (below ? direct - 1 < choice.most : direct >= choice.least))
    choice.numbers +=
        (choice.numbers.empty() ? "direct=" : ", direct=") + std::to_string(shape.host().direct);
  if (below)
    choice.most = std::min(choice.most, direct - 1);
  else if (facts.known)
    choice.least = std::max(choice.least, direct);
  const bool before_put = facts.known && facts.bytes < put;
  if (before_put)
    choice.most = std::min(choice.most, put - 1);
  else if (facts.known)
    choice.least = std::max(choice.least, put);
  if (put != 0 && !before_put)
    choice.why += "; blocks are stored where they go if all ranks reach both buffers";
  if (direct != 0 && !below) choice.why += "; large data that all ranks reach is read where it lies";
  return choice;
}

}  // namespace phicoll
