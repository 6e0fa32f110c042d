#pragma once

// Every program there is, a line each: measuring, the command line and the tests expand this list.

#include <type_traits>

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/programs/balancing.hpp"
#include "phicoll/programs/cg.hpp"
#include "phicoll/programs/is.hpp"
#include "phicoll/programs/is_shmem.hpp"
#include "phicoll/programs/jacobi.hpp"
#include "phicoll/programs/mg.hpp"
#include "phicoll/programs/nbody.hpp"
#include "phicoll/programs/programs.hpp"
#include "phicoll/programs/sgd.hpp"
#include "phicoll/programs/sp.hpp"
#include "phicoll/programs/stream_shmem.hpp"
#include "phicoll/programs/transport.hpp"

namespace phicoll {
namespace programs {

/// Programs of barriers, which run with any barrier.
using BarrierPrograms = AlgorithmList<NBody,  //
                                      Cg,     //
                                      Mg,     //
                                      Sp>;
/// Programs of a collective that moves data, which run on a communicator and are simulated.
using DataPrograms = AlgorithmList<Transport,  //
                                   Balancing,  //
                                   IsShmem,    //
                                   StreamShmem>;
/// Those that are not simulated: they send messages, or say nothing of what they compute.
using NativePrograms = AlgorithmList<Sgd,     //
                                     Jacobi,  //
                                     Is>;

constexpr int barrier_programs = 4;  ///< they have the first numbers
constexpr int simulated_programs = barrier_programs + 4;

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

/// The same with a number among all programs.
template <class Use>
void use_any_program(int number, Use&& use) {
  use_program(BarrierPrograms(), number, use);
  use_program(DataPrograms(), number - barrier_programs, use);
  use_program(NativePrograms(), number - simulated_programs, use);
}

template <class Rank, class Context>
Rank rank_of(Context& context, const ProgramChoice& chosen, std::true_type) {
  return Rank(context, chosen.problem, chosen.way);
}
template <class Rank, class Context>
Rank rank_of(Context& context, const ProgramChoice& chosen, std::false_type) {
  return Rank(context, chosen.problem);
}
/// A rank of the program, with its way if it has several.
template <class Rank, class Context>
Rank make_rank(Context& context, const ProgramChoice& chosen) {
  return rank_of<Rank>(context, chosen, std::is_constructible<Rank, Context&, char, int>());
}

}  // namespace programs
}  // namespace phicoll
