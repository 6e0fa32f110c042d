#pragma once

// The small reduction of ramos-hoefler-2013 section 4.3: a tree of d levels in which a parent of level i has
// buffers for its k_i children. A parent sets a flag when its buffers are free; a child reads it, writes its
// operand (what it combined from its own children) into its buffer and notifies; a parent that has all
// notifications combines the buffers. The paper reduces one item; larger counts go in pieces.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/reduce/tree_model.hpp"
#include "phicoll/collectives/reduce/tree_pieces.hpp"
#include "phicoll/collectives/structure/level_tree.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// k1..k6 are the levels. Without them (k1=0) they have the least cost by equation 4.13, as in the paper, with
// the costs of the ranks' machine (tree_model.hpp). level_tree.hpp says where ranks lie if the tree holds
// more; if it holds fewer, the last k serves further levels.
//
// buffers=parent is the paper's way: a parent has k_i buffers side by side, to which its children copy what
// they combined. By default each buffer is the child's own memory, where it also combines.
//
// into=common is what section 4.3 dismisses: one buffer with which each rank in turn combines its operand.
struct ModelTreeReduce : AlgorithmDefaults {
  enum class Into : unsigned char { parents, common };
  enum class Ack : unsigned char { counter, line_per_child };
  enum class Buffers : unsigned char { child, parent };
  static constexpr int levels = 6;

  struct Parameters {
    int k[levels] = {0, 0, 0, 0, 0, 0};
    int piece = 1024;
    Into into = Into::parents;
    Ack ack = Ack::counter;
    Buffers buffers = Buffers::child;
  };

  static AlgorithmFacts facts() {
    return {"model-tree", Origin::paper, "ramos-hoefler-2013 section 4.3",
            "the tree that a model of line transfers finds best; or one common location"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("k1", p.k[0], 0, max_ranks, "children of the root; 0: all levels by the model");
    visitor.integer("k2", p.k[1], 0, max_ranks, "children of a rank in level 1; 0: no more levels given");
    visitor.integer("k3", p.k[2], 0, max_ranks, "the same in level 2");
    visitor.integer("k4", p.k[3], 0, max_ranks, "in level 3");
    visitor.integer("k5", p.k[4], 0, max_ranks, "in level 4");
    visitor.integer("k6", p.k[5], 0, max_ranks, "in level 5");
    visitor.integer("piece", p.piece, max_element_bytes, 1 << 20, "bytes of a buffer");
    visitor.choice("into", p.into, {"parents", "common"},
                   "a buffer for each child, or one that all combine into, one after the other");
    visitor.choice("ack", p.ack, {"counter", "line-per-child"},
                   "children notify in one line of the parent or in a line each");
    visitor.choice("buffers", p.buffers, {"child", "parent"},
                   "each child's buffer lies with the child, or all side by side with their parent");
  }

  static const char* refuse(const Parameters& p) {
    for (int i = 1; i < levels; ++i)
      if (p.k[i] != 0 && p.k[i - 1] == 0)
        return "k1..k6 without a gap: a level is 0 only if all after it are";
    return p.into == Into::common && p.buffers == Buffers::parent ? "buffers=child with into=common"
                                                                  : nullptr;
  }
  static const char* unfit(const Parameters& p, const Shape&, const CallFacts& facts) {
    return facts.commutative || p.into == Into::common
               ? nullptr
               : "a commutative operator, or into=common: subtrees are not in rank order";
  }
  static bool in_rank_order(const Parameters& p) { return p.into == Into::common; }

  static std::vector<int> levels_of(const Parameters& p, const Shape& shape) {
    std::vector<int> k;
    for (int i = 0; i < levels && p.k[i] != 0; ++i) k.push_back(p.k[i]);
    if (k.empty()) k = best_reduction_levels(shape.size(), shape.costs(), levels);
    return k;
  }
  static void limit(Parameters& p, const Shape& shape) {
    const int useful = shape.size() > 1 ? shape.size() - 1 : 1;
    const std::vector<int> k = levels_of(p, shape);
    for (int i = 0; i < levels; ++i) {
      const auto at = static_cast<std::size_t>(i);
      p.k[i] = at >= k.size() ? 0 : k[at] < useful ? k[at] : useful;
    }
    if (p.buffers == Buffers::child) return;
    limit_bytes(p.piece, max_element_bytes, [&] { return footprint(p, shape); });
    // Where the smallest pieces are still too many, each rank has fewer children. The last k serves further
    // levels then.
    const std::size_t room = most_buffers / static_cast<std::size_t>(shape.size()) - sizeof(Lines);
    const int most = static_cast<int>(std::min(room / piece_bytes(p) - 1, std::size_t{max_ranks}));
    for (int& children : p.k) children = std::min(children, most);
  }

  static std::size_t piece_bytes(const Parameters& p) {
    return arch::whole_strides(static_cast<std::size_t>(p.piece));
  }
  /// The rank's own buffer, and with buffers=parent those of as many children as any rank has.
  static std::size_t rank_bytes(const Parameters& p) {
    const std::size_t places =
        p.buffers == Buffers::child ? 0 : static_cast<std::size_t>(*std::max_element(p.k, p.k + levels));
    return sizeof(Lines) + piece_bytes(p) + places * piece_bytes(p);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * rank_bytes(p);
  }

  struct Lines {
    Strided<CounterLine> open;      ///< written by this rank as a parent; rank 0's is `turn` with into=common
    Strided<CounterLine> counter;   ///< written by its children
    Strided<CounterLine> notified;  ///< written by this rank as a child
  };

  template <class Port>
  class Rank : private TreePieces<Port> {
    using Base = TreePieces<Port>;
    using Base::block;
    using Base::children_;
    using Base::rank_;
    using Base::ranks_;
    using Base::root_;
    using Base::step_;

   public:
    Rank(const Parameters& p, const Setup& setup)
        : Base(setup, static_cast<std::size_t>(p.piece), rank_bytes(p)),
          p_(p),
          k_(levels_of(p, setup.shape)) {}

    void operator()(Port& port, const Call& call) {
      this->each_piece(
          port, call, [this](int root) { turn_to(root); },
          [&](std::size_t at, std::size_t count) {
            if (p_.into == Into::parents)
              through_parents(port, call, at, count);
            else
              through_common(port, call, at, count);
          });
    }

   private:
    void turn_to(int root) {
      LevelTreeNode node = level_tree_node(k_, ranks_, this->node());
      this->take_children(std::move(node.children));
      parent_ = node.parent < 0 ? any_rank : rank_of(node.parent, root, ranks_);
      if (node.parent < 0 || p_.buffers == Buffers::child) return;
      const std::vector<int> siblings = level_tree_node(k_, ranks_, node.parent).children;
      place_ = static_cast<std::size_t>(std::find(siblings.begin(), siblings.end(), this->node()) -
                                        siblings.begin());
    }

    // (1) The child writes its buffer, the step's parent reads it. The child remembers step and parent of its
    //     last writing. If the buffer lies with the child, the child combines in it.
    // (2) ack=line-per-child: the child stores t + 1 (release, after its buffer) into its own line; the
    //     parent waits for each (acquire). ack=counter: the children add 1 to one line of the parent's, which
    //     it awaits to have grown by their number (section 4.1.1).
    void through_parents(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const bool is_root = rank_ == call.root;
      const std::size_t bytes = count * call.op.element_bytes;
      if (!children_.empty()) open(port, step_);
      // A parent's own buffer serves as its accumulator.
      const bool apart = p_.buffers == Buffers::parent && !is_root;
      const bool copies = apart && !children_.empty();
      if (!is_root && !copies) wait_for_buffer(port, apart);
      const Data given = apart ? port.shared(place(parent_, place_, bytes)) : Data{};
      const Data result = is_root ? call.receive + at : apart && !copies ? given : port.shared(buffer(rank_));
      if (p_.ack == Ack::counter && !children_.empty()) {
        counted_ += children_.size();
        port.wait(lines(rank_).counter.value.word, at_least(counted_));
      }
      std::size_t next = 0;
      this->combine_children(
          port, call, at, count, result,
          [&, bytes](int child) {
            if (p_.ack == Ack::line_per_child)
              port.wait(lines(child).notified.value.word, at_least(step_ + 1), child);
            return port.shared(p_.buffers == Buffers::parent ? place(rank_, next++, bytes) : buffer(child));
          },
          [](int) {});
      if (!children_.empty()) open(port, step_ + 1);
      if (is_root) return;
      if (copies) {
        wait_for_buffer(port, apart);
        port.move(given, result, bytes);
      }
      last_parent_ = parent_;
      last_step_ = step_;
      if (p_.ack == Ack::counter)
        port.signal_add(lines(parent_).counter.value.word, std::uint64_t{1});
      else
        port.signal(lines(rank_).notified.value.word, step_ + 1);
    }

    // (3) `open` of a parent = t: it has read all its buffers of steps before t. Only the parent writes it
    //     (release after its reads, at the end of a step with children, or at the beginning of one if it said
    //     something older).
    void open(Port& port, std::uint64_t step) {
      if (opened_ == step) return;
      opened_ = step;
      port.signal(lines(rank_).open.value.word, step);
    }
    // (4) A child waits (acquire) for its parent to have opened this step: then its buffer is free, and its
    //     notification cannot count for an earlier step. If the buffer is the child's own and its last parent
    //     was another, it also waits for that one to have opened the step after the child's last. A buffer
    //     `apart` is this parent's: the last parent reads another.
    void wait_for_buffer(Port& port, bool apart) {
      if (!apart && last_parent_ != any_rank && last_parent_ != parent_)
        port.wait(lines(last_parent_).open.value.word, at_least(last_step_ + 1), last_parent_);
      port.wait(lines(parent_).open.value.word, at_least(step_), parent_);
    }

    // One word `turn` passes from rank to rank (release, acquire) and last to the root, which takes the
    // result and passes it to the first rank of the next step.

    // Turn number step * (P + 1) + i is rank i's, that with i = P the root's.
    void through_common(Port& port, const Call& call, std::size_t at, std::size_t count) {
      Word<std::uint64_t>& turn = lines(0).open.value.word;
      const std::uint64_t first = step_ * static_cast<std::uint64_t>(ranks_ + 1);
      const std::uint64_t own = first + static_cast<std::uint64_t>(rank_);
      const Data common = port.shared(buffer(0));
      port.wait(turn, at_least(own));
      if (rank_ == 0)
        port.move(common, call.send + at, count * call.op.element_bytes);
      else
        port.combine(call.op, common, common, call.send + at, count);
      port.signal(turn, own + 1);
      if (rank_ != call.root) return;
      const std::uint64_t last = first + static_cast<std::uint64_t>(ranks_);
      port.wait(turn, at_least(last));
      port.move(call.receive + at, common, count * call.op.element_bytes);
      port.signal(turn, last + 1);
    }

    Lines& lines(int rank) const { return *reinterpret_cast<Lines*>(block(rank)); }
    unsigned char* buffer(int rank) const { return block(rank) + sizeof(Lines); }
    /// The buffer of the parent's child number `child`, in a step with `bytes` bytes.
    unsigned char* place(int parent, std::size_t child, std::size_t bytes) const {
      return buffer(parent) + piece_bytes(p_) + child * arch::whole_lines(bytes);
    }

    Parameters p_;
    std::vector<int> k_;
    std::uint64_t opened_ = 0;
    std::uint64_t counted_ = 0;
    std::uint64_t last_step_ = 0;
    int last_parent_ = any_rank;
    int parent_ = any_rank;
    std::size_t place_ = 0;  // of this rank's buffer among its parent's
  };
};

}  // namespace phicoll
