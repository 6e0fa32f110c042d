// Fibers: what they promise, with whichever way of switching was built.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/os/fiber.hpp"

namespace phicoll {
namespace os {
namespace {

TEST(Fiber, GoesOnWhereItStopped) {
  std::vector<int> seen;
  std::unique_ptr<Fiber> fiber;
  fiber.reset(new Fiber([&] {
    int local = 10;  // lives on the fiber's own stack
    seen.push_back(local++);
    fiber->suspend();
    seen.push_back(local++);
    fiber->suspend();
    seen.push_back(local);
  }));
  EXPECT_TRUE(seen.empty()) << "a new fiber does not start by itself";
  fiber->resume();
  seen.push_back(0);
  fiber->resume();
  EXPECT_FALSE(fiber->finished());
  fiber->resume();
  EXPECT_TRUE(fiber->finished());
  EXPECT_EQ(seen, (std::vector<int>{10, 0, 11, 12}));
  EXPECT_THROW(fiber->resume(), std::logic_error);
}

TEST(Fiber, ThrowsIntoItsResumer) {
  Fiber fiber([] { throw std::runtime_error("from inside"); });
  try {
    fiber.resume();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "from inside");
  }
  EXPECT_TRUE(fiber.finished());
}

TEST(Fiber, CatchesInsideBetweenSuspensionsOfManyFibers) {
  // Each fiber throws and catches its own exception between its suspensions: none may see another's.
  constexpr int count = 50;
  std::vector<std::unique_ptr<Fiber>> fibers(count);
  std::array<int, count> good{};
  for (int i = 0; i < count; ++i)
    fibers[static_cast<std::size_t>(i)].reset(new Fiber([&, i] {
      for (int turn = 0; turn < 5; ++turn) {
        try {
          throw std::runtime_error(std::to_string(i) + "/" + std::to_string(turn));
        } catch (const std::runtime_error& error) {
          if (error.what() == std::to_string(i) + "/" + std::to_string(turn))
            ++good[static_cast<std::size_t>(i)];
        }
        fibers[static_cast<std::size_t>(i)]->suspend();
      }
    }));
  for (int turn = 0; turn < 6; ++turn)
    for (auto& fiber : fibers) fiber->resume();
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(good[static_cast<std::size_t>(i)], 5) << "fiber " << i;
    EXPECT_TRUE(fibers[static_cast<std::size_t>(i)]->finished());
  }
}

TEST(Fiber, RefusesToSuspendInsideACatchBlock) {
  std::unique_ptr<Fiber> fiber;
  fiber.reset(new Fiber([&] {
    try {
      throw 1;
    } catch (int) {
      fiber->suspend();
    }
  }));
  EXPECT_THROW(fiber->resume(), std::logic_error);
}

TEST(Fiber, MaySuspendWhenItsResumerIsInsideACatchBlock) {
  std::unique_ptr<Fiber> fiber;
  fiber.reset(new Fiber([&] { fiber->suspend(); }));
  try {
    throw 1;
  } catch (int) {
    fiber->resume();
  }
  fiber->resume();
  EXPECT_TRUE(fiber->finished());
}

TEST(Fiber, UnwindsItsStackWhenDestroyedInTheMiddle) {
  struct Mark {
    explicit Mark(int& count) : count_(count) {}
    ~Mark() { ++count_; }
    int& count_;
  };
  int destroyed = 0;
  std::unique_ptr<Fiber> fiber;
  Fiber* inside = nullptr;
  fiber.reset(new Fiber([&] {
    Mark outer(destroyed);
    [&] {
      Mark inner(destroyed);
      inside->suspend();
    }();
    ADD_FAILURE() << "went on after it was cancelled";
  }));
  inside = fiber.get();
  fiber->resume();
  EXPECT_EQ(destroyed, 0);
  fiber.reset();
  EXPECT_EQ(destroyed, 2);
}

TEST(Fiber, IsDestroyedWhileAnotherExceptionUnwindsTheResumer) {
  int unwound = 0;
  try {
    Fiber* inside = nullptr;
    Fiber fiber([&] {
      struct Count {
        int& count;
        ~Count() { ++count; }
      } mark{unwound};
      inside->suspend();
    });
    inside = &fiber;
    fiber.resume();
    throw std::runtime_error("outside");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "outside");
  }
  EXPECT_EQ(unwound, 1);
}

TEST(Fiber, EndsOnAnotherThreadThanItBeganOn) {
  // A thread keeps some of the stacks that its fibers leave; these are more than it keeps.
  constexpr int many = 300;
  int unwound = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::thread([&] {
      for (int i = 0; i < many; ++i) {
        fibers.emplace_back(new Fiber([&unwound, &fibers, i] {
          struct Counts {
            int& count;
            ~Counts() { ++count; }
          } counts{unwound};
          fibers[static_cast<std::size_t>(i)]->suspend();
        }));
        fibers.back()->resume();
      }
    }).join();
    fibers.clear();
    EXPECT_EQ(unwound, many * (round + 1));
  }
}

TEST(Fiber, ThatNeverStartedIsDroppedWithoutARun) {
  bool ran = false;
  {
    Fiber fiber([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(Fiber, NestsAFiberMayResumeAnother) {
  std::vector<int> seen;
  std::unique_ptr<Fiber> inner;
  std::unique_ptr<Fiber> outer;
  inner.reset(new Fiber([&] {
    seen.push_back(2);
    inner->suspend();
    seen.push_back(4);
  }));
  outer.reset(new Fiber([&] {
    seen.push_back(1);
    inner->resume();
    seen.push_back(3);
    outer->suspend();
    inner->resume();
    seen.push_back(5);
  }));
  outer->resume();
  outer->resume();
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4, 5}));
}

int deep(int levels, Fiber& fiber) {
  volatile char room[512] = {};
  room[0] = static_cast<char>(levels);
  if (levels == 0) {
    fiber.suspend();
    return 0;
  }
  return deep(levels - 1, fiber) + (room[0] == static_cast<char>(levels) ? 1 : 1000);
}

TEST(Fiber, KeepsADeepStackWhileManyOthersRun) {
  constexpr std::size_t count = 300;
  std::vector<std::unique_ptr<Fiber>> fibers(count);
  std::vector<int> depth(count, 0);
  for (std::size_t i = 0; i < count; ++i)
    fibers[i].reset(new Fiber([&, i] { depth[i] = deep(60, *fibers[i]); }));
  for (auto& fiber : fibers) fiber->resume();
  for (auto& fiber : fibers) fiber->resume();
  for (const int d : depth) EXPECT_EQ(d, 60);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int endless(int level) {
  volatile char room[4096];
  room[0] = static_cast<char>(level);
  return level < 0 ? 0 : endless(level + 1) + room[0];
}

TEST(FiberDeathTest, RunningOverItsStackIsAFault) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        int result = 0;
        Fiber fiber([&] { result = endless(0); });
        fiber.resume();
      },
      "");
}
#endif

}  // namespace
}  // namespace os
}  // namespace phicoll
