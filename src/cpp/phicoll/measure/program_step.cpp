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

template <class List, class Context>
void run_on(List list, int number, const Seat& seat, const Step& step, Context context, RankReport& report) {
  programs::use_program(list, number, [&](auto type) {
    using Rank = typename decltype(type)::Type::template Rank<Context>;
    Rank rank = programs::make_rank<Rank>(context, step.work.program);
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

/// A rank with a communicator's collectives.
class DataContext : public programs::BarrierContext<CommunicatorBarrier> {
 public:
  DataContext(const Seat& seat, Communicator& communicator)
      : BarrierContext(seat.rank, seat.ranks, seat.shared, {&communicator}),
        communicator_(communicator),
        sum_(find_operator(Type::float64, Op::sum)),
        integer_sum_(find_operator(Type::int32, Op::sum)) {}

  void reduce(const double* send, double* receive, std::size_t count, int root) {
    note_call();
    communicator_.reduce(send, rank() == root ? receive : nullptr, count, sum_, root);
  }
  void allreduce(const double* send, double* receive, std::size_t count) {
    note_call();
    communicator_.allreduce(send, receive, count, sum_);
  }
  void allreduce(const std::int32_t* send, std::int32_t* receive, std::size_t count) {
    note_call();
    communicator_.allreduce(send, receive, count, integer_sum_);
  }
  void allgather(const void* send, void* receive, std::size_t bytes) {
    note_call();
    communicator_.allgather(send, receive, bytes);
  }
  void alltoall(const void* send, void* receive, std::size_t bytes) {
    note_call();
    communicator_.alltoall(send, receive, bytes);
  }
  void alltoallv(const void* send, const std::size_t* sizes, const std::size_t* at, void* receive,
                 const std::size_t* received, const std::size_t* received_at) {
    note_call();
    communicator_.alltoallv(send, sizes, at, receive, received, received_at);
  }
  /// Sends to one rank while it receives as many bytes from another; -1: no rank. No collective.
  void exchange(const void* send, int to, void* receive, int from, std::size_t bytes) {
    const auto rank_or_none = [](int rank) { return rank < 0 ? no_rank : rank; };
    communicator_.send_receive(send, bytes, rank_or_none(to), 0, receive, bytes, rank_or_none(from), 0);
  }

 private:
  Communicator& communicator_;
  Operator sum_, integer_sum_;
};

}  // namespace

void run_program_step(const Seat& seat, const Step& step, Communicator& communicator, RankReport& report) {
  using Context = programs::BarrierContext<CommunicatorBarrier>;
  const int number = step.work.program.program;
  if (number < programs::barrier_programs)
    run_on(programs::BarrierPrograms(), number, seat, step,
           Context(seat.rank, seat.ranks, seat.shared, {&communicator}), report);
  else if (number < programs::simulated_programs)
    run_on(programs::DataPrograms(), number - programs::barrier_programs, seat, step,
           DataContext(seat, communicator), report);
  else
    run_on(programs::NativePrograms(), number - programs::simulated_programs, seat, step,
           DataContext(seat, communicator), report);
}

void run_program_step(const Seat& seat, const Step& step, void (*enter)(void*), void* barrier,
                      RankReport& report) {
  using Context = programs::BarrierContext<PointedBarrier>;
  run_on(programs::BarrierPrograms(), step.work.program.program, seat, step,
         Context(seat.rank, seat.ranks, seat.shared, {enter, barrier}), report);
}

}  // namespace measure
}  // namespace phicoll
