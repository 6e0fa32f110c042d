// Barriers of a process's own threads, without a Communicator: threads come and go, a team's size changes,
// and nothing that a program does may break its barrier.

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/profile.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/ports/native_port.hpp"
#include "phicoll/preload/engine.hpp"
#include "phicoll/preload/guarded.hpp"
#include "phicoll/preload/sleeping.hpp"
#include "phicoll/preload/uncancelled.hpp"

using phicoll::AlgorithmSpec;
using phicoll::AnyCollective;
using phicoll::Control;
using phicoll::NativePort;
using phicoll::Operation;
using phicoll::Shape;

// On strides of its own: what a barrier counts changes at every call.
struct PhicollSeat {
  PhicollSeat(Control& control, int rank, const AlgorithmSpec& spec, const phicoll::Setup& setup,
              phicoll_preload::Bedroom& bedroom, bool sleepy)
      : port(control, rank, spec.has_wait ? spec.wait : phicoll::WaitPolicy{}),
        barrier(phicoll::watched(phicoll::make_collective<NativePort>(Operation::barrier, spec, setup),
                                 Operation::barrier, spec, control, rank, setup.shape.size())),
        bare(barrier->bare()) {
    if (spec.has_wait) return;
    if (sleepy) {
      sleeper.reset(new phicoll_preload::Sleeper(bedroom, rank));
      port.set_elsewhere(sleeper.get());
    } else if (!control.crowded()) {
      yielder.reset(new phicoll_preload::Yielder(bedroom, rank));
      port.set_background(yielder.get());
    }
  }

  static void* operator new(std::size_t bytes) { return phicoll::allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

  NativePort port;
  std::unique_ptr<AnyCollective<NativePort>> barrier;
  AnyCollective<NativePort>::Bare bare;
  std::unique_ptr<phicoll_preload::Sleeper> sleeper;
  std::unique_ptr<phicoll_preload::Yielder> yielder;
};

struct PhicollThreads {
  std::unique_ptr<phicoll_preload::Bedroom> bedroom;
  std::vector<std::unique_ptr<PhicollSeat>> seats;
};

namespace {

constexpr std::size_t control_bytes = (sizeof(Control) + 4095) / 4096 * 4096;

/// Zeroed pages, which are never given back.
unsigned char* pages(std::size_t bytes) {
  void* const base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw phicoll::ResourceError("no memory for a barrier");
  return static_cast<unsigned char*>(base);
}

}  // namespace

PhicollResult phicoll_preload_check_barrier(const char* barrier) {
  return guarded([=] { phicoll::family(Operation::barrier).parse(barrier); });
}

PhicollResult phicoll_preload_threads(const char* barrier, int size, int crowded, int sleepy,
                                      PhicollThreads** threads) {
  const phicoll_preload::Uncancelled uncancelled;  // a tuning table is read
  return guarded([=] {
    Shape shape = Shape::unknown(size, crowded != 0);
    phicoll::tune(&shape, phicoll::load_tuning(phicoll::tuning_source(), phicoll::TuningMode::threads));
    const phicoll::Family& barriers = phicoll::family(Operation::barrier);
    phicoll::CallFacts facts;
    facts.operation = Operation::barrier;
    const AlgorithmSpec spec = phicoll::in_effect(barriers.parse(barrier), shape, facts);
    unsigned char* const memory = pages(control_bytes + barriers.footprint(spec, shape));
    auto* const control = reinterpret_cast<Control*>(memory);
    control->configure(size, false, crowded != 0 ? 1 : 0, 0);
    std::unique_ptr<PhicollThreads> made(new PhicollThreads);
    made->bedroom.reset(new phicoll_preload::Bedroom(*control, size));
    for (int rank = 0; rank < size; ++rank)
      made->seats.emplace_back(new PhicollSeat(*control, rank, spec,
                                               phicoll::Setup{rank, shape, memory + control_bytes},
                                               *made->bedroom, sleepy != 0));
    *threads = made.release();
  });
}

PhicollSeat* phicoll_preload_seat(PhicollThreads* threads, int rank) {
  return threads->seats[static_cast<std::size_t>(rank)].get();
}

void phicoll_preload_pass(PhicollSeat* seat) {
  if (seat->yielder != nullptr) seat->yielder->begin();
  seat->bare(*seat->barrier, seat->port);
  if (seat->sleeper != nullptr) seat->sleeper->wake_others();
}

int phicoll_preload_most_threads(void) {
  return phicoll::max_ranks;
}

int phicoll_preload_begin(void) {
  return phicoll::os::allowed_cpu_count();
}
