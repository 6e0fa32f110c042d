#pragma once

// What the processes of a group share about themselves: which are there, which live, where ranks are placed.

#include <cstdint>

#include "phicoll/memory/control.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/liveness.hpp"

namespace phicoll {

struct ProcessHeader {
  static constexpr std::uint64_t expected_magic = 0x4170726f6c6c6970ull;

  static constexpr int most_cpus = 4096;

  enum State : std::uint32_t { absent = 0, claimed = 1, attached = 2, left = 3 };

  struct Member {
    Word<std::uint32_t> state;
    Word<std::uint32_t>
        pid;  // the process that takes the rank stores it in place of 0; from then on its death is watched
    Word<std::uint32_t> started;  // the process that a launcher started for the rank; 0: none that is known
    // What other ranks try to read and write in this rank's memory.
    std::uint64_t nonce;
    std::uint64_t nonce_at;    // its address in the rank's process
    std::uint64_t written_at;  // of a word for each rank
    CpuLocation place;
    os::RobustToken life;  // used where there is no pidfd
  };

  std::uint64_t magic;
  std::uint64_t region_bytes;
  std::uint64_t heap_bytes;
  std::uint64_t tuning_bytes;  // of the group's tuning table, which comes last; 0: there is none
  std::int32_t tuning_cpus;
  HostNumbers host;             // from stored_numbers, in the process that made the group
  std::int32_t may_calibrate;   // likewise
  std::int32_t numbers_wanted;  // whether the first large call measures
  std::int32_t ranks;
  std::int32_t launcher_pid;  // 0 when programs attach by name
  std::int64_t attach_timeout_ms;
  std::int32_t places_announced;  // 1: ranks run where they announce; 0: where the group's maker placed them
  Word<std::uint32_t> announced_count;              // ranks that have
  Word<std::uint64_t> usable_cpus[most_cpus / 64];  // a bit for each CPU that a rank has announced
  std::int32_t cross_copies;                        // whether they may be tried
  Word<std::uint32_t> cross_copies_failed;          // 1 once a rank could not reach another's memory
  Word<std::uint32_t> tried_count;                  // ranks that have tried all others
  Word<std::uint32_t> tried;                        // 1 once all have and the outcome is known: a futex word
  Word<std::uint32_t> attached_count;  // the futex word on which ranks wait for the group to be complete
  Member members[max_ranks];
};

}  // namespace phicoll
