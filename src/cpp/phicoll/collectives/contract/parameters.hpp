#pragma once

// An algorithm's parameters describe themselves, once: a Parameters struct and one function
//
//     template <class Visitor> static void describe(Visitor& visitor, Parameters& p) {
//       visitor.integer("ways", p.ways, 1, max_ranks, "ranks told in each round");
//       visitor.choice("layout", p.layout, {"line-per-round", "packed"}, "where a flag lies");
//     }
//
// A choice's enumerators count from 0 in the order of the names. The default is what Parameters{} holds.
// Ranges do not depend on the number of ranks. Listing, parsing and printing are visitors.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/memory/policies.hpp"

namespace phicoll {

/// What a parameter is, for a person and for a program.
struct ParameterInfo {
  std::string name;
  std::string meaning;
  std::string default_value;
  std::vector<std::string> choices;  ///< empty for an integer
  long least = 0;                    ///< of an integer, as `most`
  long most = 0;
  std::string range() const;
};

/// Parameter values as text, in the order of description.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;

/// The values in `name:parameter=value:...`, split at the colons. Throws ArgumentError for a part that is no
/// `parameter=value`, and for a parameter given twice.
ParameterValues given_values(const std::vector<std::string>& parts);

class ParameterLister {
 public:
  void integer(const char* name, int& value, int least, int most, const char* meaning);
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<const char*> names, const char* meaning) {
    choice_info(name, static_cast<std::size_t>(value), names, meaning);
  }
  std::vector<ParameterInfo> infos;
  ParameterValues values;

 private:
  void choice_info(const char* name, std::size_t value, std::initializer_list<const char*> names,
                   const char* meaning);
};

/// Sets the parameters named in `given`; throws ArgumentError("<algorithm>:<parameter>") for a bad value.
class ParameterParser {
 public:
  ParameterParser(std::string algorithm, const ParameterValues& given)
      : algorithm_(std::move(algorithm)), given_(given) {}
  void integer(const char* name, int& value, int least, int most, const char* meaning);
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<const char*> names, const char*) {
    const int index = choice_index(name, names);
    if (index >= 0) value = static_cast<Enum>(index);
  }
  /// Throws ArgumentError for a given parameter that the algorithm does not take.
  void refuse_unknown() const;

 private:
  int choice_index(const char* name, std::initializer_list<const char*> names);
  const std::string* find(const char* name);
  std::string algorithm_;
  const ParameterValues& given_;
  std::vector<std::string> known_;
};

enum class YesNo : unsigned char { no, yes };

template <class Visitor>
void describe_yes_no(Visitor& visitor, const char* name, YesNo& value, const char* meaning) {
  visitor.choice(name, value, {"no", "yes"}, meaning);
}

/// The `store` parameter of algorithms whose flags are lines with a sole writer (paper 001, sections 2 and
/// 4).
template <class Visitor>
void describe_store(Visitor& visitor, StorePolicy& store) {
  visitor.choice(
      "store", store, {"plain", "no-read", "no-read-unordered"},
      "how a flag that owns its line is stored: the word, or the whole line without reading it first");
}

}  // namespace phicoll
