#pragma once

// The choice among its broadcasts that paper 002 recommends. Source: velamati-2007 section 3.3:
// piece-per-rank ("AG") for data of 8,192 B or more, local-store-tree ("TREE") of degree 3 for less on more
// than four ranks, root-copies ("G") for less on up to four. See those for what makes what visible; each has
// memory of its own.

#include <memory>

#include "phicoll/collectives/broadcast/local_store_tree.hpp"
#include "phicoll/collectives/broadcast/piece_per_rank.hpp"
#include "phicoll/collectives/broadcast/root_copies.hpp"

namespace phicoll {

struct Paper002Broadcast : AlgorithmDefaults {
  struct Parameters {
    int large = 8192;
    int few = 4;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"paper-002", Origin::paper, "velamati-2007 section 3.3",
            "piece-per-rank for large messages; for small ones local-store-tree, on few ranks root-copies"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("large", p.large, 0, 1 << 30, "bytes from which a message is large");
    visitor.integer("few", p.few, 1, max_ranks, "ranks up to which the root copies small messages itself");
    describe_trailing(visitor, p.trailing);
  }
  static void limit(Parameters& p, const Shape& shape) {
    if (p.few > shape.size()) p.few = shape.size();
  }

  static PiecePerRankBroadcast::Parameters pieces(const Parameters& p) {
    PiecePerRankBroadcast::Parameters pieces;
    pieces.trailing = p.trailing;
    return pieces;
  }
  static LocalStoreTreeBroadcast::Parameters tree(const Parameters& p, const Shape& shape) {
    LocalStoreTreeBroadcast::Parameters tree;
    tree.trailing = p.trailing;
    LocalStoreTreeBroadcast::limit(tree, shape);
    return tree;
  }
  static RootCopiesBroadcast::Parameters root(const Parameters& p, const Shape& shape) {
    RootCopiesBroadcast::Parameters root;
    root.trailing = p.trailing;
    RootCopiesBroadcast::limit(root, shape);
    return root;
  }
  static std::size_t small_at(const Parameters& p, const Shape& shape) {
    const std::size_t bytes = PiecePerRankBroadcast::footprint(pieces(p), shape);
    return arch::whole_strides(bytes);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return small_at(p, shape) + (shape.size() <= p.few
                                     ? RootCopiesBroadcast::footprint(root(p, shape), shape)
                                     : LocalStoreTreeBroadcast::footprint(tree(p, shape), shape));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : pieces_(pieces(p), setup), large_(static_cast<std::size_t>(p.large)) {
      const Setup behind{setup.rank, setup.shape, setup.memory + small_at(p, setup.shape)};
      if (setup.size() <= p.few)
        root_.reset(new Root(root(p, setup.shape), behind));
      else
        tree_.reset(new Tree(tree(p, setup.shape), behind));
    }

    void operator()(Port& port, const Call& call) {
      if (call.count >= large_)
        pieces_(port, call);
      else if (root_)
        (*root_)(port, call);
      else
        (*tree_)(port, call);
    }

   private:
    using Root = typename RootCopiesBroadcast::template Rank<Port>;
    using Tree = typename LocalStoreTreeBroadcast::template Rank<Port>;

    typename PiecePerRankBroadcast::template Rank<Port> pieces_;
    std::unique_ptr<Root> root_;
    std::unique_ptr<Tree> tree_;
    std::size_t large_;
  };
};

}  // namespace phicoll
