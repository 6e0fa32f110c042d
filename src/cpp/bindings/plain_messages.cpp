// The plain calls that send and receive.

#include "bindings/plain_arguments.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

// Each returns what the method returns, and no object if it did not make the call.

py::object send(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size());
  if (!to) return {};
  const Plain data(a, a.value[buf_parameter], false);
  if (!data) return {};
  handle.call(data.bytes(), [&](Communicator& communicator) {
    communicator.send(data.data, data.bytes(), to.dest, to.tag, data.number());
  });
  return py::none();
}

py::object receive(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from || !plain_status(a.status())) return {};
  const Plain buffer(a, a.value[buf_parameter], true);
  if (!buffer) return {};
  tell(a.status(), handle.call(buffer.bytes(), [&](Communicator& communicator) {
    return communicator.receive(buffer.data, buffer.bytes(), from.source, from.tag, buffer.number());
  }));
  return py::none();
}

/// The request of a message that was begun.
py::object request_of(TransferHandle&& transfer) {
  py::object made = RequestObject::make(Known::get().request);
  RequestObject::of(made.ptr())->call = std::make_shared<TransferHandle>(std::move(transfer));
  return made;
}

py::object begin_send(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size());
  if (!to) return {};
  const Plain data(a, a.value[buf_parameter], false);
  if (!data) return {};
  return request_of(MessageCalls(handle).begin_send(data.address(), data.bytes(), to.dest, to.tag,
                                                    data.number(), false, a.owners()));
}

py::object begin_receive(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from) return {};
  const Plain buffer(a, a.value[buf_parameter], true);
  if (!buffer) return {};
  return request_of(MessageCalls(handle).begin_receive(buffer.address(), buffer.bytes(), from.source,
                                                       from.tag, buffer.number(), a.owners()));
}

py::object send_receive(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size(), sendtag_parameter);
  const Arguments::From from = a.from(handle.size(), recvtag_parameter);
  if (!to || !from || from.source == any_source || !plain_status(a.status())) return {};
  if (!a.asks(recvbuf_parameter)) return {};
  const Plain data(a, a.value[sendbuf_parameter], false);
  const Plain buffer(a, a.value[recvbuf_parameter], true);
  if (!data || !buffer || data.number() != buffer.number() || data.overlaps(buffer)) return {};
  tell(a.status(), handle.call(data.bytes() + buffer.bytes(), [&](Communicator& communicator) {
    return communicator.send_receive(data.data, data.bytes(), to.dest, to.tag, buffer.data, buffer.bytes(),
                                     from.source, from.tag, buffer.number());
  }));
  return py::none();
}

/// What is sent is copied, so the receiver of it need not be waited for.
py::object send_receive_replace(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size(), sendtag_parameter);
  const Arguments::From from = a.from(handle.size(), recvtag_parameter);
  if (!to || !from || !plain_status(a.status())) return {};
  const Plain buffer(a, a.value[buf_parameter], true);
  if (!buffer) return {};
  const auto sent = std::make_shared<FrameBytes>(buffer.data, buffer.data + buffer.bytes());
  tell(a.status(), handle.call(2 * buffer.bytes(), [&](Communicator& communicator) {
    const auto transfer =
        communicator.begin_send(sent->data(), sent->size(), to.dest, to.tag, buffer.number());
    if (!transfer->done) transfer->kept = sent;
    return communicator.receive(buffer.data, buffer.bytes(), from.source, from.tag, buffer.number());
  }));
  return py::none();
}

py::object probe(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from || !plain_status(a.status())) return {};
  tell(a.status(), handle.call(SIZE_MAX, [&](Communicator& communicator) {
    return communicator.probe(from.source, from.tag);
  }));
  return py::bool_(true);
}

py::object probe_now(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from || !plain_status(a.status())) return {};
  Envelope found;
  const bool any = handle.call(
      0, [&](Communicator& communicator) { return communicator.probe_now(&found, from.source, from.tag); });
  if (any) tell(a.status(), found);
  return py::bool_(any);
}

py::object send_object(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size());
  if (!to) return {};
  MessageCalls(handle).send_object(py::reinterpret_borrow<py::object>(a.value[obj_parameter]), to.dest,
                                   to.tag, false);
  return py::none();
}

py::object begin_send_object(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::To to = a.to(handle.size());
  if (!to) return {};
  return request_of(MessageCalls(handle).begin_send_object(
      py::reinterpret_borrow<py::object>(a.value[obj_parameter]), to.dest, to.tag, false));
}

py::object receive_object(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from || a.asks(buf_parameter) || !plain_status(a.status())) return {};
  Envelope envelope;
  py::object object = MessageCalls(handle).receive_object(from.source, from.tag, &envelope);
  tell(a.status(), envelope);
  return object;
}

py::object begin_receive_object(CommunicatorHandle& handle, const Arguments& a) {
  const Arguments::From from = a.from(handle.size());
  if (!from || a.asks(buf_parameter)) return {};
  py::object made = request_of(MessageCalls(handle).begin_receive_object(from.source, from.tag));
  RequestObject::of(made.ptr())->is_object = Py_NewRef(Py_True);
  return made;
}

py::object rank_of(CommunicatorHandle& handle, const Arguments&) {
  return py::int_(handle.rank());
}

py::object size_of(CommunicatorHandle& handle, const Arguments&) {
  return py::int_(handle.size());
}

constexpr Method messages[] = {
    {"Get_rank", 0, {}, 0, &rank_of},
    {"Get_size", 0, {}, 0, &size_of},
    {"Send", 2, {buf_parameter, dest_parameter, tag_parameter}, 3, &send},
    {"Recv", 1, {buf_parameter, source_parameter, tag_parameter, status_parameter}, 4, &receive},
    {"Isend", 2, {buf_parameter, dest_parameter, tag_parameter}, 3, &begin_send},
    {"Irecv", 1, {buf_parameter, source_parameter, tag_parameter}, 3, &begin_receive},
    {"Sendrecv",
     2,
     {sendbuf_parameter, dest_parameter, sendtag_parameter, recvbuf_parameter, source_parameter,
      recvtag_parameter, status_parameter},
     7,
     &send_receive},
    {"Sendrecv_replace",
     2,
     {buf_parameter, dest_parameter, sendtag_parameter, source_parameter, recvtag_parameter,
      status_parameter},
     6,
     &send_receive_replace},
    {"Probe", 0, {source_parameter, tag_parameter, status_parameter}, 3, &probe},
    {"Iprobe", 0, {source_parameter, tag_parameter, status_parameter}, 3, &probe_now},
    {"send", 2, {obj_parameter, dest_parameter, tag_parameter}, 3, &send_object},
    {"recv", 0, {buf_parameter, source_parameter, tag_parameter, status_parameter}, 4, &receive_object},
    {"isend", 2, {obj_parameter, dest_parameter, tag_parameter}, 3, &begin_send_object},
    {"irecv", 0, {buf_parameter, source_parameter, tag_parameter}, 3, &begin_receive_object},
};

}  // namespace

std::span<const Method> message_methods() {
  return messages;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
