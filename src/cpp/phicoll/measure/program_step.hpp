#pragma once

// A step of a program instead of a barrier alone: a call is a whole run of it.

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// Runs the step with the program of `step.work` on `communicator`. Its shared memory is the seat's.
void run_program_step(const Seat& seat, const Step& step, Communicator& communicator, RankReport& report);
/// The same where ranks meet in `enter(barrier)`.
void run_program_step(const Seat& seat, const Step& step, void (*enter)(void*), void* barrier,
                      RankReport& report);

/// Runs the step on a barrier that is a reference: the barrier's own calls, inlined, or a program that makes
/// them through a pointer, since programs are not compiled for every reference.
template <class Call>
void run_reference_step(const Seat& seat, const Step& step, Call&& call, RankReport& report) {
  if (!step.work.program.any()) return run_step(seat, step, call, report);
  using Plain = typename std::remove_reference<Call>::type;
  run_program_step(
      seat, step, [](void* barrier) { (*static_cast<Plain*>(barrier))(); }, &call, report);
}

}  // namespace measure
}  // namespace phicoll
