#pragma once

// Each rank reduces a piece of the data. Source: velamati-2007 section 3.4 ("AG"): after an allgather of
// addresses each rank reduces a different piece over all operands and writes it to its place in the root's
// memory; no piece is smaller than a minimum (section 3.3; 2 KB or 4 KB there), so fewer ranks reduce short
// messages. P gets and one put a piece.
//
// order=rotated: each rank begins with its own operand, then its successors', so that not all read from one
// rank at once; the operator must commute. order=ranks combines from rank 0 on, for any operator.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/reduce/tree_pieces.hpp"
#include "phicoll/collectives/transport/direct.hpp"
#include "phicoll/collectives/transport/trailing.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct PiecePerRankReduce : AlgorithmDefaults {
  enum class Order : unsigned char { rotated, ranks };

  struct Parameters {
    int least = 2048;
    int buffer = 16384;
    Order order = Order::rotated;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"piece-per-rank", Origin::paper, "velamati-2007 section 3.4 (AG)",
            "each rank reduces a piece over all operands and writes it to the root"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("least", p.least, 1, 1 << 24, "bytes of the smallest piece that a rank is given");
    visitor.integer("buffer", p.buffer, max_element_bytes, 1 << 20,
                    "bytes of each of a rank's two buffers and two slots");
    visitor.choice("order", p.order, {"rotated", "ranks"},
                   "operands are combined from the own one on, or in the order of ranks");
    describe_trailing(visitor, p.trailing);
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_bytes(p.buffer, max_element_bytes, [&] { return footprint(p, shape); });
  }
  static const char* unfit(const Parameters& p, const Shape&, const CallFacts& facts) {
    return facts.commutative || p.order == Order::ranks
               ? nullptr
               : "a commutative operator, or order=ranks: each rank begins with its own operand";
  }
  static bool in_rank_order(const Parameters& p) { return p.order == Order::ranks; }

  /// What a rank tells in a call. All zero: not to be reached.
  struct Header {
    Word<std::uint64_t> call;
    ExposedWords send;
    ExposedWords receive;  ///< on the root
  };
  struct Lines {
    Strided<Header> header[2];
    Strided<CounterLine> done;
    Strided<CounterLine> staged;
    Strided<CounterLine> done_chunk;
  };

  static std::size_t buffer_bytes(const Parameters& p) {
    return arch::whole_strides(static_cast<std::size_t>(p.buffer));
  }
  static std::size_t rank_bytes(const Parameters& p) { return sizeof(Lines) + 4 * buffer_bytes(p); }
  static std::size_t barrier_at(const Parameters& p, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * rank_bytes(p);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return barrier_at(p, shape) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : p_(p),
          barrier_(p.trailing, setup, barrier_at(p, setup.shape)),
          memory_(setup.memory),
          rank_(setup.rank),
          ranks_(setup.size()) {
      operands_.resize(static_cast<std::size_t>(ranks_));
    }

    // Operands are read where they lie: between threads, in memory of the group, and through the kernel
    // between processes. An owner whose buffer cannot be reached says so in its header. Every rank reads
    // every header, so all agree to pass the operands through slots in shared memory, a chunk at a time.
    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      ++call_;
      if (gather_addresses(port, call))
        where_they_lie(port, call);
      else
        staged(port, call);
      barrier_(port);
    }

   private:
    struct Piece {
      std::size_t first;
      std::size_t count;
    };
    // This rank's part of `count` elements: as even as the minimum allows, the first ranks have more.
    Piece piece_of(std::size_t count, std::size_t size) const {
      const auto ranks = static_cast<std::size_t>(ranks_);
      const std::size_t least = (static_cast<std::size_t>(p_.least) + size - 1) / size;
      std::size_t each = (count + ranks - 1) / ranks;
      if (each < least) each = least;
      const std::size_t first = static_cast<std::size_t>(rank_) * each;
      if (first >= count) return Piece{0, 0};
      return Piece{first, count - first < each ? count - first : each};
    }
    /// Whose operand comes i-th.
    int nth(int i) const {
      if (p_.order == Order::ranks) return i;
      return rank_ + i < ranks_ ? rank_ + i : rank_ + i - ranks_;
    }

    /// Whether every buffer can be reached; the same on all ranks.
    bool gather_addresses(Port& port, const Call& call) {
      const bool is_root = rank_ == call.root;
      const std::size_t bytes = call.bytes();
      Exposed send{}, receive{};
      if (port.exposable(call.send, bytes) && (!is_root || port.exposable(call.receive, bytes))) {
        send = port.expose(call.send);
        if (is_root) receive = port.expose(call.receive);
      }
      Header& own = lines(rank_).header[call_ & 1].value;
      own.send.store(port, send);
      own.receive.store(port, receive);
      port.signal(own.call, call_);
      bool all = true;
      for (int r = 0; r < ranks_; ++r) {
        if (r == rank_) {
          operands_[static_cast<std::size_t>(r)] = send;
        } else {
          Header& header = lines(r).header[call_ & 1].value;
          port.wait(header.call, at_least(call_), r);
          operands_[static_cast<std::size_t>(r)] = header.send.load(port);
          if (r == call.root) receive = header.receive.load(port);
        }
        all = all && static_cast<bool>(operands_[static_cast<std::size_t>(r)]);
      }
      result_ = receive;
      return all;
    }

    // Calls (with count > 0) count from 1, alike on all ranks.
    //
    // (1) A rank's header of call c lies in its place c mod 2: its buffers' handles, then c (release).
    //     Everyone reads everyone's (acquire).
    // (2) `done` = c (release): this rank has put its piece and reads no operand any more. All wait for
    //     everyone's (acquire) before they return: then the result is complete and operands are free.
    // (3) A rank in call c + 2 has seen all done with c + 1, for which all left call c: its header place is
    //     free.
    void where_they_lie(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = static_cast<std::size_t>(p_.buffer) / size;
      const Piece piece = piece_of(call.count, size);
      const Data collected = port.shared(buffer(rank_, 0));
      const Data fetched = port.shared(buffer(rank_, 1));
      for (std::size_t done = 0; done < piece.count; done += most) {
        const std::size_t count = piece.count - done < most ? piece.count - done : most;
        const std::size_t at = (piece.first + done) * size;
        Data left;
        for (int i = 0; i < ranks_; ++i) {
          const int from = nth(i);
          Data operand;
          if (from == rank_) {
            operand = call.send + at;
          } else if (Port::direct(operands_[static_cast<std::size_t>(from)])) {
            operand = port.view(operands_[static_cast<std::size_t>(from)], at);
          } else {
            operand = i == 0 ? collected : fetched;
            port.fetch(operand, operands_[static_cast<std::size_t>(from)], at, count * size);
          }
          if (i != 0) port.combine(call.op, collected, left, operand, count);
          left = i == 0 ? operand : collected;
        }
        // In place on the root: this part of its operand has been read, by the only rank that does.
        if (rank_ == call.root)
          port.move(call.receive + at, collected, count * size);
        else
          port.put(result_, at, collected, count * size);
      }
      port.signal(lines(rank_).done.value.word, call_);
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) port.wait(lines(r).done.value.word, at_least(call_), r);
    }

    void staged(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = static_cast<std::size_t>(p_.buffer) / size;
      for (std::size_t done = 0; done < call.count; done += most) {
        const std::size_t count = call.count - done < most ? call.count - done : most;
        chunk(port, call, done * size, count);
        ++chunk_;
      }
      // Headers of this call have been read by all that have staged a chunk of it.
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) port.wait(lines(r).staged.value.word, at_least(chunk_), r);
    }

    // (4) Chunk s (from 0, alike on all ranks) of a rank's operand is written to its slot s mod 2 after a
    //     wait for all to be done with chunk s - 2 (`done_chunk`), then `staged` = s + 1 (release).
    // (5) All read slots, but the part that holds a piece's result is written by the piece's rank alone, the
    //     only one to read that part of any slot: no two ranks touch a byte between staged and done_chunk.
    // (6) The root copies the result out of its own slot when all are done with the chunk.
    void chunk(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const std::size_t size = call.op.element_bytes;
      if (chunk_ >= 2) all_done_with(port, chunk_ - 2);
      port.move(port.shared(slot(rank_)), call.send + at, count * size);
      port.signal(lines(rank_).staged.value.word, chunk_ + 1);
      const Piece piece = piece_of(count, size);
      if (piece.count != 0) {
        const std::size_t part = piece.first * size;
        Data result;
        for (int i = 0; i < ranks_; ++i) {
          const int from = nth(i);
          if (from != rank_) port.wait(lines(from).staged.value.word, at_least(chunk_ + 1), from);
          const Data operand = port.shared(slot(from)) + part;
          if (i == 0)
            result = operand;
          else
            port.combine(call.op, result, result, operand, piece.count);
        }
        const Data at_root = port.shared(slot(call.root)) + part;
        if (at_root != result) port.move(at_root, result, piece.count * size);
      }
      port.signal(lines(rank_).done_chunk.value.word, chunk_ + 1);
      if (rank_ != call.root) return;
      all_done_with(port, chunk_);
      port.move(call.receive + at, port.shared(slot(rank_)), count * size);
    }

    void all_done_with(Port& port, std::uint64_t chunk) {
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) port.wait(lines(r).done_chunk.value.word, at_least(chunk + 1), r);
    }

    unsigned char* own(int rank) const { return memory_ + static_cast<std::size_t>(rank) * rank_bytes(p_); }
    Lines& lines(int rank) const { return *reinterpret_cast<Lines*>(own(rank)); }
    unsigned char* buffer(int rank, std::uint64_t which) const {
      return own(rank) + sizeof(Lines) + static_cast<std::size_t>(which) * buffer_bytes(p_);
    }
    unsigned char* slot(int rank) const { return buffer(rank, 2 + (chunk_ & 1)); }

    Parameters p_;
    TrailingBarrier<Port> barrier_;
    unsigned char* memory_;
    AlignedVector<Exposed> operands_;
    Exposed result_{};
    std::uint64_t call_ = 0;
    std::uint64_t chunk_ = 0;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
