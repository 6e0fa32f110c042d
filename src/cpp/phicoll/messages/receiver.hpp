#pragma once

// The receives of one rank, from all others, and messages that came before theirs. Their order, and the ways
// of messages: endpoint.hpp; which store makes what visible: channel.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/messages/channel.hpp"
#include "phicoll/messages/division.hpp"
#include "phicoll/messages/matching.hpp"
#include "phicoll/messages/parts.hpp"
#include "phicoll/messages/pool.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

template <class Port>
class Receiver {
 public:
  /// `pools`: of each rank, shared with the Sender.
  Receiver(const Setup& setup, Channels& channels, const Division& division, std::vector<Pools<Port>>& pools)
      : channels_(channels),
        division_(division),
        pools_(pools),
        hint_(setup.hint()),
        streamed_from_(static_cast<std::size_t>(setup.shape.host().streamed) / 2),
        in_(static_cast<std::size_t>(setup.size())) {}

  /// Waits for the next message of one rank and receives it, if it lies in its cell and nothing else is under
  /// way. Returns false, and leaves the message where it is, if a receive made by begin() has to see to it.
  bool receive_now(Port& port, Data to, std::size_t room, int from, int tag, unsigned type, Envelope* found) {
    if (from == any_source || busy() || !waiting_.empty() || !has_channel(port, from)) return false;
    In& in = in_of(from);
    MessageCell& cell = in.channel->cell_of(in.cells);
    awaited_ = from;  // stays so if an exception ends the wait, as the group is broken then
    port.wait(cell.number, equal(in.cells + 1), hint_(from));
    awaited_ = any_source;
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
  /// Begins a receive: of a message that has come, or of one to come.
  void begin(Port& port, const SharedTransfer& t) {
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
    const Serving serving(*this, it->envelope.source);
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
  /// Whether there are receives that are not done, or messages of which pieces are still to come.
  bool busy() const { return !posted_.empty() || streams_ != 0; }
  /// Whether nothing but this receive, from one rank, is under way.
  bool is_only(const Transfer& t) const {
    return t.peer != any_source && posted_.size() == 1 && streams_ == 0 && posted_.front().get() == &t;
  }
  /// Takes one message after the other from its peer until such a receive is done.
  void take_until_done(Port& port, const Transfer& t) {
    while (!t.done) take_next(port, t.peer);
  }
  /// Whether pieces or messages from this rank are expected.
  bool expects(int from) const {
    const In& in = in_[static_cast<std::size_t>(from)];
    if (in.stream || in.waiting != nullptr || !in.partial.empty()) return true;
    return std::any_of(posted_.begin(), posted_.end(),
                       [&](const SharedTransfer& t) { return t->peer == from; });
  }
  /// Whether a receive takes a message from any rank.
  bool expects_any() const {
    return std::any_of(posted_.begin(), posted_.end(),
                       [](const SharedTransfer& t) { return t->peer == any_source; });
  }
  /// Takes what has come from a rank. Returns whether anything has.
  bool take_all(Port& port, int from) {
    if (!has_channel(port, from)) return false;
    In& in = in_of(from);
    bool any = false;
    const Serving serving(*this, from);
    ask(port, in);
    for (std::uint64_t i = 0; i < Channel::cells; ++i) {
      if (port.load_acquire(in.channel->cell_of(in.cells).number) != in.cells + 1) break;
      take(port, from, in);
      any = true;
    }
    return any;
  }
  /// The rank of which a message is being taken or awaited, or any_source.
  int awaited() const { return awaited_; }
  /// Withdraws a receive that no message has matched yet. Returns false if one has.
  bool take_back(const Transfer& transfer) {
    for (auto it = posted_.begin(); it != posted_.end(); ++it) {
      if (it->get() != &transfer) continue;
      posted_.erase(it);
      return true;
    }
    return false;
  }
  /// The first message that a receive would take, of those that came before theirs, or null.
  Envelope* find(int source, int tag) {
    const auto found = find_waiting(source, tag);
    return found == waiting_.end() ? nullptr : &found->envelope;
  }

 private:
  /// While it lives, take_in() leaves this rank's channel alone.
  class Serving {
   public:
    Serving(Receiver& receiver, int from) : receiver_(receiver), before_(receiver.awaited_) {
      receiver.awaited_ = from;
    }
    ~Serving() { receiver_.awaited_ = before_; }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

   private:
    Receiver& receiver_;
    int before_;
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
    SharedTransfer claimed;  // by a receive, before all of it has come
  };
  struct In {
    Channel* channel = nullptr;
    unsigned char* ring = nullptr;
    std::uint64_t cells = 0;  // read
    std::uint64_t cells_told = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_told = 0;
    bool from_pool = false;  // the last piece
    // Where the further pieces of a message go: to a receive or to a message that waits.
    SharedTransfer stream;
    Waiting* waiting = nullptr;
    std::vector<SharedTransfer> partial;  // matched, the rest to come
    std::deque<std::uint64_t> wanted;     // messages whose rest must be asked for
    std::uint64_t wants = 0;              // asked for
    CopyWays ways;

    Word<std::uint64_t>& next_want() const { return channel->want(wants); }
  };

  // Bytes of a message whose copy other threads of an interpreter need not wait for.
  static constexpr std::size_t long_copy = 131072;

  In& in_of(int from) { return in_[static_cast<std::size_t>(from)]; }
  Pools<Port>& pools_of(int from) { return pools_[static_cast<std::size_t>(from)]; }

  static void make_room(Port& port, Transfer& t, std::size_t bytes) {
    if (!t.frame || bytes <= t.bytes) return;
    if (bytes >= long_copy) port.tell_of_a_wait();
    t.frame->resize(bytes);
    t.data = port.bind(t.frame->data(), bytes);
    t.bytes = bytes;
  }
  void deliver(Port& port, Waiting& message, const SharedTransfer& t) {
    if (message.envelope.bytes >= long_copy) port.tell_of_a_wait();
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
  /// Begins to receive a message whose pieces are still to come. Its rest, if it has one, is copied here or
  /// asked for.
  void expect(Port& port, Transfer& t, const Envelope& envelope, unsigned ticket, std::uint64_t number,
              const Exposed& offered) {
    t.envelope = envelope;
    t.ticket = ticket;
    t.number = number;
    t.in_ring = envelope.bytes;
    ++streams_;
    t.alone = streams_ == 1;
    t.streamed = envelope.bytes >= streamed_from_;
    if (!division_.in_two_parts(envelope.bytes, envelope.source)) return;
    In& in = in_of(envelope.source);
    t.offered = static_cast<bool>(offered);
    if (envelope.bytes >= CopyWays::least_bytes) {
      t.begun_ns = port.now();
      if (t.offered && in.wanted.empty() && port.load_acquire(in.next_want()) == 0 &&
          in.ways.copy_once(envelope.bytes))
        return copy_with_sender(port, in, t, offered);
      // The time of one that waits for others' rests would not tell which stores are faster.
      if (chooses_stores(envelope.bytes) && (t.alone || stores_.knows(envelope.bytes)))
        t.streamed = t.alone ? stores_.copy_once(envelope.bytes) : stores_.once_was_faster(envelope.bytes);
    }
    in.wanted.push_back(number);
    ask(port, in);
  }
  static void ask(Port& port, In& in) {
    while (!in.wanted.empty() && port.load_acquire(in.next_want()) == 0) {
      port.signal(in.next_want(), 2 * in.wanted.front());  // (5)
      in.wanted.pop_front();
      ++in.wants;
    }
  }
  /// Copies the rest of a message, together with the sender if it is there. At the end all of it has come.
  void copy_with_sender(Port& port, In& in, Transfer& t, const Exposed& from) {
    Channel::Both& both = in.channel->both;
    const Parts parts(division_.first_part(t.envelope.bytes), t.envelope.bytes);
    const std::uint64_t none = Channel::parts_of(t.number);
    const std::uint64_t all = none + parts.count();
    begin_copy(port, in, t.ticket, t.number);
    both.to.store(port, port.expose(t.data));  // (6)
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
        const std::uint64_t claim = parts.claim(seen - none);
        if (!port.compare_exchange(both.claimed, seen, seen + claim)) continue;  // (6a)
        mine += claim;
        const std::size_t at = parts.at(seen - none);
        port.fetch(t.data + at, from, at, parts.bytes_at(at, claim));
        seen = port.load_acquire(both.claimed);
      }
      port.wait(both.sent, equal(all - mine), hint_(t.envelope.source));  // (6b)
    } catch (...) {
      // The group is broken. The sender claims nothing more, and what it has claimed goes into memory that is
      // the caller's.
      const std::uint64_t claimed = port.exchange(both.claimed, all);
      await_peer(port, channels_, t.envelope.source,
                 [&, claimed] { return port.load_acquire(both.sent) == claimed - mine; });
      leave_sender();
      throw;
    }
    leave_sender();
    t.in_ring = division_.first_part(t.envelope.bytes);
  }
  /// Ends the receive of a message whose last piece has come.
  void complete_stream(Port& port, Transfer& t) {
    if (t.begun_ns != 0) {
      In& in = in_of(t.envelope.source);
      const std::int64_t ns = port.now() - t.begun_ns;
      const bool once = t.in_ring != t.envelope.bytes;
      if (t.offered) in.ways.took(once, t.envelope.bytes, ns);
      if (!once && t.alone && chooses_stores(t.envelope.bytes))
        stores_.took(t.streamed, t.envelope.bytes, ns);
    }
    complete(port, t, t.envelope, t.ticket, t.number);
    --streams_;
  }
  void complete(Port& port, Transfer& t, const Envelope& envelope, unsigned ticket, std::uint64_t number) {
    if (ticket != no_ticket)
      port.signal(in_of(envelope.source).channel->ticket.word[ticket], Channel::received(number));  // (4a)
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
      if (port.compare_exchange(word, seen, Channel::copied(number))) break;  // (4)
    // Withdrawn: the group is broken, which this wait tells.
    if (seen == Channel::withdrawn(number)) port.wait(word, equal(Channel::received(number)));
  }
  /// Whether messages of this size from another process try both stores. The caches hold the sender's data
  /// too, so a message may be too large for them at half the size of a collective's result. Which store is
  /// then faster differs between CPUs, and by a lot (docs/bench/behind-the-code.md).
  bool chooses_stores(std::size_t bytes) const {
    return bytes >= streamed_from_ && bytes / 2 < streamed_from_;
  }
  /// How a message is stored that is copied from its sender's memory.
  Stores stores_of(std::size_t bytes) const {
    return bytes >= streamed_from_ ? Stores::streaming : Stores::taken;
  }

  bool has_channel(Port& port, int from) {
    In& in = in_of(from);
    if (in.channel != nullptr) return true;
    const std::uint64_t place = port.load_acquire(channels_.place(from, division_.rank));
    if (place != 0) in.channel = &channels_.at(place);
    return place != 0;
  }
  /// Waits for the next cell of a rank and takes it.
  void take_next(Port& port, int from) {
    In& in = in_of(from);
    const Serving serving(*this, from);
    if (in.channel == nullptr)
      in.channel = &channels_.at(
          port.wait(channels_.place(from, division_.rank), not_equal(std::uint64_t{0}), hint_(from)));
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
      if (SharedTransfer t = match(port, envelope))
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
  /// The first receive that the message fits. If it cannot take it, that receive ends, and the message waits
  /// for another.
  SharedTransfer match(Port& port, const Envelope& envelope) {
    const auto it = std::find_if(posted_.begin(), posted_.end(),
                                 [&](const SharedTransfer& t) { return fits(envelope, t->peer, t->tag); });
    if (it == posted_.end()) return SharedTransfer();
    const SharedTransfer t = *it;
    t->refused = refusal(envelope, *t);
    if (t->refused.empty()) make_room(port, *t, envelope.bytes);
    posted_.erase(it);
    if (t->refused.empty()) return t;
    t->envelope = envelope;
    t->done = true;
    return SharedTransfer();
  }
  void take_matched(Port& port, In& in, MessageCell& cell, const CellNote& note, const Envelope& envelope,
                    const SharedTransfer& t) {
    if (note.kind == CellKind::first) {
      if (envelope.bytes >= long_copy) port.tell_of_a_wait();
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
    if (envelope.bytes >= long_copy) port.tell_of_a_wait();
    // With its memory, before it is one: there may be none.
    waiting_.push_back(Waiting(note.kind == CellKind::exposed ? 0
                               : division_.in_two_parts(envelope.bytes, envelope.source)
                                   ? division_.first_part(envelope.bytes)
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
    if (note.kind == CellKind::first) {
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
    return division_.in_two_parts(envelope.bytes, envelope.source) ? cell.piece().from.load(port)
                                                                   : Exposed{0, 0, 0};
  }
  static void begin_rest(In& in, std::uint64_t number) {
    const auto it = std::find_if(in.partial.begin(), in.partial.end(),
                                 [&](const SharedTransfer& t) { return t->number == number; });
    in.stream = *it;
    in.partial.erase(it);
  }
  /// Where a piece lies. Counts its bytes as read already; the caller copies them before it does anything
  /// else.
  unsigned char* place_of(Port& port, int from, In& in, std::uint64_t at, std::size_t bytes) {
    in.from_pool = (at & Stretch::in_pool) != 0;
    if (in.from_pool) return pools_of(from).take(port, at);
    in.bytes = at + arch::whole_lines(bytes);
    if (in.ring == nullptr) in.ring = channels_.bytes_at(port.load_relaxed(in.channel->ring.place));
    return in.ring + at % division_.ring;
  }
  void take_piece(Port& port, int from, In& in, MessageCell& cell) {
    const auto bytes = static_cast<std::size_t>(port.load_relaxed(cell.piece().bytes));
    const Data piece = port.shared(place_of(port, from, in, port.load_relaxed(cell.piece().at), bytes));
    port.store_relaxed(in.channel->taken.pieces, in.cells + 1);
    if (in.stream) {
      Transfer& t = *in.stream;
      port.move(t.data + t.moved, piece, bytes, t.streamed ? Stores::streaming : Stores::taken);
      t.moved += bytes;
      if (t.moved == t.in_ring) {
        complete_stream(port, t);
        in.stream.reset();
      } else if (t.moved == division_.first_part(t.envelope.bytes) &&
                 division_.in_two_parts(t.envelope.bytes, t.envelope.source)) {
        in.partial.push_back(std::move(in.stream));
      }
    } else {
      Waiting& message = *in.waiting;
      port.move(port.bind(message.bytes.data() + message.came, bytes), piece, bytes);
      message.came += bytes;
      if (message.came < message.bytes.size()) return;
      in.waiting = nullptr;
      --streams_;
      if (message.claimed) {
        deliver(port, message, message.claimed);
        waiting_.remove_if([&](const Waiting& w) { return &w == &message; });
      }
    }
  }
  /// Tells the sender seldom, since each time the word's line moves to it, but soon enough that it never
  /// waits in vain: the unacknowledged part always leaves room for a piece and the rest of a lap.
  void tell_read(Port& port, int from, In& in) {
    constexpr std::uint64_t cells_a_word = Channel::cells / 4;
    if (in.cells - in.cells_told >= cells_a_word) {
      in.cells_told = in.cells;
      port.signal(in.channel->read.cells, in.cells);
    }
    if (in.bytes - in.bytes_told >= division_.ring / 4) {
      in.bytes_told = in.bytes;
      port.signal(in.channel->read.bytes, in.bytes);
    }
    if (!in.from_pool) return;
    in.from_pool = false;
    pools_of(from).give_back(port, *in.channel);
  }
  typename std::list<Waiting>::iterator find_waiting(int source, int tag) {
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& message) {
      return !message.claimed && message.envelope.held == 0 && fits(message.envelope, source, tag);
    });
  }

  Channels& channels_;
  Division division_;
  std::vector<Pools<Port>>& pools_;
  Hint hint_;
  std::size_t streamed_from_;
  std::vector<In> in_;
  std::vector<SharedTransfer> posted_;
  std::list<Waiting> waiting_;
  int awaited_ = any_source;
  std::size_t streams_ = 0;  // messages with pieces still to come
  CopyWays stores_;          // of what comes through the rings; `once` are the stores past the caches
};

}  // namespace phicoll
