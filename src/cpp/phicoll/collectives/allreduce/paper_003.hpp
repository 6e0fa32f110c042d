#pragma once

// The choice that namashivayam-2014 ends with (sections 5.2 and 6.1): recursive doubling for small messages,
// Rabenseifner's algorithm with its middle merged for large ones, both with shmem_ptr unless put/get is asked
// for. Section 5.1.5 finds recursive doubling good up to 4 KB. "left computes" is applied where the paper
// found it to pay: for large arrays, which here is Rabenseifner's middle stage. Each algorithm has memory of
// its own, so that calls of both sizes may follow each other without a barrier between.

#include "phicoll/collectives/allreduce/rabenseifner.hpp"
#include "phicoll/collectives/allreduce/recursive_doubling.hpp"

namespace phicoll {

struct Paper003Allreduce : AlgorithmDefaults {
  struct Parameters {
    int threshold = 4096;
    TransferWay transfer = TransferWay::load_store;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"paper-003", Origin::paper, "namashivayam-2014 sections 5.2 and 6.1",
            "recursive-doubling for small messages, rabenseifner for large ones"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("threshold", p.threshold, 0, 1 << 30, "bytes up to which a message is small");
    describe_transfer(visitor, p.transfer);
    describe_buffer(visitor, p.buffer);
  }

  static RecursiveDoubling::Parameters small(const Parameters& p, const Shape& shape) {
    RecursiveDoubling::Parameters s;
    s.transfer = p.transfer;
    s.buffer = std::min(p.buffer, std::max(p.threshold, static_cast<int>(max_element_bytes)));
    // Half of the bound: the other algorithm has memory too.
    limit_buffer(s.buffer, shape.size(), 2 * DoublingExchangeMemory::buffers(p.transfer, shape.size()));
    return s;
  }
  static Rabenseifner::Parameters large(const Parameters& p) {
    Rabenseifner::Parameters l;
    l.transfer = p.transfer;
    l.left_computes = p.transfer == TransferWay::load_store ? YesNo::yes : YesNo::no;
    l.buffer = p.buffer;
    return l;
  }
  static void limit(Parameters& p, const Shape& shape) {
    Rabenseifner::Parameters l = large(p);
    Rabenseifner::limit(l, shape);
    p.buffer = l.buffer;
  }
  static std::size_t small_footprint(const Parameters& p, const Shape& shape) {
    const std::size_t bytes = RecursiveDoubling::footprint(small(p, shape), shape);
    return arch::whole_strides(bytes);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return small_footprint(p, shape) + Rabenseifner::footprint(large(p), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : small_(small(p, setup.shape), setup),
          large_(large(p), Setup{setup.rank, setup.shape, setup.memory + small_footprint(p, setup.shape)}),
          threshold_(static_cast<std::size_t>(p.threshold)) {}

    void operator()(Port& port, const Call& call) {
      if (call.bytes() <= threshold_)
        small_(port, call);
      else
        large_(port, call);
    }

   private:
    RecursiveDoubling::Rank<Port> small_;
    Rabenseifner::Rank<Port> large_;
    std::size_t threshold_;
  };
};

}  // namespace phicoll
