// The methods of Comm that send and receive, and those that move objects.

#include "bindings/buffers.hpp"
#include "bindings/objects.hpp"
#include "bindings/plain_arguments.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

/// Reads where a message goes or comes from, and its buffers.
class MessageReader : public BufferReader {
 public:
  using BufferReader::BufferReader;

  /// Where a message goes.
  struct To {
    int dest;
    int tag;
  };
  To to(Parameter tag = tag_parameter) const { return {a_.number(dest_parameter, 0), a_.number(tag, 0)}; }
  /// Which messages a receive takes.
  struct From {
    int source;
    int tag;
  };
  From from(Parameter tag = tag_parameter) const {
    return {a_.number(source_parameter, any_source), a_.number(tag, any_tag)};
  }
  /// None is an empty buffer where the other rank is none.
  Buffer message(Parameter parameter, bool writable, int other) {
    static unsigned char nothing;
    Buffer found;
    if (other != no_rank || (a_.value[parameter] != nullptr && a_.value[parameter] != Py_None))
      read(found, parameter, writable);
    else
      found.data = &nothing;
    return found;
  }
  void check_status() const {
    if (!plain_status(a_.status())) py::handle(Known::get().check_status)(py::handle(a_.status()));
  }
};

/// A send that ends when its message is in the path to the receiver, or `synchronous`, when it has been
/// received.
template <bool synchronous>
py::object send(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  const MessageReader::To to = reader.to();
  const Buffer data = reader.message(buf_parameter, false, to.dest);
  MessageCalls(handle).send(data.data, data.bytes(), to.dest, to.tag, data.number(), synchronous);
  return py::none();
}

py::object receive(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  reader.check_status();
  const MessageReader::From from = reader.from();
  const Buffer buffer = reader.message(buf_parameter, true, from.source);
  const Envelope found = handle.call(buffer.bytes(), [&](Communicator& communicator) {
    return communicator.receive(buffer.data, buffer.bytes(), from.source, from.tag, buffer.number());
  });
  if (reader.finish) reader.finish();
  tell(a.status(), found);
  return py::none();
}

/// The request of a message that was begun. `finish`: called at its end, unless it is no object.
py::object request_of(BegunHandle&& transfer, py::object finish = {}) {
  py::object made = RequestObject::make(Known::get().request);
  RequestObject& fields = *RequestObject::of(made.ptr());
  fields.call = std::make_shared<BegunHandle>(std::move(transfer));
  fields.deliver = finish.release().ptr();
  return made;
}

template <bool synchronous>
py::object begin_send(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  const MessageReader::To to = reader.to();
  const Buffer data = reader.message(buf_parameter, false, to.dest);
  return request_of(MessageCalls(handle).begin_send(data.data, data.bytes(), to.dest, to.tag, data.number(),
                                                    synchronous, a.owners()));
}

py::object begin_receive(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  const MessageReader::From from = reader.from();
  const Buffer buffer = reader.message(buf_parameter, true, from.source);
  return request_of(MessageCalls(handle).begin_receive(buffer.data, buffer.bytes(), from.source, from.tag,
                                                       buffer.number(), a.owners()),
                    reader.finish);
}

/// A persistent request of a message. One that is packed each time begins the nonblocking method `begins`.
py::object prepare(CommunicatorHandle& handle, const BoundArguments& a, bool sends, bool synchronous,
                   const char* begins) {
  MessageReader reader(a);
  Transfer message;
  message.sends = sends;
  message.synchronous = synchronous;
  if (sends) {
    const MessageReader::To to = reader.to();
    message.peer = to.dest;
    message.tag = to.tag;
  } else {
    const MessageReader::From from = reader.from();
    message.peer = from.source;
    message.tag = from.tag;
  }
  const Buffer buffer = reader.message(buf_parameter, !sends, message.peer);
  message.type = buffer.number();
  message.bytes = buffer.bytes();
  PersistentMessage prepared(handle, message, buffer.data, a.owners());  // checks it
  py::object made = RequestObject::make(Known::get().prequest);
  RequestObject::of(made.ptr())->begin =
      (reader.direct ? py::cast(std::move(prepared)) : a.again(begins)).release().ptr();
  return made;
}
template <bool synchronous>
py::object prepare_send(CommunicatorHandle& handle, const BoundArguments& a) {
  return prepare(handle, a, true, synchronous, synchronous ? "Issend" : "Isend");
}
py::object prepare_receive(CommunicatorHandle& handle, const BoundArguments& a) {
  return prepare(handle, a, false, false, "Irecv");
}

/// Refuses what receives where something is sent from, in the packed array, too.
void refuse_shared(const BufferReader& reader, Buffer& send, Buffer& receive) {
  if (send.count != 0 && receive.count != 0 && (send.overlaps(receive) || !reader.direct))
    py::handle(Known::get().refuse_shared)(reader.describe(send), reader.describe(receive));
}

py::object send_receive(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  reader.check_status();
  const MessageReader::To to = reader.to(sendtag_parameter);
  const MessageReader::From from = reader.from(recvtag_parameter);
  Buffer data = reader.message(sendbuf_parameter, false, to.dest);
  Buffer buffer = reader.message(recvbuf_parameter, true, from.source);
  refuse_shared(reader, data, buffer);
  Envelope found;
  if (from.source != any_source && data.number() == buffer.number()) {
    found = handle.call(data.bytes() + buffer.bytes(), [&](Communicator& communicator) {
      return communicator.send_receive(data.data, data.bytes(), to.dest, to.tag, buffer.data, buffer.bytes(),
                                       from.source, from.tag, buffer.number());
    });
  } else {
    // The send first, as it is the one that may be refused; what is begun goes on by itself.
    BegunHandle sent = MessageCalls(handle).begin_send(data.data, data.bytes(), to.dest, to.tag,
                                                       data.number(), false, a.owners());
    BegunHandle received = MessageCalls(handle).begin_receive(buffer.data, buffer.bytes(), from.source,
                                                              from.tag, buffer.number(), a.owners());
    received.wait();
    sent.wait();
    found = received.message().envelope;
  }
  if (reader.finish) reader.finish();
  tell(a.status(), found);
  return py::none();
}

/// What is sent is copied, so the receiver of it need not be waited for.
py::object send_receive_replace(CommunicatorHandle& handle, const BoundArguments& a) {
  MessageReader reader(a);
  reader.check_status();
  const MessageReader::To to = reader.to(sendtag_parameter);
  const MessageReader::From from = reader.from(recvtag_parameter);
  const Buffer buffer = reader.message(buf_parameter, true, to.dest == no_rank ? from.source : to.dest);
  const auto sent = std::make_shared<FrameBytes>(buffer.data, buffer.data + buffer.bytes());
  const Envelope found = handle.call(2 * buffer.bytes(), [&](Communicator& communicator) {
    const auto transfer =
        communicator.begin_send(sent->data(), sent->size(), to.dest, to.tag, buffer.number());
    if (!transfer->done) transfer->kept = sent;
    return communicator.receive(buffer.data, buffer.bytes(), from.source, from.tag, buffer.number());
  });
  if (reader.finish) reader.finish();
  tell(a.status(), found);
  return py::none();
}

py::object probe(CommunicatorHandle& handle, const BoundArguments& a) {
  const MessageReader reader(a);
  reader.check_status();
  const MessageReader::From from = reader.from();
  tell(a.status(), handle.call(SIZE_MAX, [&](Communicator& communicator) {
    return communicator.probe(from.source, from.tag);
  }));
  return py::bool_(true);
}

py::object probe_now(CommunicatorHandle& handle, const BoundArguments& a) {
  const MessageReader reader(a);
  reader.check_status();
  const MessageReader::From from = reader.from();
  Envelope found;
  const bool any = handle.call(
      0, [&](Communicator& communicator) { return communicator.probe_now(&found, from.source, from.tag); });
  if (any) tell(a.status(), found);
  return py::bool_(any);
}

template <bool synchronous>
py::object send_object(CommunicatorHandle& handle, const BoundArguments& a) {
  const MessageReader::To to = MessageReader(a).to();
  MessageCalls(handle).send_object(py::reinterpret_borrow<py::object>(a.value[obj_parameter]), to.dest,
                                   to.tag, synchronous);
  return py::none();
}

template <bool synchronous>
py::object begin_send_object(CommunicatorHandle& handle, const BoundArguments& a) {
  const MessageReader::To to = MessageReader(a).to();
  return request_of(MessageCalls(handle).begin_send_object(
      py::reinterpret_borrow<py::object>(a.value[obj_parameter]), to.dest, to.tag, synchronous));
}

/// What mpi4py takes as memory for an object is not used.
void check_room(const BoundArguments& a) {
  if (a.asks(buf_parameter)) py::handle(Known::get().check_room)(py::handle(a.value[buf_parameter]));
}

py::object receive_object(CommunicatorHandle& handle, const BoundArguments& a) {
  const MessageReader reader(a);
  check_room(a);
  if (a.asks(buf_parameter) && PyErr_WarnEx(PyExc_UserWarning, "recv: buf is not used", 1) != 0)
    throw py::error_already_set();
  reader.check_status();
  const MessageReader::From from = reader.from();
  Envelope envelope;
  py::object object = MessageCalls(handle).receive_object(from.source, from.tag, &envelope);
  tell(a.status(), envelope);
  return object;
}

py::object begin_receive_object(CommunicatorHandle& handle, const BoundArguments& a) {
  check_room(a);
  const MessageReader::From from = MessageReader(a).from();
  py::object made = request_of(MessageCalls(handle).begin_receive_object(from.source, from.tag));
  RequestObject::of(made.ptr())->is_object = Py_NewRef(Py_True);
  return made;
}

py::object broadcast_object(CommunicatorHandle& handle, const BoundArguments& a) {
  const int root = a.root_of(handle.size());
  return Objects(handle).broadcast(py::reinterpret_borrow<py::object>(a.value[obj_parameter]), root);
}

py::object gather_object(CommunicatorHandle& handle, const BoundArguments& a) {
  const int root = a.root_of(handle.size());
  return Objects(handle).gather(py::reinterpret_borrow<py::object>(a.value[sendobj_parameter]), root);
}

py::object allgather_object(CommunicatorHandle& handle, const BoundArguments& a) {
  return Objects(handle).allgather(py::reinterpret_borrow<py::object>(a.value[sendobj_parameter]));
}

py::object rank_of(CommunicatorHandle& handle, const BoundArguments&) {
  return py::int_(handle.rank());
}

py::object size_of(CommunicatorHandle& handle, const BoundArguments&) {
  return py::int_(handle.size());
}

constexpr Method messages[] = {
    {"Get_rank", &rank_of},
    {"Get_size", &size_of},
    {"Send", &send<false>},
    {"Ssend", &send<true>},
    {"Rsend", &send<false>},
    {"Recv", &receive},
    {"Isend", &begin_send<false>},
    {"Issend", &begin_send<true>},
    {"Irsend", &begin_send<false>},
    {"Irecv", &begin_receive},
    {"Send_init", &prepare_send<false>},
    {"Ssend_init", &prepare_send<true>},
    {"Rsend_init", &prepare_send<false>},
    {"Recv_init", &prepare_receive},
    {"Sendrecv", &send_receive},
    {"Sendrecv_replace", &send_receive_replace},
    {"Probe", &probe},
    {"Iprobe", &probe_now},
    {"send", &send_object<false>},
    {"ssend", &send_object<true>},
    {"recv", &receive_object},
    {"isend", &begin_send_object<false>},
    {"issend", &begin_send_object<true>},
    {"irecv", &begin_receive_object},
    {"bcast", &broadcast_object},
    {"gather", &gather_object},
    {"allgather", &allgather_object},
};

}  // namespace

std::span<const Method> message_methods() {
  return messages;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
