#pragma once

// The options of a sweep, each described once. `phicoll-bench run` parses its arguments and prints its help
// by this table. Python reads it through phicoll._core for the options of `phicoll run`, for the checks and
// the documentation of phicoll.sweep(), and for the table in docs/cli.md.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "phicoll/measure/work.hpp"

namespace phicoll {
namespace measure {

enum class OptionKind : std::uint8_t {
  flag,     ///< given or not
  integer,  ///< from `least` to `most`
  number,   ///< from `least` to `most`
  limit,    ///< a number above 0, or none
  choice,   ///< one of `choices`
  choices,  ///< one or several of `choices`
  list,     ///< several values in a syntax of their own: ranks, sizes, algorithms
  name      ///< one value in a syntax of its own: a machine, a file, a policy
};
const char* to_string(OptionKind kind);

/// The calls to which an option applies.
enum class OptionScope : std::uint8_t { every_call, data, reductions, programs };

/// How a sweep on this machine, or a simulated one, takes an option.
struct OptionUse {
  bool taken = false;          ///< false: refused
  std::string standard = "";   ///< the default value; "": see `otherwise`
  std::string otherwise = "";  ///< in words, what happens without a value
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};

  /// What a help text shows as the default; "" for none.
  const std::string& shown() const { return standard.empty() ? otherwise : standard; }
};

struct SweepOption {
  std::string name;    ///< on the command line, without dashes: "window-calls"
  std::string letter;  ///< a short form: "o"; "" for none
  std::string python;  ///< the argument of phicoll.sweep(); "" if it has none
  OptionKind kind;
  std::string value;  ///< what a help text shows for the value: "N"; "" for a flag
  OptionScope scope;
  OptionUse native;
  OptionUse simulated;
  std::string help;

  const OptionUse& use(bool in_simulation) const { return in_simulation ? simulated : native; }
};

const std::vector<SweepOption>& sweep_options();
/// The option of that name. Throws Error if there is none.
const SweepOption& sweep_option(const std::string& name);

/// An option's default in a sweep on this machine, and in a simulated one. Throw Error if it has none.
std::string native_text(const std::string& name);
int native_integer(const std::string& name);
std::string simulated_text(const std::string& name);
int simulated_integer(const std::string& name);
double simulated_number(const std::string& name);

/// The options given for a sweep, each checked against its row of the table. A sweep with the option
/// `machine` is simulated.
class SweepValues {
 public:
  /// `given`: values by the options' names; a flag's value is "". Throws ArgumentError(name) for what the
  /// table does not allow: an option that this kind of sweep or this call does not take, or a value out of
  /// range.
  SweepValues(const Work& work, std::map<std::string, std::string> given);

  const Work& work() const { return work_; }
  bool simulated() const { return given_.count("machine") != 0; }
  bool has(const std::string& name) const { return given_.count(name) != 0; }
  /// The value given, or the default.
  std::string text(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  /// A limit of "none" is 0.
  double number(const std::string& name) const;
  /// The value's comma-separated parts, each once.
  std::vector<std::string> choices(const std::string& name) const;

  /// The definitions of run time. If none is given, an evicted start implies windows, and a program's runs
  /// are a loop.
  std::vector<std::string> definitions() const;
  /// The call at every size with every kind of buffers; a barrier only once, a program in every class and
  /// way. Throws ArgumentError as parse_sizes, check_work and parse_choices do.
  std::vector<Work> works() const;

 private:
  Work work_;
  std::map<std::string, std::string> given_;
};

}  // namespace measure
}  // namespace phicoll
