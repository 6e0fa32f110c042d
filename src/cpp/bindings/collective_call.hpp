#pragma once

// A collective call with all its arguments: made at once, or begun as often as its caller likes.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "bindings/begun_handle.hpp"
#include "bindings/communicator_handle.hpp"
#include "phicoll/group/nonblocking.hpp"

namespace phicoll {
namespace bindings {

class CollectiveCall final : public BegunHandle {
 public:
  CollectiveCall(std::shared_ptr<CommunicatorHandle> handle, CommunicatorHandle::Prepared prepared)
      : BegunHandle(std::move(handle), prepared.bytes),
        request_(std::make_shared<CollectiveRequest>(std::move(prepared.call), true)) {}

  /// Makes the call.
  void run() {
    handle_->call(bytes_, [&](Communicator& communicator) { request_->call(communicator); });
  }
  /// Begins it; as Communicator::begin. A rank alone waits for nobody, so it makes the call at once.
  void start() {
    handle_->call(bytes_, [&](Communicator& communicator) {
      if (communicator.size() == 1) return request_->call(communicator);
      if (request_->done) request_->kept = kept_;
      communicator.begin(request_);
    });
  }
  bool test() override {
    return ended() ||
           handle_->call(0, [&](Communicator& communicator) { return communicator.test(*request_); });
  }
  void wait() override {
    if (!ended()) handle_->call(bytes_, [&](Communicator& communicator) { communicator.wait(*request_); });
  }
  /// Keeps the memory's owner alive as long as this object, and until the calls it began have ended.
  void keep(const py::object& object) { kept_ = kept(object); }
  std::shared_ptr<Begun> begun() const override { return request_; }
  /// What a request stands for that needs no look any more.
  static std::shared_ptr<CollectiveCall> of_no_call() {
    return std::make_shared<CollectiveCall>(nullptr, CommunicatorHandle::Prepared{0, nullptr});
  }

 private:
  /// Throws what the call threw, also when its communicator is gone.
  bool ended() {
    if (!request_->done) return false;
    if (request_->error) std::rethrow_exception(std::exchange(request_->error, nullptr));
    return true;
  }

  std::shared_ptr<CollectiveRequest> request_;
  std::shared_ptr<void> kept_;
};

}  // namespace bindings
}  // namespace phicoll
