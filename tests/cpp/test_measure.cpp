// What the harness itself promises: orders from a seed, records that can be read back, bad input refused, a
// check that finds what is not a barrier, hand-written loops that are barriers. No test looks at how long
// anything takes.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/measure/clock_facts.hpp"
#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/program_step.hpp"
#include "phicoll/measure/rank_worker.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/measure/timing.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/utf8.hpp"
#include "refusals.hpp"

using namespace phicoll;
using namespace phicoll::measure;

namespace {

/// Called once, before a file that is open is locked.
std::function<void()> before_flock;

}  // namespace

extern "C" int flock(int descriptor, int operation) noexcept {
  if (before_flock) std::exchange(before_flock, nullptr)();
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

namespace {

const StampClock system_clock{0, 1.0};

/// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/phicoll-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { EXPECT_EQ(system(("rm -rf " + path_).c_str()), 0); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Memory for a hand-written loop.
struct alignas(128) Zeroed {
  unsigned char bytes[65536] = {};
};

/// Runs one step on `ranks` threads by `body(seat, step, report)`; returns the reports.
template <class Body>
std::vector<RankReport> run_seats(int ranks, const Step& step, bool shares, Body body) {
  StepBoard board = StepBoard::create(ranks, 256, system_clock, "");
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      std::uint32_t seen = 0;
      const Step now = board.next(&seen);
      RankReport& report = board.report(r);
      report = RankReport();
      body(Seat{board, r, ranks, shares, nullptr}, now, report);
      board.done();
    });
  board.post(step);
  const std::int64_t start = os::now_ns();
  while (!board.wait_done(100 * 1000 * 1000) && os::now_ns() - start < 120ll * 1000 * 1000 * 1000) {
  }
  EXPECT_TRUE(board.wait_done(0));
  for (std::thread& thread : threads) thread.join();
  std::vector<RankReport> reports;
  for (int r = 0; r < ranks; ++r) reports.push_back(board.report(r));
  return reports;
}

/// The same with what each rank calls, made by `make(rank)`.
template <class Make>
std::vector<RankReport> run_threads(int ranks, const Step& step, bool shares, Make make) {
  return run_seats(ranks, step, shares, [&](const Seat& seat, const Step& now, RankReport& report) {
    auto call = make(seat.rank);
    run_step(seat, now, call, report);
  });
}

/// A write of nothing: data is moved.
struct Written {
  static constexpr bool writes = true;
  void operator()(std::uint64_t) const {}
};

Step verify_step(std::uint64_t calls) {
  Step step = Step();
  step.kind = StepKind::verify;
  step.calls = calls;
  step.warmups = 5;
  step.seed = 3;
  step.jitter_ns = 500;
  step.cap_ns = 5e9;
  return step;
}

}  // namespace

TEST(Random, IsTheSameEverywhere) {
  // The first values of SplitMix64 with seed 1234567, as its authors' program prints them.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ull);
  EXPECT_EQ(random.next(), 3203168211198807973ull);
  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> again = items;
  Random(5).shuffle(items);
  Random(5).shuffle(again);
  EXPECT_EQ(items, again);
  EXPECT_EQ(std::set<int>(items.begin(), items.end()).size(), 8u);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7u);
  EXPECT_NE(mix_seed(1, 2, 3), mix_seed(1, 3, 2));
}

TEST(Json, TextsAreUtf8AndNumbersFinite) {
  JsonValue value;
  EXPECT_TRUE(JsonValue::parse("\"\xc3\xa9 \\ud83d\\ude00\"", &value));
  EXPECT_EQ(value.string, "\xc3\xa9 \xf0\x9f\x98\x80");
  for (const char* const bad : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "\"\\ud83d\"",
                                "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\u00zz\"", "1e999", "-1e999"}) {
    JsonFault fault;
    EXPECT_FALSE(JsonValue::parse(bad, &value, &fault)) << bad;
    EXPECT_NE(fault.what, "") << bad;
  }
  EXPECT_EQ(printable("a\xff"
                      "b\xc3"),
            "a?b?");
  EXPECT_EQ(printable(std::string("a\0b\n\x7f", 5)), "a?b\n?");
  EXPECT_EQ(printable("\x1b[31m\xc2\x9b"
                      "2J\xc3\xa9"),
            "?[31m?2J\xc3\xa9");
  EXPECT_EQ(printable_line("a\n\tb\r"), "a??b?");
  EXPECT_EQ(json_quote("\xc2\x9b\x7f\xc3\xa9"), "\"\\u009b\\u007f\xc3\xa9\"");
}

TEST(Json, HasAMostOfValues) {
  std::string text = "[0";
  for (std::size_t i = 2; i < json_most_values; ++i) text += ",0";
  JsonValue value;
  JsonFault fault;
  EXPECT_FALSE(JsonValue::parse(text + ",0]", &value, &fault));
  EXPECT_EQ(fault.what, "more than 4194304 values");
}

TEST(Json, IsReadBackAsItWasWritten) {
  const std::string text = JsonObject()
                               .add("text", "a \"quoted\"\n\ttab \\ \x01 \xc3\xbc")
                               .add("number", 1.5)
                               .add("whole", std::int64_t{-9007199254740991})
                               .add("yes", true)
                               .null("none")
                               .raw("list", json_numbers({1, 2.25, -3}))
                               .raw("strings", json_strings({"x", "y"}))
                               .text();
  JsonValue value;
  ASSERT_TRUE(JsonValue::parse(text, &value));
  EXPECT_EQ(value["text"].string, "a \"quoted\"\n\ttab \\ \x01 \xc3\xbc");
  EXPECT_DOUBLE_EQ(value["number"].number, 1.5);
  EXPECT_DOUBLE_EQ(value["whole"].number, -9007199254740991.0);
  EXPECT_TRUE(value["yes"].boolean);
  EXPECT_TRUE(value["none"].is_null());
  EXPECT_DOUBLE_EQ(value["list"].list.at(1).number, 2.25);
  EXPECT_EQ(value["strings"].list.at(1).string, "y");
  EXPECT_TRUE(value["absent"]["deeper"].is_null());
}

TEST(Json, NumbersAreShortAndNeverNotNumbers) {
  EXPECT_EQ(json_number(2.0), "2");
  EXPECT_EQ(json_number(-0.0001), "0");
  EXPECT_EQ(json_number(1e300 * 1e300), "null");
  EXPECT_EQ(json_number(0.125, 2), "0.12");
}

TEST(Json, WhatIsCutOffOrMoreThanOneValueIsRefused) {
  JsonValue value;
  for (const char* text :
       {"", "{", "{\"a\":1", "{\"a\":}", "[1,2", "\"open", "{\"a\":1} x", "tru", "{\"a\" 1}", "[1 2]"})
    EXPECT_FALSE(JsonValue::parse(text, &value)) << text;
  EXPECT_FALSE(JsonValue::parse(std::string(5000, '['), &value));
  for (const char* text : {"inf", "0x10", "+1", "1.2.3", "nan", "{\"a\":1,\"a\":2}", "\"two\nlines\""})
    EXPECT_FALSE(JsonValue::parse(text, &value)) << text;
}

TEST(Json, KnowsTheLineOfEachValueAndOfWhatIsWrong) {
  JsonValue value;
  ASSERT_TRUE(JsonValue::parse("\n{\"a\": 1,\n \"b\": [2,\n3]}", &value));
  EXPECT_EQ(value.line, 2);
  EXPECT_EQ(value["a"].line, 2);
  EXPECT_EQ(value["b"].list.at(1).line, 4);
  EXPECT_EQ(value["absent"].line, 0);
  JsonFault fault;
  ASSERT_FALSE(JsonValue::parse("{\"a\": 1,\n \"b\": 2\n \"c\": 3}", &value, &fault));
  EXPECT_EQ(fault.line, 3);
  EXPECT_NE(fault.what.find("\"b\""), std::string::npos) << fault.what;
}

TEST(Settings, RankListsAreParsed) {
  EXPECT_EQ(parse_ranks("2,4,8..32:8"), (std::vector<int>{2, 4, 8, 16, 24, 32}));
  EXPECT_EQ(parse_ranks("1..3,2"), (std::vector<int>{1, 2, 3}));
  for (const char* text : {"", "0", "1025", "2,", "x", "2..", "4..2", "2..8:0", "-1", "2.5", "9999999999"})
    EXPECT_NE(refusal_of([&] { parse_ranks(text); }).find("ranks: got"), std::string::npos) << text;
}

TEST(Settings, MoreRanksThanCpusMustBeAskedFor) {
  Settings settings;
  settings.subjects = parse_subjects("auto");
  settings.ranks = {1000};
  EXPECT_NE(refusal_of([&] { check_settings(settings); }).find("--oversubscribe"), std::string::npos);
  settings.oversubscribe = true;
  EXPECT_EQ(refusal_of([&] { check_settings(settings); }), nothing_refused);
}

TEST(Settings, WhyNothingCanBeMeasuredIsSaid) {
  Work work;
  work.operation = Operation::allreduce;
  work.bytes = 64;
  Settings settings;
  settings.subjects = parse_subjects("bruck", work);
  settings.ranks = {2};
  settings.oversubscribe = true;
  settings.modes = {"threads"};
  const std::string refusal = refusal_of([&] { check_settings(settings); });
  EXPECT_NE(refusal.find("bruck:bit_identical=no"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("int32"), std::string::npos) << refusal;
  work.type = Type::int32;
  settings.subjects = parse_subjects("bruck", work);
  EXPECT_EQ(refusal_of([&] { check_settings(settings); }), nothing_refused);
}

TEST(Subjects, ReferencesStandBesideTheRegistry) {
  EXPECT_EQ(parse_subjects("references").size(), reference_barriers().size());
  const std::vector<Subject> mixed = parse_subjects("dissemination:ways=3,std-barrier,std-barrier");
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_EQ(mixed[0].spec.name, "dissemination");
  EXPECT_TRUE(mixed[1].reference);
  EXPECT_EQ(parse_subjects("all").size(), family(Operation::barrier).algorithms().size());
}

TEST(Subjects, BadNamesAreRefusedWithTheNearest) {
  const std::string message = refusal_of([] { parse_subjects("std-bariier"); });
  EXPECT_NE(message.find("'std-bariier'"), std::string::npos);
  EXPECT_NE(message.find("std-barrier"), std::string::npos);
  EXPECT_NE(refusal_of([] { parse_subjects("libgomp:x=1"); }).find("without parameters"), std::string::npos);
  EXPECT_NE(refusal_of([] { parse_subjects("dissemination:way=1"); }).find("dissemination"),
            std::string::npos);
}

TEST(Subjects, WhatDoesNotApplySaysWhy) {
  const auto why = [](const char* name, const char* mode, int ranks, int cpus) {
    std::vector<CpuLocation> places;
    for (int r = 0; r < ranks; ++r) {
      CpuLocation place;
      place.cpu = r % cpus;
      places.push_back(place);
    }
    return why_not(parse_subjects(name).at(0), mode, Shape(places));
  };
  EXPECT_EQ(why("hand-one-line", "threads", 2, 2), "");
  EXPECT_NE(why("hand-one-line", "threads", 3, 3), "");
  EXPECT_NE(why("hand-one-line", "threads", 2, 1), "");
  EXPECT_NE(why("hand-flat-flags", "threads", 2, 2), "");
  EXPECT_EQ(why("hand-flat-flags", "processes", 4, 2), "");
  EXPECT_NE(why("std-barrier", "processes", 2, 2), "");
  EXPECT_NE(why("libomp", "processes", 2, 2), "");
  EXPECT_EQ(why("pthread-barrier", "processes", 2, 2), "");
}

TEST(StepBoard, HandsStepsOverAndReportsBack) {
  StepBoard made = StepBoard::create(2, 16, system_clock, "mode threads\nranks 2\n");
  EXPECT_EQ(SetConfig::parse(made.config()).ranks, 2);
  StepBoard board = StepBoard::join(dup(made.descriptor()));
  EXPECT_EQ(board.ranks(), 2);
  EXPECT_EQ(board.most_calls(), 16u);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      std::uint32_t seen = 0;
      for (;;) {
        const Step step = board.next(&seen);
        board.report(r).calls = step.calls + static_cast<std::uint64_t>(r);
        board.done();
        if (step.kind == StepKind::stop) return;
      }
    });
  for (std::uint64_t i = 1; i <= 200; ++i) {
    Step step = Step();
    step.kind = i == 200 ? StepKind::stop : StepKind::loop;
    step.calls = i;
    made.post(step);
    while (!made.wait_done(50 * 1000 * 1000)) {
    }
    EXPECT_EQ(made.report(0).calls, i);
    EXPECT_EQ(made.report(1).calls, i + 1);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Verification, FindsWhatIsNoBarrier) {
  // Rank 1 never waits: with the others delayed it must run ahead sooner or later, or leave before they
  // enter.
  Zeroed memory;
  const auto reports = run_threads(2, verify_step(2000), true, [&](int rank) {
    return [rank] {
      if (rank == 0) std::this_thread::sleep_for(std::chrono::microseconds(1));
    };
  });
  EXPECT_TRUE(reports[0].violated != 0 || reports[1].violated != 0);
}

TEST(Verification, NamesBothNumbersOfAProgramsWrongResult) {
  // The second of two ranks makes no run, and the first does not wait for it: half of the matrix is missing.
  Step step = verify_step(1);
  step.work = parse_measured("cg.S");
  std::vector<unsigned char> memory(step.work.program.shared_bytes(2) + 4096);
  const auto reports = run_seats(2, step, true, [&](Seat seat, const Step& now, RankReport& report) {
    seat.shared = memory.data() + (4096 - reinterpret_cast<std::uintptr_t>(memory.data()) % 4096) % 4096;
    if (seat.rank == 0)
      run_program_step(
          seat, now, [](void*) {}, nullptr, report);
  });
  EXPECT_EQ(reports[0].violated, 1);
  EXPECT_EQ(std::string(reports[0].error).find("cg.S: the zeta is "), 0u) << reports[0].error;
  EXPECT_NE(std::string(reports[0].error).find(", not 8.5971775078648 (within 1e-10)"), std::string::npos);
  EXPECT_FALSE((programs::ProgramCheck{"norm", NAN, 0, 1}.right()));
}

TEST(Verification, NamesTheRanksAndTheCall) {
  const auto reports = run_threads(3, verify_step(500), true, [&](int) { return [] {}; });
  std::string text;
  for (const RankReport& report : reports)
    if (report.violated != 0) text = report.error;
  EXPECT_NE(text.find("left call"), std::string::npos);
  EXPECT_NE(text.find("had entered call"), std::string::npos);
}

TEST(HandLoops, AreBarriers) {
  Zeroed memory;
  for (const RankReport& report :
       run_threads(2, verify_step(300), true, [&](int rank) { return HandOneLine(memory.bytes, rank); }))
    EXPECT_EQ(report.violated, 0) << report.error;
  Zeroed second;
  for (const RankReport& report :
       run_threads(2, verify_step(300), true, [&](int rank) { return HandTwoLines(second.bytes, rank); }))
    EXPECT_EQ(report.violated, 0) << report.error;
}

TEST(HandLoops, ForSharedCpusAreBarriers) {
  for (const int cpus : {1, 2, 3}) {
    const int ranks = 6;
    std::vector<CpuLocation> places;
    for (int r = 0; r < ranks; ++r) {
      CpuLocation place;
      place.cpu = r % cpus;
      places.push_back(place);
    }
    const Shape shape(places);
    // The last arriver of a CPU spins until the system's own CPUs have run the others: few calls.
    Zeroed memory;
    for (const RankReport& report : run_threads(ranks, verify_step(20), true, [&](int rank) {
           return HandCounterPerCpu(memory.bytes, rank, shape);
         }))
      EXPECT_EQ(report.violated, 0) << report.error;
    Zeroed second;
    for (const RankReport& report : run_threads(ranks, verify_step(50), true, [&](int rank) {
           return HandFlatFlags(second.bytes, rank, shape);
         }))
      EXPECT_EQ(report.violated, 0) << report.error;
  }
}

TEST(Timing, LoopMakesTheCallsAskedFor) {
  Step step = Step();
  step.kind = StepKind::loop;
  step.calls = 100;
  step.warmups = 7;
  std::atomic<int> calls{0};
  for (const double delay : {0.0, 200.0}) {
    step.delay_ns = delay;
    step.imbalance_ns = delay;
    calls = 0;
    const auto reports = run_threads(2, step, true, [&](int) { return [&] { ++calls; }; });
    EXPECT_EQ(calls.load(), 2 * 107);
    for (const RankReport& report : reports) {
      EXPECT_EQ(report.calls, 100u);
      // With a delay both ranks know the same least time: a hundred delays.
      EXPECT_GE(report.ideal_ticks, static_cast<std::uint64_t>(100 * delay));
      EXPECT_GE(report.ticks, static_cast<std::uint64_t>(100 * delay));
    }
  }
}

// A rank that looks at its result takes time from one that shares its CPU and is still in a timed call.
TEST(Timing, OfDataEndsForAllRanksTogether) {
  for (const StepKind kind : {StepKind::loop, StepKind::window}) {
    Step step = Step();
    step.kind = kind;
    step.calls = 3;
    step.warmups = 1;
    step.slack_ns = 50000;
    step.cap_ns = 60e9;
    std::atomic<int> through{0};
    const auto reports = run_seats(2, step, true, [&](const Seat& seat, const Step& now, RankReport& report) {
      int calls = 0;
      const auto call = [&] {
        if (++calls < 4) return;
        if (seat.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ++through;
      };
      if (kind == StepKind::loop)
        time_loop(seat, now, Written(), call, report);
      else
        time_windows(seat, now, Written(), call, report);
      EXPECT_EQ(through.load(), 2);
    });
    for (const RankReport& report : reports) EXPECT_EQ(report.calls, 3u);
    if (kind != StepKind::loop) continue;
    // Both loops began at stamps that can be compared: ns here.
    EXPECT_GT(reports[0].start, reports[1].ideal_start);
    EXPECT_GT(reports[1].start, reports[0].ideal_start);
  }
}

TEST(Timing, WindowsEnterBehindTheirStartAndLeaveAfterTheLastEntry) {
  Zeroed memory;
  Step step = Step();
  step.kind = StepKind::window;
  step.calls = 50;
  step.warmups = 2;
  step.slack_ns = 50000;
  step.jitter_ns = 1000;
  step.cap_ns = 60e9;
  StepBoard board = StepBoard::create(2, 64, system_clock, "");
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      std::uint32_t seen = 0;
      const Step now = board.next(&seen);
      board.report(r) = RankReport();
      HandOneLine hand(memory.bytes, r);
      run_step(Seat{board, r, 2, true, nullptr}, now, hand, board.report(r));
      board.done();
    });
  board.post(step);
  while (!board.wait_done(50 * 1000 * 1000)) {
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(board.report(0).calls, 50u);
  ASSERT_EQ(board.report(1).calls, 50u);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t start = board.starts()[i].load();
    const std::uint64_t last_entry = std::max(board.entries(0)[i], board.entries(1)[i]);
    for (int r = 0; r < 2; ++r) {
      EXPECT_GE(board.entries(r)[i], start);
      EXPECT_GE(board.exits(r)[i], last_entry);
    }
  }
}

TEST(Timing, AWindowIsCutByItsCap) {
  Step step = Step();
  step.kind = StepKind::window;
  step.calls = 64;
  step.slack_ns = 1000;
  step.cap_ns = 1;  // over after the first call
  const auto reports = run_threads(2, step, true, [](int) { return [] {}; });
  EXPECT_EQ(reports[0].calls, 1u);
  EXPECT_EQ(reports[1].calls, 1u);
}

TEST(Chase, VisitsEveryLineOnce) {
  static kernels::ChaseLines lines[kernels::chase_length];
  Control control{};
  control.configure(1, false, 0, 0);
  NativePort port(control, 0, WaitPolicy{});
  for (const std::uint64_t seed : {1ull, 77ull, 0xdeadbeefcafeull}) {
    kernels::write_chase(port, lines, seed);
    std::set<std::uint64_t> seen;
    std::uint64_t at = 0;
    for (unsigned i = 0; i < kernels::chase_length; ++i) {
      seen.insert(at);
      at = lines[at].value.word.atomic().load();
    }
    EXPECT_EQ(at, 0u);
    EXPECT_EQ(seen.size(), kernels::chase_length);
    EXPECT_EQ(kernels::chase(port, lines), 0u);
  }
}

TEST(RankWorker, ServesEveryKindOfStepAndLeavesItsPlaceZeroed) {
  GroupOptions options;
  SetConfig config;
  config.mode = "threads";
  config.ranks = 2;
  config.wait = "adaptive";
  const std::vector<std::string> subjects = {"dissemination", "pthread-barrier", "hand-one-line"};
  StepBoard board = StepBoard::create(2, 64, system_clock, config.text());
  constexpr std::size_t place = 8192;
  unsigned char* region = nullptr;
  std::thread coordinator([&] {
    const auto run = [&](StepKind kind, std::size_t subject) {
      Step step = Step();
      step.kind = kind;
      set_algorithm(step, subjects.at(subject));
      step.place = place;
      step.calls = 10;
      step.warmups = 2;
      step.slack_ns = 20000;
      step.cap_ns = 1e9;
      step.pair[0] = 0;
      step.pair[1] = kind == StepKind::probe_alone ? 0 : 1;
      board.post(step);
      while (!board.wait_done(50 * 1000 * 1000)) {
      }
      for (int r = 0; r < 2; ++r) {
        EXPECT_EQ(board.report(r).failed, 0) << board.report(r).error;
        EXPECT_EQ(board.report(r).violated, 0) << board.report(r).error;
      }
    };
    for (std::size_t subject = 0; subject < 3; ++subject)
      for (const StepKind kind : {StepKind::verify, StepKind::loop, StepKind::window}) run(kind, subject);
    run(StepKind::probe_alone, 0);
    EXPECT_GT(board.report(0).local_ns, 0);
    EXPECT_GT(board.report(0).empty_ns, 0);
    run(StepKind::probe_near, 0);
    EXPECT_GT(board.report(0).switch_ns, 0);
    run(StepKind::loop, 2);
    for (std::size_t i = place; i < place + 32768; ++i) ASSERT_EQ(region[i], 0) << i;
    Step last = Step();
    last.kind = StepKind::stop;
    board.post(last);
  });
  ThreadGroup group(2, options);
  group.run([&](Communicator& communicator) {
    if (communicator.rank() == 0) region = communicator.region();
    serve_rank(communicator, board, {});
  });
  coordinator.join();
}

TEST(Records, AreAppendedAndReadBack) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    RecordWriter writer(path);
    writer.write("context", "0123456789abcdef", JsonObject().add("phicoll", "results"));
    writer.write("end", "0123456789abcdef", JsonObject().add("reason", "complete"));
  }
  {
    RecordWriter writer(path);
    writer.write("context", "fedcba9876543210", JsonObject().add("phicoll", "results"));
  }
  const RecordLines lines = read_records(path, "file");
  ASSERT_EQ(lines.records.size(), 3u);
  EXPECT_EQ(lines.damaged, 0u);
  EXPECT_EQ(lines.records[1]["kind"].string, "end");
  EXPECT_DOUBLE_EQ(lines.records[1]["schema"].number, 1);
}

TEST(Records, AppendingToACutOffLineKeepsWholeLines) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    RecordWriter writer(path);
    writer.write("context", "0123456789abcdef", JsonObject().add("phicoll", "results"));
  }
  std::ofstream(path, std::ios::app) << "{\"schema\":1,\"kind\":\"samp";
  {
    RecordWriter writer(path);
    writer.write("end", "0123456789abcdef", JsonObject().add("reason", "complete"));
  }
  const RecordLines lines = read_records(path, "file");
  EXPECT_EQ(lines.records.size(), 2u);
  EXPECT_EQ(lines.damaged, 1u);
}

TEST(Records, AFileIsOneRunsAtATime) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    RecordWriter writer(path);
    writer.write("context", "0123456789abcdef", JsonObject().add("phicoll", "results"));
    EXPECT_NE(refusal_of([&] { RecordWriter other(path); }).find("another run is writing"),
              std::string::npos);
  }
  std::ofstream(path, std::ios::app) << "{\"schema\":1,\"kind\":\"samp";
  const auto size = [&] { return std::ifstream(path, std::ios::ate).tellg(); };
  const auto before = size();
  { RecordWriter next(path); }
  EXPECT_EQ(size(), before);  // one that writes nothing changes nothing
  RecordWriter one("/dev/null"), other("/dev/null");
}

TEST(Records, TheFileAtThePathIsLockedThoughAnotherWasOpened) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  before_flock = [&] { std::remove(path.c_str()); };
  RecordWriter writer(path);
  EXPECT_NE(refusal_of([&] { RecordWriter other(path); }).find("another run is writing"), std::string::npos);
  writer.write("context", "0123456789abcdef", JsonObject().add("phicoll", "results"));
  EXPECT_EQ(read_records(path, "file").records.size(), 1u);
}

TEST(Records, WhatIsNotOursOrNewerIsRefused) {
  const Folder folder;
  const auto write = [&](const std::string& text) { std::ofstream(folder.file("x")) << text; };
  const auto refusal = [&] { return refusal_of([&] { read_records(folder.file("x"), "file"); }); };
  write("hello\n");
  EXPECT_NE(refusal().find("not JSON"), std::string::npos);
  EXPECT_NE(refusal_of([&] { RecordWriter writer(folder.file("x")); }).find("output: got"),
            std::string::npos);
  write("{\"a\":1}\n");
  EXPECT_NE(refusal().find("not phicoll's"), std::string::npos);
  write("{\"schema\":2,\"kind\":\"context\",\"phicoll\":\"results\"}\n");
  EXPECT_NE(refusal().find("newer"), std::string::npos);
  write("");
  EXPECT_NE(refusal().find("no whole line"), std::string::npos);
  EXPECT_NE(refusal_of([&] { read_records(folder.file("absent"), "file"); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { RecordWriter writer(folder.file("no/such")); }).find("output: got"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { RecordWriter writer("/tmp"); }).find("not a file"), std::string::npos);
}

TEST(Records, LinesOfAnotherFormAreCountedWithTheirNumbers) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const std::string head = "{\"schema\":1,\"kind\":\"", sample = head + "sample\",\"point\":0,";
  std::ofstream(path) << head << "context\",\"phicoll\":\"results\"}\n"
                      << sample << "\"launch\":0,\"round\":0,\"ns\":[1]}\n"
                      << sample << "\"launch\":\"0\",\"round\":0,\"ns\":[1]}\n"
                      << sample << "\"launch\":0,\"ns\":[1]}\n"
                      << sample << "\"launch\":0,\"round\":0,\"ns\":[1e999]}\n"
                      << sample << "\"launch\":1e30,\"round\":0,\"ns\":[1]}\n"
                      << std::string(3000, '[') << "\n"
                      << "{\"kind\":\"end\"}\n"
                      << "[]\n"
                      << head << "remark\",\"text\":[{}]}\n";
  const RecordLines lines = read_records(path, "file");
  EXPECT_EQ(lines.records.size(), 3u);
  EXPECT_EQ(lines.damaged, 7u);
  EXPECT_EQ(lines.loss(),
            "7 damaged line(s) skipped, 3 whole lines kept; line 3: 'launch' is not a whole number from 0 "
            "on; line 4: no "
            "field 'round'; line 5: a number out of range; ...");
}

TEST(Records, WhatIsThereTwiceCountsOnce) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const std::string head = "{\"schema\":1,\"kind\":\"",
                    context = head + "context\",\"phicoll\":\"results\"}\n";
  const std::string sample = head + "sample\",\"point\":0,\"launch\":0,";
  const std::string first = sample + "\"round\":0,\"ns\":[1]}\n",
                    second = sample + "\"ns\":[2],\"round\":1}\n";
  const std::string window = sample + "\"round\":0,\"definition\":\"window\",\"ns\":[1]}\n";
  const std::string point =
      head + "point\",\"point\":0,\"algorithm\":\"a\",\"mode\":\"threads\",\"ranks\":2,\"verified\":";
  std::ofstream(path) << context << point << "true}\n"
                      << first << window  // cut off here, and appended whole
                      << context << point << "true}\n"
                      << first << sample << "\"round\":1,\"ns\":[2]}\n"
                      << point << "false}\n"
                      << second << sample << "\"round\":1,\"ns\":[3]}\n";
  const RecordLines lines = read_records(path, "file");
  EXPECT_EQ(lines.records.size(), 6u);
  EXPECT_EQ(lines.repeated, 4u);
  EXPECT_EQ(lines.loss(),
            "1 damaged line(s) skipped, 6 whole lines kept; line 11: another value of a sample that is "
            "there; 4 repeated "
            "line(s) counted once");
}

TEST(Records, ValuesOutOfTheirRangeAreDamage) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const std::string head = "{\"schema\":1,\"kind\":\"", sample = head + "sample\",\"point\":0,\"launch\":0,";
  const char* const bad[] = {"\"round\":0,\"ns\":[-1]",
                             "\"round\":0,\"ns\":[]",
                             "\"round\":0,\"ns\":[null]",
                             "\"round\":0,\"ns\":null",
                             "\"round\":null,\"ns\":[1]",
                             "\"round\":0,\"ns\":[1],\"calls\":0",
                             "\"round\":0,\"ns\":[1],\"calls\":null",
                             "\"round\":0,\"ns\":[1],\"value_ns\":-0.5",
                             "\"round\":0,\"ns\":[1],\"value_ns\":null",
                             "\"round\":0,\"ns\":[1],\"delay_ns\":-1"};
  std::ofstream file(path);
  file << head << "context\",\"phicoll\":\"results\"}\n";
  for (const char* const one : bad) file << sample << one << "}\n";
  file << head << "round\",\"mode\":\"threads\",\"ranks\":0,\"launch\":0,\"round\":0}\n";
  file << head << "round\",\"mode\":\"threads\",\"ranks\":1,\"launch\":0,\"round\":0,\"t_s\":-1}\n";
  file << sample << "\"round\":0,\"ns\":[0]}\n";
  file.close();
  const RecordLines lines = read_records(path, "file");
  EXPECT_EQ(lines.records.size(), 2u);
  EXPECT_EQ(lines.damaged, 12u);
  EXPECT_NE(lines.loss().find("line 2: 'ns' is not a list of 1 to 1,048,576 numbers from 0 on"),
            std::string::npos);
}

TEST(Records, ASmallFileOfZerosIsNotUnpackedWhole) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  std::ofstream(path) << "{\"schema\":1,\"kind\":\"context\",\"phicoll\":\"results\",\"x\":["
                      << std::string(20 << 20, ' ') << "]}\n";
  ASSERT_EQ(std::system(("gzip " + path).c_str()), 0);
  EXPECT_NE(refusal_of([&] { read_records(path + ".gz", "file"); }).find("more than 4 MB when unpacked"),
            std::string::npos);
}

TEST(Records, OnlyARegularFileIsRead) {
  const Folder folder;
  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/zero"), fifo})
    EXPECT_NE(refusal_of([&] { read_records(path, "file"); }).find("(not a regular file)"),
              std::string::npos);
  EXPECT_NE(refusal_of([&] { read_records("/tmp", "file"); }).find("(Is a directory)"), std::string::npos);
  const std::string endless = folder.file("endless");
  std::ofstream(endless) << "";
  ASSERT_EQ(truncate(endless.c_str(), off_t{1} << 40), 0);
  EXPECT_NE(refusal_of([&] { read_records(endless, "file"); }).find("(a line of more than 64 MB)"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { RecordWriter writer(endless); }).find("a line of more than 64 MB"),
            std::string::npos);
}

TEST(Records, AFullDiskIsAnErrorThatNamesTheFile) {
  RecordWriter writer("/dev/full");
  try {
    writer.write("context", "0123456789abcdef", JsonObject().add("phicoll", "results"));
    FAIL() << "nothing thrown";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos);
  }
}

TEST(Clock, FactsAreOfOneClock) {
  const ClockFacts facts = measure_clock();
  EXPECT_GT(facts.clock.ns_per_tick, 0);
  EXPECT_GT(facts.resolution_ns, 0);
  EXPECT_GE(facts.offset_ns, 0);
  const std::uint64_t first = facts.clock.before();
  EXPECT_GE(facts.clock.after(), first);
  EXPECT_NE(new_run_id(), new_run_id());
  EXPECT_EQ(new_run_id().size(), 16u);
}
