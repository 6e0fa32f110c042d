#pragma once

// What a Python request stands for: a message or a collective call that goes on after the call that began it.

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/communicator_handle.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {
namespace bindings {

class BegunHandle {
 public:
  virtual ~BegunHandle() = default;
  virtual std::shared_ptr<Begun> begun() const = 0;
  /// Whether it has ended, perhaps on a communicator that was freed since; goes on with all that is under
  /// way. Throws if it ended by an error, as wait() does.
  virtual bool test() = 0;
  virtual void wait() = 0;
  /// The index of one that has ended; wait() ends it. They may be of any of the rank's communicators.
  static std::size_t wait_any(const std::vector<BegunHandle*>& all);

 protected:
  BegunHandle(std::shared_ptr<CommunicatorHandle> handle, std::size_t bytes)
      : handle_(std::move(handle)), bytes_(bytes) {}

  std::shared_ptr<CommunicatorHandle> handle_;
  std::size_t bytes_;
};

}  // namespace bindings
}  // namespace phicoll
