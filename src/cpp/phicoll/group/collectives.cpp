#include "phicoll/group/collectives.hpp"

#include <time.h>

#include <algorithm>
#include <exception>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/environment.hpp"
#include "phicoll/os/membarrier.hpp"

namespace phicoll {

Collectives::Collectives(Communicator& owner)
    : owner_(&owner),
      set_(
          owner.shape(),
          [this](Operation operation, const AlgorithmSpec& spec) { return make(operation, spec); },
          // Several operations' algorithms have room beside each other.
          owner.region_bytes() / 4) {
  check_environment();
  for (int o = 1; o < operations; ++o) {
    const auto operation = static_cast<Operation>(o);
    const EnvironmentChoice choice = environment_choice(operation);
    if (choice) set_.select(operation, choice.spec, choice.why());
  }
}

Collectives::~Collectives() {
  release();
}

void Collectives::release() {
  set_.clear();
  for (const Placed& placed : placed_at_) owner_->give_back(placed.block);
  placed_at_.clear();
}

void Collectives::give_back_to(Region& region) const {
  for (const Placed& placed : placed_at_) region.give_back(placed.block);
}

// Ranks agree on who ends without a word. What they compare are numbers of calls: each rank counts the
// collective calls of the communicator that it has begun (Communicator::calls), all make the same calls in
// the same order, and all find the same algorithm for each of them (CallFacts are what all know alike). So
// when they come here, in the same call, the same algorithms are in use with the same numbers, made in the
// same order, in the same places. Clocks, or what only one rank sees, would not do.
void Collectives::make_room(const Region& region, std::size_t bytes) {
  Region trial = region;
  if (trial.fits(bytes)) return;
  std::vector<Placed> oldest = placed_at_;
  const auto last_use = [](const Placed& placed) {
    return placed.instance != nullptr ? placed.instance->last_use : 0;
  };
  std::stable_sort(oldest.begin(), oldest.end(),
                   [&](const Placed& a, const Placed& b) { return last_use(a) < last_use(b); });
  std::size_t enough = 0;
  while (enough < oldest.size() && !trial.fits(bytes)) trial.give_back(oldest[enough++].block);
  oldest.resize(enough);
  // Throws where there is no room even so. What is free has to be in one piece: whose memory is not where
  // that piece will be may stay.
  const Region::Block place = trial.take(bytes);
  const auto elsewhere = [&](const Placed& placed) {
    return placed.block.offset + placed.block.bytes <= place.offset ||
           placed.block.offset >= place.offset + place.bytes;
  };
  oldest.erase(std::remove_if(oldest.begin(), oldest.end(), elsewhere), oldest.end());
  for (const Placed& gone : oldest) {
    if (gone.instance != nullptr) set_.end(*gone.instance);
    owner_->give_back(gone.block);
    placed_at_.erase(std::find_if(placed_at_.begin(), placed_at_.end(), [&](const Placed& placed) {
      return placed.block.offset == gone.block.offset;
    }));
  }
}

void Collectives::select(Operation operation, const std::string& spec) {
  set_.select(operation, family(operation).parse(spec));
}

void Collectives::select_at(Operation operation, const std::string& spec, std::size_t place) {
  AlgorithmSpec parsed = family(operation).parse(spec);
  release();
  set_.select(operation, std::move(parsed));
  place_ = place;
  placed_ = true;
}

std::unique_ptr<Collectives::Set::Instance> Collectives::make(Operation operation,
                                                              const AlgorithmSpec& spec) {
  const bool placed = placed_;
  placed_ = false;
  const Region::Block block =
      owner_->take_zeroed(family(operation).footprint(spec, owner_->shape()), placed ? &place_ : nullptr);
  placed_at_.push_back(Placed{nullptr, block});
  try {
    const Setup setup{owner_->rank(), owner_->shape(), owner_->region() + block.offset};
    std::unique_ptr<Set::Instance> instance(
        new Set::Instance{make_collective<NativePort>(operation, spec, setup),
                          owner_->make_port(spec.has_wait ? spec.wait : owner_->wait_policy()), spec});
    placed_at_.back().instance = instance.get();
    return instance;
  } catch (const std::exception& error) {
    // This rank's own trouble (its heap is full): the others have the algorithm and would wait in it.
    owner_->control().break_group(owner_->rank(), error.what());
    throw;
  }
}

// An exception takes this rank out of a call whose peers have its buffers' addresses. The caller frees them
// as it unwinds, so it must not get the exception before nobody reads or writes them any more; the others
// must not do so to this rank's, either, which is why it says first that it touches nobody's.
//
// The group is broken by now. A peer that is in this call leaves it: it finishes the copy that it is at, sees
// the break where it waits next, and says that it is done (release; seen here with acquire, so that its reads
// come before the free). A peer that is not yet in it notes the call and then looks whether the group is
// broken, without a fence between the two (it would cost every call some 20 ns); the barrier that this rank
// issues on all CPUs stands in for it: either the note is seen here, or the peer sees the break and touches
// nothing. A peer that has left the call, or is at another one, has no use for these buffers.
//
// The wait has an end, as the peer may be killed, stopped or in an operator that never returns. Between
// processes it is short: a killed rank never says that it is done, and what others read and write through the
// kernel or in the group's own memory faults nobody.
void Collectives::wait_for_readers(std::uint64_t call) {
  CallBoard* const board = owner_->board_;
  if (board == nullptr) return;
  const Control& control = owner_->control();
  const int own = owner_->rank();
  board->done(own, call);
  const auto nap = [](std::int64_t ns) {
    const timespec time = {0, static_cast<long>(ns)};
    nanosleep(&time, nullptr);
  };
  // Where there is no such barrier a store is seen long before this.
  if (!os::membarrier_all(control.shared())) nap(1000000);
  constexpr std::int64_t step_ns = 100000;
  std::int64_t left_ns = control.shared() ? std::int64_t{200000000} : std::int64_t{10000000000};
  for (int r = 0; r < owner_->size(); ++r)
    for (; r != own && board->inside(r, call) && left_ns > 0; left_ns -= step_ns) nap(step_ns);
}

void Collectives::leave_half_done(std::uint64_t call) {
  try {
    throw;
  } catch (const BrokenGroupError&) {
    wait_for_readers(call);
    throw;
  } catch (const std::exception& error) {
    // The operator's, or the interrupt hook's. This rank leaves in the middle of the call.
    const std::string text = error.what();
    owner_->fail("raised " + text.substr(0, text.find('\n')));
    wait_for_readers(call);
    throw;
  } catch (...) {
    // Thrown on from here: a thread that ends itself unwinds so, and must not be caught without.
    owner_->fail("raised something that is not an exception");
    wait_for_readers(call);
    throw;
  }
}

}  // namespace phicoll
