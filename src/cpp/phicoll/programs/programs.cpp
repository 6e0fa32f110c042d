#include "phicoll/programs/programs.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/programs/registry.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace programs {

namespace {

template <class... Programs>
std::vector<ProgramInfo> infos_of(AlgorithmList<Programs...>) {
  return {ProgramInfo{Programs::facts(), Programs::classes()}...};
}

}  // namespace

const std::vector<ProgramInfo>& program_infos() {
  static const std::vector<ProgramInfo> infos = [] {
    std::vector<ProgramInfo> all = infos_of(BarrierPrograms());
    for (ProgramInfo& info : infos_of(DataPrograms())) all.push_back(std::move(info));
    return all;
  }();
  return infos;
}

int find_program(const std::string& name) {
  const std::vector<ProgramInfo>& infos = program_infos();
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].facts.name == name) return static_cast<int>(i);
  return -1;
}

std::string ProgramChoice::text() const {
  return std::string(info().facts.name) + "." + problem;
}

std::size_t ProgramChoice::shared_bytes(int ranks) const {
  std::size_t bytes = 0;
  use_any_program(program, [&](auto type) { bytes = decltype(type)::Type::shared_bytes(problem, ranks); });
  return bytes;
}

std::size_t ProgramChoice::message_bytes() const {
  std::size_t bytes = 0;
  use_any_program(program, [&](auto type) { bytes = decltype(type)::Type::message_bytes(problem); });
  return bytes;
}

const char* ProgramChoice::why_not(int ranks) const {
  const char* why = nullptr;
  use_any_program(program, [&](auto type) { why = decltype(type)::Type::ranks_allowed(problem, ranks); });
  return why;
}

std::vector<ProgramChoice> parse_classes(int program, const std::string& classes) {
  std::vector<ProgramChoice> choices;
  for (const std::string& part : split_list(classes)) {
    const ProgramInfo& info = program_infos()[static_cast<std::size_t>(program)];
    std::string allowed;
    bool known = false;
    for (const ProblemClass& one : info.classes) {
      known = known || part == std::string(1, one.letter);
      allowed += std::string(allowed.empty() ? "" : ", ") + one.letter + " (" + one.size + ")";
    }
    if (!known) throw ArgumentError("class", "'" + part + "' of " + info.facts.name, allowed);
    const bool again = std::any_of(choices.begin(), choices.end(),
                                   [&](const ProgramChoice& one) { return one.problem == part[0]; });
    if (again) continue;
    ProgramChoice choice;
    choice.program = program;
    choice.problem = part[0];
    choices.push_back(choice);
  }
  return choices;
}

}  // namespace programs
}  // namespace phicoll
