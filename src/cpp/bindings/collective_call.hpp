#pragma once

// A collective call that a request stands for, begun as often as its caller likes.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "bindings/begun_handle.hpp"
#include "bindings/communicator_handle.hpp"
#include "phicoll/group/nonblocking.hpp"

namespace phicoll {
namespace bindings {

class CollectiveCall final : public BegunHandle {
 public:
  CollectiveCall(std::shared_ptr<CommunicatorHandle> handle, const Request& request, std::size_t bytes)
      : BegunHandle(std::move(handle), bytes),
        begun_(std::make_shared<CollectiveRequest>(request, handle_->rank(), handle_->size())) {}
  /// What a request stands for that needs no look any more.
  CollectiveCall() : BegunHandle(nullptr, 0), begun_(std::make_shared<CollectiveRequest>(Request(), 0, 1)) {}

  /// Begins it; as Communicator::begin. A rank alone waits for nobody, so it makes the call at once.
  void start() {
    handle_->call(bytes_, [&](Communicator& communicator) {
      if (communicator.size() == 1) return communicator.call(begun_->request);
      if (begun_->done) begun_->kept = kept_;
      communicator.begin(begun_);
    });
  }
  bool test() override {
    return ended() ||
           handle_->call(0, [&](Communicator& communicator) { return communicator.test(*begun_); });
  }
  void wait() override {
    if (!ended()) handle_->call(bytes_, [&](Communicator& communicator) { communicator.wait(*begun_); });
  }
  /// Keeps the memory's owner alive as long as this object, and until the calls it began have ended.
  void keep(const py::object& object) { kept_ = kept(object); }
  std::shared_ptr<Begun> begun() const override { return begun_; }

 private:
  /// Throws what the call threw, also when its communicator is gone.
  bool ended() {
    if (!begun_->done) return false;
    if (begun_->error) std::rethrow_exception(std::exchange(begun_->error, nullptr));
    return true;
  }

  std::shared_ptr<CollectiveRequest> begun_;
  std::shared_ptr<void> kept_;
};

}  // namespace bindings
}  // namespace phicoll
