#pragma once

// One rank's side of point-to-point messages.
//
// A message of at most MessageCell::room bytes travels in one cell, a larger one piece by piece through the
// channel's byte ring or, from 16 to 256 KB, through pools whose lines change hands (pool.hpp). A large one
// that its receiver's loads can reach is copied once, from where it is; the kernel's copy was slower than the
// ring, whose two copies overlap. Above 256 KB only the first part is sent before the receive has matched it
// (channel.hpp), which bounds what early messages occupy. A message to oneself is sent whole.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/messages/channel.hpp"
#include "phicoll/messages/division.hpp"
#include "phicoll/messages/pool.hpp"
#include "phicoll/messages/receiver.hpp"
#include "phicoll/messages/sender.hpp"
#include "phicoll/messages/transfer.hpp"
#include "phicoll/waiting/stuck_search.hpp"

namespace phicoll {

// From 2 MB on, both ranks may copy the rest at once with the kernel's help: one copy by two CPUs, and
// neither waits. It pays with large pages, which no rank can see, so receivers try both ways and take the
// faster one (copy_ways.hpp).

// Matching follows MPI's order (MPI 4.1, section 3.5): of two messages from one rank that fit a receive, the
// first sent; of two receives that a message fits, the first made.
//
// 1. Early messages wait in Receiver::waiting_ in order of arrival; a receive looks there first.
// 2. A receive that finds none joins the end of Receiver::posted_.
// 3. Each later message is offered to those in turn.
//
// Both rules hold, since one sender's cells are taken in order and neither list is reordered.
template <class Port>
class Endpoint {
 public:
  /// `stuck` is the same search that the port uses.
  Endpoint(const Setup& setup, Channels& channels, StuckSearch& stuck)
      : stuck_(stuck),
        ranks_(setup.size()),
        division_(setup.rank, channels.ring_bytes()),
        pools_(pools(channels)),
        sender_(setup, channels, division_, pools_),
        receiver_(setup, channels, division_, pools_) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // A rank moves messages only inside calls. While it waits in any call or looks at any request (a
  // collective's, or on another communicator), pieces that found no room continue and receives are served
  // (rank_work.hpp). If that lasts long, it also takes in messages that have no receive: a sender may be
  // waiting for room in the channel before it makes the call that this rank waits for.

  /// Begins `transfer`, which lives at least until it is done.
  void begin(Port& port, const SharedTransfer& transfer) {
    if (transfer->sends)
      sender_.begin(port, transfer);
    else
      receiver_.begin(port, transfer);
  }
  /// Sends a message that fits a cell, if nothing is in its way. Returns false if something is: then begin()
  /// sends it.
  bool send_now(Port& port, Data data, std::size_t bytes, int to, int tag, unsigned type) {
    return sender_.send_now(port, data, bytes, to, tag, type);
  }
  /// Waits for the next message of one rank and receives it, if it lies in its cell and nothing else is under
  /// way. Returns false, and leaves the message where it is, if a receive made by begin() has to see to it.
  bool receive_now(Port& port, Data to, std::size_t room, int from, int tag, unsigned type, Envelope* found) {
    if (sender_.busy()) return false;
    stuck_.note = WaitNote{WaitNote::Kind::receive, from, tag, 0};
    return receiver_.receive_now(port, to, room, from, tag, type, found);
  }
  /// Whether something is under way.
  bool pending() const { return sends() || receiver_.busy(); }
  bool sends() const { return sender_.busy(); }
  /// Waits until the transfer is done.
  void finish(Port& port, Transfer& transfer) {
    if (transfer.done) return;
    tell(transfer);
    if (!transfer.sends && !sends() && receiver_.is_only(transfer)) {
      // Nothing else can happen meanwhile, so it waits on one word after the other.
      receiver_.take_until_done(port, transfer);
    } else {
      if (transfer.sends && !receiver_.busy()) sender_.await(port, transfer);
      wait_for(port, [&] { return transfer.done; });
    }
  }
  /// Goes on with all that is under way. Returns whether anything moved. Receives first, so that two ranks
  /// that exchange large messages copy them at the same time, each its own, instead of both copying one and
  /// then the other.
  bool progress(Port& port) {
    bool any = false;
    if (pending()) {
      // A rank that waits for its receivers takes in what they send, as they may wait for it in turn.
      const bool from_any = sends() || receiver_.expects_any();
      for (int from = 0; from < ranks_; ++from)
        if (from_any || receiver_.expects(from)) any = receiver_.take_all(port, from) || any;
    }
    if (sends()) any = sender_.push_all(port) || any;
    return any;
  }
  /// Takes in what has come from any rank, within a wait of this endpoint or beside it. Returns whether there
  /// was any.
  bool take_in(Port& port) {
    if (taking_in_) return false;
    taking_in_ = true;
    bool any = false;
    try {
      for (int from = 0; from < ranks_; ++from)
        if (from != receiver_.awaited()) any = receiver_.take_all(port, from) || any;
    } catch (...) {
      taking_in_ = false;
      throw;
    }
    taking_in_ = false;
    return any;
  }
  /// Withdraws a receive that no message has matched yet. Returns false if one has.
  bool take_back(const Transfer& transfer) { return receiver_.take_back(transfer); }
  /// Takes back what stays in this rank's memory and has not been received: the group is broken, and the
  /// memory goes. Waits for copies that are being made, but not for ranks that died, and at most 2 s for
  /// processes, which may be stopped: what they copy from is the group's heap, which stays mapped. A thread's
  /// copy ends, if slowly where others have the CPUs.
  void withdraw(Port& port) { sender_.withdraw(port); }

  /// The first message that a receive would take now, or null.
  const Envelope* look(Port& port, int source, int tag) { return find(port, source, tag); }
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
    Envelope* const found = find(port, source, tag);
    if (found != nullptr) found->held = ++last_held_;
    return found;
  }

  /// Waits until `holds` returns true; meanwhile goes on with all that is under way.
  template <class Holds>
  void wait_for(Port& port, const Holds& holds) {
    typename Port::Patience patience;
    while (!holds()) {
      // A look that moved something proves that the group is not stuck, so the next look in vain has a new
      // mark.
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
    sender_.for_each([&](const SharedTransfer& t) { tell_of_request(*t); });
  }

 private:
  std::vector<Pools<Port>> pools(Channels& channels) const {
    std::vector<Pools<Port>> all;
    for (int peer = 0; peer < ranks_; ++peer) all.emplace_back(channels, division_, peer);
    return all;
  }
  static WaitNote::Kind kind_of(const Transfer& t) {
    return t.sends ? WaitNote::Kind::send : WaitNote::Kind::receive;
  }
  void tell(const Transfer& t) { stuck_.note = WaitNote{kind_of(t), t.peer, t.tag, 0}; }
  Envelope* find(Port& port, int source, int tag) {
    progress(port);
    Envelope* found = receiver_.find(source, tag);
    if (found == nullptr) {
      for (int from = 0; from < ranks_; ++from)
        if (source == any_source || source == from) receiver_.take_all(port, from);
      found = receiver_.find(source, tag);
    }
    return found;
  }

  StuckSearch& stuck_;
  int ranks_;
  Division division_;
  std::vector<Pools<Port>> pools_;
  Sender<Port> sender_;
  Receiver<Port> receiver_;
  bool taking_in_ = false;       // a wait within it does not begin it again
  std::uint64_t last_held_ = 0;  // the last number of a message that is kept for one receive
};

}  // namespace phicoll
