// A communicator's messages: arguments, and the channels in the group's heap.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/messages.hpp"
#include "phicoll/group/point_to_point.hpp"
#include "phicoll/os/liveness.hpp"

namespace phicoll {

namespace {

/// A ring begins half a page after its block, which begins a page. Large buffers begin a page too, and a load
/// waits for a store under way whose address has the same lowest twelve bits.
constexpr std::size_t ring_offset = 2048;

// Two ranks get 2 MB, eight 512 KB, 240 ranks 4 KB. A ring that does not fit into its reader's cache is
// faster, as in collectives (cells.hpp, docs/bench/behind-the-code.md).
std::size_t ring_bytes_for(int ranks) {
  constexpr std::size_t least = 4096;
  const std::size_t all = std::size_t{ranks <= 8 ? 4u : 1u} << 20;
  return std::max(least, all / static_cast<std::size_t>(std::max(ranks, 2)) / least * least);
}

/// Half of the heap that is free has room for a pool beside each ring.
std::size_t ring_bytes_in(const Heap& heap, int ranks) {
  const std::size_t free = heap.free_bytes();
  const std::size_t shorter = free >= heap.bytes() / 4 ? 1 : free >= heap.bytes() / 8 ? 16 : 128;
  return std::max<std::size_t>(4096, ring_bytes_for(ranks) / shorter / 4096 * 4096);
}

unsigned char* zeroed(Heap& heap, std::size_t bytes) {
  const Heap::Block block = heap.take(bytes);
  std::memset(block.at, 0, std::min(bytes, block.used_before));
  return block.at;
}

}  // namespace

GroupChannels::GroupChannels(Control& control, Heap& heap) : control_(control), heap_(heap) {
  if (heap.bytes() == 0)
    throw ResourceError(
        "heap_limit: messages between ranks need the group's shared heap, and this group has none");
  std::atomic<std::uint64_t>& made = control.messages().atomic();
  std::uint64_t place = made.load(std::memory_order_acquire);
  if (place == 0) {
    unsigned char* const table = zeroed(heap, Table::bytes(control.ranks()));
    reinterpret_cast<Table*>(table)->ring_bytes = ring_bytes_in(heap, control.ranks());
    // acq_rel: whoever sees the table's place sees what is in it. Of several ranks, the first one's is taken.
    if (made.compare_exchange_strong(place, control.offset_of(table), std::memory_order_acq_rel))
      place = control.offset_of(table);
    else
      heap.give_back(table);
  }
  auto* const table = reinterpret_cast<Table*>(control.at(place));
  ring_bytes_ = static_cast<std::size_t>(table->ring_bytes);
  table_ = table->place;
}

std::size_t GroupChannels::Table::bytes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return sizeof(Table) + (n * n - 1) * sizeof(Word<std::uint64_t>);
}

Word<std::uint64_t>& GroupChannels::place(int from, int to) {
  return table_[static_cast<std::size_t>(to) * static_cast<std::size_t>(control_.ranks()) +
                static_cast<std::size_t>(from)];
}

Channel& GroupChannels::at(std::uint64_t place) {
  return *reinterpret_cast<Channel*>(control_.at(place));
}

std::size_t GroupChannels::all_pairs_bytes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  // The heap's units are at worst an eighth of a block too large.
  return n * n * ((sizeof(Channel) + ring_offset + ring_bytes_for(ranks)) / 8 * 9 + sizeof(std::uint64_t));
}

std::uint64_t GroupChannels::make() {
  return control_.offset_of(zeroed(heap_, sizeof(Channel)));
}

unsigned char* GroupChannels::bytes_at(std::uint64_t place) {
  return control_.at(place) + ring_offset;
}

std::uint64_t GroupChannels::make_bytes() {
  return control_.offset_of(heap_.take(ring_offset + ring_bytes_).at);
}

// Half of the heap is left for rings, other communicators and the callers' own arrays.
bool GroupChannels::room_for_pool() const {
  return heap_.free_bytes() >= heap_.bytes() / 2;
}

bool GroupChannels::has_ended(int rank) const {
  return os::process_has_ended(static_cast<pid_t>(control_.pid(rank)));
}

void GroupChannels::give_back(Control& control, Heap& heap) {
  const std::uint64_t place = control.messages().atomic().load(std::memory_order_acquire);
  if (place == 0) return;
  auto* const table = reinterpret_cast<Table*>(control.at(place));
  Word<std::uint64_t>* const places = table->place;
  const auto ranks = static_cast<std::size_t>(control.ranks());
  for (std::size_t i = 0; i < ranks * ranks; ++i) {
    const std::uint64_t channel = places[i].atomic().load(std::memory_order_relaxed);
    if (channel == 0) continue;
    auto* const one = reinterpret_cast<Channel*>(control.at(channel));
    for (const Word<std::uint64_t>* const made : {&one->ring.place, &one->ring.pool}) {
      const std::uint64_t bytes = made->atomic().load(std::memory_order_relaxed);
      if (bytes != 0) heap.give_back(control.at(bytes));
    }
    heap.give_back(one);
  }
  heap.give_back(table);
}

/// Makes a call of the endpoint, under the lock. What a signal's handler throws within a wait may leave a
/// message half taken, so it breaks the group. What is refused, or has no memory, has had no effect.
template <class Function>
auto Messages::call(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const ArgumentError&) {
    throw;
  } catch (const ResourceError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    owner_.fail_others(error);
    throw;
  }
}

bool Messages::pending() const {
  const std::unique_lock<ThreadLock> own(lock, std::try_to_lock);
  return own && endpoint.pending();
}

// Does nothing in a broken group: a call that ended by an exception may have left work that refers to memory
// which is gone.
bool Messages::go_on() {
  const Hold own(*this, std::try_to_lock);
  return own && endpoint.pending() && !channels.broken() && call([this] { return endpoint.progress(port); });
}

bool Messages::take_in() {
  const Hold own(*this, std::try_to_lock);
  return own && take_in_locked();
}

bool Messages::take_in_locked() {
  if (channels.broken()) return false;
  try {
    return call([this] { return endpoint.take_in(port); });
  } catch (const std::bad_alloc&) {
    return false;  // the message stays in its channel
  }
}

bool Messages::Within::take_in() {
  const bool own = own_.take_in_locked();
  return own_.work_->take_in() || own;
}

// RankWork reads it without the lock, and learns from begun() that it has become true.
void Messages::tell_what_is_under_way() {
  const bool now = endpoint.pending();
  if (now == under_way_.load(std::memory_order_relaxed)) return;
  under_way_.store(now, std::memory_order_relaxed);
  if (now) work_->begun(*this);
}

void Messages::take_back(const Transfer& transfer) {
  const Hold own(*this);
  endpoint.take_back(transfer);
  endpoint.withdraw(port);
}

Messages::Messages(Member& owner)
    : lock(*owner.memory().work),
      port(*owner.memory().control, owner.rank(), owner.wait_policy(), nullptr, nullptr, &stuck),
      channels(*owner.memory().control, owner.heap()),
      endpoint(Setup{owner.rank(), owner.shape(), nullptr}, channels, stuck),
      owner_(owner),
      within_(*this),
      work_(owner.memory().work) {
  port.set_background(&within_);
  work_->add(*this);
}

Messages::~Messages() {
  work_->remove(*this);
  if (home_.here()) endpoint.withdraw(port);  // a fork has copies of what its parent goes on with
}

void Messages::send_all() {
  const Hold own(*this);
  call([this] {
    endpoint.tell_of_sends();
    endpoint.wait_for(port, [this] { return channels.broken() || !endpoint.sends(); });
  });
}

SharedTransfer Messages::spare(const Transfer& wanted) {
  if (!spare_ || spare_.use_count() != 1)
    spare_ = std::make_shared<Transfer>(wanted);
  else
    *spare_ = wanted;
  return spare_;
}

Messages& PointToPoint::messages() {
  check_process();
  Messages* own = messages_.load(std::memory_order_acquire);
  if (__builtin_expect(own == nullptr, 0)) own = make_messages();
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
  return *own;
}

// Called by the first thread that needs messages, which may be waiting on another communicator.
Messages* PointToPoint::make_messages() {
  const RankWork::Hold work(*memory_.work);
  Messages* own = messages_.load(std::memory_order_relaxed);  // ordered by the hold
  if (own == nullptr) {
    own = new Messages(*this);
    messages_.store(own, std::memory_order_release);
  }
  return own;
}

void PointToPoint::send_all() {
  if (Messages* const own = messages_.load(std::memory_order_acquire)) own->send_all();
}

void PointToPoint::end_messages() {
  delete messages_.load(std::memory_order_relaxed);
}

void PointToPoint::Mailbox::meet_messages() {
  if (own_.messages_.load(std::memory_order_relaxed) != nullptr ||
      own_.memory_.control->messages().atomic().load(std::memory_order_acquire) == 0)
    return;
  try {
    own_.make_messages();
  } catch (const std::bad_alloc&) {
    return;  // they stay in their channels
  }
}

namespace {

void check_message(const char* peer, int rank, int size, bool any, int tag, const void* data,
                   std::size_t bytes, unsigned type) {
  if (rank != no_rank && !(any && rank == any_source) && (rank < 0 || rank >= size))
    throw ArgumentError(
        peer, std::to_string(rank),
        "0.." + std::to_string(size - 1) + (any ? ", ANY_SOURCE (-1)" : "") + " or PROC_NULL (-2)");
  if (tag < 0 && !(any && tag == any_tag))
    throw ArgumentError("tag", std::to_string(tag),
                        std::string("0..") + std::to_string(INT32_MAX) + (any ? " or ANY_TAG (-1)" : ""));
  if (data == nullptr && bytes != 0)
    throw ArgumentError("data", "null", "an address of " + std::to_string(bytes) + " bytes");
  if (type > most_types && type != object_type)
    throw ArgumentError("type", std::to_string(type), "0.." + std::to_string(most_types));
}

Envelope from_none() {
  Envelope envelope;
  envelope.source = no_rank;
  return envelope;
}

/// To or from no_rank it is done at once.
Transfer described(bool sends, const void* data, std::size_t bytes, int peer, int tag, unsigned type) {
  Transfer t;
  t.sends = sends;
  t.peer = peer;
  t.tag = tag;
  t.type = type;
  t.data = Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(data))};
  t.bytes = bytes;
  if (peer == no_rank) {
    t.done = true;
    t.envelope = from_none();
  }
  return t;
}

void check_taken(const Transfer& transfer) {
  if (__builtin_expect(!transfer.refused.empty(), 0))
    throw ArgumentError("buffer",
                        std::to_string(transfer.bytes) + " bytes" +
                            (transfer.type == object_type ? " for an object"
                             : transfer.type != 0         ? " of " + type_name(transfer.type)
                                                          : ""),
                        transfer.refused);
}

}  // namespace

template <class Function>
auto PointToPoint::on_messages(const Function& function) -> decltype(function(std::declval<Messages&>())) {
  Messages& own = messages();
  const Messages::Hold hold(own);
  return own.call([&] { return function(own); });
}

Envelope PointToPoint::carry_out(const Transfer& wanted) {
  if (wanted.done) return wanted.envelope;
  const auto transfer = messages().spare(wanted);
  transfer->peer_in_group = memory_.control->root_rank(wanted.peer);
  on_messages([&](Messages& own) { own.endpoint.begin(own.port, transfer); });
  wait(*transfer);
  return transfer->envelope;
}

std::shared_ptr<Transfer> PointToPoint::begin(Transfer wanted) {
  const auto transfer = std::make_shared<Transfer>(std::move(wanted));
  if (!transfer->done) {
    go_on_in_passing();
    transfer->peer_in_group = memory_.control->root_rank(transfer->peer);
    on_messages([&](Messages& own) { own.endpoint.begin(own.port, transfer); });
  }
  return transfer;
}

void PointToPoint::finish(Transfer& transfer) {
  if (transfer.done) return;
  Messages& own = messages();
  go_on_in_passing();
  const Messages::Hold hold(own);
  const auto take_back = [&] {  // its memory may be the caller's frame
    own.endpoint.take_back(transfer);
    own.endpoint.withdraw(own.port);
  };
  try {
    own.endpoint.finish(own.port, transfer);
  } catch (const std::exception& error) {
    fail_others(error);
    take_back();
    throw;
  } catch (...) {  // the thread is being cancelled
    take_back();
    throw;
  }
}

void PointToPoint::send(const void* data, std::size_t bytes, int dest, int tag, unsigned type) {
  check_message("dest", dest, size_, false, tag, data, bytes, type);
  if (!send_now(data, bytes, dest, tag, type)) carry_out(described(true, data, bytes, dest, tag, type));
}

bool PointToPoint::send_now(const void* data, std::size_t bytes, int dest, int tag, unsigned type) {
  if (dest == no_rank) return false;
  Messages& own = messages();
  go_on_in_passing();
  const std::lock_guard<ThreadLock> lock(own.lock);  // nothing comes to be under way
  return own.endpoint.send_now(own.port, own.port.bind(data, bytes), bytes, dest, tag, type);
}

Envelope PointToPoint::receive(void* buffer, std::size_t bytes, int source, int tag, unsigned type) {
  Envelope found;
  if (receive_now(buffer, bytes, source, tag, type, &found)) return found;
  return carry_out(described(false, buffer, bytes, source, tag, type));
}

bool PointToPoint::receive_now(void* buffer, std::size_t bytes, int source, int tag, unsigned type,
                               Envelope* found) {
  check_message("source", source, size_, true, tag, buffer, bytes, type);
  if (source == no_rank) return false;
  go_on_in_passing();
  return on_messages([&](Messages& own) {
    return own.endpoint.receive_now(own.port, own.port.bind(buffer, bytes), bytes, source, tag, type, found);
  });
}

// A message of the library's own, whose tag is below any_tag.
void PointToPoint::exchange(void* data, std::size_t bytes, int peer, int tag, bool sends) {
  carry_out(described(sends, data, bytes, peer, tag, 0));
}

Envelope PointToPoint::send_receive(const void* data, std::size_t bytes, int dest, int tag, void* buffer,
                                    std::size_t room, int source, int receive_tag, unsigned type) {
  check_message("source", source, size_, true, receive_tag, buffer, room, type);
  check_message("dest", dest, size_, false, tag, data, bytes, type);
  if (send_now(data, bytes, dest, tag, type)) return receive(buffer, room, source, receive_tag, type);
  Transfer wanted = described(true, data, bytes, dest, tag, type);
  wanted.exchanged = true;
  const auto sent = begin(std::move(wanted));
  const auto received = begin_receive(buffer, room, source, receive_tag, type);
  // Both end before an error is thrown: what is sent is the caller's memory.
  finish(*received);
  finish(*sent);
  check_taken(*received);
  return received->envelope;
}

void PointToPoint::check_transfer(const Transfer& wanted, const void* data) const {
  check_message(wanted.sends ? "dest" : "source", wanted.peer, size_, !wanted.sends, wanted.tag, data,
                wanted.bytes, wanted.type);
}

std::shared_ptr<Transfer> PointToPoint::begin_send(const void* data, std::size_t bytes, int dest, int tag,
                                                   unsigned type, bool synchronous) {
  check_message("dest", dest, size_, false, tag, data, bytes, type);
  Transfer wanted = described(true, data, bytes, dest, tag, type);
  wanted.synchronous = synchronous;
  return begin(std::move(wanted));
}

std::shared_ptr<Transfer> PointToPoint::begin_send(std::vector<Transfer::Piece> pieces, int dest, int tag,
                                                   unsigned type, bool synchronous) {
  std::size_t bytes = 0;
  for (const Transfer::Piece& piece : pieces) bytes += piece.bytes;
  if (pieces.size() == 1) return begin_send(pieces[0].data, bytes, dest, tag, type, synchronous);
  check_message("dest", dest, size_, false, tag, pieces.data(), bytes, type);
  Transfer wanted = described(true, nullptr, bytes, dest, tag, type);
  wanted.synchronous = synchronous;
  wanted.pieces = std::move(pieces);
  return begin(std::move(wanted));
}

std::shared_ptr<Transfer> PointToPoint::begin_receive(void* buffer, std::size_t bytes, int source, int tag,
                                                      unsigned type) {
  check_message("source", source, size_, true, tag, buffer, bytes, type);
  return begin(described(false, buffer, bytes, source, tag, type));
}

std::shared_ptr<Transfer> PointToPoint::begin_receive(std::shared_ptr<FrameBytes> frame, int source, int tag,
                                                      unsigned type) {
  check_message("source", source, size_, true, tag, frame->data(), frame->size(), type);
  Transfer wanted = described(false, frame->data(), frame->size(), source, tag, type);
  wanted.frame = std::move(frame);
  return begin(std::move(wanted));
}

std::shared_ptr<Transfer> PointToPoint::begin_receive(const Envelope& held, void* buffer, std::size_t bytes,
                                                      unsigned type) {
  check_message("source", held.source, size_, false, any_tag + 1, buffer, bytes, type);
  Transfer wanted = described(false, buffer, bytes, held.source, held.tag, type);
  wanted.held = held.held;
  return begin(std::move(wanted));
}

std::shared_ptr<Transfer> PointToPoint::begin_receive(const Envelope& held, std::shared_ptr<FrameBytes> frame,
                                                      unsigned type) {
  check_message("source", held.source, size_, false, any_tag + 1, frame->data(), frame->size(), type);
  Transfer wanted = described(false, frame->data(), frame->size(), held.source, held.tag, type);
  wanted.frame = std::move(frame);
  wanted.held = held.held;
  return begin(std::move(wanted));
}

bool PointToPoint::test(const Transfer& transfer) {
  if (!transfer.done) {
    RankWork& work = *memory_.work;
    work.begin_look();
    bool moved = false;
    const Ongoing* const own = on_messages([&](Messages& messages) {
      moved = messages.endpoint.progress(messages.port);
      return &messages;
    });
    moved = work.look(own) || moved;
    work.end_look(moved || transfer.done, [&] {
      const auto kind = transfer.sends ? WaitNote::Kind::send : WaitNote::Kind::receive;
      return RankWork::Looked{*memory_.control, rank_, WaitNote{kind, transfer.peer, transfer.tag, 0}};
    });
  }
  // Looking may have ended it, and another thread of the rank may end it at any time.
  const bool done = transfer.done;
  if (done) check_taken(transfer);
  return done;
}

void PointToPoint::wait(Transfer& transfer) {
  finish(transfer);
  check_taken(transfer);
}

std::size_t PointToPoint::wait_any(const std::vector<std::shared_ptr<Begun>>& begun) {
  if (begun.empty()) throw ArgumentError("begun", "none", "at least one");
  for (const auto& one : begun)
    if (!one) throw ArgumentError("begun", "a null request", "requests that begin() or the like returned");
  std::size_t found = 0;
  const auto any = [&] {
    for (found = 0; found < begun.size(); ++found)
      if (begun[found]->done) return true;
    return false;
  };
  if (any()) return found;
  Messages& own = messages();
  go_on_in_passing();
  try {
    const Messages::Hold hold(own);
    own.endpoint.tell_of_requests();
    for (const auto& one : begun) own.endpoint.tell_of_request(*one);
    own.endpoint.wait_for(own.port, any);  // those of other communicators go on in the background
  } catch (const std::exception& error) {
    fail_others(error);
    for (const auto& one : begun)
      if (const auto* const transfer = dynamic_cast<const Transfer*>(one.get()))
        memory_.work->take_back(*transfer);
    throw;
  }
  return found;
}

bool PointToPoint::cancel(Transfer& transfer) {
  if (transfer.sends)
    throw ArgumentError("transfer", "a send", "a receive: what is sent cannot be taken back");
  Messages& own = messages();
  const Messages::Hold hold(own);
  transfer.cancelled = own.endpoint.take_back(transfer);
  if (transfer.cancelled) transfer.done = true;
  return transfer.cancelled;
}

bool PointToPoint::find(Envelope* found, int source, int tag, bool waits, bool holds) {
  check_message("source", source, size_, true, tag, nullptr, 0, 0);
  if (source == no_rank) {
    *found = from_none();
    return true;
  }
  RankWork& work = *memory_.work;
  if (waits)
    go_on_in_passing();
  else
    work.begin_look();
  const Ongoing* looked_at = nullptr;
  const bool any = on_messages([&](Messages& own) {
    looked_at = &own;
    if (waits) own.endpoint.probe(own.port, source, tag);
    const Envelope* const seen =
        holds ? own.endpoint.hold(own.port, source, tag) : own.endpoint.look(own.port, source, tag);
    if (seen != nullptr) *found = *seen;
    return seen != nullptr;
  });
  if (waits) return any;
  const bool moved = work.look(looked_at);
  work.end_look(moved || any, [&] {
    return RankWork::Looked{*memory_.control, rank_, WaitNote{WaitNote::Kind::receive, source, tag, 0}};
  });
  return any;
}

Envelope PointToPoint::probe(int source, int tag) {
  Envelope found;
  find(&found, source, tag, true, false);
  return found;
}

bool PointToPoint::probe_now(Envelope* found, int source, int tag) {
  return find(found, source, tag, false, false);
}

Envelope PointToPoint::hold(int source, int tag) {
  Envelope found;
  find(&found, source, tag, true, true);
  return found;
}

bool PointToPoint::hold_now(Envelope* found, int source, int tag) {
  return find(found, source, tag, false, true);
}

}  // namespace phicoll
