#pragma once

// What the bindings need where Python has no interpreter's lock (a free-threaded build). Elsewhere that lock
// keeps threads apart, and all of this is nothing.
//
// Of what threads share, a communicator takes one call at a time (CommunicatorHandle::Busy), tables of what
// was looked up are each thread's own, and a request's fields are read and written in a critical section of
// the request.

#include <pybind11/pybind11.h>

namespace phicoll {
namespace bindings {

namespace py = pybind11;

#ifdef Py_GIL_DISABLED
constexpr bool one_interpreter_lock = false;
#else
constexpr bool one_interpreter_lock = true;
#endif

/// Keeps other threads out of an object's critical section, as the interpreter's lock does where there is
/// one.
class Critical {
 public:
#ifdef Py_GIL_DISABLED
  explicit Critical(PyObject* of) {
    PyCriticalSection_Begin(&section_, of);
  }
  ~Critical() {
    PyCriticalSection_End(&section_);
  }
#else
  explicit Critical(PyObject*) {}
#endif
  Critical(const Critical&) = delete;
  Critical& operator=(const Critical&) = delete;

 private:
#ifdef Py_GIL_DISABLED
  PyCriticalSection section_;
#endif
};

/// A table that keeps Python objects: one for all threads under the interpreter's lock, else one for each
/// thread, which the thread's dictionary keeps and which ends with it. `Tag` tells tables of one type apart.
template <class Table, class Tag>
Table& own_table() {
#ifdef Py_GIL_DISABLED
  static thread_local Table* own = nullptr;
  if (own == nullptr) {
    static const char key = 0;
    const py::capsule keeper(new Table(), [](void* table) { delete static_cast<Table*>(table); });
    PyObject* const dict = PyThreadState_GetDict();
    const py::object name = py::int_(reinterpret_cast<std::uintptr_t>(&key));
    if (dict == nullptr || PyDict_SetItem(dict, name.ptr(), keeper.ptr()) != 0) throw py::error_already_set();
    own = static_cast<Table*>(keeper.get_pointer());
  }
  return *own;
#else
  static Table own;
  return own;
#endif
}

}  // namespace bindings
}  // namespace phicoll
