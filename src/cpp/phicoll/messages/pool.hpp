#pragma once

// The pools of two ranks: bytes that change hands. A rank that reads a line which another CPU has just
// written becomes its owner, at least on an EPYC, so it writes its next message where it has read the last
// one. To write a line that the other CPU read last takes longer, several times so between CPUs that share no
// cache. Figures: docs/bench/behind-the-code.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/messages/channel.hpp"
#include "phicoll/messages/division.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

/// Bytes of one of the two pools of a pair of ranks.
struct Stretch {
  bool peers;  ///< in the pool that the other rank made, as seen by the rank that has or writes this
  bool cold;   ///< its writer's CPU did not have the lines, and may have stored past the caches
  std::size_t at;
  std::size_t bytes;

  std::size_t end() const { return at + bytes; }
  /// As one word. For the rank that reads it the two pools change places (from_peer).
  std::uint64_t word() const {
    return in_pool | std::uint64_t{at} << 32 | std::uint64_t{bytes} << 2 | (cold ? 2 : 0) | (peers ? 1 : 0);
  }
  /// Set in each such word; offsets in the ring are smaller.
  static constexpr std::uint64_t in_pool = std::uint64_t{1} << 63;
  static Stretch from_peer(std::uint64_t word) {
    return Stretch{(word & 1) == 0, (word & 2) != 0, static_cast<std::size_t>((word & ~in_pool) >> 32),
                   static_cast<std::size_t>(word >> 2 & 0x3fffffff)};
  }
};

/// Stretches that a rank may write to, in the order in which it got them. Neighbours are joined; otherwise
/// messages of mixed sizes would leave ever smaller stretches, and slow down large ones.
class Stretches {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t bytes() const { return bytes_; }
  void add(const Stretch& last) {
    bytes_ += last.bytes;
    Stretch joined = last;
    for (std::size_t i = all_.size(); i > 0; --i) {
      const Stretch& one = all_[i - 1];
      if (one.peers != last.peers || (one.end() != joined.at && joined.end() != one.at)) continue;
      joined.at = std::min(joined.at, one.at);
      joined.bytes += one.bytes;
      remove(i - 1);
    }
    all_.push_back(joined);
  }
  /// Marks all that it now has as old.
  void age() { old_ = all_.size(); }
  bool has_old() const { return old_ != 0; }
  /// Takes at most so many bytes to write to: from the last old stretch that is not cold, else from the last
  /// old one, else from the first.
  Stretch take_to_write(std::size_t most) {
    std::size_t which = old_;
    while (which > 0 && all_[which - 1].cold) --which;
    if (which == 0) which = old_;
    return take(which == 0 ? 0 : which - 1, most);
  }
  /// Takes at most so many bytes of the first stretch that is cold, or of the first.
  Stretch take_to_give(std::size_t most) {
    const auto cold = std::find_if(all_.begin(), all_.end(), [](const Stretch& s) { return s.cold; });
    return take(cold == all_.end() ? 0 : static_cast<std::size_t>(cold - all_.begin()), most);
  }

 private:
  Stretch take(std::size_t which, std::size_t most) {
    PHICOLL_ASSERT(ThisBuild, which < all_.size(), "a stretch of a pool that there is not");
    Stretch& from = all_[which];
    Stretch taken = from;
    taken.bytes = std::min(most, from.bytes);
    bytes_ -= taken.bytes;
    from.at += taken.bytes;
    from.bytes -= taken.bytes;
    if (from.bytes == 0) remove(which);
    return taken;
  }
  void remove(std::size_t which) {
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(which));
    if (which < old_) --old_;
  }
  std::vector<Stretch> all_;
  std::size_t old_ = 0;
  std::size_t bytes_ = 0;
};

/// Where a piece is written, in a pool or the ring.
struct Room {
  unsigned char* to = nullptr;  ///< none: there is no room yet
  std::size_t bytes = 0;        ///< of the piece
  std::uint64_t at = 0;         ///< for the cell
  bool mine = false;            ///< this rank has the lines
};

/// What a rank may write of the two pools between it and a peer.
template <class Port>
class Pools {
 public:
  Pools(Channels& channels, const Division& division, int peer)
      : channels_(&channels), division_(division), peer_(peer) {}

  /// Makes this rank's pool, for messages through the channel `out`, unless there is no room. Cells whose
  /// pieces lie there come after it.
  void make(Port& port, Channel& out) {
    if (out_ != nullptr || refused_) return;
    refused_ = !channels_->room_for_pool();
    if (refused_) return;
    try {
      const std::uint64_t place = channels_->make_bytes();
      port.store_relaxed(out.ring.pool, place);
      mine_ = channels_->bytes_at(place);
      out_ = &out;
      rest_.add(Stretch{false, false, 0, division_.pool()});
    } catch (const ResourceError&) {
      refused_ = true;
    }
  }
  bool made() const { return out_ != nullptr; }

  /// Room for a piece of at most so many bytes; `begins`: its message's first. It lies first where this rank
  /// has read before the message began, so that few lines stay in both CPUs' caches.
  Room room(Port& port, std::size_t most, bool begins) {
    if (begins) read_.age();
    if (held() == 0) take_gifts(port);
    if (held() == 0) return Room();
    const bool mine = read_.has_old() || rest_.empty();
    const std::size_t unit = division_.unit;
    Stretch stretch = (mine ? read_ : rest_).take_to_write((most + unit - 1) / unit * unit);
    stretch.cold = !mine;
    return Room{at(port, stretch), std::min(most, stretch.bytes), stretch.word(), mine};
  }
  /// Where the peer has written a piece. This rank may write there next; the caller reads the piece before it
  /// does.
  unsigned char* take(Port& port, std::uint64_t word) {
    const Stretch stretch = Stretch::from_peer(word);
    PHICOLL_ASSERT(Port, stretch.bytes != 0 && stretch.end() <= division_.pool(),
                   "a piece outside the pool: bytes " + std::to_string(stretch.at) + " to " +
                       std::to_string(stretch.end()));
    read_.add(stretch);
    return at(port, stretch);
  }
  /// Gives bytes back through the channel `in`, if this rank has read so many that the peer may have too few.
  ///
  /// (3c) No sender waits in vain for pool bytes. A rank keeps at most 6 of the 8 quarters of both pools, or
  ///      2
  ///      of 4 if it has no pool, and gives after each piece that it takes: a sender that holds nothing has
  ///      gifts on their way.
  void give_back(Port& port, Channel& in) {
    const std::size_t others = made() ? division_.pool() : 0;
    if (held() < others + division_.quarter) return;
    if (made()) take_gifts(port);  // gifts not noted yet count as held
    if (held() > others + 2 * division_.quarter) give(port, in, others + division_.quarter);
  }

 private:
  std::size_t held() const { return read_.bytes() + rest_.bytes(); }
  unsigned char* at(Port& port, const Stretch& stretch) {
    if (!stretch.peers) return mine_ + stretch.at;
    if (theirs_ == nullptr) {
      const Channel& in = channels_->at(port.load_acquire(channels_->place(peer_, division_.rank)));
      theirs_ = channels_->bytes_at(port.load_relaxed(in.ring.pool));
    }
    return theirs_ + stretch.at;
  }
  void take_gifts(Port& port) {
    const std::uint64_t gifts = port.load_acquire(out_->read.gifts);  // (3a)
    if (gifts == gifts_taken_) return;
    for (; gifts_taken_ != gifts; ++gifts_taken_)
      rest_.add(Stretch::from_peer(port.load_relaxed(out_->gift(gifts_taken_))));
    port.signal(out_->ring.gifts, gifts);  // (3b)
  }
  /// Gives all but `keep` bytes, first those that the peer wrote past the caches, as it will write them that
  /// way again.
  void give(Port& port, Channel& in, std::size_t keep) {
    const std::uint64_t before = gifts_given_;
    while (held() > keep) {
      if (gifts_given_ - gifts_seen_ == Channel::most_gifts) {
        gifts_seen_ = port.load_acquire(in.ring.gifts);  // (3b)
        if (gifts_given_ - gifts_seen_ == Channel::most_gifts)
          break;  // the peer takes these before it waits; more follow when its next piece is read
      }
      Stretches& from = read_.empty() ? rest_ : read_;
      port.store_relaxed(in.gift(gifts_given_++), from.take_to_give(held() - keep).word());
    }
    if (gifts_given_ != before) port.signal(in.read.gifts, gifts_given_);  // (3a)
  }

  Channels* channels_;
  Division division_;
  int peer_;
  Channel* out_ = nullptr;  // to the peer, once this rank's pool is made
  unsigned char* mine_ = nullptr;
  unsigned char* theirs_ = nullptr;
  bool refused_ = false;
  Stretches read_;                 // last
  Stretches rest_;                 // made, or given by the peer
  std::uint64_t gifts_taken_ = 0;  // from the peer
  std::uint64_t gifts_given_ = 0;  // to it
  std::uint64_t gifts_seen_ = 0;   // by it, as far as is known
};

}  // namespace phicoll
