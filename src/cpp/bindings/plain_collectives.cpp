// The plain calls that are collective.

#include "bindings/objects.hpp"
#include "bindings/plain_arguments.hpp"

#include <numeric>

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

/// Two ways of a collective call. Each takes function(communicator), which has copies of all that it needs.
struct Blocking {
  template <class Function>
  static py::object carry_out(CommunicatorHandle& handle, const Arguments&, std::size_t bytes,
                              Function&& function) {
    handle.call(bytes, function);
    return py::none();
  }
};
struct Beginning {
  /// Returns the request.
  template <class Function>
  static py::object carry_out(CommunicatorHandle& handle, const Arguments& a, std::size_t bytes,
                              Function&& function) {
    const Known& known = Known::get();
    py::object made = RequestObject::make(known.request);
    RequestObject& request = *RequestObject::of(made.ptr());
    if (handle.size() == 1) {  // it waits for nobody
      handle.call(bytes, function);
      request.begun = Py_NewRef(known.ended);
      return made;
    }
    const auto call = std::make_shared<CollectiveCall>(
        handle.shared_from_this(), CommunicatorHandle::Prepared{bytes, std::forward<Function>(function)});
    call->keep(a.owners());
    call->start();
    if (call->begun()->done)
      request.begun = Py_NewRef(known.ended);
    else
      request.call = call;
    return made;
  }
};

// Each returns what the method returns, and no object if it did not make the call.

template <class Way>
py::object barrier(CommunicatorHandle& handle, const Arguments& a) {
  return Way::carry_out(handle, a, 0, [=](Communicator& communicator) { communicator.barrier(); });
}

template <class Way>
py::object broadcast(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain buffer(a, a.value[buf_parameter], handle.rank() != root);
  if (!buffer) return {};
  return Way::carry_out(handle, a, buffer.bytes(), [=](Communicator& communicator) {
    communicator.broadcast(buffer.data, buffer.bytes(), root, nullptr, buffer.number());
  });
}

/// A reduction by all ranks, whose result each gets: call(communicator, send, receive, count, operator).
template <class Way, class Call>
py::object reduction(CommunicatorHandle& handle, const Arguments& a, const Call& call) {
  const Plain receive(a, a.value[recvbuf_parameter], true);
  if (!receive) return {};
  const void* from = nullptr;
  if (!in_place(a.value[sendbuf_parameter])) {
    const Plain send(a, a.value[sendbuf_parameter], false);
    if (!send || send.element.dtype != receive.element.dtype || send.count != receive.count) return {};
    if (send.data != receive.data) {
      if (send.overlaps(receive)) return {};
      from = send.data;
    }
  }
  const CoreOperator op(a.op(), receive.element.dtype);
  if (!op) return {};
  return Way::carry_out(handle, a, receive.bytes(), [=, operation = op.get()](Communicator& communicator) {
    call(communicator, from, receive.data, receive.count, operation);
  });
}

template <class Way>
py::object allreduce(CommunicatorHandle& handle, const Arguments& a) {
  return reduction<Way>(
      handle, a, [](Communicator& c, const void* send, void* receive, std::size_t count, const Operator& op) {
        c.allreduce(send, receive, count, op);
      });
}

template <class Way>
py::object scan(CommunicatorHandle& handle, const Arguments& a) {
  return reduction<Way>(
      handle, a, [](Communicator& c, const void* send, void* receive, std::size_t count, const Operator& op) {
        c.scan(send, receive, count, op);
      });
}

template <class Way>
py::object exscan(CommunicatorHandle& handle, const Arguments& a) {
  return reduction<Way>(
      handle, a, [](Communicator& c, const void* send, void* receive, std::size_t count, const Operator& op) {
        c.exscan(send, receive, count, op);
      });
}

template <class Way>
py::object reduce(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  if (handle.rank() == root)
    return reduction<Way>(handle, a,
                          [=](Communicator& c, const void* send, void* receive, std::size_t count,
                              const Operator& op) { c.reduce(send, receive, count, op, root); });
  const Plain send(a, a.value[sendbuf_parameter], false);
  if (!send) return {};
  const CoreOperator op(a.op(), send.element.dtype);
  if (!op) return {};
  return Way::carry_out(handle, a, send.bytes(), [=, operation = op.get()](Communicator& communicator) {
    communicator.reduce(send.data, nullptr, send.count, operation, root);
  });
}

/// Blocks of `ranks` ranks against one block, of the same type and apart.
bool fit(const Plain& blocks, const Plain& one, int ranks) {
  return blocks && one && blocks.element.dtype == one.element.dtype &&
         blocks.count == one.count * static_cast<std::size_t>(ranks) && !blocks.overlaps(one);
}

template <class Way>
py::object allgather(CommunicatorHandle& handle, const Arguments& a) {
  const Plain send(a, a.value[sendbuf_parameter], false);
  const Plain receive(a, a.value[recvbuf_parameter], true, handle.size());
  if (!fit(receive, send, handle.size())) return {};
  return Way::carry_out(handle, a, receive.bytes(), [=](Communicator& communicator) {
    communicator.allgather(send.data, receive.data, send.bytes(), nullptr, send.number());
  });
}

template <class Way>
py::object alltoall(CommunicatorHandle& handle, const Arguments& a) {
  const auto ranks = static_cast<std::size_t>(handle.size());
  const Plain send(a, a.value[sendbuf_parameter], false, handle.size());
  const Plain receive(a, a.value[recvbuf_parameter], true, handle.size());
  if (!fit(send, receive, 1) || send.count % ranks != 0) return {};
  return Way::carry_out(handle, a, receive.bytes(), [=](Communicator& communicator) {
    communicator.alltoall(send.data, receive.data, receive.bytes() / ranks, nullptr, receive.number());
  });
}

template <class Way>
py::object gather(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain send(a, a.value[sendbuf_parameter], false);
  if (!send) return {};
  void* to = nullptr;
  if (handle.rank() == root) {
    const Plain receive(a, a.value[recvbuf_parameter], true, handle.size());
    if (!fit(receive, send, handle.size())) return {};
    to = receive.data;
  }
  return Way::carry_out(handle, a, send.bytes() * static_cast<std::size_t>(handle.size()),
                        [=](Communicator& communicator) {
                          communicator.gather(send.data, to, send.bytes(), root, nullptr, send.number());
                        });
}

template <class Way>
py::object scatter(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain receive(a, a.value[recvbuf_parameter], true);
  if (!receive) return {};
  const void* from = nullptr;
  if (handle.rank() == root) {
    const Plain send(a, a.value[sendbuf_parameter], false, handle.size());
    if (!fit(send, receive, handle.size())) return {};
    from = send.data;
  }
  return Way::carry_out(
      handle, a, receive.bytes() * static_cast<std::size_t>(handle.size()), [=](Communicator& communicator) {
        communicator.scatter(from, receive.data, receive.bytes(), root, nullptr, receive.number());
      });
}

/// Whether a block is one of those, of the same type, and apart from all of them.
bool fits(const PlainBlocks& blocks, std::size_t which, const Plain& one) {
  return blocks && one && blocks.element.dtype == one.element.dtype && blocks.counts[which] == one.bytes() &&
         !blocks.overlaps(one.data, one.bytes());
}

template <class Way>
py::object gatherv(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain send(a, a.value[sendbuf_parameter], false);
  if (!send) return {};
  if (handle.rank() != root)
    return Way::carry_out(handle, a, send.bytes(),
                          [=, none = std::vector<std::size_t>(static_cast<std::size_t>(handle.size()))](
                              Communicator& communicator) {
                            communicator.gatherv(send.data, send.bytes(), nullptr, none.data(), none.data(),
                                                 root, nullptr, send.number());
                          });
  PlainBlocks receive(a, a.value[recvbuf_parameter], true, handle.size());
  if (!fits(receive, static_cast<std::size_t>(root), send)) return {};
  const std::size_t bytes = receive.bytes();
  return Way::carry_out(handle, a, bytes, [=, receive = std::move(receive)](Communicator& communicator) {
    communicator.gatherv(send.data, send.bytes(), receive.data, receive.counts.data(),
                         receive.displacements.data(), root, nullptr, receive.number());
  });
}

template <class Way>
py::object scatterv(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain receive(a, a.value[recvbuf_parameter], true);
  if (!receive) return {};
  if (handle.rank() != root)
    return Way::carry_out(handle, a, receive.bytes(),
                          [=, none = std::vector<std::size_t>(static_cast<std::size_t>(handle.size()))](
                              Communicator& communicator) {
                            communicator.scatterv(nullptr, none.data(), none.data(), receive.data,
                                                  receive.bytes(), root, nullptr, receive.number());
                          });
  PlainBlocks send(a, a.value[sendbuf_parameter], false, handle.size());
  if (!fits(send, static_cast<std::size_t>(root), receive)) return {};
  const std::size_t bytes = send.bytes();
  return Way::carry_out(handle, a, bytes, [=, send = std::move(send)](Communicator& communicator) {
    communicator.scatterv(send.data, send.counts.data(), send.displacements.data(), receive.data,
                          receive.bytes(), root, nullptr, send.number());
  });
}

template <class Way>
py::object allgatherv(CommunicatorHandle& handle, const Arguments& a) {
  const Plain send(a, a.value[sendbuf_parameter], false);
  PlainBlocks receive(a, a.value[recvbuf_parameter], true, handle.size());
  if (!fits(receive, static_cast<std::size_t>(handle.rank()), send)) return {};
  const std::size_t bytes = receive.bytes();
  return Way::carry_out(handle, a, bytes, [=, receive = std::move(receive)](Communicator& communicator) {
    communicator.allgatherv(send.data, send.bytes(), receive.data, receive.counts.data(),
                            receive.displacements.data(), nullptr, receive.number());
  });
}

template <class Way>
py::object alltoallv(CommunicatorHandle& handle, const Arguments& a) {
  PlainBlocks send(a, a.value[sendbuf_parameter], false, handle.size());
  PlainBlocks receive(a, a.value[recvbuf_parameter], true, handle.size());
  if (!send || !receive || send.element.dtype != receive.element.dtype ||
      receive.overlaps(send.data + send.begin, send.end - send.begin))
    return {};
  const std::size_t bytes = receive.bytes();
  return Way::carry_out(
      handle, a, bytes, [send = std::move(send), receive = std::move(receive)](Communicator& communicator) {
        communicator.alltoallv(send.data, send.counts.data(), send.displacements.data(), receive.data,
                               receive.counts.data(), receive.displacements.data(), nullptr,
                               send.number() != 0 ? send.number() : receive.number());
      });
}

template <class Way>
py::object reduce_scatter_block(CommunicatorHandle& handle, const Arguments& a) {
  const Plain send(a, a.value[sendbuf_parameter], false, handle.size());
  const Plain receive(a, a.value[recvbuf_parameter], true);
  if (!fit(send, receive, handle.size())) return {};
  const CoreOperator op(a.op(), receive.element.dtype);
  if (!op) return {};
  return Way::carry_out(handle, a, send.bytes(), [=, operation = op.get()](Communicator& communicator) {
    communicator.reduce_scatter_block(send.data, receive.data, receive.count, operation);
  });
}

template <class Way>
py::object reduce_scatter(CommunicatorHandle& handle, const Arguments& a) {
  if (!a.asks(recvcounts_parameter)) return {};
  const Plain send(a, a.value[sendbuf_parameter], false);
  const Plain receive(a, a.value[recvbuf_parameter], true);
  std::vector<std::size_t> counts;
  if (!send || !receive || send.element.dtype != receive.element.dtype || send.overlaps(receive) ||
      !read_numbers(a.value[recvcounts_parameter], static_cast<std::size_t>(handle.size()), counts) ||
      std::accumulate(counts.begin(), counts.end(), std::size_t{0}) != send.count ||
      counts[static_cast<std::size_t>(handle.rank())] > receive.count)
    return {};
  const CoreOperator op(a.op(), receive.element.dtype);
  if (!op) return {};
  return Way::carry_out(handle, a, send.bytes(),
                        [=, counts = std::move(counts), operation = op.get()](Communicator& communicator) {
                          communicator.reduce_scatter(send.data, receive.data, counts.data(), operation);
                        });
}

py::object broadcast_object(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  return Objects(handle).broadcast(py::reinterpret_borrow<py::object>(a.value[obj_parameter]), root);
}

py::object gather_object(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  return Objects(handle).gather(py::reinterpret_borrow<py::object>(a.value[sendobj_parameter]), root);
}

py::object allgather_object(CommunicatorHandle& handle, const Arguments& a) {
  return Objects(handle).allgather(py::reinterpret_borrow<py::object>(a.value[sendobj_parameter]));
}

constexpr Method collectives[] = {
    {"bcast", 1, {obj_parameter, root_parameter}, 2, &broadcast_object},
    {"gather", 1, {sendobj_parameter, root_parameter}, 2, &gather_object},
    {"allgather", 1, {sendobj_parameter}, 1, &allgather_object},
    {"Barrier", 0, {}, 0, &barrier<Blocking>},
    {"Bcast", 1, {buf_parameter, root_parameter}, 2, &broadcast<Blocking>},
    {"Reduce", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter, root_parameter}, 4, &reduce<Blocking>},
    {"Allreduce", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &allreduce<Blocking>},
    {"Scan", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &scan<Blocking>},
    {"Exscan", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &exscan<Blocking>},
    {"Reduce_scatter_block",
     2,
     {sendbuf_parameter, recvbuf_parameter, op_parameter},
     3,
     &reduce_scatter_block<Blocking>},
    {"Reduce_scatter",
     2,
     {sendbuf_parameter, recvbuf_parameter, recvcounts_parameter, op_parameter},
     4,
     &reduce_scatter<Blocking>},
    {"Gather", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &gather<Blocking>},
    {"Scatter", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &scatter<Blocking>},
    {"Allgather", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &allgather<Blocking>},
    {"Alltoall", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &alltoall<Blocking>},
    {"Gatherv", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &gatherv<Blocking>},
    {"Scatterv", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &scatterv<Blocking>},
    {"Allgatherv", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &allgatherv<Blocking>},
    {"Alltoallv", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &alltoallv<Blocking>},
    {"barrier", 0, {}, 0, &barrier<Blocking>},
    {"Ibarrier", 0, {}, 0, &barrier<Beginning>},
    {"Ibcast", 1, {buf_parameter, root_parameter}, 2, &broadcast<Beginning>},
    {"Ireduce",
     2,
     {sendbuf_parameter, recvbuf_parameter, op_parameter, root_parameter},
     4,
     &reduce<Beginning>},
    {"Iallreduce", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &allreduce<Beginning>},
    {"Iscan", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &scan<Beginning>},
    {"Iexscan", 2, {sendbuf_parameter, recvbuf_parameter, op_parameter}, 3, &exscan<Beginning>},
    {"Ireduce_scatter_block",
     2,
     {sendbuf_parameter, recvbuf_parameter, op_parameter},
     3,
     &reduce_scatter_block<Beginning>},
    {"Ireduce_scatter",
     2,
     {sendbuf_parameter, recvbuf_parameter, recvcounts_parameter, op_parameter},
     4,
     &reduce_scatter<Beginning>},
    {"Igather", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &gather<Beginning>},
    {"Iscatter", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &scatter<Beginning>},
    {"Iallgather", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &allgather<Beginning>},
    {"Ialltoall", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &alltoall<Beginning>},
    {"Igatherv", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &gatherv<Beginning>},
    {"Iscatterv", 2, {sendbuf_parameter, recvbuf_parameter, root_parameter}, 3, &scatterv<Beginning>},
    {"Iallgatherv", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &allgatherv<Beginning>},
    {"Ialltoallv", 2, {sendbuf_parameter, recvbuf_parameter}, 2, &alltoallv<Beginning>},
};

}  // namespace

std::span<const Method> collective_methods() {
  return collectives;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
