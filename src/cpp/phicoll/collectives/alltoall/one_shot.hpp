#pragma once

// phicoll's alltoall for small blocks of one size: every rank publishes a part of all its blocks at once, and
// takes its own parts from all. Two cells a rank suffice without acknowledgements, as in the one-shot
// allreduce; two ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/transport/one_shot.hpp"

namespace phicoll {

struct OneShotAlltoall : OneShotAlgorithm<16384> {
  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll", "every rank publishes all its blocks and takes its own"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_one_shot(visitor, p, 1024, "bytes of a cell, for a part of each block");
  }
  template <class Parameters>
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }
  static void limit(Parameters& p, const Shape& shape) { limit_cells(shape.size(), p.cells, p.cell, 1024); }

  template <class Port>
  class Rank : public OneShotBlocks<Rank<Port>, Port> {
    using Base = OneShotBlocks<Rank, Port>;
    friend Base;
    using Base::cells_;
    using Base::order_;
    using Base::rank_;
    using Base::ranks_;

   public:
    Rank(const Parameters& p, const Setup& setup)
        : Base(p, setup), stores_(setup.shape), part_(lines_within(cells_.bytes() / others())) {}

   private:
    static bool uneven(const Call&) { return false; }
    static std::size_t most(const Call& call) { return call.count; }
    // Between two ranks each has one block for the other.
    bool in_words(std::size_t bytes) const { return ranks_ == 2 && bytes <= sizeof(std::uint64_t); }
    void publish_word(Port& port, const Call& call) {
      const int other = 1 - rank_;
      this->words_.publish(port, call.send + call.send_block_at(other), call.count, call.tag);
      const std::uint64_t own = port.read_value(call.send + call.send_block_at(rank_), call.count);
      port.write_value(call.receive + call.block_at(rank_), own, call.count);
    }
    void take_words(Port& port, const Call& call) {
      const int other = 1 - rank_;
      const Data to = call.receive + call.block_at(other);
      const Word<std::uint64_t>& theirs = this->words_.place(other);
      if (__builtin_expect(!this->words_.comes_soon(port, other), 0)) return take_late(port, call);
      port.write_value(to, port.load_relaxed(theirs), call.count);
    }
    [[gnu::noinline]] void take_late(Port& port, const Call& call) {
      const int other = 1 - rank_;
      port.write_value(call.receive + call.block_at(other), this->words_.take(port, other), call.count);
    }

    std::size_t piece_bytes() const { return part_; }
    std::size_t piece(const Call& call, int, std::size_t at) const {
      return std::min(part_, call.count - at);
    }
    static Data block_for(const Call& call, int r) { return call.send + call.send_block_at(r); }
    // Ranks that share CPUs copy as memcpy does, also to and from far CPUs: a cell is whole before any of it
    // is taken, and the caches hold it. Faster than stores past the caches.
    Stores stores(std::size_t bytes) const {
      const Stores usual = stores_.exchanged(bytes);
      return order_.sharing() && usual == Stores::taken ? Stores::cached : usual;
    }
    bool direct(Port& port, const Call& call) const {
      return port.reachable(call.send, all(call)) && cells_.direct(port, call.send, call.count);
    }
    Exposed room(Port& port, const Call& call) const {
      return room_for(port, this->put_, call.count, call.send, all(call), call.receive, all(call));
    }
    std::size_t all(const Call& call) const { return call.count * static_cast<std::size_t>(ranks_); }
    static std::size_t lines_within(std::size_t bytes) {
      return bytes > arch::line_bytes ? bytes / arch::line_bytes * arch::line_bytes : bytes;
    }
    std::size_t others() const { return ranks_ > 1 ? static_cast<std::size_t>(ranks_ - 1) : 1; }
    // A rank's cell has a place for each other rank, in their order.
    static std::size_t place(int writer, int reader) {
      return static_cast<std::size_t>(reader < writer ? reader : reader - 1);
    }
    void fill(Port& port, const Call& call, std::size_t at, std::size_t bytes) {
      const Data cell = cells_.open(port, this->steps_, bytes * others());
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_)
          port.move(cell + place(rank_, r) * bytes, call.send + (call.send_block_at(r) + at), bytes,
                    order_.sharing() ? Stores::cached : cells_.stores(port, r));
      cells_.publish(port, this->steps_, call.tag);
    }
    Data await(Port& port, const Call& call, int r, std::uint64_t step, std::size_t bytes) {
      return cells_.await(port, r, step, call.tag, bytes * others(), place(r, rank_) * bytes,
                          call.send_block_at(rank_));
    }

    ResultStores stores_;
    std::size_t part_;  // of a block, in a cell
  };
};

}  // namespace phicoll
