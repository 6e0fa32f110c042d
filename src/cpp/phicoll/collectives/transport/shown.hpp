#pragma once

// Places that a rank shows to a peer, which then loads from them or stores to them directly: OpenSHMEM's
// shmem_ptr. The data lies in the rank's own message buffers where peers' loads and stores reach them,
// otherwise in a buffer in shared memory. The owner decides, and its line says where.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/transport/exposed_words.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct ShownPlaces {
  Data read;
  Data write;
  std::uint64_t note = 0;
};

struct alignas(arch::line_bytes) ShownLine {
  Word<std::uint64_t> number;
  ExposedWords read;
  ExposedWords write;
  Word<std::uint64_t> note;
};
struct ShownSlot {
  Strided<ShownLine> shown;   // written by the owner
  Strided<CounterLine> done;  // written by the peer
};

inline std::size_t shown_footprint(int ranks, int slots) {
  return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(slots) * sizeof(ShownSlot);
}

// Each slot of a rank is for one peer. Numbers count from 1 and only grow.
//
// (1) `show` stores two handles and the algorithm's note, then the number with the call's tag in its lowest
//     16 bits, with release. Who acquires that very word in `look` sees the handles and the data to read;
//     another tag means waiting until the group finds the mismatch.
// (2) `done` is the peer's release that it has read and stored everything. The owner acquires it in
//     `await_done`, sees what was stored, and may reuse the places. A slot is shown again
//     only after that.
template <class Port>
class Shown {
 public:
  Shown(const Setup& setup, std::size_t offset, int slots)
      : slots_(setup.at<ShownSlot>(offset)), slots_a_rank_(slots), rank_(setup.rank) {}

  /// Begins a call.
  void begin(const Call& call) { tag_ = call.tag; }
  void show(Port& port, int slot, std::uint64_t number, Data read, Data write, std::uint64_t note = 0) {
    PHICOLL_ASSERT(Port, slot >= 0 && slot < slots_a_rank_,
                   "rank " + std::to_string(rank_) + " shows a slot that it does not have");
    ShownLine& line = at(rank_, slot).shown.value;
    line.read.store(port, port.expose(read));
    line.write.store(port, port.expose(write));
    port.store_relaxed(line.note, note);
    port.signal(line.number, tagged(number));
  }
  ShownPlaces look(Port& port, int owner, int slot, std::uint64_t number) {
    PHICOLL_ASSERT(Port, number != 0, "rank " + std::to_string(rank_) + " looks for what was never shown");
    ShownLine& line = at(owner, slot).shown.value;
    port.wait(line.number, equal(tagged(number)), owner);
    return ShownPlaces{port.view(line.read.load(port), 0), port.view(line.write.load(port), 0),
                       port.load_relaxed(line.note)};
  }
  void done(Port& port, int owner, int slot, std::uint64_t number) {
    port.signal(at(owner, slot).done.value.word, number);
  }
  void await_done(Port& port, int slot, std::uint64_t number, int by) {
    port.wait(at(rank_, slot).done.value.word, at_least(number), by);
  }

  /// Replaces `done` for a slot that all ranks look at: each rank marks once, in its own line, that it has
  /// finished with all ranks' places of that number, and an owner awaits the marks of all others.
  void count(Port& port, int slot, std::uint64_t number) { done(port, rank_, slot, number); }
  void await_count(Port& port, int rank, int slot, std::uint64_t number) {
    port.wait(at(rank, slot).done.value.word, at_least(number), rank);
  }

 private:
  std::uint64_t tagged(std::uint64_t number) const { return (number << 16) | tag_; }
  ShownSlot& at(int rank, int slot) const {
    return slots_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(slots_a_rank_) +
                  static_cast<std::size_t>(slot)];
  }
  ShownSlot* slots_;
  std::uint64_t tag_ = 0;
  int slots_a_rank_;
  int rank_;
};

}  // namespace phicoll
