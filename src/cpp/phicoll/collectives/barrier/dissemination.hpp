#pragma once

// n-way dissemination barrier. Sources: rodchenko-2015 section 3 (rounds with a flag each, f ways, sense
// reversal), panigrahi-2014 section V (one line a rank for all rounds), velamati-2007 section 3.2 (16-byte
// entries, "DIS").
//
// In round k rank r signals the f ranks (r + i (f+1)^k) mod P, i = 1..f, and waits for the f ranks (r - i
// (f+1)^k) mod P. After ceil(log_{f+1} P) rounds it has heard of all, through others.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct Dissemination : AlgorithmDefaults {
  enum class Layout : unsigned char { line_per_round, line_per_rank, packed };

  struct Parameters {
    int ways = 1;
    Layout layout = Layout::line_per_round;
    Reset reset = Reset::episode;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"dissemination", Origin::paper,
            "rodchenko-2015 section 3; panigrahi-2014 section V; velamati-2007 section 3.2",
            "every rank tells f others a round, at distances that grow by f+1"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("ways", p.ways, 1, max_ranks, "ranks that each rank tells in a round");
    visitor.choice(
        "layout", p.layout, {"line-per-round", "line-per-rank", "packed"},
        "a line for each flag, one line a rank for all rounds, or 16-byte entries without padding");
    describe_every_reset(
        visitor, p.reset,
        "flags that only grow, one-bit flags whose sense flips, or flags that the told rank unsets");
    describe_store(visitor, p.store);
  }

  static void limit(Parameters& p, const Shape& shape) { limit_others(p.ways, shape); }

  /// Whole-line stores destroy a line's other flags: only where a flag owns its line.
  static const char* refuse(const Parameters& p) {
    return p.store != StorePolicy::plain && p.layout != Layout::line_per_round
               ? "store=plain unless layout=line-per-round, where a flag owns its line"
               : nullptr;
  }

  // A sense flag cannot serve two episodes in a row: a fast rank may set it again before a slow one has
  // looked. Two sets of flags, used in turn, do (Mellor-Crummey and Scott); a monotone episode number needs
  // one. A flag that is unset when it was seen needs two as well: its sender sets it again after a barrier
  // in between, which this rank entered after it had unset the flag.
  static std::size_t sets(const Parameters& p) { return p.reset == Reset::episode ? 1 : 2; }

  static std::size_t flag_offset(const Parameters& p, const Shape& shape, int rank, int round, int way,
                                 std::size_t set) {
    const auto rounds = static_cast<std::size_t>(ceil_log(p.ways + 1, shape.size()));
    const auto ways = static_cast<std::size_t>(p.ways);
    const auto index = static_cast<std::size_t>(round) * ways + static_cast<std::size_t>(way);
    const auto r = static_cast<std::size_t>(rank);
    switch (p.layout) {
      case Layout::line_per_round:
        return ((r * sets(p) + set) * rounds * ways + index) * shape.stride();
      case Layout::line_per_rank: {
        const std::size_t bytes = shape.whole_strides(rounds * ways * 8);
        return (r * sets(p) + set) * bytes + index * 8;
      }
      case Layout::packed:
        break;
    }
    return ((r * sets(p) + set) * rounds * ways + index) * 16;
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    // The first byte after the last rank's flags.
    return flag_offset(p, shape, shape.size(), 0, 0, 0) + shape.stride();
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : reset_(p.reset), store_(p.store), ways_(static_cast<std::size_t>(p.ways)) {
      const int n = setup.size();
      const int rounds = ceil_log(p.ways + 1, n);
      for (std::size_t set = 0; set < sets(p); ++set) {
        long distance = 1;
        for (int round = 0; round < rounds; ++round, distance *= p.ways + 1)
          for (int way = 0; way < p.ways; ++way) {
            // In the last round the ranks at n and beyond have been heard of already: fewer are told.
            if (distance * (way + 1) >= n) break;
            const int step = static_cast<int>(distance * (way + 1));
            Peer peer;
            peer.to = (setup.rank + step) % n;
            peer.from = setup.hint()((setup.rank - step + n) % n);
            peer.tell = setup.at<Flag>(flag_offset(p, setup.shape, peer.to, round, way, set));
            peer.hear = setup.at<Flag>(flag_offset(p, setup.shape, setup.rank, round, way, set));
            peers_.push_back(peer);
          }
      }
      peers_a_set_ = peers_.size() / sets(p);
      if (peers_.size() == 1 && store_ == StorePolicy::plain) only_ = peers_.front();
    }

    void operator()(Port& port) { run_episode(port, ++episode_); }
    /// Only between two ranks: among more, each round but the first begins after a wait.
    Started start(Port& port) {
      if (only_.tell == nullptr) return Started::no;
      port.signal(*only_.tell, ++episode_);
      return Started::half;
    }
    void complete(Port& port) { port.wait(*only_.hear, at_least(episode_), only_.from); }

    /// Episode number `episode`, counted by the caller, for ranks that are groups: several threads may speak
    /// for one, each in its own episodes. A speaker has acquired what the one before it wrote, so a flag has
    /// one writer at a time.
    void run_episode(Port& port, std::uint64_t episode) {
      if (only_.tell != nullptr) {
        // Two ranks: the next store follows the awaited flag as closely as in a hand-written loop. If both
        // flags share a line, that decides whether the line is handed over once or twice a barrier.
        port.signal(*only_.tell, episode);
        port.wait(*only_.hear, at_least(episode), only_.from);
        return;
      }
      all_rounds(port, episode);
    }

   private:
    // The flag of one sender in one round: 8 bytes. In line-per-round it owns its line, so it may be stored
    // whole.
    using Flag = Word<std::uint64_t>;
    struct Peer {
      Flag* tell = nullptr;
      Flag* hear = nullptr;
      int to = any_rank;
      int from = any_rank;
    };

    // A function of its own, so that two ranks save no registers for it.
    [[gnu::noinline]] void all_rounds(Port& port, std::uint64_t episode) {
      if (__builtin_expect(reset_ == Reset::episode, 1)) {
        run<ConditionKind::at_least>(port, peers_.data(), episode);
      } else {
        // Sets in turn. With `sense` a set's sense flips each time it is used again; with `unset` its flags
        // are 0 by then.
        const std::uint64_t sense = reset_ == Reset::unset ? 1 : 1 - ((episode - 1) >> 1 & 1);
        run<ConditionKind::equal>(port, peers_.data() + ((episode - 1) & 1) * peers_a_set_, sense);
      }
    }

    // Members are copied to locals, since for all the compiler knows a store to a flag could change them.
    template <ConditionKind kind>
    [[gnu::always_inline]] void run(Port& port, const Peer* round, std::uint64_t value) {
      const StorePolicy store = store_;
      const bool unset = reset_ == Reset::unset;
      const std::size_t ways = ways_;
      for (std::size_t left = peers_a_set_; left != 0;) {
        const std::size_t here = left < ways ? left : ways;  // the last round may be shorter
        for (std::size_t i = 0; i < here; ++i) {
          if (__builtin_expect(store == StorePolicy::plain, 1)) {
            port.signal(*round[i].tell, value);
          } else {
            port.signal(*reinterpret_cast<SoleWriterLine<std::uint64_t>*>(round[i].tell), value, store);
          }
        }
        for (std::size_t i = 0; i < here; ++i) {
          port.wait(*round[i].hear, Condition<std::uint64_t>{kind, value, 0}, round[i].from);
          if (kind == ConditionKind::equal && unset) port.signal(*round[i].hear, std::uint64_t{0});
        }
        round += here;
        left -= here;
      }
    }

    std::uint64_t episode_ = 0;
    Peer only_;  // of two ranks with one set of flags
    AlignedVector<Peer> peers_;
    std::size_t peers_a_set_ = 0;
    Reset reset_;
    StorePolicy store_;
    std::size_t ways_;
  };
};

}  // namespace phicoll
