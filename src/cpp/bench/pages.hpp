#pragma once

// The options and exit statuses of each subcommand: one table, by which arguments are parsed and help is
// printed.

#include <string>
#include <vector>

namespace phicoll {
namespace bench {

struct OptionInfo {
  std::string name;      ///< "--ranks", or "-o"
  std::string value;     ///< what help shows for the value: "N"; "" for a flag
  std::string standard;  ///< the default; "" for none
  std::string meaning;
  std::string also;  ///< a second name; "" for none
};

struct CommandPage {
  std::string name;
  std::string words;    ///< after the name: "barrier [options]"
  std::string summary;  ///< one line
  std::vector<OptionInfo> options;
  std::string more;  ///< after the options, lines with their ends
  std::vector<int> exits;
};

const std::vector<CommandPage>& command_pages();
/// The page of a command. Throws ArgumentError("command") if there is none of that name.
const CommandPage& command_page(const std::string& name);

/// What `phicoll-bench --help` prints.
std::string overview_text();
/// What `phicoll-bench NAME --help` prints.
std::string help_text(const CommandPage& page);

}  // namespace bench
}  // namespace phicoll
