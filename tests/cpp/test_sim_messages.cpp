// Messages between ranks of a simulated machine: the source that runs natively, over channels in the
// simulated memory.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "phicoll/messages/endpoint.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace sim {
namespace {

constexpr int ranks = 4;
constexpr std::size_t ring = 4096;
constexpr std::size_t data_bytes = 32768;  // of each rank

/// Channels one after the other after the table of their places, then the ranks' data.
class SimChannels final : public Channels {
 public:
  explicit SimChannels(unsigned char* memory) : memory_(memory), next_(table_bytes) {}
  static std::size_t bytes() {
    return table_bytes + ranks * ranks * (sizeof(Channel) + ring) + ranks * data_bytes;
  }
  bool ranks_may_stop() const override { return false; }
  bool has_ended(int) const override { return false; }
  std::size_t ring_bytes() const override { return ring; }
  Word<std::uint64_t>& place(int from, int to) override {
    return reinterpret_cast<Word<std::uint64_t>*>(memory_)[to * ranks + from];
  }
  Channel& at(std::uint64_t place) override { return *reinterpret_cast<Channel*>(memory_ + place); }
  std::uint64_t make() override { return take(sizeof(Channel)); }
  unsigned char* bytes_at(std::uint64_t place) override { return memory_ + place; }
  std::uint64_t make_bytes() override { return take(ring); }
  bool room_for_pool() const override { return false; }  // all data is reached, so none is used
  unsigned char* data(int rank) {
    return memory_ + table_bytes + ranks * ranks * (sizeof(Channel) + ring) +
           static_cast<std::size_t>(rank) * data_bytes;
  }

 private:
  std::uint64_t take(std::size_t bytes) {
    next_ += bytes;
    return next_ - bytes;
  }

  static constexpr std::size_t table_bytes = 4096;
  unsigned char* memory_;
  std::uint64_t next_;
};

class SimMessages : public ::testing::Test {
 protected:
  SimMessages()
      : machine(testing::chip(8)),
        shape(place_ranks(ranks, machine.places(), Placement::scatter)),
        simulation(machine, shape, SimChannels::bytes(), checked()),
        channels(simulation.memory()) {}
  static SimOptions checked() {
    SimOptions options;
    options.check = true;
    return options;
  }

  std::shared_ptr<Transfer> transfer(SimPort& port, bool sends, int peer, int tag, std::size_t at,
                                     std::size_t bytes) {
    auto made = std::make_shared<Transfer>();
    made->sends = sends;
    made->peer = peer;
    made->tag = tag;
    made->data = port.bind(channels.data(port.rank()) + at, bytes);
    made->bytes = bytes;
    return made;
  }

  Machine machine;
  Shape shape;
  Simulation simulation;
  SimChannels channels;
};

TEST_F(SimMessages, GoRoundInEverySize) {
  const std::vector<std::size_t> sizes = {1, 8, 104, 105, 1000, 1025, 8000};
  std::vector<int> wrong(ranks, 0);
  simulation.run([&](SimPort& port) {
    StuckSearch stuck;
    Endpoint<SimPort> endpoint(phicoll::Setup{port.rank(), shape, nullptr}, channels, stuck);
    const int right = (port.rank() + 1) % ranks;
    const int left = (port.rank() + ranks - 1) % ranks;
    for (const std::size_t bytes : sizes) {
      std::vector<unsigned char> sent(bytes,
                                      static_cast<unsigned char>(port.rank() + static_cast<int>(bytes)));
      simulation.write(port.rank(), channels.data(port.rank()), sent.data(), bytes);
      const auto received = transfer(port, false, left, 3, data_bytes / 2, bytes);
      const auto sending = transfer(port, true, right, 3, 0, bytes);
      endpoint.begin(port, received);
      endpoint.begin(port, sending);
      endpoint.finish(port, *received);
      endpoint.finish(port, *sending);
      std::vector<unsigned char> got(bytes);
      simulation.peek(port.rank(), channels.data(port.rank()) + data_bytes / 2, got.data(), bytes);
      const std::vector<unsigned char> wanted(bytes,
                                              static_cast<unsigned char>(left + static_cast<int>(bytes)));
      if (got != wanted || received->envelope.bytes != bytes) ++wrong[static_cast<std::size_t>(port.rank())];
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(ranks, 0));
}

// A small message is one line that its reader fetches. Writing the next one fetches a line that the reader
// had, and now and then the sender fetches the word of acknowledgement.
TEST_F(SimMessages, APingPongOfEightBytesMovesTwoOrThreeLinesAMessage) {
  constexpr int turns = 128;
  std::int64_t before = 0, after = 0;
  simulation.run([&](SimPort& port) {
    if (port.rank() > 1) return;
    StuckSearch stuck;
    Endpoint<SimPort> endpoint(phicoll::Setup{port.rank(), shape, nullptr}, channels, stuck);
    const int other = 1 - port.rank();
    const auto moved = [&] { return simulation.counters().from_caches + simulation.counters().upgrades; };
    for (int turn = 0; turn < turns; ++turn) {
      if (turn == turns / 2 && port.rank() == 0) before = moved();
      for (const bool sends : {port.rank() == 0, port.rank() != 0}) {
        const auto one = transfer(port, sends, other, 0, sends ? 0 : 64, 8);
        endpoint.begin(port, one);
        endpoint.finish(port, *one);
      }
    }
    if (port.rank() == 0) after = moved();
  });
  const double lines = static_cast<double>(after - before) / turns;  // two messages a turn, half of the turns
  EXPECT_GE(lines, 1.0);
  EXPECT_LE(lines, 3.2);
}

}  // namespace
}  // namespace sim
}  // namespace phicoll
