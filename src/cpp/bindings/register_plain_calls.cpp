// The plain calls of Comm and of requests, made without a frame of Python.
//
// `plain_call(function)` takes the place of a method. It reads the arguments as they lie on the interpreter's stack
// (plain_arguments.hpp). A call that is plain goes to the core at once; every other, and all that is wrong with a call, is the
// function's, with the same arguments. So nothing is refused here, and a call that is made here is one that the function would
// make too.

#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstddef>
#include <string>

#include "bindings/plain_arguments.hpp"
#include "bindings/register.hpp"

namespace phicoll {
namespace bindings {
namespace {

using namespace plain_calls;

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
    if (self.method->request_call != nullptr) {
      if (count > 2 || names != nullptr) return nullptr;
      return self.method->request_call(args[0], count == 2 ? args[1] : nullptr).release().ptr();
    }
    if (self.method->requests_call != nullptr) {
      const Known& known = Known::get();
      const auto* const type = reinterpret_cast<const PyTypeObject*>(args[0]);
      if (type != known.request && type != known.prequest) return nullptr;  // it may override what is called
      return count == 2 && names == nullptr ? self.method->requests_call(args[1]).release().ptr() : nullptr;
    }
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
  for (const auto& methods : {collective_methods(), message_methods(), request_methods()})
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
