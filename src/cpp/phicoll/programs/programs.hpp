#pragma once

// The list of programs as data, and a program with a class by its name: "cg.S", as NPB names its executables,
// with its way, if it has several: "is-shmem.S.get".

#include <cstddef>
#include <string>
#include <vector>

#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct ProgramInfo {
  ProgramFacts facts;
  std::vector<ProblemClass> classes;
};
/// In the order of the list (registry.hpp).
const std::vector<ProgramInfo>& program_infos();
/// The number of the program of that name; -1 if there is none.
int find_program(const std::string& name);

/// A program, a class of it and a way; plain data.
struct ProgramChoice {
  int program = -1;  ///< number in the list; -1: none
  char problem = 0;
  int way = 0;

  bool any() const { return program >= 0; }
  const ProgramInfo& info() const { return program_infos()[static_cast<std::size_t>(program)]; }
  /// "cg.S", "is-shmem.S.get".
  std::string text() const;
  /// Bytes of memory that all ranks reach.
  std::size_t shared_bytes(int ranks) const;
  /// Bytes of the collective's count argument; 0 of a barrier.
  std::size_t message_bytes() const;
  /// Whether it can run on a simulated machine.
  bool simulated() const;
  /// Why so many ranks cannot run it; null if they can.
  const char* why_not(int ranks) const;
};
/// Classes of a program such as "S,W", and ways such as "put,get"; empty: the first. Each class comes with
/// every way. Throws ArgumentError("class") or ("way") with those that it has.
std::vector<ProgramChoice> parse_choices(int program, const std::string& classes, const std::string& ways);

}  // namespace programs
}  // namespace phicoll
