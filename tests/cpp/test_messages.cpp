// Messages between two ranks: every size and way, MPI's order, many at once, and waits that cannot end.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "patience.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/messages/parts.hpp"
#include "phicoll/messages/pool.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace {

using Bytes = std::vector<unsigned char>;
using Function = std::function<void(Communicator&)>;

GroupOptions options() {
  GroupOptions found;
  found.memory_limit = std::size_t{4} << 20;
  found.heap_limit = std::size_t{32} << 20;
  found.attach_timeout_ms = 60000;
  found.timeout_ms = 60000;
  return found;
}

void on_threads(int ranks, const Function& function) {
  ThreadGroup(ranks, options()).run(function);
}
void on_processes(int ranks, const Function& function) {
  // A failed expectation in a process is told as an exception, which ends the group and reaches the parent.
  // Where the group ends by another exception, its rank's byte in shared memory tells.
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  char* const failed = static_cast<char*>(page);
  const auto tell = [&] {
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(failed[rank], 0) << "an expectation of rank " << rank << " failed";
    munmap(page, 4096);
  };
  try {
    fork_and_run(ranks, options(), [&](Communicator& communicator) {
      try {
        function(communicator);
      } catch (...) {
        failed[communicator.rank()] = ::testing::Test::HasFailure();
        throw;
      }
      if (::testing::Test::HasFailure()) throw Error("an expectation failed");
    });
  } catch (...) {
    tell();
    throw;
  }
  tell();
}

class Messages : public ::testing::TestWithParam<bool> {
 protected:
  static void run(int ranks, const Function& function) {
    GetParam() ? on_processes(ranks, function) : on_threads(ranks, function);
  }
};
TEST_P(Messages, AHeldMessageIsForItsOwnReceiveAlone) {
  run(2, [](Communicator& communicator) {
    const Bytes sent(100000, 7);
    if (communicator.rank() == 0) {
      communicator.send("a", 1, 1, 5);
      communicator.send("b", 1, 1, 5);
      communicator.send(sent.data(), sent.size(), 1, 6);  // between threads it waits for its receive
      return;
    }
    const Envelope held = communicator.hold(0, 5);
    EXPECT_EQ(held.bytes, 1u);
    char got = 0;
    communicator.receive(&got, 1, 0, 5);
    EXPECT_EQ(got, 'b');
    communicator.wait(*communicator.begin_receive(held, &got, 1));
    EXPECT_EQ(got, 'a');
    EXPECT_THROW(communicator.wait(*communicator.begin_receive(held, &got, 1)), ArgumentError);

    Envelope large;
    while (!communicator.hold_now(&large, 0, 6)) continue;
    Bytes small(10), whole(sent.size());
    EXPECT_THROW(communicator.wait(*communicator.begin_receive(large, small.data(), small.size())),
                 ArgumentError);
    communicator.wait(*communicator.begin_receive(large, whole.data(), whole.size()));
    EXPECT_EQ(whole, sent);
    EXPECT_FALSE(communicator.hold_now(&large));
    EXPECT_EQ(communicator.hold(no_rank).source, no_rank);
  });
}

TEST_P(Messages, AWaitTakesTransfersOfSeveralCommunicators) {
  run(2, [](Communicator& communicator) {
    const auto other = communicator.dup();
    if (communicator.rank() == 0) {
      other->send("o", 1, 1);
      communicator.barrier();
      communicator.send("t", 1, 1);
      return;
    }
    char here = 0, there = 0;
    std::vector<std::shared_ptr<Transfer>> both = {communicator.begin_receive(&here, 1),
                                                   other->begin_receive(&there, 1)};
    EXPECT_EQ(communicator.wait_any(both), 1u);
    EXPECT_EQ(there, 'o');
    communicator.barrier();
    both.pop_back();
    EXPECT_EQ(other->wait_any(both), 0u);
    EXPECT_EQ(here, 't');
  });
}

TEST_P(Messages, AMessageMayLieInSeveralPlaces) {
  run(2, [](Communicator& communicator) {
    const Bytes first(3, 1), second(70000, 2), third(200001, 3);
    if (communicator.rank() == 0) {
      const auto sent = communicator.begin_send(
          {{first.data(), first.size()}, {second.data(), second.size()}, {}, {third.data(), third.size()}}, 1,
          0, 0);
      communicator.wait(*sent);
      communicator.wait(*communicator.begin_send({{first.data(), 2}, {second.data(), 2}}, 1, 0, 0));
      return;
    }
    Bytes expected = first;
    expected.insert(expected.end(), second.begin(), second.end());
    expected.insert(expected.end(), third.begin(), third.end());
    Bytes got(expected.size());
    communicator.receive(got.data(), got.size(), 0);
    EXPECT_EQ(got, expected);
    EXPECT_EQ(communicator.receive(got.data(), got.size(), 0).bytes, 4u);
    EXPECT_EQ((Bytes{got[0], got[1], got[2], got[3]}), (Bytes{1, 1, 2, 2}));
  });
}

TEST(MessagesHeap, LargeGroupsHaveRoomForAllPairs) {
  GroupOptions options;
  EXPECT_LE(heap_bytes_here(options, 4), options.heap_limit);
  EXPECT_LT(heap_bytes_here(options, 4), heap_bytes_here(options, 240));
  options.heap_limit = 0;
  EXPECT_EQ(heap_bytes_here(options, 240), 0u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Messages, ::testing::Bool(),
                         [](const auto& ranks) { return ranks.param ? "processes" : "threads"; });

Bytes filled(std::size_t bytes, std::uint64_t seed) {
  Bytes found(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    found[i] = static_cast<unsigned char>((seed * 0x9e3779b97f4a7c15ull + i * 0x2545f491ull) >> 24);
  return found;
}

constexpr std::size_t sizes[] = {0,    1,     8,     103,   104,   105,    4096,
                                 5000, 16384, 16385, 65536, 65537, 100000, 1 << 20};

TEST_P(Messages, EverySizeArrivesWholeBothWays) {
  run(2, [](Communicator& communicator) {
    const int other = 1 - communicator.rank();
    for (const std::size_t bytes : sizes) {
      const Bytes sent = filled(bytes, bytes + static_cast<std::size_t>(communicator.rank()));
      Bytes got(bytes + 1, 0xee);
      for (int turn = 0; turn < 3; ++turn) {
        Envelope envelope;
        if (communicator.rank() == 0) {
          communicator.send(sent.data(), bytes, other, 7);
          envelope = communicator.receive(got.data(), bytes, other, 7);
        } else {
          envelope = communicator.receive(got.data(), bytes, other, 7);
          communicator.send(sent.data(), bytes, other, 7);
        }
        EXPECT_EQ(envelope.source, other);
        EXPECT_EQ(envelope.tag, 7);
        ASSERT_EQ(envelope.bytes, bytes);
        Bytes wanted = filled(bytes, bytes + static_cast<std::size_t>(other));
        wanted.push_back(0xee);
        ASSERT_EQ(got, wanted) << bytes;
      }
    }
  });
}

/// More messages than a channel holds, from rank 0 to rank 1.
constexpr int more_than_a_channel = 100;
void send_many(Communicator& communicator) {
  for (int i = 0; i < more_than_a_channel; ++i) communicator.send(&i, sizeof i, 1);
}
void expect_many(Communicator& communicator) {
  for (int i = 0; i < more_than_a_channel; ++i) {
    int got = -1;
    communicator.receive(&got, sizeof got, 0);
    EXPECT_EQ(got, i);
  }
}

// Rank 1 has made no call for messages on the communicator on which they come.
TEST_P(Messages, ARankTakesInWhatComesOnOthersOfItsCommunicators) {
  struct Case {
    const char* name;
    Function sender, receiver;  // on the whole group, after the messages and before they are received
  };
  const Function barrier = [](Communicator& whole) { whole.barrier(); };
  const auto reduces = [](Communicator& whole) {
    int one = 1, total = 0;
    whole.allreduce(&one, &total, 1, find_operator(Type::int32, Op::sum));
    EXPECT_EQ(total, 3);
  };
  const auto begins = [](Communicator& whole) { return whole.begin(Request()); };
  const std::vector<Case> cases = {
      {"a barrier", barrier, barrier},
      {"a reduction", reduces, reduces},
      {"a receive", [](Communicator& whole) { whole.send("g", 1, 2); },
       [](Communicator& whole) {
         char go = 0;
         whole.receive(&go, 1, 2);  // from rank 2, which has it from rank 0
       }},
      {"a wait for a call", [&](Communicator& whole) { whole.wait(*begins(whole)); },
       [&](Communicator& whole) { whole.wait(*begins(whole)); }},
      {"tests of a call", [&](Communicator& whole) { whole.wait(*begins(whole)); },
       [&](Communicator& whole) {
         const auto begun = begins(whole);
         while (!whole.test(*begun)) std::this_thread::yield();
       }},
      {"tests of a receive", [](Communicator& whole) { whole.send("g", 1, 1); },
       [](Communicator& whole) {
         char go = 0;
         const auto begun = whole.begin_receive(&go, 1, 0);
         while (!whole.test(*begun)) std::this_thread::yield();
       }},
  };
  for (const bool splits : {false, true})
    for (const Case& one : cases) {
      SCOPED_TRACE(std::string(one.name) + (splits ? ", split" : ", dup"));
      run(3, [&](Communicator& whole) {
        const auto other = splits ? whole.split(whole.rank() / 2, 0) : whole.dup();
        if (whole.rank() == 0) {
          send_many(*other);
          one.sender(whole);
        } else if (whole.rank() == 1) {
          one.receiver(whole);
          expect_many(*other);
        } else if (std::string(one.name) == "a receive") {
          char go = 0;
          whole.receive(&go, 1, 0);
          whole.send(&go, 1, 1);
        } else if (std::string(one.name) != "tests of a receive") {
          one.sender(whole);
        }
      });
    }
}

// Threads that first use a communicator for messages, and one that waits on another meanwhile, make what
// takes them in once.
TEST_P(Messages, ThreadsMeetTheMessagesOfACommunicatorTogether) {
  for (int round = 0; round < 10; ++round)
    run(2, [](Communicator& whole) {
      const auto other = whole.dup();
      if (whole.rank() == 0) {
        send_many(*other);
        whole.barrier();
        return;
      }
      std::thread beside([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        expect_many(*other);
      });
      whole.barrier();
      beside.join();
    });
}

// An operator runs on the stack of a wait that goes on with all of the rank's communicators.
TEST_P(Messages, AnOperatorMayMakeAndEndCommunicatorsOfOneRank) {
  run(2, [](Communicator& whole) {
    const auto own = whole.split(whole.rank(), 0);
    const auto makes = [](void* context, void* to, const void* left, const void* right, std::size_t count) {
      auto& alone = *static_cast<Communicator*>(context);
      const auto made = alone.dup();
      int sent = 5, got = 0;
      made->send_receive(&sent, sizeof sent, 0, 0, &got, sizeof got);
      EXPECT_EQ(got, 5);
      for (std::size_t i = 0; i < count; ++i)
        static_cast<std::int32_t*>(to)[i] =
            static_cast<const std::int32_t*>(left)[i] + static_cast<const std::int32_t*>(right)[i];
    };
    const Operator op = user_operator(sizeof(std::int32_t), false, makes, own.get());
    std::int32_t mine = whole.rank() + 1, total = 0;
    const auto begun = whole.begin(Request::allreduce(&mine, &total, 1, op));
    whole.barrier();  // goes on with it
    whole.wait(*begun);
    EXPECT_EQ(total, 3);
  });
}

TEST_P(Messages, SmallSendsNeedNoReceiveAndWaitInOrder) {
  run(2, [](Communicator& communicator) {
    constexpr int many = 20;
    if (communicator.rank() == 0) {
      for (std::uint64_t i = 0; i < many; ++i) communicator.send(&i, sizeof i, 1, static_cast<int>(i % 2));
      communicator.barrier();
    } else {
      communicator.barrier();
      std::uint64_t got = 0;
      for (std::uint64_t i = 1; i < many; i += 2) {  // the odd ones first
        communicator.receive(&got, sizeof got, 0, 1);
        EXPECT_EQ(got, i);
      }
      for (std::uint64_t i = 0; i < many; i += 2) {
        communicator.receive(&got, sizeof got);
        EXPECT_EQ(got, i);
      }
    }
  });
}

// All ranks begin all their messages, of random sizes and tags, and receive in an order of their own.
// Messages of one sender and tag come in the order in which they were sent.
TEST_P(Messages, ManyAtOnceKeepTheirOrder) {
  constexpr int ranks = 4;
  constexpr int each = 60;
  run(ranks, [](Communicator& communicator) {
    const int self = communicator.rank();
    struct Sent {
      int to, tag;
      std::size_t bytes;
    };
    const auto sent_by = [](int rank) {
      Random random(static_cast<std::uint64_t>(rank) + 17);
      std::vector<Sent> list;
      for (int i = 0; i < each; ++i)
        list.push_back({static_cast<int>(random.below(ranks)), static_cast<int>(random.below(3)),
                        sizes[random.below(sizeof sizes / sizeof *sizes - 1)]});
      return list;
    };
    const auto seed = [](int from, std::size_t i) { return static_cast<std::uint64_t>(from) * 1000 + i; };
    std::vector<Bytes> data;
    std::vector<std::shared_ptr<Transfer>> transfers;
    const std::vector<Sent> own = sent_by(self);
    for (std::size_t i = 0; i < own.size(); ++i) {
      data.push_back(filled(own[i].bytes, seed(self, i)));
      transfers.push_back(communicator.begin_send(data.back().data(), own[i].bytes, own[i].to, own[i].tag));
    }
    struct Got {
      Bytes bytes;
      int from, tag;
      std::shared_ptr<Transfer> transfer;
    };
    std::vector<Got> got;
    for (int tag = 2; tag >= 0; --tag)
      for (int from = 0; from < ranks; ++from)
        for (const Sent& sent : sent_by(from))
          if (sent.to == self && sent.tag == tag) got.push_back({Bytes(100000), from, tag, nullptr});
    for (Got& one : got)
      one.transfer = communicator.begin_receive(one.bytes.data(), one.bytes.size(), one.from, one.tag);
    for (Got& one : got) communicator.wait(*one.transfer);
    for (const auto& transfer : transfers) communicator.wait(*transfer);
    std::size_t at = 0;
    for (int tag = 2; tag >= 0; --tag)
      for (int from = 0; from < ranks; ++from) {
        const std::vector<Sent> list = sent_by(from);
        for (std::size_t i = 0; i < list.size(); ++i) {
          if (list[i].to != self || list[i].tag != tag) continue;
          Got& one = got[at++];
          ASSERT_EQ(one.transfer->envelope.bytes, list[i].bytes);
          one.bytes.resize(list[i].bytes);
          ASSERT_EQ(one.bytes, filled(list[i].bytes, seed(from, i)));
        }
      }
  });
}

/// Bytes that tell where in which message they are, a stamp a page: sanitizers follow each single access.
/// They take the memory of what was there: a sanitizer spends more on new pages than on a message.
void number(Bytes& message, std::size_t bytes, int number) {
  message.assign(bytes, static_cast<unsigned char>(number));
  for (std::size_t i = 0; i < bytes; i += 4096) message[i] = static_cast<unsigned char>(i / 4096 + 1);
}
Bytes numbered(std::size_t bytes, int which) {
  Bytes found;
  number(found, bytes, which);
  return found;
}

// A sanitizer's own memory would count too.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool counts_memory = false;
#else
constexpr bool counts_memory = true;
#endif
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

TEST_P(Messages, LargeOnesThatComeEarlyWaitInTheirSendersMemory) {
  run(2, [](Communicator& communicator) {
    constexpr int count = 24;  // more than a channel has words for
    constexpr std::size_t bytes = 1000001;
    if (communicator.rank() == 0) {
      std::vector<Bytes> sent;
      std::vector<std::shared_ptr<Transfer>> sends;
      for (int tag = 0; tag < count; ++tag) sent.push_back(numbered(bytes, tag));
      for (int tag = 0; tag < count; ++tag)
        sends.push_back(communicator.begin_send(sent[static_cast<std::size_t>(tag)].data(), bytes, 1, tag, 0,
                                                tag % 5 == 0));
      const char last = 'x';
      communicator.send(&last, 1, 1, 1000);  // passes all of them
      communicator.barrier();
      for (const auto& send : sends) EXPECT_FALSE(send->done);
      communicator.barrier();
      for (const auto& send : sends) communicator.wait(*send);
      return;
    }
    const std::size_t before = resident_bytes();
    char last = 0;
    communicator.receive(&last, 1, 0, 1000);
    EXPECT_EQ(last, 'x');
    communicator.barrier();
    if (GetParam() && counts_memory) {
      EXPECT_LT(resident_bytes() - before, count * (std::size_t{256} << 10) + (std::size_t{4} << 20));
    }
    communicator.barrier();
    Envelope found;
    ASSERT_TRUE(communicator.probe_now(&found, 0, 7));
    EXPECT_EQ(found.bytes, bytes);
    // Some one by one, from the last to the first, then the others together.
    Bytes one(bytes), wanted;
    for (int tag = count - 1; tag >= 20; --tag) {
      communicator.receive(one.data(), bytes, tag % 2 == 0 ? 0 : any_source, tag);
      number(wanted, bytes, tag);
      ASSERT_TRUE(one == wanted) << tag;
    }
    std::vector<Bytes> got(20, Bytes(bytes));
    std::vector<std::shared_ptr<Transfer>> receives;
    for (int tag = 0; tag < 20; ++tag)
      receives.push_back(
          communicator.begin_receive(got[static_cast<std::size_t>(tag)].data(), bytes, 0, tag));
    for (std::size_t tag = 20; tag-- > 0;) communicator.wait(*receives[tag]);
    for (std::size_t tag = 0; tag < 20; ++tag) {
      number(wanted, bytes, static_cast<int>(tag));
      ASSERT_TRUE(got[tag] == wanted) << tag;
    }
  });
}

TEST_P(Messages, LargeOnesGoBothWaysAmongSmallOnes) {
  run(3, [](Communicator& communicator) {
    constexpr int turns = 20;
    const int rank = communicator.rank(), size = communicator.size();
    Random random(static_cast<std::uint64_t>(rank) + 11);
    std::vector<Bytes> sent, got;
    std::vector<std::shared_ptr<Transfer>> all;
    const auto size_of = [](int from, int turn) {
      return std::size_t{1} +
             static_cast<std::size_t>((from * 7919 + turn * 104729) % 10) * 123457 % (std::size_t{1} << 20);
    };
    for (int turn = 0; turn < turns; ++turn)
      for (int to = 0; to < size; ++to)
        if (to != rank) sent.push_back(numbered(size_of(rank, turn), rank + turn));
    std::size_t at = 0;
    for (int turn = 0; turn < turns; ++turn)
      for (int to = 0; to < size; ++to)
        if (to != rank) {
          all.push_back(communicator.begin_send(sent[at].data(), sent[at].size(), to, turn));
          ++at;
        }
    std::vector<std::pair<int, int>> wanted;
    for (int turn = 0; turn < turns; ++turn)
      for (int from = 0; from < size; ++from)
        if (from != rank) wanted.emplace_back(from, turn);
    for (std::size_t i = wanted.size(); i-- > 1;) std::swap(wanted[i], wanted[random.below(i + 1)]);
    got.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      got[i].resize(size_of(wanted[i].first, wanted[i].second));
      all.push_back(
          communicator.begin_receive(got[i].data(), got[i].size(), wanted[i].first, wanted[i].second));
      if (random.below(4) == 0) communicator.wait(*all.back());
    }
    for (const auto& transfer : all) communicator.wait(*transfer);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(got[i] == numbered(got[i].size(), wanted[i].first + wanted[i].second));
  });
}

// Bytes of the pools change hands with each piece, so a rank that receives more than it sends must give some
// back, also those that were its own once.
TEST_P(Messages, ManyOneWayAndThenTheOtherLeaveRoom) {
  run(2, [](Communicator& communicator) {
    const int rank = communicator.rank();
    Random random(5);  // the same on both
    for (int turn = 0; turn < 60; ++turn) {
      const std::size_t bytes = std::size_t{1} << (14 + random.below(5));
      const std::size_t counts[] = {random.below(24), random.below(turn % 3 == 0 ? 24 : 3)};
      std::vector<Bytes> sent, got(counts[1 - rank], Bytes(bytes + 1));
      for (std::size_t i = 0; i < counts[rank]; ++i) sent.push_back(numbered(bytes + i % 2, turn + int(i)));
      std::vector<std::shared_ptr<Transfer>> all;
      const auto receive = [&] {
        for (Bytes& one : got) all.push_back(communicator.begin_receive(one.data(), one.size(), 1 - rank, 3));
      };
      if (turn % 2 == 0) receive();
      for (const Bytes& one : sent)
        all.push_back(communicator.begin_send(one.data(), one.size(), 1 - rank, 3));
      if (turn % 2 != 0) receive();
      for (const auto& transfer : all) communicator.wait(*transfer);
      for (std::size_t i = 0; i < got.size(); ++i) {
        got[i].resize(bytes + i % 2);
        ASSERT_TRUE(got[i] == numbered(got[i].size(), turn + int(i))) << "turn " << turn << ", message " << i;
      }
    }
  });
}

// A receiver takes the first ones of a size through the ring and together with their sender by turns
// (copy_ways.hpp). Either may be late, and the message may wait for its receive.
TEST_P(Messages, TheLargestOnesAreCopiedByBoth) {
  run(2, [](Communicator& communicator) {
    const auto late = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    Bytes sent, got;
    for (const std::size_t bytes :
         {std::size_t{2} << 20, (std::size_t{4} << 20) + 12345, std::size_t{9000001}})
      for (int turn = 0; turn < 12; ++turn) {
        number(sent, bytes, turn);
        if (communicator.rank() == 0) {
          const auto begun = communicator.begin_send(sent.data(), bytes, 1, turn, 0, turn % 4 == 3);
          if (turn % 3 == 1) late();
          communicator.wait(*begun);
        } else {
          got.assign(bytes + 1, 0xee);
          Envelope found;
          if (turn % 3 == 2) {
            found = communicator.probe(0, turn);
            late();
          }
          communicator.receive(got.data(), bytes, 0, turn);
          EXPECT_EQ(got.back(), 0xee);
          got.pop_back();
          ASSERT_TRUE(got == sent) << bytes << " bytes, turn " << turn;
        }
      }
  });
}

TEST_P(Messages, SeveralOfTheLargestGoBothWaysAtOnce) {
  run(3, [](Communicator& communicator) {
    constexpr int each = 12;
    constexpr std::size_t bytes = 2200000;
    const int rank = communicator.rank(), size = communicator.size();
    std::vector<Bytes> sent, got(each * static_cast<std::size_t>(size), Bytes(bytes));
    for (int tag = 0; tag < each; ++tag) sent.push_back(numbered(bytes, 20 * rank + tag));
    std::vector<std::shared_ptr<Transfer>> all;
    for (int tag = 0; tag < each; ++tag)
      for (int to = 0; to < size; ++to)
        if (to != rank)
          all.push_back(communicator.begin_send(sent[static_cast<std::size_t>(tag)].data(), bytes, to, tag));
    for (int tag = each - 1; tag >= 0; --tag)
      for (int from = 0; from < size; ++from)
        if (from != rank)
          all.push_back(communicator.begin_receive(got[static_cast<std::size_t>(from * each + tag)].data(),
                                                   bytes, from, tag));
    for (const auto& transfer : all) communicator.wait(*transfer);
    Bytes wanted;
    for (int from = 0; from < size; ++from)
      for (int tag = 0; tag < each; ++tag) {
        if (from == rank) continue;
        number(wanted, bytes, 20 * from + tag);
        ASSERT_TRUE(got[static_cast<std::size_t>(from * each + tag)] == wanted)
            << "from " << from << ", tag " << tag;
      }
  });
}

TEST(Stretches, JoinNeighboursOfOnePoolAgain) {
  Stretches held;
  held.add(Stretch{false, false, 0, 65536});
  held.age();
  std::vector<Stretch> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(held.take_to_write(16384));
  EXPECT_TRUE(held.empty());
  for (const int i : {2, 0, 3, 1}) held.add(taken[static_cast<std::size_t>(i)]);
  held.add(Stretch{true, false, 65536, 8192});  // in the other pool
  EXPECT_EQ(held.bytes(), 73728u);
  EXPECT_FALSE(held.has_old());
  held.age();
  const Stretch others = held.take_to_write(65536), all = held.take_to_write(65536);
  EXPECT_TRUE(others.peers);
  EXPECT_EQ(others.bytes, 8192u);
  EXPECT_EQ(all.at, 0u);
  EXPECT_EQ(all.bytes, 65536u);
}

TEST(Stretches, GiveFirstWhatWasStoredPastTheCaches) {
  Stretches held;
  held.add(Stretch{false, false, 0, 8192});
  held.add(Stretch{false, true, 65536, 8192});
  const Stretch given = held.take_to_give(4096);
  EXPECT_TRUE(given.cold);
  EXPECT_EQ(given.at, 65536u);
  const Stretch back = Stretch::from_peer(given.word());
  EXPECT_TRUE(back.peers);
  EXPECT_TRUE(back.cold);
  EXPECT_EQ(back.at, 65536u);
  EXPECT_EQ(back.bytes, 4096u);
  EXPECT_EQ(held.bytes(), 12288u);
}

/// The channels and pools of two ranks that one thread plays.
class ChannelsHere : public Channels {
 public:
  explicit ChannelsHere(bool room) : room_(room) {
    for (const int rank : {0, 1}) place_[rank].atomic().store(static_cast<std::uint64_t>(rank) + 1);
  }
  bool ranks_may_stop() const override { return false; }
  bool has_ended(int) const override { return false; }
  std::size_t ring_bytes() const override { return 65536; }
  Word<std::uint64_t>& place(int from, int) override { return place_[from]; }
  Channel& at(std::uint64_t place) override { return channel_[place - 1]; }
  std::uint64_t make() override { return 0; }
  unsigned char* bytes_at(std::uint64_t place) override { return pool_[place - 1].data(); }
  std::uint64_t make_bytes() override {
    if (made_ == 2) throw ResourceError("no more");
    return ++made_;
  }
  bool room_for_pool() const override { return room_; }
  void give_room() { room_ = true; }
  std::uint64_t made() const { return made_; }

 private:
  bool room_;
  std::uint64_t made_ = 0;
  Word<std::uint64_t> place_[2];
  Channel channel_[2] = {};
  Bytes pool_[2] = {Bytes(65536), Bytes(65536)};
};

TEST(Pools, BytesGoToWhoReadThemAndComeBackAsGifts) {
  ThreadGroup(1, options()).run([](Communicator& one) {
    NativePort port(one.control(), 0, one.wait_policy());
    ChannelsHere channels(true);
    const Division first(0, channels.ring_bytes()), second(1, channels.ring_bytes());
    Pools<NativePort> sender(channels, first, 1), reader(channels, second, 0);
    EXPECT_FALSE(sender.made());
    sender.make(port, channels.at(1));
    sender.make(port, channels.at(1));
    ASSERT_TRUE(sender.made());
    EXPECT_EQ(channels.made(), 1u) << "made once";
    unsigned char* const pool = channels.bytes_at(1);
    // The reader, which has no pool, keeps at most half of this one.
    std::size_t sent = 0, given = 0;
    for (int piece = 0; piece < 100; ++piece) {
      const Room room = sender.room(port, first.most_piece, true);
      ASSERT_NE(room.to, nullptr) << piece;
      ASSERT_GE(room.to, pool);
      ASSERT_LE(room.to + room.bytes, pool + first.pool());
      room.to[0] = static_cast<unsigned char>(piece);
      EXPECT_EQ(reader.take(port, room.at), room.to);
      reader.give_back(port, channels.at(1));
      sent += room.bytes;
      given = port.load_relaxed(channels.at(1).read.gifts);
    }
    EXPECT_GT(sent, 10 * first.pool());
    EXPECT_GT(given, 10u);
    // With a pool of its own it writes first where it has read.
    reader.make(port, channels.at(2));
    ASSERT_TRUE(reader.made());
    const Room answer = reader.room(port, first.unit, true);
    EXPECT_TRUE(answer.mine);
    EXPECT_GE(answer.to, pool);
    EXPECT_LT(answer.to, pool + first.pool());
    EXPECT_EQ(sender.take(port, answer.at), answer.to);
  });
}

TEST(Pools, AreRefusedOnceForAllWhereThereIsNoRoom) {
  ThreadGroup(1, options()).run([](Communicator& one) {
    NativePort port(one.control(), 0, one.wait_policy());
    ChannelsHere channels(false);
    Pools<NativePort> refused(channels, Division(0, channels.ring_bytes()), 1);
    refused.make(port, channels.at(1));
    EXPECT_FALSE(refused.made());
    channels.give_room();
    refused.make(port, channels.at(1));
    EXPECT_FALSE(refused.made()) << "its messages go through the ring by now";
    EXPECT_EQ(channels.made(), 0u);
    while (channels.made() < 2) channels.make_bytes();
    Pools<NativePort> without_memory(channels, Division(0, channels.ring_bytes()), 1);
    without_memory.make(port, channels.at(1));
    EXPECT_FALSE(without_memory.made());
  });
}

// Half of the heap is left for rings, parts and the program.
TEST(Pools, AreMadeOnlyWhileHalfOfTheHeapIsFree) {
  for (const bool half_gone : {false, true})
    on_processes(2, [half_gone](Communicator& communicator) {
      const int rank = communicator.rank();
      void* const kept =
          half_gone && rank == 0 ? communicator.allocate(communicator.heap_bytes() / 2) : nullptr;
      communicator.barrier();
      const std::size_t before = communicator.heap_free_bytes();
      communicator.barrier();
      const Bytes sent = numbered(100000, 7);
      Bytes got(sent.size());
      communicator.send_receive(sent.data(), sent.size(), 1 - rank, 3, got.data(), got.size(), 1 - rank, 3);
      EXPECT_TRUE(got == sent);
      communicator.barrier();
      const std::size_t taken = before - communicator.heap_free_bytes();
      // Two rings of 2 MB, and as many pools.
      EXPECT_GT(taken, std::size_t{half_gone ? 4u : 8u} << 20);
      EXPECT_LT(taken, std::size_t{half_gone ? 5u : 9u} << 20);
      communicator.barrier();
      if (kept != nullptr) communicator.release(kept);
    });
}

TEST(Parts, CoverTheRest) {
  constexpr std::size_t from = 131072;
  for (const std::size_t to : {from + 1, std::size_t{1} << 20, (std::size_t{1} << 20) + 1,
                               std::size_t{16} << 20, (std::size_t{1} << 30) + 12345}) {
    const Parts parts(from, to);
    std::size_t at = from;
    std::uint64_t claimed = 0;
    while (claimed < parts.count()) {
      ASSERT_EQ(parts.at(claimed), at);
      const std::uint64_t claim = parts.claim(claimed);
      at += parts.bytes_at(at, claim);
      claimed += claim;
    }
    EXPECT_EQ(claimed, parts.count());
    EXPECT_EQ(at, to);
  }
}

TEST_P(Messages, AnySourceTakesAllAndNamesThem) {
  constexpr int ranks = 5;
  run(ranks, [](Communicator& communicator) {
    constexpr int each = 50;
    if (communicator.rank() != 0) {
      for (std::uint64_t i = 0; i < each; ++i) {
        const Bytes bytes = filled(8 + 40 * i, i);
        communicator.send(bytes.data(), bytes.size(), 0, static_cast<int>(i));
      }
      return;
    }
    std::vector<int> next(ranks, 0);
    for (int i = 0; i < each * (ranks - 1); ++i) {
      Bytes got(3000);
      const Envelope envelope = communicator.receive(got.data(), got.size());
      const auto source = static_cast<std::size_t>(envelope.source);
      EXPECT_EQ(envelope.tag, next[source]++);
      got.resize(envelope.bytes);
      EXPECT_EQ(got, filled(8 + 40 * static_cast<std::size_t>(envelope.tag),
                            static_cast<std::uint64_t>(envelope.tag)));
    }
  });
}

TEST_P(Messages, ProbeTellsWhatAReceiveTakes) {
  run(2, [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      const Bytes large = filled(200000, 3);
      communicator.send("abc", 3, 1, 5);
      communicator.send(large.data(), large.size(), 1, 6);
      return;
    }
    const Envelope second = communicator.probe(0, 6);
    EXPECT_EQ(second.bytes, 200000u);
    const Envelope first = communicator.probe();
    EXPECT_EQ(first.tag, 5);
    EXPECT_EQ(first.bytes, 3u);
    Bytes got(200000);
    communicator.receive(got.data(), got.size(), 0, 6);
    EXPECT_EQ(got, filled(200000, 3));
    communicator.receive(got.data(), 3);
    EXPECT_EQ(std::memcmp(got.data(), "abc", 3), 0);
    Envelope none;
    EXPECT_FALSE(communicator.probe_now(&none));
  });
}

TEST_P(Messages, ASynchronousSendIsDoneOnlyWhenItIsMatched) {
  run(2, [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      const auto transfer = communicator.begin_send("x", 1, 1, 0, 0, true);
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(communicator.test(*transfer));
      communicator.barrier();
      communicator.wait(*transfer);
    } else {
      communicator.barrier();
      char got = 0;
      communicator.receive(&got, 1);
      EXPECT_EQ(got, 'x');
    }
  });
}

TEST_P(Messages, ARankSendsToItselfAndToNone) {
  run(2, [](Communicator& communicator) {
    const Bytes sent = filled(300000, static_cast<std::uint64_t>(communicator.rank()));
    Bytes got(sent.size());
    communicator.send_receive(sent.data(), sent.size(), communicator.rank(), 1, got.data(), got.size(),
                              communicator.rank());
    EXPECT_EQ(got, sent);
    communicator.send(sent.data(), 10, no_rank);
    const Envelope nothing = communicator.receive(got.data(), 10, no_rank);
    EXPECT_EQ(nothing.source, no_rank);
    EXPECT_EQ(nothing.bytes, 0u);
  });
}

TEST_P(Messages, SendReceiveGoesRound) {
  run(3, [](Communicator& communicator) {
    const int size = communicator.size();
    const int right = (communicator.rank() + 1) % size;
    const int left = (communicator.rank() + size - 1) % size;
    for (const std::size_t bytes : sizes) {
      const Bytes sent = filled(bytes, static_cast<std::uint64_t>(communicator.rank()));
      Bytes got(bytes);
      communicator.send_receive(sent.data(), bytes, right, 2, got.data(), bytes, left, 2);
      EXPECT_EQ(got, filled(bytes, static_cast<std::uint64_t>(left)));
    }
  });
}

TEST_P(Messages, AMessageThatDoesNotFitStays) {
  run(2, [](Communicator& communicator) {
    const double sent[3] = {1, 2, 3};
    const unsigned float64 = type_number(Type::float64);
    if (communicator.rank() == 0) {
      communicator.send(sent, sizeof sent, 1, 4, float64);
      return;
    }
    double got[3] = {};
    try {
      communicator.receive(got, 16, 0, 4, float64);
      FAIL();
    } catch (const ArgumentError& error) {
      EXPECT_STREQ(
          error.what(),
          "buffer: got 16 bytes of float64; allowed: room for 24 bytes, the message from rank 0 with tag 4");
    }
    EXPECT_THROW(communicator.receive(got, 24, 0, 4, type_number(Type::int64)), ArgumentError);
    communicator.receive(got, 24, 0, 4, float64);
    EXPECT_EQ(got[2], 3);
  });
}

TEST_P(Messages, APostedReceiveThatDoesNotFitEndsAndTheMessageStays) {
  run(2, [](Communicator& communicator) {
    char got[8] = {};
    std::shared_ptr<Transfer> posted;
    if (communicator.rank() == 1) posted = communicator.begin_receive(got, 2, 0);
    communicator.barrier();
    if (communicator.rank() == 0) {
      communicator.send("abcd", 4, 1);
      return;
    }
    EXPECT_THROW(communicator.wait(*posted), ArgumentError);
    EXPECT_EQ(communicator.receive(got, 8).bytes, 4u);
    EXPECT_STREQ(got, "abcd");
  });
}

// One test in 256 looks once more, for all that has come; the message may come between the two looks.
TEST_P(Messages, ATestTellsOfAMessageThatDoesNotFitWheneverItComes) {
  run(2, [](Communicator& communicator) {
    Random random(5);
    for (int turn = 0; turn < 5000; ++turn) {
      char got[4] = {};
      std::shared_ptr<Transfer> posted;
      if (communicator.rank() == 1) posted = communicator.begin_receive(got, 2, 0);
      communicator.barrier();
      if (communicator.rank() == 0) {
        for (std::uint64_t i = random.below(4096); i > 0; --i) arch::pause();
        communicator.send("abc", 4, 1);
        continue;
      }
      EXPECT_THROW(while (!communicator.test(*posted)){}, ArgumentError) << turn;
      communicator.receive(got, 4);
    }
  });
}

TEST_P(Messages, AReceiveCanBeTakenBackAndASendCannot) {
  run(2, [](Communicator& communicator) {
    char got = 0;
    if (communicator.rank() == 1) {
      const auto posted = communicator.begin_receive(&got, 1, 0);
      EXPECT_TRUE(communicator.cancel(*posted));
      communicator.barrier();
      communicator.receive(&got, 1, 0);
      EXPECT_EQ(got, 'y');
    } else {
      communicator.barrier();
      const auto sent = communicator.begin_send("y", 1, 1);
      EXPECT_THROW(communicator.cancel(*sent), ArgumentError);
    }
  });
}

TEST_P(Messages, PartsHaveTheirOwnAndGiveTheirMemoryBack) {
  run(4, [](Communicator& communicator) {
    communicator.barrier();
    for (int turn = 0; turn < 3; ++turn) {
      const auto part = communicator.split(communicator.rank() % 2, 0);
      int sent = 10 * communicator.rank() + turn;
      int got = -1;
      int whole = -1;
      part->send_receive(&sent, sizeof sent, 1 - part->rank(), 0, &got, sizeof got);
      communicator.send_receive(&turn, sizeof turn, communicator.rank() ^ 1, 0, &whole, sizeof whole);
      EXPECT_EQ(got, 10 * (communicator.rank() ^ 2) + turn);
      EXPECT_EQ(whole, turn);
    }
    communicator.barrier();
    const std::size_t before = communicator.heap_free_bytes();
    {
      const auto part = communicator.split(0, 0);
      char c = 'c';
      part->send_receive(&c, 1, part->rank() ^ 1, 0, &c + 0, 0, no_rank);
      part->receive(&c, 1);
      part->barrier();
    }
    communicator.barrier();
    EXPECT_EQ(communicator.heap_free_bytes(), before);
    communicator.barrier();
  });
}

TEST(MessageMemory, SmallMessagesNeedNoRing) {
  constexpr int ranks = 8;
  GroupOptions roomy = options();
  roomy.heap_limit = std::size_t{64} << 20;
  ThreadGroup(ranks, roomy).run([](Communicator& communicator) {
    communicator.barrier();
    const std::size_t before = communicator.heap_free_bytes();
    communicator.barrier();
    const auto exchange = [&](std::size_t bytes) {
      std::vector<char> sent(bytes, 's'), got(bytes);
      for (int peer = 0; peer < ranks; ++peer)
        if (peer != communicator.rank())
          communicator.send_receive(sent.data(), bytes, peer, 0, got.data(), bytes, peer);
      communicator.barrier();
      EXPECT_EQ(got, sent);
      return before - communicator.heap_free_bytes();
    };
    EXPECT_LT(exchange(200), std::size_t{1} << 20);
    communicator.barrier();
    EXPECT_GT(exchange(4096), std::size_t{16} << 20);
    communicator.barrier();
  });
}

TEST(MessageArguments, AreNamedWithWhatIsAllowed) {
  on_threads(2, [](Communicator& communicator) {
    char byte = 0;
    const auto refused = [&](const char* argument, const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << argument;
      } catch (const ArgumentError& error) {
        EXPECT_EQ(error.argument(), argument);
      }
    };
    refused("dest", [&] { communicator.send(&byte, 1, 2); });
    refused("dest", [&] { communicator.send(&byte, 1, any_source); });
    refused("tag", [&] { communicator.send(&byte, 1, 0, -1); });
    refused("data", [&] { communicator.send(nullptr, 1, 0); });
    refused("source", [&] { communicator.receive(&byte, 1, 7); });
    refused("tag", [&] { communicator.receive(&byte, 1, 0, -3); });
    refused("type", [&] { communicator.receive(&byte, 1, 0, 0, 1000); });
    refused("begun", [&] { communicator.wait_any({}); });
    communicator.barrier();
  });
}

// Waits that cannot end: an error within a second or so that names ranks, sources and tags.

std::string end_of(bool processes, int ranks, const Function& function) {
  try {
    processes ? on_processes(ranks, function) : on_threads(ranks, function);
  } catch (const BrokenGroupError& error) {
    return error.what();
  }
  return "ended well";
}

TEST_P(Messages, RanksThatAllReceiveAreToldOfIt) {
  expect_to_end_within(3 * second_ns, [] {
    const std::string told = end_of(GetParam(), 2, [](Communicator& communicator) {
      char byte;
      communicator.receive(&byte, 1, 1 - communicator.rank(), 40 + communicator.rank());
    });
    EXPECT_NE(told.find("waits for a message from rank"), std::string::npos) << told;
    EXPECT_NE(told.find("with tag 40"), std::string::npos) << told;
    EXPECT_NE(told.find("with tag 41"), std::string::npos) << told;
  });
}

// A sanitizer takes so long between two looks that they might be another program's work.
TEST_P(Messages, ARankThatOnlyLooksForWhatCannotComeIsToldOfIt) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "needs looks as fast as a program's";
#endif
  const std::string told = end_of(GetParam(), 2, [](Communicator& communicator) {
    char byte;
    const auto receive =
        communicator.begin_receive(&byte, 1, 1 - communicator.rank(), 70 + communicator.rank());
    if (communicator.rank() == 1) communicator.wait(*receive);
    while (!communicator.test(*receive)) continue;
  });
  EXPECT_NE(told.find("waits for a message from rank 1 with tag 70"), std::string::npos) << told;
  EXPECT_NE(told.find("waits for a message from rank 0 with tag 71"), std::string::npos) << told;
}

// Nobody knows that it sends something in the end, but it does more than to look.
TEST_P(Messages, ARankThatWorksBetweenItsLooksIsNotTakenToWait) {
  if (std::getenv("PHICOLL_TEST_LONG") == nullptr) GTEST_SKIP() << "takes ten seconds";
  run(2, [](Communicator& communicator) {
    char byte = 0;
    if (communicator.rank() == 1) {
      communicator.receive(&byte, 1, 0);
      return communicator.send(&byte, 1, 0);
    }
    const auto receive = communicator.begin_receive(&byte, 1, 1);
    const std::int64_t end = os::now_ns() + 10 * second_ns;
    while (os::now_ns() < end) {
      EXPECT_FALSE(communicator.test(*receive));
      for (const std::int64_t worked = os::now_ns() + 1000; os::now_ns() < worked;) continue;
    }
    communicator.send(&byte, 1, 1);
    communicator.wait(*receive);
  });
}

TEST_P(Messages, RanksThatAllWaitForAnyOfTheirRequestsAreToldOfThem) {
  const std::string told = end_of(GetParam(), 2, [](Communicator& communicator) {
    // The parts number their ranks the other way round; errors name ranks by their numbers in the whole
    // group.
    const auto part = communicator.split(0, 1 - communicator.rank());
    char bytes[8];
    if (communicator.rank() == 0) {
      communicator.wait_any({communicator.begin_receive(bytes, 1, 1, 50),
                             part->begin_receive(bytes + 1, 1, any_source, 51),
                             part->begin_receive(bytes + 2, 1, 0, any_tag)});
    } else {
      std::vector<std::shared_ptr<Begun>> all;
      for (int i = 0; i < 5; ++i) all.push_back(communicator.begin_send(bytes + i, 1, 0, 60 + i, 0, true));
      communicator.wait_any(all);
    }
  });
  EXPECT_NE(
      told.find(
          "waits for a message from rank 1 with tag 50 or a message from any rank with tag 51 or a message "
          "from rank 1"),
      std::string::npos)
      << told;
  EXPECT_NE(
      told.find(
          "waits for rank 0 to receive a message with tag 60 or rank 0 to receive a message with tag 61"),
      std::string::npos)
      << told;
  EXPECT_NE(told.find("with tag 63 or others"), std::string::npos) << told;
}

TEST_P(Messages, AReceiveBesideABarrierIsToldOf) {
  const std::string told = end_of(GetParam(), 3, [](Communicator& communicator) {
    char byte;
    if (communicator.rank() == 1)
      communicator.receive(&byte, 1);
    else
      communicator.barrier();
  });
  EXPECT_NE(told.find("waits for a message from any rank, which cannot end"), std::string::npos) << told;
  EXPECT_NE(told.find("waits in collective call 1"), std::string::npos) << told;
}

TEST_P(Messages, ARankThatHasLeftIsNotAwaited) {
  const std::string told = end_of(GetParam(), 3, [](Communicator& communicator) {
    char byte;
    if (communicator.rank() == 0) communicator.receive(&byte, 1, 2, 9);
    if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  });
  EXPECT_NE(told.find("waits for a message from rank 2 with tag 9, which has left"), std::string::npos)
      << told;
}

// Between threads it stays with its sender, which waits; between processes its receiver keeps it.
TEST_P(Messages, ALargeSendThatNobodyTakesIsToldOf) {
  const std::string told = end_of(GetParam(), 2, [](Communicator& communicator) {
    const Bytes large(1 << 20);
    char byte;
    if (communicator.rank() == 0)
      communicator.send(large.data(), large.size(), 1, 3);
    else
      communicator.receive(&byte, 1, 0, 9);
  });
  EXPECT_NE(told.find("to receive a message with tag 3"), std::string::npos) << told;
}

// A rank dies in the middle of one of the largest messages.
TEST(MessagesOfTheDead, TheOtherRankIsToldOfIt) {
  for (int moment = 0; moment < 8; ++moment) {
    const std::string told = end_of(true, 2, [&](Communicator& communicator) {
      Bytes large(4 << 20);
      std::thread killer;
      if (communicator.rank() == moment % 2)
        killer = std::thread([moment] {
          std::this_thread::sleep_for(std::chrono::microseconds(8000 + 700 * moment));
          kill(getpid(), SIGKILL);
        });
      for (;;)
        if (communicator.rank() == 0)
          communicator.send(large.data(), large.size(), 1);
        else
          communicator.receive(large.data(), large.size(), 0);
    });
    EXPECT_NE(told, "ended well");
  }
}

// The sender dies while both copy, and what it had claimed is not awaited.
TEST(MessagesOfTheDead, AreNotAwaited) {
  const os::SharedMemory page = os::SharedMemory::create("page", 4096);
  auto* const ns = new (page.data()) std::atomic<std::int64_t>(0);
  const auto round = [&](int moment) {
    const std::string told = end_of(true, 2, [&](Communicator& communicator) {
      Bytes large(64 << 20, 1);
      const auto exchange = [&] {
        if (communicator.rank() == 0)
          communicator.send(large.data(), large.size(), 1);
        else
          communicator.receive(large.data(), large.size(), 0);
      };
      exchange();  // through the ring: the receiver tries both ways in turn
      std::thread killer;
      if (communicator.rank() == 0)
        killer = std::thread([moment] {
          std::this_thread::sleep_for(std::chrono::microseconds(1500 + 700 * moment));
          kill(getpid(), SIGKILL);
        });
      const std::int64_t start = os::now_ns();
      try {
        for (;;) exchange();
      } catch (const BrokenGroupError&) {
        *ns = os::now_ns() - start;
        throw;
      }
    });
    EXPECT_NE(told.find("group broken by rank 0"), std::string::npos) << told;
    return ns->load();
  };
  for (int moment = 0; moment < 4; ++moment)
    expect_within(second_ns * 19 / 10, [&] { return round(moment); });
}

class Signalled final : public Interpreter {
 public:
  explicit Signalled(bool (*throws)()) : throws_(throws) {}
  void look_for_signals() override {
    if (throws_()) throw std::domain_error("by a handler");
  }
  void tell_of_a_wait() override {}
  int threads() override { return 1; }

 private:
  bool (*throws_)();
};

// A signal's handler throws while the receiver waits for what the sender had claimed when it was stopped:
// nothing else waits when a receive begins, or within a test. The message is half taken, so the group is
// broken before the receiver makes another call.
std::atomic<bool> throws{false};
TEST(MessagesOfABrokenGroup, AreHalfTakenWhereAHandlerThrows) {
  const std::string told = end_of(true, 2, [](Communicator& communicator) {
    Bytes large(32 << 20);
    if (communicator.rank() == 0)
      for (;;) communicator.send(large.data(), large.size(), 1);
    Signalled interpreter([] { return throws.load(); });
    communicator.set_interpreter(&interpreter);
    std::atomic<bool> thrown{false};
    const auto sender = static_cast<pid_t>(communicator.control().pid(0));
    std::thread stopper([&] {
      for (unsigned i = 0; !thrown; ++i) {
        kill(sender, SIGSTOP);
        throws = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        throws = false;
        kill(sender, SIGCONT);
        std::this_thread::sleep_for(std::chrono::microseconds(2000 + 300 * (i % 11)));
      }
    });
    while (!thrown) {
      try {
        const auto begun = communicator.begin_receive(large.data(), large.size(), 0);
        while (!communicator.test(*begun)) {
        }
      } catch (const std::domain_error&) {
        thrown = true;
        EXPECT_TRUE(communicator.control().broken());
      }
    }
    stopper.join();
    communicator.set_interpreter(nullptr);
    const Bytes mine(large.size(), 77);
    large = mine;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_TRUE(large == mine);
    communicator.barrier();
  });
  EXPECT_NE(told.find("group broken by rank 1: raised by a handler"), std::string::npos) << told;
}

TEST(MessagesOfABrokenGroup, AreNotSentWhereAHandlerThrowsInAWaitForAll) {
  const std::string told = end_of(true, 2, [](Communicator& communicator) {
    Bytes large(32 << 20);
    if (communicator.rank() == 0) communicator.receive(large.data(), large.size(), 1, 4);
    Signalled interpreter([] { return true; });
    communicator.set_interpreter(&interpreter);
    communicator.begin_send(large.data(), large.size(), 0, 3);
    EXPECT_THROW(communicator.wait_for_all(), std::domain_error);
    EXPECT_TRUE(communicator.control().broken());
    communicator.set_interpreter(nullptr);
    communicator.barrier();
  });
  EXPECT_NE(told.find("group broken by rank 1: raised by a handler"), std::string::npos) << told;
}

// The group breaks in the middle of one. The receiver's buffer is the caller's again, so nothing is written
// to it after the error.
TEST(MessagesOfABrokenGroup, AreNotWrittenAfterTheError) {
  for (int moment = 0; moment < 8; ++moment) {
    const std::string told = end_of(true, 2, [&](Communicator& communicator) {
      Bytes large(8 << 20, static_cast<unsigned char>(communicator.rank()));
      std::thread breaker;
      if (communicator.rank() == moment % 2)
        breaker = std::thread([&communicator, moment] {
          std::this_thread::sleep_for(std::chrono::microseconds(8000 + 700 * moment));
          communicator.control().break_group(communicator.rank(), "was broken by the test");
        });
      try {
        for (;;)
          if (communicator.rank() == 0)
            communicator.send(large.data(), large.size(), 1);
          else
            communicator.receive(large.data(), large.size(), 0);
      } catch (const BrokenGroupError&) {
        if (breaker.joinable()) breaker.join();
        const Bytes mine(large.size(), 77);
        large = mine;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        EXPECT_TRUE(large == mine);
        throw;
      }
    });
    EXPECT_NE(told.find("was broken by the test"), std::string::npos) << told;
  }
}

// A slow sender does not make a stuck group.
TEST_P(Messages, ALateMessageIsAwaited) {
  run(3, [](Communicator& communicator) {
    char byte = 'z';
    if (communicator.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
      communicator.send(&byte, 1, 1);
    } else if (communicator.rank() == 1) {
      communicator.receive(&byte, 1);
      communicator.send(&byte, 1, 2);
    } else {
      communicator.receive(&byte, 1, any_source, 0);
    }
    communicator.barrier();
  });
}

}  // namespace
}  // namespace phicoll
