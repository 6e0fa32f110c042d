#pragma once

// The memory system of a machine with local stores, as coherence.hpp is that of one with caches: each core
// works in a store of its own, and a unit beside it (the Cell's MFC) carries out commands that copy a range
// each, as it is when they end.
//
// They end in any order, but for what their tags ask for. put_in_order() is what a program does about it: it
// gives a command that must follow others their tag, with a fence or behind a barrier; its rank waits where
// one tag does not do.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/sim/engine/command_order.hpp"
#include "phicoll/sim/engine/counters.hpp"
#include "phicoll/sim/engine/dma_command.hpp"
#include "phicoll/sim/engine/event_wheel.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {

class LocalStores {
 public:
  static constexpr int main_memory = DmaCommand::main_memory;
  static constexpr std::size_t unit = 16;  // bytes that have one home; the least that a command copies
  static constexpr int tags = 32;
  static constexpr int most_pending = 1 << 13;  // of a rank, elements of lists among them

  /// Where 16 bytes lie. A word that two ranks hand to and fro lies with both: each looks at its own, and
  /// stores into the other's as well.
  struct Home {
    std::int16_t rank = main_memory;
    std::int16_t other = main_memory;
  };

  /// `homes`: as in SimOptions; `cores`: of the ranks.
  LocalStores(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
              const unsigned char* memory, const std::vector<Home>& homes, const std::vector<int>& cores,
              bool check);

  /// In whose store the rank finds what is there, and into whose it stores.
  int home(int rank, const void* place) const {
    const Home at = home_of(place);
    return at.other == rank ? rank : at.rank;
  }
  int target(int rank, const void* place) const {
    const Home at = home_of(place);
    return at.rank == rank && at.other != main_memory ? at.other : at.rank;
  }
  /// How many of the `bytes` from `place` on lie where its first does.
  std::size_t run(const unsigned char* place, std::size_t bytes) const;
  /// A rank's buffer in its own store for data on its way, of p.dma_buffer bytes.
  unsigned char* buffer(int rank, int which) {
    return &buffers_[static_cast<std::size_t>(rank) * p_.buffer_bytes() +
                     static_cast<std::size_t>(which) * static_cast<std::size_t>(p_.dma_buffer)];
  }

  bool full(int rank) const { return queue(rank).free_entries.empty(); }
  bool idle(int rank) const { return queue(rank).order.empty(); }
  /// Sets the command's tag and fence so that it follows what it must. Returns the slot of a pending command
  /// for which the rank has to wait first, and try again; -1 for none.
  int put_in_order(int rank, DmaCommand& command) const;
  /// Gives the rank's unit a command; its queue is not full. Returns the command's slot.
  int issue(int rank, const DmaCommand& command, Cycles now);
  /// The same of a list: its elements begin in turn, and have one place in the queue and one tag. The first
  /// pending command for whose end the rank has to wait before; -1 for none.
  int before(int rank, const std::vector<DmaCommand>& list) const;
  void issue(int rank, std::vector<DmaCommand>& list, Cycles now);
  bool pending(int rank, int slot) const {
    return queue(rank).commands[static_cast<std::size_t>(slot)].queued;
  }
  /// The slot of a pending command of the rank that copies into or from these bytes; -1 for none.
  int meeting(int rank, const unsigned char* place, std::size_t bytes) const;

  static int rank_of(std::uint32_t event) { return static_cast<int>(event / most_pending); }
  static int slot_of(std::uint32_t event) { return static_cast<int>(event % most_pending); }
  /// The command of an event, which ends now.
  const DmaCommand& at(std::uint32_t event) const {
    return queue(rank_of(event)).commands[static_cast<std::size_t>(slot_of(event))];
  }
  /// Copies, frees the slot and starts what waited for it.
  void end(std::uint32_t event, Cycles now);

  void count(Counters& counters) const;

  /// Null unless checked.
  CommandOrder* order() { return order_.get(); }

 private:
  struct Queue {
    std::vector<DmaCommand> commands;  // by slot
    std::vector<int> order;            // slots in order of issue
    std::vector<int> free_slots, free_entries;
    std::vector<int> in_entry;                     // how many commands of each place are pending
    Cycles unit = 0, memory = 0, in = 0, out = 0;  // when each is free
  };
  struct Chip {
    Cycles bus = 0, link = 0;                // link: on the way out
    std::vector<std::vector<Cycles>> rings;  // when each stretch of each is free, by the stop that it ends at
  };

  Home home_of(const void* place) const {
    const std::size_t i = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_) / unit;
    return i < homes_.size() ? homes_[i] : Home{};
  }
  Queue& queue(int rank) { return queues_[static_cast<std::size_t>(rank)]; }
  const Queue& queue(int rank) const { return queues_[static_cast<std::size_t>(rank)]; }
  int chip_of(int home) const { return home == main_memory ? 0 : chips_of_[static_cast<std::size_t>(home)]; }
  std::uint32_t free_tags(const Queue& q) const;
  int put(Queue& q, const DmaCommand& command, Cycles now);
  int stops() const { return p_.cores / p_.packages + 4; }
  int stop_of(int home, int chip) const;
  Cycles around(Chip& chip, int from, int to, Cycles start, std::size_t bytes);
  bool may_start(const Queue& q, std::size_t position) const;
  void start_ready(int rank, Cycles now);
  Cycles carry(int rank, DmaCommand& command, Cycles now);
  Cycles cycles(std::size_t bytes, int rate) const {
    return (static_cast<Cycles>(bytes) * p_.clock_mhz + rate - 1) / rate;
  }

  const MachineParameters p_;
  EventWheel& wheel_;
  Random random_;
  const unsigned char* memory_;
  std::vector<Home> homes_;
  std::vector<int> cores_, chips_of_;
  std::vector<unsigned char> buffers_;
  std::vector<Queue> queues_;
  std::vector<Chip> chips_;
  Cycles controller_ = 0;
  std::vector<ServiceCount> served_[carrier_kinds];
  std::unique_ptr<CommandOrder> order_;
};

}  // namespace sim
}  // namespace phicoll
