#pragma once

// phicoll's allgather, regular and vector: every rank publishes its block in pieces and takes everyone's. Two
// cells a rank suffice without acknowledgements, as in the one-shot allreduce: in every step each rank awaits
// a piece of every other, an empty one where a block has ended. Two ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/transport/one_shot.hpp"

namespace phicoll {

struct OneShotAllgather : OneShotAlgorithm<16384> {
  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll", "every rank publishes its block and takes everyone's"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_one_shot(visitor, p, 64, "bytes of a piece");
  }
  static void limit(Parameters& p, const Shape& shape) { limit_cells(shape.size(), p.cells, p.cell, 256); }

  template <class Port>
  class Rank : public OneShotBlocks<Rank<Port>, Port> {
    using Base = OneShotBlocks<Rank, Port>;
    friend Base;
    using Base::cells_;
    using Base::rank_;

   public:
    Rank(const Parameters& p, const Setup& setup) : Base(p, setup), stores_(setup.shape) {}

   private:
    static bool uneven(const Call& call) { return call.vector; }
    std::size_t most(const Call& call) const {
      std::size_t most = call.count;
      if (__builtin_expect(call.vector, 0))
        for (int r = 0; r < this->ranks_; ++r) most = std::max(most, call.block_count(r));
      return most;
    }
    static bool in_words(std::size_t bytes) { return bytes <= sizeof(std::uint64_t); }
    void publish_word(Port& port, const Call& call) {
      const std::uint64_t own = this->words_.publish(port, call.send, call.count, call.tag);
      port.write_value(call.receive + call.block_at(rank_), own, call.count);
    }
    // With two ranks, do every lookup before the peer's word arrives.
    void take_words(Port& port, const Call& call) {
      if (this->ranks_ != 2) return take_all(port, call);
      const int other = 1 - rank_;
      const Data to = call.receive + call.block_at(other);
      const std::size_t bytes = call.block_count(other);
      const Word<std::uint64_t>& theirs = this->words_.place(other);
      if (__builtin_expect(!this->words_.comes_soon(port, other), 0)) return take_all(port, call);
      port.write_value(to, port.load_relaxed(theirs), bytes);
    }
    [[gnu::noinline]] void take_all(Port& port, const Call& call) {
      for (const int r : this->order_) {
        const std::uint64_t theirs = this->words_.take(port, r);
        port.write_value(call.receive + call.block_at(r), theirs, call.block_count(r));
      }
    }

    std::size_t piece_bytes() const { return cells_.bytes(); }
    std::size_t piece(const Call& call, int r, std::size_t at) const {
      return at >= call.block_count(r) ? 0 : std::min(cells_.bytes(), call.block_count(r) - at);
    }
    static Data block_for(const Call& call, int) { return call.send; }
    Stores stores(std::size_t bytes) const { return stores_.exchanged(bytes); }
    bool direct(Port& port, const Call& call) const { return cells_.direct(port, call.send, call.count); }
    Exposed room(Port& port, const Call& call) const {
      if (call.vector) return Exposed{0, 0, 0};
      return room_for(port, this->put_, call.count, call.send, call.count, call.receive,
                      call.count * static_cast<std::size_t>(this->ranks_));
    }
    void fill(Port& port, const Call& call, std::size_t at, std::size_t bytes) {
      const Data cell = cells_.open(port, this->steps_, bytes);
      if (bytes != 0) port.move(cell, call.send + at, bytes, cells_.stores());
      cells_.publish(port, this->steps_, call.tag);
    }
    Data await(Port& port, const Call& call, int r, std::uint64_t step, std::size_t bytes) {
      return cells_.await(port, r, step, call.tag, bytes);
    }

    ResultStores stores_;
  };
};

}  // namespace phicoll
