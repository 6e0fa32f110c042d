#include "phicoll/waiting/parking.hpp"

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/nap.hpp"

namespace phicoll {
namespace parking {

namespace {

// The longest sleep of a wait's first part: the fallback where membarrier is missing, and the latest moment
// at which a sleeper sees a broken group.
constexpr std::int64_t first_sleeps_ns = 10 * 1000 * 1000;

}  // namespace

bool sleep(Control& control, const Awaited& awaited, Roaming& roaming, std::int64_t waited_ns,
           std::uint64_t* seen) {
  const std::uint64_t line = control.line_of(awaited.place);
  ParkingSlot& slot = control.slot_of(line);
  control.parked().atomic().fetch_add(
      1, std::memory_order_seq_cst);  // 1. seq_cst: ordered before the look on every CPU
  slot.add_sleeper(line);
  const std::uint32_t sequence = slot.sequence.atomic().load(std::memory_order_acquire);
  if (!os::membarrier_all(control.shared())) arch::full_fence();  // 2.
  bool holds = awaited.look(1, 0, seen);                          // 3.
  if (!holds && !control.broken()) {
    roaming.note_asleep();
    os::futex_wait(&slot.sequence.atomic(), sequence, os::nap_of_wait(waited_ns, first_sleeps_ns),
                   control.shared());  // 4.
    roaming.note_awake();
    holds = awaited.look(1, 0, seen);
  }
  slot.remove_sleeper();
  control.parked().atomic().fetch_sub(1, std::memory_order_release);
  return holds;
}

void wake_sleepers(Control& control, const void* place) {
  const std::uint64_t line = control.line_of(place);
  ParkingSlot& slot = control.slot_of(line);
  if (!slot.has_sleeper(line)) return;
  slot.sequence.atomic().fetch_add(1, std::memory_order_acq_rel);
  os::futex_wake(&slot.sequence.atomic(), max_ranks, control.shared());
}

}  // namespace parking
}  // namespace phicoll
