#pragma once

// The choice of velamati-2007 for reduce, as section 3.4 describes its figure 4 for 4 to 16 processes:
//
// - small messages: local-store-tree, degree 3 above four ranks, and degree 4, then of height 1, up to four
// - from 8,192 bytes: piece-per-rank ("the best at intermediate data sizes"; section 3.3 states this bound
//   for the broadcast, the text gives none for reduce)
// - very large messages: local-store-tree of degree 1, the pipeline, above four ranks; on four,
//   piece-per-rank "even for large messages". Where "very large" begins is only in the figure: a guess, 1 MB.

#include "phicoll/collectives/reduce/local_store_tree.hpp"
#include "phicoll/collectives/reduce/piece_per_rank.hpp"

namespace phicoll {

struct Paper002Reduce : AlgorithmDefaults {
  struct Parameters {
    int pieces_from = 8192;
    int pipeline_from = 1 << 20;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"paper-002", Origin::paper, "velamati-2007 section 3.4",
            "local-store-tree, piece-per-rank or the pipeline, by the size"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("pieces_from", p.pieces_from, 0, 1 << 30, "bytes from which piece-per-rank serves");
    visitor.integer("pipeline_from", p.pipeline_from, 0, 1 << 30,
                    "bytes from which the pipeline serves more than four ranks");
    describe_trailing(visitor, p.trailing);
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.commutative ? nullptr : "a commutative operator, as its parts";
  }

  // Two trees and the pieces: with very many ranks, buffers are as large as the default region allows.
  static LocalStoreTreeReduce::Parameters tree_of(int degree, const Shape& shape) {
    LocalStoreTreeReduce::Parameters p;
    p.degree = degree;
    LocalStoreTreeReduce::limit(p, shape);
    const std::size_t others = PiecePerRankReduce::footprint(pieces(shape), shape);
    while (p.piece > max_element_bytes &&
           2 * LocalStoreTreeReduce::footprint(p, shape) + others > (std::size_t{60} << 20))
      p.piece /= 2;
    return p;
  }
  static LocalStoreTreeReduce::Parameters tree(const Shape& shape) {
    return tree_of(shape.size() > 4 ? 3 : 4, shape);
  }
  static LocalStoreTreeReduce::Parameters pipeline(const Shape& shape) { return tree_of(1, shape); }
  static PiecePerRankReduce::Parameters pieces(const Shape& shape) {
    PiecePerRankReduce::Parameters p;
    PiecePerRankReduce::limit(p, shape);
    return p;
  }
  static std::size_t pieces_at(const Shape& shape) {
    return LocalStoreTreeReduce::footprint(tree(shape), shape);
  }
  static std::size_t pipeline_at(const Shape& shape) {
    return pieces_at(shape) + PiecePerRankReduce::footprint(pieces(shape), shape);
  }
  static std::size_t barrier_at(const Shape& shape) {
    return pipeline_at(shape) + LocalStoreTreeReduce::footprint(pipeline(shape), shape);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return barrier_at(shape) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : p_(p),
          tree_(tree(setup.shape), setup),
          pieces_(pieces(setup.shape), part(setup, pieces_at(setup.shape))),
          pipeline_(pipeline(setup.shape), part(setup, pipeline_at(setup.shape))),
          barrier_(p.trailing, setup, barrier_at(setup.shape)),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      const std::size_t bytes = call.bytes();
      if (ranks_ > 4 && bytes >= static_cast<std::size_t>(p_.pipeline_from))
        pipeline_(port, call);
      else if (bytes >= static_cast<std::size_t>(p_.pieces_from))
        pieces_(port, call);
      else
        tree_(port, call);
      if (ranks_ > 1) barrier_(port);
    }

   private:
    static Setup part(const Setup& setup, std::size_t offset) {
      return Setup{setup.rank, setup.shape, setup.memory + offset};
    }

    Parameters p_;
    LocalStoreTreeReduce::Rank<Port> tree_;
    PiecePerRankReduce::Rank<Port> pieces_;
    LocalStoreTreeReduce::Rank<Port> pipeline_;
    TrailingBarrier<Port> barrier_;
    int ranks_;
  };
};

}  // namespace phicoll
