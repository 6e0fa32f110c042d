#include "phicoll/group/name_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/quiet_thread.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/descriptor.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {

namespace {

constexpr std::uint32_t protocol_magic = 0x7068633a;  // raised when the layout of the shared memory changes

struct Introduction {
  std::uint32_t magic;
  std::int32_t size;
  std::int32_t rank;
};

enum class Answer : std::int32_t { welcome, other_version, other_size, rank_taken, broken };

struct Reply {
  Answer answer;
  std::int32_t size;
};

/// A descriptor that is closed with its scope.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int release() {
    const int number = fd;
    fd = -1;
    return number;
  }
  int fd;
};

/// The socket's address: abstract (it starts with a zero byte), one name space for each user.
socklen_t address_of(const std::string& name, sockaddr_un& address) {
  const std::string full = "phicoll-" + std::to_string(geteuid()) + "-" + name;
  if (name.empty() || full.size() + 1 > sizeof address.sun_path || name.find('\0') != std::string::npos)
    throw ArgumentError("name", "'" + name + "'", "1 to 80 bytes, none of them zero");
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, full.data(), full.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
}

/// Whether a user's number may stand for several users: in a user namespace, one number stands for all users
/// that it does not map. Only the first namespace maps all.
bool is_ambiguous(uid_t user) {
  const std::string overflow = os::read_trimmed("/proc/sys/kernel/overflowuid");
  if (std::to_string(user) != (overflow.empty() ? "65534" : overflow)) return false;
  const std::vector<std::string> map = os::split_words(os::read_trimmed("/proc/self/uid_map"));
  return map != std::vector<std::string>{"0", "0", "4294967295"};
}

bool same_user(int socket) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid() &&
         !is_ambiguous(peer.uid);
}

void limit_time(int socket, int seconds) {
  struct timeval limit = {seconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void send_reply(int connection, const Reply& reply, int descriptor) {
  struct iovec data = {const_cast<Reply*>(&reply), sizeof reply};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  sendmsg(connection, &message, MSG_NOSIGNAL);
}

/// Returns whether a whole reply came; `descriptor` is -1 or what it carried.
bool receive_reply(int connection, Reply& reply, int& descriptor) {
  struct iovec data = {&reply, sizeof reply};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  const bool whole = recvmsg(connection, &message, MSG_CMSG_CLOEXEC) == static_cast<ssize_t>(sizeof reply);
  descriptor = -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  descriptor = os::beyond_standard_streams(descriptor);
  return whole;
}

void refuse(const std::string& name, const Reply& reply, int size, int rank) {
  switch (reply.answer) {
    case Answer::welcome:
      return;
    case Answer::other_version:
      throw ArgumentError("name", "'" + name + "', in use by another version of phicoll",
                          "a name that is free");
    case Answer::other_size:
      throw ArgumentError(
          "size", std::to_string(size),
          std::to_string(reply.size) + ", the size of the group '" + name + "' that is there");
    case Answer::rank_taken:
      throw ArgumentError("rank",
                          std::to_string(rank) + ", which another process of the group '" + name + "' has",
                          "a rank that is still free, or a name that is not in use");
    case Answer::broken:
      throw BrokenGroupError(any_rank, "the group '" + name + "' is broken already");
  }
}

}  // namespace

os::SharedMemory NameServer::find_or_serve(const std::string& name, int size, int rank,
                                           std::int64_t timeout_ms,
                                           const std::function<os::SharedMemory()>& create,
                                           std::unique_ptr<NameServer>& server) {
  sockaddr_un address;
  const socklen_t length = address_of(name, address);
  if (is_ambiguous(geteuid()))
    throw ResourceError(
        "name: this process's user, " + std::to_string(geteuid()) +
        ", may be any that its user namespace does not map, so processes of other users could attach");
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  const std::int64_t deadline = os::now_ns() + timeout_ms * 1000000;
  for (;;) {
    Descriptor socket_to(os::beyond_standard_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
    if (socket_to.fd < 0) throw ResourceError(std::string("name: no unix socket: ") + std::strerror(errno));
    limit_time(socket_to.fd, 5);
    if (connect(socket_to.fd, generic, length) == 0) {
      if (!same_user(socket_to.fd))
        throw ArgumentError("name", "'" + name + "', of another user", "a name that is free");
      const Introduction introduction = {protocol_magic, size, rank};
      Reply reply = {Answer::welcome, 0};
      int descriptor = -1;
      if (send(socket_to.fd, &introduction, sizeof introduction, MSG_NOSIGNAL) ==
              static_cast<ssize_t>(sizeof introduction) &&
          receive_reply(socket_to.fd, reply, descriptor)) {
        refuse(name, reply, size, rank);
        if (descriptor >= 0) return os::SharedMemory::from_descriptor(descriptor, 0);
      }
    } else {
      Descriptor listener(os::beyond_standard_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
      if (listener.fd >= 0 && bind(listener.fd, generic, length) == 0) {
        os::SharedMemory memory = create();
        if (listen(listener.fd, max_ranks) != 0)
          throw ResourceError(std::string("name: could not listen: ") + std::strerror(errno));
        server.reset(new NameServer(listener.release(), memory, size));
        return memory;
      }
    }
    // Its owner has the name but does not listen yet, or went away while it answered: try again.
    if (os::now_ns() >= deadline)
      throw ResourceError("name: '" + name + "' is held by a process that does not answer");
    usleep(2000);
  }
}

NameServer::NameServer(int listener, const os::SharedMemory& memory, int size)
    : listener_(listener), wake_(os::open_wake_fd()) {
  Descriptor owned_listener(listener_);
  Descriptor owned_wake(wake_);
  const int copy = fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 3);
  // Without the wake descriptor the thread could not be ended.
  if (wake_ < 0 || copy < 0)
    throw ResourceError(std::string("name: no descriptor left to serve it: ") + std::strerror(errno));
  memory_ = os::SharedMemory::from_descriptor(copy, 0);
  group_.reset(new OutsideView(memory_.data(), size));
  try {
    thread_ = start_quiet_thread([this] { serve(); });
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("name: no thread could be started to serve it: ") + error.what());
  }
  owned_listener.release();
  owned_wake.release();
}

NameServer::~NameServer() {
  os::signal_wake_fd(wake_);
  thread_.join();
  close(wake_);
  close(listener_);
}

void NameServer::serve() {
  for (;;) {
    struct pollfd watched[2] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if ((watched[0].revents & POLLIN) == 0) continue;
    const Descriptor connection(
        os::beyond_standard_streams(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)));
    if (connection.fd >= 0)
      answer(connection.fd);
    else
      usleep(10000);  // no descriptor left, say: the pending connection stays, so poll() would return at once
  }
}

void NameServer::answer(int connection) {
  limit_time(connection, 1);
  Introduction introduction = {};
  if (!same_user(connection)) return;
  if (recv(connection, &introduction, sizeof introduction, 0) != static_cast<ssize_t>(sizeof introduction))
    return;
  Reply reply = {Answer::welcome, group_->ranks()};
  if (introduction.magic != protocol_magic)
    reply.answer = Answer::other_version;
  else if (introduction.size != group_->ranks())
    reply.answer = Answer::other_size;
  else if (group_->broken())
    reply.answer = Answer::broken;
  else if (introduction.rank < 0 || introduction.rank >= group_->ranks() || group_->taken(introduction.rank))
    reply.answer = Answer::rank_taken;
  send_reply(connection, reply, reply.answer == Answer::welcome ? memory_.descriptor() : -1);
}

}  // namespace phicoll
