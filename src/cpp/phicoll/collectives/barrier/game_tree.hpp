#pragma once

// The check-in tree of combining-tree, static-tournament and dynamic-tournament: P entrants meet in games of
// up to `ways`, neighbours first; one of each game goes on to the next level, until one is left.
//
// A game with a single entrant (the ragged end of a level) is a bye: the entrant goes on without touching
// memory. Divisions happen here only, when a rank is constructed.

#include <cstddef>

namespace phicoll {

/// One game on the way of a rank from the leaves to the root.
struct Game {
  std::size_t number;  ///< over all levels, counted from the leaves: where the game's memory lies
  int slot;            ///< through which of its entrants the rank takes part
  int entrants;        ///< at least 2
  int first_rank;      ///< the lowest rank below the game
  int span;            ///< ranks below one entrant; entrant j's lowest is first_rank + j * span
};

/// How many games there are, byes included, for `ranks` >= 1 and `ways` >= 2.
inline std::size_t game_count(int ranks, int ways) {
  std::size_t games = 0;
  for (int entrants = ranks; entrants > 1;) {
    entrants = (entrants + ways - 1) / ways;
    games += static_cast<std::size_t>(entrants);
  }
  return games;
}

/// Calls `visit(Game)` for each game on the way of `rank`, leaves first, byes left out.
template <class Visit>
void for_each_game(int ranks, int ways, int rank, Visit&& visit) {
  std::size_t level_start = 0;
  int index = rank;
  int span = 1;
  for (int entrants = ranks; entrants > 1;) {
    const int game = index / ways;
    const int games = (entrants + ways - 1) / ways;
    const int here = game == games - 1 ? entrants - game * ways : ways;
    if (here > 1)
      visit(Game{level_start + static_cast<std::size_t>(game), index % ways, here, game * ways * span, span});
    level_start += static_cast<std::size_t>(games);
    index = game;
    entrants = games;
    span *= ways;  // below ranks * ways before each use, so no overflow
  }
}

}  // namespace phicoll
