#pragma once

// What a Python request stands for: a message or a collective call that goes on after the call that began it.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/communicator_handle.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {
namespace bindings {

class BegunHandle {
 public:
  /// A message. `frame`: of a receive of an object.
  BegunHandle(CommunicatorHandle& handle, std::shared_ptr<Transfer> transfer,
              std::shared_ptr<FrameBytes> frame = nullptr)
      : handle_(handle.shared_from_this()),
        bytes_(transfer->bytes),
        transfer_(std::move(transfer)),
        frame_(std::move(frame)) {}
  /// A collective call, which start() begins as often as its caller likes. `kept`: the memory's owner, which
  /// lives as long as this object, and until the calls it began have ended.
  BegunHandle(CommunicatorHandle& handle, const Request& request, std::size_t bytes, const py::object& owner)
      : handle_(handle.shared_from_this()),
        bytes_(bytes),
        call_(std::make_shared<BegunCall>(request, handle.rank(), handle.size())),
        kept_(kept(owner)) {}
  /// What a request stands for that needs no look any more.
  BegunHandle() : call_(std::make_shared<BegunCall>(Request(), 0, 1)) {}

  /// Null: it is a collective call.
  const Transfer* transfer() const { return transfer_.get(); }
  /// Throws Error if it is none, as the functions of messages or of calls alone do for the other kind.
  const Transfer& message() const {
    if (!transfer_) throw Error("a collective call is not a message");
    return *transfer_;
  }
  std::shared_ptr<Begun> begun() const {
    return transfer_ ? std::shared_ptr<Begun>(transfer_) : std::shared_ptr<Begun>(call_);
  }
  /// Begins the call; as Communicator::begin. A rank alone waits for nobody, so it makes the call at once.
  void start();
  /// Whether it has ended, perhaps on a communicator that was freed since; goes on with all that is under
  /// way. Throws if it ended by an error, as wait() does.
  bool test();
  void wait();
  /// Of a message.
  bool cancel();
  /// The object from a receive that is done.
  py::object object() const;
  /// The index of one that has ended; wait() ends it. They may be of any of the rank's communicators.
  static std::size_t wait_any(const std::vector<BegunHandle*>& all);

 private:
  bool ended();

  std::shared_ptr<CommunicatorHandle> handle_;
  std::size_t bytes_ = 0;
  std::shared_ptr<Transfer> transfer_;
  std::shared_ptr<BegunCall> call_;  // none: a message
  std::shared_ptr<FrameBytes> frame_;
  std::shared_ptr<void> kept_;
};

}  // namespace bindings
}  // namespace phicoll
