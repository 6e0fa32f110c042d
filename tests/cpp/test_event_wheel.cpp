// The simulator's clock: events in the order of their time, and of their making at one time, whatever is
// near, far or around the wheel; with `shuffle`, any one of the earliest.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <set>
#include <vector>

#include "phicoll/sim/engine/event_wheel.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {
namespace {

TEST(EventWheel, EventsOfOneTimeComeInTheOrderOfTheirMaking) {
  EventWheel wheel(false, 1);
  for (std::uint32_t i = 0; i < 100; ++i) wheel.push(7, EventKind::fill, i, static_cast<std::uint16_t>(i));
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(wheel.next_time(), 7);
    const Event event = wheel.pop();
    EXPECT_EQ(event.subject, i);
    EXPECT_EQ(event.core, i);
    EXPECT_EQ(event.kind, EventKind::fill);
    EXPECT_EQ(wheel.now(), 7);
  }
  EXPECT_EQ(wheel.next_time(), EventWheel::never);
  EXPECT_EQ(wheel.popped(), 100u);
}

TEST(EventWheel, AFarEventKeepsItsTurnAmongLaterMadeOnesOfItsTime) {
  EventWheel wheel(false, 1);
  wheel.push(1000000, EventKind::resume, 1);  // far when it is made
  wheel.push(10, EventKind::resume, 0);
  wheel.push(999999, EventKind::resume, 2);
  EXPECT_EQ(wheel.pop().subject, 0u);
  EXPECT_EQ(wheel.next_time(), 999999);
  EXPECT_EQ(wheel.pop().subject, 2u);
  wheel.push(1000000, EventKind::resume, 3);  // near when it is made
  EXPECT_EQ(wheel.pop().subject, 1u);
  EXPECT_EQ(wheel.pop().subject, 3u);
}

TEST(EventWheel, TimeMayPassWithoutAnEvent) {
  EventWheel wheel(false, 1);
  wheel.push(5000, EventKind::resume, 1);
  wheel.advance(4999);
  EXPECT_EQ(wheel.now(), 4999);
  EXPECT_EQ(wheel.next_time(), 5000);
  wheel.push(4999, EventKind::resume, 2);
  EXPECT_EQ(wheel.next_time(), 4999);
  wheel.advance(100);  // never back
  EXPECT_EQ(wheel.now(), 4999);
  EXPECT_EQ(wheel.pop().subject, 2u);
  EXPECT_EQ(wheel.pop().subject, 1u);
}

/// Random pushes, pops and advances against a plain list that is searched for the earliest.
void compare_with_a_list(std::uint64_t seed, bool shuffle) {
  Random random(seed);
  EventWheel wheel(shuffle, seed);
  std::list<Event> plain;  // in the order of making
  Cycles now = 0;
  std::uint32_t made = 0;
  for (int step = 0; step < 20000; ++step) {
    const auto earliest = [&] {
      Cycles time = EventWheel::never;
      for (const Event& event : plain) time = std::min(time, event.time);
      return time;
    };
    const std::uint64_t what = random.below(10);
    if (what < 5 && plain.size() < 200) {
      // Mostly near; around the wheel's end; far; the same time as another.
      static const std::uint64_t spans[] = {1, 4, 100, 2047, 2048, 2049, 4096, 5000, 1000000};
      Cycles time = now + static_cast<Cycles>(random.below(spans[random.below(std::size(spans))] + 1));
      if (!plain.empty() && random.below(4) == 0)
        time = std::next(plain.begin(), static_cast<std::ptrdiff_t>(random.below(plain.size())))->time;
      const auto core = static_cast<std::uint16_t>(random.below(256));
      wheel.push(time, EventKind::request, made, core);
      plain.push_back(Event{time, made, core, EventKind::request});
      ++made;
    } else if (what < 9 && !plain.empty()) {
      const Cycles time = earliest();
      ASSERT_EQ(wheel.next_time(), time) << "seed " << seed << ", step " << step;
      const Event event = wheel.pop();
      now = time;
      ASSERT_EQ(wheel.now(), now);
      auto found = plain.begin();
      while (found->time != time || (shuffle && found->subject != event.subject)) {
        ++found;
        ASSERT_TRUE(found != plain.end()) << "seed " << seed << ", step " << step;
      }
      ASSERT_EQ(event.subject, found->subject) << "seed " << seed << ", step " << step;
      ASSERT_EQ(event.time, time);
      ASSERT_EQ(event.core, found->core);
      plain.erase(found);
    } else {
      const Cycles limit = plain.empty() ? now + 3000 : earliest();
      const Cycles to = now + static_cast<Cycles>(random.below(static_cast<std::uint64_t>(limit - now) + 1));
      wheel.advance(to);
      now = std::max(now, to);
      ASSERT_EQ(wheel.now(), now);
      ASSERT_EQ(wheel.next_time(), earliest());
    }
  }
}

TEST(EventWheel, IsASortedList) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) compare_with_a_list(seed, false);
}

TEST(EventWheel, ShuffledIsASortedListUpToTheOrderOfOneTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) compare_with_a_list(seed, true);
}

TEST(EventWheel, ShufflePicksEveryOneOfATimeAndTheSameForASeed) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::vector<std::uint32_t> order[2];
    for (auto& one : order) {
      EventWheel wheel(true, seed);
      for (std::uint32_t i = 0; i < 4; ++i) wheel.push(3, EventKind::resume, i);
      for (int i = 0; i < 4; ++i) one.push_back(wheel.pop().subject);
    }
    EXPECT_EQ(order[0], order[1]) << "seed " << seed;
    orders.insert(order[0]);
  }
  EXPECT_EQ(orders.size(), 24u) << "of the 24 orders of 4 events";
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
