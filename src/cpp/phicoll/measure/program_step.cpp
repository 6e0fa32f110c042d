#include "phicoll/measure/program_step.hpp"

#include "phicoll/programs/registry.hpp"

namespace phicoll {
namespace measure {

namespace {

/// The check that fails on one rank fails on all, as they share what is checked.
void check_run(const Step& step, const programs::ProgramCheck& check, RankReport& report) {
  if (check.right()) return;
  report.violated = 1;
  std::snprintf(report.error, sizeof report.error, "%s: the %s is %.15g, not %.15g (within %.2g)",
                step.work.name().c_str(), check.what, check.value, check.expected, check.tolerance);
}

template <class Context>
void run_on(const Seat& seat, const Step& step, Context context, RankReport& report) {
  programs::use_program(programs::ProgramList(), step.work.program.program, [&](auto type) {
    using Rank = typename decltype(type)::Type::template Rank<Context>;
    Rank rank(context, step.work.program.problem);
    if (step.kind == StepKind::verify) {
      const StampClock& clock = seat.board.clock();
      context.barrier();
      const std::uint64_t before = context.calls();
      const std::uint64_t start = clock.before();
      rank.run();
      report.call_ns = clock.to_ns(clock.after() - start);
      report.calls = context.calls() - before;
    } else {
      run_step(
          seat, step, [&rank] { rank.run(); }, report);
    }
    check_run(step, rank.check(), report);
    context.barrier();  // all have read what they check: the memory may go
  });
}

struct PointedBarrier {
  void (*enter)(void*);
  void* barrier;
  void operator()() const { enter(barrier); }
};
struct CommunicatorBarrier {
  Communicator* communicator;
  void operator()() const { communicator->barrier(); }
};

}  // namespace

void run_program_step(const Seat& seat, const Step& step, Communicator& communicator, RankReport& report) {
  using Context = programs::BarrierContext<CommunicatorBarrier>;
  run_on(seat, step, Context(seat.rank, seat.ranks, seat.shared, {&communicator}), report);
}

void run_program_step(const Seat& seat, const Step& step, void (*enter)(void*), void* barrier,
                      RankReport& report) {
  using Context = programs::BarrierContext<PointedBarrier>;
  run_on(seat, step, Context(seat.rank, seat.ranks, seat.shared, {enter, barrier}), report);
}

}  // namespace measure
}  // namespace phicoll
