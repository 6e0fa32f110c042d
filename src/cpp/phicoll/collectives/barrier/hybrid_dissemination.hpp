#pragma once

// Hybrid dissemination barrier. Source: rodchenko-2015 section 4 ("dsmnH", listing 1.1): centralized
// sense-reversing among the ranks of a core, dissemination between the cores, so that no round is spent
// inside a core.
//
// `group` replaces the core. `core` is the paper's. `cpu` is for more ranks than CPUs: the ranks pinned to a
// CPU share a counter that never leaves its cache; only the last to arrive signals other CPUs, and every
// other rank gives the CPU away once and finds the barrier done. Ranks at unknown places are groups of one
// for cpu and core, one group otherwise.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/barrier/dissemination.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct HybridDissemination : AlgorithmDefaults {
  enum class Leaders : unsigned char { last, fixed };

  struct Parameters {
    Level group = Level::core;
    Leaders leaders = Leaders::last;
    Dissemination::Parameters between;  // of the dissemination between groups; reset and store are for both
  };

  static AlgorithmFacts facts() {
    return {"hybrid-dissemination", Origin::paper, "rodchenko-2015 section 4",
            "one counter a core (or CPU, cache, node); the last arrivers disseminate"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("group", p.group, {"cpu", "core", "l3", "numa", "package"},
                   "what the ranks share that meet at one counter");
    visitor.choice("leaders", p.leaders, {"last", "static"},
                   "which rank acts for a group: its last arriver, or its lowest rank");
    Dissemination::describe(visitor, p.between);
  }

  static void limit(Parameters& p, const Shape& shape) {
    Dissemination::limit(p.between, groups_of(p, shape));
  }
  static const char* refuse(const Parameters& p) { return Dissemination::refuse(p.between); }

  struct Group {
    Strided<CounterLine> count;
    // Stored by the rank that speaks for the group: one writer at a time, handed on by the counter or the
    // release before.
    Strided<SoleWriterLine<std::uint64_t>> release;
  };

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    const Shape groups = groups_of(p, shape);
    return static_cast<std::size_t>(groups.size()) * sizeof(Group) +
           Dissemination::footprint(p.between, groups);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup) : Rank(p, setup, setup.shape.groups(p.group)) {}

    // `leaders=last` is the paper's: the group's last arriver disseminates. With `static` its lowest rank
    // waits for the others and disseminates: it is known who waits for whom, for one more hand-over if it is
    // early.
    //
    // By CPU, the root of a broadcast or scatter just before the barrier acts for its group: all are likely
    // to wait for it next, so its CPU should not switch in between. In the group of a reduction's or gather's
    // root, which waits for all, another rank acts and leaves before it.
    //
    // Reset: sense in the paper, numbers that only grow by default.
    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode)
        run<true>(port, at_least(episode_));
      else
        run<false>(port, equal<std::uint64_t>(episode_ & 1));
    }

   private:
    Rank(const Parameters& p, const Setup& setup, const std::vector<int>& group_of)
        : Rank(p, setup, group_of, lowest_of(group_of), group_of[static_cast<std::size_t>(setup.rank)]) {}
    Rank(const Parameters& p, const Setup& setup, const std::vector<int>& group_of,
         const std::vector<int>& lowest, int self)
        : group_(setup.at<Group>(static_cast<std::size_t>(self) * sizeof(Group))),
          between_(p.between, Setup{self, Shape::unknown(static_cast<int>(lowest.size())),
                                    setup.memory + lowest.size() * sizeof(Group), lowest.data()}),
          members_(static_cast<std::uint64_t>(std::count(group_of.begin(), group_of.end(), self))),
          leader_(lowest[static_cast<std::size_t>(self)]),
          self_(setup.rank),
          leaders_(p.leaders),
          reset_(p.between.reset),
          store_(p.between.store) {
      if (p.group != Level::cpu || setup.members != nullptr) return;
      group_of_ = group_of;
      second_ = leader_ + 1;
      while (second_ < setup.size() && group_of[static_cast<std::size_t>(second_)] != self) ++second_;
    }

    // Groups are numbered by their lowest ranks, so a new number is the next one.
    static std::vector<int> lowest_of(const std::vector<int>& group_of) {
      std::vector<int> lowest;
      for (std::size_t r = 0; r < group_of.size(); ++r)
        if (group_of[r] == static_cast<int>(lowest.size())) lowest.push_back(static_cast<int>(r));
      return lowest;
    }

    template <bool monotone>
    void run(Port& port, Condition<std::uint64_t> released) {
      if (members_ == 1) {
        between_.run_episode(port, episode_);
        return;
      }
      CounterLine& count = group_->count.value;
      if (leaders_ == Leaders::last) {
        const std::uint64_t last = monotone ? episode_ * members_ - 1 : members_ - 1;
        const int acting = monotone ? acting_here(port) : any_rank;
        if (self_ == acting) {
          port.wait(count.word, at_least(last));
          port.store_relaxed(count.word, last + 1);
        } else if (acting != any_rank) {
          port.signal_add(count.word, std::uint64_t{1});
          port.wait(group_->release.value.word, released, acting);
          return;
        } else if (port.fetch_add(count.word, std::uint64_t{1}) != last) {
          // Acquire and release: the last arriver speaks for what all of the group wrote before they came.
          port.wait(group_->release.value.word, released);
          return;
        }
      } else if (self_ != leader_) {
        port.signal_add(count.word, std::uint64_t{1});
        port.wait(group_->release.value.word, released, leader_);
        return;
      } else {
        const std::uint64_t others = members_ - 1;
        port.wait(count.word, monotone ? at_least(episode_ * others) : equal(others));
      }
      // No rank comes again before the release.
      if (!monotone) refill(port, count, store_);
      // The group's flags have one writer at a time: the next to speak for the group does so after the
      // release.
      between_.run_episode(port, episode_);
      port.signal(group_->release.value, released.value, store_);
    }
    /// The rank that acts for this group; any_rank: the last arriver.
    int acting_here(Port& port) const {
      if (group_of_.empty()) return any_rank;
      const SignatureWord before = port.call_before();
      const int root = call_signature::root_of(before);
      const auto group = [&](int rank) { return group_of_[static_cast<std::size_t>(rank)]; };
      if (root == any_rank || group(root) != group(self_)) return any_rank;
      return call_signature::root_gives(before) ? root : root != leader_ ? leader_ : second_;
    }

    std::uint64_t episode_ = 0;
    Group* group_;
    /// The group as one rank among the groups. A wait names the signalling group's lowest rank as `from`: the
    /// rank that signals runs where that one does.
    typename Dissemination::template Rank<Port> between_;
    std::vector<int> group_of_;  // of all ranks, if roots matter
    std::uint64_t members_;
    int leader_;  // the group's lowest rank
    int second_ = any_rank;
    int self_;
    Leaders leaders_;
    Reset reset_;
    StorePolicy store_;
  };

 private:
  /// A shape of the groups, whose size alone matters.
  static Shape groups_of(const Parameters& p, const Shape& shape) {
    int groups = 0;
    for (int group : shape.groups(p.group)) groups = group >= groups ? group + 1 : groups;
    return Shape::unknown(groups);
  }
};

}  // namespace phicoll
