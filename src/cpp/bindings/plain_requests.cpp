// The plain calls of requests.

#include "bindings/plain_arguments.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

/// The fields of a request whose class overrides nothing.
RequestObject* plain_request(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  const bool plain = type == Known::get().request || type == Known::get().prequest;
  return plain ? reinterpret_cast<RequestObject*>(object) : nullptr;
}

bool is_null(const RequestObject& request) {
  return !request.call && request.begun == nullptr;
}

/// Whether a persistent request of a collective call or a message may be started.
bool can_start(const RequestObject& request) {
  const Known& known = Known::get();
  return is_null(request) && request.begin != nullptr &&
         (Py_TYPE(request.begin) == known.begun || Py_TYPE(request.begin) == known.persistent_message);
}

py::object start(PyObject* object, PyObject* superfluous) {
  RequestObject* const request = plain_request(object);
  if (request == nullptr || superfluous != nullptr) return {};
  // Kept, as the request may be freed while the call begins: by an operator's function, or a thread that runs
  // meanwhile.
  py::object begin;
  {
    const Critical own(object);
    if (!can_start(*request)) return {};
    begin = py::reinterpret_borrow<py::object>(request->begin);
  }
  if (Py_TYPE(begin.ptr()) == Known::get().persistent_message) {
    auto begun = std::make_shared<BegunHandle>(core_of<PersistentMessage>(begin.ptr()).begin());
    const Critical own(object);
    request->call = std::move(begun);
    return py::none();
  }
  core_of<BegunHandle>(begin.ptr()).start();
  const Critical own(object);
  Py_XSETREF(request->begun, Py_NewRef(begin.ptr()));
  return py::none();
}

/// The call or message behind a Python object that a request stands for; null if it is something else.
BegunHandle* handle_of(PyObject* begun) {
  return Py_TYPE(begun) == Known::get().begun ? &core_of<BegunHandle>(begun) : nullptr;
}

/// The collective call or message of user buffers that a request stands for; null if ending it takes more.
BegunHandle* plain_begun(const RequestObject& request) {
  if (request.deliver != nullptr && request.deliver != Py_None) return nullptr;
  if (request.is_object == Py_True) return nullptr;
  if (request.call) return request.call.get();
  return request.begun == nullptr ? nullptr : handle_of(request.begun);
}

/// Fills in the status of a request that has ended, if one is given and the request was null or a receive.
void tell_end(PyObject* status, const BegunHandle* ended) {
  if (status == nullptr || status == Py_None) return;
  if (ended == nullptr) return tell(status, Envelope());
  const Transfer* const message = ended->transfer();
  if (message == nullptr || message->sends) return;
  tell(status, message->envelope);
  if (message->cancelled && PyObject_SetAttr(status, Known::get().cancelled, Py_True) != 0)
    throw py::error_already_set();
}

/// What a request stands for, kept meanwhile.
struct Held {
  std::shared_ptr<BegunHandle> call;
  py::object begun;
  BegunHandle* what = nullptr;  ///< none: a null request
  bool plain = true;

  /// `takes`: the request is null afterwards, if it is plain, for other threads too.
  explicit Held(PyObject* object, bool takes = false) {
    RequestObject& request = *RequestObject::of(object);
    const Critical own(object);
    if (is_null(request)) return;
    what = plain_begun(request);
    plain = what != nullptr;
    if (!plain) return;
    call = request.call;
    begun = py::reinterpret_borrow<py::object>(request.begun);
    if (takes) clear(request);
  }
  /// Makes the request null, unless another thread has ended it meanwhile, and begun the next. A thread that
  /// looked at the request may have made a Python object of the call.
  void forget(PyObject* object) const {
    RequestObject& request = *RequestObject::of(object);
    const Critical own(object);
    if (what == nullptr || is_null(request) || plain_begun(request) != what) return;
    clear(request);
  }
  /// Whether it has ended. A request that was refused is null afterwards.
  bool ended(PyObject* object) const {
    try {
      return what == nullptr || what->test();
    } catch (const ArgumentError&) {
      forget(object);
      throw;
    }
  }

 private:
  /// What is held keeps the call alive.
  static void clear(RequestObject& request) {
    request.call = nullptr;
    Py_CLEAR(request.begun);
  }
};

/// True for a null request.
py::object wait(PyObject* object, PyObject* status) {
  if (plain_request(object) == nullptr || !plain_status(status)) return {};
  const Held held(object, true);  // null whether the wait succeeds or not
  if (!held.plain) return {};
  if (held.what != nullptr) held.what->wait();
  tell_end(status, held.what);
  return py::bool_(true);
}

/// As wait(), which returns an object.
py::object wait_for_object(PyObject* object, PyObject* status) {
  return wait(object, status) ? py::object(py::none()) : py::object();
}

/// Whether the request has ended; if so, it is null afterwards. True for a null request.
py::object test(PyObject* object, PyObject* status) {
  if (plain_request(object) == nullptr || !plain_status(status)) return {};
  const Held held(object);
  if (!held.plain) return {};
  if (!held.ended(object)) return py::bool_(false);
  held.forget(object);
  tell_end(status, held.what);
  return py::bool_(true);
}

/// The requests of a list or tuple if each is as `wanted` says, else no object.
template <class Wanted>
py::tuple plain_requests(PyObject* given, const Wanted& wanted) {
  py::tuple requests = items_of(given);
  if (!requests) return requests;
  for (const py::handle& each : requests) {
    const RequestObject* const request = plain_request(each.ptr());
    const Critical own(each.ptr());
    if (request == nullptr || !wanted(*request)) return py::reinterpret_steal<py::tuple>(nullptr);
  }
  return requests;
}

bool can_end(const RequestObject& request) {
  return is_null(request) || plain_begun(request) != nullptr;
}

/// Waits for each. Returns false if another thread has started one anew; those before it are null.
bool wait_for_each(const py::tuple& requests) {
  for (const py::handle& each : requests)
    if (!wait(each.ptr(), nullptr)) return false;
  return true;
}

py::object wait_all(PyObject* given) {
  const py::tuple requests = plain_requests(given, &can_end);
  return requests && wait_for_each(requests) ? py::object(py::bool_(true)) : py::object();
}

/// As wait_all(), which returns an object for each.
py::object wait_for_objects(PyObject* given) {
  const py::tuple requests = plain_requests(given, &can_end);
  if (!requests || !wait_for_each(requests)) return {};
  py::list objects;
  for (std::size_t i = 0; i < requests.size(); ++i) objects.append(py::none());
  return objects;
}

/// Waits until one has ended. Its place; no object if all are null.
py::object wait_any(PyObject* given) {
  const py::tuple requests = plain_requests(given, &can_end);
  if (!requests) return {};
  std::vector<Held> held;
  std::vector<BegunHandle*> active;
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < requests.size(); ++place) {
    Held one(requests[place].ptr());
    if (!one.plain) return {};
    if (one.what == nullptr) continue;
    active.push_back(one.what);
    places.push_back(place);
    held.push_back(std::move(one));
  }
  if (active.empty()) return {};
  const std::size_t place = places[BegunHandle::wait_any(active)];
  if (!wait(requests[place].ptr(), nullptr)) return {};
  return py::int_(place);
}

/// Whether all have ended; if so, they are null afterwards.
py::object test_all(PyObject* given) {
  const py::tuple requests = plain_requests(given, &can_end);
  if (!requests) return {};
  bool all = true;
  for (const py::handle& each : requests) {
    const Held held(each.ptr());
    if (!held.plain) return {};
    all = held.ended(each.ptr()) && all;  // each goes on
  }
  if (!all) return py::bool_(false);
  return wait_for_each(requests) ? py::object(py::bool_(true)) : py::object();
}

py::object start_all(PyObject* given) {
  const py::tuple requests = plain_requests(given, &can_start);
  if (!requests) return {};
  for (const py::handle& each : requests)
    if (!start(each.ptr(), nullptr))
      throw ArgumentError("request", "one that is active", "one that has ended");
  return py::none();
}

constexpr Method requests[] = {
    {"Start", nullptr, &start},
    {"Wait", nullptr, &wait},
    {"wait", nullptr, &wait_for_object},
    {"Test", nullptr, &test},
    {"Waitall", nullptr, nullptr, &wait_all},
    {"waitall", nullptr, nullptr, &wait_for_objects},
    {"Waitany", nullptr, nullptr, &wait_any},
    {"Testall", nullptr, nullptr, &test_all},
    {"Startall", nullptr, nullptr, &start_all},
};

}  // namespace

std::span<const Method> request_methods() {
  return requests;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
