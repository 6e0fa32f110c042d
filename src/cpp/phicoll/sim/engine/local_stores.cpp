#include "phicoll/sim/engine/local_stores.hpp"

#include <algorithm>
#include <cstring>

namespace phicoll {
namespace sim {

LocalStores::LocalStores(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
                         const unsigned char* memory, const std::vector<Home>& homes,
                         const std::vector<int>& cores, bool check)
    : p_(parameters),
      wheel_(wheel),
      random_(seed),
      memory_(memory),
      homes_(homes),
      cores_(cores),
      buffers_(cores.size() * p_.buffer_bytes()),
      queues_(cores.size()),
      chips_(static_cast<std::size_t>(p_.packages)) {
  for (const int core : cores) chips_of_.push_back(core / (p_.cores / p_.packages));
  for (Queue& q : queues_) {
    q.in_entry.resize(static_cast<std::size_t>(p_.dma_queue));
    for (int i = p_.dma_queue; i-- > 0;) q.free_entries.push_back(i);
  }
  for (Chip& chip : chips_)
    chip.rings.assign(static_cast<std::size_t>(p_.dma_rings),
                      std::vector<Cycles>(static_cast<std::size_t>(stops())));
  for (std::vector<ServiceCount>& each : served_) each.resize(std::max(cores.size(), chips_.size()));
  served_[static_cast<std::size_t>(Carrier::controller)].resize(1);
  for (const Carrier carrier : {Carrier::bus, Carrier::link})
    served_[static_cast<std::size_t>(carrier)].resize(chips_.size());
  served_[static_cast<std::size_t>(Carrier::ring)].resize(chips_.size() *
                                                          static_cast<std::size_t>(p_.dma_rings));
  if (check) order_ = std::make_unique<CommandOrder>(cores.size());
}

std::size_t LocalStores::run(const unsigned char* place, std::size_t bytes) const {
  const auto at = static_cast<std::size_t>(place - memory_);
  if (at / unit >= homes_.size()) return bytes;
  const Home first = home_of(place);
  const auto same = [&](Home next) { return next.rank == first.rank && next.other == first.other; };
  std::size_t end = (at / unit + 1) * unit;
  while (end < at + bytes && same(home_of(memory_ + end))) end += unit;
  return std::min(bytes, end - at);
}

std::uint32_t LocalStores::free_tags(const Queue& q) const {
  std::uint32_t taken = 0;
  for (const int slot : q.order) taken |= std::uint32_t{1} << q.commands[static_cast<std::size_t>(slot)].tag;
  return ~taken;
}

int LocalStores::put_in_order(int rank, DmaCommand& command) const {
  const Queue& q = queue(rank);
  int before = -1;
  command.fenced = false;
  for (const int slot : q.order) {
    const DmaCommand& earlier = q.commands[static_cast<std::size_t>(slot)];
    if (!command.needs(earlier)) continue;
    // A fence would hold back one signal behind another, and one tag does not follow two.
    if (command.release && earlier.data) return slot;
    if (before >= 0 && q.commands[static_cast<std::size_t>(before)].tag != earlier.tag) return before;
    before = slot;
    command.tag = earlier.tag;
    command.fenced |= !earlier.barriered;
  }
  const std::uint32_t free = before < 0 ? free_tags(q) : 0;
  if (free != 0) command.tag = __builtin_ctz(free);  // else no command can be queued
  if (order_) order_->asked(rank, command);
  return -1;
}

int LocalStores::before(int rank, const std::vector<DmaCommand>& list) const {
  const Queue& q = queue(rank);
  for (const int slot : q.order)
    for (const DmaCommand& element : list)
      if (element.needs(q.commands[static_cast<std::size_t>(slot)])) return slot;
  return -1;
}

/// Takes a slot, and a place of the queue unless the command has one.
int LocalStores::put(Queue& q, const DmaCommand& command, Cycles now) {
  if (q.free_slots.empty()) {
    q.free_slots.push_back(static_cast<int>(q.commands.size()));
    q.commands.emplace_back();
  }
  const int slot = q.free_slots.back();
  q.free_slots.pop_back();
  DmaCommand& c = q.commands[static_cast<std::size_t>(slot)];
  c = command;
  if (c.entry < 0) {
    c.entry = q.free_entries.back();
    q.free_entries.pop_back();
  }
  ++q.in_entry[static_cast<std::size_t>(c.entry)];
  c.queued = true;
  c.at.queued = now;
  q.order.push_back(slot);
  return slot;
}

int LocalStores::issue(int rank, const DmaCommand& command, Cycles now) {
  const int slot = put(queue(rank), command, now);
  if (order_) order_->issued(rank, slot, command);
  start_ready(rank, now);
  return slot;
}

void LocalStores::issue(int rank, std::vector<DmaCommand>& list, Cycles now) {
  Queue& q = queue(rank);
  const std::uint32_t free = free_tags(q);
  for (DmaCommand& element : list) {
    element.listed = &element != &list.front();
    element.entry = element.listed ? q.commands[static_cast<std::size_t>(q.order.back())].entry : -1;
    if (free != 0) element.tag = __builtin_ctz(free);
    if (order_) order_->asked(rank, element);
    const int slot = put(q, element, now);
    if (order_) order_->issued(rank, slot, element);
  }
  start_ready(rank, now);
}

int LocalStores::meeting(int rank, const unsigned char* place, std::size_t bytes) const {
  const Queue& q = queue(rank);
  for (const int slot : q.order) {
    if (q.commands[static_cast<std::size_t>(slot)].meets(place, bytes)) return slot;
  }
  return -1;
}

bool LocalStores::may_start(const Queue& q, std::size_t position) const {
  const DmaCommand& later = q.commands[static_cast<std::size_t>(q.order[position])];
  for (std::size_t i = 0; i < position; ++i)
    if (later.follows(q.commands[static_cast<std::size_t>(q.order[i])])) return false;
  return true;
}

void LocalStores::start_ready(int rank, Cycles now) {
  Queue& q = queue(rank);
  for (std::size_t i = 0; i < q.order.size(); ++i) {
    const int slot = q.order[i];
    DmaCommand& command = q.commands[static_cast<std::size_t>(slot)];
    if (command.started || !may_start(q, i)) continue;
    command.started = true;
    wheel_.push(carry(rank, command, now), EventKind::command,
                static_cast<std::uint32_t>(rank * most_pending + slot));
  }
}

/// Takes the command through all that carries it, each of which serves one after another. Its bytes flow: the
/// next begins when the last has begun. Returns when it ends; or, while the unit or its way out is taken,
/// when to try again.
Cycles LocalStores::carry(int rank, DmaCommand& command, Cycles now) {
  constexpr std::size_t packet = 128;  // of the bus, and what memory reads and writes
  const std::size_t bytes = (command.bytes + unit - 1) / unit * unit;
  const std::size_t packets = (command.bytes + packet - 1) / packet * packet;
  const bool memory = command.source == main_memory || command.target == main_memory;
  const int from = chip_of(command.source), to = chip_of(command.target);
  Queue& q = queue(rank);
  if (command.at.allowed == 0) command.at.allowed = now;
  const Cycles way = memory ? q.memory : command.source == rank ? q.out : q.in;
  if (std::max(q.unit, way) > now) return std::max(q.unit, way);
  Cycles start = now, end = now;
  const auto through = [&](Carrier carrier, int which, Cycles& free, Cycles takes) {
    ServiceCount& count = served_[static_cast<std::size_t>(carrier)][static_cast<std::size_t>(which)];
    ++count.served;
    count.busy += takes;
    count.queued += std::max<Cycles>(free - start, 0);
    start = std::max(start, free);
    free = start + takes;
    end = std::max(end, free);
  };
  through(Carrier::unit, rank, q.unit, command.listed ? p_.dma_element : p_.dma_command);
  start = command.at.taken_up = q.unit;
  if (memory) through(Carrier::memory_port, rank, q.memory, cycles(bytes, p_.dma_memory_rate));
  if (command.source == main_memory)
    through(Carrier::controller, 0, controller_, cycles(packets, p_.dma_controller_rate));
  else
    through(Carrier::store_out, command.source, queue(command.source).out, cycles(bytes, p_.dma_store_rate));
  Chip& near = chips_[static_cast<std::size_t>(from)];
  Chip& far = chips_[static_cast<std::size_t>(to)];
  const auto bus = [&](int chip, Chip& of) {
    through(Carrier::bus, chip, of.bus, cycles(packets, p_.dma_bus_rate));
    if (p_.dma_rings == 0) return;
    start = around(of, stop_of(command.source, chip), stop_of(command.target, chip), start, bytes);
    end = std::max(end, start + cycles(bytes, p_.dma_ring_rate));
  };
  bus(from, near);
  if (from != to) {
    through(Carrier::link, from, near.link, cycles(bytes, p_.dma_link_rate));
    bus(to, far);
  }
  if (command.target == main_memory)
    through(Carrier::controller, 0, controller_, cycles(packets, p_.dma_controller_rate));
  else
    through(Carrier::store_in, command.target, queue(command.target).in, cycles(bytes, p_.dma_store_rate));
  command.at.flowing = start;
  command.at.flowed = end;
  end += memory ? p_.dma_memory : p_.dma_near;
  if (from != to) end += p_.dma_far;
  end += static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(p_.jitter) + 1));
  ServiceCount& waiting = served_[static_cast<std::size_t>(Carrier::queue)][static_cast<std::size_t>(rank)];
  ++waiting.served;
  waiting.busy += end - command.at.queued;
  waiting.queued += now - command.at.queued;
  return end;
}

/// Where a chip's bus passes a core, memory or the way to the other chips. Cores with odd numbers lie along
/// one side and those with even ones along the other, as on the Cell; then come the processor that controls
/// them (0), two ways out, of which the second leads to other chips, and memory (the last stop).
int LocalStores::stop_of(int home, int chip) const {
  const int cores = p_.cores / p_.packages;
  if (chip_of(home) != chip) return cores / 2 + 2;
  if (home == main_memory) return cores + 3;
  const int core = cores_[static_cast<std::size_t>(home)] % cores;
  return core % 2 != 0 ? (core + 1) / 2 : cores + 2 - core / 2;
}

/// Takes the shorter way around, on its ring that is free first. Returns when the bytes begin to flow.
Cycles LocalStores::around(Chip& chip, int from, int to, Cycles start, std::size_t bytes) {
  const int all = stops();
  const int up = (to - from + all) % all;
  if (up == 0) return start;
  const Cycles takes = cycles(bytes, p_.dma_ring_rate);
  Cycles best = 0;
  int ring = -1;
  for (int r = 0; r < p_.dma_rings; ++r) {
    const bool down = r % 2 != 0;
    const int stretches = down ? all - up : up;
    if (2 * stretches > all) continue;
    Cycles free = start;
    for (int i = 0; i < stretches; ++i)
      free =
          std::max(free, chip.rings[static_cast<std::size_t>(r)]
                                   [static_cast<std::size_t>((down ? from - i + all : from + 1 + i) % all)]);
    if (ring >= 0 && free >= best) continue;
    best = free;
    ring = r;
  }
  const int stretches = ring % 2 != 0 ? all - up : up;
  for (int i = 0; i < stretches; ++i)
    chip.rings[static_cast<std::size_t>(ring)]
              [static_cast<std::size_t>((ring % 2 != 0 ? from - i + all : from + 1 + i) % all)] =
        best + takes;
  ServiceCount& count = served_[static_cast<std::size_t>(Carrier::ring)]
                               [static_cast<std::size_t>((&chip - chips_.data()) * p_.dma_rings + ring)];
  ++count.served;
  count.busy += takes * stretches / all;
  count.queued += best - start;
  return best;
}

void LocalStores::count(Counters& counters) const {
  for (std::size_t i = 0; i < carrier_kinds; ++i) counters.carriers[i] = served_[i];
}

const char* to_string(Carrier carrier) {
  constexpr const char* names[] = {
      "queues, commands in them", "units", "ways to memory", "memory controller",  "local stores, out",
      "local stores, in",         "buses", "rings",          "links between chips"};
  return names[static_cast<std::size_t>(carrier)];
}

void LocalStores::end(std::uint32_t event, Cycles now) {
  Queue& q = queue(rank_of(event));
  const int slot = slot_of(event);
  DmaCommand& waiting = q.commands[static_cast<std::size_t>(slot)];
  if (waiting.at.flowed == 0)
    return wheel_.push(carry(rank_of(event), waiting, now), EventKind::command, event);
  const DmaCommand& c = q.commands[static_cast<std::size_t>(slot)];
  const unsigned char* const from = c.from == nullptr ? c.value : c.from;
  if (c.bit_or)
    for (std::size_t b = 0; b < c.bytes; ++b) c.to[b] = static_cast<unsigned char>(c.to[b] | from[b]);
  else if (!c.ghost)
    std::memcpy(c.to, from, c.bytes);
  if (order_) order_->ended(rank_of(event), slot);
  waiting.queued = false;
  q.free_slots.push_back(slot);
  if (--q.in_entry[static_cast<std::size_t>(c.entry)] == 0) q.free_entries.push_back(c.entry);
  q.order.erase(std::find(q.order.begin(), q.order.end(), slot));
  start_ready(rank_of(event), now);
}

}  // namespace sim
}  // namespace phicoll
