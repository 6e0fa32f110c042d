#pragma once

// The fallback of algorithms that touch a peer's own buffer, if that cannot be reached: the root's message
// goes through one ring of cells in shared memory, which all others read (see cells.hpp for what is visible
// when). All ranks decide alike to come here, by what a header said.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/transport/cells.hpp"

namespace phicoll {

constexpr int staged_cells = 4;
constexpr std::size_t staged_cell = 16384;

inline std::size_t staged_footprint(int ranks) {
  return cells_footprint(ranks, 1, staged_cells, staged_cell);
}

template <class Port>
class StagedPieces {
 public:
  StagedPieces(const Setup& setup, std::size_t offset)
      : cells_(setup, offset, 1, staged_cells, staged_cell, Credit::acknowledged), rank_(setup.rank) {}

  void operator()(Port& port, const Call& call) {
    for (std::size_t at = 0; at < call.count; at += cells_.bytes()) {
      const std::uint64_t step = steps_++;
      const std::size_t bytes = std::min(cells_.bytes(), call.count - at);
      if (rank_ == call.root) {
        cells_.offer(port, step, call.tag, call.receive + at, bytes, false);
      } else {
        port.move(call.receive + at, cells_.await(port, call.root, step, call.tag, bytes), bytes,
                  Stores::taken);
      }
      cells_.finish(port, step);
    }
  }

 private:
  Cells<Port> cells_;
  std::uint64_t steps_ = 0;
  int rank_;
};

}  // namespace phicoll
