// The plain calls of Comm, made without a frame of Python: NumPy arrays in C order, MPI's operators, ranks and tags by number,
// and objects.
//
// `plain_call(function)` takes the place of a method of Comm. It reads the arguments as they lie on the interpreter's stack.
// A call that is plain goes to the core at once; every other, and all that is wrong with a call, is the function's, with the
// same arguments. So this file refuses nothing, and a call that it makes is one that the function would make too.

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <string>

#include "bindings/collective_call.hpp"
#include "bindings/communicator_handle.hpp"
#include "bindings/free_threading.hpp"
#include "bindings/messages.hpp"
#include "bindings/register.hpp"
#include "bindings/request_object.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// The parameters that follow a call's buffers.
enum Parameter {
  op_parameter,
  root_parameter,
  dest_parameter,
  source_parameter,
  tag_parameter,
  sendtag_parameter,
  recvtag_parameter,
  buf_parameter,
  recvbuf_parameter,
  status_parameter,
  parameters
};
constexpr const char* parameter_names[parameters] = {"op",      "root",    "dest", "source",  "tag",
                                                     "sendtag", "recvtag", "buf",  "recvbuf", "status"};

/// What the calls look up, once. The references live as long as the interpreter.
struct Known {
  PyTypeObject* array = nullptr;
  PyTypeObject* comm = nullptr;
  Py_ssize_t core_slot = 0;  // where an instance of it keeps the core's communicator
  PyTypeObject* communicator = nullptr;
  PyTypeObject* collective_call = nullptr;
  PyTypeObject* transfer = nullptr;
  PyTypeObject* request = nullptr;
  PyObject* ended = nullptr;
  PyObject* core = nullptr;  // interned names
  PyObject* names[parameters] = {};
  PyObject* in_place = nullptr;
  PyObject* sum = nullptr;
  PyObject* type_number = nullptr;
  PyObject* core_operator = nullptr;

  /// At the first call, as the modules that have these import this one. Importing lets go of the interpreter's lock, so two
  /// ranks' threads may both look up; a static's own guard would be held meanwhile, and they would wait for each other.
  static const Known& get() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Known> known;
    return known.call_once_and_store_result(&look_up).get_stored();
  }

 private:
  static Known look_up() {
    const auto kept = [](const py::object& object) { return py::object(object).release().ptr(); };
    const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
    const py::module_ buffers = py::module_::import("phicoll.comm.buffers");
    const py::module_ operators = py::module_::import("phicoll.comm.operators");
    Known known;
    const py::object comm = py::module_::import("phicoll.comm.communicator").attr("Comm");
    const py::object slot = comm.attr("_core");
    if (Py_TYPE(slot.ptr()) != &PyMemberDescr_Type) throw Error("Comm has no slot of its core");
    known.comm = reinterpret_cast<PyTypeObject*>(kept(comm));
    known.core_slot = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
    known.array = py::detail::npy_api::get().PyArray_Type_;
    known.communicator = reinterpret_cast<PyTypeObject*>(py::type::of<CommunicatorHandle>().ptr());
    known.collective_call = reinterpret_cast<PyTypeObject*>(py::type::of<CollectiveCall>().ptr());
    known.transfer = reinterpret_cast<PyTypeObject*>(py::type::of<TransferHandle>().ptr());
    known.request =
        reinterpret_cast<PyTypeObject*>(kept(py::module_::import("phicoll.comm.requests").attr("Request")));
    known.ended = kept(py::cast(CollectiveCall::of_no_call()));
    known.core = name("_core");
    for (int i = 0; i < parameters; ++i) known.names[i] = name(parameter_names[i]);
    known.in_place = kept(buffers.attr("IN_PLACE"));
    known.sum = kept(operators.attr("OPERATORS")["SUM"]);
    known.type_number = kept(py::module_::import("phicoll.comm.datatypes").attr("type_number"));
    known.core_operator = kept(operators.attr("core_operator"));
    return known;
  }
};

/// A dtype of fixed size. It is known by its address, which the reference keeps from being used again.
struct Element {
  PyObject* dtype = nullptr;
  std::size_t bytes = 0;
  unsigned number = 0;

  void drop() { Py_XDECREF(dtype); }
};

/// One of MPI's operators on a dtype.
struct Reduction {
  PyObject* op = nullptr;
  PyObject* dtype = nullptr;
  PyObject* handle = nullptr;
  const OperatorHandle* core = nullptr;

  void drop() {
    Py_XDECREF(op);
    Py_XDECREF(dtype);
    Py_XDECREF(handle);
  }
};

/// The most recent of a few, whose references it keeps.
template <class Entry, std::size_t most>
class Recent {
 public:
  Recent() = default;
  ~Recent() {
    if (!one_interpreter_lock)  // the table of a thread that ends
      for (Entry& entry : entries_) entry.drop();
  }
  Recent(const Recent&) = delete;
  Recent& operator=(const Recent&) = delete;

  template <class Wanted>
  const Entry* find(Wanted&& wanted) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (wanted(entries_[i])) return &entries_[i];
    return nullptr;
  }
  /// The entry, with its references, in place of the oldest one.
  const Entry& keep(const Entry& entry) {
    Entry& place = entries_[next_];
    next_ = (next_ + 1) % most;
    if (count_ < most) ++count_;
    Entry before = std::exchange(place, entry);
    before.drop();
    return place;
  }

 private:
  std::array<Entry, most> entries_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

/// The element type; without a dtype if it is not plain: one with objects in it, or of no bytes.
Element element_of(PyObject* dtype) {
  auto& recent = own_table<Recent<Element, 16>, Element>();
  if (const Element* const found = recent.find([&](const Element& e) { return e.dtype == dtype; }))
    return *found;
  const auto type = py::reinterpret_borrow<py::dtype>(dtype);
  if (type.itemsize() <= 0 || py::bool_(type.attr("hasobject"))) return Element();
  const auto number = py::reinterpret_borrow<py::function>(Known::get().type_number)(type).cast<unsigned>();
  return recent.keep({type.inc_ref().ptr(), static_cast<std::size_t>(type.itemsize()), number});
}

/// The core's operator; none if it is a user's, which may be freed.
class CoreOperator {
 public:
  CoreOperator(PyObject* op, PyObject* dtype) {
    auto& recent = own_table<Recent<Reduction, 32>, Reduction>();
    const Reduction* found = recent.find([&](const Reduction& r) { return r.op == op && r.dtype == dtype; });
    if (found == nullptr) {
      const auto given = py::reinterpret_borrow<py::object>(op);
      if (!py::bool_(py::getattr(given, "is_predefined", py::bool_(false)))) return;
      const auto type = py::reinterpret_borrow<py::dtype>(dtype);
      py::object handle = py::reinterpret_borrow<py::function>(Known::get().core_operator)(given, type);
      const auto* const core = handle.cast<const OperatorHandle*>();
      found = &recent.keep({given.inc_ref().ptr(), type.inc_ref().ptr(), handle.release().ptr(), core});
    }
    kept_ = py::reinterpret_borrow<py::object>(found->handle);
    core_ = found->core;
  }
  explicit operator bool() const { return core_ != nullptr; }
  const Operator& get() const { return core_->get(); }

 private:
  py::object kept_;  // the table may drop its own while the call waits
  const OperatorHandle* core_ = nullptr;
};

/// An array in C order; false if it is none, is empty, or is not writable where that is asked for.
struct Plain {
  Element element;
  unsigned char* data = nullptr;
  std::size_t count = 0;

  Plain(PyObject* object, bool writable) {
    if (Py_TYPE(object) != Known::get().array) return;
    const auto* const array = py::detail::array_proxy(object);
    const int wanted = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ |
                       (writable ? py::detail::npy_api::NPY_ARRAY_WRITEABLE_ : 0);
    if ((array->flags & wanted) != wanted) return;
    std::size_t found = 1;
    for (int i = 0; i < array->nd; ++i) found *= static_cast<std::size_t>(array->dimensions[i]);
    if (found == 0) return;
    element = element_of(array->descr);
    data = reinterpret_cast<unsigned char*>(array->data);
    count = found;
  }
  explicit operator bool() const { return element.dtype != nullptr; }
  std::size_t bytes() const { return count * element.bytes; }
  unsigned number() const { return element.number; }
  bool overlaps(const Plain& other) const {
    return data < other.data + other.bytes() && other.data < data + bytes();
  }
};

struct Arguments;

/// A method of Comm: its name, its buffers and the parameters that follow, and the function that makes its plain calls. Or one
/// of Request, without arguments.
struct Method {
  const char* name;
  std::size_t buffers;
  std::array<Parameter, 6> after;
  std::size_t after_count;
  /// The method's result; no object if the call is not plain.
  py::object (*call)(CommunicatorHandle& handle, const Arguments& arguments);
  py::object (*request_call)(PyObject* request) = nullptr;
};

/// The arguments of a call: positions for buffers, then the method's parameters by position or name.
struct Arguments {
  PyObject* const* given;  // the communicator and what follows it
  std::size_t positions;
  std::array<PyObject*, parameters> value{};  // null: not given
  bool plain = true;

  Arguments(PyObject* const* args, std::size_t count, PyObject* names, const Method& method)
      : given(args), positions(count) {
    const Known& known = Known::get();
    const std::size_t first = 1 + method.buffers;
    plain = count >= first && count <= first + method.after_count;
    if (!plain) return;
    for (std::size_t at = first; at < count; ++at) value[method.after[at - first]] = args[at];
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyObject* const name = PyTuple_GET_ITEM(names, i);
      PyObject** place = nullptr;
      for (std::size_t p = 0; p < method.after_count; ++p)
        if (name == known.names[method.after[p]]) place = &value[method.after[p]];
      if (place == nullptr || *place != nullptr) {
        plain = false;
        return;
      }
      *place = args[count + static_cast<std::size_t>(i)];
    }
  }

  PyObject* op() const { return value[op_parameter] != nullptr ? value[op_parameter] : Known::get().sum; }
  /// A number from 0 that is less than `bound`; `otherwise` if it is not given, -1 if it is anything else.
  int number(Parameter parameter, long bound, int otherwise) const {
    PyObject* const object = value[parameter];
    if (object == nullptr) return otherwise;
    if (!PyLong_CheckExact(object)) return -1;
    int overflow = 0;
    const long found = PyLong_AsLongAndOverflow(object, &overflow);
    return overflow == 0 && found >= 0 && found < bound ? static_cast<int>(found) : -1;
  }
  /// The same as number, for tags; -2 for what is not a tag.
  int tag(Parameter parameter, int otherwise) const {
    const int found = number(parameter, long{INT32_MAX} + 1, otherwise);
    return found == -1 && value[parameter] != nullptr ? -2 : found;
  }
  /// Whether it is given and not None.
  bool asks(Parameter parameter) const { return value[parameter] != nullptr && value[parameter] != Py_None; }
  int root_of(int size) const { return number(root_parameter, size, 0); }
};

bool in_place(PyObject* spec) {
  return spec == Py_None || spec == Known::get().in_place;
}

/// The core's object in an instance of its type, which pybind11 would look up by way of its base classes.
template <class Core>
Core& core_of(PyObject* object) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(object);
  return *static_cast<Core*>(instance->get_value_and_holder().value_ptr());
}

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
    request.call = std::make_shared<CollectiveCall>(
        handle.shared_from_this(), CommunicatorHandle::Prepared{bytes, std::forward<Function>(function)});
    if (a.positions > 1) {
      py::tuple buffers(a.positions - 1);
      for (std::size_t i = 1; i < a.positions; ++i)
        buffers[i - 1] = py::reinterpret_borrow<py::object>(a.given[i]);
      request.call->keep(buffers);
    }
    request.call->start();
    if (request.call->begun()->done) {
      request.call.reset();
      request.begun = Py_NewRef(known.ended);
    }
    return made;
  }
};

// Each returns what the method returns, and no object if it did not make the call.

template <class Way>
py::object barrier(CommunicatorHandle& handle, const Arguments& a) {
  if (a.positions != 1) return {};
  return Way::carry_out(handle, a, 0, [=](Communicator& communicator) { communicator.barrier(); });
}

template <class Way>
py::object broadcast(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain buffer(a.given[1], handle.rank() != root);
  if (!buffer) return {};
  return Way::carry_out(handle, a, buffer.bytes(), [=](Communicator& communicator) {
    communicator.broadcast(buffer.data, buffer.bytes(), root, nullptr, buffer.number());
  });
}

/// A reduction by all ranks, whose result each gets: call(communicator, send, receive, count, operator).
template <class Way, class Call>
py::object reduction(CommunicatorHandle& handle, const Arguments& a, const Call& call) {
  const Plain receive(a.given[2], true);
  if (!receive) return {};
  const void* from = nullptr;
  if (!in_place(a.given[1])) {
    const Plain send(a.given[1], false);
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
  const Plain send(a.given[1], false);
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
  const Plain send(a.given[1], false);
  const Plain receive(a.given[2], true);
  if (!fit(receive, send, handle.size())) return {};
  return Way::carry_out(handle, a, receive.bytes(), [=](Communicator& communicator) {
    communicator.allgather(send.data, receive.data, send.bytes(), nullptr, send.number());
  });
}

template <class Way>
py::object alltoall(CommunicatorHandle& handle, const Arguments& a) {
  const Plain send(a.given[1], false);
  const Plain receive(a.given[2], true);
  const auto ranks = static_cast<std::size_t>(handle.size());
  if (!fit(send, receive, 1) || send.count % ranks != 0) return {};
  return Way::carry_out(handle, a, receive.bytes(), [=](Communicator& communicator) {
    communicator.alltoall(send.data, receive.data, receive.bytes() / ranks, nullptr, receive.number());
  });
}

template <class Way>
py::object gather(CommunicatorHandle& handle, const Arguments& a) {
  const int root = a.root_of(handle.size());
  if (root < 0) return {};
  const Plain send(a.given[1], false);
  if (!send) return {};
  void* to = nullptr;
  if (handle.rank() == root) {
    const Plain receive(a.given[2], true);
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
  const Plain receive(a.given[2], true);
  if (!receive) return {};
  const void* from = nullptr;
  if (handle.rank() == root) {
    const Plain send(a.given[1], false);
    if (!fit(send, receive, handle.size())) return {};
    from = send.data;
  }
  return Way::carry_out(
      handle, a, receive.bytes() * static_cast<std::size_t>(handle.size()), [=](Communicator& communicator) {
        communicator.scatter(from, receive.data, receive.bytes(), root, nullptr, receive.number());
      });
}

py::object send(CommunicatorHandle& handle, const Arguments& a) {
  const int dest = a.number(dest_parameter, handle.size(), -1);
  const int tag = a.tag(tag_parameter, 0);
  if (dest < 0 || tag < 0) return {};
  const Plain data(a.given[1], false);
  if (!data) return {};
  handle.call(data.bytes(), [&](Communicator& communicator) {
    communicator.send(data.data, data.bytes(), dest, tag, data.number());
  });
  return py::none();
}

py::object receive(CommunicatorHandle& handle, const Arguments& a) {
  const int source = a.number(source_parameter, handle.size(), -1);
  const int tag = a.tag(tag_parameter, any_tag);
  if (source < 0 || tag < any_tag || a.asks(status_parameter)) return {};
  const Plain buffer(a.given[1], true);
  if (!buffer) return {};
  handle.call(buffer.bytes(), [&](Communicator& communicator) {
    communicator.receive(buffer.data, buffer.bytes(), source, tag, buffer.number());
  });
  return py::none();
}

py::object send_receive(CommunicatorHandle& handle, const Arguments& a) {
  const int dest = a.number(dest_parameter, handle.size(), -1);
  const int source = a.number(source_parameter, handle.size(), -1);
  const int sendtag = a.tag(sendtag_parameter, 0);
  const int recvtag = a.tag(recvtag_parameter, any_tag);
  if (dest < 0 || source < 0 || sendtag < 0 || recvtag < any_tag) return {};
  if (a.asks(status_parameter) || !a.asks(recvbuf_parameter)) return {};
  const Plain data(a.given[1], false);
  const Plain buffer(a.value[recvbuf_parameter], true);
  if (!data || !buffer || data.number() != buffer.number() || data.overlaps(buffer)) return {};
  handle.call(data.bytes() + buffer.bytes(), [&](Communicator& communicator) {
    communicator.send_receive(data.data, data.bytes(), dest, sendtag, buffer.data, buffer.bytes(), source,
                              recvtag, data.number());
  });
  return py::none();
}

py::object send_object(CommunicatorHandle& handle, const Arguments& a) {
  const int dest = a.number(dest_parameter, handle.size(), -1);
  const int tag = a.tag(tag_parameter, 0);
  if (dest < 0 || tag < 0) return {};
  MessageCalls(handle).send_object(py::reinterpret_borrow<py::object>(a.given[1]), dest, tag, false);
  return py::none();
}

py::object receive_object(CommunicatorHandle& handle, const Arguments& a) {
  const int source = a.number(source_parameter, handle.size(), any_source);
  const int tag = a.tag(tag_parameter, any_tag);
  if (a.asks(buf_parameter) || a.asks(status_parameter)) return {};
  if (source < 0 && a.value[source_parameter] != nullptr) return {};
  if (tag < any_tag) return {};
  Envelope envelope;
  return MessageCalls(handle).receive_object(source, tag, &envelope);
}

// A persistent request of a collective call, begun.
py::object start(PyObject* object) {
  RequestObject* const request = RequestObject::of(object);
  if (request == nullptr) return {};
  // Kept, as the request may be freed while the call begins: by an operator's function, or a thread that runs meanwhile.
  py::object begin;
  {
    const Critical own(object);
    if (request->begin == nullptr || request->begun != nullptr || request->call ||
        Py_TYPE(request->begin) != Known::get().collective_call)
      return {};
    begin = py::reinterpret_borrow<py::object>(request->begin);
  }
  core_of<CollectiveCall>(begin.ptr()).start();
  const Critical own(object);
  Py_XSETREF(request->begun, Py_NewRef(begin.ptr()));
  return py::none();
}

/// The collective call or message of user buffers that a request stands for; null if ending it takes more.
BegunHandle* plain_begun(const RequestObject& request) {
  if (request.deliver != nullptr && request.deliver != Py_None) return nullptr;
  if (request.call) return request.call.get();
  if (request.begun == nullptr) return nullptr;
  if (Py_TYPE(request.begun) == Known::get().collective_call) return &core_of<CollectiveCall>(request.begun);
  if (Py_TYPE(request.begun) != Known::get().transfer || request.is_object == Py_True) return nullptr;
  return &core_of<TransferHandle>(request.begun);
}

py::object wait(PyObject* object) {
  RequestObject* const request = RequestObject::of(object);
  if (request == nullptr) return {};
  BegunHandle* waited;
  std::shared_ptr<CollectiveCall> call;
  py::object begun;
  {
    // Null afterwards, whether it succeeds or not, and for other threads at once.
    const Critical own(object);
    waited = plain_begun(*request);
    if (waited == nullptr) return {};
    call = std::exchange(request->call, nullptr);
    begun = py::reinterpret_steal<py::object>(std::exchange(request->begun, nullptr));
  }
  waited->wait();
  return py::bool_(true);
}

// Whether the request has ended; if so, it is null afterwards. True for a null request.
py::object test(PyObject* object) {
  RequestObject* const request = RequestObject::of(object);
  if (request == nullptr) return {};
  BegunHandle* tested;
  std::shared_ptr<CollectiveCall> call;
  py::object begun;
  {
    const Critical own(object);
    if (!request->call && request->begun == nullptr) return py::bool_(true);
    tested = plain_begun(*request);
    if (tested == nullptr) return {};
    call = request->call;
    begun = py::reinterpret_borrow<py::object>(request->begun);
  }
  // Another thread may have ended it meanwhile, and begun the next.
  const auto end = [&] {
    py::object before;
    const Critical own(object);
    if (call && request->call == call) request->call = nullptr;
    if (begun && request->begun == begun.ptr())
      before = py::reinterpret_steal<py::object>(std::exchange(request->begun, nullptr));
  };
  try {
    if (!tested->test()) return py::bool_(false);
  } catch (const ArgumentError&) {
    end();
    throw;
  }
  end();
  return py::bool_(true);
}

constexpr Method methods[] = {
    {"Barrier", 0, {}, 0, &barrier<Blocking>},
    {"Bcast", 1, {root_parameter}, 1, &broadcast<Blocking>},
    {"Reduce", 2, {op_parameter, root_parameter}, 2, &reduce<Blocking>},
    {"Allreduce", 2, {op_parameter}, 1, &allreduce<Blocking>},
    {"Scan", 2, {op_parameter}, 1, &scan<Blocking>},
    {"Exscan", 2, {op_parameter}, 1, &exscan<Blocking>},
    {"Gather", 2, {root_parameter}, 1, &gather<Blocking>},
    {"Scatter", 2, {root_parameter}, 1, &scatter<Blocking>},
    {"Allgather", 2, {}, 0, &allgather<Blocking>},
    {"Alltoall", 2, {}, 0, &alltoall<Blocking>},
    {"Ibarrier", 0, {}, 0, &barrier<Beginning>},
    {"Ibcast", 1, {root_parameter}, 1, &broadcast<Beginning>},
    {"Ireduce", 2, {op_parameter, root_parameter}, 2, &reduce<Beginning>},
    {"Iallreduce", 2, {op_parameter}, 1, &allreduce<Beginning>},
    {"Iscan", 2, {op_parameter}, 1, &scan<Beginning>},
    {"Iexscan", 2, {op_parameter}, 1, &exscan<Beginning>},
    {"Igather", 2, {root_parameter}, 1, &gather<Beginning>},
    {"Iscatter", 2, {root_parameter}, 1, &scatter<Beginning>},
    {"Iallgather", 2, {}, 0, &allgather<Beginning>},
    {"Ialltoall", 2, {}, 0, &alltoall<Beginning>},
    {"Send", 1, {dest_parameter, tag_parameter}, 2, &send},
    {"Recv", 1, {source_parameter, tag_parameter, status_parameter}, 3, &receive},
    {"Sendrecv",
     1,
     {dest_parameter, sendtag_parameter, recvbuf_parameter, source_parameter, recvtag_parameter,
      status_parameter},
     6,
     &send_receive},
    {"send", 1, {dest_parameter, tag_parameter}, 2, &send_object},
    {"Start", 0, {}, 0, nullptr, &start},
    {"Wait", 0, {}, 0, nullptr, &wait},
    {"Test", 0, {}, 0, nullptr, &test},
    {"recv", 0, {buf_parameter, source_parameter, tag_parameter, status_parameter}, 4, &receive_object},
};

/// What stands in a class in place of the function.
struct PlainCall {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* attributes;  // the function's name, signature and documentation, as functools.wraps sets them
  PyObject* function;
  const Method* method;
};

/// The core's communicator of a Comm, or whatever else the object has in its place; no object if it has nothing.
py::object core_in(PyObject* object) {
  const Known& known = Known::get();
  if (PyObject_TypeCheck(object, known.comm)) {
    const Critical own(object);
    PyObject* const* const slot =
        reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object) + known.core_slot);
    if (*slot != nullptr) return py::reinterpret_borrow<py::object>(*slot);
  }
  auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, known.core));
  if (!found) PyErr_Clear();
  return found;
}

/// Null with an exception set, null without one if the call is not plain, or the result.
PyObject* try_plain(const PlainCall& self, PyObject* const* args, std::size_t count, PyObject* names) {
  if (count == 0) return nullptr;
  try {
    if (self.method->request_call != nullptr)
      return count == 1 && names == nullptr ? self.method->request_call(args[0]).release().ptr() : nullptr;
    const py::object core = core_in(args[0]);
    if (!core || Py_TYPE(core.ptr()) != Known::get().communicator) return nullptr;
    auto& handle = core_of<CommunicatorHandle>(core.ptr());
    const Arguments arguments(args, count, names, *self.method);
    return arguments.plain ? self.method->call(handle, arguments).release().ptr() : nullptr;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

PyObject* call(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
  const auto& self = *reinterpret_cast<PlainCall*>(callable);
  PyObject* const made = try_plain(self, args, static_cast<std::size_t>(PyVectorcall_NARGS(flags)), names);
  if (made != nullptr || PyErr_Occurred() != nullptr) return made;
  return PyObject_Vectorcall(self.function, args, flags, names);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

int traverse_call(PyObject* object, visitproc visit, void* arg) {
  auto* const self = reinterpret_cast<PlainCall*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->attributes);
  Py_VISIT(self->function);
  return 0;
}

int clear_call(PyObject* object) {
  auto* const self = reinterpret_cast<PlainCall*>(object);
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->function);
  return 0;
}

void destroy_call(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear_call(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyTypeObject* make_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(PlainCall, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(PlainCall, attributes), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef getters[] = {
      {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse_call)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear_call)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_call)},
                                {Py_tp_members, members},
                                {Py_tp_getset, getters},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "phicoll._core.PlainCall", sizeof(PlainCall), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
      slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  return type;
}

py::object plain_call(const py::function& function) {
  static PyTypeObject* const type = make_type();
  const auto name = function.attr("__name__").cast<std::string>();
  for (const Method& method : methods) {
    if (name != method.name) continue;
    auto* const made = PyObject_GC_New(PlainCall, type);
    if (made == nullptr) throw py::error_already_set();
    made->vectorcall = &call;
    made->attributes = nullptr;
    made->function = py::object(function).release().ptr();
    made->method = &method;
    PyObject_GC_Track(made);
    auto wrapped = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(made));
    return py::module_::import("functools").attr("update_wrapper")(wrapped, function);
  }
  throw ArgumentError("function", name, "a method with plain calls");
}

}  // namespace

void register_plain_calls(py::module_& module) {
  module.def("plain_call", &plain_call, py::arg("function"));
}

}  // namespace bindings
}  // namespace phicoll
