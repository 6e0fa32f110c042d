#include "phicoll/group/collectives.hpp"

#include <algorithm>
#include <exception>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/environment.hpp"
#include "phicoll/group/member.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/nap.hpp"

namespace phicoll {

Collectives::Collectives(Member& owner)
    : owner_(&owner),
      set_(
          owner.shape(),
          [this](Operation operation, const AlgorithmSpec& spec) { return make(operation, spec); },
          // Leaves room for the algorithms of several operations.
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
  ++changes_;
  set_.clear();
  for (const Placed& placed : placed_at_) owner_->free_region().give_back(placed.block);
  placed_at_.clear();
}

void Collectives::give_back_to(Region& region) const {
  for (const Placed& placed : placed_at_) region.give_back(placed.block);
}

// Ranks agree on which algorithms end without exchanging a word:
//
//  1. Each rank counts the collective calls of the communicator that it has begun (Communicator::calls). All
//     make the same calls in the same order.
//  2. All find the same algorithm for each call, because CallFacts are what all know alike.
//  3. So when they come here, in the same call, the same algorithms are in use, with the same numbers of last
//     use, made in the same order, at the same places.
//
// Clocks, or facts that only one rank sees, would not do.
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
  // Throws if there is still no room. The bytes must be contiguous, so an algorithm whose memory lies
  // elsewhere may stay.
  const Region::Block place = trial.take(bytes);
  const auto elsewhere = [&](const Placed& placed) {
    return placed.block.offset + placed.block.bytes <= place.offset ||
           placed.block.offset >= place.offset + place.bytes;
  };
  oldest.erase(std::remove_if(oldest.begin(), oldest.end(), elsewhere), oldest.end());
  ++changes_;
  for (const Placed& gone : oldest) {
    if (gone.instance != nullptr) set_.end(*gone.instance);
    owner_->free_region().give_back(gone.block);
    placed_at_.erase(std::find_if(placed_at_.begin(), placed_at_.end(), [&](const Placed& placed) {
      return placed.block.offset == gone.block.offset;
    }));
  }
}

void Collectives::select(Operation operation, const AlgorithmSpec& spec, const std::size_t* place) {
  if (place != nullptr) {
    release();
    place_ = *place;
    placed_ = true;
  } else {
    ++changes_;
  }
  set_.select(operation, spec);
}

std::unique_ptr<Collectives::Set::Instance> Collectives::make(Operation operation,
                                                              const AlgorithmSpec& spec) {
  const bool placed = placed_;
  placed_ = false;
  const std::size_t bytes = family(operation).footprint(spec, owner_->shape());
  owner_->check_process();
  if (!placed) make_room(owner_->free_region(), bytes);
  const Region::Block block = owner_->take_zeroed(bytes, placed ? &place_ : nullptr);
  placed_at_.push_back(Placed{nullptr, block});
  try {
    const Setup setup{owner_->rank(), owner_->shape(), owner_->region() + block.offset};
    const WaitPolicy& wait = spec.has_wait ? spec.wait : owner_->wait_policy();
    std::unique_ptr<Set::Instance> instance(
        new Set::Instance{owner_->made(operation, spec, setup, wait), owner_->make_port(wait), spec});
    placed_at_.back().instance = instance.get();
    return instance;
  } catch (const std::exception& error) {
    // Only this rank failed (its heap is full, say): the others have the algorithm and would wait in it.
    owner_->control().break_group(owner_->rank(), error.what());
    throw;
  }
}

// An exception takes this rank out of a call in which its peers have its buffers' addresses. The caller frees
// the buffers as it unwinds, so the exception waits while a peer may still use them. This rank first says
// that it will not touch the peers' buffers. The group is broken by now. Each peer is in one of three states:
//
// (1) In this call. It finishes its current copy, sees the break where it waits next, and says that it is
//     done (release). This rank acquires that, so the peer's reads come before the free.
void Collectives::wait_for_readers(std::uint64_t call) {
  CallBoard* const board = owner_->board();
  if (board == nullptr) return;
  const Control& control = owner_->control();
  const int own = owner_->rank();
  board->done(own, call);
  constexpr std::int64_t shortest_ns = 100 * 1000;
  // (2) Not yet in this call. It will note the call and then look whether the group is broken, with no fence
  //     between, which would cost every call. The barrier that this rank issues on all CPUs replaces that
  //     fence: either the note is seen here, or the peer sees the break and touches nothing.
  // (3) Past this call, or in another one. It does not use these buffers.

  // Without such a barrier: any store is seen long before this.
  if (!os::membarrier_all(control.shared())) os::nap(10 * shortest_ns);
  // A peer whose process has ended touches nothing: it is not waited for. A peer may also be stopped, or in
  // an operator that never returns, so the wait ends in any case. Between processes it is short: copies
  // through the kernel or in the group's own memory cannot fault.

  // Ends by the clock: on a busy machine a nap takes many times as long as asked.
  const std::int64_t end_ns = os::now_ns() + (control.shared() ? 200 : 10000) * std::int64_t{1000000};
  const auto has_ended = [&](int r) { return control.shared() && os::process_has_ended(control.pid(r)); };
  for (int r = 0; r < owner_->size(); ++r) {
    if (r == own) continue;
    // Naps grow: many ranks that nap here would keep those that they wait for from their CPUs.
    for (std::int64_t ns = shortest_ns; board->inside(r, call) && os::now_ns() < end_ns && !has_ended(r);
         ns = std::min(2 * ns, 20 * shortest_ns))
      os::nap(ns);
  }
}

void Collectives::leave_half_done(std::uint64_t call) {
  try {
    throw;
  } catch (const BrokenGroupError&) {
    wait_for_readers(call);
    throw;
  } catch (const std::exception& error) {
    // From the operator or a signal's handler: this rank leaves in the middle of the call.
    owner_->fail(error);
    wait_for_readers(call);
    throw;
  } catch (...) {
    // A thread that ends itself unwinds this way, which must not be stopped: it is thrown again.
    owner_->fail("raised something that is not an exception");
    wait_for_readers(call);
    throw;
  }
}

}  // namespace phicoll
