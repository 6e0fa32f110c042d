// The C++ standard library's barrier as a reference. Needs C++20. Threads only, because libstdc++'s barrier
// lies partly on the heap of the process that made it.

#include "bench/std_barrier.hpp"

#include <barrier>
#include <new>

#include "phicoll/measure/program_step.hpp"

namespace phicoll {
namespace bench {

namespace {

void run(const measure::Seat& seat, const measure::Step& step, unsigned char* memory, Communicator& meet,
         measure::RankReport& report) {
  using Barrier = std::barrier<>;
  static_assert(sizeof(Barrier) <= 4096, "fits the place that references get");
  auto* barrier = reinterpret_cast<Barrier*>(memory);
  if (seat.rank == 0) ::new (static_cast<void*>(memory)) Barrier(seat.ranks);
  meet.barrier();
  measure::run_reference_step(
      seat, step, [barrier] { barrier->arrive_and_wait(); }, report);
  meet.barrier();
  if (seat.rank == 0) barrier->~Barrier();
}

}  // namespace

measure::ExtraReference std_barrier_reference() {
  return {"std-barrier", run};
}

}  // namespace bench
}  // namespace phicoll
