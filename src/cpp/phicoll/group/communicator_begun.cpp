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

std::shared_ptr<CollectiveRequest> Communicator::prepare(const Request& request) {
  return std::make_shared<CollectiveRequest>(request, rank_, size_);
}

std::shared_ptr<CollectiveRequest> Communicator::begin(const Request& request) {
  const auto begun = prepare(request);
  begin(begun);
  return begun;
}

void Communicator::begin(const std::shared_ptr<CollectiveRequest>& request) {
  if (__builtin_expect(nonblocking_ != nullptr && home_.here() && request, 1))
    return nonblocking_->begin(request);
  begin_first(request);
}

void Communicator::begin_first(const std::shared_ptr<CollectiveRequest>& request) {
  check_process();
  if (!request) throw ArgumentError("request", "none", "one that prepare() or begin() returned");
  if (size_ > 1) return nonblocking().begin(request);
  call(request->request);  // alone it waits for nobody
}

bool Communicator::test(CollectiveRequest& request) {
  if (!request.done) {
    check_process();
    RankWork& work = *memory_.work;
    work.begin_look();
    const bool moved = work.look(nullptr);
    const WaitNote call = {WaitNote::Kind::nonblocking, any_source, any_tag, 0};
    work.end_look(moved || request.done, [&] { return RankWork::Looked{*memory_.control, rank_, call}; });
    if (!request.done) return false;
  }
  if (nonblocking_) nonblocking_->wait(request);  // for its error
  return true;
}

void Communicator::wait(CollectiveRequest& request) {
  if (!nonblocking_) return;
  if (__builtin_expect(home_.here(), 1)) return nonblocking_->wait(request);
  wait_in_fork(request);
}

void Communicator::wait_in_fork(CollectiveRequest& request) {
  check_process();
  nonblocking_->wait(request);
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
