#pragma once

// The options of a sweep, each described once. `phicoll-bench run` parses and prints its help by this table;
// through phicoll._core, Python takes from it the options of `phicoll run`, the checks and the documentation
// of phicoll.sweep(), and the table in docs/cli.md.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "phicoll/measure/work.hpp"

namespace phicoll {
namespace measure {

enum class OptionKind : std::uint8_t {
  flag,      ///< given or not
  integer,   ///< from `least` to `most`
  number,    ///< from `least` to `most`
  positive,  ///< a number above 0
  choice,    ///< one of `choices`
  choices,   ///< one or several of `choices`
  list,      ///< several values with a syntax of their own: ranks, sizes, algorithms
  name       ///< one such value: a machine, a file, a policy
};
const char* to_string(OptionKind kind);

/// Calls that an option applies to.
enum class OptionScope : std::uint8_t { every_call, data, reductions };

/// An option where ranks run on this machine, or where they are simulated.
struct OptionUse {
  bool taken = false;          ///< false: refused
  std::string standard = "";   ///< the value where none is given; "": see `otherwise`
  std::string otherwise = "";  ///< in words, what is done without a value
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};

  /// What a help text shows as the default; "" for none.
  const std::string& shown() const { return standard.empty() ? otherwise : standard; }
};

struct SweepOption {
  std::string name;    ///< on the command line, without dashes: "window-calls"
  std::string letter;  ///< a short form: "o"; "" for none
  std::string python;  ///< the argument of phicoll.sweep(); "" where it has none
  OptionKind kind;
  std::string value;  ///< what a help text shows as its value: "N"; "" for a flag
  OptionScope scope;
  OptionUse native;
  OptionUse simulated;
  std::string help;

  const OptionUse& use(bool in_simulation) const { return in_simulation ? simulated : native; }
};

const std::vector<SweepOption>& sweep_options();
/// Throws Error for a name that is none.
const SweepOption& sweep_option(const std::string& name);

/// The defaults of a sweep on this machine, and of a simulated one. Throw Error if the option has none.
std::string native_text(const std::string& name);
int native_integer(const std::string& name);
std::string simulated_text(const std::string& name);
int simulated_integer(const std::string& name);
double simulated_number(const std::string& name);

/// The options that were given for a sweep, each checked by its row of the table. A sweep with the option
/// `machine` is simulated.
class SweepValues {
 public:
  /// `given`: values by the options' names, of flags "". Throws ArgumentError(name) for what the table does
  /// not allow: an option that this backend or call does not take, a value out of range.
  SweepValues(const Work& work, std::map<std::string, std::string> given);

  const Work& work() const { return work_; }
  bool simulated() const { return given_.count("machine") != 0; }
  bool has(const std::string& name) const { return given_.count(name) != 0; }
  /// The value, or the default.
  std::string text(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  /// The value's parts between commas, each once.
  std::vector<std::string> choices(const std::string& name) const;

  /// The definitions of run time; an evicted start implies windows where none are given.
  std::vector<std::string> definitions() const;
  /// The call at every size with every kind of buffers; a barrier once. Throws ArgumentError as parse_sizes
  /// and check_work.
  std::vector<Work> works() const;

 private:
  Work work_;
  std::map<std::string, std::string> given_;
};

}  // namespace measure
}  // namespace phicoll
