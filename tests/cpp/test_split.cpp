// Sub-communicators: their members, that they work like any communicator, that their memory comes back, and
// that what breaks one ends the waits in all.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "patience.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{4} << 20;
  options.heap_limit = std::size_t{64} << 20;
  options.attach_timeout_ms = 60000;
  return options;
}

GroupOptions usual() {
  GroupOptions options;
  options.attach_timeout_ms = 60000;
  return options;
}

void require(bool holds, const char* what) {
  if (!holds) throw Error(what);
}

using Body = std::function<void(Communicator&)>;

void in_threads_and_processes(int ranks, const Body& body, const GroupOptions& options = small()) {
  {
    SCOPED_TRACE("threads");
    ThreadGroup(ranks, options).run(body);
  }
  SCOPED_TRACE("processes");
  fork_and_run(ranks, options, body);
}

/// The sum over the ranks of a communicator, which only comes out right if data and barriers do.
std::uint32_t sum_of(Communicator& communicator, std::uint32_t value) {
  Operator op;
  op.kernel = [](void*, void* to, const void* left, const void* right, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<std::uint32_t*>(to)[i] =
          static_cast<const std::uint32_t*>(left)[i] + static_cast<const std::uint32_t*>(right)[i];
  };
  op.element_bytes = 4;
  std::uint32_t sum = 0;
  communicator.barrier();
  communicator.allreduce(&value, &sum, 1, op);
  communicator.barrier();
  return sum;
}

std::uint32_t as_word(int number) {
  return static_cast<std::uint32_t>(number);
}

TEST(Split, ByColorOrderedByKeyThenRank) {
  in_threads_and_processes(5, [](Communicator& all) {
    // Odd and even ranks, the even ones in reverse.
    const int color = all.rank() % 2;
    const auto part = all.split(color, color == 0 ? -all.rank() : 7);
    require(part->size() == (color == 0 ? 3 : 2), "size");
    require(part->rank() == (color == 0 ? 2 - all.rank() / 2 : all.rank() / 2), "rank");
    require(part->root_rank() == all.rank(), "root_rank");
    for (int i = 0; i < 100; ++i) {
      require(sum_of(*part, as_word(all.rank())) == (color == 0 ? 6u : 4u), "sum over the part");
      require(sum_of(all, 1) == 5, "sum over all, in between");
    }
  });
}

// From the heap of the whole group, whose places a part knows too; written over as soon as the call is done.
TEST(Split, DataInTheHeapIsReadWhereItLies) {
  in_threads_and_processes(5, [](Communicator& all) {
    const auto part = all.split(all.rank() % 2, -all.rank());
    const auto ranks = static_cast<std::size_t>(part->size());
    const AlgorithmSpec gathering = family(Operation::allgather).parse("one-shot:cell=1024:direct=100");
    const AlgorithmSpec summing = family(Operation::allreduce).parse("sliced:chunk=1024:direct=100");
    constexpr std::size_t count = 3001;
    auto* const own = static_cast<std::uint32_t*>(all.allocate(count * 4));
    auto* const sum = static_cast<std::uint32_t*>(all.allocate(count * 4));
    std::vector<std::uint32_t> blocks(count * ranks);
    for (std::uint32_t turn = 0; turn < 50; ++turn) {
      std::fill(own, own + count, turn * 8 + as_word(part->rank()));
      part->allgather(own, blocks.data(), count * 4, &gathering);
      std::fill(own, own + count, turn + 1);
      part->allreduce(own, sum, count, find_operator(Type::uint32, Op::sum), &summing);
      std::fill(own, own + count, 0xffffffffu);
      for (std::size_t i = 0; i < blocks.size(); ++i)
        require(blocks[i] == turn * 8 + static_cast<std::uint32_t>(i / count), "block");
      for (std::size_t i = 0; i < count; ++i)
        require(sum[i] == (turn + 1) * as_word(part->size()), "sum over the part");
    }
    part->barrier();
    all.release(own);
    all.release(sum);
    all.barrier();
  });
}

TEST(Split, ANegativeColorTakesPartAndGetsNothing) {
  in_threads_and_processes(4, [](Communicator& all) {
    const auto part = all.split(all.rank() == 2 ? -1 : 0, 0);
    require((part == nullptr) == (all.rank() == 2), "null");
    if (part) require(sum_of(*part, 1) == 3, "sum");
    all.barrier();
    require(all.split(-5, 0) == nullptr, "nobody");
  });
}

TEST(Split, NestedAndSeveralAtOnce) {
  in_threads_and_processes(8, [](Communicator& all) {
    const auto rows = all.split(all.rank() / 4, all.rank());
    const auto columns = all.split(all.rank() % 4, all.rank());
    const auto halves = rows->split(rows->rank() / 2, 0);
    const auto again = halves->dup();
    require(rows->size() == 4 && columns->size() == 2 && halves->size() == 2 && again->size() == 2, "sizes");
    require(again->root_rank() == all.rank(), "root_rank");
    for (int i = 0; i < 20; ++i) {
      require(sum_of(*halves, as_word(1 << all.rank())) == (3u << (all.rank() / 2 * 2)), "halves");
      require(sum_of(*columns, as_word(1 << all.rank())) == (17u << (all.rank() % 4)), "columns");
      require(sum_of(*rows, as_word(1 << all.rank())) == (15u << (all.rank() / 4 * 4)), "rows");
      require(sum_of(*again, 1) == 2, "again");
    }
    all.barrier();
  });
}

TEST(Split, ShapesAndCpusAreTheMembersOwn) {
  GroupOptions options = small();
  options.placement = "compact";
  in_threads_and_processes(
      4,
      [](Communicator& all) {
        const auto part = all.split(all.rank() < 2 ? 0 : 1, -all.rank());
        for (int r = 0; r < 2; ++r) {
          const int there = (all.rank() < 2 ? 1 : 3) - r;
          require(part->shape()[r].cpu == all.shape()[there].cpu, "cpu of the shape");
          require(part->control().cpu(r) == all.control().cpu(there), "cpu");
          require(part->control().pid(r) == all.control().pid(there), "pid");
          require(part->control().root_rank(r) == there, "root rank");
        }
        require(part->control().cross_copies() == all.control().cross_copies(), "cross copies");
        all.barrier();
      },
      options);
}

TEST(Split, MemoryIsTheWholeGroups) {
  in_threads_and_processes(2, [](Communicator& all) {
    const auto part = all.dup();
    Control& control = part->control();
    auto* const front = all.region();  // lies in front of the part's control
    require(control.holds(front, 100) && control.holds(part->region(), 100), "holds");
    require(control.offset_of(front) == all.control().offset_of(front), "offsets are the group's");
    require(control.at(control.offset_of(front)) == front, "at");
    int own = 0;
    require(!control.holds(&own, sizeof own), "own memory");
    require(!control.holds(reinterpret_cast<unsigned char*>(&all.control()) - 1, 1), "in front of all");
    require(!control.holds(front, std::size_t{1} << 40), "too long");
    void* const block = part->allocate(1000);
    require(all.in_shared_memory(block, 1000), "one heap");
    all.release(block);
    all.barrier();
  });
}

// Shorter rings would be written again while their readers' caches still hold them.
TEST(Split, APartOrGroupHasRoomForTheLongestRings) {
  in_threads_and_processes(2, [](Communicator& all) {
    const auto part = all.dup();
    const auto group = all.create_group({0, 1});
    CallFacts facts;
    facts.operation = Operation::broadcast;
    facts.bytes = std::size_t{2} << 20;
    const std::string wanted = all.collectives().why(facts).spec.text();
    require(part->collectives().why(facts).spec.text() == wanted, "a part");
    require(group->collectives().why(facts).spec.text() == wanted, "a group");
    all.barrier();
  });
}

// Of Python's heap, and those made from such a part too.
TEST(Split, EightPartsHaveRoomForTheLongestRings) {
  GroupOptions options;
  options.heap_limit = std::size_t{1} << 30;
  ThreadGroup(16, options).run([](Communicator& all) {
    const auto roomy = all.split(all.rank() / 2, 0, std::size_t{32} << 20);
    CallFacts facts;
    facts.operation = Operation::broadcast;
    facts.bytes = std::size_t{2} << 20;
    const std::string wanted = roomy->collectives().why(facts).spec.text();
    const auto part = all.split(all.rank() / 2, 0);
    require(part->collectives().why(facts).spec.text() == wanted, "a part");
    require(part->dup()->collectives().why(facts).spec.text() == wanted, "a part's part");
    all.barrier();
  });
}

// The last rank that leaves a part gives its memory back, and ranks of another part take it. The thread
// sanitizer sees that no rank still reads it.
TEST(Split, AnotherPartTakesTheMemoryThatRanksAreLeaving) {
  in_threads_and_processes(6, [](Communicator& all) {
    const auto own = all.split(all.rank() % 2, 0);
    for (int turn = 0; turn < 50; ++turn) own->dup(std::size_t{1} << 20)->barrier();
  });
}

// Once half of the heap is taken, parts take less, and all parts of one split alike.
TEST(Split, ManyMayBeHeldAtATime) {
  in_threads_and_processes(
      4,
      [](Communicator& all) {
        std::vector<std::unique_ptr<Communicator>> held;
        for (int i = 0; i < 20; ++i) {
          held.push_back(i % 3 == 0 ? all.split(all.rank() / 2, 0) : all.dup());
          const auto mine = static_cast<std::uint32_t>(held.back()->region_bytes());
          require(sum_of(all, mine) == 4 * mine, "another rank has another size");
        }
        require(held.front()->region_bytes() > std::size_t{16} << 20, "the first one's size");
        require(held.back()->region_bytes() == std::size_t{512} << 10, "the last one's size");
        for (const auto& part : held) require(sum_of(*part, 1) == as_word(part->size()), "sum");
        all.barrier();
      },
      usual());
}

// Libraries make a communicator for each of their objects, and use few of them at a time.
TEST(Split, ThousandsOfTwoRanksMayBeHeld) {
  in_threads_and_processes(
      2,
      [](Communicator& all) {
        std::vector<std::unique_ptr<Communicator>> held;
        for (int i = 0; i < 2000; ++i) {
          held.push_back(all.dup());
          if (i % 20 == 0) require(sum_of(*held.back(), as_word(i)) == 2 * as_word(i), "sum");
        }
        require(held.back()->region_bytes() == std::size_t{32} << 10, "the last one's size");
        // The last one's collectives make do with little.
        std::vector<std::uint32_t> sent(100000, 1), received(sent.size());
        const Operator add = find_operator(Type::uint32, Op::sum);
        held.back()->allreduce(sent.data(), received.data(), sent.size(), add);
        require(received == std::vector<std::uint32_t>(sent.size(), 2), "many sums");
        held.clear();
        all.barrier();
        require(all.heap_free_bytes() == all.heap_bytes(), "memory was not given back");
        require(all.dup()->region_bytes() > std::size_t{16} << 20, "what there was at first");
        all.barrier();
      },
      usual());
}

// A rank alone needs little.
TEST(Split, RanksAloneMayHoldHundreds) {
  in_threads_and_processes(
      2,
      [](Communicator& all) {
        std::vector<std::unique_ptr<Communicator>> held;
        for (int i = 0; i < 150; ++i) held.push_back(all.split(all.rank(), 0));
        for (const auto& part : held) require(sum_of(*part, 7) == as_word(7), "sum");
        all.barrier();
      },
      usual());
}

// Memory that was another communicator's is zero where it must be, and all of it comes back.
TEST(Split, AThousandTimesLeavesNothingBehind) {
  in_threads_and_processes(3, [](Communicator& all) {
    for (int i = 0; i < 1000; ++i) {
      const auto part = all.split(i % 3 == all.rank() ? 1 : 0, i % 2 != 0 ? all.rank() : -all.rank());
      require(part->size() == (i % 3 == all.rank() ? 1 : 2), "size");
      if (i % 10 == 0)
        require(sum_of(*part, 1) == as_word(part->size()), "sum");
      else
        part->barrier();
    }
    all.barrier();
    require(all.heap_free_bytes() == all.heap_bytes(), "memory was not given back");
  });
}

TEST(Split, WhatTheHeapCannotHoldIsRefusedAlikeAndWithoutEffect) {
  GroupOptions options = small();
  options.heap_limit = std::size_t{8} << 20;
  in_threads_and_processes(
      3,
      [](Communicator& all) {
        // Ranks 0 and 2 ask for too much; rank 1, a part of its own, does not.
        std::unique_ptr<Communicator> part;
        try {
          part = all.split(all.rank() % 2, 0, std::size_t{all.rank() == 1 ? 1u : 100u} << 20);
          require(all.rank() == 1, "not refused");
        } catch (const ResourceError& error) {
          require(all.rank() != 1, "refused");
          require(std::string(error.what()).find("heap_limit") != std::string::npos, error.what());
        }
        all.barrier();
        const auto dup = all.dup(std::size_t{1} << 20);
        require(dup->region_bytes() == std::size_t{1} << 20, "memory_limit");
        require(sum_of(*dup, 1) == 3, "still usable");
        all.barrier();
      },
      options);
}

TEST(Split, ARankThatFreesItsPartWhileOthersWaitInItBreaksTheGroup) {
  expect_to_end_within(2 * second_ns, [] {
    ThreadGroup group(3, small());
    try {
      group.run([](Communicator& all) {
        auto part = all.dup();
        part->barrier();
        if (all.rank() == 2)
          part.reset();
        else
          part->barrier();
        all.barrier();
      });
      ADD_FAILURE() << "a barrier without one of its ranks";
    } catch (const BrokenGroupError& error) {
      EXPECT_EQ(error.rank(), 2) << error.what();
      EXPECT_NE(std::string(error.what()).find("sub-communicator"), std::string::npos) << error.what();
    }
  });
}

// The part's other ranks wait in the part, rank 0 in the whole group: all end, and each hears of rank 3.
TEST(Split, ADeathEndsTheWaitsInThePartAndInTheWhole) {
  expect_to_end_within(3 * second_ns, [] {
    try {
      fork_and_run(4, small(), [](Communicator& all) {
        const auto part = all.split(all.rank() == 0 ? -1 : 0, -all.rank());
        if (part) require(sum_of(*part, 1) == 3, "sum");
        if (all.rank() == 3) kill(getpid(), SIGKILL);
        try {
          if (part)
            part->barrier();
          else
            all.barrier();
        } catch (const BrokenGroupError& error) {
          require(error.rank() == 3, error.what());
          throw;
        }
      });
      ADD_FAILURE() << "nobody missed rank 3";
    } catch (const BrokenGroupError& error) {
      EXPECT_EQ(error.rank(), 3) << error.what();
    }
  });
}

TEST(Split, TheDeathOfARankOutsideThePartEndsItsWaits) {
  const os::SharedMemory page = os::SharedMemory::create("page", 4096);
  auto* const ended = new (page.data()) std::atomic<bool>(false);
  try {
    fork_and_run(3, small(), [&](Communicator& all) {
      const auto part = all.split(all.rank() == 2 ? -1 : 0, 0);
      all.barrier();
      if (all.rank() == 2) kill(getpid(), SIGKILL);
      // Rank 1 does not come to the barrier in which rank 0 waits before that wait has ended.
      if (all.rank() == 1) require(eventually([&] { return ended->load(); }), "rank 0 waited for rank 1");
      try {
        part->barrier();
      } catch (const BrokenGroupError&) {
        *ended = true;
        throw;
      }
    });
    FAIL() << "nobody missed rank 2";
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 2) << error.what();
  }
  EXPECT_TRUE(ended->load());
}

TEST(Split, AFailureInAPartBreaksTheWhole) {
  const auto body = [](Communicator& all) {
    const auto part = all.split(all.rank() == 0 ? -1 : 0, -all.rank());
    all.barrier();
    if (part && part->rank() == 0) {
      part->fail("had enough");
      return;
    }
    try {
      (part ? *part : all).barrier();
    } catch (const BrokenGroupError&) {
      require(all.control().broken() && (!part || part->control().broken()), "broken");
      throw;
    }
  };
  for (bool threads : {true, false}) try {
      if (threads)
        ThreadGroup(3, small()).run(body);
      else
        fork_and_run(3, small(), body);
      ADD_FAILURE() << "nobody noticed";
    } catch (const BrokenGroupError& error) {
      EXPECT_EQ(error.rank(), 2) << "not the rank's number in the whole group";
      EXPECT_NE(std::string(error.what()).find("had enough"), std::string::npos) << error.what();
    }
}

TEST(Split, ATimeoutInAPartIsATimeoutThere) {
  GroupOptions options = small();
  options.timeout_ms = 100;
  ThreadGroup group(3, options);
  std::atomic<bool> timed_out{false};
  EXPECT_THROW(group.run([&](Communicator& all) {
    const auto part = all.split(all.rank() == 0 ? -1 : 0, 0);
    // Rank 2 comes when rank 1 has given up, however long that takes on a busy machine.
    for (int i = 0; all.rank() == 2 && !timed_out && i < 3000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      if (part) part->barrier();
    } catch (const TimeoutError&) {
      timed_out = true;
      throw;
    }
  }),
               TimeoutError);
}

// A child that goes by an exception which the program catches: the others, which wait in it, must not wait
// for ever; but where the exception goes on to the end of the rank, it is the reason that all hear.
TEST(Split, AnExceptionThatPassesAPartIsTheReasonUnlessItIsCaught) {
  try {
    fork_and_run(2, small(), [](Communicator& all) {
      const auto part = all.dup();
      if (all.rank() == 1) throw Error("the reason");
      part->barrier();
    });
    FAIL();
  } catch (const BrokenGroupError& error) {
    EXPECT_NE(std::string(error.what()).find("the reason"), std::string::npos) << error.what();
  }
  try {
    fork_and_run(2, small(), [](Communicator& all) {
      try {
        const auto part = all.dup();
        if (all.rank() == 1) throw std::logic_error("caught");
        part->barrier();
      } catch (const std::logic_error&) {
      }
      all.barrier();
    });
    FAIL();
  } catch (const BrokenGroupError& error) {
    EXPECT_NE(std::string(error.what()).find("left a sub-communicator"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace phicoll
