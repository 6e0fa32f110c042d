#include "phicoll/collectives/choosing/rules.hpp"

#include <algorithm>
#include <vector>

#include "phicoll/collectives/choosing/choose.hpp"
#include "phicoll/collectives/registry/family.hpp"

namespace phicoll {
namespace rules {

From Numbers::at(std::int64_t HostNumbers::*number, std::size_t parts) const {
  return by(number, ((*this)(number) + parts - 1) / parts);
}

From Numbers::by(std::int64_t HostNumbers::*number, std::size_t bytes) const {
  for (const HostNumberField& field : host_number_fields)
    if (field.value == number) return {bytes, field.name, (*this)(number)};
  return {bytes};
}

void note_number(AlgorithmChoice& choice, const From& from) {
  if (from.name == nullptr) return;
  choice.numbers +=
      (choice.numbers.empty() ? "" : ", ") + std::string(from.name) + "=" + std::to_string(from.value);
}

Choosing::Choosing(const Shape& of, const CallFacts& call)
    : shape(of),
      facts(call),
      host(of.host()),
      ranks(static_cast<std::size_t>(of.size())),
      sharing(of.sharing()),
      pair(of.size() == 2 && !sharing),
      ring(host(&HostNumbers::ring)) {}

std::string Choosing::cells(const char* beginning, std::size_t bytes) const {
  const std::size_t cell = host(sharing ? &HostNumbers::shared_cell : &HostNumbers::cell);
  return with_cells(facts.operation, beginning, cell, bytes);
}

std::string Choosing::half_cells(const char* beginning, std::size_t bytes) const {
  return with_cells(facts.operation, beginning, host(&HostNumbers::cell) / 2, bytes);
}

std::string Choosing::wide_cells(const char* beginning, std::size_t bytes) const {
  const std::size_t cell = host(sharing ? &HostNumbers::shared_wide_cell : &HostNumbers::wide_cell);
  return with_cells(facts.operation, beginning, cell, bytes);
}

From Choosing::two_pieces() const {
  return host.by(&HostNumbers::cell, 2 * host(&HostNumbers::cell));
}

From Choosing::beyond_cell() const {
  return host.by(&HostNumbers::shared_cell, beyond(host(&HostNumbers::shared_cell)));
}

AlgorithmChoice Choosing::by_size(std::initializer_list<Rule> rules) const {
  AlgorithmChoice choice;
  From lower(0);
  for (const Rule& rule : rules) {
    // Numbers are measured one by one, so a later rule may seem to begin before an earlier one.
    const From from =
        rule.from.bytes < lower.bytes ? From(lower.bytes, rule.from.name, rule.from.value) : rule.from;
    if (facts.bytes < from.bytes) {
      choice.most = from.bytes - 1;
      note_number(choice, from);
      break;
    }
    lower = from;
    choice.spec.name = rule.spec;
    choice.why = rule.why;
    choice.least = from.bytes;
    choice.numbers.clear();
    note_number(choice, from);
  }
  choice.spec = family(facts.operation).parse(choice.spec.name);
  return choice;
}

bool Choosing::fits(const AlgorithmChoice& choice) const {
  return family(facts.operation).fits(choice.spec, shape, facts);
}

bool in_several_parts(const Shape& shape) {
  const std::vector<int> cores = shape.groups(Level::core);
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    const std::vector<int> parts = shape.groups(level);
    std::vector<int> core_of;  // of the first rank of each part
    std::vector<bool> has_two;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const auto part = static_cast<std::size_t>(parts[r]);
      if (part == core_of.size()) {
        core_of.push_back(cores[r]);
        has_two.push_back(false);
      }
      if (cores[r] != core_of[part]) has_two[part] = true;
    }
    if (has_two.size() > 1 && std::find(has_two.begin(), has_two.end(), false) == has_two.end()) return true;
  }
  return false;
}

bool are_many(const Shape& shape) {
  return shape.size() > 8 && !shape.sharing();
}

}  // namespace rules
}  // namespace phicoll
