#pragma once

// Every program there is, a line each: measuring, the command line and the tests expand this list.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/programs/cg.hpp"
#include "phicoll/programs/mg.hpp"
#include "phicoll/programs/nbody.hpp"

namespace phicoll {
namespace programs {

using ProgramList = AlgorithmList<NBody,  //
                                  Cg,     //
                                  Mg>;

/// What `use_program` hands on.
template <class Program>
struct ProgramType {
  using Type = Program;
};

/// Calls `use` with the type of the program with this number in the list.
template <class Use, class... Programs>
void use_program(AlgorithmList<Programs...>, int number, Use&& use) {
  int at = 0;
  const int all[] = {(at++ == number ? (use(ProgramType<Programs>()), 0) : 0)...};
  static_cast<void>(all);
}

}  // namespace programs
}  // namespace phicoll
