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
  Cycles next_time() const { return next_; }
  std::uint64_t popped() const { return popped_; }

  /// `time` not before now.
  void push(Cycles time, EventKind kind, std::uint32_t subject, std::uint16_t core = 0) {
    if (time < next_) next_ = time;
    if (__builtin_expect((time - now_ >= reach) | (free_ == none), 0))
      return push_seldom(Event{time, subject, core, kind});
    put(time, subject, core, kind);
  }

  /// The earliest event; time becomes now. Not when there is none.
  Event pop() {
    move_to(next_);
    ++popped_;
    const std::size_t bucket = static_cast<std::size_t>(now_) & (reach - 1);
    if (__builtin_expect(shuffle_, 0)) bring_one_forward(bucket);
    std::uint32_t* const links = links_.data();
    const std::uint32_t link = links[bucket];
    const Node& node = nodes_.data()[link - reach];
    const Event event = {now_, node.subject, node.core, node.kind};
    const std::uint32_t after = links[link];
    links[link] = free_;
    free_ = link;
    links[bucket] = after;
    // Without a branch, not even one that the compiler makes: the host cannot predict which event is its
    // bucket's last.
    const std::uint32_t last = after == none;
    last_[bucket] ^= (last_[bucket] ^ static_cast<std::uint32_t>(bucket)) & (0 - last);
    used_[bucket / 64] &= ~(std::uint64_t{last} << bucket % 64);
    find_next();
    return event;
  }

  /// Lets time pass up to `time`, which no event may lie before.
  void advance(Cycles time) {
    if (time > now_) move_to(time);
  }

 private:
  static constexpr Cycles reach = 2048;
  static constexpr std::uint32_t none = UINT32_MAX;

  /// An event; its bucket tells the time.
  struct Node {
    std::uint32_t subject;
    std::uint16_t core;
    EventKind kind;
  };
  struct Far {
    Event event;
    std::uint64_t sequence;
    bool operator<(const Far& other) const {  // the greatest comes out first
      return event.time != other.event.time ? event.time > other.event.time : sequence > other.sequence;
    }
  };

  /// The event is far, or there is no free node.
  [[gnu::noinline]] void push_seldom(Event event) {
    if (free_ == none) make_node();
    if (event.time - now_ >= reach)
      far_.push(Far{event, sequence_++});
    else
      put(event.time, event.subject, event.core, event.kind);
  }

  void put(Cycles time, std::uint32_t subject, std::uint16_t core, EventKind kind) {
    std::uint32_t* const links = links_.data();
    const std::uint32_t link = free_;
    free_ = links[link];
    const std::size_t bucket = static_cast<std::size_t>(time) & (reach - 1);
    nodes_.data()[link - reach] = Node{subject, core, kind};
    links[link] = none;
    links[last_[bucket]] = link;
    last_[bucket] = link;
    used_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
  }

  /// Puts one event of the bucket, drawn from all, in front of the others.
  [[gnu::noinline]] void bring_one_forward(std::size_t bucket) {
    std::uint64_t count = 0;
    for (std::uint32_t link = links_[bucket]; link != none; link = links_[link]) ++count;
    if (count == 1) return;
    auto before = static_cast<std::uint32_t>(bucket);
    for (std::uint64_t skip = random_.below(count); skip != 0; --skip) before = links_[before];
    if (before == bucket) return;
    const std::uint32_t link = links_[before];
    links_[before] = links_[link];
    if (last_[bucket] == link) last_[bucket] = before;
    links_[link] = links_[bucket];
    links_[bucket] = link;
  }

  void move_to(Cycles time) {
    now_ = time;
    if (__builtin_expect(!far_.empty(), 0)) bring_near();
  }
  [[gnu::noinline]] void bring_near() {
    while (!far_.empty() && far_.top().event.time - now_ < reach) {
      const Event& event = far_.top().event;
      if (free_ == none) make_node();
      put(event.time, event.subject, event.core, event.kind);
      far_.pop();
    }
  }

  void make_node() {
    free_ = static_cast<std::uint32_t>(links_.size());
    links_.push_back(none);
    nodes_.push_back(Node{0, 0, EventKind::resume});
  }

  void find_next() {
    // The wheel holds times from now to now + reach - 1: the first used bucket from now's on, around.
    const std::size_t start = static_cast<std::size_t>(now_) & (reach - 1);
    constexpr std::size_t words = reach / 64;
    std::size_t word = start / 64;
    std::uint64_t bits = used_[word] & (~std::uint64_t{0} << start % 64);
    if (__builtin_expect(bits != 0, 1)) {
      next_ = now_ + static_cast<Cycles>(word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)) - start);
      return;
    }
    for (std::size_t i = 0; i <= words; ++i) {
      if (bits != 0) {
        const std::size_t bucket = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
        next_ = now_ + static_cast<Cycles>((bucket - start) & (reach - 1));
        return;
      }
      word = (word + 1) % words;
      bits = used_[word];
    }
    next_ = far_.empty() ? never : far_.top().event.time;
  }

  bool shuffle_;
  Random random_;
  Cycles now_ = 0;
  Cycles next_ = never;
  std::uint64_t popped_ = 0;
  std::uint64_t sequence_ = 0;
  // The events of a bucket are a list. The link after an event has the number of the event, which its node
  // has less `reach`: the first links are of the buckets, to their first events.
  std::vector<std::uint32_t> links_;
  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  std::array<std::uint32_t, reach> last_;  // of each bucket: its last event, or the bucket
  std::array<std::uint64_t, reach / 64> used_ = {};
  std::priority_queue<Far> far_;
};

}  // namespace sim
}  // namespace phicoll
