#pragma once

// Single copies between a root and each other rank, made from both sides at once: both CPUs take pieces of
// the rank's block as they become free, by a counter in the rank's line. The rank sets the counter to the
// call's number times 2^32 before it publishes. Nobody adds to it after the call, because both await each
// other's end, so it is never set while in use.
//
// If one side's buffer cannot be reached, the other side copies alone. If neither can, which both see alike,
// the caller takes another way.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/exposure.hpp"

namespace phicoll {

template <class Port>
class RootedCopy {
 public:
  /// `to_root`: whether blocks go to the root or from it.
  RootedCopy(const Setup& setup, std::size_t offset, std::size_t piece, bool to_root)
      : exposures_(setup, offset), others_(setup), piece_(piece), rank_(setup.rank), to_root_(to_root) {}

  /// The other ranks, in the order in which a root serves them.
  const PeerOrder& others() const { return others_; }

  /// On the root: publishes its whole buffer of `bytes`. Returns whether the others can reach it; if not, the
  /// call ends here for all.
  bool begin_root(Port& port, std::uint64_t tag, Data buffer, std::size_t bytes) {
    exposures_.publish(port, tag, to_root_ ? Data() : buffer, to_root_ ? 0 : bytes,
                       to_root_ ? buffer : Data(), to_root_ ? bytes : 0);
    return bytes == 0 || port.exposable(buffer, bytes);
  }
  /// On another rank: counts a call that the root has begun but in which nothing is copied.
  void skip() { exposures_.skip(); }
  /// On the root: copies rank r's block, `bytes` at `offset` of the buffer.
  void serve(Port& port, int r, Data buffer, std::size_t offset, std::size_t bytes) {
    const typename Exposures<Port>::Seen seen = exposures_.await(port, r);
    const Exposed theirs = to_root_ ? seen.send : seen.receive;
    if (bytes == 0 || !theirs) return;
    pieces(port, r, bytes, [&](std::size_t at, std::size_t part) {
      if (to_root_)
        port.fetch(buffer + (offset + at), theirs, at, part);
      else
        put_exposed(port, theirs, at, buffer + (offset + at), part);
    });
  }
  void end_root(Port& port) {
    finish_root(port);
    for (const int r : others_) await_end(port, r);
  }
  /// The same in two steps, where some ranks `skip` the call.
  void finish_root(Port& port) { exposures_.finish(port); }
  void await_end(Port& port, int r) { exposures_.await_finish(port, r); }

  /// On another rank: copies its block, which is at `offset` of the root's buffer. Returns false if the
  /// root's buffer cannot be reached.
  bool exchange(Port& port, std::uint64_t tag, int root, Data block, std::size_t offset, std::size_t bytes) {
    const Exposed theirs = begin(port, tag, root, block, bytes);
    copy(port, root, theirs, block, offset, bytes);
    return static_cast<bool>(theirs);
  }
  /// The same in two steps, the first of which returns where the root's buffer is. The second may be left
  /// out, if the root does not serve this rank.
  Exposed begin(Port& port, std::uint64_t tag, int root, Data block, std::size_t bytes) {
    port.store_relaxed(exposures_.claim(rank_), (exposures_.call() + 1) << 32);
    exposures_.publish(port, tag, to_root_ ? block : Data(), to_root_ ? bytes : 0, to_root_ ? Data() : block,
                       to_root_ ? 0 : bytes);
    const typename Exposures<Port>::Seen seen = exposures_.await(port, root);
    return to_root_ ? seen.receive : seen.send;
  }
  void copy(Port& port, int root, const Exposed& theirs, Data block, std::size_t offset, std::size_t bytes) {
    if (theirs && bytes != 0) {
      pieces(port, rank_, bytes, [&](std::size_t at, std::size_t part) {
        if (to_root_)
          put_exposed(port, theirs, offset + at, block + at, part);
        else
          port.fetch(block + at, theirs, offset + at, part);
      });
    }
    exposures_.finish(port);
    exposures_.await_finish(port, root);
  }

 private:
  template <class Copy>
  void pieces(Port& port, int r, std::size_t bytes, Copy copy) {
    const std::uint64_t first = exposures_.call() << 32;
    for (;;) {
      const std::uint64_t claimed = port.fetch_add(exposures_.claim(r), std::uint64_t{1}) - first;
      if (claimed >= (bytes + piece_ - 1) / piece_) return;
      const std::size_t at = static_cast<std::size_t>(claimed) * piece_;
      copy(at, std::min(piece_, bytes - at));
    }
  }

  Exposures<Port> exposures_;
  PeerOrder others_;
  std::size_t piece_;
  int rank_;
  bool to_root_;
};

}  // namespace phicoll
