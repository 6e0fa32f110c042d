#pragma once

// What static and dynamic tournaments have in common: a tree of games of `ways` players, flags, releases.

#include "phicoll/collectives/barrier/game_flags.hpp"
#include "phicoll/collectives/barrier/notify.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct TournamentParameters {
  int ways = 2;
  Notify notify = Notify::local;
  FlagLayout layout = FlagLayout::packed;
  Reset reset = Reset::episode;
  StorePolicy store = StorePolicy::plain;
};

/// The part of the description that both tournaments inherit.
struct TournamentDescription : AlgorithmDefaults {
  using Parameters = TournamentParameters;

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("ways", p.ways, 2, max_ranks, "players of a game");
    describe_notify(visitor, p.notify);
    describe_flag_layout(visitor, p.layout);
    describe_reset(visitor, p.reset);
    describe_store(visitor, p.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_growth(p.ways, shape); }
};

}  // namespace phicoll
