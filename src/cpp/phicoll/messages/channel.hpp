#pragma once

// The path of messages from one rank to another: a ring of cells, a ring of bytes for messages that do not
// fit a cell, a pool for those of 16 to 256 KB, and the reader's acknowledgements. The
// sender writes everything but the acknowledgements. It makes the byte ring and the pool, most of the memory,
// before the first message that needs them. Without a pool the ring carries its messages too.
//
// Steps (1) to (6) at the words below say which store makes what visible to whom; the numbers stand again at
// the code.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/transport/exposed_words.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

enum class CellKind : unsigned char {
  here,    ///< the message is in the cell
  first,   ///< its first piece is in the byte ring or a pool
  more,    ///< a further piece of the message of the last cell
  rest,    ///< the first piece of the rest of a message that is wanted
  exposed  ///< it stays in its sender's memory
};

// (1) The sender stores bytes in the byte ring (the first time: also where that lies), then a cell's payload
//     and description, then the cell's number with release. The reader acquires the number and sees all of
//     it.
struct alignas(arch::stride_bytes) MessageCell {
  /// The pickle of a small record has some 150 bytes.
  static constexpr std::size_t room = 2 * arch::stride_bytes - 3 * sizeof(std::uint64_t);

  Word<std::uint64_t> number;  ///< of the cell in its channel, from 1
  Word<std::uint64_t> what;    ///< tag, type, kind, ticket
  Word<std::uint64_t> bytes;   ///< of the whole message
  unsigned char payload[room];

  struct Piece {  ///< in the payload of a cell whose bytes lie in the byte ring or a pool
    Word<std::uint64_t>
        at;  ///< its offset, counted from when the channel was made; in a pool a Stretch (pool.hpp)
    Word<std::uint64_t> bytes;
    Word<std::uint64_t> message;  ///< of a rest: the number of the message's first cell
    ExposedWords from;  ///< of the first piece of a large message, which its receiver may copy; or zero
  };
  Piece& piece() { return *payload_as<Piece>(); }
  ExposedWords& exposed() { return *payload_as<ExposedWords>(); }

 private:
  template <class T>
  T* payload_as() {
    unsigned char* const at = payload;  // GCC 5 takes the cast of an array for a breach of aliasing
    return reinterpret_cast<T*>(at);
  }
};

struct alignas(arch::stride_bytes) Channel {
  static constexpr std::uint64_t cells = 32;
  static constexpr unsigned tickets = 64;
  static constexpr std::uint64_t wants = 16;

  static constexpr std::uint64_t most_gifts = 13;  // with the three words before them two lines
  // (2) The reader stores with release how many cells, and how many bytes of the byte ring, it has finished
  //     with. The sender acquires that before it writes them again.
  struct alignas(arch::stride_bytes) Read {
    Word<std::uint64_t> cells;
    Word<std::uint64_t> bytes;
    // (3) The bytes of a pool belong to one rank at a time, and only that rank writes them. A piece gives its
    //     bytes to the reader; once it has copied them, it may write its own messages there.
    // (3a) A reader that holds many bytes gives some back: it stores which in the next gift words, then the
    //      count of gifts with release. The sender acquires the count and reads the words.
    // (3b) The sender stores with release how many gifts it has read. Only then are their words written
    //      again.
    Word<std::uint64_t> gifts;             ///< how many stretches the reader has given back
    Word<std::uint64_t> gift[most_gifts];  ///< the last ones, each a Stretch
  };
  /// The word of a ticket says what became of message number n: its reader copies it, its sender has
  /// withdrawn it (the group is broken, and its memory goes), or it has been received. The values grow in
  /// this order.
  ///
  /// (4) A message that stays in its sender's memory, or whose sender waits until it is matched, has a
  ///     ticket. The reader marks it `copied` by compare and exchange: its sender may withdraw.
  /// (4a) After its copy the reader marks it `received` with release. The sender acquires that before it
  ///      reuses the memory or the ticket.
  struct alignas(arch::stride_bytes) Tickets {
    Word<std::uint64_t> word[tickets];
  };
  static constexpr std::uint64_t copied(std::uint64_t n) { return 4 * n - 2; }
  static constexpr std::uint64_t withdrawn(std::uint64_t n) { return 4 * n - 1; }
  static constexpr std::uint64_t received(std::uint64_t n) { return 4 * n; }
  // (5) Of a large message the sender writes the first part only. The reader matches it, then stores the
  //     number of its first cell into the next word of `wanted` with release, once that word is 0.
  // (5a) The sender acquires the number, stores 0 with release, and sends the rest. So a reader keeps only
  //      the first part of each unmatched message, and later messages are not held up.
  struct alignas(arch::stride_bytes) Wanted {
    Word<std::uint64_t> number[wants];  ///< twice, and one more if both ranks are to copy the rest
  };
  // (6) Both ranks may copy the rest, each between its own memory and the other's. The first cell then has a
  //     handle of the message. The reader marks the ticket (4), stores here a handle of its buffer and the
  //     message's number, and says so in `wanted`.
  // (6a) Each rank claims parts by compare and exchange on `claimed`, and copies them. The sender adds what
  //      it has copied to `sent` with release.
  struct alignas(arch::stride_bytes) Both {
    // (6b) The reader goes on when all parts are claimed and it has acquired the sender's last: nobody writes
    //      its buffer any more, and `both` is free.
    // (6c) A late sender finds another message's number or no parts left. If its exchange succeeds, parts of
    //      its message were left until then, so the reader had kept `both` and the handle it read is right.
    Word<std::uint64_t> claimed;  ///< parts of a message: see parts_of
    Word<std::uint64_t> sent;     ///< those that the sender has copied
    ExposedWords to;
  };
  /// A count of parts of message n, from parts_of(n) on.
  static constexpr std::uint64_t parts_of(std::uint64_t n) { return n << 24; }
  struct alignas(arch::stride_bytes) Ring {
    Word<std::uint64_t> place;  ///< 0: not made yet
    Word<std::uint64_t> pool;   ///< likewise
    Word<std::uint64_t> gifts;  ///< how many the sender has seen
  };
  /// By the reader. The sender learns from it how far away the reader is.
  struct alignas(arch::stride_bytes) Taken {
    Word<std::uint64_t> pieces;  ///< the cell of the last piece taken from the byte ring or a pool
  };
  /// The word for the nth stretch that is given back, from 0.
  Word<std::uint64_t>& gift(std::uint64_t n) { return read.gift[n % most_gifts]; }
  /// The word for the nth message whose rest is wanted, from 0.
  Word<std::uint64_t>& want(std::uint64_t n) { return wanted.number[n % wants]; }

  Read read;
  Tickets ticket;
  Wanted wanted;
  Both both;
  Ring ring;
  Taken taken;
  MessageCell cell[cells];

  MessageCell& cell_of(std::uint64_t number) { return cell[number % cells]; }
};

/// A cell's description of its message, in one word.
struct CellNote {
  int tag;
  unsigned type;
  CellKind kind;
  unsigned ticket;

  std::uint64_t word() const {
    return std::uint64_t{static_cast<std::uint32_t>(tag)} | std::uint64_t{type} << 32 |
           std::uint64_t{static_cast<unsigned char>(kind)} << 48 | std::uint64_t{ticket} << 56;
  }
  static CellNote of(std::uint64_t word) {
    return CellNote{static_cast<int>(static_cast<std::uint32_t>(word)),
                    static_cast<unsigned>(word >> 32 & 0xffff), static_cast<CellKind>(word >> 48 & 0xff),
                    static_cast<unsigned>(word >> 56)};
  }
};

/// Where a communicator's channels lie. A channel is made when its sender first uses it.
class Channels {
 public:
  Channels() = default;
  virtual ~Channels() = default;
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  /// Whether a rank may stop in the middle of a copy, and the others go on: a process, but not a thread.
  virtual bool ranks_may_stop() const = 0;
  /// Whether the rank's process has ended, by itself or not. Takes some microseconds.
  virtual bool has_ended(int rank) const = 0;
  /// Bytes of each channel's byte ring, a multiple of 256.
  virtual std::size_t ring_bytes() const = 0;
  /// The word that holds the place of the channel from `from` to `to`; 0 until the sender has made it.
  virtual Word<std::uint64_t>& place(int from, int to) = 0;
  virtual Channel& at(std::uint64_t place) = 0;
  /// Makes a channel, zeroed, for its sender, which then stores its place. Throws ResourceError.
  virtual std::uint64_t make() = 0;
  /// A byte ring or pool, by its place, and a new one, whose bytes may be anything. Throws ResourceError.
  virtual unsigned char* bytes_at(std::uint64_t place) = 0;
  virtual std::uint64_t make_bytes() = 0;
  /// Whether there is room for a pool, which is as large as a ring.
  virtual bool room_for_pool() const = 0;
};

/// Waits, in a broken group, for a peer's copy to end. The copies of a process that has ended are over too,
/// though it did not say so.
template <class Port, class Ended>
void await_peer(Port& port, const Channels& channels, int peer, const Ended& ended) {
  const std::int64_t since = port.now();
  for (std::int64_t asked = since; !ended();) {
    port.pause();
    if (!channels.ranks_may_stop()) continue;
    const std::int64_t now = port.now();
    if (now - asked < 1000000) continue;
    if (now - since > 2000000000 || channels.has_ended(peer)) return;
    asked = now;
  }
}

}  // namespace phicoll
