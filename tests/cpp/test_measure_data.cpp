// Measuring of operations that move data: work, buffers, steps.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/measure/copy_probe.hpp"
#include "phicoll/measure/message_buffers.hpp"
#include "phicoll/measure/rank_worker.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/measure/work.hpp"

using namespace phicoll;
using namespace phicoll::measure;

namespace {

const StampClock system_clock = {0, 1.0};

Work work_of(Operation operation, std::uint64_t bytes, bool fresh = true) {
  Work work;
  work.operation = operation;
  work.bytes = bytes;
  work.fresh = fresh;
  return work;
}

/// All that moves data and can be measured, by name.
std::vector<std::string> data_calls() {
  std::vector<std::string> found = call_names();
  found.erase(found.begin());
  return found;
}

std::vector<Operation> data_operations() {
  std::vector<Operation> found;
  for (int o = 1; o < operations; ++o) found.push_back(static_cast<Operation>(o));
  return found;
}

/// What a sequence of steps reports, run by ranks that are threads.
class RankThreads {
 public:
  explicit RankThreads(int ranks = 2) : board_(StepBoard::create(ranks, 64, system_clock, "")) {
    ranks_ = std::thread([this, ranks] {
      ThreadGroup group(ranks);
      group.run([this](Communicator& communicator) { serve_rank(communicator, board_, {}); });
    });
  }
  ~RankThreads() {
    Step last = Step();
    last.kind = StepKind::stop;
    run(last);
    ranks_.join();
  }
  void run(const Step& step) {
    board_.post(step);
    for (int slice = 0; slice < 600 && !board_.wait_done(100 * 1000 * 1000); ++slice) {
    }
    ASSERT_TRUE(board_.wait_done(0));
  }
  RankReport& report(int rank) { return board_.report(rank); }
  StepBoard& board() { return board_; }

 private:
  StepBoard board_;
  std::thread ranks_;
};

Step step_of(StepKind kind, const Work& work, const std::string& algorithm) {
  Step step = Step();
  step.kind = kind;
  step.work = work;
  set_algorithm(step, algorithm);
  step.place = 8192 + 64;
  step.calls = 6;
  step.warmups = 2;
  step.seed = 5;
  step.slack_ns = 20000;
  step.cap_ns = 1e9;
  return step;
}

}  // namespace

TEST(Work, SizesAreReadWithUnitsAndRefusedByName) {
  EXPECT_EQ(parse_sizes("8,4K,1M,8,2G"), (std::vector<std::uint64_t>{8, 4096, 1 << 20, 2ull << 30}));
  EXPECT_EQ(parse_sizes("0"), std::vector<std::uint64_t>{0});
  for (const char* bad : {"", "x", "-1", "4KB", "8,,9", "9999999999999999999999", "1025G", "K"})
    EXPECT_THROW(parse_sizes(bad), ArgumentError) << bad;
  EXPECT_THROW(check_work(work_of(Operation::allreduce, 6)), ArgumentError);
  EXPECT_NO_THROW(check_work(work_of(Operation::broadcast, 6)));
  EXPECT_THROW(parse_call("allreduse"), ArgumentError);
  for (const Operation operation : data_operations())
    EXPECT_EQ(parse_call(to_string(operation)).operation, operation);
}

TEST(Work, EveryOperationHasItsBytes) {
  const auto moved = [](Operation operation) { return moved_bytes(work_of(operation, 100), 4); };
  EXPECT_EQ(moved(Operation::broadcast), 300u);
  EXPECT_EQ(moved(Operation::allreduce), 600u);
  EXPECT_EQ(moved(Operation::allgather), 1600u);
  EXPECT_EQ(moved(Operation::reduce_scatter), 1200u);
  EXPECT_EQ(send_bytes_of(work_of(Operation::scatter, 100), 0, 4), 400u);
  EXPECT_EQ(send_bytes_of(work_of(Operation::scatter, 100), 1, 4), 0u);
  EXPECT_EQ(receive_bytes_of(work_of(Operation::gather, 100), 0, 4), 400u);
  EXPECT_EQ(receive_bytes_of(work_of(Operation::broadcast, 100), 0, 4), 0u);
}

TEST(Work, CallsHaveNamesOfTheirOwn) {
  EXPECT_EQ(call_names().size(), static_cast<std::size_t>(operations) + 6);
  for (const std::string& name : call_names()) EXPECT_EQ(parse_call(name).name(), name);
  EXPECT_EQ(parse_call("bcast").name(), "broadcast");
  EXPECT_EQ(parse_call("Gatherv").name(), "gatherv");
  EXPECT_TRUE(parse_call("reduce_scatter").vector);
  EXPECT_FALSE(parse_call("reduce_scatter_block").vector);
  for (const char* const bad : {"", "broadcastv", "sendrecv", "reduce_scatterv"})
    EXPECT_THROW(parse_call(bad), ArgumentError) << bad;
  const Work gatherv = parse_call("gatherv");
  EXPECT_TRUE(gatherv.facts().vector);
  EXPECT_FALSE(gatherv.facts().known);
  EXPECT_FALSE(parse_call("gather").facts().vector);
  Work exscan = parse_work("exscan", 64, "int32", "max");
  EXPECT_TRUE(exscan.exclusive);
  EXPECT_EQ(exscan.text(), "exscan 64 fresh int32 max");
  EXPECT_EQ(receive_bytes_of(exscan, 0, 3), 0u);
  EXPECT_EQ(receive_bytes_of(exscan, 1, 3), 64u);
  // A scan's result is not an exscan's.
  MessageBuffers one(1, 2), zero(0, 2);
  for (MessageBuffers* buffers : {&zero, &one}) {
    buffers->prepare(exscan, 64);
    buffers->fill(3);
  }
  std::memcpy(one.receive(), zero.send(), 64);
  EXPECT_EQ(one.check_filled(3), "");
  exscan.exclusive = false;
  one.prepare(exscan, 64);
  EXPECT_NE(one.check_filled(3), "");
}

TEST(MessageBuffers, SeeAWrongByteAndAWriteOutside) {
  for (const std::size_t bytes : {8u, 16u, 100u, 5000u}) {
    MessageBuffers root(0, 2);
    MessageBuffers other(1, 2);
    const Work work = work_of(Operation::broadcast, bytes);
    root.prepare(work, 64);
    other.prepare(work, 64);
    root.fill(7);
    other.fill(7);
    EXPECT_NE(other.check_filled(7), "");  // nothing has arrived
    std::memcpy(other.receive(), root.send(), bytes);
    EXPECT_EQ(other.check_filled(7), "");
    EXPECT_NE(other.check_filled(8), "");  // of another call
    other.receive()[bytes - 1] ^= 1;
    EXPECT_NE(other.check_filled(7).find("byte " + std::to_string(bytes - 1)), std::string::npos);
    other.receive()[bytes - 1] ^= 1;
    other.receive()[bytes] ^= 1;
    EXPECT_NE(other.check_filled(7).find("outside"), std::string::npos);
    root.fresh_write()(9);
    std::memcpy(other.receive(), root.send(), bytes);
    EXPECT_EQ(other.check_fresh(9), "");
    EXPECT_NE(other.check_fresh(10), "");
  }
}

TEST(MessageBuffers, SumsOfEveryTypeAreKnownFromTheirPlaces) {
  for (const auto& pair : operator_pairings()) {
    Work work = work_of(Operation::allreduce, 48 * bytes_of(pair.first));
    work.type = pair.first;
    work.op = pair.second;
    const Operator op = find_operator(pair.first, pair.second);
    MessageBuffers a(0, 3), b(1, 3), c(2, 3);
    for (MessageBuffers* one : {&a, &b, &c}) {
      one->prepare(work, 0);
      one->fill(1);
    }
    // Bracketed the other way round: from the highest rank down.
    std::vector<unsigned char> right(static_cast<std::size_t>(work.bytes));
    op.kernel(op.context, right.data(), b.send(), c.send(), 48);
    op.kernel(op.context, a.receive(), a.send(), right.data(), 48);
    EXPECT_EQ(a.check_filled(1), "") << work.text();
    a.receive()[0] ^= 1;
    EXPECT_NE(a.check_filled(1), "") << work.text();
  }
}

TEST(DataSteps, VerifyAndTimeEveryOperation) {
  RankThreads ranks;
  for (const std::string& name : data_calls())
    for (const std::uint64_t bytes : {0u, 8u, 4100u})
      for (const bool fresh : {true, false}) {
        Work work = parse_call(name);
        work.bytes = bytes;
        work.fresh = fresh;
        for (const StepKind kind : {StepKind::verify, StepKind::loop, StepKind::window}) {
          ranks.run(step_of(kind, work, "auto"));
          for (int r = 0; r < 2; ++r) {
            const RankReport& report = ranks.report(r);
            EXPECT_EQ(report.failed, 0) << work.text() << ": " << report.error;
            EXPECT_EQ(report.violated, 0) << work.text() << ": " << report.error;
            EXPECT_EQ(report.calls, 6u) << work.text();
          }
        }
      }
  // A barrier at the same place right after data, and data after it.
  ranks.run(step_of(StepKind::verify, Work(), "dissemination"));
  EXPECT_EQ(ranks.report(0).failed, 0) << ranks.report(0).error;
  ranks.run(step_of(StepKind::loop, work_of(Operation::broadcast, 64), "ring"));
  EXPECT_EQ(ranks.report(1).failed, 0) << ranks.report(1).error;
}

TEST(DataSteps, WhatIsWrittenBeforeCallsIsTimedAlone) {
  RankThreads ranks;
  ranks.run(step_of(StepKind::loop, work_of(Operation::broadcast, 1 << 20, true), "auto"));
  EXPECT_GT(ranks.report(0).ideal_ticks, 0u);
  EXPECT_GT(ranks.report(0).ticks, 0u);
  ranks.run(step_of(StepKind::verify, work_of(Operation::broadcast, 1 << 20, true), "auto"));
  EXPECT_GT(ranks.report(0).write_ns, 0);
  EXPECT_GT(ranks.report(0).call_ns, 0);
}

TEST(DataSteps, LoopsWrittenByHandAreRight) {
  RankThreads ranks;
  for (const Operation operation : data_operations()) {
    const Work work = work_of(operation, 8);
    if (references(operation).size() < 2) continue;
    for (const StepKind kind : {StepKind::verify, StepKind::loop, StepKind::window}) {
      Step step = step_of(kind, work, "hand-pair");
      step.calls = 60;
      step.warmups = 150;  // around the ring, and half of it again
      ranks.run(step);
      for (int r = 0; r < 2; ++r) {
        EXPECT_EQ(ranks.report(r).failed, 0) << work.text() << ": " << ranks.report(r).error;
        EXPECT_EQ(ranks.report(r).violated, 0) << work.text() << ": " << ranks.report(r).error;
      }
    }
  }
  const Shape pair(std::vector<CpuLocation>{{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}});
  EXPECT_EQ(why_not(parse_subjects("hand-pair", work_of(Operation::broadcast, 8)).at(0), "threads", pair),
            "");
  EXPECT_NE(why_not(parse_subjects("hand-pair", work_of(Operation::broadcast, 16)).at(0), "threads", pair),
            "");
}

TEST(Subjects, OpenMPsSumsAreForThreadsAndForWhatItAdds) {
  const Shape pair = Shape::unknown(2);
  const auto why = [&](Work work, const char* mode = "threads") {
    return why_not(parse_subjects("libgomp", work).at(0), mode, pair);
  };
  Work work = work_of(Operation::reduce, 4096);
  EXPECT_EQ(why(work), "");
  EXPECT_EQ(why(work, "processes"), "it is for threads only");
  work.op = Op::max;
  EXPECT_EQ(why(work), "it adds int32, int64, float32 or float64");
  work.op = Op::sum;
  work.type = Type::int8;
  EXPECT_NE(why(work), "");
  work.type = Type::float64;
  work.bytes = 2 << 20;
  EXPECT_NE(why(work), "");
  EXPECT_THROW(parse_subjects("libgomp", work_of(Operation::allreduce, 8)), ArgumentError);
}

TEST(DataSteps, BareLoopsMoveWhatTheirOperationMoves) {
  const std::vector<std::string> loops = {
      "bare-loop", "bare-loop:store=string:load=string:grain=512:ring=2048:ahead=4096",
      "bare-loop:store=past-caches:grain=1024:ring=1024:turns=lines:parts=slices",
      "bare-loop:store=avx2:load=avx2:hint=own:prefetch=512:align=7:apart=2048:owner=receiver",
      "bare-loop:store=avx512:load=avx512:grain=300:ring=8192:parts=slices:stamps=on:pages=huge"};
  const Shape shape = Shape::unknown(2);
  for (const int count : {2, 3}) {
    RankThreads ranks(count);
    for (const Operation operation : data_operations()) {
      if (!BareLoop::serves(operation)) continue;
      for (const std::string& loop : loops)
        for (const std::uint64_t bytes : {4u, 5000u, 40000u}) {
          if (count > 2 && bytes > 5000) continue;  // three ranks on two busy CPUs take long for each piece
          const Work work = work_of(operation, bytes);
          const Subject subject = parse_subjects(loop, work).at(0);
          if (!why_not(subject, "threads", shape).empty()) continue;  // no such vectors here
          for (const StepKind kind : {StepKind::verify, StepKind::loop, StepKind::window}) {
            if (kind != StepKind::verify && (bytes != 5000 || count > 2)) continue;
            Step step = step_of(kind, work, subject.text());
            step.calls = 9;
            step.warmups = 3;
            ranks.run(step);
            for (int r = 0; r < count; ++r) {
              EXPECT_EQ(ranks.report(r).failed, 0) << work.text() << ": " << ranks.report(r).error;
              EXPECT_EQ(ranks.report(r).violated, 0)
                  << work.text() << " by " << loop << ": " << ranks.report(r).error;
            }
            const bool stamped = loop.find("stamps=on") != std::string::npos && kind == StepKind::loop;
            EXPECT_EQ(ranks.report(0).store_ticks + ranks.report(0).load_ticks != 0, stamped) << loop;
          }
        }
    }
    // Nothing is left where the next subject will lie.
    ranks.run(step_of(StepKind::verify, work_of(Operation::broadcast, 64), "ring"));
    EXPECT_EQ(ranks.report(0).violated, 0) << ranks.report(0).error;
  }
}

TEST(Subjects, BareLoopsRefuseWhatTheyCannotDo) {
  const Work work = work_of(Operation::allgather, 4096);
  EXPECT_THROW(parse_subjects("bare-loop:grain=1", work), ArgumentError);
  EXPECT_THROW(parse_subjects("bare-loop:store=by-hand", work), ArgumentError);
  EXPECT_THROW(parse_subjects("bare-loop:cells=2", work), ArgumentError);
  EXPECT_THROW(parse_subjects("bare-loop:grain=4096:grain=8192", work), ArgumentError);
  EXPECT_THROW(parse_subjects("bare-loop", work_of(Operation::scan, 4096)), ArgumentError);
  const Shape pair = Shape::unknown(2);
  EXPECT_NE(why_not(parse_subjects("bare-loop:load=past-caches", work).at(0), "threads", pair), "");
  EXPECT_NE(why_not(parse_subjects("bare-loop", work).at(0), "threads", Shape::unknown(1)), "");
  EXPECT_EQ(why_not(parse_subjects("bare-loop", work).at(0), "threads", pair), "");
  const Subject small = parse_subjects("bare-loop:ring=4096:grain=1024", work).at(0);
  const Subject large = parse_subjects("bare-loop:ring=1048576:grain=1024", work).at(0);
  EXPECT_LT(subject_footprint(small, pair) + (1 << 20), subject_footprint(large, pair) + 4096);
}

TEST(CopyProbe, TimesEveryOperationByEachWayThatThreadsHave) {
  RankThreads ranks;
  for (const std::string& name : data_calls())
    for (const bool fresh : {true, false}) {
      Work work = parse_call(name);
      work.bytes = 4096;
      work.fresh = fresh;
      ranks.run(step_of(StepKind::probe_copy, work, ""));
      const int repeats = copy_repeats(work, 2);
      for (int way = 0; way < copy_ways; ++way)
        for (int r = 0; r < 2; ++r) {
          EXPECT_EQ(ranks.report(r).failed, 0) << work.text() << ": " << ranks.report(r).error;
          const std::uint64_t entry = ranks.board().entries(r)[way * repeats];
          EXPECT_EQ(entry != 0, way < 3) << work.text() << " " << to_string(static_cast<CopyWay>(way));
          EXPECT_LE(entry, ranks.board().exits(r)[way * repeats]);
        }
    }
  // Nothing is left where the next subject will lie.
  ranks.run(step_of(StepKind::verify, work_of(Operation::broadcast, 64), "ring"));
  EXPECT_EQ(ranks.report(0).violated, 0) << ranks.report(0).error;
}

TEST(Subjects, OfDataAreParsedAndChosenByTheirWork) {
  const Work work = work_of(Operation::broadcast, 8);
  const std::vector<Subject> all = parse_subjects("all", work);
  EXPECT_EQ(all.size(), family(Operation::broadcast).algorithms().size());
  for (const Subject& subject : all) EXPECT_EQ(subject.work.text(), "broadcast 8 fresh");
  EXPECT_THROW(parse_subjects("dissemination", work), ArgumentError);
  const Shape shape = Shape::unknown(2);
  const Subject open = parse_subjects("auto", work).at(0);
  EXPECT_NE(effective_subject(open, shape).name, "auto");
  EXPECT_GT(subject_footprint(open, shape), 0u);
  Subject larger = open;
  larger.work.bytes = 1 << 20;
  EXPECT_NE(open.key(), larger.key());
  Step step = Step();
  EXPECT_THROW(set_algorithm(step, std::string(1000, 'x')), ArgumentError);
}
