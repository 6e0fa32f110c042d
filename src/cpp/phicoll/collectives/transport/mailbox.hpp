#pragma once

// A ring of cells per rank, from which it sends messages with one reader each. Both sides know a message's
// call c and its index m in that call, so neither needs to know what else the other sends: message m of call
// c lies in cell (s + m) mod `cells` of its sender, where s is how far all earlier calls moved on
// (next_call), alike on all ranks.
//
// (1) The sender stores the tag and the payload, then the message's number with release. The reader acquires
//     the number and sees both.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/direct.hpp"
#include "phicoll/collectives/transport/move_some.hpp"
#include "phicoll/collectives/transport/words.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

inline std::size_t mailbox_read_words(int cells) {
  return arch::whole_strides(static_cast<std::size_t>(cells) * sizeof(std::uint64_t));
}
inline std::size_t mailbox_slots(int cells) {
  return arch::whole_strides(static_cast<std::size_t>(cells) * sizeof(NumberedWord));
}
inline std::size_t mailbox_footprint(int ranks, int cells, std::size_t bytes) {
  return static_cast<std::size_t>(ranks) * (mailbox_read_words(cells) + mailbox_slots(cells) +
                                            static_cast<std::size_t>(cells) * cell_stride(bytes));
}
/// The same of one ring from which all ranks send.
inline std::size_t one_ring_footprint(int ranks, int cells, std::size_t bytes) {
  return mailbox_footprint(1, cells, bytes) + static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>) +
         mailbox_slots(cells);
}
/// Takes fewer cells, down to `least_cells`, then smaller ones, down to max_element_bytes, until a mailbox
/// fits into `most` bytes.
inline void limit_mailbox(int ranks, int& cells, int& bytes, int least_cells, std::size_t most) {
  const auto fits = [&] { return mailbox_footprint(ranks, cells, static_cast<std::size_t>(bytes)) <= most; };
  while (cells > least_cells && !fits()) cells = cells / 2 > least_cells ? cells / 2 : least_cells;
  while (bytes > max_element_bytes && !fits())
    bytes = bytes / 2 < max_element_bytes ? max_element_bytes : bytes / 2;
}

/// Rounds the number of cells to a multiple of the other ranks' number, where ranks share CPUs and send to
/// all others in turn. A cell then always has the same reader, and its lines stay with two CPUs.
inline void keep_readers(const Shape& shape, int& cells) {
  const int others = shape.size() - 1;
  if (others > 0 && cells > others && shape.sharing()) cells -= cells % others;
}

// The tag's highest bit is direct_bit, so tags distinguish sizes below 2 TB.
constexpr unsigned tag_bits = 16;
/// The tag of a call's messages from one rank to another, `bytes` in all. The type counts only if there are
/// any.
inline std::uint64_t counted(const Call& call, std::size_t bytes) {
  const std::uint64_t type = bytes != 0 ? call.op.id >> 8 : 0;
  return (call.tag | type << tag_bits | static_cast<std::uint64_t>(bytes) << (tag_bits + type_bits)) &
         ~direct_bit;
}
/// Such a tag in the 16 bits of a slot. Within a call, tags differ for different counts of up to 8 bytes, for
/// different types, and between those and larger counts.
inline std::uint64_t counted_in_slot(std::uint64_t tag) {
  constexpr std::uint64_t more = 15;
  const std::uint64_t bytes = (tag & ~direct_bit) >> (tag_bits + type_bits);
  const std::uint64_t type = tag >> tag_bits & ((1u << type_bits) - 1);
  return (tag & ((1u << tag_bits) - 1)) ^ (std::min(bytes, more) << type_bits | type);
}
// A message's tag is the call's and, if the caller asks for it (`counted`), the size and type of all that the
// call sends from this sender to this reader. A reader with other counts, possible in gatherv, scatterv and
// alltoallv, sees that before it touches the message. So these calls send at least one message, an empty one
// if there is no data.

/// The counts of such a tag in words: "16 bytes of float64".
inline std::string counted_in_words(std::uint64_t tag) {
  const auto type = static_cast<unsigned>(tag >> tag_bits & ((1u << type_bits) - 1));
  return std::to_string((tag & ~direct_bit) >> (tag_bits + type_bits)) + " bytes" +
         (type != 0 ? " of " + type_name(type) : "");
}

// (2) When done, the reader stores the same number with release into the cell's acknowledgement. The sender,
//     which remembers each cell's number, acquires it before it writes the cell again, or sooner (`opens`).
// (3) So each word has one writer at a time. A cell's reader may change, but the next message is written only
//     after the last reader's acknowledgement.

/// Whether each rank sends from a ring of its own, or all from one in turn.
enum class Rings : unsigned char { of_senders, one };

// If all messages of a call come from one rank, as in a scatter, the ranks may take turns with a single ring
// (Rings::one), as long as all of theirs together:
//
// (4) Every rank knows the number of the last message in each cell: of its own from `claim` and `post`, of
//     others' by `passed`, since all know how many there are.

/// Where a message is when its reader awaits it: in a cell, or in its sender's memory, which loads reach or
/// not.
enum class MessagePlace : unsigned char { cell, in_reach, beyond_reach };

template <class Port>
class Mailbox {
 public:
  /// `direct`: see describe_direct.
  Mailbox(const Setup& setup, std::size_t offset, int cells, std::size_t bytes,
          const DirectParameters& direct = DirectParameters(), Rings rings = Rings::of_senders)
      : memory_(setup.memory + offset),
        rank_bytes_(rings == Rings::one ? 0 : mailbox_footprint(1, cells, bytes)),
        slots_(mailbox_read_words(cells)),
        cells_(slots_ + mailbox_slots(cells)),
        stride_(cell_stride(bytes)),
        bytes_(bytes),
        turns_(cells),
        direct_(direct),
        left_(setup.at<Strided<CounterLine>>(offset + mailbox_footprint(1, cells, bytes))),
        rank_(setup.rank),
        ranks_(setup.size()),
        hint_(setup.hint()),
        rotates_(rings == Rings::one || !setup.shape.sharing()),
        last_(static_cast<std::size_t>(cells), 0),
        given_(static_cast<std::size_t>(cells), 0),
        own_slots_(slot_of(setup.rank, 0)),
        beside_slots_(reinterpret_cast<NumberedWord*>(left_ + ranks_)) {
    PHICOLL_ASSERT(Port, cells >= 1, acts("has a mailbox without cells", 0));
    for (int r = 0; r < setup.size(); ++r) stores_.push_back(piece_stores(setup.shape, setup.rank, r));
  }

  std::size_t bytes() const { return bytes_; }
  /// How pieces for rank `to` are best stored.
  Stores stores(const Port& port, int to) const {
    return stores_now(port, stores_[static_cast<std::size_t>(to)], to);
  }

  /// How many cells a call with blocks of `bytes` bytes, a size that all ranks know, moves on: one for each
  /// message of a block. A cell that is written again sooner is still in its reader's cache, and slow to take
  /// back. Ranks that share CPUs and have rings of their own find it in their own cache, and move on by one.
  std::uint64_t cells_of(std::size_t bytes) const {
    return rotates_ && bytes > bytes_ ? (bytes + bytes_ - 1) / bytes_ : 1;
  }
  /// Ends a call. The next one begins `cells` cells further on.
  void next_call(std::uint64_t cells) {
    PHICOLL_ASSERT(Port, !any_given_, acts("ends a call whose messages may still be read in place", 0));
    ++call_;
    first_ += cells;
  }

  /// @name One ring. At the end of a call, before next_call, ranks that did not send call `passed` with the
  /// number of its messages; after a call of which only its sender knows that, all call `leave`. A sender
  /// begins with `await_left`. @{
  void passed(std::uint64_t messages) {
    if (messages != 1) return passed_some(messages);
    last_[static_cast<std::size_t>(turns_.cell(first_))] = number(0);
  }
  void passed_some(std::uint64_t messages) {
    std::uint64_t m = messages > turns_.cells() ? messages - turns_.cells() : 0;
    for (std::uint64_t i = turns_.cell(first_ + m); m < messages; ++m) {
      last_[static_cast<std::size_t>(i)] = number(m);
      if (++i == turns_.cells()) i = 0;
    }
  }
  // (5) Only the sender knows how many messages a vector call has. A rank that leaves such a call says so
  //     with release. Another rank that is to send acquires that from all (`await_left`) before it writes: by
  //     then they have read all messages of that call and of earlier ones.
  void leave(Port& port, bool sender) {
    port.signal(left_[rank_].value.word, call_ + 1);  // (5)
    if (!sender) unknown_ = call_ + 1;
  }
  bool knows_last() const { return unknown_ == 0; }
  void await_left(Port& port) {
    if (__builtin_expect(unknown_ != 0, 0)) await_all(port);
  }
  /// @}

  std::uint64_t cells() const { return turns_.cells(); }
  /// Whether open() and post() would not wait.
  bool opens(Port& port, std::uint64_t m) { return is_read(port, turns_.cell(first_ + m)); }
  /// Whether that is known without a look.
  bool is_open(std::uint64_t m) const {
    return last_[static_cast<std::size_t>(turns_.cell(first_ + m))] == 0;
  }
  /// The payload of this rank's message m, once it may be written. A call opens its messages in rising order.
  /// `piece` is the message's size in bytes; its reader gives the same.
  Data open(Port& port, std::uint64_t m, std::size_t piece) {
    PHICOLL_ASSERT(Port, piece <= bytes_, acts("opens a cell that is too small", piece));
    claim(port, m);
    return payload(port, rank_, m, piece);
  }
  /// `tag` is the call's, or counted(call, bytes).
  void send(Port& port, std::uint64_t m, std::uint64_t tag) {
    number_cell(port, turns_.cell(first_ + m), m, tag);
  }
  /// Whether this rank's messages to a reader, the `bytes` at `data`, stay in place. They are then sent by
  /// send_direct instead of open and send, and must not be overwritten before `settle`. `piece` is the size
  /// of the next message.
  bool direct(Port& port, Data data, std::size_t bytes, std::size_t piece) const {
    return direct_(port, data, bytes, piece);
  }
  [[gnu::noinline]] void send_direct(Port& port, std::uint64_t m, std::uint64_t tag, Data message) {
    PHICOLL_ASSERT(Port, bool(message), acts("sends unbound data", 0));
    send_stored(port, m, tag, port.expose(message));
    given_[static_cast<std::size_t>(turns_.cell(first_ + m))] = 1;
    any_given_ = true;
  }
  /// Sends a message that this rank has stored where its reader wants it. The reader finds it in place;
  /// `settle` does not wait for that.
  [[gnu::noinline]] void send_stored(Port& port, std::uint64_t m, std::uint64_t tag, const Exposed& place) {
    claim(port, m);
    reinterpret_cast<DirectCell*>(cell(rank_, turns_.cell(first_ + m)))->payload.store(port, place);
    send(port, m, tag | direct_bit);
  }
  /// Sends a message to rank `to`, in place or through a cell.
  [[gnu::always_inline]] void offer(Port& port, int to, std::uint64_t m, std::uint64_t tag, Data from,
                                    std::size_t bytes, bool direct) {
    if (direct) return send_direct(port, m, tag, from);
    const Data cell = open(port, m, bytes);
    move_some(port, cell, from, bytes, stores(port, to));
    send(port, m, tag);
  }
  /// Comes before offer() of message m, one of the first 65,535 of its call and of more than 8 bytes, to a
  /// reader that may expect fewer.
  void announce(Port& port, int to, std::uint64_t m, std::uint64_t tag) {
    assert_peer(to);
    const std::uint64_t i = turns_.cell(first_ + m);
    await_reader(port, i);
    port.signal(counted_slots(to)[i].sequence, slot_number(m, counted_in_slot(tag)));
  }
  // A message may stay in its sender's memory (direct.hpp): its cell then holds a handle, and `settle` waits
  // until the readers have acknowledged all such messages. Two ranks may instead make one copy together
  // (faster_copy.hpp), in reach or not.

  /// Ends a call, before next_call: waits until no other rank reads this rank's memory any more.
  void settle(Port& port) {
    if (__builtin_expect(any_given_, 0)) settle_direct(port);
  }
  /// The payload of message m of rank `from`. Other counts in the sender's tag are an error. If the calls do
  /// not match, this waits until the group finds the mismatch.
  Data await(Port& port, int from, std::uint64_t m, std::uint64_t tag, std::size_t piece,
             Meanwhile meanwhile = Meanwhile::little) {
    assert_peer(from);
    auto* const head = reinterpret_cast<CellHead*>(cell(from, turns_.cell(first_ + m)));
    port.wait(head->sequence, equal(number(m)), hint_(from), meanwhile);  // (1)
    const std::uint64_t theirs = port.load_relaxed(head->tag);
    if (__builtin_expect(theirs != tag, 0)) {
      if (theirs == (tag | direct_bit)) return take_direct(port, *head);
      unlike(port, from, *head, theirs, tag);
    }
    return payload(port, from, m, piece);
  }
  /// As await(), and says where the message is.
  Data await(Port& port, int from, std::uint64_t m, std::uint64_t tag, std::size_t piece, MessagePlace& place,
             Meanwhile meanwhile = Meanwhile::little) {
    place_ = MessagePlace::cell;
    const Data message = await(port, from, m, tag, piece, meanwhile);
    place = place_;
    return message;
  }
  /// `piece` bytes of memory that the reader may write between await and finish: the message's own, unless
  /// the message stays in place.
  Data room(Port& port, int from, std::uint64_t m, std::size_t piece) const {
    return payload(port, from, m, piece);
  }
  /// Sends this rank's message m of at most 8 bytes, one of the first 65,535 of its call.
  void post(Port& port, std::uint64_t m, Data from, std::size_t bytes, std::uint64_t tag) {
    await_reader(port, turns_.cell(first_ + m));
    post_open(port, m, from, bytes, tag);
  }
  /// post(), after opens() or is_open() has been true.
  void post_open(Port& port, std::uint64_t m, Data from, std::size_t bytes, std::uint64_t tag) {
    const std::uint64_t i = turns_.cell(first_ + m);
    fill_slot(port, own_slots_[i], i, m, from, bytes, tag);
  }
  /// post(), to a reader that may expect something else. `tag` is counted(call, bytes).
  void post_counted(Port& port, int to, std::uint64_t m, Data from, std::size_t bytes, std::uint64_t tag) {
    const std::uint64_t i = turns_.cell(first_ + m);
    await_reader(port, i);
    number_cell(port, i, m, tag);
    fill_slot(port, counted_slots(to)[i], i, m, from, bytes, counted_in_slot(tag));
  }
  /// Prefetches what take() of the same message looks at first.
  void expect(Port& port, int from, std::uint64_t m) const { port.prefetch(slot_of(from, m)); }
  /// Message m that `from` posts in a call with the same tag.
  std::uint64_t take(Port& port, int from, std::uint64_t m, std::uint64_t tag,
                     Meanwhile meanwhile = Meanwhile::little) {
    assert_peer(from);
    const NumberedWord& slot = *slot_of(from, m);
    port.wait(slot.sequence, equal(slot_number(m, tag)), hint_(from), meanwhile);
    return port.load_relaxed(slot.value);
  }
  /// Message m that `from` sends by post_counted or announce; this rank expects at most 8 bytes.
  std::uint64_t take_counted(Port& port, int from, std::uint64_t m, std::uint64_t tag, Meanwhile meanwhile) {
    const NumberedWord& slot = counted_slots(from)[turns_.cell(first_ + m)];
    constexpr std::uint64_t counts = (1u << tag_bits) - 1;
    const std::uint64_t theirs =
        port.wait(slot.sequence, masked_equal(~counts, slot_number(m, 0)), hint_(from), meanwhile);
    // Not this rank's counts or call. The cell has the counts in full: this does not return.
    if (__builtin_expect(theirs != slot_number(m, counted_in_slot(tag)), 0)) await(port, from, m, tag, 0);
    return port.load_relaxed(slot.value);
  }
  /// The place of that message, and whether it comes soon.
  const Word<std::uint64_t>& place(int from, std::uint64_t m) const { return slot_of(from, m)->value; }
  bool comes_soon(Port& port, int from, std::uint64_t m, std::uint64_t tag) const {
    return port.comes_soon(slot_of(from, m)->sequence, equal(slot_number(m, tag)), hint_(from));
  }
  /// Acknowledges message m of `from`, which this rank has read. (2)
  void finish(Port& port, int from, std::uint64_t m) { port.signal(acknowledgement(from, m), number(m)); }
  /// The word and the number that do so, where both are looked up before.
  Word<std::uint64_t>& acknowledgement(int from, std::uint64_t m) const {
    return *read_word(from, turns_.cell(first_ + m));
  }
  // Grows from call to call, and within a call from message to message.
  std::uint64_t number(std::uint64_t m) const { return (call_ << 32) + m + 1; }

 private:
  std::string acts(const char* how, std::size_t bytes) const {
    return "rank " + std::to_string(rank_) + " " + how +
           (bytes != 0 ? ", " + std::to_string(bytes) + " bytes" : "");
  }
  void assert_peer(int rank) const {
    PHICOLL_ASSERT(Port, rank >= 0 && rank < ranks_, acts("has a message for or from no rank", 0));
    PHICOLL_ASSERT(Port, rank != rank_, acts("awaits its own message", 0));
  }
  bool is_read(Port& port, std::uint64_t cell) {
    const auto i = static_cast<std::size_t>(cell);
    if (last_[i] != 0) look_at_line(port, i);
    return last_[i] == 0;
  }
  // A reader acknowledges a cell in this line at almost every call, so each look takes the line from it: one
  // look serves all of the line's cells.
  [[gnu::noinline]] void look_at_line(Port& port, std::size_t cell) {
    constexpr std::size_t words = arch::line_bytes / sizeof(std::uint64_t);
    const std::size_t first = cell / words * words;
    for (std::size_t i = first; i < std::min(first + words, last_.size()); ++i)
      if (port.load_acquire(*read_word(rank_, i)) == last_[i]) last_[i] = 0;
  }
  // If the call claimed a cell twice, the second claim waited for the first reader.
  [[gnu::noinline]] void settle_direct(Port& port) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      // In one ring the next sender may use the cell before this one looks: its reader's number is larger.
      if (given_[i] != 0 && last_[i] != 0) {
        port.wait(*read_word(rank_, i), at_least(last_[i]));
        last_[i] = 0;
      }
      given_[i] = 0;
    }
    any_given_ = false;
  }
  [[gnu::noinline]] Data take_direct(Port& port, CellHead& head) {
    const Exposed piece = reinterpret_cast<DirectCell&>(head).payload.load(port);
    place_ = Port::direct(piece) ? MessagePlace::in_reach : MessagePlace::beyond_reach;
    return port.view(piece, 0);
  }
  // Equal: no rank leaves a later vector call before this one has sent.
  [[gnu::noinline]] void await_all(Port& port) {
    for (int r = 0; r < ranks_; ++r)
      if (r != rank_) port.wait(left_[r].value.word, equal(unknown_), hint_(r));  // (5)
    // They have read all messages of that call and of those before it. What is noted of later calls stays.
    const std::uint64_t since = (unknown_ << 32) + 1, later = (call_ - unknown_) << 32;
    for (std::uint64_t& number : last_)
      if (number - since >= later) number = 0;
    unknown_ = 0;
  }
  // (4a) The next sender acquires the acknowledgement of the cell's last reader, who had acquired the message
  //      before it. So what the last sender stored comes before what this one stores, and so do the reader's
  //      loads.
  void await_reader(Port& port, std::uint64_t i) {
    if (__builtin_expect(last_[static_cast<std::size_t>(i)] != 0, 0)) await_reader_of(port, i);
  }
  [[gnu::noinline]] void await_reader_of(Port& port, std::uint64_t i) {
    // Equal, not at least: numbers wrap around after 2^32 calls.
    if (!is_read(port, i)) port.wait(*read_word(rank_, i), equal(last_[static_cast<std::size_t>(i)]));  // (2)
  }
  [[gnu::noinline, gnu::cold]] void unlike(Port& port, int from, CellHead& head, std::uint64_t theirs,
                                           std::uint64_t tag) {
    if (((theirs ^ tag) & ((1u << tag_bits) - 1)) == 0)
      port.differ(hint_(from), counted_in_words(theirs), counted_in_words(tag));
    port.wait(head.tag, equal(tag));
  }
  // A message of at most 8 bytes may go through a slot instead of its cell (`post` and `take` instead of
  // `open`, `send` and `await`). Four slots share a line, and a slot's number and tag are one word. Sender
  // and reader must decide alike.
  //
  // Where their counts may differ, they would wait in different places. So the sender stores a message's
  // number and counts in both (`post_counted`, `announce`), first where a reader with equal counts does not
  // look: when that one acknowledges the message, it has acquired all of these stores, and the next sender's
  // come after them.
  std::uint64_t slot_number(std::uint64_t m, std::uint64_t tag) const {
    PHICOLL_ASSERT(Port, m + 1 < std::uint64_t{1} << 16, acts("posts too many messages in a call", 0));
    PHICOLL_ASSERT(Port, tag >> 16 == 0, acts("numbers a slot by a tag of more than 16 bits", 0));
    return (call_ << 32) | ((m + 1) << 16) | tag;
  }
  void number_cell(Port& port, std::uint64_t i, std::uint64_t m, std::uint64_t tag) {
    auto* const head = reinterpret_cast<CellHead*>(cell(rank_, i));
    port.store_relaxed(head->tag, tag);
    port.signal(head->sequence, number(m));  // (1)
  }
  // Those of readers on the root's CPU lie apart: a line that ranks on another CPU read, too, would be taken
  // away from it.
  NumberedWord* counted_slots(int peer) const {
    return stores_[static_cast<std::size_t>(peer)] == Stores::cached ? beside_slots_ : own_slots_;
  }
  void fill_slot(Port& port, NumberedWord& slot, std::uint64_t i, std::uint64_t m, Data from,
                 std::size_t bytes, std::uint64_t tag) {
    PHICOLL_ASSERT(Port, bytes <= sizeof(std::uint64_t), acts("posts more than a slot holds", bytes));
    last_[static_cast<std::size_t>(i)] = number(m);
    port.store_relaxed(slot.value, bytes != 0 ? port.read_value(from, bytes) : 0);
    port.signal(slot.sequence, slot_number(m, tag));
  }
  // Waits until the last reader of the message's cell has finished.
  void claim(Port& port, std::uint64_t m) {
    const std::uint64_t i = turns_.cell(first_ + m);
    await_reader(port, i);
    last_[static_cast<std::size_t>(i)] = number(m);
  }
  Word<std::uint64_t>* read_word(int owner, std::uint64_t i) const {
    return reinterpret_cast<Word<std::uint64_t>*>(memory_ + static_cast<std::size_t>(owner) * rank_bytes_ +
                                                  static_cast<std::size_t>(i) * sizeof(std::uint64_t));
  }
  unsigned char* cell(int owner, std::uint64_t i) const {
    return memory_ + static_cast<std::size_t>(owner) * rank_bytes_ + cells_ +
           static_cast<std::size_t>(i) * stride_;
  }
  NumberedWord* slot_of(int owner, std::uint64_t m) const {
    return reinterpret_cast<NumberedWord*>(memory_ + static_cast<std::size_t>(owner) * rank_bytes_ + slots_) +
           turns_.cell(first_ + m);
  }

  Data payload(Port& port, int owner, std::uint64_t m, std::size_t piece) const {
    return port.shared(cell(owner, turns_.cell(first_ + m)) +
                       payload_at(bytes_, turns_.turn(first_ + m), piece));
  }

  unsigned char* memory_;
  std::size_t rank_bytes_;
  std::size_t slots_;
  std::size_t cells_;
  std::size_t stride_;
  std::size_t bytes_;
  Turns turns_;
  Direct direct_;
  bool any_given_ = false;
  MessagePlace place_ = MessagePlace::cell;  // of the last message that was found in its sender's memory
  std::uint64_t call_ = 0;
  std::uint64_t first_ = 0;
  // The last call, from 1 on, of which only another rank knew the number of messages; 0 once all are known to
  // have left it.
  std::uint64_t unknown_ = 0;
  Strided<CounterLine>* left_;
  int rank_;
  int ranks_;
  Hint hint_;
  bool rotates_;
  AlignedVector<std::uint64_t>
      last_;  // the number of the message in each cell; 0 once it is known to be read
  AlignedVector<unsigned char> given_;  // whether the cell's message of this call stays in this rank's memory
  NumberedWord* own_slots_;
  NumberedWord* beside_slots_;  // of one ring
  AlignedVector<Stores> stores_;
};

}  // namespace phicoll
