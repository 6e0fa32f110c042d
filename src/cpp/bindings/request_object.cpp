#include "bindings/request_object.hpp"

#include <structmember.h>

#include <new>
#include <utility>

#include "bindings/messages.hpp"
#include "bindings/register.hpp"

namespace phicoll {
namespace bindings {
namespace {

RequestObject& fields_of(PyObject* self) {
  return *reinterpret_cast<RequestObject*>(self);
}

PyObject* make_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const made = type->tp_alloc(type, 0);
  if (made != nullptr) new (&fields_of(made).call) std::shared_ptr<BegunHandle>();
  return made;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const RequestObject& fields = fields_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(fields.begun);
  Py_VISIT(fields.deliver);
  Py_VISIT(fields.is_object);
  Py_VISIT(fields.begin);
  return 0;
}

int clear(PyObject* self) {
  RequestObject& fields = fields_of(self);
  Py_CLEAR(fields.begun);
  Py_CLEAR(fields.deliver);
  Py_CLEAR(fields.is_object);
  Py_CLEAR(fields.begin);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  fields_of(self).call.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* get_begun(PyObject* self, void*) {
  RequestObject& fields = fields_of(self);
  const Critical own(self);
  if (fields.begun == nullptr && fields.call) try {
      fields.begun = py::cast(std::exchange(fields.call, nullptr)).release().ptr();
    } catch (py::error_already_set& error) {
      error.restore();
      return nullptr;
    }
  return Py_NewRef(fields.begun != nullptr ? fields.begun : Py_None);
}

int set_begun(PyObject* self, PyObject* value, void*) {
  RequestObject& fields = fields_of(self);
  PyObject* const kept = value == Py_None ? nullptr : value;
  Py_XINCREF(kept);
  std::shared_ptr<BegunHandle> call;
  PyObject* before;
  {
    const Critical own(self);
    call = std::exchange(fields.call, nullptr);
    before = std::exchange(fields.begun, kept);
  }
  Py_XDECREF(before);
  return 0;
}

PyTypeObject* type = nullptr;

}  // namespace

RequestObject* RequestObject::of(PyObject* object) {
  return PyObject_TypeCheck(object, type) ? &fields_of(object) : nullptr;
}

py::object RequestObject::make(PyTypeObject* of_type) {
  auto made = py::reinterpret_steal<py::object>(make_new(of_type, nullptr, nullptr));
  if (!made) throw py::error_already_set();
  return made;
}

void register_request_object(py::module_& module) {
  static PyMemberDef members[] = {{"_deliver", T_OBJECT, offsetof(RequestObject, deliver), 0, nullptr},
                                  {"_is_object", T_OBJECT, offsetof(RequestObject, is_object), 0, nullptr},
                                  {"_begin", T_OBJECT, offsetof(RequestObject, begin), 0, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef getters[] = {{"_begun", &get_begun, &set_begun, nullptr, nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_new)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                {Py_tp_members, members},
                                {Py_tp_getset, getters},
                                {0, nullptr}};
  static PyType_Spec spec = {"phicoll._core.RequestObject", sizeof(RequestObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  module.attr("RequestObject") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type));
}

}  // namespace bindings
}  // namespace phicoll
