#pragma once

// What the tree broadcasts of papers 002 and 004 share. The algorithms give the tree and these rules:
//
// - where a parent announces data: in its own header line, read by all its children (ramos-hoefler-2013
//   section 4.1.1), or in one per child (velamati-2007 section 3.1)
// - where the data lies: in the header line; in the parent's own buffer, whose address the header gives (zero
//   copy); in cells of the parent's; in cells of the child's ("sender-driven")
// - how a child acknowledges: by an add to a parent's counter, one per cell, or in a line of its own

#include <algorithm>
#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/broadcast/header_line.hpp"
#include "phicoll/collectives/broadcast/pieces.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/trailing.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/support/aligned_vector.hpp"

// A message goes in pieces, numbered alike by all ranks, call after call; numbers are never reset. A header's
// sequence is the number of pieces announced.
//
// (1) The parent stores data, or has its buffer filled, then signals the sequence (release). A child that has
//     awaited it (acquire) sees the data, and the handle of the parent's buffer beside the sequence.
// (2) A child acknowledges (release) when it has read. The parent waits for that (acquire) before it writes
//     there again or returns with its own buffer exposed.
namespace phicoll {

enum class Acknowledgement : unsigned char { counter, line_per_child };

struct TreePassing {
  bool header_at_child = false;
  bool cells_at_child = false;  ///< only with header_at_child
  bool own_buffer = true;       ///< children read the parent's own buffer where they can
  bool small_in_header = true;
  bool occupied = false;  ///< the root sets a global flag while the call uses the shared structures
  bool subtree = false;   ///< a rank acknowledges the last piece when all below it have, and then returns
  Acknowledgement ack = Acknowledgement::line_per_child;  ///< what header_at_child needs
  int piece = 16384;
  int cells = 2;
  Trailing trailing = Trailing::none;

  int counters() const { return ack == Acknowledgement::counter ? cells : 1; }
  std::size_t counters_at(int ranks) const { return headers_footprint(ranks); }
  std::size_t cells_at(int ranks) const {
    return counters_at(ranks) + counters_footprint(ranks * counters());
  }
  std::size_t trailing_at(int ranks) const {
    return cells_at(ranks) + static_cast<std::size_t>(ranks) * static_cast<std::size_t>(cells) *
                                 arch::whole_strides(static_cast<std::size_t>(piece));
  }
  std::size_t occupied_at(const Shape& shape) const {
    return trailing_at(shape.size()) + trailing_footprint(trailing, shape);
  }
  std::size_t footprint(const Shape& shape) const {
    return occupied_at(shape) + (occupied ? sizeof(Strided<CounterLine>) : 0);
  }
};

template <class Port>
class TreePassingRank {
 public:
  TreePassingRank(const TreePassing& rules, RankTree tree, const Setup& setup)
      : rules_(rules),
        tree_(std::move(tree)),
        headers_(setup.at<Strided<HeaderLine>>(0)),
        counters_(setup.at<Strided<CounterLine>>(rules.counters_at(setup.size()))),
        cells_memory_(setup.at<unsigned char>(rules.cells_at(setup.size()))),
        trailing_(rules.trailing, setup, rules.trailing_at(setup.size())),
        occupied_(rules.occupied ? setup.at<CounterLine>(rules.occupied_at(setup.shape)) : nullptr),
        piece_(static_cast<std::size_t>(rules.piece)),
        cells_(static_cast<std::uint64_t>(rules.cells)),
        expected_(static_cast<std::size_t>(rules.counters()), 0),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  // Nothing is overwritten early:
  //
  // (3) A parent writes its header and cells in a call only after its children of the former call have
  //     acknowledged that call's last piece (drain). Within a call it writes a cell only after its children
  //     have acknowledged the piece there.
  // (3a) A child acknowledges pieces in order. A counter serves one cell only: adds by a child that is ahead
  //      must not stand for a late one.
  void operator()(Port& port, const Call& call) {
    if (call.count == 0 || ranks_ == 1) return;
    if (call.root != root_)
      take_places(port, call.root);
    else
      drain(port);
    first_ = step_;
    if (occupied_ != nullptr && parent_ < 0) occupy(port);
    if (rules_.small_in_header && call.count <= header_payload) {
      step_ = first_ + 1;
      in_header(port, call);
    } else {
      step_ = first_ + (call.count - 1) / piece_ + 1;
      if (parent_ < 0)
        send(port, call);
      else
        receive(port, call);
    }
    if (occupied_ != nullptr && parent_ < 0) port.signal(occupied_->word, step_ << 1);
    trailing_(port);
  }

 private:
  // (4) A child's header and cells change writer with the root. So each rank's acknowledgement line says
  //     after every call, even as the root, that it has read all; a parent awaits that before it first writes
  //     to a child in a call.
  void take_places(Port& port, int root) {
    drain(port);  // the former children
    root_ = root;
    const int relative = (rank_ - root + ranks_) % ranks_;
    parent_ = relative == 0 ? -1 : (tree_.parent(relative) + root) % ranks_;
    children_.clear();
    for (const int* child = tree_.begin(relative); child != tree_.end(relative); ++child)
      children_.push_back((*child + root) % ranks_);
  }

  HeaderLine& header(int rank) const { return headers_[rank].value; }
  Word<std::uint64_t>& line_of(int rank) const { return counters_[rank].value.word; }
  std::size_t cell_of(std::uint64_t step) const { return static_cast<std::size_t>(step % cells_); }
  Word<std::uint64_t>& counter(int rank, std::uint64_t step) const {
    return counters_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(cells_) + cell_of(step)]
        .value.word;
  }
  Data cell(Port& port, int rank, std::uint64_t step) const {
    const std::size_t index =
        static_cast<std::size_t>(rank) * static_cast<std::size_t>(cells_) + cell_of(step);
    return port.shared(cells_memory_ + index * arch::whole_strides(static_cast<std::size_t>(rules_.piece)));
  }
  // An owner whose buffer the others cannot reach says so by a header without a handle and passes pieces
  // through its cells; its children follow. Each owner decides for itself, so both kinds mix in one tree.
  bool counting() const { return rules_.ack == Acknowledgement::counter; }

  // The global flag is twice the number of pieces sent in earlier calls, plus 1 while a call is running. A
  // root waits until the last call's root has cleared that 1.
  void occupy(Port& port) {
    port.wait(occupied_->word, equal(first_ << 1));
    port.store_relaxed(occupied_->word, (first_ << 1) + 1);
  }

  // Waits until all children have acknowledged the last piece of the previous call.
  void drain(Port& port) {
    if (!owed_) return;
    owed_ = false;
    if (counting()) {
      for (std::uint64_t c = 0; c < cells_; ++c)
        port.wait(counter(rank_, c), at_least(expected_[static_cast<std::size_t>(c)]));
    } else {
      for (const int child : children_) port.wait(line_of(child), at_least(owed_step_), child);
    }
  }
  void expect(std::uint64_t step) {
    owed_ = true;
    owed_step_ = step_;
    if (counting()) expected_[cell_of(step)] += children_.size();
  }
  void acknowledge(Port& port, std::uint64_t step) {
    if (counting())
      port.signal_add(counter(parent_, step), std::uint64_t{1});
    else
      port.signal(line_of(rank_), step + 1);
  }
  // Waits until a child's header and cells are free: until it has read all of the previous calls.
  void await_ready(Port& port, int child) {
    if (rules_.header_at_child) port.wait(line_of(child), at_least(first_), child);
  }

  void in_header(Port& port, const Call& call) {
    Data from = call.receive;
    if (parent_ >= 0) {
      HeaderLine& in = header(rules_.header_at_child ? rank_ : parent_);
      port.wait(in.sequence, at_least(step_), parent_);
      from = port.shared(in.payload);
      if (!rules_.header_at_child) {
        port.move(call.receive, from, call.count);
        from = call.receive;
      }
    }
    if (!children_.empty()) {
      if (rules_.header_at_child) {
        for (const int child : children_) await_ready(port, child);
        // The root makes the entry in its own, which nobody else uses now (4).
        if (parent_ < 0) {
          from = port.shared(header(rank_).payload);
          port.move(from, call.receive, call.count);
        }
        for (const int child : children_) put_into(port, header(child), from, call.count);
      } else {
        put_into(port, header(rank_), from, call.count);
      }
      expect(first_);
    }
    // A child's own header, which it passes on first.
    if (parent_ >= 0 && rules_.header_at_child) port.move(call.receive, from, call.count);
    finish(port, false, false);
  }
  void put_into(Port& port, HeaderLine& line, Data from, std::size_t bytes) {
    port.signal_with(line.sequence, step_, port.shared(line.payload), from, bytes);
  }

  // Pieces below `end` are ready where this rank's header says.
  void announce(Port& port, std::uint64_t end) {
    if (rules_.header_at_child)
      for (const int child : children_) port.signal(header(child).sequence, end);
    else
      port.signal(header(rank_).sequence, end);
  }
  // Whether this rank's children read its own buffer; the first announcement says where it is.
  bool decide(Port& port, const Call& call) {
    if (children_.empty()) return false;
    for (const int child : children_) await_ready(port, child);
    if (!rules_.own_buffer) return false;
    const Exposed handle = handle_if_exposable(port, call.receive, call.count);
    if (rules_.header_at_child)
      for (const int child : children_) store_handle(port, header(child), handle);
    else
      store_handle(port, header(rank_), handle);
    if (handle) expect(step_ - 1);
    return static_cast<bool>(handle);
  }

  // One piece to all children through cells.
  void pass(Port& port, std::uint64_t step, Data source, std::size_t bytes) {
    if (rules_.cells_at_child) {
      for (const int child : children_) {
        if (step - first_ >= cells_) port.wait(line_of(child), at_least(step + 1 - cells_), child);
        port.move(cell(port, child, step), source, bytes);
        port.signal(header(child).sequence, step + 1);
      }
      owed_ = true;
      owed_step_ = step_;
      return;
    }
    if (step - first_ >= cells_) {
      if (counting())
        port.wait(counter(rank_, step), at_least(expected_[cell_of(step)]));
      else
        for (const int child : children_) port.wait(line_of(child), at_least(step + 1 - cells_), child);
    }
    port.move(cell(port, rank_, step), source, bytes);
    expect(step);
    announce(port, step + 1);
  }
  void pass_all(Port& port, const Call& call, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step < to; ++step) {
      const std::size_t at = offset(step);
      pass(port, step, call.receive + at, std::min(piece_, call.count - at));
    }
  }
  std::size_t offset(std::uint64_t step) const { return static_cast<std::size_t>(step - first_) * piece_; }

  void send(Port& port, const Call& call) {
    const bool exposed = decide(port, call);
    if (exposed)
      announce(port, step_);
    else
      pass_all(port, call, first_, step_);
    finish(port, exposed, true);
  }

  void receive(Port& port, const Call& call) {
    const bool exposed = decide(port, call);
    HeaderLine& in = header(rules_.header_at_child ? rank_ : parent_);
    port.wait(in.sequence, at_least(first_ + 1), parent_);
    const Exposed parents = rules_.own_buffer ? load_handle(port, in) : Exposed{0, 0, 0};
    if (parents)
      read_buffer(port, call, in, parents, exposed);
    else
      read_cells(port, call, in, exposed);
    finish(port, exposed, !parents);
  }

  void read_buffer(Port& port, const Call& call, HeaderLine& in, const Exposed& parents, bool exposed) {
    for (std::uint64_t done = first_; done != step_;) {
      const std::uint64_t seen = port.wait(in.sequence, at_least(done + 1), parent_);
      const std::uint64_t until = std::min(seen, step_);
      const std::size_t at = offset(done);
      const std::size_t end = until == step_ ? call.count : offset(until);
      port.fetch(call.receive + at, parents, at, end - at);
      if (exposed)
        announce(port, until);
      else if (!children_.empty())
        pass_all(port, call, done, until);
      done = until;
    }
  }

  void read_cells(Port& port, const Call& call, HeaderLine& in, bool exposed) {
    const bool passes = !children_.empty() && !exposed;
    for (std::uint64_t step = first_; step != step_; ++step) {
      port.wait(in.sequence, at_least(step + 1), parent_);
      const std::size_t at = offset(step);
      const std::size_t bytes = std::min(piece_, call.count - at);
      const Data source = cell(port, rules_.cells_at_child ? rank_ : parent_, step);
      if (passes && !rules_.cells_at_child) {
        // From cell to cell, and on to the children before this rank's own buffer gets it.
        pass(port, step, source, bytes);
        acknowledge_piece(port, step);
        port.move(call.receive + at, cell(port, rank_, step), bytes);
      } else {
        if (passes) pass(port, step, source, bytes);
        port.move(call.receive + at, source, bytes);
        acknowledge_piece(port, step);
        if (exposed) announce(port, step + 1);
      }
    }
  }
  // `finish` acknowledges the last piece, because it may have to wait for the subtree first.
  void acknowledge_piece(Port& port, std::uint64_t step) {
    if (step + 1 != step_ || !rules_.subtree) acknowledge(port, step);
  }

  void finish(Port& port, bool exposed, bool acknowledged) {
    const bool wait_below = exposed || rules_.subtree;
    if (parent_ >= 0 && !rules_.subtree && !acknowledged) acknowledge(port, step_ - 1);
    if (wait_below) drain(port);
    if (parent_ >= 0 && rules_.subtree) acknowledge(port, step_ - 1);
    // The root reads nothing, but its next writer must see that all of this call was read.
    if (parent_ < 0 && rules_.header_at_child) port.signal(line_of(rank_), step_);
  }

  TreePassing rules_;
  RankTree tree_;
  Strided<HeaderLine>* headers_;
  Strided<CounterLine>* counters_;
  unsigned char* cells_memory_;
  TrailingBarrier<Port> trailing_;
  CounterLine* occupied_;
  std::size_t piece_;
  std::uint64_t cells_;
  std::uint64_t first_ = 0;  // pieces before this call
  std::uint64_t step_ = 0;   // and with it
  std::uint64_t owed_step_ = 0;
  AlignedVector<std::uint64_t> expected_;  // of this rank's counters
  AlignedVector<int> children_;
  bool owed_ = false;  // children have yet to acknowledge
  int root_ = -1;
  int parent_ = -1;
  int rank_;
  int ranks_;
};

}  // namespace phicoll
