#pragma once

// The words of a command line: `--name value`, `--name=value`, flags, and words that stand alone.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/pages.hpp"

namespace phicoll {
namespace bench {

/// The words after a command's name.
class CommandLine {
 public:
  /// Parses the words after a command's name by its page. Throws ArgumentError for anything that the page
  /// does not list. Errors name an option without its dashes, as a settings file or a function would.
  CommandLine(const std::vector<std::string>& words, const CommandPage& page);

  /// Below, `name` is an option's first name, dashes and all.
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  std::string text(const std::string& name, const std::string& otherwise) const;
  /// Throws ArgumentError unless the value is a whole number from `least` to `most`.
  std::int64_t integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most) const;
  /// Throws ArgumentError unless the value is a number of at least `least`.
  double number(const std::string& name, double otherwise, double least) const;
  /// The value's comma-separated parts, each once. Throws ArgumentError for a part that is not `allowed`.
  std::vector<std::string> choices(const std::string& name, const std::string& otherwise,
                                   const std::vector<std::string>& allowed) const;
  /// Throws ArgumentError if an option of `names` was given.
  void refuse(const std::vector<std::string>& names, const std::string& allowed) const;
  const std::vector<std::string>& alone() const { return alone_; }
  /// Every option that was given, by its long name without dashes. A flag's value is "".
  std::map<std::string, std::string> given() const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> long_names_;  ///< of the options given
  std::vector<std::string> alone_;
};

}  // namespace bench
}  // namespace phicoll
