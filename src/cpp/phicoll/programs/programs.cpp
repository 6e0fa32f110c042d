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

struct Named {
  std::string name;
  const char* meaning;
};
/// The numbers of what a list of names selects, each once; of an empty list the first.
std::vector<int> numbers_of(const char* argument, const std::string& list, const ProgramInfo& info,
                            const std::vector<Named>& all) {
  if (list.empty()) return {0};
  std::vector<int> numbers;
  for (const std::string& part : split_list(list)) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == part; });
    if (found == all.end()) {
      std::string allowed;
      for (const Named& one : all)
        allowed += (allowed.empty() ? "" : ", ") + one.name + " (" + one.meaning + ")";
      throw ArgumentError(argument, "'" + part + "' of " + info.facts.name, all.empty() ? "none" : allowed);
    }
    const auto number = static_cast<int>(found - all.begin());
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

const std::vector<ProgramInfo>& program_infos() {
  static const std::vector<ProgramInfo> infos = [] {
    std::vector<ProgramInfo> all = infos_of(BarrierPrograms());
    for (ProgramInfo& info : infos_of(DataPrograms())) all.push_back(std::move(info));
    for (ProgramInfo& info : infos_of(NativePrograms())) all.push_back(std::move(info));
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
  std::string text = std::string(info().facts.name) + "." + problem;
  if (!info().facts.ways.empty())
    text += std::string(".") + info().facts.ways[static_cast<std::size_t>(way)].name;
  return text;
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

bool ProgramChoice::simulated() const {
  return program < simulated_programs;
}

const char* ProgramChoice::why_not(int ranks) const {
  const char* why = nullptr;
  use_any_program(program, [&](auto type) { why = decltype(type)::Type::ranks_allowed(problem, ranks); });
  return why;
}

std::vector<ProgramChoice> parse_choices(int program, const std::string& classes, const std::string& ways) {
  const ProgramInfo& info = program_infos()[static_cast<std::size_t>(program)];
  std::vector<Named> letters, names;
  for (const ProblemClass& one : info.classes) letters.push_back({std::string(1, one.letter), one.size});
  for (const ProgramWay& one : info.facts.ways) names.push_back({one.name, one.meaning});
  std::vector<ProgramChoice> choices;
  for (const int letter : numbers_of("class", classes, info, letters))
    for (const int way :
         names.empty() && ways.empty() ? std::vector<int>{0} : numbers_of("way", ways, info, names)) {
      ProgramChoice choice;
      choice.program = program;
      choice.problem = info.classes[static_cast<std::size_t>(letter)].letter;
      choice.way = way;
      choices.push_back(choice);
    }
  return choices;
}

}  // namespace programs
}  // namespace phicoll
