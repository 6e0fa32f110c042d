#pragma once

// Messages between two ranks, as a Communicator's methods. Not collective.

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "phicoll/group/member.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

class Messages;

// Matched in MPI's order. `tag` is 0 or more; a receive's `source` may be any_source and its tag any_tag. A
// send to no_rank (MPI_PROC_NULL) does nothing, and a receive from it is done at once, with no bytes. Types
// (`type`, as of collective calls) must be equal unless one of them is plain bytes.

/// The part of a Communicator that is messages.
///
/// A send returns when its message is in the path to the receiver or, for a large one that the receiver
/// copies from its memory, when it has been received. The paths lie in the group's heap: 2 MB for each of
/// two ranks that uses one, less among more.
///
/// A receive throws ArgumentError if its message is larger than the buffer or of another type; the message
/// stays for another receive. A wait that cannot end, because all ranks wait or the awaited one has left,
/// breaks the group.
class PointToPoint : public Member {
 public:
  void send(const void* data, std::size_t bytes, int dest, int tag = 0, unsigned type = 0);
  Envelope receive(void* buffer, std::size_t bytes, int source = any_source, int tag = any_tag,
                   unsigned type = 0);
  /// Waits for the next message of one rank and receives it as receive() does, if it is small and nothing
  /// else is under way. Otherwise returns false and leaves the message for receive().
  bool receive_now(void* buffer, std::size_t bytes, int source, int tag, unsigned type, Envelope* found);
  /// Sends and receives at the same time, so that it does not matter which the other rank does first.
  Envelope send_receive(const void* data, std::size_t bytes, int dest, int tag, void* buffer,
                        std::size_t room, int source = any_source, int receive_tag = any_tag,
                        unsigned type = 0);
  /// Begins a send or receive. It goes on as look() says, and before the rank leaves. Leave its memory alone
  /// until it is done. `synchronous`: done only when the message has been received. Dropping the result lets
  /// it go on.
  std::shared_ptr<Transfer> begin_send(const void* data, std::size_t bytes, int dest, int tag = 0,
                                       unsigned type = 0, bool synchronous = false);
  /// Begins to send a message that lies in several places.
  std::shared_ptr<Transfer> begin_send(std::vector<Transfer::Piece> pieces, int dest, int tag, unsigned type,
                                       bool synchronous = false);
  std::shared_ptr<Transfer> begin_receive(void* buffer, std::size_t bytes, int source = any_source,
                                          int tag = any_tag, unsigned type = 0);
  /// Begins to receive a message of any size; `frame` grows as needed.
  std::shared_ptr<Transfer> begin_receive(std::shared_ptr<FrameBytes> frame, int source, int tag,
                                          unsigned type);
  /// Begins to receive the message that hold() found, and no other.
  std::shared_ptr<Transfer> begin_receive(const Envelope& held, void* buffer, std::size_t bytes,
                                          unsigned type = 0);
  std::shared_ptr<Transfer> begin_receive(const Envelope& held, std::shared_ptr<FrameBytes> frame,
                                          unsigned type);
  /// Throws what begin_send or begin_receive throws of such a transfer's arguments; its message lies at
  /// `data`.
  void check_transfer(const Transfer& wanted, const void* data) const;
  /// Whether the transfer is done; goes on with all that the rank has begun, on all its communicators.
  bool test(const Transfer& transfer);
  void wait(Transfer& transfer);
  /// Waits until one of the requests is done and returns the index of the first that is; wait() or test()
  /// ends it. They may belong to any of the rank's communicators. Throws ArgumentError if there are none, or
  /// one is null.
  std::size_t wait_any(const std::vector<std::shared_ptr<Begun>>& begun);
  template <class One>
  std::size_t wait_any(const std::vector<std::shared_ptr<One>>& begun) {
    return wait_any(std::vector<std::shared_ptr<Begun>>(begun.begin(), begun.end()));
  }
  /// Withdraws a receive that no message has matched. Returns false if one has.
  bool cancel(Transfer& transfer);
  /// Waits for the message that a receive would take next, and leaves it there.
  Envelope probe(int source = any_source, int tag = any_tag);
  /// Looks for such a message without waiting, and goes on as test() does. Returns false if there is none.
  bool probe_now(Envelope* found, int source = any_source, int tag = any_tag);
  /// Probe as `probe` and `probe_now` do (MPI_Mprobe, MPI_Improbe), and reserve the message for the caller:
  /// no other receive or probe finds it.
  Envelope hold(int source = any_source, int tag = any_tag);
  bool hold_now(Envelope* found, int source = any_source, int tag = any_tag);

 protected:
  PointToPoint(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait)
      : Member(memory, rank, shape, wait) {}
  ~PointToPoint() = default;

  /// Sends or receives a message of the library's own, whose tag is below any_tag.
  void exchange(void* data, std::size_t bytes, int peer, int tag, bool sends);
  /// Until all that was sent has been received, or is in a channel.
  void send_all();
  /// No other thread comes here any more.
  void end_messages();

  // Others may send to the rank before it makes a call for messages.
  class Mailbox final : public Addressed {
   public:
    explicit Mailbox(PointToPoint& own) : own_(own) {}
    void meet_messages() override;

   private:
    PointToPoint& own_;
  };
  Mailbox mailbox_{*this};

 private:
  Messages& messages();
  [[gnu::noinline, gnu::cold]] Messages* make_messages();
  bool send_now(const void* data, std::size_t bytes, int dest, int tag, unsigned type);
  Envelope carry_out(const Transfer& wanted);
  template <class Function>
  auto on_messages(const Function& function) -> decltype(function(std::declval<Messages&>()));
  bool find(Envelope* found, int source, int tag, bool waits, bool holds);
  std::shared_ptr<Transfer> begin(Transfer wanted);
  void finish(Transfer& transfer);

  std::atomic<Messages*> messages_{nullptr};  // made by any thread of the rank, which holds work then
};

}  // namespace phicoll
