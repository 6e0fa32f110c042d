// The intercepted collectives. Each is a template over its count and displacement types, so that the versions
// with large counts (MPI-4) are the same code. Each first asks whether the call is phicoll's, by what all
// ranks share; otherwise, or where an argument is one that the MPI refuses, the MPI gets the call as it is.

#include <string.h>

#include "shim.h"

namespace phicoll_mpi {
namespace {

/// Whether this rank must act for its node: it is the first whose process has not ended.
bool is_first_alive(const Nodes& nodes) {
  for (int place = 0; place < nodes.place; ++place)
    if (phicoll_preload_has_ended(nodes.local, place) == 0) return false;
  return true;
}

/// phicoll could not end a call. Its group is broken then, for all its ranks. Over nodes, other nodes'
/// leaders would wait for this node's in the MPI, unless that has refused them all a call of this
/// communicator. A leader that was refused knows, and acts for its node as long as it lives.
int fail(const Comm& comm, Row row) {
  const bool awaited = comm.nodes != nullptr && !comm.nodes->refused && is_first_alive(*comm.nodes);
  char which[512];
  name_communicator(comm, which, sizeof which);
  say("MPI_%s on %s: %s%s", row_names[static_cast<int>(row)], which, phicoll_preload_error(),
      awaited ? "; the program ends, as other nodes wait for this one" : "");
  if (awaited) PMPI_Abort(comm.handle, MPI_ERR_OTHER);
  PMPI_Comm_call_errhandler(comm.handle, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

/// For a communicator whose ranks are not known to be all in phicoll.
[[gnu::noinline]] Comm* ours_otherwise(Comm* comm, Row row) {
  if (comm != nullptr && comm->why == Why::early) {
    count_call(comm);
    if (comm->ranks != nullptr) return comm;
  }
  if (comm != nullptr && comm->nodes != nullptr && spreads(row)) return comm;
  note_passed(comm != nullptr ? comm->why : Why::inactive);
  return nullptr;
}

/// The communicator if its calls are phicoll's, or null.
[[gnu::always_inline]] inline Comm* ours(MPI_Comm handle, Row row) {
  Comm* const comm = find(handle);
  __atomic_store_n(&calls_begun, __atomic_load_n(&calls_begun, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  if (__builtin_expect(comm != nullptr && comm->ranks != nullptr, 1)) return comm;
  return ours_otherwise(comm, row);
}

/// Whether all ranks are on one node.
bool whole(const Comm& comm) {
  return __builtin_expect(comm.ranks != nullptr, 1);
}

/// Those that spread() allows have one row each.
Row row_over_nodes(const PhicollRequest& request) {
  int row = 0;
  while (kinds[row].operation != request.operation) ++row;
  return static_cast<Row>(row);
}

/// Makes a call in phicoll. The rest describes a reduction to the MPI: the bytes of all its elements, its
/// type and operator.
[[gnu::always_inline]] inline PhicollResult make(const Comm& comm, const PhicollRequest& request,
                                                 size_t bytes, const MpiOperator& with) {
  if (whole(comm)) return phicoll_preload_call(comm.ranks, &request);
  if (__builtin_expect(!watching, 1)) return nodes_call(comm, request, bytes, with);
  Noted noted(comm.handle, row_over_nodes(request), Why::none);
  if (noted.comm() != nullptr) noted.enter(bytes);
  return nodes_call(comm, request, bytes, with);
}
PhicollResult make(const Comm& comm, const PhicollRequest& request) {
  return make(comm, request, request.count, MpiOperator{MPI_DATATYPE_NULL, MPI_OP_NULL});
}

/// The MPI serves a call of a communicator whose ranks are all in phicoll. It is noted there first: a rank
/// that waits in another call, in phicoll, for one that waits in this one finds out, and none waits for ever.
template <class Pass>
[[gnu::noinline]] int pass_noted(const Comm& comm, Row row, Why why, Pass pass) {
  note_passed(why);
  static uint64_t signatures[rows] = {};  // for all threads, which find the same
  uint64_t signature = __atomic_load_n(&signatures[static_cast<int>(row)], __ATOMIC_RELAXED);
  if (signature == 0) {
    signature = phicoll_preload_elsewhere(row_names[static_cast<int>(row)]);
    __atomic_store_n(&signatures[static_cast<int>(row)], signature, __ATOMIC_RELAXED);
  }
  if (whole(comm) && phicoll_preload_note(comm.ranks, signature) != PHICOLL_DONE) return fail(comm, row);
  return pass();
}

/// The algorithm that a variable names cannot serve the call, which is the MPI's then, on all ranks alike.
void stays(const Comm& comm, Row row) {
  static bool told[rows] = {};  // for all threads; of all ranks, so that no other tells it again
  if (!__atomic_exchange_n(&told[static_cast<int>(row)], true, __ATOMIC_RELAXED) && comm.rank == 0)
    say("MPI_%s stays with the MPI: %s", row_names[static_cast<int>(row)], phicoll_preload_error());
}

template <class Pass>
int pass_or_fail(const Comm& comm, Row row, PhicollResult result, Pass pass) {
  if (result != PHICOLL_UNFIT || !whole(comm)) return fail(comm, row);
  stays(comm, row);
  return pass_noted(comm, row, Why::algorithm, pass);
}

template <class Pass>
int ended(const Comm& comm, Row row, PhicollResult result, Pass pass) {
  if (__builtin_expect(result == PHICOLL_DONE, 1)) return MPI_SUCCESS;
  return pass_or_fail(comm, row, result, pass);
}

bool is_rank(const Comm& comm, int root) {
  return root >= 0 && root < comm.size;
}

/// Whether the two ranges share a byte.
bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const uintptr_t x = reinterpret_cast<uintptr_t>(a);
  const uintptr_t y = reinterpret_cast<uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}

/// A run of elements of one datatype in a rank's memory, as bytes.
class Elements {
 public:
  static constexpr bool equal = true;  ///< all ranks' blocks
  /// `memory` may be null if there are no bytes. Returns false for what the MPI will refuse.
  bool set(const void* memory, long long count, MPI_Datatype type) {
    memory_ = const_cast<void*>(memory);
    type_ = type;
    if (count < 0 || !facts_of(type, &facts_)) return false;
    count_ = static_cast<size_t>(count);
    return !facts_.plain || memory != nullptr || bytes() == 0;
  }
  /// The same with a block for each of `ranks`.
  bool set_blocks(const void* memory, long long count, MPI_Datatype type, int ranks) {
    if (!set(memory, count, type)) return false;
    ranks_ = static_cast<size_t>(ranks);
    count_ *= ranks_;
    return true;
  }
  size_t bytes() const { return count_ * facts_.size; }
  /// Those of a rank's block.
  size_t own(int) const { return bytes() / ranks_; }
  bool plain() const { return facts_.plain; }
  /// Of equal blocks a request needs no counts.
  void describe(const size_t**, const size_t**) const {}
  void* memory() const { return memory_; }
  bool overlaps(const void* other, size_t other_bytes) const {
    return facts_.plain && overlap(memory_, bytes(), other, other_bytes);
  }

  /// The data to be sent.
  const void* sent() { return facts_.plain ? memory_ : copy(); }
  /// The same where it must not overlap with what is received.
  const void* sent_apart(const Elements& received) {
    return received.plain() && overlaps(received.memory(), received.bytes()) ? copy() : sent();
  }
  /// A copy of the data, packed.
  unsigned char* copy() {
    unsigned char* const packed = scratch_.take(bytes());
    if (facts_.plain)
      memcpy(packed, memory_, bytes());
    else
      pack(packed, memory_, count_, type_, facts_);
    return packed;
  }
  /// Where the data is to be received.
  void* room() { return facts_.plain ? memory_ : (room_ = scratch_.take(bytes())); }
  /// The same if the data there is sent too.
  void* filled_room() { return facts_.plain ? memory_ : (room_ = copy()); }
  /// After the call.
  void arrived() {
    if (room_ != nullptr) unpack(memory_, room_, count_, type_, facts_);
  }

 private:
  void* memory_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  size_t count_ = 0, ranks_ = 1;
  TypeFacts facts_ = {true, 0, 0};
  Scratch scratch_;
  unsigned char* room_ = nullptr;
};

/// Blocks of one datatype, one a rank, with counts and displacements of their own.
class Blocks {
 public:
  static constexpr bool equal = false;
  template <class Count, class Displacement>
  bool set(const void* memory, const Count* counts, const Displacement* displacements, MPI_Datatype type,
           int ranks) {
    memory_ = static_cast<unsigned char*>(const_cast<void*>(memory));
    type_ = type;
    ranks_ = static_cast<size_t>(ranks);
    if (counts == nullptr || !facts_of(type, &facts_)) return false;
    bytes_ = table_.take((facts_.plain ? 2 : 4) * ranks_);
    at_ = bytes_ + ranks_;
    if (!facts_.plain) {
      counts_ = at_ + ranks_;
      starts_ = reinterpret_cast<MPI_Aint*>(counts_ + ranks_);
    }
    MPI_Aint lowest = 0;
    MPI_Aint highest = 0;
    for (size_t r = 0; r < ranks_; ++r) {
      // A rank with no data may have no displacements. It must not choose alone.
      if (counts[r] < 0 || (counts[r] > 0 && displacements == nullptr)) return false;
      const size_t count = static_cast<size_t>(counts[r]);
      const MPI_Aint start =
          displacements == nullptr ? 0 : static_cast<MPI_Aint>(displacements[r]) * facts_.extent;
      const MPI_Aint end = start + static_cast<MPI_Aint>(count) * facts_.extent;
      bytes_[r] = count * facts_.size;
      if (bytes_[r] != 0 && (total_ == 0 || start < lowest)) lowest = start;
      if (bytes_[r] != 0 && (total_ == 0 || end > highest)) highest = end;
      at_[r] = facts_.plain ? static_cast<size_t>(start) : total_;  // packed, one after the other
      if (!facts_.plain) {
        counts_[r] = count;
        starts_[r] = start;
      }
      total_ += bytes_[r];
    }
    if (facts_.plain) {
      // MPI_BOTTOM is null, and displacements are addresses then. Where there is no address either, the MPI
      // will refuse the call.
      if (total_ != 0 && reinterpret_cast<intptr_t>(memory) + lowest == 0) return false;
      for (size_t r = 0; r < ranks_; ++r) at_[r] = bytes_[r] == 0 ? 0 : at_[r] - static_cast<size_t>(lowest);
      base_ = total_ == 0 ? memory_ : memory_ + lowest;
      span_ = static_cast<size_t>(highest - lowest);
    }
    return true;
  }
  size_t total() const { return total_; }
  size_t own(int rank) const { return bytes_[rank]; }
  bool plain() const { return facts_.plain; }
  void describe(const size_t** counts, const size_t** displacements) const {
    *counts = bytes_;
    *displacements = at_;
  }
  bool overlaps(const void* other, size_t bytes) const {
    return facts_.plain && overlap(base_, span_, other, bytes);
  }
  bool overlaps(const Blocks& other) const {
    return facts_.plain && other.plain() && overlap(base_, span_, other.base_, other.span_);
  }

  const void* sent() { return facts_.plain ? base_ : packed(); }
  void* room() { return facts_.plain ? base_ : (room_ = scratch_.take(total_)); }
  void* filled_room() { return facts_.plain ? base_ : (room_ = packed()); }
  /// The data packed, with displacements that fit it.
  unsigned char* copy() {
    if (!facts_.plain) return packed();
    unsigned char* const all = scratch_.take(span_);
    if (span_ != 0) memcpy(all, base_, span_);
    return all;
  }
  void arrived() {
    if (room_ == nullptr) return;
    for (size_t r = 0; r < ranks_; ++r)
      unpack(memory_ + starts_[r], room_ + at_[r], counts_[r], type_, facts_);
  }

 private:
  unsigned char* packed() {
    unsigned char* const all = scratch_.take(total_);
    for (size_t r = 0; r < ranks_; ++r) pack(all + at_[r], memory_ + starts_[r], counts_[r], type_, facts_);
    return all;
  }

  unsigned char* memory_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  size_t ranks_ = 0;
  TypeFacts facts_ = {true, 0, 0};
  Counts table_;
  Scratch scratch_;
  size_t* bytes_ = nullptr;
  size_t* at_ = nullptr;
  size_t* counts_ = nullptr;  // these two of elements that are packed
  MPI_Aint* starts_ = nullptr;
  size_t total_ = 0, span_ = 0;
  unsigned char* base_ = nullptr;
  unsigned char* room_ = nullptr;
};

#define PHICOLL_PASS(why) \
  do {                    \
    note_passed(why);     \
    return pass();        \
  } while (false)
/// Of calls that move data of any type.
#define PHICOLL_PASS_UNLESS_PACKED(row) \
  if (!packs_plainly) return pass_noted(*comm, row, Why::operation, pass)

template <class Pass>
int barrier(MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Barrier;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  static constexpr PhicollRequest request = request_of(row, nullptr, nullptr, 0);
  return ended(*comm, row, make(*comm, request), pass);
}

template <class Count, class Pass>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Bcast;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  PHICOLL_PASS_UNLESS_PACKED(row);
  Elements data;
  if (!is_rank(*comm, root) || !data.set(buffer, count, type)) PHICOLL_PASS(Why::argument);
  if (data.bytes() == 0) return MPI_SUCCESS;  // as all ranks see
  void* const bytes = comm->rank == root ? data.filled_room() : data.room();
  const PhicollResult result = make(*comm, request_of(row, nullptr, bytes, data.bytes(), nullptr, root));
  if (result == PHICOLL_DONE && comm->rank != root) data.arrived();
  return ended(*comm, row, result, pass);
}

[[gnu::noinline]] const Reducing* find_or_make(Comm& comm, MPI_Datatype type, MPI_Op op, OwnOperator* own) {
  if (!whole(comm) && !keeps_order(comm, op)) return nullptr;
  return find_operator(type, op, &comm.reducing) ? &comm.reducing : own->make(type, op);
}

/// A reduction's operator if it is phicoll's, or the program's own, in `own`. As all ranks give the same
/// operator and type, all find the same.
[[gnu::always_inline]] inline const Reducing* operator_for(Comm& comm, MPI_Datatype type, MPI_Op op,
                                                           OwnOperator* own) {
  const Reducing& last = comm.reducing;
  if (__builtin_expect(last.with != nullptr && last.type == type && last.op == op && whole(comm), 1))
    return &last;
  return find_or_make(comm, type, op, own);
}

/// Where operator_for() finds none.
template <class Pass>
int pass_reduction(const Comm& comm, Row row, MPI_Op op, Pass pass) {
  return pass_noted(comm, row, whole(comm) || keeps_order(comm, op) ? Why::operation : Why::nodes, pass);
}

template <class Count, class Pass>
int reduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Reduce;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  OwnOperator own;
  const Reducing* const reducing = operator_for(*comm, type, op, &own);
  if (reducing == nullptr) return pass_reduction(*comm, row, op, pass);
  const bool at_root = comm->rank == root;
  const bool in_place = at_root && send == MPI_IN_PLACE;
  if (count < 0 || !is_rank(*comm, root) || (!at_root && send == MPI_IN_PLACE)) PHICOLL_PASS(Why::argument);
  if (count == 0) return MPI_SUCCESS;
  if (!whole(*comm) && !fits_counts(*comm, static_cast<size_t>(count))) PHICOLL_PASS(Why::nodes);
  if ((send == nullptr && !in_place) || (at_root && receive == nullptr)) PHICOLL_PASS(Why::argument);
  const size_t elements = static_cast<size_t>(count);
  const size_t bytes = elements * reducing->extent;
  Scratch apart;
  const void* from = in_place ? nullptr : send;
  if (at_root && from != nullptr && from != receive && overlap(from, bytes, receive, bytes))
    from = memcpy(apart.take(bytes), send, bytes);
  return ended(*comm, row,
               make(*comm, request_of(row, from, receive, elements, reducing->with, root), bytes,
                    MpiOperator{type, op}),
               pass);
}

/// All other calls of reduce_everywhere.
template <class Count, class Pass>
[[gnu::noinline]] int reduce_unusually(Row row, bool blocks, const void* send, void* receive, Count count,
                                       MPI_Datatype type, MPI_Op op, Comm* comm, Pass pass) {
  OwnOperator own;
  const Reducing* const reducing = operator_for(*comm, type, op, &own);
  if (reducing == nullptr) return pass_reduction(*comm, row, op, pass);
  if (count < 0) PHICOLL_PASS(Why::argument);
  if (count == 0) return MPI_SUCCESS;
  // Rank 0 of an exclusive scan receives nothing, so its buffer may be anything, and no algorithm writes to
  // it.
  if (row == Row::Exscan && comm->rank == 0 && send != MPI_IN_PLACE) receive = const_cast<void*>(send);
  if (send == nullptr || receive == nullptr) PHICOLL_PASS(Why::argument);
  const size_t elements = static_cast<size_t>(count);
  const size_t bytes = elements * reducing->extent;
  Scratch apart;
  const void* from = send == MPI_IN_PLACE ? nullptr : send;
  const size_t operands = blocks ? bytes * static_cast<size_t>(comm->size) : bytes;
  if (from != nullptr && (blocks || from != receive) && overlap(from, operands, receive, bytes))
    from = memcpy(apart.take(operands), send, operands);
  return ended(
      *comm, row,
      make(*comm, request_of(row, from, receive, elements, reducing->with), bytes, MpiOperator{type, op}),
      pass);
}

/// Reductions in which each rank has operands and results of `count` elements; operands of a block for each
/// rank if `blocks`. The usual call, by the communicator's last operator, has nothing to copy, make or free.
/// It is kept apart because a small call is short enough to notice.
template <class Count, class Pass>
[[gnu::always_inline]] inline int reduce_everywhere(Row row, bool blocks, const void* send, void* receive,
                                                    Count count, MPI_Datatype type, MPI_Op op,
                                                    MPI_Comm handle, Pass pass) {
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  const Reducing& last = comm->reducing;
  const size_t bytes = static_cast<size_t>(count) * last.extent;
  const bool usual = last.with != nullptr && last.type == type && last.op == op && whole(*comm) && !blocks &&
                     count > 0 && send != nullptr && send != MPI_IN_PLACE && receive != nullptr;
  if (__builtin_expect(!usual, 0) || overlap(send, bytes, receive, bytes))
    return reduce_unusually(row, blocks, send, receive, count, type, op, comm, pass);
  const PhicollRequest request = request_of(row, send, receive, static_cast<size_t>(count), last.with);
  const PhicollResult result = phicoll_preload_call(comm->ranks, &request);
  if (__builtin_expect(result == PHICOLL_DONE, 1)) return MPI_SUCCESS;
  return pass_or_fail(*comm, row, result, pass);
}

template <class Count, class Pass>
int reduce_scatter(const void* send, void* receive, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Reduce_scatter;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  OwnOperator own;
  const Reducing* const reducing = operator_for(*comm, type, op, &own);
  if (reducing == nullptr) return pass_reduction(*comm, row, op, pass);
  if (counts == nullptr || send == nullptr) PHICOLL_PASS(Why::argument);
  Counts table;
  size_t* const elements = table.take(static_cast<size_t>(comm->size));
  size_t total = 0;
  for (int r = 0; r < comm->size; ++r) {
    if (counts[r] < 0) PHICOLL_PASS(Why::argument);
    elements[r] = static_cast<size_t>(counts[r]);
    total += elements[r];
  }
  if (total == 0) return MPI_SUCCESS;
  if (receive == nullptr && elements[comm->rank] != 0) PHICOLL_PASS(Why::argument);
  const size_t bytes = total * reducing->extent;
  Scratch apart;
  const void* from = send == MPI_IN_PLACE ? nullptr : send;
  if (from != nullptr && overlap(from, bytes, receive, elements[comm->rank] * reducing->extent))
    from = memcpy(apart.take(bytes), send, bytes);
  PhicollRequest request = request_of(row, from, receive, 0, reducing->with);
  request.send_counts = elements;
  return ended(*comm, row, make(*comm, request), pass);
}

/// A gather or scatter, of equal blocks (`All` is Elements) or of others (Blocks). `mine` is this rank's
/// block; `set` describes all of them at the root. Blocks move to the root if `to_root`.
template <class All, class Set, class Count, class Pass>
int rooted(Row row, bool to_root, const void* mine, Count count, MPI_Datatype type, int root, MPI_Comm handle,
           Set set, Pass pass) {
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  PHICOLL_PASS_UNLESS_PACKED(row);
  if (!is_rank(*comm, root)) PHICOLL_PASS(Why::argument);
  const bool at_root = comm->rank == root;
  const bool in_place = at_root && mine == MPI_IN_PLACE;
  Elements own;
  All all;
  if (!in_place && (mine == MPI_IN_PLACE || !own.set(mine, count, type))) PHICOLL_PASS(Why::argument);
  if (at_root && !set(&all, comm->size)) PHICOLL_PASS(Why::argument);
  const size_t bytes = at_root ? all.own(root) : own.bytes();
  if (at_root && !in_place && own.bytes() != bytes) PHICOLL_PASS(Why::argument);
  if (All::equal && bytes == 0) return MPI_SUCCESS;  // as all ranks see
  if (!whole(*comm) && !fits_counts(*comm, bytes)) PHICOLL_PASS(Why::nodes);
  const bool apart = at_root && !in_place && own.plain() && all.overlaps(own.memory(), bytes);
  static unsigned char nothing;  // stands for no bytes, where null would mean "in place"
  const void* from;
  void* to;
  if (to_root) {
    from = in_place ? nullptr : apart ? own.copy() : own.sent();
    if (!in_place && from == nullptr) from = &nothing;
    to = !at_root ? nullptr : in_place ? all.filled_room() : all.room();
  } else {
    to = in_place ? nullptr : own.room();
    if (!in_place && to == nullptr) to = &nothing;
    from = !at_root ? nullptr : apart ? all.copy() : all.sent();
  }
  PhicollRequest request = request_of(row, from, to, bytes, nullptr, root);
  all.describe(to_root ? &request.receive_counts : &request.send_counts,
               to_root ? &request.receive_displacements : &request.send_displacements);
  const PhicollResult result = make(*comm, request);
  if (result == PHICOLL_DONE) to_root ? all.arrived() : own.arrived();
  return ended(*comm, row, result, pass);
}

template <class Count, class Pass>
int gather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count count,
           MPI_Datatype type, int root, MPI_Comm handle, Pass pass) {
  return rooted<Elements>(
      Row::Gather, true, send, send_count, send_type, root, handle,
      [=](Elements* all, int ranks) { return all->set_blocks(receive, count, type, ranks); }, pass);
}

template <class Count, class Pass>
int scatter(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count count,
            MPI_Datatype type, int root, MPI_Comm handle, Pass pass) {
  return rooted<Elements>(
      Row::Scatter, false, receive, count, type, root, handle,
      [=](Elements* all, int ranks) { return all->set_blocks(send, send_count, send_type, ranks); }, pass);
}

template <class Count, class Displacement, class Pass>
int gatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count* counts,
            const Displacement* displacements, MPI_Datatype type, int root, MPI_Comm handle, Pass pass) {
  return rooted<Blocks>(
      Row::Gatherv, true, send, send_count, send_type, root, handle,
      [=](Blocks* all, int ranks) { return all->set(receive, counts, displacements, type, ranks); }, pass);
}

template <class Count, class Displacement, class Pass>
int scatterv(const void* send, const Count* counts, const Displacement* displacements, MPI_Datatype send_type,
             void* receive, Count count, MPI_Datatype type, int root, MPI_Comm handle, Pass pass) {
  return rooted<Blocks>(
      Row::Scatterv, false, receive, count, type, root, handle,
      [=](Blocks* all, int ranks) { return all->set(send, counts, displacements, send_type, ranks); }, pass);
}

/// Allgather; or alltoall, whose ranks send a block to each.
template <class Count, class Pass>
int exchange(Row row, bool to_each, const void* send, Count send_count, MPI_Datatype send_type, void* receive,
             Count count, MPI_Datatype type, MPI_Comm handle, Pass pass) {
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  PHICOLL_PASS_UNLESS_PACKED(row);
  const bool in_place = send == MPI_IN_PLACE;
  Elements own;
  Elements all;
  if (!all.set_blocks(receive, count, type, comm->size)) PHICOLL_PASS(Why::argument);
  if (!in_place && !own.set_blocks(send, send_count, send_type, to_each ? comm->size : 1))
    PHICOLL_PASS(Why::argument);
  const size_t bytes = all.own(comm->rank);
  if (!in_place && own.bytes() != (to_each ? all.bytes() : bytes)) PHICOLL_PASS(Why::argument);
  if (bytes == 0) return MPI_SUCCESS;
  if (!whole(*comm) && !fits_counts(*comm, bytes)) PHICOLL_PASS(Why::nodes);
  const void* const from = in_place ? nullptr : own.sent_apart(all);
  void* const to = in_place ? all.filled_room() : all.room();
  const PhicollResult result = make(*comm, request_of(row, from, to, bytes));
  if (result == PHICOLL_DONE) all.arrived();
  return ended(*comm, row, result, pass);
}

template <class Count, class Displacement, class Pass>
int allgatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count* counts,
               const Displacement* displacements, MPI_Datatype type, MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Allgatherv;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  PHICOLL_PASS_UNLESS_PACKED(row);
  const bool in_place = send == MPI_IN_PLACE;
  Elements own;
  Blocks all;
  if (!all.set(receive, counts, displacements, type, comm->size)) PHICOLL_PASS(Why::argument);
  if (!in_place && (!own.set(send, send_count, send_type) || own.bytes() != all.own(comm->rank)))
    PHICOLL_PASS(Why::argument);
  if (all.total() == 0) return MPI_SUCCESS;
  const size_t bytes = all.own(comm->rank);
  static unsigned char nothing;
  const void* from = nullptr;
  if (!in_place) from = own.plain() && all.overlaps(own.memory(), bytes) ? own.copy() : own.sent();
  if (!in_place && from == nullptr) from = &nothing;
  void* const to = in_place ? all.filled_room() : all.room();
  PhicollRequest request = request_of(row, from, to, bytes);
  all.describe(&request.receive_counts, &request.receive_displacements);
  const PhicollResult result = make(*comm, request);
  if (result == PHICOLL_DONE) all.arrived();
  return ended(*comm, row, result, pass);
}

template <class Count, class Displacement, class Pass>
int alltoallv(const void* send, const Count* send_counts, const Displacement* send_displacements,
              MPI_Datatype send_type, void* receive, const Count* counts, const Displacement* displacements,
              MPI_Datatype type, MPI_Comm handle, Pass pass) {
  constexpr Row row = Row::Alltoallv;
  Comm* const comm = ours(handle, row);
  if (comm == nullptr) return pass();
  PHICOLL_PASS_UNLESS_PACKED(row);
  const bool in_place = send == MPI_IN_PLACE;
  Blocks in;
  Blocks out;
  if (!in.set(receive, counts, displacements, type, comm->size)) PHICOLL_PASS(Why::argument);
  if (in_place ? !out.set(receive, counts, displacements, type, comm->size)
               : !out.set(send, send_counts, send_displacements, send_type, comm->size))
    PHICOLL_PASS(Why::argument);
  const void* from = in_place || out.overlaps(in) ? out.copy() : out.sent();
  static unsigned char nothing;
  if (from == nullptr) from = &nothing;
  PhicollRequest request = request_of(row, from, in.room(), 0);
  out.describe(&request.send_counts, &request.send_displacements);
  in.describe(&request.receive_counts, &request.receive_displacements);
  const PhicollResult result = make(*comm, request);
  if (result == PHICOLL_DONE) in.arrived();
  return ended(*comm, row, result, pass);
}

}  // namespace
}  // namespace phicoll_mpi

// Each call with MPI's counts, and with MPI-4's large ones: the same code. `of` is the communicator `c`.
#define PHICOLL_MPI_PASS(row, type, count, call)      \
  phicoll_mpi::passing(                               \
      phicoll_mpi::Row::row, c, type,                 \
      [=](const phicoll_mpi::Comm& of) -> long long { \
        static_cast<void>(of);                        \
        return static_cast<long long>(count);         \
      },                                              \
      [=] { return call; })
#define PHICOLL_MPI_CALLS(suffix, Count, Displacement)                                                       \
  int MPI_Bcast##suffix(void* b, Count n, MPI_Datatype t, int root, MPI_Comm c) {                            \
    return phicoll_mpi::bcast(b, n, t, root, c,                                                              \
                              PHICOLL_MPI_PASS(Bcast, t, n, PMPI_Bcast##suffix(b, n, t, root, c)));          \
  }                                                                                                          \
  int MPI_Reduce##suffix(const void* s, void* r, Count n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c) { \
    return phicoll_mpi::reduce(                                                                              \
        s, r, n, t, op, root, c,                                                                             \
        PHICOLL_MPI_PASS(Reduce, t, n, PMPI_Reduce##suffix(s, r, n, t, op, root, c)));                       \
  }                                                                                                          \
  PHICOLL_MPI_REDUCTION(Allreduce, suffix, Count, false)                                                     \
  PHICOLL_MPI_REDUCTION(Scan, suffix, Count, false)                                                          \
  PHICOLL_MPI_REDUCTION(Exscan, suffix, Count, false)                                                        \
  PHICOLL_MPI_REDUCTION(Reduce_scatter_block, suffix, Count, true)                                           \
  int MPI_Reduce_scatter##suffix(const void* s, void* r, const Count* n, MPI_Datatype t, MPI_Op op,          \
                                 MPI_Comm c) {                                                               \
    return phicoll_mpi::reduce_scatter(                                                                      \
        s, r, n, t, op, c,                                                                                   \
        PHICOLL_MPI_PASS(Reduce_scatter, t, phicoll_mpi::mean_block(n, of.size),                             \
                         PMPI_Reduce_scatter##suffix(s, r, n, t, op, c)));                                   \
  }                                                                                                          \
  int MPI_Gather##suffix(const void* s, Count m, MPI_Datatype u, void* r, Count n, MPI_Datatype t, int root, \
                         MPI_Comm c) {                                                                       \
    const bool in_place = s == MPI_IN_PLACE;                                                                 \
    return phicoll_mpi::gather(s, m, u, r, n, t, root, c,                                                    \
                               PHICOLL_MPI_PASS(Gather, in_place ? t : u, in_place ? n : m,                  \
                                                PMPI_Gather##suffix(s, m, u, r, n, t, root, c)));            \
  }                                                                                                          \
  int MPI_Scatter##suffix(const void* s, Count m, MPI_Datatype u, void* r, Count n, MPI_Datatype t,          \
                          int root, MPI_Comm c) {                                                            \
    const bool in_place = r == MPI_IN_PLACE;                                                                 \
    return phicoll_mpi::scatter(s, m, u, r, n, t, root, c,                                                   \
                                PHICOLL_MPI_PASS(Scatter, in_place ? u : t, in_place ? m : n,                \
                                                 PMPI_Scatter##suffix(s, m, u, r, n, t, root, c)));          \
  }                                                                                                          \
  PHICOLL_MPI_EXCHANGE(Allgather, suffix, Count, false)                                                      \
  PHICOLL_MPI_EXCHANGE(Alltoall, suffix, Count, true)                                                        \
  int MPI_Gatherv##suffix(const void* s, Count m, MPI_Datatype u, void* r, const Count* n,                   \
                          const Displacement* d, MPI_Datatype t, int root, MPI_Comm c) {                     \
    const bool in_place = s == MPI_IN_PLACE;                                                                 \
    return phicoll_mpi::gatherv(                                                                             \
        s, m, u, r, n, d, t, root, c,                                                                        \
        PHICOLL_MPI_PASS(Gatherv, in_place ? t : u, in_place ? phicoll_mpi::block_of(n, of.rank) : m,        \
                         PMPI_Gatherv##suffix(s, m, u, r, n, d, t, root, c)));                               \
  }                                                                                                          \
  int MPI_Scatterv##suffix(const void* s, const Count* m, const Displacement* d, MPI_Datatype u, void* r,    \
                           Count n, MPI_Datatype t, int root, MPI_Comm c) {                                  \
    const bool in_place = r == MPI_IN_PLACE;                                                                 \
    return phicoll_mpi::scatterv(                                                                            \
        s, m, d, u, r, n, t, root, c,                                                                        \
        PHICOLL_MPI_PASS(Scatterv, in_place ? u : t, in_place ? phicoll_mpi::block_of(m, of.rank) : n,       \
                         PMPI_Scatterv##suffix(s, m, d, u, r, n, t, root, c)));                              \
  }                                                                                                          \
  int MPI_Allgatherv##suffix(const void* s, Count m, MPI_Datatype u, void* r, const Count* n,                \
                             const Displacement* d, MPI_Datatype t, MPI_Comm c) {                            \
    return phicoll_mpi::allgatherv(s, m, u, r, n, d, t, c,                                                   \
                                   PHICOLL_MPI_PASS(Allgatherv, t, phicoll_mpi::block_of(n, of.rank),        \
                                                    PMPI_Allgatherv##suffix(s, m, u, r, n, d, t, c)));       \
  }                                                                                                          \
  int MPI_Alltoallv##suffix(const void* s, const Count* m, const Displacement* e, MPI_Datatype u, void* r,   \
                            const Count* n, const Displacement* d, MPI_Datatype t, MPI_Comm c) {             \
    return phicoll_mpi::alltoallv(s, m, e, u, r, n, d, t, c,                                                 \
                                  PHICOLL_MPI_PASS(Alltoallv, t, phicoll_mpi::mean_block(n, of.size),        \
                                                   PMPI_Alltoallv##suffix(s, m, e, u, r, n, d, t, c)));      \
  }
#define PHICOLL_MPI_REDUCTION(name, suffix, Count, blocks)                                         \
  int MPI_##name##suffix(const void* s, void* r, Count n, MPI_Datatype t, MPI_Op op, MPI_Comm c) { \
    return phicoll_mpi::reduce_everywhere(                                                         \
        phicoll_mpi::Row::name, blocks, s, r, n, t, op, c,                                         \
        PHICOLL_MPI_PASS(name, t, n, PMPI_##name##suffix(s, r, n, t, op, c)));                     \
  }
#define PHICOLL_MPI_EXCHANGE(name, suffix, Count, to_each)                                                \
  int MPI_##name##suffix(const void* s, Count m, MPI_Datatype u, void* r, Count n, MPI_Datatype t,        \
                         MPI_Comm c) {                                                                    \
    return phicoll_mpi::exchange(phicoll_mpi::Row::name, to_each, s, m, u, r, n, t, c,                    \
                                 PHICOLL_MPI_PASS(name, t, n, PMPI_##name##suffix(s, m, u, r, n, t, c))); \
  }

extern "C" {

int MPI_Barrier(MPI_Comm c) {
  return phicoll_mpi::barrier(c, PHICOLL_MPI_PASS(Barrier, MPI_DATATYPE_NULL, 0, PMPI_Barrier(c)));
}

PHICOLL_MPI_CALLS(, int, int)
#if MPI_VERSION >= 4
PHICOLL_MPI_CALLS(_c, MPI_Count, MPI_Aint)
#endif
}
