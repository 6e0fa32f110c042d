#include "bindings/messages.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "bindings/objects.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {
namespace bindings {
namespace {

// Objects up to this size are received where they are expected, larger ones into memory of their size.
constexpr std::size_t usual_object = 4096;
constexpr std::size_t any_room = SIZE_MAX;

/// The object of a message, whose memory is `kept` if there may be buffers in it. One of bytes holds a
/// pickle, or nothing for None.
py::object object_in(const unsigned char* frame, const Memory& kept, const Envelope& envelope) {
  if (envelope.type == object_type) return Frame(frame, any_room).object(kept, sizeof(std::uint64_t));
  if (envelope.bytes == 0) return py::none();
  return unpickled(frame, envelope.bytes);
}

/// What is sent of an object with buffers, which it keeps.
struct Pieces {
  explicit Pieces(Packed&& given) : packed(std::move(given)) {
    packed.write(word);
    all.push_back({word, sizeof word});
    all.insert(all.end(), packed.pieces().begin(), packed.pieces().end());
  }
  Packed packed;
  unsigned char word[sizeof(std::uint64_t)];
  std::vector<Transfer::Piece> all;
};

}  // namespace

void BegunHandle::start() {
  if (!call_) throw Error("a message is not a collective call");
  handle_->call(bytes_, [&](Communicator& communicator) {
    if (communicator.size() == 1) return communicator.call(call_->request);
    if (call_->done) call_->kept = kept_;
    communicator.begin(call_);
  });
}

/// Whether nothing is left to do; throws what a call threw, also when its communicator is gone.
bool BegunHandle::ended() {
  if (transfer_) return transfer_->done && transfer_->refused.empty();
  if (!call_->done) return false;
  if (call_->error) std::rethrow_exception(std::exchange(call_->error, nullptr));
  return true;
}

bool BegunHandle::test() {
  return ended() || handle_->call(transfer_ ? bytes_ : 0, [&](Communicator& communicator) {
    return transfer_ ? communicator.test(*transfer_) : communicator.test(*call_);
  });
}

void BegunHandle::wait() {
  if (ended()) return;
  handle_->call(bytes_, [&](Communicator& communicator) {
    transfer_ ? communicator.wait(*transfer_) : communicator.wait(*call_);
  });
}

bool BegunHandle::cancel() {
  message();
  return handle_->call(0, [&](Communicator& communicator) { return communicator.cancel(*transfer_); });
}

py::object BegunHandle::object() const {
  if (message().peer == no_rank) return py::none();
  if (!frame_) throw Error("the message is not of an object");
  return object_in(frame_->data(), Memory(frame_), transfer_->envelope);
}

std::size_t BegunHandle::wait_any(const std::vector<BegunHandle*>& all) {
  std::vector<std::shared_ptr<Begun>> begun;
  std::size_t most = 0;
  for (const BegunHandle* const one : all) {
    if (one->begun()->done) return begun.size();
    begun.push_back(one->begun());
    most = std::max(most, one->bytes_);
  }
  if (begun.empty()) throw ArgumentError("requests", "none", "at least one");
  return all[0]->handle_->call(most,
                               [&](Communicator& communicator) { return communicator.wait_any(begun); });
}

template <class Kept, class Begin>
BegunHandle MessageCalls::begin(std::size_t bytes, const Kept& kept, const Begin& begin) {
  std::shared_ptr<Transfer> transfer = handle_.call(bytes, begin);
  if (!transfer->done) transfer->kept = kept();
  return {handle_, std::move(transfer)};
}

void MessageCalls::send(const void* data, std::size_t bytes, int dest, int tag, unsigned type,
                        bool synchronous) {
  handle_.call(bytes, [&](Communicator& communicator) {
    if (!synchronous) return communicator.send(data, bytes, dest, tag, type);
    communicator.wait(*communicator.begin_send(data, bytes, dest, tag, type, true));
  });
}

BegunHandle MessageCalls::begin_send(const void* data, std::size_t bytes, int dest, int tag, unsigned type,
                                     bool synchronous, const py::object& kept) {
  return begin(
      bytes, [&] { return bindings::kept(kept); },
      [&](Communicator& communicator) {
        return communicator.begin_send(data, bytes, dest, tag, type, synchronous);
      });
}

BegunHandle MessageCalls::begin_receive(void* buffer, std::size_t bytes, int source, int tag, unsigned type,
                                        const py::object& kept) {
  return begin(
      bytes, [&] { return bindings::kept(kept); },
      [&](Communicator& communicator) {
        return communicator.begin_receive(buffer, bytes, source, tag, type);
      });
}

PersistentMessage::PersistentMessage(CommunicatorHandle& handle, const Transfer& message, void* data,
                                     const py::object& kept)
    : handle_(handle.shared_from_this()), message_(message), data_(data), kept_(bindings::kept(kept)) {
  handle.call(0, [&](Communicator& communicator) { communicator.check_transfer(message_, data_); });
}

BegunHandle PersistentMessage::begin() const {
  const Transfer& m = message_;
  auto transfer = handle_->call(m.bytes, [&](Communicator& communicator) {
    return m.sends ? communicator.begin_send(data_, m.bytes, m.peer, m.tag, m.type, m.synchronous)
                   : communicator.begin_receive(data_, m.bytes, m.peer, m.tag, m.type);
  });
  if (!transfer->done) transfer->kept = kept_;
  return {*handle_, std::move(transfer)};
}

void MessageCalls::send_object(const py::object& object, int dest, int tag, bool synchronous) {
  Packed packed(object, any_room);
  const std::size_t bytes = packed.frame_bytes();
  if (packed.has_buffers()) {
    const Pieces pieces(std::move(packed));
    handle_.call(bytes, [&](Communicator& communicator) {
      communicator.wait(*communicator.begin_send(pieces.all, dest, tag, object_type, synchronous));
    });
    return;
  }
  unsigned char small[512];
  FrameBytes large(bytes > sizeof small ? bytes : 0);
  unsigned char* const frame = large.empty() ? small : large.data();
  packed.write(frame);
  send(frame, bytes, dest, tag, object_type, synchronous);
}

BegunHandle MessageCalls::begin_send_object(const py::object& object, int dest, int tag, bool synchronous) {
  Packed packed(object, any_room);
  if (packed.has_buffers()) {
    const std::size_t bytes = packed.frame_bytes();
    const std::shared_ptr<Pieces> pieces(new Pieces(std::move(packed)), [](Pieces* gone) {
      if (Py_IsInitialized() == 0) return;
      const py::gil_scoped_acquire locked;
      delete gone;
    });
    return begin(
        bytes, [&] { return pieces; },
        [&](Communicator& communicator) {
          return communicator.begin_send(pieces->all, dest, tag, object_type, synchronous);
        });
  }
  const auto frame = std::make_shared<FrameBytes>(packed.frame_bytes());
  packed.write(frame->data());
  return begin(
      frame->size(), [&] { return frame; },
      [&](Communicator& communicator) {
        return communicator.begin_send(frame->data(), frame->size(), dest, tag, object_type, synchronous);
      });
}

template <class Begin>
BegunHandle MessageCalls::begin_object(const Begin& begin) {
  const auto frame = std::make_shared<FrameBytes>(usual_object);
  return {handle_,
          handle_.call(frame->size(), [&](Communicator& communicator) { return begin(communicator, frame); }),
          frame};
}

BegunHandle MessageCalls::begin_receive_object(int source, int tag) {
  return begin_object([&](Communicator& communicator, const std::shared_ptr<FrameBytes>& frame) {
    return communicator.begin_receive(frame, source, tag, object_type);
  });
}

Envelope MessageCalls::hold(int source, int tag) {
  return handle_.call(any_room, [&](Communicator& communicator) { return communicator.hold(source, tag); });
}

py::object MessageCalls::hold_now(int source, int tag) {
  Envelope found;
  const bool any =
      handle_.call(0, [&](Communicator& communicator) { return communicator.hold_now(&found, source, tag); });
  if (!any) return py::none();
  return py::cast(found);
}

BegunHandle MessageCalls::begin_receive_held(const Envelope& held, Address buffer, std::size_t bytes,
                                             unsigned type, const py::object& kept) {
  return begin(
      bytes, [&] { return bindings::kept(kept); },
      [&](Communicator& communicator) {
        return communicator.begin_receive(held, pointer(buffer), bytes, type);
      });
}

BegunHandle MessageCalls::begin_receive_held_object(const Envelope& held) {
  return begin_object([&](Communicator& communicator, const std::shared_ptr<FrameBytes>& frame) {
    return communicator.begin_receive(held, frame, object_type);
  });
}

py::object MessageCalls::receive_object(int source, int tag, Envelope* told) {
  unsigned char small[256];  // buffers outside of the pickle are larger
  const bool received = handle_.call(sizeof small, [&](Communicator& communicator) {
    return communicator.receive_now(small, sizeof small, source, tag, object_type, told);
  });
  if (received) return object_in(small, Memory(), *told);
  BegunHandle begun = begin_receive_object(source, tag);
  begun.wait();
  *told = begun.message().envelope;
  return begun.object();
}

}  // namespace bindings
}  // namespace phicoll
