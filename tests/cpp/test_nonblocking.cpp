// Collectives that go on after the call that began them: results, order, what goes on meanwhile, and ends
// that are none.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "patience.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace {

using Function = std::function<void(Communicator&)>;
using Numbers = std::vector<std::int64_t>;
using Sizes = std::vector<std::size_t>;

const Operator& sum() {
  static const Operator op = find_operator(Type::int64, Op::sum);
  return op;
}

GroupOptions options() {
  GroupOptions found;
  found.memory_limit = std::size_t{16} << 20;
  found.heap_limit = std::size_t{64} << 20;
  found.attach_timeout_ms = 60000;
  found.timeout_ms = 60000;
  return found;
}

class NonblockingCalls : public ::testing::TestWithParam<bool> {
 protected:
  static void run(int ranks, const Function& function) {
    if (!GetParam()) return ThreadGroup(ranks, options()).run(function);
    // A failed expectation in a process is told as an exception, which ends the group and reaches the parent.
    fork_and_run(ranks, options(), [&](Communicator& communicator) {
      function(communicator);
      if (::testing::Test::HasFailure()) throw Error("an expectation failed");
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, NonblockingCalls, ::testing::Bool(),
                         [](const auto& ranks) { return ranks.param ? "processes" : "threads"; });

/// What rank `rank` gives to the sum of number `turn`.
Numbers given(std::size_t count, int rank, int turn) {
  Numbers found(count);
  for (std::size_t i = 0; i < count; ++i) found[i] = static_cast<std::int64_t>(i) * (rank + 1) + turn;
  return found;
}
Numbers summed(std::size_t count, int ranks, int turn) {
  Numbers found(count, 0);
  for (int r = 0; r < ranks; ++r) {
    const Numbers part = given(count, r, turn);
    for (std::size_t i = 0; i < count; ++i) found[i] += part[i];
  }
  return found;
}

TEST_P(NonblockingCalls, EverySizeHasTheResultOfItsCall) {
  run(3, [](Communicator& communicator) {
    for (const std::size_t count : {1u, 7u, 512u, 4096u, 100000u}) {
      const Numbers send = given(count, communicator.rank(), 1);
      Numbers receive(count);
      const auto request = communicator.begin(Request::allreduce(send.data(), receive.data(), count, sum()));
      communicator.wait(*request);
      ASSERT_TRUE(request->done);
      ASSERT_EQ(receive, summed(count, communicator.size(), 1)) << count;
    }
  });
}

TEST_P(NonblockingCalls, ManyAtOnceEndInTheirOrderWhateverIsCalledMeanwhile) {
  run(4, [](Communicator& communicator) {
    constexpr int calls = 20;
    const int size = communicator.size();
    Random random(static_cast<std::uint64_t>(communicator.rank()) + 5);
    std::vector<Numbers> sent, received;
    for (int turn = 0; turn < calls; ++turn) {
      const std::size_t count = std::size_t{1} << turn % 14;
      sent.push_back(given(count, communicator.rank(), turn));
      received.emplace_back(count);
    }
    std::vector<std::shared_ptr<BegunCall>> requests;
    for (std::size_t turn = 0; turn < calls; ++turn) {
      requests.push_back(communicator.begin(
          Request::allreduce(sent[turn].data(), received[turn].data(), sent[turn].size(), sum())));
      if (random.below(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
      // Blocking calls and messages fall between them as they like.
      if (turn % 5 == 2) communicator.barrier();
      if (turn % 7 == 3) {
        std::int64_t token = communicator.rank();
        communicator.broadcast(&token, sizeof token, 2);
        EXPECT_EQ(token, 2);
        std::int64_t got = -1;
        communicator.send_receive(&token, sizeof token, (communicator.rank() + 1) % size, 0, &got, sizeof got,
                                  (communicator.rank() + size - 1) % size, 0);
        EXPECT_EQ(got, 2);
      }
    }
    // Waited for from the last to the first, or looked at.
    for (std::size_t turn = calls; turn-- > 0;) {
      if (turn % 2 == 0)
        communicator.wait(*requests[turn]);
      else
        while (!communicator.test(*requests[turn])) std::this_thread::yield();
      ASSERT_EQ(received[turn], summed(sent[turn].size(), size, static_cast<int>(turn))) << turn;
    }
  });
}

TEST_P(NonblockingCalls, BeginsWithoutTheOthersAndGoesOnInTheirAbsence) {
  run(2, [](Communicator& communicator) {
    // Rank 1 comes to the barrier only when it has a message that rank 0 sends after beginning its own.
    int token = 7;
    std::shared_ptr<BegunCall> request;
    if (communicator.rank() == 0) {
      request = communicator.begin(Request());
      EXPECT_FALSE(communicator.test(*request));
      communicator.send(&token, sizeof token, 1);
    } else {
      communicator.receive(&token, sizeof token, 0);
      request = communicator.begin(Request());
    }
    communicator.wait(*request);
  });
}

TEST_P(NonblockingCalls, WithoutRoomForThemFailOnAllRanksAndLeaveTheGroupWhole) {
  // Whichever rank comes first, and whether the heap has room again when the other comes: an attempt has one
  // result.
  for (const int first : {0, 1})
    run(2, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      std::vector<void*> filling;
      const auto fill = [&] {
        for (std::size_t bytes = std::size_t{32} << 20; bytes >= 256; bytes /= 2) try {
            for (;;) filling.push_back(communicator.allocate(bytes, false));
          } catch (const ResourceError&) {
            // Smaller ones may fit.
          }
      };
      const auto empty = [&] {
        for (void* const one : filling) communicator.release(one);
        filling.clear();
      };
      const auto refused = [&] {
        try {
          communicator.begin(Request());
        } catch (const ResourceError& error) {
          return std::string(error.what()).find("heap_limit: a sub-communicator needs") == 0;
        }
        return false;
      };
      communicator.barrier();
      for (int attempt = 0; attempt < 2; ++attempt) {
        if (rank == first) {
          fill();
          EXPECT_TRUE(refused());
          empty();
        }
        communicator.barrier();
        if (rank != first) {
          EXPECT_TRUE(refused());
        }
        communicator.barrier();
      }
      communicator.wait(*communicator.begin(Request()));
    });
}

TEST_P(NonblockingCalls, TwoRanksTryBothWaysOfAnAllreduce) {
  run(2, [](Communicator& communicator) {
    communicator.select(Operation::allreduce, "sliced:whole=512");
    Numbers send(400), receive(400);
    const auto prepared =
        communicator.prepare(Request::allreduce(send.data(), receive.data(), receive.size(), sum()));
    for (int turn = 0; turn < 60; ++turn) {
      const Numbers mine = given(400, communicator.rank(), turn);
      std::copy(mine.begin(), mine.end(), send.begin());  // the same memory in each turn
      if (turn % 3 == 0)
        communicator.allreduce(send.data(), receive.data(), receive.size(), sum());
      else if (turn % 3 == 1)
        communicator.begin(prepared);
      else
        communicator.wait(
            *communicator.begin(Request::allreduce(send.data(), receive.data(), receive.size(), sum())));
      if (turn % 3 == 1) communicator.wait(*prepared);
      ASSERT_EQ(receive, summed(400, 2, turn)) << turn;
    }
  });
}

// Rank 0 gave before the barrier, so in a call that blocks it would be the one that releases the others.
TEST_P(NonblockingCalls, ARootThatIsAwayHoldsNobodyInABarrier) {
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& through = *new (shared) std::atomic<int>(0);
  run(3, [&](Communicator& communicator) {
    communicator.select(Operation::barrier, "sense-reversing:releases=root");
    for (int turn = 0; turn < 20; ++turn) {
      std::int64_t value = communicator.rank() == 0 ? turn : -1;
      communicator.begin(Request::broadcast(&value, sizeof value, 0));
      const auto request = communicator.begin(Request());
      // Rank 0 makes no call until the others are through, but in the first turn, in which all make the
      // algorithms.
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (turn != 0 && communicator.rank() == 0 && through < 2 * (turn + 1)) {
        if (std::chrono::steady_clock::now() > end) throw Error("check: the others wait for rank 0");
        std::this_thread::yield();
      }
      communicator.wait(*request);
      if (communicator.rank() == 0) continue;
      EXPECT_EQ(value, turn);
      ++through;
    }
  });
  munmap(shared, sizeof(std::atomic<int>));
}

TEST_P(NonblockingCalls, ACallIsStartedAgainAndAgain) {
  run(2, [](Communicator& communicator) {
    Numbers send(8), receive(8);
    const auto request =
        communicator.prepare(Request::allreduce(send.data(), receive.data(), send.size(), sum()));
    for (int turn = 0; turn < 1000; ++turn) {
      const Numbers mine = given(8, communicator.rank(), turn);
      std::copy(mine.begin(), mine.end(), send.begin());
      communicator.begin(request);
      if (turn % 100 == 0 && communicator.rank() == 0 && !communicator.test(*request)) {
        EXPECT_THROW(communicator.begin(request), ArgumentError);
      }
      communicator.wait(*request);
      ASSERT_EQ(receive, summed(8, 2, turn));
    }
  });
}

TEST(Nonblocking, ANullRequestIsRefused) {
  for (const int ranks : {1, 2})
    ThreadGroup(ranks, options()).run([](Communicator& communicator) {
      const auto barrier = communicator.prepare(Request());
      const std::shared_ptr<BegunCall> none;
      for (int turn = 0; turn < 2; ++turn) {  // before the first call, and after one
        EXPECT_THROW(communicator.begin(none), ArgumentError);
        const std::vector<std::shared_ptr<Begun>> begun{barrier, none};
        EXPECT_THROW(communicator.wait_any(begun), ArgumentError);
        communicator.begin(barrier);
        communicator.wait(*barrier);
      }
    });
}

TEST_P(NonblockingCalls, APreparedCallOfAWordIsMadeAnewAfterOtherCalls) {
  run(2, [](Communicator& communicator) {
    std::int64_t value = 0, receive = 0, beside = 0;
    int refused = 0;
    const auto request = communicator.prepare(Request::allreduce(&value, &receive, 1, sum()));
    const auto barrier = communicator.prepare(Request());
    for (int turn = 0; turn < 60; ++turn) {
      if (turn % 7 == 3) communicator.wait(*communicator.begin(Request::broadcast(&beside, 8, 0)));
      if (turn % 11 == 5)
        communicator.select(Operation::allreduce, turn % 2 == 0 ? "recursive-doubling" : "one-shot");
      if (turn % 13 == 6) {
        communicator.begin(barrier);
        communicator.wait(*barrier);
      }
      value = turn + communicator.rank();
      communicator.begin(request);
      if (!request->done) {
        EXPECT_THROW(communicator.begin(request), ArgumentError) << turn;
        ++refused;
      }
      if (turn % 5 == 2)
        while (!communicator.test(*request)) std::this_thread::yield();
      communicator.wait(*request);
      ASSERT_EQ(receive, 2 * turn + 1);
    }
    EXPECT_GE(refused, 30);
  });
}

TEST_P(NonblockingCalls, SeveralCallsOfDifferentOperationsEndInOrder) {
  run(3, [](Communicator& communicator) {
    const auto size = static_cast<std::size_t>(communicator.size());
    const auto rank = communicator.rank();
    const std::int64_t own = 10 + rank;
    std::int64_t from_root = rank == 1 ? 99 : 0, reduced = 0, scanned = 0;
    Numbers all(size), exchanged(size), parts(size, own);
    communicator.begin(Request::broadcast(&from_root, 8, 1));
    communicator.begin(Request::reduce(&own, &reduced, 1, sum(), 0));
    communicator.begin(Request::scan(&own, &scanned, 1, sum()));
    communicator.begin(Request::allgather(&own, all.data(), 8));
    communicator.begin(Request::alltoall(parts.data(), exchanged.data(), 8));
    const auto request = communicator.begin(Request());
    communicator.wait(*request);
    EXPECT_EQ(from_root, 99);
    if (rank == 0) {
      EXPECT_EQ(reduced, 33);
    }
    EXPECT_EQ(scanned, rank == 0 ? 10 : rank == 1 ? 21 : 33);
    EXPECT_EQ(all, (Numbers{10, 11, 12}));
    EXPECT_EQ(exchanged, (Numbers{10, 11, 12}));
  });
}

// A sanitizer follows each single access.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int turns = 8;
#else
constexpr int turns = 30;
#endif

/// Prepared calls of every kind, with what each has to leave behind. All ranks agree on `count` and `root`.
struct PreparedCalls {
  PreparedCalls(Communicator& communicator, std::size_t numbers, int root_rank)
      : c(communicator), count(numbers), root(root_rank), size(static_cast<std::size_t>(c.size())) {
    for (Numbers* blocks : {&all, &parts, &exchanged}) blocks->resize(count * size);
    mine.resize(count);
    found.resize(count);
    const std::size_t bytes = count * 8;
    Sizes at(size);  // gone when the calls begin, as their counts are
    for (std::size_t r = 0; r < size; ++r) at[r] = r * bytes;
    requests = {
        c.prepare(Request()),
        c.prepare(Request::broadcast(found.data(), bytes, root)),
        c.prepare(Request::reduce(mine.data(), found.data(), count, sum(), root)),
        c.prepare(Request::allreduce(mine.data(), found.data(), count, sum())),
        c.prepare(Request::allreduce(nullptr, found.data(), count, sum())),
        c.prepare(Request::scan(mine.data(), found.data(), count, sum())),
        c.prepare(Request::gather(mine.data(), all.data(), bytes, root)),
        c.prepare(Request::scatter(parts.data(), found.data(), bytes, root)),
        c.prepare(Request::allgather(mine.data(), all.data(), bytes)),
        c.prepare(Request::alltoall(parts.data(), exchanged.data(), bytes)),
        c.prepare(Request::alltoall(nullptr, exchanged.data(), bytes)),
        c.prepare(Request::reduce_scatter(parts.data(), found.data(), Sizes(size, count).data(), sum())),
        // Then only the root knows how long the others' blocks are.
        c.prepare(
            Request::scatterv(parts.data(), Sizes(size, bytes).data(), at.data(), found.data(), bytes, root)),
    };
  }
  static constexpr std::size_t kinds = 13;

  void fill(int turn) {
    const Numbers own = given(count, c.rank(), turn);
    std::copy(own.begin(), own.end(), mine.begin());  // the same memory in each turn
    std::copy(own.begin(), own.end(), found.begin());
    std::fill(all.begin(), all.end(), -1);
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t i = 0; i < count; ++i)
        parts[r * count + i] = static_cast<std::int64_t>(r) * 1000 + mine[i];
    std::copy(parts.begin(), parts.end(), exchanged.begin());
  }
  void check(std::size_t kind, int turn) const {
    const int rank = c.rank();
    const auto own = static_cast<std::size_t>(rank);
    const bool is_root = rank == root;
    const std::int64_t ranks = c.size();
    if (kind == 1) {
      EXPECT_EQ(found, given(count, root, turn));
    }
    if ((kind == 2 && is_root) || kind == 3 || kind == 4) {
      EXPECT_EQ(found, summed(count, c.size(), turn)) << kind;
    }
    if (kind == 5) {
      EXPECT_EQ(found, summed(count, rank + 1, turn));
    }
    for (std::size_t r = 0; r < size; ++r) {
      const Numbers of_rank = given(count, static_cast<int>(r), turn);
      for (std::size_t i = 0; i < count; ++i) {
        if ((kind == 6 && is_root) || kind == 8) {
          ASSERT_EQ(all[r * count + i], of_rank[i]) << kind;
        }
        if (kind == 9 || kind == 10) {
          ASSERT_EQ(exchanged[r * count + i], of_rank[i] + rank * 1000) << kind;
        }
      }
    }
    const Numbers of_root = given(count, root, turn), of_all = summed(count, c.size(), turn);
    for (std::size_t i = 0; i < count; ++i) {
      if (kind == 7 || kind == 12) {
        ASSERT_EQ(found[i], of_root[i] + static_cast<std::int64_t>(own) * 1000);
      }
      if (kind == 11) {
        ASSERT_EQ(found[i], of_all[i] + ranks * static_cast<std::int64_t>(own) * 1000);
      }
    }
  }

  Communicator& c;
  std::size_t count;
  int root;
  std::size_t size;
  Numbers mine, found, all, parts, exchanged;
  std::vector<std::shared_ptr<BegunCall>> requests;
};

/// Waits at once, or looks first, or makes other calls first.
void end_as_it_comes(Communicator& communicator, BegunCall& request, std::size_t way) {
  if (way == 1) communicator.test(request);
  if (way == 2) communicator.barrier();
  if (way == 3)
    while (!communicator.test(request)) std::this_thread::yield();
  if (way == 4) {
    std::int64_t token = 1, total = 0;
    communicator.allreduce(&token, &total, 1, sum());
    EXPECT_EQ(total, communicator.size());
  }
  communicator.wait(request);
}

void make_prepared_calls(Communicator& communicator, Communicator& whole) {
  Random alike(17), own(static_cast<std::uint64_t>(whole.rank()) + 3);
  for (const std::size_t count : {1u, 3u, 700u, 9000u}) {
    PreparedCalls calls(communicator, count, static_cast<int>(count) % communicator.size());
    for (int turn = 0; turn < turns; ++turn) {
      const auto kind = static_cast<std::size_t>(alike.below(PreparedCalls::kinds));
      calls.fill(turn);
      communicator.begin(calls.requests[kind]);
      const auto way = static_cast<std::size_t>(own.below(4));
      // Blocking calls are collective, so all ranks make them alike.
      end_as_it_comes(communicator, *calls.requests[kind],
                      turn % 5 == 0 ? std::size_t{4}
                      : way == 2    ? std::size_t{0}
                                    : way);
      calls.check(kind, turn);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << count << " " << kind << " " << turn;
    }
  }
}

TEST_P(NonblockingCalls, PreparedCallsHaveTheResultsOfTheirCalls) {
  for (const int ranks : {1, 2, 4})
    run(ranks, [](Communicator& communicator) { make_prepared_calls(communicator, communicator); });
}

TEST_P(NonblockingCalls, PreparedCallsOfPartsTakeTheLock) {
  run(4, [](Communicator& communicator) {
    const auto part = communicator.split(communicator.rank() / 2, 0);
    make_prepared_calls(*part, communicator);
  });
}

TEST_P(NonblockingCalls, PreparedCallsWaitInTheirOrder) {
  run(3, [](Communicator& communicator) {
    std::vector<std::unique_ptr<PreparedCalls>> calls;
    for (int i = 0; i < 6; ++i)
      calls.emplace_back(new PreparedCalls(communicator, i % 2 == 0 ? 1 : 700, i % 3));
    Random own(static_cast<std::uint64_t>(communicator.rank()) + 1);
    for (int turn = 0; turn < turns; ++turn) {
      const auto kind_of = [&](std::size_t i) {
        return (i + static_cast<std::size_t>(turn)) % PreparedCalls::kinds;
      };
      for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i]->fill(turn);
        communicator.begin(calls[i]->requests[kind_of(i)]);
        if (own.below(4) == 0) communicator.test(*calls[0]->requests[kind_of(0)]);
      }
      for (std::size_t n = 0; n < calls.size(); ++n) {
        const std::size_t i = own.below(2) == 0 ? n : calls.size() - 1 - n;
        communicator.wait(*calls[i]->requests[kind_of(i)]);
        communicator.wait(*calls[n]->requests[kind_of(n)]);
        calls[n]->check(kind_of(n), turn);
      }
    }
  });
}

TEST_P(NonblockingCalls, APreparedCallDiffersFromAnother) {
  try {
    run(2, [](Communicator& communicator) {
      std::int64_t value = 1, receive = 0;
      const auto same = communicator.prepare(Request::allreduce(&value, &receive, 1, sum()));
      const auto other = communicator.prepare(Request::allgather(&value, &receive, 4));
      for (int turn = 0; turn < 10; ++turn) {
        communicator.begin(same);
        communicator.wait(*same);
      }
      const auto& last = communicator.rank() == 0 ? same : other;
      communicator.begin(last);
      communicator.wait(*last);
      communicator.barrier();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("allgather"), std::string::npos) << error.what();
  }
}

/// An operator that sums, and calls `during` first.
thread_local std::function<void()> during;
Operator sum_and_call() {
  return user_operator(
      8, true,
      [](void*, void* to, const void* left, const void* right, std::size_t count) {
        if (during) during();
        for (std::size_t i = 0; i < count; ++i)
          static_cast<std::int64_t*>(to)[i] =
              static_cast<const std::int64_t*>(left)[i] + static_cast<const std::int64_t*>(right)[i];
      },
      nullptr, 0);
}

TEST(Nonblocking, AnOperatorIsRefusedItsOwnCommunicator) {
  for (const bool several : {false, true})
    fork_and_run(2, options(), [several](Communicator& communicator) {
      const auto part = several ? communicator.dup() : nullptr;
      std::int64_t value = 1, receive = 0;
      int refused = 0;
      const Operator op = sum_and_call();
      const auto request = communicator.prepare(Request::allreduce(&value, &receive, 1, op));
      during = [&] {
        try {
          communicator.begin(Request());
        } catch (const Error& error) {
          if (std::string(error.what()).find("an operator of a call") != std::string::npos) ++refused;
        }
      };
      for (int turn = 0; turn < 4; ++turn) {
        communicator.begin(request);
        if (turn % 2 == 1)
          while (!communicator.test(*request)) std::this_thread::yield();
        communicator.wait(*request);
        if (receive != 2 || refused != turn + 1) throw Error("refused " + std::to_string(refused));
      }
      during = nullptr;
    });
}

/// Looks again and again. Whether a look held within a minute.
template <class Look>
bool looks_until(const Look& look) {
  return eventually([&] {
    for (int i = 0; i < 1000; ++i)
      if (look()) return true;
    return false;
  });
}

/// What rank 0 begins, and the part of rank 1, which waits.
struct BegunWork {
  const char* name;
  std::function<std::vector<std::shared_ptr<Begun>>(Communicator&)> begin;
  Function meet;
};

std::vector<BegunWork> kinds_of_work() {
  static const Numbers sent(400000, 5);  // 3.2 MB
  const auto sends = [](std::size_t count, int times) {
    return [=](Communicator& c) {
      std::vector<std::shared_ptr<Begun>> all;
      for (int i = 0; i < times; ++i) all.push_back(c.begin_send(sent.data(), 8 * count, 1));
      return all;
    };
  };
  const auto receives = [](std::size_t count, int times) {
    return [=](Communicator& c) {
      Numbers got(count);
      for (int i = 0; i < times; ++i) c.receive(got.data(), 8 * count, 0);
    };
  };
  std::vector<BegunWork> all = {
      {"a send of 320 KB", sends(40000, 1), receives(40000, 1)},
      {"a send of 3.2 MB", sends(400000, 1), receives(400000, 1)},
      {"eighty sends of 16 B", sends(2, 80), receives(2, 80)},
  };
  static const std::size_t count = 100000;
  // On the rank's own thread, which has the memory.
  const auto add = [&](const char* name, const std::function<Request()>& call) {
    const auto begin = [call](Communicator& c) {
      return std::vector<std::shared_ptr<Begun>>{c.begin(call())};
    };
    const auto start = [call](Communicator& c) {
      const auto prepared = c.prepare(call());
      c.begin(prepared);
      return std::vector<std::shared_ptr<Begun>>{prepared};
    };
    const auto wait = [](Communicator& c, const std::vector<std::shared_ptr<Begun>>& begun) {
      c.wait(*std::static_pointer_cast<BegunCall>(begun[0]));
    };
    all.push_back({name, begin, [=](Communicator& c) { wait(c, begin(c)); }});
    all.push_back({name, start, [=](Communicator& c) { wait(c, start(c)); }});
  };
  static thread_local Numbers got(2 * count);
  const std::size_t block = 8 * count;
  add("an allgather", [] { return Request::allgather(sent.data(), got.data(), block); });
  add("an alltoall", [] { return Request::alltoall(sent.data(), got.data(), block); });
  static const Operator op = sum();  // the requests refer to it
  add("an allreduce", [] { return Request::allreduce(sent.data(), got.data(), count, op); });
  add("a reduce-scatter", [] { return Request::reduce_scatter_block(sent.data(), got.data(), count, op); });
  add("a gather", [] { return Request::gather(sent.data(), got.data(), block, 1); });
  add("a broadcast", [] { return Request::broadcast(got.data(), block, 0); });
  return all;
}

// Rank 0 only looks, for a word that rank 1 sends when its part is done.
TEST_P(NonblockingCalls, EveryLookGoesOnWithAllThatItsRankHasBegun) {
  constexpr int word_tag = 3;
  struct Looker {
    const char* name;
    std::function<std::function<bool()>(Communicator&)> make;
  };
  static thread_local char word;
  const std::vector<Looker> lookers = {
      {"a test of a receive",
       [](Communicator& c) -> std::function<bool()> {
         const auto receive = c.begin_receive(&word, 1, 1, word_tag);
         return [&c, receive] { return c.test(*receive); };
       }},
      {"a probe",
       [](Communicator& c) -> std::function<bool()> {
         return [&c] {
           Envelope found;
           if (!c.probe_now(&found, 1, word_tag)) return false;
           c.receive(&word, 1, 1, word_tag);
           return true;
         };
       }},
      {"a matched probe",
       [](Communicator& c) -> std::function<bool()> {
         return [&c] {
           Envelope found;
           if (!c.hold_now(&found, 1, word_tag)) return false;
           c.wait(*c.begin_receive(found, &word, 1));
           return true;
         };
       }},
      {"a look alone",
       [](Communicator& c) -> std::function<bool()> {
         const auto receive = c.begin_receive(&word, 1, 1, word_tag);
         return [&c, receive] {
           c.look();
           return static_cast<bool>(receive->done);
         };
       }},
  };
  run(2, [&](Communicator& whole) {
    const auto other = whole.dup();
    for (const Looker& looker : lookers)
      for (const BegunWork& work : kinds_of_work())
        for (Communicator* const on : {&whole, other.get()}) {
          SCOPED_TRACE(std::string(looker.name) + ", " + work.name +
                       (on == &whole ? " there" : " elsewhere"));
          if (whole.rank() == 1) {
            work.meet(*on);
            whole.send("w", 1, 0, word_tag);
            continue;
          }
          const auto begun = work.begin(*on);
          const auto look = looker.make(whole);
          if (!looks_until(look)) throw Error(std::string(looker.name) + " does not go on with " + work.name);
          for (const auto& one : begun) on->wait_any({one});
        }
  });
}

// The inner call's receive is of what rank 1 sends only when it has got what this rank began to send before.
TEST(Nonblocking, AnOperatorThatLooksGoesOnWithTheRest) {
  for (const bool prepared : {false, true})
    fork_and_run(2, options(), [prepared](Communicator& whole) {
      const auto second = whole.dup();
      const auto third = whole.dup();
      const Numbers large(400000, 1);
      Numbers got(large.size());
      std::int64_t value = 1, total = 0, word = 0;
      int looked = 0;
      const Operator op = sum_and_call();
      const Request reduce = Request::reduce(&value, &total, 1, op, 0);
      const auto request = prepared ? whole.prepare(reduce) : nullptr;
      for (int turn = 0; turn < 3; ++turn) {
        const auto send = whole.rank() == 0 ? third->begin_send(large.data(), 8 * large.size(), 1) : nullptr;
        during = [&] {
          const auto receive = second->begin_receive(&word, 8, 1);
          if (!looks_until([&] { return second->test(*receive); })) throw Error("the rest does not go on");
          ++looked;
        };
        auto begun = request;
        if (prepared)
          whole.begin(request);
        else
          begun = whole.begin(reduce);
        if (whole.rank() == 1) {
          third->receive(got.data(), 8 * got.size(), 0);
          second->send(&word, 8, 0);
        }
        while (!whole.test(*begun)) std::this_thread::yield();
        if (send) third->wait(*send);
        if (whole.rank() == 0 && (looked != turn + 1 || total != 2))
          throw Error("looked " + std::to_string(looked));
      }
      during = nullptr;
    });
}

/// Says that other threads may end any wait.
struct ManyThreads final : Interpreter {
  void look_for_signals() override {}
  void tell_of_a_wait() override {}
  int threads() override { return 100; }
};

/// Three threads of the rank, each with a communicator of its own.
void in_threads(Communicator& whole, const std::function<bool(Communicator& own, int thread)>& is_right) {
  constexpr int threads = 3;
  static ManyThreads interpreter;
  whole.set_interpreter(&interpreter);
  std::vector<std::unique_ptr<Communicator>> parts;
  for (int i = 0; i < threads; ++i) parts.push_back(whole.dup());
  std::vector<std::thread> all;
  std::atomic<int> right{0};
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] { right.fetch_add(is_right(*parts[static_cast<std::size_t>(i)], i) ? 1 : 0); });
  for (std::thread& one : all) one.join();
  EXPECT_EQ(right.load(), threads);
}

// Each looks while it or another has begun something.
TEST_P(NonblockingCalls, ThreadsThatLookGoOnWithEachOthers) {
  run(2, [](Communicator& whole) {
    in_threads(whole, [](Communicator& own, int i) {
      const int peer = 1 - own.rank();
      Numbers sent(40000, i), got(40000), all_of(2000);
      bool right = true;
      for (int turn = 0; turn < 20; ++turn) {
        const auto send = own.begin_send(sent.data(), 8 * sent.size(), peer, turn);
        const auto gather = own.begin(Request::allgather(sent.data(), all_of.data(), 8000));
        const auto receive = own.begin_receive(got.data(), 8 * got.size(), peer, turn);
        const bool ended =
            looks_until([&] { return own.test(*gather) && own.test(*receive) && own.test(*send); });
        right = right && ended && got == sent && all_of == Numbers(2000, i);
        got.assign(got.size(), -1);
      }
      return right;
    });
  });
}

// Also with a call that fails where another thread goes on with it. The thread sanitizer sees that a wait
// reads nothing meanwhile.
TEST_P(NonblockingCalls, ThreadsThatWaitGoOnWithEachOthers) {
  run(2, [](Communicator& whole) {
    in_threads(whole, [](Communicator& own, int i) {
      Numbers total(500), word(1);
      bool right = true;
      for (int turn = 0; turn < 40; ++turn) {
        const Numbers sent = given(total.size(), own.rank(), turn + i);
        if (own.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1 + (turn + i) % 3));
        const auto barrier = own.begin(Request());
        const auto sum_up = own.begin(Request::allreduce(sent.data(), total.data(), total.size(), sum()));
        EXPECT_THROW(own.wait(*own.begin(Request::broadcast(word.data(), 8, 2))), ArgumentError);
        own.wait(*barrier);
        own.wait(*sum_up);
        right = right && total == summed(total.size(), 2, turn + i);
      }
      return right;
    });
  });
}

TEST(NonblockingDeathTest, ACommunicatorIsNotDestroyedInsideItsOwnOperator) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto destroys = [](bool looks) {
    ThreadGroup(2, options()).run([looks](Communicator& communicator) {
      auto part = communicator.dup();
      std::int64_t value = 1, receive = 0;
      during = [&part, own = communicator.rank()] {
        if (own == 0) part.reset();
      };
      const Operator op = sum_and_call();
      const auto request = part->prepare(Request::allreduce(&value, &receive, 1, op));
      part->begin(request);
      while (looks && !part->test(*request)) std::this_thread::yield();
      part->wait(*request);
    });
  };
  EXPECT_DEATH(destroys(false), "destroyed inside an operator of one of its own calls");
  EXPECT_DEATH(destroys(true), "destroyed inside an operator of one of its own calls");
}

TEST_P(NonblockingCalls, ARankThatLeavesEndsWhatItBegan) {
  run(3, [](Communicator& communicator) {
    static thread_local std::int64_t send = 1, receive = 0;
    communicator.begin(Request::allreduce(&send, &receive, 1, sum()));
  });
}

TEST_P(NonblockingCalls, PartsHaveTheirOwn) {
  run(4, [](Communicator& communicator) {
    const auto part = communicator.split(communicator.rank() % 2, 0);
    std::int64_t one = 1, in_part = 0, in_all = 0;
    const auto first = part->begin(Request::allreduce(&one, &in_part, 1, sum()));
    const auto second = communicator.begin(Request::allreduce(&one, &in_all, 1, sum()));
    communicator.wait(*second);
    part->wait(*first);
    EXPECT_EQ(in_part, 2);
    EXPECT_EQ(in_all, 4);
  });
}

TEST_P(NonblockingCalls, DifferentCallsAreFound) {
  try {
    run(2, [](Communicator& communicator) {
      std::int64_t value = 1, receive = 0;
      const bool first = communicator.rank() == 0;
      const auto request = communicator.begin(first ? Request::broadcast(&value, 8, 0)
                                                    : Request::allreduce(&value, &receive, 1, sum()));
      communicator.wait(*request);
      communicator.barrier();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("broadcast"), std::string::npos) << error.what();
  }
}

TEST_P(NonblockingCalls, AWaitThatCannotEndIsAnErrorWithinASecond) {
  expect_to_end_within(5 * second_ns, [] {
    try {
      run(2, [](Communicator& communicator) {
        if (communicator.rank() == 0) {
          const auto request = communicator.begin(Request());
          communicator.wait(*request);
        } else {
          communicator.barrier();
        }
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("nonblocking call"), std::string::npos) << error.what();
    }
  });
}

TEST_P(NonblockingCalls, AnExceptionInsideReachesTheWaitAndTheOthers) {
  try {
    run(2, [](Communicator& communicator) {
      const auto refuse = [](void*, void*, const void*, const void*, std::size_t) {
        throw std::runtime_error("no more");
      };
      const std::int64_t own = 1;
      std::int64_t result = 0;
      const Operator op = user_operator(8, true, refuse, nullptr);
      communicator.begin(Request());
      const auto request = communicator.begin(Request::reduce(&own, &result, 1, op, 1));  // rank 1 combines
      communicator.wait(*request);
      communicator.barrier();
    });
    FAIL() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no more"), std::string::npos) << error.what();
  }
}

TEST(Nonblocking, AWaitThatLastsTooLongGivesTheBuffersBack) {
  GroupOptions brief = options();
  brief.timeout_ms = 100;
  const auto work = [](Communicator& communicator) {
    if (communicator.rank() == 1) {
      EXPECT_TRUE(eventually([&] { return communicator.control().broken(); }));
      return;
    }
    const Numbers send = given(100, 0, 0);
    Numbers receive(100);
    const auto request = communicator.begin(Request::allreduce(send.data(), receive.data(), 100, sum()));
    EXPECT_THROW(communicator.wait(*request), TimeoutError);
    EXPECT_TRUE(request->done);
  };
  ThreadGroup(2, brief).run(work);
}

TEST(Nonblocking, AnOperatorIsCalledOnTheCallersStack) {
  ThreadGroup(2, options()).run([](Communicator& communicator) {
    unsigned char own_frame = 0;
    static thread_local unsigned char* caller;
    static thread_local bool near;
    caller = &own_frame;
    near = false;
    const Operator op = user_operator(
        8, true,
        [](void*, void* to, const void* left, const void* right, std::size_t count) {
          Nonblocking::on_callers_stack([=] {
            unsigned char here = 0;
            near = std::abs(&here - caller) < 100000;
            for (std::size_t i = 0; i < count; ++i)
              static_cast<std::int64_t*>(to)[i] =
                  static_cast<const std::int64_t*>(left)[i] + static_cast<const std::int64_t*>(right)[i];
          });
        },
        nullptr, 0);
    const Numbers send = given(100, communicator.rank(), 0);
    Numbers receive(100);
    const auto request = communicator.begin(Request::allreduce(send.data(), receive.data(), 100, op));
    communicator.wait(*request);
    EXPECT_EQ(receive, summed(100, 2, 0));
    EXPECT_TRUE(near || communicator.rank() != 0);
  });
}

}  // namespace
}  // namespace phicoll
