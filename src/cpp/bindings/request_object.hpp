#pragma once

// What a Python request is made of: the base class of Request, whose fields the plain calls reach without
// looking them up.

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/begun_handle.hpp"

namespace phicoll {
namespace bindings {

/// Fields that are null read as None.
struct RequestObject {
  // clang-format off
  PyObject_HEAD
      // clang-format on
      PyObject* begun;  // what it stands for; none: a null request
  PyObject* deliver;    // called at its end
  PyObject* is_object;  // whether it receives an object
  PyObject* begin;      // of a persistent request: what Start begins
  /// Instead of `begun`, until Python asks for that: making a Python object takes as long as a small call.
  std::shared_ptr<BegunHandle> call;

  /// The fields of a Python object if it is a request.
  static RequestObject* of(PyObject* object);
  /// A new request of a class derived from this.
  static py::object make(PyTypeObject* type);
};

}  // namespace bindings
}  // namespace phicoll
