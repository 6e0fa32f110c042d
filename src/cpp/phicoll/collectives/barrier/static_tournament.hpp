#pragma once

// Static f-way tournament barrier. Source: rodchenko-2015 section 3 ("stn"), after Hensgen, Finkel and
// Manber, Grunwald and Vajracharya (f ways) and Mellor-Crummey and Scott (notification back down the tree).
//
// The winner of each game of `ways` players is fixed: the lowest rank. It waits for a flag of each loser and
// goes on; losers set their flag and wait to be released, so no atomic read-modify-write is needed.

#include <cstdint>

#include "phicoll/collectives/barrier/game_flags.hpp"
#include "phicoll/collectives/barrier/game_tree.hpp"
#include "phicoll/collectives/barrier/notify.hpp"
#include "phicoll/collectives/barrier/tournament_parameters.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct StaticTournament : TournamentDescription {
  static AlgorithmFacts facts() {
    return {"static-tournament", Origin::paper, "rodchenko-2015 section 3",
            "games of f players whose winner is fixed and waits for the losers' flags"};
  }

  // `store` is for the release lines and for flags on lines of their own; packed flags take plain stores.

  using Flag = Word<std::uint64_t>;
  using ReleaseLine = SoleWriterLine<std::uint64_t>;

  // First a release line for each rank (with `global` rank 0's serves all), then the games' flags.
  static std::size_t release_offset(const Shape& shape, int rank) {
    return StridedLines<ReleaseLine>::bytes(shape, rank);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return release_offset(shape, shape.size()) +
           game_count(shape.size(), p.ways) * game_bytes(p.layout, p.ways, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : global_(p.notify == Notify::global ? setup.at<ReleaseLine>(release_offset(setup.shape, 0))
                                             : nullptr),
          release_(setup.at<ReleaseLine>(release_offset(setup.shape, setup.rank))),
          own_line_(p.layout == FlagLayout::line_per_flag),
          reset_(p.reset),
          store_(p.store) {
      for_each_game(setup.size(), p.ways, setup.rank, [&](const Game& game) {
        if (flag_ != nullptr) return;  // out of the tournament
        const auto flag_of = [&](int slot) {
          return setup.at<Flag>(release_offset(setup.shape, setup.size()) +
                                game.number * game_bytes(p.layout, p.ways, setup.shape) +
                                flag_offset(p.layout, slot, setup.shape));
        };
        if (game.slot != 0) {
          flag_ = flag_of(game.slot);
          winner_ = game.first_rank;
          return;
        }
        for (int slot = 1; slot < game.entrants; ++slot) {
          const int rank = game.first_rank + slot * game.span;
          losers_.push_back(
              Loser{flag_of(slot), setup.at<ReleaseLine>(release_offset(setup.shape, rank)), rank});
        }
      });
    }

    // The champion, rank 0, tells all: `local`, each winner releases its losers in the reverse order of its
    // games, each on a line of its own; `global`, the champion stores one word that all watch. With
    // `layout=packed`, the paper's, the flags of a game lie side by side, so the winner finds several in one
    // line; `line-per-flag` gives each its own. The paper tested 2 to 5 ways. Reset: sense in the paper,
    // numbers that only grow by default.
    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode) {
        run(port, at_least(episode_));
      } else {
        // One set of flags is enough for two senses: a loser sets its flag anew only after its release, and
        // so after the winner has seen the old one, and it is released anew only after it has set its flag.
        run(port, equal<std::uint64_t>(episode_ & 1));
      }
    }

   private:
    struct Loser {
      Flag* flag;
      ReleaseLine* release;
      int rank;
    };

    void run(Port& port, Condition<std::uint64_t> done) {
      Loser* const first = losers_.data();
      Loser* const last = first + losers_.size();
      // Each wait acquires what the loser, and those it beat, wrote before they came.
      for (const Loser* loser = first; loser != last; ++loser) port.wait(*loser->flag, done, loser->rank);
      if (flag_ != nullptr) {
        if (own_line_) {
          port.signal(*reinterpret_cast<SoleWriterLine<std::uint64_t>*>(flag_), done.value, store_);
        } else {
          port.signal(*flag_, done.value);
        }
        if (global_ != nullptr) {
          port.wait(global_->word, done, 0);
          return;
        }
        port.wait(release_->word, done, winner_);
      } else if (global_ != nullptr) {
        port.signal(*global_, done.value, store_);
        return;
      }
      // The losers of the last game first: they have the most to release. Their lines are this rank's to
      // write and theirs to read.
      for (const Loser* loser = last; loser != first;) port.signal(*(--loser)->release, done.value, store_);
    }

    std::uint64_t episode_ = 0;
    AlignedVector<Loser> losers_;
    ReleaseLine* global_;
    ReleaseLine* release_;
    Flag* flag_ = nullptr;  // where this rank loses; the champion never does
    int winner_ = 0;
    bool own_line_;
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
