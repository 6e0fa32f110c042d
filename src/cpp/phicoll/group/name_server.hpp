#pragma once

// An abstract unix socket by which programs that attach by name find each other; the system removes it with
// its owner. The first to come owns it, makes the group's memory, checks each process that connects and hands
// it the descriptor.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "phicoll/group/outside_view.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {

class NameServer {
 public:
  /// The memory of the group `name`: from its owner, or of create() here, with `server` then set. Throws as
  /// ProcessGroup::attach, once a holder of the name has not answered for `timeout_ms`.
  static os::SharedMemory find_or_serve(const std::string& name, int size, int rank, std::int64_t timeout_ms,
                                        const std::function<os::SharedMemory()>& create,
                                        std::unique_ptr<NameServer>& server);
  /// Takes over `listener`; answers until it is destroyed. `size`: the group's ranks.
  NameServer(int listener, const os::SharedMemory& memory, int size);
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

 private:
  void serve();
  void answer(int connection);

  int listener_;
  int wake_;
  os::SharedMemory memory_;  // a mapping of its own: the thread may outlive the group's
  std::unique_ptr<OutsideView> group_;
  std::thread thread_;
};

}  // namespace phicoll
