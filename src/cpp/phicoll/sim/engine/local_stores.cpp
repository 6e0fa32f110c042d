#include "phicoll/sim/engine/local_stores.hpp"

#include <algorithm>
#include <cstring>

namespace phicoll {
namespace sim {

namespace {

bool meet(const unsigned char* a, std::size_t a_bytes, const unsigned char* b, std::size_t b_bytes) {
  return a != nullptr && b != nullptr && a < b + b_bytes && b < a + a_bytes;
}

bool waits_for(const LocalStores::Command& later, const LocalStores::Command& earlier) {
  return (later.release && earlier.data) || meet(later.from, later.bytes, earlier.to, earlier.bytes) ||
         meet(later.to, later.bytes, earlier.to, earlier.bytes) ||
         meet(later.to, later.bytes, earlier.from, earlier.bytes);
}

}  // namespace

LocalStores::LocalStores(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
                         const unsigned char* memory, const std::vector<std::int16_t>& homes,
                         const std::vector<int>& cores)
    : p_(parameters),
      wheel_(wheel),
      random_(seed),
      memory_(memory),
      homes_(homes),
      buffers_each_(static_cast<std::size_t>(std::max(p_.dma_buffers, 2))),
      buffers_(cores.size() * buffers_each_ * static_cast<std::size_t>(p_.dma_buffer)),
      queues_(cores.size()),
      chips_(static_cast<std::size_t>(p_.packages)) {
  for (const int core : cores) chips_of_.push_back(core / (p_.cores / p_.packages));
  for (Queue& q : queues_) q.commands.resize(static_cast<std::size_t>(p_.dma_queue));
}

std::size_t LocalStores::run(const unsigned char* place, std::size_t bytes) const {
  const auto at = static_cast<std::size_t>(place - memory_);
  if (at / unit >= homes_.size()) return bytes;
  const int first = home(place);
  std::size_t end = (at / unit + 1) * unit;
  while (end < at + bytes && home(memory_ + end) == first) end += unit;
  return std::min(bytes, end - at);
}

int LocalStores::issue(int rank, const Command& command, Cycles now) {
  Queue& q = queue(rank);
  const int slot = __builtin_ctz(~q.used);
  q.used |= std::uint32_t{1} << slot;
  q.commands[static_cast<std::size_t>(slot)] = command;
  q.order.push_back(slot);
  start_ready(rank, now);
  return slot;
}

int LocalStores::meeting(int rank, const unsigned char* place, std::size_t bytes) const {
  const Queue& q = queue(rank);
  for (const int slot : q.order) {
    const Command& c = q.commands[static_cast<std::size_t>(slot)];
    if (meet(place, bytes, c.to, c.bytes) || meet(place, bytes, c.from, c.bytes)) return slot;
  }
  return -1;
}

bool LocalStores::may_start(const Queue& q, std::size_t position) const {
  const Command& later = q.commands[static_cast<std::size_t>(q.order[position])];
  for (std::size_t i = 0; i < position; ++i)
    if (waits_for(later, q.commands[static_cast<std::size_t>(q.order[i])])) return false;
  return true;
}

void LocalStores::start_ready(int rank, Cycles now) {
  Queue& q = queue(rank);
  for (std::size_t i = 0; i < q.order.size(); ++i) {
    const int slot = q.order[i];
    Command& command = q.commands[static_cast<std::size_t>(slot)];
    if (command.started || !may_start(q, i)) continue;
    command.started = true;
    wheel_.push(carry(q, command, now), EventKind::command,
                static_cast<std::uint32_t>(rank * most_queued + slot));
  }
}

/// Takes the command through all that carries it, each of which serves one after another. Its bytes flow: the
/// next begins when the last has begun. Returns when it ends.
Cycles LocalStores::carry(Queue& q, const Command& command, Cycles now) {
  constexpr std::size_t packet = 128;  // of the bus, and what memory reads and writes
  const std::size_t bytes = (command.bytes + unit - 1) / unit * unit;
  const std::size_t packets = (command.bytes + packet - 1) / packet * packet;
  const bool memory = command.source == main_memory || command.target == main_memory;
  const int from = chip_of(command.source), to = chip_of(command.target);
  Cycles start = std::max(now, q.unit) + p_.dma_command;
  q.unit = start;
  Cycles end = start;
  const auto through = [&](Cycles& free, Cycles takes) {
    start = std::max(start, free);
    free = start + takes;
    end = std::max(end, free);
  };
  if (memory) through(q.memory, cycles(bytes, p_.dma_memory_rate));
  if (command.source == main_memory)
    through(controller_, cycles(packets, p_.dma_controller_rate));
  else
    through(queue(command.source).out, cycles(bytes, p_.dma_store_rate));
  through(chips_[static_cast<std::size_t>(from)].bus, cycles(packets, p_.dma_bus_rate));
  if (from != to) {
    through(chips_[static_cast<std::size_t>(from)].link, cycles(bytes, p_.dma_link_rate));
    through(chips_[static_cast<std::size_t>(to)].bus, cycles(packets, p_.dma_bus_rate));
  }
  if (command.target == main_memory)
    through(controller_, cycles(packets, p_.dma_controller_rate));
  else
    through(queue(command.target).in, cycles(bytes, p_.dma_store_rate));
  end += memory ? p_.dma_memory : p_.dma_near;
  if (from != to) end += p_.dma_far;
  return end + static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(p_.jitter) + 1));
}

void LocalStores::end(std::uint32_t event, Cycles now) {
  Queue& q = queue(rank_of(event));
  const int slot = slot_of(event);
  const Command& c = q.commands[static_cast<std::size_t>(slot)];
  const unsigned char* const from = c.from == nullptr ? c.value : c.from;
  if (c.bit_or)
    for (std::size_t b = 0; b < c.bytes; ++b) c.to[b] = static_cast<unsigned char>(c.to[b] | from[b]);
  else if (!c.ghost)
    std::memcpy(c.to, from, c.bytes);
  q.used &= ~(std::uint32_t{1} << slot);
  q.order.erase(std::find(q.order.begin(), q.order.end(), slot));
  start_ready(rank_of(event), now);
}

}  // namespace sim
}  // namespace phicoll
