// Errors of those who write algorithms: each broken variant is caught on the simulator's ports, in every
// build, by an assert that says what it did. The library's own code has its asserts in a checked build only.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "phicoll/collectives/structure/fold.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/level_operands.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/put_boxes.hpp"
#include "phicoll/collectives/transport/words.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/support/assert.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

constexpr int ranks = 2;
constexpr std::size_t footprint = 8192;
constexpr std::size_t data_bytes = 512;  // of each rank, behind the footprint

using Flag = Word<std::uint64_t>;
using OwnLine = SoleWriterLine<std::uint64_t>;

/// What a rank of a broken algorithm has to do with.
struct Rank {
  SimPort& port;
  const phicoll::Setup& setup;
  Data data;  ///< its own

  Flag& flag(int of) const { return setup.at<Strided<Flag>>(0)[of].value; }
  OwnLine& line(int of) const { return setup.at<Strided<OwnLine>>(1024)[of].value; }
  int other() const { return 1 - setup.rank; }
};

/// The message of the assert that ends a run of `body`, or "" if none does.
template <class Body>
std::string caught(const Body& body) {
  const Machine machine = testing::chip(4);
  const Shape shape = place_ranks(ranks, machine.places(), Placement::balanced);
  SimOptions options;
  options.words_until = footprint;
  Simulation simulation(machine, shape, footprint + ranks * data_bytes, options);
  try {
    simulation.run([&](SimPort& port) {
      const phicoll::Setup setup{port.rank(), shape, simulation.memory()};
      unsigned char* const own =
          simulation.memory() + footprint + static_cast<std::size_t>(port.rank()) * data_bytes;
      Rank rank{port, setup, port.bind(own, data_bytes)};
      body(rank);
    });
  } catch (const AssertionFailed& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_CAUGHT(message, ...)                                  \
  do {                                                               \
    const std::string told = caught([](Rank& self) { __VA_ARGS__ }); \
    EXPECT_NE(told.find(message), std::string::npos) << told;        \
  } while (false)

TEST(Asserts, AnAlgorithmWithoutFaultPasses) {
  EXPECT_EQ(caught([](Rank& self) {
              self.port.signal(self.line(self.setup.rank), std::uint64_t{1}, StorePolicy::no_read);
              self.port.wait(self.line(self.other()).word, at_least(std::uint64_t{1}), self.other());
              self.port.move(self.data, self.data + 64, 64);
            }),
            "");
}

TEST(Asserts, FindDataThatIsNotBound) {
  EXPECT_CAUGHT("moves unbound data, 8 bytes", self.port.move(self.data, Data(), 8););
  EXPECT_CAUGHT("uses data that was not bound, 8 bytes", unsigned char stack[8] = {};
                self.port.move(self.data, Data{stack}, sizeof stack););
  EXPECT_CAUGHT("uses data that was not bound, 64 bytes",
                self.port.move(self.data, self.data + (data_bytes * ranks - 8), 64););
  EXPECT_CAUGHT("uses data that was not bound, 4 bytes", const int value = 0;
                self.port.bind(&value, sizeof value););
  EXPECT_CAUGHT("combines unbound data",
                self.port.combine(find_operator(Type::int32, Op::sum), Data(), self.data, self.data, 2););
  EXPECT_CAUGHT("combines by no operator",
                self.port.combine(Operator(), self.data, self.data, self.data, 2););
  EXPECT_CAUGHT("takes a value from or to unbound data", self.port.read_value(Data(), 8););
}

TEST(Asserts, FindDataThatIsMovedInAWayThatNoPortPromises) {
  EXPECT_CAUGHT("moves data onto itself, 64 bytes", self.port.move(self.data, self.data + 32, 64););
  EXPECT_CAUGHT(
      "combines data into a part of itself, 16 bytes",
      self.port.combine(find_operator(Type::int32, Op::sum), self.data + 4, self.data, self.data + 64, 4););
  EXPECT_CAUGHT("copies parts of lines, 40 bytes", self.port.copy(self.data.at, self.data.at + 128, 40););
  EXPECT_CAUGHT("takes too much data for one value, 9 bytes", self.port.write_value(self.data, 1, 9););
  EXPECT_CAUGHT("reaches for data that is not exposed", self.port.fetch(self.data, Exposed{0, 0, 0}, 0, 8););
}

TEST(Asserts, FindWordsOutsideTheFootprint) {
  EXPECT_CAUGHT("rank 0 uses a word outside its footprint",
                self.port.wait(*reinterpret_cast<Flag*>(self.data.at), at_least(std::uint64_t{1})););
  EXPECT_CAUGHT("uses a word outside its footprint", Flag own; self.port.signal(own, std::uint64_t{1}););
  EXPECT_CAUGHT("uses a word outside its footprint",
                self.port.fetch_add(*self.setup.at<Flag>(footprint), std::uint64_t{1}););
  EXPECT_CAUGHT("uses a word that is not aligned",
                self.port.load_acquire(*reinterpret_cast<Flag*>(self.setup.memory + 4)););
}

TEST(Asserts, FindALineThatIsNotOnlyTheWriters) {
  const auto beside = [](Rank& self, StorePolicy policy) {
    self.port.signal(*(&self.line(0).word + 1), std::uint64_t{1});
    self.port.fence();
    self.port.signal(self.line(0), std::uint64_t{1}, policy);
  };
  const std::string told = caught([&](Rank& self) { beside(self, StorePolicy::no_read); });
  EXPECT_NE(told.find("stores a line whole in which other words lie"), std::string::npos) << told;
  EXPECT_EQ(caught([&](Rank& self) { beside(self, StorePolicy::plain); }), "") << "the word alone";
}

TEST(Asserts, FindWaitsForNoRank) {
  EXPECT_CAUGHT("waits for a rank that does not exist",
                self.port.wait(self.flag(0), at_least(std::uint64_t{1}), ranks););
}

TEST(Asserts, FindCellsThatAreUsedOtherwiseThanTheyWereMade) {
  EXPECT_CAUGHT("3 rings of cells for 2 ranks",
                Cells<SimPort>(self.setup, 0, 3, 4, 64, Credit::acknowledged););
  EXPECT_CAUGHT("cells that begin inside a line", Cells<SimPort>(self.setup, 8, 2, 4, 64, Credit::implied););
  EXPECT_CAUGHT("too few cells to be written in turns",
                Cells<SimPort>(self.setup, 0, 2, 0, 64, Credit::implied););
  EXPECT_CAUGHT("opens a cell that is too small, 65 bytes",
                Cells<SimPort>(self.setup, 0, 2, 4, 64, Credit::implied).open(self.port, 0, 65););
  EXPECT_CAUGHT("awaits a piece of no rank",
                Cells<SimPort>(self.setup, 0, 2, 4, 64, Credit::implied).await(self.port, 2, 0, 0, 8););
  EXPECT_CAUGHT(
      "looks behind the end of a piece",
      Cells<SimPort>(self.setup, 0, 2, 4, 64, Credit::implied).await(self.port, self.other(), 0, 0, 8, 9););
  EXPECT_CAUGHT(
      "publishes unbound data",
      Cells<SimPort>(self.setup, 0, 2, 4, 64, Credit::implied).publish_direct(self.port, 0, 0, Data()););
  EXPECT_CAUGHT("asks for the room of a piece that it has not taken",
                Cells<SimPort>(self.setup, 0, 2, 4, 64, Credit::implied).taken_room(self.port););
}

TEST(Asserts, FindWordsAndMessagesThatAreUsedOtherwise) {
  EXPECT_CAUGHT("publishes 9 bytes as a word",
                Words<SimPort>(self.setup, 0).publish(self.port, self.data, 9, 0););
  EXPECT_CAUGHT("a tag of more than 16 bits",
                Words<SimPort>(self.setup, 0).publish(self.port, self.data, 8, 1 << 16););
  EXPECT_CAUGHT("awaits its own word", Words<SimPort> words(self.setup, 0);
                words.publish(self.port, self.data, 8, 0); words.await(self.port, self.setup.rank););
  EXPECT_CAUGHT("awaits a word of an exchange that it has not begun",
                Words<SimPort>(self.setup, 0).await(self.port, self.other()););
  EXPECT_CAUGHT("posts more than a slot holds, 9 bytes",
                Mailbox<SimPort>(self.setup, 0, 4, 64).post(self.port, 0, self.data, 9, 0););
  EXPECT_CAUGHT("posts too many messages in a call",
                Mailbox<SimPort>(self.setup, 0, 4, 64).post(self.port, 65535, self.data, 8, 0););
  EXPECT_CAUGHT("has a message for or from no rank",
                Mailbox<SimPort>(self.setup, 0, 4, 64).take(self.port, -1, 0, 0););
  EXPECT_CAUGHT("awaits its own message",
                Mailbox<SimPort>(self.setup, 0, 4, 64).await(self.port, self.setup.rank, 0, 0, 8););
  EXPECT_CAUGHT("ends a call whose messages may still be read in place",
                Mailbox<SimPort> mailbox(self.setup, 0, 4, 64);
                mailbox.send_direct(self.port, 0, 0, self.data); mailbox.next_call(1););
  EXPECT_CAUGHT(
      "puts 200 bytes into a box that is too small",
      PutBoxes<SimPort>(self.setup, 0, {8}, 2, Credit::implied).put(self.port, 0, 0, 0, self.data, 200););
  EXPECT_CAUGHT("acknowledges a box without a line for it",
                PutBoxes<SimPort>(self.setup, 0, {8}, 2, Credit::implied).taken(self.port, 0, 0););
}

TEST(Asserts, FindThePieceBehindTheLast) {
  EXPECT_CAUGHT("a piece behind the last", Call call; call.send = self.data; call.count = 4;
                call.op = find_operator(Type::int32, Op::sum);
                (LevelOperands<SimPort>::Pieces(call, 16)[1]););
}

TEST(Asserts, FindThemWhereCallsAreCountedToo) {
  CountMachine machine(Shape::unknown(1), 256);
  CountPort port(machine, 0);
  const auto told = [&](void (*body)(CountPort&, unsigned char*)) -> std::string {
    try {
      machine.run_call([&](int) { body(port, machine.memory()); }, {}, false);
    } catch (const AssertionFailed& error) {
      return error.what();
    }
    return "";
  };
  const std::string moved =
      told([](CountPort& by, unsigned char* memory) { by.move(Data{memory}, Data(), 8); });
  EXPECT_NE(moved.find("rank 0 moves unbound data, 8 bytes"), std::string::npos) << moved;
  EXPECT_NE(moved.find("phicoll/ports/port.hpp:"), std::string::npos) << moved;
}

TEST(Asserts, OfTheLibraryAreThoseOfTheBuild) {
  const auto of_a_folded_rank = [] { Fold(3).core(0); };
  if (ThisBuild::checked)
    EXPECT_THROW(of_a_folded_rank(), AssertionFailed);
  else
    EXPECT_NO_THROW(of_a_folded_rank());
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
