#include "phicoll/measure/data_steps.hpp"

#include <cstdio>
#include <vector>

#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/measure/hand_data.hpp"

namespace phicoll {
namespace measure {

namespace {

// Hands `use` a function that makes the call with no more checks or indirections than a program's own call.
// It captures by value: a program has its arguments at hand and does not load them from the harness's
// members.
template <class Use>
void with_call(Communicator& of, const MessageBuffers& buffers, bool prepared, Use&& use) {
  Communicator* const c = &of;
  const Work& work = buffers.work();
  const bool message = row_of(work.operation).receives == Part::others_block;
  const Operator op = work.reduces() ? find_operator(work.type, work.op) : Operator();
  Request request;
  request.operation = work.operation;
  request.vector = work.vector;
  request.exclusive = work.exclusive;
  request.send = buffers.send();
  request.receive = message && of.rank() == 0 ? buffers.send() : buffers.receive();
  request.count = static_cast<std::size_t>(work.count());
  request.op = &op;
  // All counts are equal and the blocks lie side by side. The arrays are built once, as a program would keep
  // them from call to call.
  const std::vector<std::size_t> counts(static_cast<std::size_t>(of.size()), request.count);
  const std::vector<std::size_t> places = block_places(counts, 0);
  request.send_blocks = request.receive_blocks = Blocks{counts.data(), places.data()};
  if (prepared) {
    const auto begun = c->prepare(request);
    return use([=] {
      c->begin(begun);
      c->wait(*begun);
    });
  }
  with_operation(work.operation, [&](auto fixed) {
    use([c, request, fixed] {
      Request same = request;
      same.operation = fixed;
      c->call(same);
    });
  });
}

void note_wrong(const std::string& wrong, RankReport& report) {
  if (wrong.empty() || report.violated != 0) return;
  report.violated = 1;
  std::snprintf(report.error, sizeof report.error, "%s", wrong.c_str());
}

// Makes calls on contents that differ from position to position and from call to call, and checks each
// result whole. Then makes a few in a row to estimate how long one takes.
template <class Call>
void verify_data(const Seat& seat, const Step& step, MessageBuffers& buffers, Call&& call,
                 RankReport& report) {
  constexpr int rehearsals = 4;
  const StampClock& clock = seat.board.clock();
  const std::uint64_t range = clock.to_ticks(step.jitter_ns);
  for (std::uint64_t i = 0; i < step.calls; ++i) {
    buffers.fill(step.seed + i);
    wait_ticks(clock, delay_ticks(step, i, seat.rank, range));
    call();
    note_wrong(buffers.check_filled(step.seed + i), report);
  }
  report.calls = step.calls;
  const FreshWrite write = buffers.fresh_write();
  Meetings meet(seat);
  const std::uint64_t writing = clock.before();
  write(0);
  report.write_ns = clock.to_ns(clock.after() - writing);
  call();
  for (int batch = 0; batch < 3; ++batch) {
    // The best of three. The estimate sets the length of later samples: an interrupted rank would make all of
    // them short.
    meet();
    const std::uint64_t start = clock.before();
    for (int i = 0; i < rehearsals; ++i) call();
    meet();
    const double ns = clock.to_ns(clock.after() - start) / rehearsals;
    if (batch == 0 || ns < report.call_ns) report.call_ns = ns;
  }
}

// Runs the step on any function that makes the call.
template <class Call>
void run_calls(const Seat& seat, const Step& step, MessageBuffers& buffers, Call&& call, RankReport& report) {
  if (step.kind == StepKind::verify) {
    verify_data(seat, step, buffers, call, report);
    return;
  }
  buffers.fill(step.seed);
  if (step.kind == StepKind::loop)
    time_loop(seat, step, buffers.fresh_write(), call, report);
  else
    time_windows(seat, step, buffers.fresh_write(), call, report);
  if (report.calls == 0) return;
  note_wrong(step.work.fresh ? buffers.check_fresh(report.calls - 1) : buffers.check_filled(step.seed),
             report);
}

}  // namespace

void run_data_step(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers,
                   bool prepared, RankReport& report) {
  with_call(communicator, buffers, prepared,
            [&](auto made) { run_calls(seat, step, buffers, made, report); });
}

void run_hand_step(const Seat& seat, const Step& step, unsigned char* memory, MessageBuffers& buffers,
                   RankReport& report) {
  const bool any = with_hand_call(memory, seat.rank, buffers,
                                  [&](auto call) { run_calls(seat, step, buffers, call, report); });
  if (!any) throw ArgumentError("algorithm", "hand-pair", "an operation that it is written for");
}

void run_bare_step(const Seat& seat, const Step& step, const BareLoopParameters& parameters,
                   MessageBuffers& buffers, RankReport& report) {
  BareLoop loop(parameters, seat.memory, seat.rank, seat.ranks, seat.shares_cpu, buffers);
  run_calls(
      seat, step, buffers, [&loop] { loop(); }, report);
  if (step.kind != StepKind::loop) return;
  // The calls before the timed ones are alike.
  const double share = static_cast<double>(step.calls) / static_cast<double>(step.calls + step.warmups);
  report.store_ticks = static_cast<std::uint64_t>(share * static_cast<double>(loop.store_ticks()));
  report.load_ticks = static_cast<std::uint64_t>(share * static_cast<double>(loop.load_ticks()));
}

void run_foreign_step(const Seat& seat, const Step& step, MessageBuffers& buffers, void (*call)(void*),
                      void* state, RankReport& report) {
  run_calls(
      seat, step, buffers, [call, state] { call(state); }, report);
}

std::size_t hand_data_footprint() {
  return HandPipe::footprint();
}

}  // namespace measure
}  // namespace phicoll
