// Ranks whose calls do not fit together: an error within a second that names both ranks and both calls, where
// they would wait for ever; and none where the calls do fit.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "patience.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{4} << 20;
  options.heap_limit = std::size_t{16} << 20;
  options.attach_timeout_ms = 60000;
  options.timeout_ms = 20000;  // the tests' own end, should a mismatch not be found
  return options;
}

SignatureWord signature(Operation operation, int root, std::size_t bytes, bool known = true) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  facts.known = known;
  facts.vector = !known;
  Call call;
  call.root = root;
  return call_signature::of(facts, call, 4, 0);
}

std::string in_words(SignatureWord signature) {
  return call_signature::in_words(signature, signature);
}

TEST(Signature, SaysInWordsWhatItHolds) {
  EXPECT_EQ(in_words(0), "barrier");
  EXPECT_EQ(in_words(signature(Operation::broadcast, 0, 4096)), "broadcast(root 0, 4096 bytes)");
  EXPECT_EQ(in_words(signature(Operation::gather, 1023, 0, false)), "gatherv(root 1023)");
  EXPECT_EQ(in_words(signature(Operation::alltoall, 5, 0)), "alltoall(0 bytes)");
  EXPECT_EQ(in_words(call_signature::split), "split");
  CallFacts facts;
  facts.operation = Operation::scan;
  facts.bytes = 12;
  Call call;
  call.exclusive = true;
  call.op = find_operator(Type::float32, Op::max);
  EXPECT_EQ(in_words(call_signature::of(facts, call, 2, 0)), "exscan(float32 max, 12 bytes)");
  call.op = user_operator(8, true, call.op.kernel, nullptr, type_number(Type::int64));
  EXPECT_EQ(in_words(call_signature::of(facts, call, 2, 0)), "exscan(user-defined on int64, 12 bytes)");
  facts.operation = Operation::allgather;
  call = Call();
  call.op.id = static_cast<std::uint16_t>(type_number(Type::short_int) << 8);
  EXPECT_EQ(in_words(call_signature::of(facts, call, 2, 0)), "allgather(short_int, 12 bytes)");
}

TEST(Signature, TellsTheRootAndWhetherItGives) {
  using namespace call_signature;
  const SignatureWord broadcast = signature(Operation::broadcast, 0, 8);
  const SignatureWord scatter = signature(Operation::scatter, 1023, 8, false);
  EXPECT_EQ(root_of(broadcast), 0);
  EXPECT_TRUE(root_gives(broadcast));
  EXPECT_EQ(root_of(scatter), 1023);
  EXPECT_TRUE(root_gives(scatter));
  for (const Operation operation : {Operation::reduce, Operation::gather}) {
    EXPECT_EQ(root_of(signature(operation, 3, 8)), 3) << to_string(operation);
    EXPECT_FALSE(root_gives(signature(operation, 3, 8))) << to_string(operation);
  }
  CallFacts facts;
  facts.operation = Operation::broadcast;
  for (const SignatureWord rootless :
       {signature(Operation::allreduce, 3, 8), signature(Operation::alltoall, 3, 8), SignatureWord{0}, split,
        of_elsewhere(facts)}) {
    EXPECT_EQ(root_of(rootless), any_rank) << rootless;
    EXPECT_FALSE(root_gives(rootless)) << rootless;
  }
}

TEST(Signature, SaysSizesAsExactlyAsItHasRoomFor) {
  const std::size_t mega = std::size_t{1} << 20;
  for (const std::size_t bytes : {std::size_t{1}, 32 * mega - 2, 32 * mega - 1, 32 * mega, 100 * mega + 4096,
                                  std::size_t{100000000}, std::size_t{5} << 30, std::size_t{1} << 49})
    EXPECT_EQ(in_words(signature(Operation::alltoall, 0, bytes)),
              bytes == 32 * mega - 1 ? in_words(signature(Operation::alltoall, 0, bytes))
                                     : "alltoall(" + std::to_string(bytes) + " bytes)");
  EXPECT_NE(in_words(signature(Operation::alltoall, 0, 40 * mega + 1)).find("checksum"), std::string::npos);
}

TEST(Signature, NamesTheAlgorithmWhereThatAloneDiffers) {
  const Family& broadcasts = family(Operation::broadcast);
  const auto by = [&](const char* spec, std::size_t bytes = 8) {
    CallFacts facts;
    facts.operation = Operation::broadcast;
    facts.bytes = bytes;
    return call_signature::of(
        facts, Call(), 4,
        SignatureWord{broadcasts.number(broadcasts.parse(spec))} << call_signature::algorithm.at);
  };
  EXPECT_EQ(call_signature::in_words(by("ring"), by("k-nomial")), "broadcast(root 0, 8 bytes) by ring");
  EXPECT_EQ(call_signature::in_words(by("k-nomial"), by("k-nomial:degree=7")),
            "broadcast(root 0, 8 bytes) by k-nomial with parameters of its own");
  EXPECT_EQ(call_signature::in_words(by("ring"), by("k-nomial", 9)), "broadcast(root 0, 8 bytes)");
  EXPECT_NE(by("ring"), by("ring:wait=yield")) << "they have memory of their own each";
}

TEST(Signature, DiffersWhereCallsDiffer) {
  const auto least = signature(Operation::broadcast, 0, 100);
  EXPECT_NE(least, signature(Operation::reduce, 0, 100));
  EXPECT_NE(least, signature(Operation::broadcast, 1, 100));
  EXPECT_NE(least, signature(Operation::broadcast, 0, 101));
  EXPECT_NE(signature(Operation::broadcast, 0, std::size_t{1} << 40),
            signature(Operation::broadcast, 0, (std::size_t{1} << 40) + 1));
  EXPECT_NE(signature(Operation::gather, 0, 8), signature(Operation::gather, 0, 8, false));
  EXPECT_EQ(signature(Operation::gather, 0, 8, false), signature(Operation::gather, 0, 9, false));
  EXPECT_EQ(signature(Operation::allgather, 0, 8), signature(Operation::allgather, 1, 8));
  const auto of_counts = [](std::vector<std::size_t> counts) {
    CallFacts facts;
    facts.operation = Operation::allgather;
    facts.vector = true;
    const Blocks blocks{counts.data(), nullptr};
    Call call;
    call.blocks = &blocks;
    return call_signature::of(facts, call, static_cast<int>(counts.size()), 0);
  };
  EXPECT_EQ(of_counts({3, 5}), of_counts({3, 5}));
  EXPECT_NE(of_counts({3, 5}), of_counts({5, 3}));
  EXPECT_NE(of_counts({3, 5}), of_counts({8, 0}));
}

/// Runs a program of ranks that do not fit, by threads and by processes, and expects all of `texts` in the
/// error.
void expect_mismatch(int ranks, int culprit, const std::function<void(Communicator&)>& program,
                     const std::vector<std::string>& texts) {
  for (bool threads : {true, false}) {
    SCOPED_TRACE(threads ? "threads" : "processes");
    expect_to_end_within(5 * second_ns, [&] {
      try {
        if (threads)
          ThreadGroup(ranks, small()).run(program);
        else
          fork_and_run(ranks, small(), program);
        ADD_FAILURE() << "nobody noticed";
      } catch (const BrokenGroupError& error) {
        EXPECT_EQ(error.rank(), culprit) << error.what();
        for (const std::string& text : texts)
          EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      }
    });
  }
}

TEST(Mismatch, OfOperations) {
  expect_mismatch(
      3, 2,
      [](Communicator& all) {
        for (int i = 0; i < 6; ++i) all.barrier();
        double value = 1;
        double sum = 0;
        const std::uint64_t first = all.calls();
        if (first != 6 && all.rank() == 0) throw Error("calls were not counted as this test expects");
        if (all.rank() == 2)
          all.allgather(&value, std::vector<double>(3).data(), sizeof value);
        else
          all.allreduce(&value, &sum, 1, find_operator(Type::float64, Op::sum));
        all.barrier();
      },
      {"rank 2 called allgather(8 bytes) as call 7 while rank ", "called allreduce(float64 sum, 8 bytes)"});
}

TEST(Mismatch, OfABarrierAndACallThatMovesData) {
  expect_mismatch(3, 1,
                  [](Communicator& all) {
                    if (all.rank() == 1)
                      all.barrier();
                    else
                      all.broadcast(std::vector<char>(100).data(), 100, 1);
                    all.barrier();
                    all.barrier();
                  },
                  {"rank 1 called barrier as call 1", "broadcast(root 1, 100 bytes)"});
}

TEST(Mismatch, OfRoots) {
  expect_mismatch(
      3, 2,
      [](Communicator& all) {
        // Each waits for another's message.
        std::vector<char> buffer(100000);
        all.broadcast(buffer.data(), buffer.size(), all.rank() == 2 ? 0 : 2);
        all.barrier();
      },
      {"rank 2 called broadcast(root 0, 100000 bytes) as call 1", "broadcast(root 2, 100000 bytes)"});
}

TEST(Mismatch, OfASplitAndABarrierInAPart) {
  expect_mismatch(4, 1,
                  [](Communicator& all) {
                    // In a part whose ranks are numbered the other way round: the error has the whole group's
                    // numbers.
                    const auto part = all.split(all.rank() == 0 ? -1 : 0, -all.rank());
                    if (part && part->rank() == 2) part->split(0, 0);
                    if (part)
                      for (int i = 0; i < 3; ++i) part->barrier();
                    else
                      all.barrier();
                  },
                  {"rank 1 called split as call 1", "called barrier"});
}

// The root's part in a call is done long before the others'; it finds the mismatch when it waits itself, for
// room or in another call, hundreds of calls later.
TEST(Mismatch, OfARootThatIsFarAhead) {
  for (const int calls : {40, 9000})
    for (const bool scatters : {false, true})
      for (const int culprit : {0, 2}) {
        const std::string name = scatters ? "scatter" : "broadcast";
        SCOPED_TRACE(std::to_string(calls) + " times " + name);
        const int root = 2 - culprit;
        const std::string rooted = "(root " + std::to_string(root) + ", ";
        expect_mismatch(
            3, culprit,
            [=](Communicator& all) {
              std::vector<char> few(2000), many(6000);
              for (int i = 1; i <= calls; ++i) {
                const std::size_t bytes = i == 5 && all.rank() == culprit ? 2000 : 64;
                if (scatters)
                  all.scatter(many.data(), few.data(), bytes, root);
                else
                  all.broadcast(few.data(), bytes, root);
              }
              all.barrier();
            },
            {"rank " + std::to_string(culprit) + " called " + name + rooted + "2000 bytes) as call ",
             name + rooted + "64 bytes)"});
      }
}

// Each is the root of its own broadcast: no rank waits there, nor in the barriers after it.
TEST(Mismatch, OfACallInWhichNobodyWaits) {
  expect_mismatch(3, 2,
                  [](Communicator& all) {
                    double value = 1;
                    double sum = 0;
                    all.broadcast(&value, sizeof value, all.rank() == 2 ? 2 : 0);
                    for (int i = 0; i < 6; ++i) all.barrier();
                    all.allreduce(&value, &sum, 1, find_operator(Type::float64, Op::sum));
                  },
                  {"rank 2 called broadcast(root 2, 8 bytes) as call 1", "broadcast(root 0, 8 bytes)"});
}

// Nor does any data go through later calls: it is found when the last rank leaves.
TEST(Mismatch, OfACallAfterWhichNobodyWaits) {
  expect_mismatch(2, 1,
                  [](Communicator& all) {
                    double value = 1;
                    all.broadcast(&value, sizeof value, all.rank() == 1 ? 1 : 0);
                    all.barrier();
                  },
                  {"rank 1 called broadcast(root 1, 8 bytes) as call 1", "broadcast(root 0, 8 bytes)"});
  // Longer ago than the ranks' boards go back.
  expect_mismatch(2, 1,
                  [](Communicator& all) {
                    double value = 1;
                    all.broadcast(&value, sizeof value, all.rank());
                    for (int i = 0; i < 10; ++i) all.broadcast(&value, 0, i % 2);
                  },
                  {"rank 1 made other calls than rank 0 before call 4, broadcast(root 0, 0 bytes)"});
  expect_mismatch(2, 1,
                  [](Communicator& all) {
                    double value = 1;
                    if (all.rank() == 1) all.broadcast(&value, sizeof value, 1);
                  },
                  {"rank 1", "left after 1 collective calls, rank 0 after 0"});
}

TEST(Mismatch, OfRootsThatOnlySend) {
  expect_mismatch(2, 1,
                  [](Communicator& all) {
                    // Each sends to the other.
                    double value = 1;
                    for (int i = 0; i < 50; ++i)
                      all.reduce(&value, nullptr, 1, find_operator(Type::float64, Op::sum), 1 - all.rank());
                    for (int i = 0; i < 3; ++i) all.barrier();
                  },
                  {"rank 1"});
}

// Of a vector version each rank knows its own counts; what goes from one to another says how long it is.
TEST(Mismatch, OfCountsThatSenderAndReceiverDoNotShare) {
  enum class Way { gather, scatter, alltoall };
  for (const Way way : {Way::gather, Way::scatter, Way::alltoall})
    for (const std::size_t sent : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{100000}})
      for (const std::size_t expected :
           {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{100008}}) {
        if (sent == expected) continue;
        SCOPED_TRACE(std::to_string(static_cast<int>(way)) + ": " + std::to_string(sent) + " " +
                     std::to_string(expected));
        const int sender = way == Way::scatter ? 0 : 2;
        const int reader = way == Way::scatter ? 2 : 0;
        expect_mismatch(3, sender,
                        [=](Communicator& all) {
                          std::vector<char> many(400000);
                          std::vector<char> few(200000);
                          std::vector<std::size_t> counts(3, 24), sends(3, 24);
                          const std::vector<std::size_t> at = {0, 110000, 220000};
                          const auto other = static_cast<std::size_t>(all.rank() == sender ? reader : sender);
                          if (all.rank() == sender) sends[other] = sent;
                          if (all.rank() == reader) counts[other] = expected;
                          if (way == Way::gather)
                            all.gatherv(few.data(), all.rank() == sender ? sent : 24, many.data(),
                                        counts.data(), at.data(), reader);
                          else if (way == Way::scatter)
                            all.scatterv(many.data(), sends.data(), at.data(), few.data(),
                                         all.rank() == reader ? expected : 24, sender);
                          else
                            all.alltoallv(few.data(), sends.data(), std::vector<std::size_t>(3, 0).data(),
                                          many.data(), counts.data(), at.data());
                          all.barrier();
                        },
                        {"rank " + std::to_string(sender) + ": sends " + std::to_string(sent) +
                         " bytes to rank " + std::to_string(reader) + ", which expects " +
                         std::to_string(expected) + " bytes of it in call 1"});
      }
}

TEST(Mismatch, OfCountsOfTheSameSum) {
  expect_mismatch(
      2, 1,
      [](Communicator& all) {
        const std::vector<std::size_t> counts = {all.rank() == 1 ? 8u : 4u, all.rank() == 1 ? 4u : 8u};
        const std::vector<std::size_t> at = {0, 8};
        std::vector<char> own(8), blocks(16);
        all.allgatherv(own.data(), 4, blocks.data(), counts.data(), at.data());
        all.barrier();
      },
      {"rank 1 called allgatherv(counts with the checksum ", " while rank 0 called allgatherv("});
}

TEST(Mismatch, OfTypesOfTheSameSize) {
  expect_mismatch(3, 2,
                  [](Communicator& all) {
                    std::vector<char> buffer(96);
                    const Type type = all.rank() == 2 ? Type::float32 : Type::float64;
                    all.broadcast(buffer.data(), 32, 0, nullptr, type_number(type));
                    all.barrier();
                  },
                  {"rank 2 called broadcast(float32, root 0, 32 bytes) as call 1",
                   "broadcast(float64, root 0, 32 bytes)"});
}

// Three roots at once: the two that go on disagree.
TEST(Mismatch, OfARootThatNobodyElseTakesForOne) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two roots write into the same cells, which is what is wrong with this program";
#endif
  for (int run = 0; run < 5; ++run)
    expect_mismatch(3, 2,
                    [](Communicator& all) {
                      std::vector<char> buffer(32000);
                      for (int i = 0; i < 200; ++i)
                        all.broadcast(buffer.data(), buffer.size(), all.rank() == 2 ? 2 : 0);
                      all.barrier();
                    },
                    {"rank 2 called broadcast(root 2, 32000 bytes)", "broadcast(root 0, 32000 bytes)"});
}

// Two ranks gave, and each takes itself for the one that releases the others from the barrier.
TEST(Mismatch, OfRootsThatEachReleaseABarrier) {
  expect_mismatch(3, 1,
                  [](Communicator& all) {
                    all.select(Operation::barrier, "sense-reversing:releases=root");
                    double value = 1;
                    all.broadcast(&value, 8, 0);
                    all.barrier();
                    all.broadcast(&value, 8, all.rank() == 1 ? 1 : 0);
                    all.barrier();
                    throw Error("check: a rank was released");
                  },
                  {"rank 1 called broadcast(root 1, 8 bytes)", "broadcast(root 0, 8 bytes)"});
}

// Two instances of one algorithm, each with memory of its own.
TEST(Mismatch, OfWaysToWait) {
  for (const int other : {0, 2})
    expect_mismatch(3, other == 0 ? 0 : 2,
                    [=](Communicator& all) {
                      std::vector<char> buffer(64);
                      const Family& broadcasts = family(Operation::broadcast);
                      const AlgorithmSpec ring = broadcasts.parse("ring");
                      const AlgorithmSpec yielding = broadcasts.parse("ring:wait=yield");
                      all.broadcast(buffer.data(), 64, 1, &ring);
                      all.broadcast(buffer.data(), 64, 1, all.rank() == other ? &yielding : &ring);
                      all.barrier();
                    },
                    {"by ring with parameters of its own"});
}

TEST(Mismatch, OfTypesBetweenSenderAndReceiver) {
  expect_mismatch(2, 1,
                  [](Communicator& all) {
                    const std::vector<std::size_t> counts = {8, 8}, at = {0, 8};
                    std::vector<char> own(8), blocks(16);
                    const Type type = all.rank() == 1 ? Type::int64 : Type::float64;
                    all.gatherv(own.data(), 8, blocks.data(), counts.data(), at.data(), 0, nullptr,
                                type_number(type));
                    all.barrier();
                  },
                  {"rank 1: sends 8 bytes of int64 to rank 0, which expects 8 bytes of float64 of it"});
}

TEST(Mismatch, OfAlgorithms) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two algorithms lie in the same memory, which is what is wrong with this program";
#endif
  for (const bool selected : {false, true})
    for (const char* other : {"binomial", "ring:cells=32"})
      expect_mismatch(3, 2,
                      [=](Communicator& all) {
                        std::vector<char> buffer(64);
                        const AlgorithmSpec spec =
                            family(Operation::broadcast).parse(all.rank() == 2 ? other : "ring");
                        if (selected) all.select(Operation::broadcast, spec.text());
                        for (int i = 0; i < 3; ++i) {
                          all.broadcast(buffer.data(), buffer.size(), i, selected ? nullptr : &spec);
                          all.barrier();
                        }
                      },
                      {"rank 2 called broadcast(root ", std::string(" by ") + std::string(other).substr(0, 4),
                       " by ring"});
}

// The same algorithm, sizes and steps, in boxes and shown places (put_boxes.hpp, shown.hpp): only the tags in
// their numbers tell the calls apart. A rank that took the other call's data would return.
TEST(Mismatch, OfOperatorsWhereOnlyTheTagsOfMessagesDiffer) {
  struct Subject {
    Operation operation;
    const char* spec;
  };
  const Subject subjects[] = {{Operation::allreduce, "recursive-doubling:transfer=put-get:buffer=256"},
                              {Operation::allreduce, "recursive-doubling:transfer=load-store:buffer=256"},
                              {Operation::allreduce, "rabenseifner:transfer=put-get:buffer=256"},
                              {Operation::allreduce, "rabenseifner:transfer=load-store:buffer=256"},
                              {Operation::allreduce, "bruck:transfer=put-get:buffer=256:bit_identical=no"},
                              {Operation::allreduce, "bruck:transfer=load-store:buffer=256:bit_identical=no"},
                              {Operation::allreduce, "flat-tree:transfer=put-get:buffer=256"},
                              {Operation::allreduce, "flat-tree:transfer=load-store:buffer=256"},
                              {Operation::reduce, "rabenseifner:least=1:buffer=256"},
                              {Operation::scan, "recursive-doubling:buffer=256"},
                              {Operation::scan, "linear:buffer=256"},
                              {Operation::reduce_scatter, "recursive-halving:buffer=256"},
                              {Operation::reduce_scatter, "pairwise:transfer=put-get:buffer=256"},
                              {Operation::reduce_scatter, "pairwise:transfer=load-store:buffer=256"}};
  for (const Subject& subject : subjects)
    for (const std::size_t count : {std::size_t{1}, std::size_t{100}}) {
      SCOPED_TRACE(std::string(to_string(subject.operation)) + " by " + subject.spec + ", " +
                   std::to_string(count));
      expect_mismatch(4, 0,
                      [&](Communicator& all) {
                        const AlgorithmSpec spec = family(subject.operation).parse(subject.spec);
                        std::vector<double> own(4 * count, 1.0), result(count);
                        for (int i = 0; i < 6; ++i) {
                          // The first rank's fifth call differs: all others need its operand.
                          const Operator op =
                              find_operator(Type::float64, i == 4 && all.rank() == 0 ? Op::max : Op::sum);
                          if (subject.operation == Operation::allreduce)
                            all.allreduce(own.data(), result.data(), count, op, &spec);
                          else if (subject.operation == Operation::reduce)
                            all.reduce(own.data(), result.data(), count, op, 0, &spec);
                          else if (subject.operation == Operation::scan)
                            all.scan(own.data(), result.data(), count, op, &spec);
                          else
                            all.reduce_scatter_block(own.data(), result.data(), count, op, &spec);
                          if (i >= 4 && all.rank() != 0) throw Error("took another call's data");
                        }
                      },
                      {"rank 0 called ", "(float64 max, ", " as call 5 while rank ", "(float64 sum, "});
    }
}

// The signature has a few bits of the parameters only.
TEST(Mismatch, OfParametersThatTheSignatureCannotTellApart) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two algorithms lie in the same memory, which is what is wrong with this program";
#endif
  const Family& all = family(Operation::broadcast);
  const auto number = [&](const std::string& spec) {
    return all.number(all.effective(all.parse(spec), Shape::unknown(3)));
  };
  std::string same;
  for (int cells = 2; same.empty() && cells < 4096; ++cells)
    if (cells != 128 && number("ring:cells=" + std::to_string(cells)) == number("ring"))
      same = "ring:cells=" + std::to_string(cells);
  ASSERT_NE(same, "");
  expect_mismatch(3, 2,
                  [=](Communicator& comm) {
                    std::vector<char> buffer(64);
                    const AlgorithmSpec spec =
                        family(Operation::broadcast).parse(comm.rank() == 2 ? same : "ring");
                    for (int i = 0; i < 3; ++i) {
                      comm.broadcast(buffer.data(), buffer.size(), i, &spec);
                      comm.barrier();
                    }
                  },
                  {"rank 2 made other calls than rank ", "or serves it by other parameters"});
}

// All others are through with their calls and wait for nobody any more.
TEST(Mismatch, OfARankThatIsLeftAlone) {
  expect_mismatch(3, 2,
                  [](Communicator& all) {
                    std::vector<char> few(2000);
                    for (int i = 1; i <= 40; ++i)
                      all.broadcast(few.data(), i == 5 && all.rank() == 2 ? 2000 : 64, 0);
                  },
                  {"rank 2"});  // waits for ranks that have left, or was seen on their boards before
}

// A start by time stamp needs no other rank.
TEST(Mismatch, IsNotSeenByARankThatWaitsForATimeAlone) {
  ThreadGroup(2, small()).run([](Communicator& all) {
    if (all.rank() == 1) return;
    CallHistory calls;
    const NativePort port(all.control(), 0, all.wait_policy(), &calls);
    const std::int64_t start = port.ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::int64_t ticks = port.ticks() - start;
    port.wait_until(port.ticks() + 12 * ticks);
  });
}

// A rank may be late by any time, and ranks may be many calls apart: none of that is a mismatch.
TEST(Mismatch, IsNotSeenWhereCallsFit) {
  const auto program = [](Communicator& all) {
    const auto ranks = static_cast<std::size_t>(all.size());
    const auto own = static_cast<std::size_t>(all.rank());
    const auto sum = find_operator(Type::float64, Op::sum);
    std::vector<std::size_t> counts(ranks);
    std::vector<std::size_t> at(ranks);
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = 8 * r + 1;
    std::partial_sum(counts.begin(), counts.end() - 1, at.begin() + 1);
    std::vector<unsigned char> few(counts[own]);
    std::vector<unsigned char> many(at.back() + counts.back());
    for (int late = 0; late < all.size(); ++late)
      for (int turn = 0; turn < 5; ++turn) {
        if (late == all.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(turn == 2 ? 120 : 40));
        double value = 1;
        double result = 0;
        all.broadcast(&value, sizeof value, late);
        for (int i = 0; i < 3; ++i) all.barrier();
        // Each with a count of its own.
        all.gatherv(few.data(), few.size(), many.data(), counts.data(), at.data(), late);
        all.scatterv(many.data(), counts.data(), at.data(), few.data(), few.size(), late);
        // In place on one rank.
        all.allreduce(all.rank() == late ? nullptr : &value, &result, 1, sum);
        std::vector<std::size_t> sent(ranks, counts[own]);
        std::vector<std::size_t> sent_at(ranks, 0);
        all.alltoallv(few.data(), sent.data(), sent_at.data(), many.data(), counts.data(), at.data());
      }
    all.barrier();
  };
  ThreadGroup(3, small()).run(program);
  fork_and_run(3, small(), program);
}

TEST(CallHistory, RemembersRunsOfCallsAndNoBarriers) {
  CallHistory history;
  SignatureWord found = 0;
  std::uint64_t found_tag = 0;
  EXPECT_FALSE(history.find(1, &found, &found_tag));
  for (int i = 0; i < 100000; ++i) history.begin(7);
  history.begin();  // call 100,001
  history.begin(7);
  history.begin(8);
  EXPECT_EQ(history.begun(), 100003u);
  for (const std::uint64_t call : {1, 2, 50000, 100000, 100002}) {
    EXPECT_TRUE(history.find(call, &found, &found_tag)) << call;
    EXPECT_EQ(found, 7u) << call;
  }
  EXPECT_TRUE(history.find(100003, &found, &found_tag));
  EXPECT_EQ(found, 8u);
  EXPECT_EQ(found_tag, history.tag());
  for (const std::uint64_t call : {100001, 100004})
    EXPECT_FALSE(history.find(call, &found, &found_tag)) << call;
  // Nor does a loop with barriers in it take more than one run.
  for (std::uint64_t i = 0; i < 2 * CallHistory::remembered; ++i) {
    history.begin();
    history.begin(9);
  }
  EXPECT_TRUE(history.find(100003, &found, &found_tag));
  // Calls that all differ push the oldest out.
  for (std::uint64_t i = 1; i <= 2 * CallHistory::remembered; ++i) history.begin(10 + i % 2);
  const std::uint64_t last = history.begun();
  EXPECT_TRUE(history.find(last - CallHistory::remembered + 1, &found, &found_tag));
  EXPECT_EQ(found, 10u + (CallHistory::remembered + 1) % 2);
  EXPECT_FALSE(history.find(last - CallHistory::remembered, &found, &found_tag));
}

TEST(CallHistory, TellsABarrierWhichCallCameJustBefore) {
  CallHistory history;
  history.begin();
  EXPECT_EQ(history.before_barrier(), 0u);
  for (int i = 0; i < 2; ++i) {
    history.begin(7);
    EXPECT_EQ(history.before_barrier(), 0u) << "not in a barrier";
    history.begin();
    EXPECT_EQ(history.before_barrier(), 7u);
    history.begin();
    EXPECT_EQ(history.before_barrier(), 0u) << "a barrier came before";
  }
}

TEST(CallHistory, TellsTheTagOfEveryCallThatItRemembers) {
  CallHistory history;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tags;
  for (int i = 0; i < 6000; ++i) {
    if (i < 3000 ? i % 97 == 5 : i % 700 < 600) history.begin();
    if (i % 1000 > 900) history.begin();
    const std::uint64_t signature = i % 500 < 400 ? 77 : static_cast<std::uint64_t>(i);
    const std::uint64_t foreseen = history.tag_after(signature, 3);
    const std::uint64_t call = history.begin(signature, 3);
    ASSERT_EQ(history.tag(), foreseen) << call;
    tags.emplace_back(call, history.tag());
  }
  SignatureWord found = 0;
  std::uint64_t found_tag = 0;
  auto tag = tags.begin();
  for (std::uint64_t call = 1; call <= history.begun(); ++call) {
    const bool barrier = call != tag->first;
    ASSERT_EQ(history.find(call, &found, &found_tag), !barrier) << call;
    if (barrier) continue;
    ASSERT_EQ(found_tag, tag->second) << call;
    ++tag;
  }
}

TEST(CallHistory, OneOtherCallOrAnotherPlaceOfABarrierChangesAllTagsFromThereOn) {
  CallHistory one, other, shifted;
  for (const std::uint64_t signature : {1, 2, 2, 3}) {
    one.begin(signature);
    other.begin(signature == 3 ? 4 : signature);
    if (signature == 3) shifted.begin();
    shifted.begin(signature);
  }
  one.begin();
  other.begin();
  EXPECT_EQ(one.begun(), shifted.begun());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(one.chain(), other.chain());
    EXPECT_NE(one.chain(), shifted.chain());
    for (CallHistory* each : {&one, &other, &shifted}) each->begin(5);
  }
}

// Only the last calls are compared, by their full numbers: what an entry held long ago is not this call.
TEST(Mismatch, OldCallsAreNotComparedWithNewOnes) {
  alignas(arch::stride_bytes) static unsigned char memory[4 * arch::stride_bytes];
  ASSERT_EQ(CallBoard::footprint(4), sizeof memory);
  auto& board = *reinterpret_cast<CallBoard*>(memory);
  CallMismatch found;
  const auto broadcast = signature(Operation::broadcast, 0, 8);
  const auto reduce = signature(Operation::reduce, 0, 8);
  const auto note = [&](int rank, std::uint64_t call, SignatureWord signature, std::uint64_t tag = 9) {
    board.note(rank, call, signature, tag);
  };
  note(0, 3, broadcast);
  EXPECT_FALSE(board.find_mismatch(0, 4, &found));
  note(1, 3 + CallBoard::remembered, reduce);
  EXPECT_FALSE(board.find_mismatch(0, 4, &found));
  board.note_barrier(2, 3 + CallBoard::remembered, 9);
  EXPECT_FALSE(board.find_mismatch(0, 4, &found));
  EXPECT_TRUE(board.find_mismatch(1, 4, &found));
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.other, 1);
  board.note_barrier(1, 3 + CallBoard::remembered, 9);  // is noted already, as what it was
  EXPECT_TRUE(board.find_mismatch(1, 4, &found));
  // Two against one, and the earliest call first.
  note(0, 5, broadcast);
  note(1, 5, broadcast);
  note(3, 5, reduce);
  EXPECT_TRUE(board.find_mismatch(1, 4, &found));
  EXPECT_EQ(found.call, 5u);
  EXPECT_EQ(found.rank, 3);
  EXPECT_TRUE(board.find_mismatch(3, 4, &found));
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(CallBoard::describe(found, 30, 10),
            "rank 30 called " + in_words(reduce) + " as call 5 while rank 10 called " + in_words(broadcast));
}

TEST(Mismatch, OfEarlierCallsIsSeenByTheTagsWhereNoCallDiffers) {
  alignas(arch::stride_bytes) static unsigned char memory[3 * arch::stride_bytes];
  auto& board = *reinterpret_cast<CallBoard*>(memory);
  const auto broadcast = signature(Operation::broadcast, 0, 8);
  CallMismatch found;
  for (int r = 0; r < 3; ++r) board.note(r, 20, broadcast, r == 0 ? 7u : 8u);
  ASSERT_TRUE(board.find_mismatch(1, 3, &found));
  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(CallBoard::describe(found, 0, 1),
            "rank 0 made other calls than rank 1 before call 20, broadcast(root 0, 8 bytes), or serves it by "
            "other parameters");
  // What differs itself says more, however late.
  for (int r = 0; r < 3; ++r) board.note(r, 21, r == 2 ? signature(Operation::reduce, 0, 8) : broadcast, 9);
  ASSERT_TRUE(board.find_mismatch(1, 3, &found));
  EXPECT_EQ(found.call, 21u);
  EXPECT_EQ(found.rank, 2);
}

// One writes as fast as it can while another reads: no signature is taken for another call's.
TEST(Mismatch, EntriesAreReadWholeWhileTheyAreWritten) {
  alignas(arch::stride_bytes) static unsigned char memory[2 * arch::stride_bytes];
  auto& board = *reinterpret_cast<CallBoard*>(memory);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t call = 1; call < 300000; ++call) board.note(0, call, call, call & 0xffff);
    done = true;
  });
  std::uint64_t call = 1;
  while (!done) {
    board.note(1, call, call, call & 0xffff);
    CallMismatch found;
    EXPECT_FALSE(board.find_mismatch(1, 2, &found)) << found.call << " " << found.of_other;
    call += call % 3 + 1;
    if (call >= 300000) call = 1;
  }
  writer.join();
}

TEST(Mismatch, WhatOnlyOneRankSeesBreaksTheGroupWithItsName) {
  for (bool threads : {true, false}) try {
      const auto program = [](Communicator& all) {
        double value = 1;
        try {
          all.allreduce(&value, all.rank() == 1 ? nullptr : &value, 1, find_operator(Type::float64, Op::sum));
        } catch (const BrokenGroupError& error) {
          if (error.rank() != 1 || all.rank() == 1) throw Error(error.what());
          throw;
        } catch (const ArgumentError&) {
          if (all.rank() != 1) throw Error("the wrong rank");
        }
        all.barrier();
      };
      if (threads)
        ThreadGroup(3, small()).run(program);
      else
        fork_and_run(3, small(), program);
      ADD_FAILURE();
    } catch (const BrokenGroupError& error) {
      EXPECT_EQ(error.rank(), 1) << error.what();
      EXPECT_NE(std::string(error.what()).find("receive: got null"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace phicoll
