#pragma once

// Broadcast through one region of shared memory, whole or in two halves: what `centralized` and
// `double-buffered` share (panigrahi-2014 section V). The root copies a chunk into the region and sets a flag
// of each receiver; a receiver copies the chunk out and unsets its flag; when all flags are unset the region
// may be filled again.
//
// The paper calls a process's cache line its flag, and in Centralized-I a byte, of which the root stores many
// at once. It does not say which its broadcasts have: parameter `flags`.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct SharedRegionParameters {
  enum class Flags : unsigned char { lines, bytes };

  int region = 32768;
  int ahead = 0;
  Flags flags = Flags::lines;
  Reset reset = Reset::episode;

  template <class Visitor>
  void describe(Visitor& visitor) {
    visitor.integer("region", region, 128, 1 << 24, "bytes of the data region");
    visitor.integer("ahead", ahead, 0, 64, "flags that a root asks for ahead of the one it looks at");
    visitor.choice("flags", flags, {"lines", "bytes"},
                   "what a receiver's flag is: a line, or a byte, of which the root sets 64 at a time");
    describe_unset(visitor, reset);
  }
  const char* refuse() const {
    return flags == Flags::bytes && (reset != Reset::unset || ahead != 0)
               ? "reset=unset and ahead=0 with flags=bytes, as a byte holds no number"
               : nullptr;
  }
  /// Lines of a buffer's flags.
  int lines(int ranks) const {
    const int in_line = flags == Flags::bytes ? static_cast<int>(arch::line_bytes) : 1;
    return (ranks + in_line - 1) / in_line;
  }
};

inline std::size_t region_flags_bytes(const SharedRegionParameters& p, int buffers, const Shape& shape) {
  // One line more: the previous root's word to the new one.
  return StridedLines<CounterLine>::bytes(shape, p.lines(shape.size()) * buffers + 1);
}
inline std::size_t region_footprint(const SharedRegionParameters& p, int buffers, const Shape& shape) {
  const std::size_t region = static_cast<std::size_t>(p.region);
  return region_flags_bytes(p, buffers, shape) + arch::whole_strides(region);
}

template <class Port>
class SharedRegionRank {
 public:
  SharedRegionRank(const SharedRegionParameters& p, int buffers, const Setup& setup)
      : flags_(setup, 0),
        bytes_(setup, 0),
        data_(setup.at<unsigned char>(region_flags_bytes(p, buffers, setup.shape))),
        region_(static_cast<std::size_t>(p.region)),
        chunk_(region_ / static_cast<std::size_t>(buffers) / arch::line_bytes * arch::line_bytes),
        lines_(p.lines(setup.size())),
        ahead_(p.ahead),
        by_bytes_(p.flags == SharedRegionParameters::Flags::bytes),
        reset_(p.reset),
        buffers_(buffers),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  // (1) Setting a flag (release) follows the root's stores; a receiver awaits it (acquire) and reads.
  // (2) Unsetting it (release) follows the receiver's loads; a root that sees all unset (acquire) overwrites
  //     nothing that is still read.
  // (3) A flag's line has two writers in turn: the root if it is seen unset, the receiver if set.
  // (4) `reset=episode`: 2n-1 for set, 2n for unset, so nothing old is taken for new.
  // (5) `reset=unset`: the paper's 1 and 0 say nothing about another root's use; a former root first sees all
  //     flags unset, then tells the new one.
  void operator()(Port& port, const Call& call) {
    if (call.count == 0 || ranks_ == 1) return;
    if (reset_ == Reset::unset && root_ >= 0 && call.root != root_) hand_over(port, call.root);
    root_ = call.root;
    if (call.count <= region_) {
      // One chunk, announced by the flags of the first buffer whatever it covers; a message in halves begins
      // with that buffer, and so waits for this chunk's readers too.
      if (rank_ == root_)
        for (int b = 1; b < buffers_; ++b) await_free(port, b);
      chunk(port, call, 0, 0, call.count);
      return;
    }
    int b = 0;
    for (std::size_t at = 0; at < call.count; at += chunk_) {
      chunk(port, call, b, at, std::min(chunk_, call.count - at));
      b = b + 1 == buffers_ ? 0 : b + 1;
    }
  }

 private:
  // A buffer's flags side by side: its root scans all of them.
  Word<std::uint64_t>& flag(int rank, int b) const { return flags_[b * lines_ + rank].word; }
  static constexpr int in_line = static_cast<int>(arch::line_bytes);
  Word<std::uint8_t>& byte(int rank, int b) const {
    return bytes_[b * lines_ + rank / in_line].bytes[rank % in_line];
  }

  // (6) `flags=bytes`: a root sets a line of them at once, when it has seen all of the line's bytes unset, so
  //     none of their receivers writes. Each byte is stored once, and its receiver may unset it at once.
  // (7) The root's own byte is set, too; it unsets it before it tells the next root.
  void chunk(Port& port, const Call& call, int b, std::size_t at, std::size_t bytes) {
    Buffer& buffer = buffer_[b];
    const Data place = port.shared(data_ + static_cast<std::size_t>(b) * chunk_);
    if (rank_ == root_) await_free(port, b);
    ++buffer.uses;
    buffer.root = root_;
    const bool numbers = reset_ == Reset::episode;
    const std::uint64_t set = numbers ? 2 * buffer.uses - 1 : 1;
    const std::uint64_t unset = numbers ? 2 * buffer.uses : 0;
    if (rank_ == root_) {
      port.move(place, call.receive + at, bytes);
      if (by_bytes_)
        for (int line = 0; line < lines_; ++line) port.signal_bytes(bytes_[b * lines_ + line], 1);
      else
        for (int r = 0; r < ranks_; ++r)
          if (r != rank_) port.signal(flag(r, b), set);
    } else if (by_bytes_) {
      port.wait(byte(rank_, b), equal<std::uint8_t>(1), root_);
      port.move(call.receive + at, place, bytes);
      port.signal(byte(rank_, b), std::uint8_t{0});
    } else {
      port.wait(flag(rank_, b), numbers ? at_least(set) : equal(set), root_);
      port.move(call.receive + at, place, bytes);
      port.signal(flag(rank_, b), unset);
    }
  }

  // Until all receivers of the buffer's last use have copied it out.
  void await_free(Port& port, int b) {
    Buffer& buffer = buffer_[b];
    if (buffer.freed == buffer.uses) return;
    buffer.freed = buffer.uses;
    for (int r = 0; r < ranks_; ++r) {
      if (r + ahead_ < ranks_ && ahead_ != 0) port.prefetch(&flag(r + ahead_, b));
      if (r == rank_ || r == buffer.root) continue;
      if (by_bytes_)
        port.wait(byte(r, b), equal<std::uint8_t>(0), r);
      else if (reset_ == Reset::episode)
        port.wait(flag(r, b), at_least(2 * buffer.uses), r);
      else
        port.wait(flag(r, b), equal<std::uint64_t>(0), r);
    }
  }

  void hand_over(Port& port, int next) {
    Word<std::uint64_t>& word = flags_[lines_ * buffers_].word;
    ++handovers_;
    if (rank_ == root_) {
      for (int b = 0; b < buffers_; ++b) {
        await_free(port, b);
        if (by_bytes_) port.signal(byte(rank_, b), std::uint8_t{0});
      }
      port.signal(word, handovers_);
    } else if (rank_ == next) {
      port.wait(word, at_least(handovers_), root_);
    }
  }

  struct Buffer {
    std::uint64_t uses = 0;
    std::uint64_t freed = 0;  // the last use that this rank knows to be over
    int root = -1;            // of the last use
  };

  // The same lines, by what they hold.
  StridedLines<CounterLine> flags_;
  StridedLines<ByteLine> bytes_;
  unsigned char* data_;
  std::size_t region_;
  std::size_t chunk_;
  Buffer buffer_[2];
  std::uint64_t handovers_ = 0;
  int lines_;  // of a buffer's flags
  int ahead_;
  bool by_bytes_;
  Reset reset_;
  int buffers_;
  int rank_;
  int ranks_;
  int root_ = -1;
};

template <class Port>
constexpr int SharedRegionRank<Port>::in_line;

}  // namespace phicoll
