#pragma once

// The sends of one rank, to all others. How a message travels: endpoint.hpp; which store makes what visible:
// channel.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/messages/channel.hpp"
#include "phicoll/messages/division.hpp"
#include "phicoll/messages/parts.hpp"
#include "phicoll/messages/pool.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

template <class Port>
class Sender {
 public:
  /// `pools`: of each rank, shared with the Receiver.
  Sender(const Setup& setup, Channels& channels, const Division& division, std::vector<Pools<Port>>& pools)
      : channels_(channels),
        division_(division),
        pools_(pools),
        hint_(setup.hint()),
        out_(static_cast<std::size_t>(setup.size())) {
    for (Out& out : out_) out.distance.set_host(setup.shape.host());
  }

  /// Sends a message that fits a cell, if nothing is in its way. Returns false if something is: then begin()
  /// sends it.
  bool send_now(Port& port, Data data, std::size_t bytes, int to, int tag, unsigned type) {
    Out& out = out_of(to);
    if (bytes > MessageCell::room || out.channel == nullptr || !out.queue.empty() || !has_cell(port, out))
      return false;
    MessageCell& cell = out.channel->cell_of(out.cells);
    if (bytes != 0) port.move(port.shared(cell.payload), data, bytes);
    write(port, out, cell, {tag, type, CellKind::here, no_ticket}, bytes);
    return true;
  }
  /// Begins a send.
  void begin(Port& port, const SharedTransfer& t) {
    Out& out = out_of(t->peer);
    if (out.channel == nullptr) {
      const std::uint64_t place = channels_.make();
      out.channel = &channels_.at(place);
      port.signal(channels_.place(division_.rank, t->peer), place);
    }
    if (t->bytes > MessageCell::room && !stays(port, *t)) make_ring_and_pool(port, out, *t);
    if (out.queue.empty() && push(port, out, *t)) {
      if (is_in_channel(*t) && t->ticket == no_ticket) {
        t->done = true;
        return;
      }
      pushed(out, t);
    } else {
      out.queue.push_back(t);
    }
    ++under_way_;
  }
  /// Whether there are sends that are not done.
  bool busy() const { return under_way_ != 0; }
  /// Goes on with all sends. Returns whether anything moved.
  bool push_all(Port& port) {
    bool any = false;
    for (Out& out : out_) {
      any = look_for_wants(port, out) || any;
      while (!out.queue.empty()) {
        const SharedTransfer t = out.queue.front();
        const std::uint64_t before = out.cells;
        const bool all = push(port, out, *t);
        any = any || out.cells != before;
        if (!all) break;
        out.queue.pop_front();
        if (!is_in_channel(*t) || t->ticket != no_ticket) {
          pushed(out, t);
          any = look_for_wants(port, out) || any;
        } else {
          t->done = true;
          --under_way_;
        }
      }
      for (std::size_t i = 0; i < out.handed.size();) {
        Transfer& t = *out.handed[i];
        // The ticket may be another message's already, with a larger number.
        if (port.load_acquire(out.channel->ticket.word[t.ticket]) < Channel::received(t.number)) {  // (4a)
          ++i;
          continue;
        }
        t.done = true;
        any = true;
        --under_way_;
        out.handed.erase(out.handed.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return any;
  }
  /// Waits for a send's peer to go on, if there is no other send and nothing of it is left to write.
  void await(Port& port, const Transfer& t) {
    const Out& out = out_of(t.peer);
    if (under_way_ != 1 || !out.queue.empty()) return;
    if (out.announced.empty())
      port.wait(out.channel->ticket.word[t.ticket], at_least(Channel::received(t.number)), hint_(t.peer));
    else
      port.wait(out.channel->want(out.wants), not_equal(std::uint64_t{0}), hint_(t.peer));
  }
  /// See Endpoint::withdraw.
  void withdraw(Port& port) {
    for (Out& out : out_) for_each_of(out, [&](const SharedTransfer& t) { withdraw(port, out, *t); });
  }
  /// Calls `see` with each send that is not done.
  template <class See>
  void for_each(const See& see) const {
    for (const Out& out : out_) for_each_of(out, see);
  }

 private:
  struct Out {
    Channel* channel = nullptr;
    unsigned char* ring = nullptr;
    std::uint64_t cells = 0;       // written
    std::uint64_t cells_read = 0;  // as far as is known
    std::uint64_t bytes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t tickets[Channel::tickets] = {};  // the last number of each
    std::deque<SharedTransfer> queue;              // not all of it in the channel
    std::vector<SharedTransfer> announced;         // the first part in the channel, the rest not wanted yet
    std::uint64_t wants = 0;                       // seen
    std::vector<SharedTransfer> handed;            // all in the channel, with a ticket that has not come back
    typename Port::Distance distance;
  };
  static constexpr std::size_t stays_from = 16384;

  Out& out_of(int to) { return out_[static_cast<std::size_t>(to)]; }
  Pools<Port>& pools_of(int to) { return pools_[static_cast<std::size_t>(to)]; }
  template <class See>
  static void for_each_of(const Out& out, const See& see) {
    for (const SharedTransfer& t : out.handed) see(t);
    for (const SharedTransfer& t : out.announced) see(t);
    for (const SharedTransfer& t : out.queue) see(t);
  }

  void withdraw(Port& port, Out& out, const Transfer& t) {
    if (t.ticket == no_ticket) return;
    Word<std::uint64_t>& word = out.channel->ticket.word[t.ticket];
    std::uint64_t seen = port.load_acquire(word);
    while (seen < Channel::copied(t.number))
      if (port.compare_exchange(word, seen, Channel::withdrawn(t.number))) break;  // (4)
    await_peer(port, channels_, t.peer, [&] { return port.load_acquire(word) != Channel::copied(t.number); });
  }
  /// Whether a message is to stay where it is.
  static bool stays(const Port& port, const Transfer& t) {
    return t.bytes > stays_from && t.pieces.empty() && port.reachable(t.data, t.bytes);
  }
  /// Whether a message goes through the pools, if there are any. Where CPUs share no cache, larger messages,
  /// and small ones in long rows, were at least as fast through the ring, stored past the caches.
  bool pooled(const Transfer& t) const {
    return t.bytes > stays_from && !division_.in_two_parts(t.bytes, t.peer);
  }
  /// Makes the ring, which other messages need even where a pool has the last of the memory, and the pool.
  void make_ring_and_pool(Port& port, Out& out, const Transfer& t) {
    if (out.ring == nullptr) {
      const std::uint64_t place = channels_.make_bytes();
      port.store_relaxed(out.channel->ring.place, place);
      out.ring = channels_.bytes_at(place);
    }
    if (pooled(t)) pools_of(t.peer).make(port, *out.channel);
  }
  /// Whether the receiver may copy the rest of a message together with this rank.
  bool can_be_copied_by_both(const Port& port, const Transfer& t) const {
    return t.bytes >= CopyWays::least_bytes && division_.in_two_parts(t.bytes, t.peer) && t.pieces.empty() &&
           port.exposable(t.data, t.bytes);
  }
  /// Whether nothing of a message that was pushed has to follow.
  bool is_in_channel(const Transfer& t) const { return t.moved == 0 || t.moved == t.bytes; }
  /// Notes what becomes of a message that was pushed and is not done by that.
  void pushed(Out& out, const SharedTransfer& t) {
    (is_in_channel(*t) ? out.handed : out.announced).push_back(t);
  }
  /// Queues the rest of what is wanted, ahead of messages that have not been begun, or copies it with its
  /// receiver. Returns whether it did the latter.
  bool look_for_wants(Port& port, Out& out) {
    while (!out.announced.empty()) {
      Word<std::uint64_t>& word = out.channel->want(out.wants);
      const std::uint64_t wanted = port.load_acquire(word);  // (5a)
      if (wanted == 0) return false;
      const auto it = std::find_if(out.announced.begin(), out.announced.end(),
                                   [wanted](const SharedTransfer& t) { return t->number == wanted / 2; });
      if (it == out.announced.end()) return false;  // its first part is not in the channel yet
      const SharedTransfer t = *it;
      out.announced.erase(it);
      port.signal(word, std::uint64_t{0});
      ++out.wants;
      if (wanted % 2 != 0) {
        out.handed.push_back(t);
        copy_with_receiver(port, out, *t);
        return true;
      }
      // The receiver leaves the message's own memory alone.
      if (!t->synchronous) t->ticket = no_ticket;
      auto place = out.queue.begin();
      while (place != out.queue.end() && (*place)->moved != 0) ++place;
      out.queue.insert(place, t);
    }
    return false;
  }
  /// Copies parts of a message's rest, as long as there are any.
  void copy_with_receiver(Port& port, Out& out, const Transfer& t) {
    Channel::Both& both = out.channel->both;
    const Parts parts(division_.first_part(t.bytes), t.bytes);
    const Exposed to = both.to.load(port);
    const std::uint64_t none = Channel::parts_of(t.number);
    std::uint64_t copied = none;
    std::uint64_t seen = port.load_acquire(both.claimed);
    while (seen - none < parts.count()) {  // another message's number is larger by more, or none
      const std::uint64_t claim = parts.claim(seen - none);
      if (!port.compare_exchange(both.claimed, seen, seen + claim)) continue;  // (6a), (6c)
      const std::size_t at = parts.at(seen - none);
      port.put(to, at, t.data + at, parts.bytes_at(at, claim));
      port.signal(both.sent, copied += claim);  // (6a)
      seen = port.load_acquire(both.claimed);
    }
  }
  /// Writes what there is room for. Returns whether that is all of the message, or all that is sent before it
  /// is wanted.
  bool push(Port& port, Out& out, Transfer& t) {
    const bool begun = t.moved != 0;
    if (!begun) {
      t.number = out.cells + 1;
      if (!has_cell(port, out)) return false;
      if (t.synchronous && !take_ticket(port, out, t)) return false;
      const bool exposed = stays(port, t) && take_ticket(port, out, t);
      if (t.bytes <= MessageCell::room || exposed) {
        MessageCell& cell = out.channel->cell_of(out.cells);
        if (exposed)
          cell.exposed().store(port, port.expose(t.data));
        else if (t.bytes != 0)
          take_from(port, out, t, port.shared(cell.payload), t.bytes, true);
        write(port, out, cell, {t.tag, t.type, exposed ? CellKind::exposed : CellKind::here, t.ticket},
              t.bytes);
        return true;
      }
      make_ring_and_pool(port, out, t);  // there already, unless all tickets are in use
      t.offered = can_be_copied_by_both(port, t) && take_ticket(port, out, t);
    }
    const bool waits = division_.in_two_parts(t.bytes, t.peer);
    // A message goes on after its first part only because the receiver wants the rest.
    const std::size_t first = division_.first_part(t.bytes);
    const std::size_t end = waits && t.moved < first ? first : t.bytes;
    while (t.moved < end) {
      if (!has_cell(port, out)) return false;
      const std::size_t most = std::min(end - t.moved, piece_of(t));
      const bool from_pools = pooled(t) && pools_of(t.peer).made();
      const Room room =
          from_pools ? pools_of(t.peer).room(port, most, t.moved == 0) : room_in_ring(port, out, most);
      if (room.to == nullptr) return false;
      MessageCell& cell = out.channel->cell_of(out.cells);
      take_from(port, out, t, port.shared(room.to), room.bytes, room.mine);
      port.store_relaxed(cell.piece().at, room.at);
      port.store_relaxed(cell.piece().bytes, std::uint64_t{room.bytes});
      const bool begins_rest = waits && t.moved == first;
      if (begins_rest) port.store_relaxed(cell.piece().message, t.number);
      if (waits && t.moved == 0)
        cell.piece().from.store(port, t.offered ? port.expose(t.data) : Exposed{0, 0, 0});
      const CellKind kind = t.moved == 0 ? CellKind::first : begins_rest ? CellKind::rest : CellKind::more;
      t.moved += room.bytes;
      write(port, out, cell, {t.tag, t.type, kind, t.ticket}, t.bytes);
    }
    return true;
  }
  /// Copies the next bytes of a message that is sent. `mine`: to lines that this rank has.
  static void take_from(Port& port, Out& out, const Transfer& t, Data to, std::size_t bytes, bool mine) {
    const auto copy = [&](Data from, std::size_t n) {
      if (mine) return port.move(to, from, n);
      port.hand(to, from, n, out.distance, out.channel->taken.pieces);
    };
    if (t.pieces.empty()) return copy(t.data + t.moved, bytes);
    std::size_t before = t.moved;
    for (const Transfer::Piece& piece : t.pieces) {
      if (before >= piece.bytes) {
        before -= piece.bytes;
        continue;
      }
      const std::size_t now = std::min(bytes, piece.bytes - before);
      const auto* const from = static_cast<const unsigned char*>(piece.data) + before;
      copy(port.bind(from, now), now);
      to = to + now;
      bytes -= now;
      before = 0;
      if (bytes == 0) return;
    }
  }
  /// Chooses pieces small enough that the receiver copies one while the sender copies the next. Ranks that
  /// exchange messages both send first, so neither receives meanwhile; fewer pieces then bring fewer lines,
  /// so exchanges go by halves instead of eighths.
  std::size_t piece_of(const Transfer& t) const {
    std::size_t piece = arch::whole_lines(t.bytes / (t.exchanged ? 2 : 8));
    if (piece < Division::least_piece) piece = Division::least_piece;
    return std::min(division_.most_piece, piece);
  }
  static void write(Port& port, Out& out, MessageCell& cell, const CellNote& note, std::size_t bytes) {
    port.store_relaxed(cell.what, note.word());
    port.store_relaxed(cell.bytes, std::uint64_t{bytes});
    port.signal(cell.number, ++out.cells);  // (1)
  }
  bool has_cell(Port& port, Out& out) {
    if (out.cells - out.cells_read < Channel::cells) return true;
    out.cells_read = port.load_acquire(out.channel->read.cells);  // (2)
    return out.cells - out.cells_read < Channel::cells;
  }
  /// Room for a contiguous piece in the ring: where the last one ends, or at the ring's start if it must.
  Room room_in_ring(Port& port, Out& out, std::size_t piece) {
    const std::size_t to_end = division_.ring - out.bytes % division_.ring;
    const std::uint64_t begin = piece <= to_end ? out.bytes : out.bytes + to_end;
    const std::uint64_t end = begin + arch::whole_lines(piece);
    if (end - out.bytes_read > division_.ring) {
      out.bytes_read = port.load_acquire(out.channel->read.bytes);
      if (end - out.bytes_read > division_.ring) return Room();
    }
    out.bytes = end;
    return Room{out.ring + begin % division_.ring, piece, begin, false};
  }
  /// A ticket's number is that of the message's first cell, which both sides know.
  bool take_ticket(Port& port, Out& out, Transfer& t) {
    if (t.ticket != no_ticket) {
      out.tickets[t.ticket] = t.number;  // messages that were begun later may have gone ahead meanwhile
      return true;
    }
    for (unsigned i = 0; i < Channel::tickets; ++i) {
      if (port.load_acquire(out.channel->ticket.word[i]) != Channel::received(out.tickets[i])) continue;
      t.ticket = i;
      out.tickets[i] = t.number;
      return true;
    }
    return false;
  }

  Channels& channels_;
  Division division_;
  std::vector<Pools<Port>>& pools_;
  Hint hint_;
  std::vector<Out> out_;
  std::size_t under_way_ = 0;  // sends that are not done
};

}  // namespace phicoll
