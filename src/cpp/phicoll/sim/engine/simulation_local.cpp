// The operations of a rank on a machine with local stores. What lies in its own store it loads and stores;
// for all else it gives its unit a command, and waits for its end only where it needs what comes.

#include <algorithm>
#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/engine/simulation.hpp"

namespace phicoll {
namespace sim {

// A rank that moves one piece to many places gets the piece once, as long as it learns nothing from others in
// between and writes nothing but these moves. streams[0] says which piece a buffer still has: its source
// begins in this line at byte `end` and has `length` bytes (0: no piece). streams[1] says which buffer has it
// (`end`), which buffer is filled next (`length`), and in which line the piece begins where it was moved
// first, if at the same byte: what is moved on from there is the same piece.

/// Forgets the held piece if the rank writes to its source, in any store, or to the first place it was moved
/// to.
void Simulation::drop_overwritten(Context& c, const unsigned char* to, std::size_t bytes) const {
  Stream& held = c.streams[0];
  for (const LineId line : {held.last_miss, c.streams[1].last_miss}) {
    const unsigned char* const source = memory_ + std::size_t{line} * arch::line_bytes + held.end;
    if (held.length != 0 && to < source + held.length && source < to + bytes) held.length = 0;
  }
}

/// Gives the rank's unit a command, once its queue has a place for it. Returns its slot.
int Simulation::enqueue(Context& c, DmaCommand command) {
  spend(c, machine_.p.dma_enqueue, 0);
  sync(c);
  command.at.asked = wheel_.now();
  command.operation = c.operation;
  for (;;) {
    const int before = local_->put_in_order(c.rank, command);
    if (before < 0 && !local_->full(c.rank)) return local_->issue(c.rank, command, wheel_.now());
    if (before >= 0) {
      finish_command(c, before);
    } else {
      c.needs = Needs::buffer_space;
      suspend(c, Mode::blocked, 0);
    }
  }
}

void Simulation::store_list(int rank, const std::vector<unsigned char*>& places, const void* value,
                            unsigned bytes) {
  Context& c = context(rank);
  sync(c);
  c.streams[0].length = 0;
  std::vector<DmaCommand> list;
  for (unsigned char* place : places) {
    const int home = local_->target(rank, place);
    if (home == rank) {
      local_store(c, place, value, bytes, Order::release, false);
      continue;
    }
    spend(c, machine_.p.store_instructions, 0);
    list.push_back(signal_to(c, place, value, bytes, home));
  }
  if (list.empty()) return;
  begin_operation(c, OperationKind::store, line_of(list.front().to));
  spend(c, machine_.p.dma_enqueue, 0);
  sync(c);
  for (DmaCommand& element : list) {
    element.at.asked = wheel_.now();
    element.operation = c.operation;
  }
  for (;;) {
    const int before = local_->before(c.rank, list);
    if (before >= 0) {
      finish_command(c, before);
    } else if (local_->full(c.rank)) {
      c.needs = Needs::buffer_space;
      suspend(c, Mode::blocked, 0);
    } else {
      break;
    }
  }
  local_->issue(c.rank, list, wheel_.now());
  end_operation(c, Log::none);
}

void Simulation::store_entry(int rank, void* word, const void* value, unsigned width, unsigned char* to,
                             const unsigned char* from, std::size_t bytes) {
  Context& c = context(rank);
  sync(c);
  auto* const entry = static_cast<unsigned char*>(word);
  const auto whole = static_cast<std::size_t>(to + bytes - entry);
  const bool together =
      to > entry && line_of(entry) == line_of(to + bytes - 1) && local_->run(entry, whole) == whole;
  if (!together) {
    copy(rank, to, from, bytes);
    return local_store(c, entry, value, width, Order::release, false);
  }
  // The entry has one writer, which knows the rest of it.
  unsigned char image[arch::line_bytes];
  std::memcpy(image, entry, whole);
  local_load(c, from, image + (to - entry), bytes, false);
  std::memcpy(image, value, width);
  local_store(c, entry, image, static_cast<unsigned>(whole), Order::release, false);
}

void Simulation::finish_command(Context& c, int slot) {
  sync(c);
  while (local_->pending(c.rank, slot)) {
    c.needs = Needs::line;
    c.line = static_cast<LineId>(slot);
    suspend(c, Mode::blocked, 0);
  }
  if (local_->order() != nullptr) local_->order()->waited(c.rank, slot);
}

/// Waits for the rank's commands that copy into or from these bytes; from nullptr, for all.
void Simulation::finish_commands(Context& c, const void* from, std::size_t bytes) {
  sync(c);
  const auto* const place = static_cast<const unsigned char*>(from);
  if (place == nullptr) {
    c.streams[0].length = 0;
    while (!local_->idle(c.rank)) {
      c.needs = Needs::buffer_empty;
      suspend(c, Mode::blocked, 0);
    }
  } else {
    for (int slot; (slot = local_->meeting(c.rank, place, bytes)) >= 0;) finish_command(c, slot);
  }
  if (local_->order() != nullptr) local_->order()->waited(c.rank, place, bytes);
}

void Simulation::heard(const Context& c, const void* word, std::size_t bytes) {
  if (local_->order() == nullptr) return;
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t))
    local_->order()->heard(c.rank, static_cast<const unsigned char*>(word) + i);
}

void Simulation::accessed(const Context& c, const void* place, std::size_t bytes, bool writes, bool word) {
  if (local_->order() != nullptr) local_->order()->accessed(c.rank, place, bytes, writes, word);
}

/// Logs a command that ends now.
void Simulation::note_command(std::uint32_t event) {
  const DmaCommand& x = local_->at(event);
  const int rank = LocalStores::rank_of(event), number = static_cast<int>(log_->transfers.size());
  const int from = x.source == LocalStores::main_memory ? -1 : core_of(x.source);
  const bool get = x.target == rank;
  const unsigned char* const place = holds(x.to, x.bytes) ? x.to : holds(x.from, x.bytes) ? x.from : memory_;
  const bool memory = x.source == LocalStores::main_memory || x.target == LocalStores::main_memory;
  log_->transfers.push_back(TransferRecord{get ? Request::get : Request::put,
                                           memory ? Source::memory : Source::cache,
                                           core_of(rank),
                                           rank,
                                           line_of(place),
                                           -1,
                                           from,
                                           0,
                                           0,
                                           x.at.asked,
                                           x.at.queued,
                                           x.at.queued,
                                           x.at.queued,
                                           x.at.allowed,
                                           -1,
                                           -1,
                                           x.at.taken_up,
                                           x.at.flowing,
                                           -1,
                                           x.at.flowed,
                                           -1,
                                           wheel_.now(),
                                           wheel_.now()});
  if (x.operation < 0) return;
  OperationRecord& operation = log_->operations[static_cast<std::size_t>(x.operation)];
  operation.transfer = number;
  operation.visible = wheel_.now();
  if (!holds(x.to, x.bytes)) return;
  for (std::size_t done = 0; done < x.bytes;) {
    const unsigned offset = offset_of(x.to + done);
    const auto bytes =
        static_cast<unsigned>(std::min<std::size_t>(x.bytes - done, arch::line_bytes - offset));
    log_->wrote(line_of(x.to + done), offset, bytes, x.operation);
    done += bytes;
  }
}

void Simulation::carried_out(std::uint32_t event) {
  if (local_->at(event).at.flowed == 0) return local_->end(event, wheel_.now());
  if (log_) note_command(event);
  const DmaCommand& command = local_->at(event);
  const bool local =
      command.target != LocalStores::main_memory && command.to != nullptr && holds(command.to, command.bytes);
  unsigned char* const to = command.to;
  const int target = command.target;
  const std::size_t bytes = command.bytes;
  local_->end(event, wheel_.now());
  if (to != nullptr) note_change();
  if (local) {
    ++counters_.stores;
    const int core = context(target).core;
    for (LineId line = line_of(to); line <= line_of(to + bytes - 1); ++line) wake_parked(core, line);
  }
  Context& c = context(LocalStores::rank_of(event));
  if (c.mode != Mode::blocked) return;
  const bool awaited = c.needs != Needs::line || c.line == static_cast<LineId>(LocalStores::slot_of(event));
  if (awaited && (c.needs != Needs::buffer_empty || local_->idle(c.rank))) wake_at(c, wheel_.now());
}

/// What a rank gets when it asks for a word elsewhere: its line, or what of that lies in the same store.
std::size_t Simulation::entry_of(const unsigned char* place, const unsigned char** first) const {
  const auto offset = offset_of(place);
  *first = place - offset;
  if (local_->run(*first, arch::line_bytes) == arch::line_bytes) return arch::line_bytes;
  *first = place - offset % LocalStores::unit;
  return LocalStores::unit;
}

void Simulation::see(Context& c, const unsigned char* first, std::size_t bytes) {
  c.seen_line = line_of(first);
  c.seen_bytes = (bytes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1) << offset_of(first);
  std::memcpy(c.seen + offset_of(first), first, bytes);
}

/// A look at what the rank waits for: a load, or from elsewhere a command, for whose end it rests. Own
/// commands that store there come first.
bool Simulation::looks_at_once(Context& c) {
  const auto* const place = static_cast<const unsigned char*>(c.awaited->place);
  const int home = local_->home(c.rank, place);
  c.streams[0].length = 0;
  DmaCommand get;
  get.bytes = entry_of(place, &get.from);
  get.source = home;
  get.target = c.rank;
  get.word = true;
  get.ghost = true;  // the rank compares memory's image when the command has ended
  const int before = home == c.rank
                         ? local_->meeting(c.rank, place, c.awaited->whole_line ? arch::line_bytes : 1)
                         : local_->put_in_order(c.rank, get);
  const bool full = home != c.rank && before < 0 && local_->full(c.rank);
  if (before >= 0 || full) {
    c.step = Step::read;
    c.line = static_cast<LineId>(before);
    c.needs = full ? Needs::buffer_space : Needs::line;
    rest(c, Mode::blocked, 0);
    return false;
  }
  if (home == c.rank) {
    spend(c, machine_.p.look_instructions, machine_.p.l1_hit);
    return true;
  }
  c.vain_loads += 63;  // each takes as long as many looks
  count_vain(c);
  get.at.asked = c.time;
  spend(c, machine_.p.dma_enqueue, 0);
  get.operation = c.operation;
  c.line = static_cast<LineId>(local_->issue(c.rank, get, c.time));
  c.needs = Needs::line;
  rest(c, Mode::blocked, 0);
  return false;
}

void Simulation::local_load(Context& c, const unsigned char* from, unsigned char* to, std::size_t bytes,
                            bool word) {
  sync(c);
  count_vain(c);
  c.streams[0].length = 0;
  begin_operation(c, OperationKind::load, line_of(from));
  if (word && local_->home(c.rank, from) != c.rank) {
    const std::uint64_t mask = ((std::uint64_t{1} << bytes) - 1) << offset_of(from);
    if (c.seen_line != line_of(from) || (c.seen_bytes & mask) != mask) {
      DmaCommand get;
      get.bytes = entry_of(from, &get.from);
      get.source = local_->home(c.rank, from);
      get.target = c.rank;
      get.word = true;
      get.ghost = true;
      finish_command(c, enqueue(c, get));
      see(c, get.from, get.bytes);
    }
    spend(c, machine_.p.look_instructions, machine_.p.l1_hit);
    c.seen_bytes &= ~mask;
    std::memcpy(to, c.seen + offset_of(from), bytes);
    accessed(c, from, bytes, false, true);
    sync(c);
    return end_operation(c, Log::none);
  }
  while (bytes != 0) {
    const std::size_t piece =
        std::min(local_->run(from, bytes), static_cast<std::size_t>(machine_.p.dma_buffer));
    if (local_->home(c.rank, from) == c.rank) {
      finish_commands(c, from, piece);
      spend(c, machine_.p.look_instructions, machine_.p.l1_hit);
      accessed(c, from, piece, false, word);
      if (!ghost(from)) std::memcpy(to, from, piece);
    } else {
      DmaCommand get;
      get.to = to;
      get.from = from;
      get.bytes = piece;
      get.source = local_->home(c.rank, from);
      get.target = c.rank;
      get.word = word;
      get.ghost = ghost(from);
      finish_command(c, enqueue(c, get));
    }
    from += piece;
    to += piece;
    bytes -= piece;
  }
  sync(c);
  end_operation(c, Log::none);
}

/// A release of up to a line to another rank's store, or to memory.
DmaCommand Simulation::signal_to(const Context& c, unsigned char* place, const void* value, unsigned bytes,
                                 int home) const {
  DmaCommand put;
  put.to = place;
  put.bytes = bytes;
  put.source = c.rank;
  put.target = home;
  put.word = true;
  put.release = true;
  put.ghost = ghost(place);
  std::memcpy(put.value, value, bytes);
  return put;
}

/// A store of up to a line. A command's source is its value now: the port keeps it until the command ends.
void Simulation::local_store(Context& c, unsigned char* place, const void* value, unsigned bytes, Order order,
                             bool bit_or) {
  sync(c);
  begin_operation(c, OperationKind::store, line_of(place));
  c.seen_bytes = 0;
  spend(c, machine_.p.store_instructions, 0);
  const int home = local_->target(c.rank, place);
  if (home == LocalStores::main_memory) c.streams[0].length = 0;
  drop_overwritten(c, place, bytes);
  // Data that commands still bring or take is older than what this store may announce.
  if (home == c.rank && order == Order::release) finish_commands(c, nullptr, 0);
  if (home == c.rank) {
    finish_commands(c, place, bytes);
    if (bit_or) {
      std::uint64_t both = 0;
      std::memcpy(&both, value, bytes);
      both |= image(place, bytes);
      std::memcpy(place, &both, bytes);
    } else {
      std::memcpy(place, value, bytes);
    }
    accessed(c, place, bytes, true, true);
    if (log_) {
      log_->wrote(line_of(place), offset_of(place), bytes, c.operation);
      log_->operations[static_cast<std::size_t>(c.operation)].visible = c.time;
    }
    note_change();
    ++counters_.stores;
  } else {
    DmaCommand put = signal_to(c, place, value, bytes, home);
    put.data = order == Order::relaxed;  // a later release announces it
    put.release = order == Order::release;
    put.bit_or = bit_or;
    enqueue(c, put);
  }
  end_operation(c, Log::none);
}

/// Setting bits in another rank's store is a signal register's; every other update reserves a line of memory
/// and stores into it: there and back twice.
std::uint64_t Simulation::local_update(Context& c, unsigned char* word, unsigned bytes, Update how,
                                       std::uint64_t value, std::uint64_t expected) {
  if (how == Update::bit_or && local_->home(c.rank, word) != LocalStores::main_memory) {
    const std::uint64_t before = image(word, bytes);
    local_store(c, word, &value, bytes, Order::release, true);
    return before;
  }
  sync(c);
  c.streams[0].length = 0;
  c.seen_bytes = 0;
  count_vain(c);
  begin_operation(c, OperationKind::atomic, line_of(word));
  finish_commands(c, nullptr, 0);
  DmaCommand reserve;
  reserve.from = word;
  reserve.bytes = bytes;
  reserve.source = LocalStores::main_memory;
  reserve.target = c.rank;
  reserve.word = true;
  reserve.ghost = true;
  finish_command(c, enqueue(c, reserve));
  if (local_->order() != nullptr) local_->order()->updated(c.rank, word);
  const std::uint64_t before = image(word, bytes);
  std::uint64_t after = value;
  if (how == Update::add) after = before + value;
  if (how == Update::bit_or) after = before | value;
  if (how != Update::compare_exchange || before == expected) {
    if (std::memcmp(word, &after, bytes) != 0) note_change();
    std::memcpy(word, &after, bytes);
  }
  std::swap(reserve.source, reserve.target);
  finish_command(c, enqueue(c, reserve));
  ++counters_.atomics;
  end_operation(c, Log::none);
  return before;
}

/// Moves data from memory to memory through the rank's buffers. A buffer takes its next piece when the last
/// one has left it. Moves to or from the rank's own store need no buffer.
void Simulation::local_copy(Context& c, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  sync(c);
  begin_operation(c, OperationKind::store, line_of(to));
  c.seen_bytes = 0;
  Stream& held = c.streams[0];
  Stream& buffers = c.streams[1];
  while (bytes != 0) {
    const std::size_t piece =
        std::min(local_->run(to, local_->run(from, bytes)), static_cast<std::size_t>(machine_.p.dma_buffer));
    DmaCommand command;
    command.from = from;
    command.to = to;
    command.bytes = piece;
    command.source = local_->home(c.rank, from);
    command.target = local_->target(c.rank, to);
    command.data = true;
    command.ghost = ghost(from) || ghost(to);
    drop_overwritten(c, to, piece);
    if (command.source == c.rank && command.target == c.rank) {
      finish_commands(c, from, piece);
      finish_commands(c, to, piece);
      const auto units = static_cast<int>((piece + LocalStores::unit - 1) / LocalStores::unit);
      spend(c, 2 * units, 0);
      accessed(c, from, piece, false, false);
      accessed(c, to, piece, true, false);
      if (!command.ghost) std::memcpy(to, from, piece);
      note_change();
    } else if (command.source == c.rank || command.target == c.rank) {
      enqueue(c, command);
    } else {
      if ((held.last_miss != line_of(from) && buffers.last_miss != line_of(from)) ||
          held.end != offset_of(from) || held.length != static_cast<int>(piece)) {
        held.last_miss = line_of(from);
        held.end = offset_of(from);
        buffers.last_miss = offset_of(to) == held.end ? line_of(to) : held.last_miss;
        held.length = static_cast<int>(piece);
        buffers.end = static_cast<LineId>(buffers.length);
        buffers.length = (buffers.length + 1) % machine_.p.dma_buffers;
        DmaCommand get = command;
        get.to = local_->buffer(c.rank, static_cast<int>(buffers.end));
        get.target = c.rank;
        get.barriered = true;  // those that empty the buffer follow it, in any order
        enqueue(c, get);
      }
      command.from = local_->buffer(c.rank, static_cast<int>(buffers.end));
      command.source = c.rank;
      enqueue(c, command);
    }
    from += piece;
    to += piece;
    bytes -= piece;
  }
  end_operation(c, Log::none);
}

/// Piece by piece through halves of two buffers: the next piece's operands are on their way while the rank
/// combines this one's.
void Simulation::local_combine(Context& c, const Operator& op, unsigned char* to, const unsigned char* left,
                               const unsigned char* right, std::size_t count) {
  sync(c);
  if (count == 0) return;
  c.streams[0].length = 0;
  begin_operation(c, OperationKind::store, line_of(to));
  const std::size_t size = op.element_bytes;
  const std::size_t half = static_cast<std::size_t>(machine_.p.dma_buffer) / 2;
  const std::size_t each = std::max<std::size_t>(half / size, 1);
  if (size > half)
    throw Error("simulation: an element of " + std::to_string(size) + " bytes does not fit half a buffer");
  const unsigned char* operands[2][2] = {};
  const auto bring = [&](std::size_t first, int turn) {
    const std::size_t bytes = std::min(each, count - first) * size;
    const unsigned char* const from[2] = {left + first * size, right + first * size};
    for (int side = 0; side < 2; ++side) {
      operands[turn][side] = from[side];
      if (local_->home(c.rank, from[side]) == c.rank) continue;
      unsigned char* const place = local_->buffer(c.rank, turn) + static_cast<std::size_t>(side) * half;
      operands[turn][side] = place;
      DmaCommand get;
      get.to = place;
      get.from = from[side];
      get.bytes = bytes;
      get.source = local_->home(c.rank, from[side]);
      get.barriered = true;
      get.target = c.rank;
      get.data = true;
      get.ghost = ghost(from[side]);
      enqueue(c, get);
    }
  };
  bring(0, 0);
  int turn = 0;
  for (std::size_t first = 0; first < count; first += each, turn = 1 - turn) {
    const std::size_t piece = std::min(each, count - first);
    const std::size_t bytes = piece * size;
    if (first + each < count) bring(first + each, 1 - turn);
    for (const unsigned char* operand : operands[turn]) finish_commands(c, operand, bytes);
    unsigned char* const out = to + first * size;
    const bool own = local_->target(c.rank, out) == c.rank;
    const auto lines = static_cast<int>((bytes + arch::line_bytes - 1) / arch::line_bytes);
    spend(c, lines * (machine_.p.store_instructions + 2 * machine_.p.combine_instructions), 0);
    // The result lies in the left operand's half until a command has taken it.
    unsigned char* const result = own ? out : local_->buffer(c.rank, turn);
    finish_commands(c, result, bytes);
    for (const unsigned char* operand : operands[turn]) accessed(c, operand, bytes, false, false);
    accessed(c, result, bytes, true, false);
    if (!ghost(out)) op.kernel(op.context, result, operands[turn][0], operands[turn][1], piece);
    if (own) {
      note_change();
      continue;
    }
    DmaCommand put;
    put.to = out;
    put.from = result;
    put.bytes = bytes;
    put.source = c.rank;
    put.target = local_->target(c.rank, out);
    put.data = true;
    put.ghost = ghost(out);
    enqueue(c, put);
  }
  end_operation(c, Log::none);
}

/// As a program makes its data: it leaves the rank's store in large commands, and lies where it belongs then.
void Simulation::local_write(Context& c, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  sync(c);
  c.streams[0].length = 0;
  while (bytes != 0) {
    DmaCommand put;
    put.to = to;
    put.bytes = std::min(local_->run(to, bytes), static_cast<std::size_t>(machine_.p.dma_buffer));
    put.from = from;
    put.source = c.rank;
    put.target = local_->target(c.rank, to);
    put.data = true;
    put.ghost = ghost(to);
    if (put.target == c.rank && !put.ghost) {
      finish_commands(c, to, put.bytes);
      accessed(c, to, put.bytes, true, false);
      std::memcpy(to, from, put.bytes);
    } else {
      enqueue(c, put);
    }
    to += put.bytes;
    if (from != nullptr) from += put.bytes;
    bytes -= put.bytes;
  }
  finish_commands(c, nullptr, 0);
}

}  // namespace sim
}  // namespace phicoll
