#pragma once

// Dynamic f-way tournament barrier. Source: rodchenko-2015 section 3 ("dtn"), after Grunwald and Vajracharya.
//
// Games of `ways` players, as in the static tournament, but the last to arrive wins. Each player sets its
// flag and looks at the flags beside it; one that finds all set goes on to the next game, and the others wait
// to be released. So no rank waits for flags that are yet to come, and no atomic read-modify-write is needed.
// The paper tested 2 to 4 ways. Reset: sense in the paper, numbers that only grow by default.

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

struct DynamicTournament : TournamentDescription {
  static AlgorithmFacts facts() {
    return {"dynamic-tournament", Origin::paper, "rodchenko-2015 section 3",
            "games of f players; whoever finds all flags set has come last and goes on"};
  }

  // `store` is for the release lines. The flags, many of which are read at once, take plain stores.

  using Flag = Word<std::uint64_t>;
  using ReleaseLine = SoleWriterLine<std::uint64_t>;

  // First a release line for each game (with `global` the first serves all), then the games' flags.
  static std::size_t flags_offset(const Parameters& p, const Shape& shape) {
    return (game_count(shape.size(), p.ways) + 1) * shape.stride();
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return flags_offset(p, shape) + game_count(shape.size(), p.ways) * game_bytes(p.layout, p.ways, shape);
  }

  template <class Port>
  class Rank {
   public:
    // Two winners of one game are harmless:
    //
    // (4) Of two late players both can find all flags set; with growing numbers, so can one that looks when
    //     the others are already in the next episode.
    // (5) From then on both winners store the same values in the same words: flags further up, releases of
    //     games won, whole release lines.
    // (6) Such a store cannot come late and undo one of the next episode: its game lies above this rank, and
    //     nobody passes it in the next episode before this rank has come again.
    Rank(const Parameters& p, const Setup& setup)
        : global_(p.notify == Notify::global ? setup.at<ReleaseLine>(0) : nullptr),
          flag_stride_(flag_offset(p.layout, 1, setup.shape) / sizeof(Flag)),
          reset_(p.reset),
          store_(p.store) {
      for_each_game(setup.size(), p.ways, setup.rank, [&](const Game& game) {
        Flag* const flags = setup.at<Flag>(flags_offset(p, setup.shape) +
                                           game.number * game_bytes(p.layout, p.ways, setup.shape));
        Step step;
        step.own = flags + static_cast<std::size_t>(game.slot) * flag_stride_;
        step.flags = flags;
        step.flags_end = flags + static_cast<std::size_t>(game.entrants) * flag_stride_;
        step.release = setup.at<ReleaseLine>(game.number * setup.shape.stride());
        path_.push_back(step);
      });
    }

    // Every game has a winner:
    //
    // (1) Each player sets its flag, then makes a full fence, then looks.
    // (2) After the last of a game's fences, in their common order, comes a look that finds every flag.
    // (3) Without fences both of two players could read the other's flag before their own was visible, and
    //     all would wait forever.
    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode) {
        run(port, at_least(episode_));
      } else {
        // One set of flags is enough: a rank that looks so late that another's flag has flipped again has
        // lost, and its release is there already and stays until the rank comes again.
        run(port, equal<std::uint64_t>(episode_ & 1));
      }
    }

   private:
    struct Step {
      Flag* own;
      Flag* flags;
      Flag* flags_end;
      ReleaseLine* release;
    };

    bool all_set(Port& port, const Step& step, Condition<std::uint64_t> done) const {
      // Acquire: what each player, and those that it beat, wrote before they came.
      for (const Flag* flag = step.flags; flag != step.flags_end; flag += flag_stride_)
        if (!done(port.load_acquire(*flag))) return false;
      return true;
    }

    void run(Port& port, Condition<std::uint64_t> done) {
      const Step* const bottom = path_.data();
      const Step* const top = bottom + path_.size();
      const Step* step = bottom;
      for (; step != top; ++step) {
        port.store_release(*step->own, done.value);  // no rank sleeps on it
        port.fence();
        if (all_set(port, *step, done)) continue;
        port.wait(global_ != nullptr ? global_->word : step->release->word, done);
        break;
      }
      if (global_ == nullptr) {
        while (step != bottom) port.signal(*(--step)->release, done.value, store_);
      } else if (step == top) {
        port.signal(*global_, done.value, store_);
      }
    }

    std::uint64_t episode_ = 0;
    AlignedVector<Step> path_;
    ReleaseLine* global_;
    std::size_t flag_stride_;  // in words
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
