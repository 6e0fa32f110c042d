#pragma once

// A team: some PEs, in order, with a communicator.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "phicoll/group/communicator.hpp"
#include "phicoll/shmem/shmem.hpp"

namespace phicoll {
namespace shmem {

struct Team {
  Communicator* comm = nullptr;
  std::unique_ptr<Communicator> own;   ///< null for the whole world's
  std::vector<int> pes;                ///< the world's number of each PE of the team
  std::vector<std::ptrdiff_t> deltas;  ///< of each PE of the team
  shmem_team_config_t config = {0};
  std::vector<shmem_ctx_t> contexts;  ///< not yet destroyed; of any thread
  std::mutex contexts_mutex;
  phicoll_shmem_team handle = {0, 0, nullptr};
  phicoll_shmem_ctx own_context = {nullptr, &handle, 0};  ///< of the transfers that its collectives make

  int size() const { return static_cast<int>(pes.size()); }
  /// The address of PE `pe`'s copy of symmetric memory that loads and stores reach.
  void* at(void* symmetric, int pe) const {
    return static_cast<char*>(symmetric) + deltas[static_cast<std::size_t>(pe)];
  }
};

/// The team of a handle, or the end of the program if it is none.
Team& team_of(shmem_team_t handle);
/// The team of a context; the end of the program if that is none.
Team& team_of(shmem_ctx_t ctx);

}  // namespace shmem
}  // namespace phicoll
