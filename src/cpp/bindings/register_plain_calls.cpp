// The methods of Comm and of requests that C++ makes, without a frame of Python.
//
// `plain_call(function)` takes the place of a method. It reads the arguments as they lie on the interpreter's
// stack (plain_arguments.hpp). A collective call (collectives.cpp) is made here whatever its buffers are: its
// function says what the method takes, and is called only with what it does not take, which Python refuses.
// Of messages and requests, a call that is plain goes to the core at once; every other, and all that is wrong
// with one, is the function's, with the same arguments.

#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstddef>
#include <memory>
#include <string>

#include "bindings/plain_arguments.hpp"
#include "bindings/register.hpp"

namespace phicoll {
namespace bindings {
namespace {

using namespace plain_calls;

/// What a method does, and takes.
struct Deed {
  const Method* method = nullptr;  // null: it is collective
  Collective collective;
  Signature signature;
};

/// What stands in a class in place of the function.
struct MethodObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* attributes;  // the function's name, signature and documentation, as functools.wraps sets them
  PyObject* function;
  const Deed* deed;
};

/// The core's communicator of a Comm, or whatever else the object has in its place; no object if it has
/// nothing.
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

/// Raises what a communicator that is none, or has ended, raises.
[[noreturn]] void refuse_communicator(PyObject* object) {
  const py::object whole = py::handle(object).attr("_whole");
  (void)py::object(whole.attr("size"));
  throw py::type_error("comm: got " + py::repr(object).cast<std::string>() + "; allowed: a communicator");
}

py::object made(const Deed& deed, PyObject* const* args, std::size_t count, PyObject* names) {
  const Known& known = Known::get();
  if (deed.method != nullptr && deed.method->request_call != nullptr) {
    if (count > 2 || names != nullptr) return {};
    return deed.method->request_call(args[0], count == 2 ? args[1] : nullptr);
  }
  if (deed.method != nullptr && deed.method->requests_call != nullptr) {
    const auto* const type = reinterpret_cast<const PyTypeObject*>(args[0]);
    if (type != known.request && type != known.prequest) return {};  // it may override what is called
    return count == 2 && names == nullptr ? deed.method->requests_call(args[1]) : py::object();
  }
  const BoundArguments arguments(args, count, names, deed.signature);
  if (!arguments.plain) return {};
  const py::object core = core_in(args[0]);
  if (!core || Py_TYPE(core.ptr()) != known.communicator) refuse_communicator(args[0]);
  auto& handle = core_of<CommunicatorHandle>(core.ptr());
  return deed.method != nullptr ? deed.method->call(handle, arguments)
                                : deed.collective.make(deed.collective, handle, arguments);
}

PyObject* call(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
  const auto& self = *reinterpret_cast<MethodObject*>(callable);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  try {
    if (count != 0)
      if (py::object result = made(*self.deed, args, count, names)) return result.release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    py::detail::try_translate_exceptions();
    return nullptr;
  }
  return PyObject_Vectorcall(self.function, args, flags, names);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

int traverse_call(PyObject* object, visitproc visit, void* arg) {
  auto* const self = reinterpret_cast<MethodObject*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->attributes);
  Py_VISIT(self->function);
  return 0;
}

int clear_call(PyObject* object) {
  auto* const self = reinterpret_cast<MethodObject*>(object);
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->function);
  return 0;
}

void destroy_call(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear_call(object);
  delete reinterpret_cast<MethodObject*>(object)->deed;
  type->tp_free(object);
  Py_DECREF(type);
}

PyTypeObject* make_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(MethodObject, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(MethodObject, attributes), READONLY, nullptr},
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
      "phicoll._core.MethodObject", sizeof(MethodObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
      slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  return type;
}

std::unique_ptr<const Deed> deed_of(const py::function& function) {
  const auto name = function.attr("__name__").cast<std::string>();
  auto deed = std::make_unique<Deed>();
  deed->collective = collective_named(name);
  for (const auto& methods : {message_methods(), request_methods()})
    for (const Method& method : methods)
      if (name == method.name) deed->method = &method;
  if (deed->method == nullptr && deed->collective.form == Collective::Form::none)
    throw ArgumentError("function", name, "a method with plain calls");
  if (deed->method == nullptr || deed->method->call != nullptr) deed->signature = Signature::of(function);
  return deed;
}

py::object plain_call(const py::function& function) {
  static PyTypeObject* const type = make_type();
  auto deed = deed_of(function);
  auto* const made = PyObject_GC_New(MethodObject, type);
  if (made == nullptr) throw py::error_already_set();
  made->vectorcall = &call;
  made->attributes = nullptr;
  made->function = py::object(function).release().ptr();
  made->deed = deed.release();
  PyObject_GC_Track(made);
  auto wrapped = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(made));
  return py::module_::import("functools").attr("update_wrapper")(wrapped, function);
}

}  // namespace

void register_plain_calls(py::module_& module) {
  module.def("plain_call", &plain_call, py::arg("function"));
}

}  // namespace bindings
}  // namespace phicoll
