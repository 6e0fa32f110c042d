#include "phicoll/group/environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

namespace {

constexpr const char* prefix = "PHICOLL_";

// One variable for an operation and its version with counts: PHICOLL_REDUCE_SCATTER chooses for both.
std::string variable_of(Operation operation) {
  const char* const of = operation == Operation::reduce_scatter ? "reduce_scatter" : to_string(operation);
  std::string name = prefix;
  for (const char* c = of; *c != '\0'; ++c)
    name += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  return name;
}

/// Lower-case letters only: ALL_REDUCE and AllReduce are the same.
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name)
    if (c >= 'A' && c <= 'Z')
      letters += static_cast<char>(c - 'A' + 'a');
    else if (c != '_')
      letters += c;
  return letters;
}

/// The call that such a name was meant for, or null.
const std::pair<const char*, CallFacts>* meant(const std::string& name) {
  const std::string letters = letters_of(name);
  const std::pair<const char*, CallFacts>* near = nullptr;
  for (const auto& named : call_names()) {
    const std::size_t off = edit_distance(letters, letters_of(named.first));
    if (off == 0) return &named;
    if (off == 1 && letters.size() > 3) near = &named;
  }
  return near;
}

}  // namespace

// Most of a program's fifty or so variables are not phicoll's. An empty one counts as unset, whatever its
// name.
void check_environment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, prefix, std::strlen(prefix)) != 0) continue;
    const std::string setting = *entry;
    const std::size_t end = setting.find('=');
    if (end == std::string::npos || end + 1 == setting.size()) continue;
    const std::string variable = setting.substr(0, end);
    const auto* const named = meant(variable.substr(std::strlen(prefix)));
    if (named == nullptr || variable == variable_of(named->second.operation)) continue;
    throw ArgumentError(
        variable, "'" + setting.substr(end + 1) + "'",
        variable_of(named->second.operation) + " instead, which chooses the algorithm of " + named->first);
  }
}

EnvironmentChoice environment_choice(Operation operation) {
  EnvironmentChoice choice;
  const std::string variable = variable_of(operation);
  const char* const text = os::environment(variable.c_str());
  if (text == nullptr || *text == '\0') return choice;
  try {
    choice.spec = family(operation).parse(text);
  } catch (const ArgumentError& error) {
    const bool whole = error.argument() == "algorithm";
    throw ArgumentError(whole ? variable : variable + " (" + error.argument() + ")", error.got(),
                        error.allowed());
  }
  choice.variable = variable;
  return choice;
}

}  // namespace phicoll
