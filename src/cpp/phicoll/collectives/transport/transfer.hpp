#pragma once

// What the allreduce algorithms of namashivayam-2014 have in common: how data gets from rank to rank, and the
// size of the pieces in which a message passes through bounded buffers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/structure/fold.hpp"
#include "phicoll/collectives/transport/move_some.hpp"
#include "phicoll/collectives/transport/put_boxes.hpp"
#include "phicoll/collectives/transport/shown.hpp"

namespace phicoll {

/// put_get copies data into buffers of the receiver, which reads it there (sections 5.1.1 to 5.1.4);
/// load_store reads and writes a peer's array where it lies (shmem_ptr, section 5.2).
enum class TransferWay : unsigned char { put_get, load_store };

template <class Visitor>
void describe_transfer(Visitor& visitor, TransferWay& transfer) {
  visitor.choice("transfer", transfer, {"put-get", "load-store"},
                 "data is copied into the receiver's buffer, or the peer's array is read where it lies");
}
template <class Visitor>
void describe_buffer(Visitor& visitor, int& buffer) {
  visitor.integer("buffer", buffer, max_element_bytes, 1 << 24,
                  "bytes of a piece, and of each shared buffer");
}

constexpr int default_piece_bytes = 65536;

/// Limits a buffer so that `buffers` of them for each rank, and `taken` bytes beside them, have at most 32
/// MB, however many ranks there are.
inline void limit_buffer(int& buffer, int ranks, int buffers, std::size_t taken = 0) {
  const long most = ((32L << 20) - static_cast<long>(taken)) / ranks / buffers / 64 * 64;
  buffer = static_cast<int>(std::min<long>(buffer, std::max<long>(most, max_element_bytes)));
}

/// Combines operands of two ranges of ranks; `theirs_first`: theirs are the lower ranks.
template <class Port>
void combine_sides(Port& port, const Operator& op, Data to, Data mine, Data theirs, bool theirs_first,
                   std::size_t count) {
  if (count == 0) return;
  if (theirs_first)
    port.combine(op, to, theirs, mine, count);
  else
    port.combine(op, to, mine, theirs, count);
}

/// A rank's arrays for one piece of a load/store algorithm.
struct PieceArrays {
  Data send;
  Data receive;
  std::size_t count;
  std::size_t bytes;
  bool send_direct;      ///< peers reach it
  bool receive_direct;   ///< likewise
  std::uint64_t number;  ///< of the piece, from 1 on, over all calls
};

/// Takes calls through an algorithm in pieces of at most a buffer, by one of the ways of transfer.
class TransferPieces {
 public:
  TransferPieces(TransferWay transfer, int buffer, int ranks)
      : bytes_(static_cast<std::size_t>(buffer)), transfer_(transfer), alone_(ranks == 1) {}

  /// put_get(operator, send, receive, elements, number of the piece, from 0 on, over all calls) or
  /// load_store(operator, arrays) for each piece; a rank alone copies.
  template <class Port, class PutGet, class LoadStore>
  void operator()(Port& port, const Call& call, PutGet put_get, LoadStore load_store) {
    if (transfer_ == TransferWay::load_store) return where_it_lies(port, call, load_store);
    if (alone_) return move_some(port, call.receive, call.send, call.bytes());
    const std::size_t size = call.op.element_bytes;
    const std::size_t most = bytes_ / size;
    for (std::size_t at = 0; at < call.count; at += most)
      put_get(call.op, call.send + at * size, call.receive + at * size, std::min(most, call.count - at),
              pieces_++);
  }
  /// The same for an algorithm that only loads and stores.
  template <class Port, class LoadStore>
  void where_it_lies(Port& port, const Call& call, LoadStore load_store) {
    if (alone_) return move_some(port, call.receive, call.send, call.bytes());
    const std::size_t size = call.op.element_bytes;
    const std::size_t most = bytes_ / size;
    const bool send_direct = port.reachable(call.send, call.bytes());
    const bool receive_direct =
        call.receive == call.send ? send_direct : port.reachable(call.receive, call.bytes());
    for (std::size_t at = 0; at < call.count; at += most) {
      const std::size_t count = std::min(most, call.count - at);
      load_store(call.op, PieceArrays{call.send + at * size, call.receive + at * size, count, count * size,
                                      send_direct, receive_direct, ++pieces_});
    }
  }

 private:
  std::uint64_t pieces_ = 0;
  std::size_t bytes_;
  TransferWay transfer_;
  bool alone_;
};

/// A rank's buffers in shared memory, for data that peers cannot reach where it lies and for data under way.
class ScratchBuffers {
 public:
  static std::size_t footprint(int ranks, std::size_t bytes, int buffers = 2) {
    return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(buffers) * arch::whole_strides(bytes);
  }
  ScratchBuffers(const Setup& setup, std::size_t offset, std::size_t bytes, int buffers = 2)
      : first_(setup.memory + offset + footprint(setup.rank, bytes, buffers)),
        stride_(arch::whole_strides(bytes)) {}
  template <class Port>
  Data get(Port& port, int i) const {
    return port.shared(first_ + static_cast<std::size_t>(i) * stride_);
  }

 private:
  unsigned char* first_;
  std::size_t stride_;
};

/// The part of a rank that stands aside in a load/store algorithm: it shows where its operand is and where
/// the result goes; the rank above reads the one and stores the other.
template <class Port>
void load_store_folded(Port& port, Shown<Port>& shown, int slot, const PieceArrays& a, Data buffer,
                       int carrier) {
  if (!a.send_direct) move_some(port, buffer, a.send, a.bytes);
  shown.show(port, slot, a.number, a.send_direct ? a.send : buffer, a.receive_direct ? a.receive : buffer);
  shown.await_done(port, slot, a.number, carrier);
  if (!a.receive_direct) move_some(port, a.receive, buffer, a.bytes);
}

/// What a rank has for either way: boxes of these capacities, or buffers of so many bytes and slots that show
/// places.
struct TransferMemory {
  TransferWay way;
  std::vector<std::size_t> capacities;
  std::size_t bytes;
  int slots;

  std::size_t footprint(int ranks) const {
    return way == TransferWay::put_get
               ? put_boxes_footprint(ranks, capacities, 2, Credit::implied)
               : ScratchBuffers::footprint(ranks, bytes) + shown_footprint(ranks, slots);
  }
};

/// That memory, and the pieces of calls.
template <class Port>
class PiecewiseTransfer {
 public:
  PiecewiseTransfer(const Setup& setup, const TransferMemory& memory)
      : boxes(setup, 0, memory.capacities, 2, Credit::implied),
        scratch(setup, 0, memory.bytes),
        shown(setup, ScratchBuffers::footprint(setup.size(), memory.bytes), memory.slots),
        pieces_(memory.way, static_cast<int>(memory.bytes), setup.size()) {}

  /// As TransferPieces.
  template <class PutGet, class LoadStore>
  void operator()(Port& port, const Call& call, PutGet put_get, LoadStore load_store) {
    boxes.begin(call);
    shown.begin(call);
    pieces_(port, call, put_get, load_store);
  }

  PutBoxes<Port> boxes;
  ScratchBuffers scratch;
  Shown<Port> shown;

 private:
  TransferPieces pieces_;
};

}  // namespace phicoll
