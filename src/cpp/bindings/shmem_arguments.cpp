#include "bindings/shmem_arguments.hpp"

#include <cstdint>

namespace phicoll {
namespace bindings {

void refuse_object(const char* argument, const py::handle& got, const std::string& allowed) {
  const bool short_text = PyLong_Check(got.ptr()) || PyFloat_Check(got.ptr()) || PyUnicode_Check(got.ptr()) ||
                          got.is_none() || PyBool_Check(got.ptr());
  throw ArgumentError(argument,
                      short_text ? py::repr(got).cast<std::string>()
                                 : "an object of type " + std::string(Py_TYPE(got.ptr())->tp_name),
                      allowed);
}

ShmemArray::ShmemArray(const char* argument, const py::handle& object, int use)
    : argument_(argument), type_(py::reinterpret_steal<py::dtype>(py::handle())) {
  if (!py::isinstance<py::array>(object)) refuse_object(argument, object, "a NumPy array");
  const auto array = py::reinterpret_borrow<py::array>(object);
  using api = py::detail::npy_api;
  if ((array.flags() & (api::NPY_ARRAY_C_CONTIGUOUS_ | api::NPY_ARRAY_F_CONTIGUOUS_)) == 0)
    throw ArgumentError(argument, "an array whose elements have gaps between them",
                        "one in C or Fortran order, such as its .copy()");
  if ((use & write) != 0 && !array.writeable())
    throw ArgumentError(argument, "an array that is read-only", "one that can be written");
  type_ = array.dtype();
  if (type_.kind() == 'O' || (type_.kind() == 'V' && py::bool_(type_.attr("hasobject"))))
    throw ArgumentError(argument, "an array of Python objects", "one of numbers or other plain bytes");
  kind_ = type_.kind();
  native_ = type_.byteorder() != '>' || PY_BIG_ENDIAN;
  element_bytes_ = static_cast<std::size_t>(array.itemsize());
  count_ = static_cast<std::size_t>(array.size());
  data_ = const_cast<void*>(array.data());
  const std::size_t bytes = count_ * element_bytes_;
  if ((use & symmetric) == 0 || bytes == 0) return;
  const int me = shmem_my_pe();
  const auto* const first = data<const unsigned char>();
  if (shmem_addr_accessible(first, me) == 0 || shmem_addr_accessible(first + bytes - 1, me) == 0)
    throw ArgumentError(
        argument, "an array that is not symmetric",
        "one of phicoll.shmem's: zeros, ones, full, empty, array, new_array, or a part of it");
}

std::string ShmemArray::type_name() const {
  return py::str(static_cast<const py::handle&>(type_)).cast<std::string>();
}

void ShmemArray::check_same_type(const ShmemArray& other) const {
  if (type_.ptr() == other.type_.ptr() || type_.equal(other.type_)) return;
  throw ArgumentError(argument_, "an array of " + type_name(),
                      std::string("the type of ") + other.argument_ + ", " + other.type_name());
}

void ShmemArray::check_single() const {
  if (count_ == 1) return;
  throw ArgumentError(argument_, "an array of " + std::to_string(count_) + " elements", "one of 1 element");
}

namespace {

py::object as_integer(const py::handle& object) {
  PyObject* const found = PyNumber_Index(object.ptr());
  if (found == nullptr) PyErr_Clear();
  return py::reinterpret_steal<py::object>(found);
}

}  // namespace

long long whole_number(const char* argument, const py::handle& object, long long least, long long most) {
  if (const py::object integer = as_integer(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
    if (overflow == 0 && value >= least && value <= most) return value;
  }
  refuse_object(argument, object, "a whole number in " + std::to_string(least) + ".." + std::to_string(most));
}

unsigned long long large_number(const char* argument, const py::handle& object) {
  if (const py::object integer = as_integer(object)) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(integer.ptr());
    if (PyErr_Occurred() == nullptr) return value;
    PyErr_Clear();
  }
  refuse_object(argument, object, "a whole number in 0.." + std::to_string(UINT64_MAX));
}

std::size_t element_count(const py::handle& object, std::size_t most) {
  if (object.is_none()) return most;
  return static_cast<std::size_t>(whole_number("size", object, 0, static_cast<long long>(most)));
}

namespace {

std::uintptr_t handle_in(const char* argument, const py::handle& object, const char* attribute,
                         const char* allowed) {
  PyObject* const found = PyObject_GetAttrString(object.ptr(), attribute);
  if (found == nullptr) {
    PyErr_Clear();
    refuse_object(argument, object, allowed);
  }
  return static_cast<std::uintptr_t>(large_number(argument, py::reinterpret_steal<py::object>(found)));
}

}  // namespace

shmem_ctx_t context_handle(const py::handle& object) {
  if (object.is_none()) return SHMEM_CTX_DEFAULT;
  const auto ctx = reinterpret_cast<shmem_ctx_t>(handle_in("ctx", object, "ob_ctx", "a Ctx or None"));
  // Inlined functions look into it before the library does.
  shmem_team_t team = SHMEM_TEAM_INVALID;
  if (shmem_ctx_get_team(ctx, &team) != 0) throw ArgumentError("ctx", "CTX_INVALID", "a Ctx or None");
  return ctx;
}

shmem_team_t team_handle(const py::handle& object) {
  if (object.is_none()) return SHMEM_TEAM_WORLD;
  return reinterpret_cast<shmem_team_t>(handle_in("team", object, "ob_team", "a Team or None"));
}

}  // namespace bindings
}  // namespace phicoll
