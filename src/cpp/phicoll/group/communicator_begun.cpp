// What begins calls on a communicator, and how one differs on which begun calls are made: all that knows a
// Nonblocking.

#include <memory>
#include <string>
#include <utility>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/group/profile.hpp"

namespace phicoll {

Nonblocking& Communicator::nonblocking() {
  check_process();
  if (!nonblocking_) {
    nonblocking_.reset(new Nonblocking(*this));
    for (const auto& one : selected_) nonblocking_->select(one.first, one.second);
  }
  return *nonblocking_;
}

void Communicator::EndBegun::operator()(Nonblocking* begun) const {
  delete begun;
}

// The twin, on which calls are begun, takes it too: after the calls begun before it, as on all ranks, or when
// it is made.
void Communicator::select_for_begun(Operation operation, const AlgorithmSpec& spec) {
  if (memory_.nonblocking != nullptr || size_ == 1) return;
  selected_[operation] = spec;
  if (nonblocking_) nonblocking_->select(operation, spec);
}

std::shared_ptr<BegunCall> Communicator::prepare(const Request& request) {
  return std::make_shared<BegunCall>(request, rank_, size_);
}

std::shared_ptr<BegunCall> Communicator::begin(const Request& request) {
  const auto begun = prepare(request);
  begin(begun);
  return begun;
}

void Communicator::begin(const std::shared_ptr<BegunCall>& begun) {
  if (__builtin_expect(nonblocking_ != nullptr && home_.here() && begun, 1))
    return nonblocking_->begin(begun);
  begin_first(begun);
}

void Communicator::begin_first(const std::shared_ptr<BegunCall>& begun) {
  check_process();
  if (!begun) throw ArgumentError("request", "none", "one that prepare() or begin() returned");
  if (size_ > 1) return nonblocking().begin(begun);
  call(begun->request);  // alone it waits for nobody
}

bool Communicator::test(BegunCall& begun) {
  if (!begun.done) {
    check_process();
    RankWork& work = *memory_.work;
    work.begin_look();
    const bool moved = work.look(nullptr);
    const WaitNote call = {WaitNote::Kind::nonblocking, any_source, any_tag, 0};
    work.end_look(moved || begun.done, [&] { return RankWork::Looked{*memory_.control, rank_, call}; });
    if (!begun.done) return false;
  }
  if (nonblocking_) nonblocking_->wait(begun);  // for its error
  return true;
}

void Communicator::wait(BegunCall& begun) {
  if (!nonblocking_) return;
  if (__builtin_expect(home_.here(), 1)) return nonblocking_->wait(begun);
  wait_in_fork(begun);
}

void Communicator::wait_in_fork(BegunCall& begun) {
  check_process();
  nonblocking_->wait(begun);
}

void Communicator::wait_for_all() {
  check_process();
  if (nonblocking_) nonblocking_->wait_for_all();
  send_all();
}

void Communicator::abandon() {
  abandoned_ = true;
  if (nonblocking_) nonblocking_->abandon();
}

void Member::equip(NativePort& port) const {
  port.set_background(memory_.work.get());
  if (memory_.nonblocking != nullptr) port.set_elsewhere(memory_.nonblocking->elsewhere());
}

std::unique_ptr<AnyCollective<NativePort>> Member::made(Operation operation, const AlgorithmSpec& spec,
                                                        const Setup& setup, const WaitPolicy& wait) const {
  std::unique_ptr<AnyCollective<NativePort>> algorithm = make_collective<NativePort>(operation, spec, setup);
  if (memory_.nonblocking == nullptr)
    return watched(std::move(algorithm), operation, spec, *memory_.control, rank_, size_);
  return memory_.nonblocking->entered_here(std::move(algorithm), wait);
}

// Before what may wait for other ranks, when nothing of the call has been done yet.
void Member::begin_to_wait() const {
  if (memory_.nonblocking != nullptr && memory_.nonblocking->starts_here()) throw Nonblocking::NotYet();
}

}  // namespace phicoll
