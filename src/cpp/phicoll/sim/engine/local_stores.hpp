#pragma once

// The memory system of a machine with local stores, as coherence.hpp is that of one with caches: each core
// works in a store of its own, and a unit beside it (the Cell's MFC) carries out commands that copy a range
// each. A command takes what it copies when it ends, whatever changed before.
//
// They start when they may and end in any order. waits_for() says what fences and tag groups are for: a
// command waits for earlier ones of its core whose ranges meet its own, and one that releases for all that
// carry data.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/engine/event_wheel.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {

class LocalStores {
 public:
  static constexpr int main_memory = -1;
  static constexpr std::size_t unit = 16;  // bytes that have one home; the least that a command copies
  static constexpr int most_queued = 32;

  struct Command {
    unsigned char* to = nullptr;
    const unsigned char* from = nullptr;  // null: `value`
    std::size_t bytes = 0;
    int target = main_memory, source = main_memory;  // in which rank's store they lie
    bool data = false;                               // not a word
    bool release = false;
    bool bit_or = false;  // into a signal register
    bool ghost = false;   // takes time but moves nothing
    bool started = false;
    unsigned char value[arch::line_bytes] = {};
  };

  /// `homes`: as in SimOptions; `cores`: of the ranks.
  LocalStores(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
              const unsigned char* memory, const std::vector<std::int16_t>& homes,
              const std::vector<int>& cores);

  int home(const void* place) const {
    const std::size_t i = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_) / unit;
    return i < homes_.size() ? homes_[i] : main_memory;
  }
  /// How many of the `bytes` from `place` on lie where its first does.
  std::size_t run(const unsigned char* place, std::size_t bytes) const;
  /// A rank's buffer in its own store for data on its way, of p.dma_buffer bytes.
  unsigned char* buffer(int rank, int which) {
    return &buffers_[(static_cast<std::size_t>(rank) * buffers_each_ + static_cast<std::size_t>(which)) *
                     static_cast<std::size_t>(p_.dma_buffer)];
  }

  bool full(int rank) const { return queue(rank).order.size() == static_cast<std::size_t>(p_.dma_queue); }
  bool idle(int rank) const { return queue(rank).order.empty(); }
  /// Gives the rank's unit a command; its queue is not full. Returns the command's slot.
  int issue(int rank, const Command& command, Cycles now);
  bool pending(int rank, int slot) const { return (queue(rank).used >> slot & 1) != 0; }
  /// The slot of a pending command of the rank that copies into or from these bytes; -1 for none.
  int meeting(int rank, const unsigned char* place, std::size_t bytes) const;

  static int rank_of(std::uint32_t event) { return static_cast<int>(event / most_queued); }
  static int slot_of(std::uint32_t event) { return static_cast<int>(event % most_queued); }
  /// The command of an event, which ends now.
  const Command& at(std::uint32_t event) const {
    return queue(rank_of(event)).commands[static_cast<std::size_t>(slot_of(event))];
  }
  /// Copies, frees the slot and starts what waited for it.
  void end(std::uint32_t event, Cycles now);

 private:
  struct Queue {
    std::vector<Command> commands;  // by slot
    std::vector<int> order;         // slots in order of issue
    std::uint32_t used = 0;
    Cycles unit = 0, memory = 0, in = 0, out = 0;  // when each is free
  };
  struct Chip {
    Cycles bus = 0, link = 0;  // link: on the way out
  };

  Queue& queue(int rank) { return queues_[static_cast<std::size_t>(rank)]; }
  const Queue& queue(int rank) const { return queues_[static_cast<std::size_t>(rank)]; }
  int chip_of(int home) const { return home == main_memory ? 0 : chips_of_[static_cast<std::size_t>(home)]; }
  bool may_start(const Queue& q, std::size_t position) const;
  void start_ready(int rank, Cycles now);
  Cycles carry(Queue& q, const Command& command, Cycles now);
  Cycles cycles(std::size_t bytes, int rate) const {
    return (static_cast<Cycles>(bytes) * p_.clock_mhz + rate - 1) / rate;
  }

  const MachineParameters p_;
  EventWheel& wheel_;
  Random random_;
  const unsigned char* memory_;
  std::vector<std::int16_t> homes_;
  std::vector<int> chips_of_;
  std::size_t buffers_each_;
  std::vector<unsigned char> buffers_;
  std::vector<Queue> queues_;
  std::vector<Chip> chips_;
  Cycles controller_ = 0;
};

}  // namespace sim
}  // namespace phicoll
