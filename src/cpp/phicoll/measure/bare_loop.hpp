#pragma once

// The bare loop copies each byte of an operation into a ring of cells and out again, without checks, headers,
// signatures or choices. Its time bounds all other algorithms.
//
// A stream is a ring with one writer and at least one reader. In a call a rank alternates between its
// streams, piece by piece.
//
// (1) A cell's flag is stored with release after its bytes; a reader that acquires it sees them.
// (2) Every half ring, a reader stores with release how many cells it has read; the writer acquires that from
//     all readers before it reuses a cell.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "phicoll/arch/streaming.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/message_buffers.hpp"

namespace phicoll {
namespace measure {

struct BareLoopParameters {
  /// After or before a piece is stored.
  enum class Hint : unsigned char { none, own, demote };
  enum class Pages : unsigned char { small, huge };
  enum class Owner : unsigned char { sender, receiver };
  enum class Turns : unsigned char { pieces, lines };
  enum class Parts : unsigned char { whole, slices };
  enum class Stamps : unsigned char { off, on };

  arch::CopyWay store = arch::CopyWay::ordinary;
  arch::CopyWay load = arch::CopyWay::ordinary;
  Hint hint = Hint::none;
  int prefetch = 0;
  int grain = 16 << 10;
  int ring = 256 << 10;
  int ahead = 1;
  Turns turns = Turns::pieces;
  Parts parts = Parts::whole;
  Pages pages = Pages::small;
  Owner owner = Owner::sender;
  int align = 0;
  int apart = 0;
  Stamps stamps = Stamps::off;

  template <class Visitor>
  static void describe(Visitor& v, BareLoopParameters& p) {
    const std::initializer_list<const char*> ways = {"memcpy", "string", "past-caches", "avx2", "avx512"};
    v.choice("store", p.store, ways, "how a piece is copied into its cell");
    v.choice("load", p.load, ways, "how it is copied out of it");
    v.choice(
        "hint", p.hint, {"none", "own", "demote"},
        "own: ask for a cell's lines before storing (prefetchw); demote: hand them on afterwards (cldemote)");
    v.integer("prefetch", p.prefetch, 0, 1 << 16, "bytes that a reader asks for ahead of its copy; 0: none");
    v.integer("grain", p.grain, 256, 1 << 20, "bytes of a piece");
    v.integer("ring", p.ring, 1024, 16 << 20, "bytes of a stream's ring, of two pieces at least");
    v.integer("ahead", p.ahead, 1, 4096, "pieces that a rank writes before it reads the first");
    v.choice("turns", p.turns, {"pieces", "lines"},
             "what alternates between both directions: whole pieces, or a few lines in one loop");
    v.choice("parts", p.parts, {"whole", "slices"},
             "allreduce: each rank combines all, or a part of which the others take the result");
    v.choice("pages", p.pages, {"small", "huge"}, "of the rings");
    v.choice("owner", p.owner, {"sender", "receiver"}, "which side has written to a ring's memory first");
    v.integer("align", p.align, 0, 63, "bytes from a line's start to a cell's");
    v.integer("apart", p.apart, 0, 4032, "bytes between two rings' cells within a page");
    v.choice("stamps", p.stamps, {"off", "on"}, "whether the copies in and out are timed, piece by piece");
  }
};

/// One rank's calls. Buffers as MessageBuffers has them; the root is rank 0.
class BareLoop {
 public:
  /// The operations that it serves.
  static bool serves(Operation operation);
  static std::size_t footprint(const BareLoopParameters& p, const Work& work, int ranks);
  /// Why this CPU or system cannot run it; null if it can.
  static const char* lacking(const BareLoopParameters& p);

  /// `memory`: footprint() bytes for which all ranks have called prepare(). `yields`: a rank that can do
  /// nothing gives its CPU away.
  BareLoop(const BareLoopParameters& p, unsigned char* memory, int rank, int ranks, bool yields,
           const MessageBuffers& buffers);
  /// Zeroes the memory that `rank` is to write first. All ranks call it, and then meet.
  static void prepare(const BareLoopParameters& p, unsigned char* memory, int rank, int ranks,
                      const Work& work);

  void operator()() {
    for (Phase& phase : phases_) run(phase);
  }
  /// Ticks in copies into cells, and out of them, since the last reset.
  std::uint64_t store_ticks() const { return store_ticks_; }
  std::uint64_t load_ticks() const { return load_ticks_; }

 private:
  struct Ring {
    HandLine* flags;
    HandLine* read;  // a line for each reader
    unsigned char* cells;
    std::size_t stride;
    std::uint64_t count;  // of cells, a power of two
  };
  struct Out {
    Ring ring;
    const unsigned char* from;
    std::size_t bytes;
    std::size_t readers;
    std::size_t at;
    std::uint64_t written;
    std::uint64_t free_until;
  };
  struct In {
    Ring ring;
    HandWord* read_word;
    unsigned char* to;
    std::size_t bytes;
    const unsigned char* left;  // operand to combine with, or null
    std::size_t at;
    std::uint64_t read;
  };
  struct Phase {
    std::vector<Out> outs;
    std::vector<In> ins;
    unsigned char* own_to = nullptr;  // the rank's own block
    const unsigned char* own_from = nullptr;
    std::size_t own_bytes = 0;
  };
  struct Stream;
  struct Plan;

  static std::vector<Plan> plans(const BareLoopParameters& p, const Work& work, int ranks);
  static std::size_t cell_bytes(const BareLoopParameters& p, std::size_t bytes);
  static std::uint64_t cells_of(const BareLoopParameters& p, std::size_t bytes);
  static std::size_t ring_bytes(const BareLoopParameters& p, std::size_t bytes, std::size_t readers);

  void run(Phase& phase);
  bool may_write(const Phase& phase, Out& out);
  bool may_read(const Phase& phase, std::size_t i) const;
  void write(Out& out);
  void read(In& in);
  void both(Out& out, In& in);
  void publish(Out& out, std::size_t bytes);
  void acknowledge(In& in, std::size_t bytes);
  void copy_in(unsigned char* to, const unsigned char* from, std::size_t bytes) const;
  void copy_out(unsigned char* to, const unsigned char* from, std::size_t bytes) const;

  BareLoopParameters p_;
  Operator op_;
  std::vector<Phase> phases_;
  std::size_t grain_;
  bool yields_;
  bool stamps_;
  std::uint64_t store_ticks_ = 0;
  std::uint64_t load_ticks_ = 0;
};

}  // namespace measure
}  // namespace phicoll
