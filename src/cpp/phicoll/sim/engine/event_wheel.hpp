#pragma once

// The simulator's clock: events in order of time and, at equal times, in the order in which they were made,
// so that a run is identical to the cycle on every host. With `shuffle`, a seed chooses among events of the
// same time: another interleaving of what the machine leaves open.
//
// A wheel of one-cycle buckets holds near events, a heap later ones. An event moves from the heap to the
// wheel as soon as its bucket is in reach, before anything else can be put there, so the order survives the
// move.

#include <array>
#include <cstdint>
#include <queue>
#include <vector>

#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {

// Where reads and writes are handled differently they are two kinds: the host mispredicts the choice among
// kinds about once an event, however many there are, and would mispredict a second choice as well.
enum class EventKind : std::uint8_t {
  request,             ///< a request reaches its directory
  start,               ///< the directory takes it up
  forward,             ///< a read reaches the cache that answers
  answer,              ///< that cache takes it up
  invalidate,          ///< an invalidation reaches a cache
  give_up,             ///< that cache takes it up
  acknowledged,        ///< the cache that was asked for a read has answered the directory
  acknowledged_write,  ///< all caches that were asked for a write have
  fill,        ///< the requester of a read has what it asked for, or that of an eviction may drop the line
  fill_write,  ///< the requester of a write has the line
  released,    ///< the requester's acknowledgement reaches the directory
  resume,      ///< a rank goes on
  command,     ///< a command between local stores has been carried out
};

struct Event {
  Cycles time;
  std::uint32_t subject;  ///< a transaction, or a rank
  std::uint16_t core;
  EventKind kind;
};

class EventWheel {
 public:
  static constexpr Cycles never = INT64_MAX;

  explicit EventWheel(bool shuffle, std::uint64_t seed)
      : shuffle_(shuffle), random_(seed), links_(reach, none) {
    for (std::uint32_t bucket = 0; bucket < reach; ++bucket) last_[bucket] = bucket;
  }

  Cycles now() const { return now_; }
  /// The time of the earliest event, `never` if there is none.
  Cycles next_time() const { return links_.data()[done_] != none ? now_ : later(); }
  std::uint64_t popped() const { return popped_; }

  /// `time` not before now.
  void push(Cycles time, EventKind kind, std::uint32_t subject, std::uint16_t core = 0) {
    push(time, Node{subject, core, kind});
  }

  /// The earliest event; time becomes now. Not when there is none.
  Event pop() { return pop(next_time()); }
  /// The same; `next` is next_time().
  Event pop(Cycles next) {
    if (next != now_) move_to(next);
    ++popped_;
    if (__builtin_expect(shuffle_, 0)) bring_one_forward();
    done_ = links_.data()[done_];
    const Node& node = nodes_.data()[done_ - reach];
    return {next, node.subject, node.core, node.kind};
  }

  /// Lets time pass up to `time`, which no event may lie before.
  void advance(Cycles time) {
    if (time > now_) move_to(time);
  }

 private:
  static constexpr Cycles reach = 2048;
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t bucket_of(Cycles time) { return static_cast<std::size_t>(time) & (reach - 1); }

  /// An event; its bucket tells the time.
  struct Node {
    std::uint32_t subject;
    std::uint16_t core;
    EventKind kind;
  };
  struct Far {
    Cycles time;
    Node node;
    std::uint64_t sequence;
    bool operator<(const Far& other) const {  // the greatest comes out first
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  [[gnu::noinline]] void push(Cycles time, Node node) {
    if (__builtin_expect((time - now_ >= reach) | (free_ == none), 0)) return push_seldom(time, node);
    put(time, node);
  }
  /// The event is far, or there is no free node.
  [[gnu::noinline]] void push_seldom(Cycles time, Node node) {
    if (free_ == none) make_node();
    if (time - now_ >= reach)
      far_.push(Far{time, node, sequence_++});
    else
      put(time, node);
  }

  void put(Cycles time, Node node) {
    std::uint32_t* const links = links_.data();
    const std::uint32_t link = free_;
    free_ = links[link];
    const std::size_t bucket = bucket_of(time);
    nodes_.data()[link - reach] = node;
    links[link] = none;
    links[last_[bucket]] = link;
    last_[bucket] = link;
    used_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
  }

  /// Puts one of the present events, drawn from all, in front of the others.
  [[gnu::noinline]] void bring_one_forward() {
    std::uint64_t count = 0;
    for (std::uint32_t link = links_[done_]; link != none; link = links_[link]) ++count;
    if (count == 1) return;
    std::uint32_t before = done_;
    for (std::uint64_t skip = random_.below(count); skip != 0; --skip) before = links_[before];
    if (before == done_) return;
    const std::uint32_t link = links_[before];
    links_[before] = links_[link];
    std::uint32_t& last = last_[bucket_of(now_)];
    if (last == link) last = before;
    links_[link] = links_[done_];
    links_[done_] = link;
  }

  /// From a time whose events are done.
  void move_to(Cycles time) {
    const std::size_t bucket = bucket_of(now_);
    const auto empty = static_cast<std::uint32_t>(bucket);
    if (done_ != empty) {
      std::uint32_t* const links = links_.data();
      links[done_] = free_;
      free_ = links[bucket];
      links[bucket] = none;
      last_[bucket] = empty;
    }
    used_[bucket / 64] &= ~(std::uint64_t{1} << bucket % 64);
    now_ = time;
    done_ = static_cast<std::uint32_t>(bucket_of(time));
    if (__builtin_expect(!far_.empty(), 0)) bring_near();
  }
  [[gnu::noinline]] void bring_near() {
    while (!far_.empty() && far_.top().time - now_ < reach) {
      if (free_ == none) make_node();
      put(far_.top().time, far_.top().node);
      far_.pop();
    }
  }

  void make_node() {
    free_ = static_cast<std::uint32_t>(links_.size());
    links_.push_back(none);
    nodes_.push_back(Node{0, 0, EventKind::resume});
  }

  /// The time of the earliest event, as all of the present are done.
  Cycles later() const {
    // The wheel holds times from now to now + reach - 1: the first used bucket behind now's, around.
    const std::size_t start = bucket_of(now_);
    constexpr std::size_t words = reach / 64;
    std::size_t word = start / 64;
    std::uint64_t bits = used_[word] & (~std::uint64_t{1} << start % 64);
    for (std::size_t i = 1; bits == 0 && i < words; ++i) bits = used_[word = (word + 1) % words];
    if (bits == 0) {
      word = start / 64;
      bits = used_[word] & ((std::uint64_t{1} << start % 64) - 1);
    }
    if (bits == 0) return far_.empty() ? never : far_.top().time;
    const std::size_t bucket = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
    return now_ + static_cast<Cycles>((bucket - start) & (reach - 1));
  }

  bool shuffle_;
  Random random_;
  Cycles now_ = 0;
  std::uint64_t popped_ = 0;
  std::uint64_t sequence_ = 0;
  // The events of a bucket are a list. The link after an event has the number of the event, which its node
  // has less `reach`: the first links are of the buckets, to their first events.
  std::vector<std::uint32_t> links_;
  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  std::uint32_t done_ = 0;                 // the last event of the present that was popped, or their bucket
  std::array<std::uint32_t, reach> last_;  // of each bucket: its last event, or the bucket
  std::array<std::uint64_t, reach / 64> used_ = {};
  std::priority_queue<Far> far_;
};

}  // namespace sim
}  // namespace phicoll
