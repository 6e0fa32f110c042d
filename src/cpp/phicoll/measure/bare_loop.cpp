#include "phicoll/measure/bare_loop.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "phicoll/group/layout.hpp"

namespace phicoll {
namespace measure {

namespace {

// A few lines, which alternate with as many of the other direction.
constexpr std::size_t few_lines = 512;
constexpr std::size_t prefetched = 1024;
// Far longer than a piece takes: a peer has lost its CPU.
constexpr unsigned idle_turns = 20000;
// Linux's numbers, which older headers lack and older kernels refuse.
constexpr int advise_huge = 14;
constexpr int collapse_now = 25;

// Whole lines, which hold whole elements of every type whose size is a power of two.
std::size_t whole_grain(const BareLoopParameters& p) {
  return static_cast<std::size_t>(p.grain) / arch::line_bytes * arch::line_bytes;
}

unsigned char* at_page(unsigned char* memory) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory) % page_bytes;
  return memory + (past == 0 ? 0 : page_bytes - past);
}

std::size_t at(std::uint64_t block, int index) {
  return static_cast<std::size_t>(block) * static_cast<std::size_t>(index);
}

}  // namespace

/// What one rank sends to some others in a call.
struct BareLoop::Stream {
  int writer;
  std::vector<int> readers;
  std::size_t bytes;
  std::size_t from;  ///< in the writer's send buffer, or its receive buffer
  bool from_received;
  std::size_t to;  ///< in each reader's receive buffer
  bool combined;   ///< with what the reader has of its own: the first such stream, or of earlier ones
};

/// Streams that go on at the same time.
struct BareLoop::Plan {
  std::vector<Stream> streams;
  bool own_blocks = false;  ///< each rank copies its own block to its place
};

// A rank combines whole messages, one after the other.
bool BareLoop::serves(Operation operation) {
  const OperationRow& row = row_of(operation);
  return moves_data(operation) &&
         !(row.reduces && (row.sends == Part::blocks || row.exclusive_name != nullptr));
}

const char* BareLoop::lacking(const BareLoopParameters& p) {
  if (!arch::has_copy_way(p.store) || !arch::has_copy_way(p.load)) return "this CPU has no such vectors";
  if (p.load == arch::CopyWay::past_caches) return "a copy out of a cell is read next: not past the caches";
  if (p.hint == BareLoopParameters::Hint::demote && !arch::has_demotion()) return "this CPU has no cldemote";
  return nullptr;
}

std::vector<BareLoop::Plan> BareLoop::plans(const BareLoopParameters& p, const Work& work, int ranks) {
  const OperationRow& row = row_of(work.operation);
  std::vector<Plan> plans(1);
  const bool slices = work.operation == Operation::allreduce && p.parts == BareLoopParameters::Parts::slices;
  if (slices) {
    const auto n = static_cast<std::size_t>(work.bytes);
    const auto others = [ranks](int rank) {
      std::vector<int> found;
      for (int r = 0; r < ranks; ++r)
        if (r != rank) found.push_back(r);
      return found;
    };
    const auto add = [&plans](Stream stream) {
      if (stream.bytes != 0 && !stream.readers.empty()) plans.back().streams.push_back(std::move(stream));
    };
    // Cuts into parts of whole lines; the last may be short.
    const std::size_t part = arch::whole_lines(n / static_cast<std::size_t>(ranks));
    const auto begin = [&](int r) { return std::min(n, at(part, r)); };
    const auto end = [&](int r) { return r == ranks - 1 ? n : begin(r + 1); };
    for (int s = 0; s < ranks; ++s)
      for (const int r : others(s)) add({s, {r}, end(r) - begin(r), begin(r), false, begin(r), true});
    plans.emplace_back();
    for (int r = 0; r < ranks; ++r) add({r, others(r), end(r) - begin(r), begin(r), true, begin(r), false});
    return plans;
  }
  // Equal pieces from one sender are one stream, which each of its readers takes.
  std::vector<Stream>& streams = plans.back().streams;
  for (const Piece& piece : pieces_of(work, ranks)) {
    if (piece.bytes == 0 || piece.receiver == piece.sender) continue;
    const bool again = !streams.empty() && streams.back().writer == piece.sender &&
                       streams.back().from == piece.from && streams.back().to == piece.to;
    if (again)
      streams.back().readers.push_back(piece.receiver);
    else
      streams.push_back(
          {piece.sender, {piece.receiver}, piece.bytes, piece.from, false, piece.to, row.reduces});
  }
  plans.back().own_blocks = !row.reduces && row.receives != Part::others_block;
  return plans;
}

std::size_t BareLoop::cell_bytes(const BareLoopParameters& p, std::size_t bytes) {
  return arch::whole_lines(std::min(whole_grain(p), bytes) + static_cast<std::size_t>(p.align));
}

std::uint64_t BareLoop::cells_of(const BareLoopParameters& p, std::size_t bytes) {
  std::uint64_t cells = 2;
  while (2 * cells * cell_bytes(p, bytes) <= static_cast<std::size_t>(p.ring)) cells *= 2;
  return cells;
}

std::size_t BareLoop::ring_bytes(const BareLoopParameters& p, std::size_t bytes, std::size_t readers) {
  const auto cells = static_cast<std::size_t>(cells_of(p, bytes));
  return (cells + readers) * sizeof(HandLine) + cells * cell_bytes(p, bytes) + 3 * page_bytes;
}

std::size_t BareLoop::footprint(const BareLoopParameters& p, const Work& work, int ranks) {
  std::size_t sum = 0;
  for (const Plan& plan : plans(p, work, ranks))
    for (const Stream& stream : plan.streams) sum += ring_bytes(p, stream.bytes, stream.readers.size());
  return sum;
}

void BareLoop::prepare(const BareLoopParameters& p, unsigned char* memory, int rank, int ranks,
                       const Work& work) {
  for (const Plan& plan : plans(p, work, ranks))
    for (const Stream& stream : plan.streams) {
      const std::size_t bytes = ring_bytes(p, stream.bytes, stream.readers.size());
      const int owner = p.owner == BareLoopParameters::Owner::sender ? stream.writer : stream.readers[0];
      if (rank == owner) {
        std::memset(memory, 0, bytes);
        unsigned char* const from = at_page(memory);
        const std::size_t whole = bytes - static_cast<std::size_t>(from - memory);
        // Only asks: this loop does not check what the system does about it.
        if (p.pages == BareLoopParameters::Pages::huge &&
            madvise(from, whole / page_bytes * page_bytes, advise_huge) == 0)
          (void)madvise(from, whole / page_bytes * page_bytes, collapse_now);
      }
      memory += bytes;
    }
}

BareLoop::BareLoop(const BareLoopParameters& p, unsigned char* memory, int rank, int ranks, bool yields,
                   const MessageBuffers& buffers)
    : p_(p), grain_(whole_grain(p)), yields_(yields), stamps_(p.stamps == BareLoopParameters::Stamps::on) {
  const Work& work = buffers.work();
  if (work.reduces()) op_ = find_operator(work.type, work.op);
  const auto block = static_cast<std::size_t>(work.bytes);
  std::size_t index = 0;
  for (const Plan& plan : plans(p, work, ranks)) {
    phases_.emplace_back();
    Phase& phase = phases_.back();
    bool combined = false;
    for (const Stream& stream : plan.streams) {
      const std::uint64_t count = cells_of(p, stream.bytes);
      auto* const flags = reinterpret_cast<HandLine*>(memory);
      HandLine* const read = flags + count;
      unsigned char* const behind = reinterpret_cast<unsigned char*>(read + stream.readers.size());
      const std::size_t apart =
          index++ * static_cast<std::size_t>(p.apart) % page_bytes / arch::line_bytes * arch::line_bytes;
      const Ring ring{flags, read, at_page(behind) + apart + p.align, cell_bytes(p, stream.bytes), count};
      memory += ring_bytes(p, stream.bytes, stream.readers.size());
      if (stream.writer == rank)
        phase.outs.push_back({ring, (stream.from_received ? buffers.receive() : buffers.send()) + stream.from,
                              stream.bytes, stream.readers.size(), 0, 0, count});
      for (std::size_t r = 0; r < stream.readers.size(); ++r) {
        if (stream.readers[r] != rank) continue;
        unsigned char* const to = buffers.receive() + stream.to;
        const unsigned char* const left = !stream.combined ? nullptr
                                          : combined       ? to
                                                           : buffers.send() + stream.to;
        combined = combined || stream.combined;
        phase.ins.push_back({ring, &read[r].words[0], to, stream.bytes, left, 0, 0});
      }
    }
    if (plan.own_blocks && receive_bytes_of(work, rank, ranks) != 0) {
      const OperationRow& row = row_of(work.operation);
      const bool each = row.sends == Part::blocks || row.sends == Part::root_blocks;
      phase.own_from = buffers.send() + (each ? at(block, rank) : 0);
      phase.own_to = buffers.receive() + (row.receives == Part::block ? 0 : at(block, rank));
      phase.own_bytes = send_bytes_of(work, rank, ranks) != 0 ? block : 0;
    }
  }
}

void BareLoop::run(Phase& phase) {
  for (Out& out : phase.outs) out.at = 0;
  for (In& in : phase.ins) in.at = 0;
  std::size_t open = phase.outs.size() + phase.ins.size();
  const bool lines = p_.turns == BareLoopParameters::Turns::lines && phase.outs.size() == 1 &&
                     phase.ins.size() == 1 && phase.ins[0].left == nullptr;
  bool own = phase.own_bytes == 0;
  unsigned idle = 0;
  while (open != 0) {
    bool moved = false;
    for (Out& out : phase.outs) {
      if (out.at == out.bytes || !may_write(phase, out)) continue;
      moved = true;
      if (lines && phase.ins[0].at != phase.ins[0].bytes && may_read(phase, 0)) {
        both(out, phase.ins[0]);
        open -= phase.ins[0].at == phase.ins[0].bytes ? 1 : 0;
      } else {
        write(out);
      }
      open -= out.at == out.bytes ? 1 : 0;
    }
    if (!own) {  // while the first pieces are on their way
      std::memcpy(phase.own_to, phase.own_from, phase.own_bytes);
      own = true;
    }
    for (std::size_t i = 0; i < phase.ins.size(); ++i) {
      In& in = phase.ins[i];
      if (in.at == in.bytes || !may_read(phase, i)) continue;
      moved = true;
      read(in);
      open -= in.at == in.bytes ? 1 : 0;
    }
    if (moved)
      idle = 0;
    else if (++idle >= idle_turns || yields_)
      sched_yield();
  }
  if (!own) std::memcpy(phase.own_to, phase.own_from, phase.own_bytes);
}

bool BareLoop::may_write(const Phase& phase, Out& out) {
  for (const In& in : phase.ins)
    if (in.at != in.bytes && out.at >= in.at + static_cast<std::size_t>(p_.ahead) * grain_) return false;
  if (out.written < out.free_until) return true;
  std::uint64_t least = UINT64_MAX;
  for (std::size_t r = 0; r < out.readers; ++r)
    least = std::min(least, out.ring.read[r].words[0].load(std::memory_order_acquire));  // (2)
  out.free_until = least + out.ring.count;
  return out.written < out.free_until;
}

// Operands are combined one after the other, so a piece of a later one waits for that of the one before it.
bool BareLoop::may_read(const Phase& phase, std::size_t i) const {
  const In& in = phase.ins[i];
  if (in.left != nullptr && i != 0 && phase.ins[i - 1].at <= in.at &&
      phase.ins[i - 1].at != phase.ins[i - 1].bytes)
    return false;
  // (1)
  return in.ring.flags[in.read & (in.ring.count - 1)].words[0].load(std::memory_order_acquire) == in.read + 1;
}

void BareLoop::publish(Out& out, std::size_t bytes) {
  out.ring.flags[out.written & (out.ring.count - 1)].words[0].store(out.written + 1,  // (1)
                                                                    std::memory_order_release);
  ++out.written;
  out.at += bytes;
}

void BareLoop::acknowledge(In& in, std::size_t bytes) {
  ++in.read;
  in.at += bytes;
  // (2)
  if ((in.read & (in.ring.count / 2 - 1)) == 0) in.read_word->store(in.read, std::memory_order_release);
}

void BareLoop::write(Out& out) {
  const std::size_t bytes = std::min(grain_, out.bytes - out.at);
  unsigned char* const cell = out.ring.cells + (out.written & (out.ring.count - 1)) * out.ring.stride;
  const std::uint64_t start = stamps_ ? arch::cycles() : 0;
  copy_in(cell, out.from + out.at, bytes);
  if (stamps_) store_ticks_ += arch::cycles() - start;
  publish(out, bytes);
}

void BareLoop::read(In& in) {
  const std::size_t bytes = std::min(grain_, in.bytes - in.at);
  const unsigned char* const cell = in.ring.cells + (in.read & (in.ring.count - 1)) * in.ring.stride;
  const std::uint64_t start = stamps_ ? arch::cycles() : 0;
  if (in.left != nullptr)
    op_.kernel(op_.context, in.to + in.at, in.left + in.at, cell, bytes / op_.element_bytes);
  else
    copy_out(in.to + in.at, cell, bytes);
  if (stamps_) load_ticks_ += arch::cycles() - start;
  acknowledge(in, bytes);
}

void BareLoop::both(Out& out, In& in) {
  const std::size_t most_out = std::min(grain_, out.bytes - out.at);
  const std::size_t most_in = std::min(grain_, in.bytes - in.at);
  unsigned char* const cell = out.ring.cells + (out.written & (out.ring.count - 1)) * out.ring.stride;
  const unsigned char* const theirs = in.ring.cells + (in.read & (in.ring.count - 1)) * in.ring.stride;
  const std::uint64_t start = stamps_ ? arch::cycles() : 0;
  for (std::size_t k = 0; k < std::max(most_out, most_in); k += few_lines) {
    if (k < most_out) copy_in(cell + k, out.from + out.at + k, std::min(few_lines, most_out - k));
    if (k < most_in) copy_out(in.to + in.at + k, theirs + k, std::min(few_lines, most_in - k));
  }
  if (stamps_) store_ticks_ += arch::cycles() - start;
  publish(out, most_out);
  acknowledge(in, most_in);
}

void BareLoop::copy_in(unsigned char* to, const unsigned char* from, std::size_t bytes) const {
  if (p_.hint == BareLoopParameters::Hint::own)
    for (std::size_t k = 0; k < bytes; k += arch::line_bytes) arch::prefetch_line_to_write(to + k);
  arch::copy_by(p_.store, to, from, bytes);
  if (p_.hint == BareLoopParameters::Hint::demote)
    for (std::size_t k = 0; k < bytes; k += arch::line_bytes) arch::demote_line(to + k);
}

void BareLoop::copy_out(unsigned char* to, const unsigned char* from, std::size_t bytes) const {
  if (p_.prefetch == 0) return arch::copy_by(p_.load, to, from, bytes);
  const auto ahead = static_cast<std::size_t>(p_.prefetch);
  for (std::size_t k = 0; k < std::min(ahead, bytes); k += arch::line_bytes) arch::prefetch_line(from + k);
  for (std::size_t k = 0; k < bytes; k += prefetched) {
    const std::size_t some = std::min(prefetched, bytes - k);
    for (std::size_t next = k + ahead; next < std::min(bytes, k + ahead + some); next += arch::line_bytes)
      arch::prefetch_line(from + next);
    arch::copy_by(p_.load, to + k, from + k, some);
  }
}

}  // namespace measure
}  // namespace phicoll
