#include "phicoll/measure/data_steps.hpp"

#include <cstdio>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/measure/hand_data.hpp"

namespace phicoll {
namespace measure {

namespace {

// As with_call, for the versions with counts. All counts are equal and the blocks lie side by side. The
// arrays are built once, as a program would keep them from call to call.
template <class Use>
void with_vector_call(Communicator& of, const MessageBuffers& buffers, const Operator& op, Use&& use) {
  Communicator* const c = &of;
  unsigned char* const send = buffers.send();
  unsigned char* const receive = buffers.receive();
  const Work& work = buffers.work();
  const auto bytes = static_cast<std::size_t>(work.bytes);
  const auto ranks = static_cast<std::size_t>(of.size());
  const std::vector<std::size_t> all_counts(ranks, static_cast<std::size_t>(work.count()));
  std::vector<std::size_t> all_places;
  for (std::size_t r = 0; r < ranks; ++r) all_places.push_back(r * bytes);
  const std::size_t* const counts = all_counts.data();
  const std::size_t* const places = all_places.data();
  switch (work.operation) {
    case Operation::gather:
      return use([=] { c->gatherv(send, bytes, receive, counts, places, 0); });
    case Operation::scatter:
      return use([=] { c->scatterv(send, counts, places, receive, bytes, 0); });
    case Operation::allgather:
      return use([=] { c->allgatherv(send, bytes, receive, counts, places); });
    case Operation::alltoall:
      return use([=] { c->alltoallv(send, counts, places, receive, counts, places); });
    case Operation::reduce_scatter:
      return use([=] { c->reduce_scatter(send, receive, counts, op); });
    default:
      throw ArgumentError("operation", work.name(), "one that has a version with counts");
  }
}

// Hands `use` a function that makes the call with no more checks or indirections than a program's own call.
// It captures by value: a program has its arguments at hand and does not load them from the harness's
// members.
template <class Use>
void with_call(Communicator& of, const MessageBuffers& buffers, Use&& use) {
  Communicator* const c = &of;
  unsigned char* const send = buffers.send();
  unsigned char* const receive = buffers.receive();
  const Work& work = buffers.work();
  const auto bytes = static_cast<std::size_t>(work.bytes);
  const auto count = static_cast<std::size_t>(work.count());
  const Operator op = work.reduces() ? find_operator(work.type, work.op) : Operator();
  if (work.vector) return with_vector_call(of, buffers, op, use);
  if (work.exclusive) return use([=] { c->exscan(send, receive, count, op); });
  switch (work.operation) {
    case Operation::barrier:
      return use([c] { c->barrier(); });
    case Operation::broadcast: {
      unsigned char* const message = c->rank() == 0 ? send : receive;
      return use([=] { c->broadcast(message, bytes, 0); });
    }
    case Operation::reduce:
      return use([=] { c->reduce(send, receive, count, op, 0); });
    case Operation::allreduce:
      return use([=] { c->allreduce(send, receive, count, op); });
    case Operation::gather:
      return use([=] { c->gather(send, receive, bytes, 0); });
    case Operation::scatter:
      return use([=] { c->scatter(send, receive, bytes, 0); });
    case Operation::allgather:
      return use([=] { c->allgather(send, receive, bytes); });
    case Operation::alltoall:
      return use([=] { c->alltoall(send, receive, bytes); });
    case Operation::scan:
      return use([=] { c->scan(send, receive, count, op); });
    case Operation::reduce_scatter:
      return use([=] { c->reduce_scatter_block(send, receive, count, op); });
  }
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
                   RankReport& report) {
  with_call(communicator, buffers, [&](auto call) { run_calls(seat, step, buffers, call, report); });
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

std::size_t hand_data_footprint() {
  return HandPipe::footprint();
}

}  // namespace measure
}  // namespace phicoll
