#pragma once

// One rank's side of point-to-point messages. Matching follows MPI's order (MPI 4.1, section 3.5): if two messages from one
// rank fit a receive, it takes the one sent first; if a message fits two receives, the one made first takes it.
//
// A message of at most MessageCell::room bytes travels in one cell, a larger one piece by piece through the channel's byte
// ring or, from 16 to 256 KB, through pools of bytes whose lines change hands (room_in_pools). A large one that its receiver's
// loads can reach stays where it is, and is copied once. The kernel's copy was slower than the ring, whose two copies overlap:
// 1 MB took 75 us instead of 37 between two processes, and 345 instead of 204 among four ranks on two CPUs.
//
// Of a message larger than 256 KB only the first part is sent before its receive has matched it (channel.hpp), so what a rank
// keeps of messages that come early is bounded for each. A message to oneself is sent whole.
//
// The rest of a message of 2 MB and more may be copied by both ranks at once, with the kernel's help: one copy by two CPUs,
// and none has to wait for the other. It pays where pages are large, which no rank can see, so receivers try
// both ways and take the faster one (copy_ways.hpp).
//
// Messages that come before their receive wait in `waiting_`, in the order in which they came; a receive looks there
// first. If it finds none, it goes to the end of `posted_`, and each later message is offered to the receives there in
// turn. So both rules hold, since cells of one sender are taken in order and neither list is reordered.
//
// A rank sends and takes messages when it is in a call. While it waits in any call (also a collective, or on another
// communicator), or tests a request of this one, pieces that found no room go on and receives are served.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/own_threads.hpp"
#include "phicoll/memory/wait_board.hpp"
#include "phicoll/messages/channel.hpp"
#include "phicoll/messages/parts.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

template <class Port>
class Endpoint {
 public:
  using Shared = std::shared_ptr<Transfer>;

  /// `stuck` is the same search that the port uses.
  Endpoint(const Setup& setup, Channels& channels, StuckSearch& stuck)
      : channels_(channels),
        stuck_(stuck),
        rank_(setup.rank),
        ranks_(setup.size()),
        hint_(setup.hint()),
        ring_bytes_(channels.ring_bytes()),
        unit_(ring_bytes_ / 16 < least_piece ? ring_bytes_ / 16 : least_piece),
        quarter_(ring_bytes_ / 4 / unit_ * unit_),
        most_piece_(std::min(std::size_t{65536}, ring_bytes_ / 4)),
        most_at_once_(std::min(std::size_t{262144}, ring_bytes_)),
        first_part_(most_at_once_ / 2),
        streamed_from_(static_cast<std::size_t>(setup.shape.host().streamed) / 2),
        out_(static_cast<std::size_t>(ranks_)),
        in_(static_cast<std::size_t>(ranks_)) {
    for (Out& out : out_) out.distance.set_host(setup.shape.host());
  }

  /// Begins `transfer`, which lives at least until it is done.
  void begin(Port& port, const Shared& transfer) {
    if (transfer->sends)
      begin_send(port, transfer);
    else
      begin_receive(port, transfer);
  }
  /// Sends a message that fits a cell, if nothing is in its way. Returns false if something is: then begin() sends it.
  bool send_now(Port& port, Data data, std::size_t bytes, int to, int tag, unsigned type) {
    Out& out = out_of(to);
    if (bytes > MessageCell::room || out.channel == nullptr || !out.queue.empty() || !has_cell(port, out))
      return false;
    MessageCell& cell = out.channel->cell_of(out.cells);
    if (bytes != 0) port.move(port.shared(cell.payload), data, bytes);
    write(port, out, cell, {tag, type, CellKind::here, no_ticket}, bytes);
    return true;
  }
  /// Waits for the next message of one rank and receives it, if it lies in its cell and nothing else is under way. Returns
  /// false, and leaves the message where it is, if a receive made by begin() has to see to it.
  bool receive_now(Port& port, Data to, std::size_t room, int from, int tag, unsigned type, Envelope* found) {
    if (from == any_source || pending() || !waiting_.empty() || !has_channel(port, from)) return false;
    stuck_.note = WaitNote{WaitNote::Kind::receive, from, tag, 0};
    In& in = in_of(from);
    MessageCell& cell = in.channel->cell_of(in.cells);
    port.wait(cell.number, equal(in.cells + 1), hint_(from));
    const CellNote note = CellNote::of(port.load_relaxed(cell.what));
    const Envelope envelope = envelope_of(port, cell, note, from);
    if (note.kind != CellKind::here || note.ticket != no_ticket || !fits(envelope, from, tag) ||
        refusal_of(envelope, type, room) != Refusal::none)
      return false;
    if (envelope.bytes != 0) port.move(to, port.shared(cell.payload), envelope.bytes);
    *found = envelope;
    ++in.cells;
    tell_read(port, from, in);
    return true;
  }
  /// Whether something is under way.
  bool pending() const { return under_way_ != 0 || !posted_.empty() || streams_ != 0; }
  bool sends() const { return under_way_ != 0; }
  /// Waits until the transfer is done.
  void finish(Port& port, Transfer& transfer) {
    if (transfer.done) return;
    tell(transfer);
    if (!transfer.sends && transfer.peer != any_source && posted_.size() == 1 && under_way_ == 0 &&
        streams_ == 0 && posted_.front().get() == &transfer) {
      // Nothing else can happen meanwhile, so it waits on one word after the other.
      while (!transfer.done) take_next(port, transfer.peer);
    } else {
      if (transfer.sends && posted_.empty() && streams_ == 0 && under_way_ == 1 &&
          out_of(transfer.peer).queue.empty()) {
        const Out& out = out_of(transfer.peer);
        if (out.announced.empty())
          port.wait(out.channel->ticket.word[transfer.ticket], at_least(Channel::received(transfer.number)),
                    hint_(transfer.peer));
        else
          port.wait(out.channel->want(out.wants), not_equal(std::uint64_t{0}), hint_(transfer.peer));
      }
      wait_for(port, [&] { return transfer.done; });
    }
  }
  /// Goes on with all that is under way. Returns whether anything moved. Receives first, so that two ranks that
  /// exchange large messages copy them at the same time, each its own, instead of both copying one and then the other.
  bool progress(Port& port) {
    bool any = false;
    if (under_way_ != 0 || !posted_.empty() || streams_ != 0) {
      // A rank that waits for its receivers takes in what they send, as they may wait for it in turn.
      const bool from_any =
          under_way_ != 0 ||
          std::any_of(posted_.begin(), posted_.end(), [](const Shared& t) { return t->peer == any_source; });
      for (int from = 0; from < ranks_; ++from)
        if (from_any || expects(from)) any = take_all(port, from) || any;
    }
    if (under_way_ != 0) any = push_all(port) || any;
    return any;
  }
  /// Withdraws a receive that no message has matched yet. Returns false if one has.
  bool take_back(const Transfer& transfer) {
    for (auto it = posted_.begin(); it != posted_.end(); ++it) {
      if (it->get() != &transfer) continue;
      posted_.erase(it);
      return true;
    }
    return false;
  }

  /// Takes back what stays in this rank's memory and has not been received: the group is broken, and the memory goes. Waits for
  /// copies that are being made, but not for ranks that died, and at most 2 s for processes, which may be stopped: what they
  /// copy from is the group's heap, which stays mapped. A thread's copy ends, if slowly where others have the CPUs.
  void withdraw(Port& port) {
    for (Out& out : out_) {
      for (const Shared& t : out.handed) withdraw(port, out, *t);
      for (const Shared& t : out.announced) withdraw(port, out, *t);
      for (const Shared& t : out.queue) withdraw(port, out, *t);
    }
  }

  /// The first message that a receive would take now, or null.
  const Envelope* look(Port& port, int source, int tag) {
    progress(port);
    auto found = find_waiting(source, tag);
    if (found == waiting_.end()) {
      for (int from = 0; from < ranks_; ++from)
        if (source == any_source || source == from) take_all(port, from);
      found = find_waiting(source, tag);
    }
    return found == waiting_.end() ? nullptr : &found->envelope;
  }
  /// Waits for such a message.
  void probe(Port& port, int source, int tag) {
    Transfer wanted;
    wanted.peer = source;
    wanted.tag = tag;
    tell(wanted);
    wait_for(port, [&] { return look(port, source, tag) != nullptr; });
  }

  /// Reserves the next matching message for one receive: Envelope::held. Null if there is none.
  const Envelope* hold(Port& port, int source, int tag) {
    if (look(port, source, tag) == nullptr) return nullptr;
    const auto found = find_waiting(source, tag);
    found->envelope.held = ++last_held_;
    return &found->envelope;
  }

  /// Waits until `holds` returns true; meanwhile goes on with all that is under way.
  template <class Holds>
  void wait_for(Port& port, const Holds& holds) {
    typename Port::Patience patience;
    while (!holds()) {
      // A look that moved something proves that the group is not stuck, so the next look in vain has a new mark.
      if (progress(port))
        patience.end_mark();
      else
        port.take_turn(patience);
    }
  }
  /// Notes, for errors, that the next wait is for any of the requests that are then added.
  void tell_of_requests() {
    stuck_.note = WaitNote{WaitNote::Kind::requests, -1, -1, 0};
    stuck_.requests.clear();
  }
  void tell_of_request(const Begun& begun) {
    if (const auto* const t = dynamic_cast<const Transfer*>(&begun))
      stuck_.requests.add(kind_of(*t), t->peer_in_group, t->tag);
    else
      stuck_.requests.add(WaitNote::Kind::nonblocking, any_source, any_tag);
  }
  /// Does the same for all its sends.
  void tell_of_sends() {
    tell_of_requests();
    for (const Out& out : out_) {
      for (const Shared& t : out.handed) tell_of_request(*t);
      for (const Shared& t : out.announced) tell_of_request(*t);
      for (const Shared& t : out.queue) tell_of_request(*t);
    }
  }

 private:
  struct Out {
    Channel* channel = nullptr;
    unsigned char* ring = nullptr;
    unsigned char* pool = nullptr;
    bool pool_refused = false;
    std::uint64_t cells = 0;       // written
    std::uint64_t cells_read = 0;  // as far as is known
    std::uint64_t bytes = 0;
    std::uint64_t bytes_read = 0;
    // Of the pools from and to the peer: what this rank read last, which it writes to first, and the rest.
    Stretches read;
    Stretches rest;
    std::uint64_t gifts = 0;  // seen
    std::size_t held() const { return read.bytes() + rest.bytes(); }
    std::uint64_t tickets[Channel::tickets] = {};  // the last number of each
    std::deque<Shared> queue;                      // not all of it in the channel
    std::vector<Shared> announced;                 // the first part in the channel, the rest not wanted yet
    std::uint64_t wants = 0;                       // seen
    std::vector<Shared> handed;                    // all in the channel, with a ticket that has not come back
    typename Port::Distance distance;
  };
  /// A message that came before its receive.
  struct Waiting {
    explicit Waiting(std::size_t room) : bytes(room) {}
    Envelope envelope;
    bool exposed = false;
    Exposed where{0, 0, 0};
    unsigned ticket = no_ticket;
    std::uint64_t number = 0;          // of its first cell
    std::vector<unsigned char> bytes;  // what is sent before the message is matched
    std::size_t came = 0;
    Shared claimed;  // by a receive, before all of it has come
  };
  /// Where a piece is written.
  struct Room {
    unsigned char* to = nullptr;  ///< none: there is no room yet
    std::size_t bytes = 0;        ///< of the piece
    std::uint64_t at = 0;         ///< for the cell
    bool mine = false;            ///< this rank has the lines
  };
  struct In {
    Channel* channel = nullptr;
    unsigned char* ring = nullptr;
    unsigned char* pool = nullptr;
    std::uint64_t cells = 0;  // read
    std::uint64_t cells_told = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_told = 0;
    std::uint64_t gifts = 0;       // given
    std::uint64_t gifts_seen = 0;  // by the peer, as far as is known
    bool from_pool = false;        // the last piece
    // Where the further pieces of a message go: to a receive or to a message that waits.
    Shared stream;
    Waiting* waiting = nullptr;
    std::vector<Shared> partial;       // matched, the rest to come
    std::deque<std::uint64_t> wanted;  // messages whose rest must be asked for
    std::uint64_t wants = 0;           // asked for
    CopyWays ways;

    Word<std::uint64_t>& next_want() const { return channel->want(wants); }
  };

  static constexpr std::size_t least_piece = 8192;
  static constexpr std::size_t stays_from = 16384;
  static constexpr std::size_t long_copy =
      131072;  // of a message, that other threads of an interpreter need not wait for

  Out& out_of(int to) { return out_[static_cast<std::size_t>(to)]; }
  In& in_of(int from) { return in_[static_cast<std::size_t>(from)]; }

  static WaitNote::Kind kind_of(const Transfer& t) {
    return t.sends ? WaitNote::Kind::send : WaitNote::Kind::receive;
  }
  void tell(const Transfer& t) { stuck_.note = WaitNote{kind_of(t), t.peer, t.tag, 0}; }

  // Sending.

  void withdraw(Port& port, Out& out, const Transfer& t) {
    if (t.ticket == no_ticket) return;
    Word<std::uint64_t>& word = out.channel->ticket.word[t.ticket];
    std::uint64_t seen = port.load_acquire(word);
    while (seen < Channel::copied(t.number))
      if (port.compare_exchange(word, seen, Channel::withdrawn(t.number))) break;
    await_peer(port, t.peer, [&] { return port.load_acquire(word) != Channel::copied(t.number); });
  }
  /// Waits, in a broken group, for a peer's copy to end. The copies of a process that has ended are over too, though it did not say
  /// so.
  template <class Ended>
  void await_peer(Port& port, int peer, const Ended& ended) const {
    const std::int64_t since = port.now();
    for (std::int64_t asked = since; !ended();) {
      port.pause();
      if (!channels_.ranks_may_stop()) continue;
      const std::int64_t now = port.now();
      if (now - asked < 1000000) continue;
      if (now - since > 2000000000 || channels_.has_ended(peer)) return;
      asked = now;
    }
  }

  void begin_send(Port& port, const Shared& t) {
    Out& out = out_of(t->peer);
    if (out.channel == nullptr) {
      const std::uint64_t place = channels_.make();
      out.channel = &channels_.at(place);
      port.signal(channels_.place(rank_, t->peer), place);
    }
    if (t->bytes > MessageCell::room && !stays(port, *t)) make_bytes(port, out, *t);
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
  /// Whether a message is to stay where it is.
  static bool stays(const Port& port, const Transfer& t) {
    return t.bytes > stays_from && t.pieces.empty() && port.reachable(t.data, t.bytes);
  }
  /// Whether a message goes through the pools, if there are any. Where CPUs share no cache, larger messages, and small ones in
  /// long rows, were at least as fast through the ring, stored past the caches.
  bool pooled(const Transfer& t) const { return t.bytes > stays_from && !in_two_parts(t.bytes, t.peer); }
  /// Makes the ring, which other messages need even where a pool has the last of the memory, and the pool. Cells whose pieces lie
  /// there come after it.
  void make_bytes(Port& port, Out& out, const Transfer& t) {
    if (out.ring == nullptr) {
      const std::uint64_t place = channels_.make_ring();
      port.store_relaxed(out.channel->ring.place, place);
      out.ring = channels_.ring_at(place);
    }
    if (!pooled(t) || out.pool != nullptr || out.pool_refused) return;
    out.pool_refused = !channels_.room_for_pool();
    if (out.pool_refused) return;
    try {
      const std::uint64_t place = channels_.make_ring();
      port.store_relaxed(out.channel->ring.pool, place);
      out.pool = channels_.ring_at(place);
      out.rest.add(Stretch{false, false, 0, pool_bytes()});
    } catch (const ResourceError&) {
      out.pool_refused = true;
    }
  }
  std::size_t pool_bytes() const { return 4 * quarter_; }
  /// Whether the receiver may copy the rest of a message together with this rank.
  bool can_be_copied_by_both(const Port& port, const Transfer& t) const {
    return t.bytes >= CopyWays::least_bytes && in_two_parts(t.bytes, t.peer) && t.pieces.empty() &&
           port.exposable(t.data, t.bytes);
  }
  /// Whether nothing of a message that was pushed has to follow.
  bool is_in_channel(const Transfer& t) const { return t.moved == 0 || t.moved == t.bytes; }
  /// Notes what becomes of a message that was pushed and is not done by that.
  void pushed(Out& out, const Shared& t) { (is_in_channel(*t) ? out.handed : out.announced).push_back(t); }
  /// Queues the rest of what is wanted, ahead of messages that have not been begun, or copies it with its receiver.
  /// Returns whether it did the latter.
  bool look_for_wants(Port& port, Out& out) {
    while (!out.announced.empty()) {
      Word<std::uint64_t>& word = out.channel->want(out.wants);
      const std::uint64_t wanted = port.load_acquire(word);
      if (wanted == 0) return false;
      const auto it = std::find_if(out.announced.begin(), out.announced.end(),
                                   [wanted](const Shared& t) { return t->number == wanted / 2; });
      if (it == out.announced.end()) return false;  // its first part is not in the channel yet
      const Shared t = *it;
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
    const Parts parts(first_part_, t.bytes);
    const Exposed to = both.to.load(port);
    const std::uint64_t none = Channel::parts_of(t.number);
    std::uint64_t copied = none;
    std::uint64_t seen = port.load_acquire(both.claimed);
    while (seen - none < parts.count()) {  // another message's number is larger by more, or none
      if (!port.compare_exchange(both.claimed, seen, seen + 1)) continue;
      const std::size_t at = parts.at(seen - none);
      port.put(to, at, t.data + at, parts.bytes_at(at));
      port.signal(both.sent, ++copied);
      seen = port.load_acquire(both.claimed);
    }
  }
  bool push_all(Port& port) {
    bool any = false;
    for (Out& out : out_) {
      any = look_for_wants(port, out) || any;
      while (!out.queue.empty()) {
        const Shared t = out.queue.front();
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
        if (port.load_acquire(out.channel->ticket.word[t.ticket]) < Channel::received(t.number)) {
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
  /// Writes what there is room for. Returns whether that is all of the message, or all that is sent before it is wanted.
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
      make_bytes(port, out, t);  // there already, unless all tickets are in use
      t.offered = can_be_copied_by_both(port, t) && take_ticket(port, out, t);
    }
    const bool waits = in_two_parts(t.bytes, t.peer);
    // A message goes on after its first part only because the receiver wants the rest.
    const std::size_t end = waits && t.moved < first_part_ ? first_part_ : t.bytes;
    while (t.moved < end) {
      if (!has_cell(port, out)) return false;
      const std::size_t most = std::min(end - t.moved, piece_of(t));
      const Room room = pooled(t) && out.pool != nullptr ? room_in_pools(port, out, t, most)
                                                         : room_in_ring(port, out, most);
      if (room.to == nullptr) return false;
      MessageCell& cell = out.channel->cell_of(out.cells);
      take_from(port, out, t, port.shared(room.to), room.bytes, room.mine);
      port.store_relaxed(cell.piece().at, room.at);
      port.store_relaxed(cell.piece().bytes, std::uint64_t{room.bytes});
      const bool begins_rest = waits && t.moved == first_part_;
      if (begins_rest) port.store_relaxed(cell.piece().message, t.number);
      if (waits && t.moved == 0)
        cell.piece().from.store(port, t.offered ? port.expose(t.data) : Exposed{0, 0, 0});
      const CellKind kind = t.moved == 0 ? CellKind::ring : begins_rest ? CellKind::rest : CellKind::more;
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
  /// Chooses pieces small enough that the receiver copies one while the sender copies the next. Ranks that exchange messages
  /// both send first, so neither receives meanwhile, and fewer pieces bring fewer lines: by halves instead of eighths, exchanges
  /// of 32 and 64 KB took 0.85 to 0.91 of the time, 128 KB 0.91 to 0.95 and 256 KB 0.98.
  std::size_t piece_of(const Transfer& t) const {
    std::size_t piece = arch::whole_lines(t.bytes / (t.exchanged ? 2 : 8));
    if (piece < least_piece) piece = least_piece;
    return std::min(most_piece_, piece);
  }
  static void write(Port& port, Out& out, MessageCell& cell, const CellNote& note, std::size_t bytes) {
    port.store_relaxed(cell.what, note.word());
    port.store_relaxed(cell.bytes, std::uint64_t{bytes});
    port.signal(cell.number, ++out.cells);
  }
  bool has_cell(Port& port, Out& out) {
    if (out.cells - out.cells_read < Channel::cells) return true;
    out.cells_read = port.load_acquire(out.channel->read.cells);
    return out.cells - out.cells_read < Channel::cells;
  }
  /// Room for a contiguous piece in the ring: where the last one ends, or at the ring's start if it must.
  Room room_in_ring(Port& port, Out& out, std::size_t piece) {
    const std::size_t to_end = ring_bytes_ - out.bytes % ring_bytes_;
    const std::uint64_t begin = piece <= to_end ? out.bytes : out.bytes + to_end;
    const std::uint64_t end = begin + arch::whole_lines(piece);
    if (end - out.bytes_read > ring_bytes_) {
      out.bytes_read = port.load_acquire(out.channel->read.bytes);
      if (end - out.bytes_read > ring_bytes_) return Room();
    }
    out.bytes = end;
    return Room{out.ring + begin % ring_bytes_, piece, begin, false};
  }
  /// Room for a piece of at most so many bytes in the pools. Pieces go first to where this rank has read before the message began:
  /// whoever reads a line that another CPU has just written becomes its owner, at least on an EPYC, so it writes there at
  /// once, and a few lines stay in both CPUs' caches. To write to a line that the other CPU read last takes longer, several times
  /// so between CPUs that share no cache. Between two processes on an EPYC, messages of 32 to 256 KB to and fro took 0.78 to 0.86
  /// of the time through the ring if their CPUs share a cache, and 0.95 to 1 if not, exchanges 0.77 to 0.9 and 0.86 to 1.
  Room room_in_pools(Port& port, Out& out, const Transfer& t, std::size_t most) {
    if (t.moved == 0) out.read.age();
    if (out.held() == 0) take_gifts(port, out);
    if (out.held() == 0) return Room();
    const bool mine = out.read.has_old() || out.rest.empty();
    Stretch stretch = (mine ? out.read : out.rest).take_to_write((most + unit_ - 1) / unit_ * unit_);
    stretch.cold = !mine;
    unsigned char* const pool = stretch.peers ? pool_of(port, in_of(t.peer)) : out.pool;
    return Room{pool + stretch.at, std::min(most, stretch.bytes), stretch.word(), mine};
  }
  /// Takes what the peer has given back.
  static void take_gifts(Port& port, Out& out) {
    const std::uint64_t gifts = port.load_acquire(out.channel->read.gifts);
    if (gifts == out.gifts) return;
    for (; out.gifts != gifts; ++out.gifts)
      out.rest.add(Stretch::from_peer(port.load_relaxed(out.channel->gift(out.gifts))));
    port.signal(out.channel->ring.gifts, gifts);
  }
  /// Whether the rest of a message to or from a rank is sent only when it is wanted.
  bool in_two_parts(std::size_t bytes, int peer) const { return bytes > most_at_once_ && peer != rank_; }
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

  // Receiving.

  static bool fits(const Envelope& message, int source, int tag) {
    // Tags below any_tag are the library's own.
    return (source == any_source || source == message.source) &&
           (tag == message.tag || (tag == any_tag && message.tag >= 0));
  }
  enum class Refusal { none, kind, type, room };
  /// Why a receive of this type, and of at most `room` bytes, cannot take a message that matches its source and tag.
  static Refusal refusal_of(const Envelope& message, unsigned type, std::size_t room) {
    // Fits any type, as MPI_BYTE does. So does a char: programs send one and receive the other.
    const auto plain = [](unsigned which) {
      return which == 0 || which == type_number(Type::uint8) || which == type_number(Type::int8);
    };
    if (message.type != type && message.bytes != 0) {
      if (message.type == object_type || (type == object_type && !plain(message.type))) return Refusal::kind;
      if (!plain(message.type) && !plain(type)) return Refusal::type;
    }
    return message.bytes > room ? Refusal::room : Refusal::none;
  }
  /// The same in words; empty if it can.
  static std::string refusal(const Envelope& message, const Transfer& t) {
    const Refusal refusal = refusal_of(message, t.type, t.frame ? SIZE_MAX : t.bytes);
    if (refusal == Refusal::none) return std::string();
    const std::string from =
        " from rank " + std::to_string(message.source) + " with tag " + std::to_string(message.tag);
    if (refusal == Refusal::kind)
      return std::string("a receive of ") + (t.type == object_type ? "data" : "an object") +
             ", as the message" + from + " is";
    if (refusal == Refusal::type)
      return type_name(message.type) + ", as the message" + from + " is, or bytes";
    return "room for " + std::to_string(message.bytes) + " bytes, the message" + from;
  }

  void begin_receive(Port& port, const Shared& t) {
    const auto it = t->held == 0
                        ? find_waiting(t->peer, t->tag)
                        : std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& message) {
                            return message.envelope.held == t->held && !message.claimed;
                          });
    if (it == waiting_.end() && t->held == 0) {
      posted_.push_back(t);
      return;
    }
    if (it == waiting_.end()) {
      t->refused = "a message that has not been received yet";
      t->done = true;
      return;
    }
    t->refused = refusal(it->envelope, *t);
    t->envelope = it->envelope;
    if (t->refused.empty()) make_room(port, *t, it->envelope.bytes);
    if (!t->refused.empty()) {
      t->done = true;
    } else if (it->came < it->bytes.size()) {
      it->claimed = t;
    } else {
      deliver(port, *it, t);
      waiting_.erase(it);
    }
  }
  static void make_room(Port& port, Transfer& t, std::size_t bytes) {
    if (!t.frame || bytes <= t.bytes) return;
    if (bytes >= long_copy) tell_of_a_wait();
    t.frame->resize(bytes);
    t.data = port.bind(t.frame->data(), bytes);
    t.bytes = bytes;
  }
  void deliver(Port& port, Waiting& message, const Shared& t) {
    if (message.envelope.bytes >= long_copy) tell_of_a_wait();
    if (message.exposed)
      copy_exposed(port, message.where, *t, message.envelope, message.ticket, message.number);
    else if (!message.bytes.empty())
      port.move(t->data, port.bind(message.bytes.data(), message.bytes.size()), message.bytes.size());
    if (message.exposed || message.came == message.envelope.bytes)
      return complete(port, *t, message.envelope, message.ticket, message.number);
    expect(port, *t, message.envelope, message.ticket, message.number, message.where);
    t->moved = message.came;
    if (t->moved == t->in_ring) return complete_stream(port, *t);
    in_of(message.envelope.source).partial.push_back(t);
  }
  /// Begins to receive a message whose pieces are still to come. Its rest, if it has one, is copied here or asked for.
  void expect(Port& port, Transfer& t, const Envelope& envelope, unsigned ticket, std::uint64_t number,
              const Exposed& offered) {
    t.envelope = envelope;
    t.ticket = ticket;
    t.number = number;
    t.in_ring = envelope.bytes;
    ++streams_;
    if (!in_two_parts(envelope.bytes, envelope.source)) return;
    In& in = in_of(envelope.source);
    if (offered) {
      t.begun_ns = port.now();
      if (in.wanted.empty() && port.load_acquire(in.next_want()) == 0 && in.ways.copy_once(envelope.bytes))
        return copy_with_sender(port, in, t, offered);
    }
    in.wanted.push_back(number);
    ask(port, in);
  }
  static void ask(Port& port, In& in) {
    while (!in.wanted.empty() && port.load_acquire(in.next_want()) == 0) {
      port.signal(in.next_want(), 2 * in.wanted.front());
      in.wanted.pop_front();
      ++in.wants;
    }
  }
  /// Copies the rest of a message, together with the sender if it is there. At the end all of it has come.
  void copy_with_sender(Port& port, In& in, Transfer& t, const Exposed& from) {
    Channel::Both& both = in.channel->both;
    const Parts parts(first_part_, t.envelope.bytes);
    const std::uint64_t none = Channel::parts_of(t.number);
    const std::uint64_t all = none + parts.count();
    begin_copy(port, in, t.ticket, t.number);
    both.to.store(port, port.expose(t.data));
    port.store_relaxed(both.sent, none);
    port.store_relaxed(both.claimed, none);
    port.signal(in.next_want(), 2 * t.number + 1);
    ++in.wants;
    const auto leave_sender = [&] {
      port.signal(in.channel->ticket.word[t.ticket], Channel::received(t.number));
      t.ticket = no_ticket;
    };
    std::uint64_t mine = 0;  // claimed
    try {
      for (std::uint64_t seen = none; seen != all;) {
        if (!port.compare_exchange(both.claimed, seen, seen + 1)) continue;
        ++mine;
        const std::size_t at = parts.at(seen - none);
        port.fetch(t.data + at, from, at, parts.bytes_at(at));
        seen = port.load_acquire(both.claimed);
      }
      port.wait(both.sent, equal(all - mine), hint_(t.envelope.source));
    } catch (...) {
      // The group is broken. The sender claims nothing more, and what it has claimed goes into memory that is the caller's.
      const std::uint64_t claimed = port.exchange(both.claimed, all);
      await_peer(port, t.envelope.source,
                 [&, claimed] { return port.load_acquire(both.sent) == claimed - mine; });
      leave_sender();
      throw;
    }
    leave_sender();
    t.in_ring = first_part_;
  }
  /// Ends the receive of a message whose last piece has come.
  void complete_stream(Port& port, Transfer& t) {
    if (t.begun_ns != 0)
      in_of(t.envelope.source)
          .ways.took(t.in_ring != t.envelope.bytes, t.envelope.bytes, port.now() - t.begun_ns);
    complete(port, t, t.envelope, t.ticket, t.number);
    --streams_;
  }
  void complete(Port& port, Transfer& t, const Envelope& envelope, unsigned ticket, std::uint64_t number) {
    if (ticket != no_ticket)
      port.signal(in_of(envelope.source).channel->ticket.word[ticket], Channel::received(number));
    t.envelope = envelope;
    t.done = true;
  }

  void copy_exposed(Port& port, const Exposed& where, Transfer& t, const Envelope& envelope, unsigned ticket,
                    std::uint64_t number) {
    begin_copy(port, in_of(envelope.source), ticket, number);
    take_exposed(port, t.data, where, 0, envelope.bytes, stores_of(envelope.bytes));
  }
  /// Keeps the sender's memory until the message is received.
  static void begin_copy(Port& port, In& in, unsigned ticket, std::uint64_t number) {
    Word<std::uint64_t>& word = in.channel->ticket.word[ticket];
    std::uint64_t seen = port.load_relaxed(word);
    while (seen < Channel::copied(number))
      if (port.compare_exchange(word, seen, Channel::copied(number))) break;
    // Withdrawn: the group is broken, which this wait tells.
    if (seen == Channel::withdrawn(number)) port.wait(word, equal(Channel::received(number)));
  }
  /// How a received message is stored. The caches hold the sender's data too, so it is too large for them at half the size of
  /// a collective's result. Between two processes on an EPYC, 4 MB took 0.82 and 16 MB 0.6 to 0.75 of the time by this.
  Stores stores_of(std::size_t bytes) const {
    return bytes >= streamed_from_ ? Stores::streaming : Stores::taken;
  }

  bool expects(int from) const {
    const In& in = in_[static_cast<std::size_t>(from)];
    if (in.stream || in.waiting != nullptr || !in.partial.empty()) return true;
    return std::any_of(posted_.begin(), posted_.end(), [&](const Shared& t) { return t->peer == from; });
  }
  bool has_channel(Port& port, int from) {
    In& in = in_of(from);
    if (in.channel != nullptr) return true;
    const std::uint64_t place = port.load_acquire(channels_.place(from, rank_));
    if (place != 0) in.channel = &channels_.at(place);
    return place != 0;
  }
  bool take_all(Port& port, int from) {
    if (!has_channel(port, from)) return false;
    In& in = in_of(from);
    bool any = false;
    ask(port, in);
    for (std::uint64_t i = 0; i < Channel::cells; ++i) {
      if (port.load_acquire(in.channel->cell_of(in.cells).number) != in.cells + 1) break;
      take(port, from, in);
      any = true;
    }
    return any;
  }
  /// Waits for the next cell of a rank and takes it.
  void take_next(Port& port, int from) {
    In& in = in_of(from);
    if (in.channel == nullptr)
      in.channel =
          &channels_.at(port.wait(channels_.place(from, rank_), not_equal(std::uint64_t{0}), hint_(from)));
    port.wait(in.channel->cell_of(in.cells).number, equal(in.cells + 1), hint_(from));
    take(port, from, in);
  }
  void take(Port& port, int from, In& in) {
    MessageCell& cell = in.channel->cell_of(in.cells);
    const CellNote note = CellNote::of(port.load_relaxed(cell.what));
    if (note.kind == CellKind::rest) begin_rest(in, port.load_relaxed(cell.piece().message));
    if (note.kind == CellKind::more || note.kind == CellKind::rest) {
      take_piece(port, from, in, cell);
    } else {
      const Envelope envelope = envelope_of(port, cell, note, from);
      if (Shared t = match(port, envelope))
        take_matched(port, in, cell, note, envelope, t);
      else
        take_unmatched(port, in, cell, note, envelope);
    }
    ++in.cells;
    tell_read(port, from, in);
  }
  static Envelope envelope_of(Port& port, const MessageCell& cell, const CellNote& note, int from) {
    return Envelope{from, note.tag, static_cast<std::size_t>(port.load_relaxed(cell.bytes)), note.type};
  }
  /// The first receive that the message fits. If it cannot take it, that receive ends, and the message waits for another.
  Shared match(Port& port, const Envelope& envelope) {
    const auto it = std::find_if(posted_.begin(), posted_.end(),
                                 [&](const Shared& t) { return fits(envelope, t->peer, t->tag); });
    if (it == posted_.end()) return Shared();
    const Shared t = *it;
    t->refused = refusal(envelope, *t);
    if (t->refused.empty()) make_room(port, *t, envelope.bytes);
    posted_.erase(it);
    if (t->refused.empty()) return t;
    t->envelope = envelope;
    t->done = true;
    return Shared();
  }
  void take_matched(Port& port, In& in, MessageCell& cell, const CellNote& note, const Envelope& envelope,
                    const Shared& t) {
    if (note.kind == CellKind::ring) {
      if (envelope.bytes >= long_copy) tell_of_a_wait();
      expect(port, *t, envelope, note.ticket, in.cells + 1, offered(port, cell, envelope));
      in.stream = t;
      take_piece(port, envelope.source, in, cell);
      return;
    }
    if (note.kind == CellKind::exposed)
      copy_exposed(port, cell.exposed().load(port), *t, envelope, note.ticket, in.cells + 1);
    else if (envelope.bytes != 0)
      port.move(t->data, port.shared(cell.payload), envelope.bytes);
    complete(port, *t, envelope, note.ticket, in.cells + 1);
  }
  void take_unmatched(Port& port, In& in, MessageCell& cell, const CellNote& note, const Envelope& envelope) {
    if (envelope.bytes >= long_copy) tell_of_a_wait();
    // With its memory, before it is one: there may be none.
    waiting_.push_back(Waiting(note.kind == CellKind::exposed                  ? 0
                               : in_two_parts(envelope.bytes, envelope.source) ? first_part_
                                                                               : envelope.bytes));
    Waiting& message = waiting_.back();
    message.envelope = envelope;
    message.ticket = note.ticket;
    message.number = in.cells + 1;
    if (note.kind == CellKind::exposed) {
      message.exposed = true;
      message.where = cell.exposed().load(port);
      return;
    }
    if (note.kind == CellKind::ring) {
      message.where = offered(port, cell, envelope);
      in.waiting = &message;
      ++streams_;
      take_piece(port, envelope.source, in, cell);
    } else if (envelope.bytes != 0) {
      port.move(port.bind(message.bytes.data(), envelope.bytes), port.shared(cell.payload), envelope.bytes);
      message.came = envelope.bytes;
    }
  }
  /// Where the message with its first piece in this cell lies, if this rank may copy it from there.
  Exposed offered(Port& port, MessageCell& cell, const Envelope& envelope) const {
    return in_two_parts(envelope.bytes, envelope.source) ? cell.piece().from.load(port) : Exposed{0, 0, 0};
  }
  static void begin_rest(In& in, std::uint64_t number) {
    const auto it = std::find_if(in.partial.begin(), in.partial.end(),
                                 [&](const Shared& t) { return t->number == number; });
    in.stream = *it;
    in.partial.erase(it);
  }
  /// Where a piece lies. Counts its bytes as read already; the caller copies them before it does anything else.
  unsigned char* place_of(Port& port, int from, In& in, std::uint64_t at, std::size_t bytes) {
    in.from_pool = (at & Stretch::in_pool) != 0;
    if (!in.from_pool) {
      in.bytes = at + arch::whole_lines(bytes);
      return place_once(port, in.ring, in.channel->ring.place) + at % ring_bytes_;
    }
    const Stretch stretch = Stretch::from_peer(at);
    Out& back = out_of(from);
    back.read.add(stretch);
    return (stretch.peers ? pool_of(port, in) : back.pool) + stretch.at;
  }
  /// The pool that the peer has made.
  unsigned char* pool_of(Port& port, In& in) { return place_once(port, in.pool, in.channel->ring.pool); }
  unsigned char* place_once(Port& port, unsigned char*& known, const Word<std::uint64_t>& place) {
    if (known == nullptr) known = channels_.ring_at(port.load_relaxed(place));
    return known;
  }
  void take_piece(Port& port, int from, In& in, MessageCell& cell) {
    const auto bytes = static_cast<std::size_t>(port.load_relaxed(cell.piece().bytes));
    const Data piece = port.shared(place_of(port, from, in, port.load_relaxed(cell.piece().at), bytes));
    port.store_relaxed(in.channel->taken.pieces, in.cells + 1);
    if (in.stream) {
      Transfer& t = *in.stream;
      port.move(t.data + t.moved, piece, bytes, stores_of(t.envelope.bytes));
      t.moved += bytes;
      if (t.moved == t.in_ring) {
        complete_stream(port, t);
        in.stream.reset();
      } else if (t.moved == first_part_ && in_two_parts(t.envelope.bytes, t.envelope.source)) {
        in.partial.push_back(std::move(in.stream));
      }
    } else {
      Waiting& message = *in.waiting;
      port.move(port.bind(message.bytes.data() + message.came, bytes), piece, bytes);
      message.came += bytes;
      if (message.came < message.bytes.size()) return;
      in.waiting = nullptr;
      if (message.claimed) {
        deliver(port, message, message.claimed);
        waiting_.remove_if([&](const Waiting& w) { return &w == &message; });
      }
      --streams_;
    }
  }
  /// Tells the sender seldom, since each time the word's line moves to it, but soon enough that it never waits in vain:
  /// the unacknowledged part always leaves room for a piece and the rest of a lap.
  void tell_read(Port& port, int from, In& in) {
    constexpr std::uint64_t cells_a_word = Channel::cells / 4;
    if (in.cells - in.cells_told >= cells_a_word) {
      in.cells_told = in.cells;
      port.signal(in.channel->read.cells, in.cells);
    }
    if (in.bytes - in.bytes_told >= ring_bytes_ / 4) {
      in.bytes_told = in.bytes;
      port.signal(in.channel->read.bytes, in.bytes);
    }
    if (!in.from_pool) return;
    in.from_pool = false;
    Out& back = out_of(from);
    const std::size_t others = back.pool == nullptr ? 0 : pool_bytes();
    if (back.held() < others + quarter_) return;
    if (back.pool != nullptr) take_gifts(port, back);  // gifts not noted yet count as held
    if (back.held() > others + 2 * quarter_) give(port, in, back, others + quarter_);
  }
  /// Gives the sender all but `keep` bytes, first those that it wrote past the caches, as it will write them that way again.
  void give(Port& port, In& in, Out& back, std::size_t keep) {
    Channel& channel = *in.channel;
    const std::uint64_t before = in.gifts;
    while (back.held() > keep) {
      if (in.gifts - in.gifts_seen == Channel::most_gifts) {
        in.gifts_seen = port.load_acquire(channel.ring.gifts);
        if (in.gifts - in.gifts_seen == Channel::most_gifts)
          break;  // the sender takes these before it waits; more follow when its next piece is read
      }
      Stretches& from = back.read.empty() ? back.rest : back.read;
      port.store_relaxed(channel.gift(in.gifts++), from.take_to_give(back.held() - keep).word());
    }
    if (in.gifts != before) port.signal(channel.read.gifts, in.gifts);
  }

  typename std::list<Waiting>::iterator find_waiting(int source, int tag) {
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& message) {
      return !message.claimed && message.envelope.held == 0 && fits(message.envelope, source, tag);
    });
  }

  Channels& channels_;
  StuckSearch& stuck_;
  int rank_;
  int ranks_;
  Hint hint_;
  std::size_t ring_bytes_;
  std::size_t unit_;     // of a pool's stretches
  std::size_t quarter_;  // of a pool
  std::size_t most_piece_;
  std::size_t most_at_once_;  // of a message, before it is matched
  std::size_t first_part_;    // of a larger one
  std::size_t streamed_from_;
  std::vector<Out> out_;
  std::vector<In> in_;
  std::vector<Shared> posted_;
  std::list<Waiting> waiting_;
  std::size_t under_way_ = 0;    // sends that are not done
  std::uint64_t last_held_ = 0;  // the last number of a message that is kept for one receive
  std::size_t streams_ = 0;      // messages with pieces still to come
};

}  // namespace phicoll
