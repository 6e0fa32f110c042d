#pragma once

// What Python's OpenSHMEM calls are given: arrays, numbers, teams and contexts, checked before the library
// sees them. PEs, teams and contexts themselves are checked by the library, which throws.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <shmem.h>

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace bindings {

namespace py = pybind11;

/// Throws ArgumentError(argument, what it got, allowed).
[[noreturn]] void refuse_object(const char* argument, const py::handle& got, const std::string& allowed);

/// A NumPy array whose elements are adjacent, in C or Fortran order. Throws ArgumentError(argument).
class ShmemArray {
 public:
  enum Use { read = 0, write = 1, symmetric = 2 };
  ShmemArray(const char* argument, const py::handle& object, int use);

  template <class T = void>
  T* data() const {
    return static_cast<T*>(data_);
  }
  std::size_t count() const { return count_; }
  std::size_t element_bytes() const { return element_bytes_; }
  std::string type_name() const;
  /// Whether it holds elements of T, in this machine's byte order.
  template <class T>
  bool holds(char kind) const {
    return native_ && kind_ == kind && element_bytes_ == sizeof(T);
  }
  /// Both have the same element type, or ArgumentError is thrown.
  void check_same_type(const ShmemArray& other) const;
  /// The one element's address, or ArgumentError is thrown.
  template <class T>
  T* single() const {
    check_single();
    return data<T>();
  }
  const char* argument() const { return argument_; }

 private:
  void check_single() const;

  const char* argument_;
  py::dtype type_;
  void* data_ = nullptr;
  std::size_t count_ = 1;
  std::size_t element_bytes_ = 0;
  char kind_ = 0;
  bool native_ = false;
};

/// Calls f(T*) for the array's type, where f takes it; throws ArgumentError otherwise, which lists the types
/// that f takes.
template <class F>
void with_type(const ShmemArray& array, const F& f) {
  bool done = false;
  std::string allowed;
  const auto one = [&]<class T>(T*, char kind, const char* name, bool only_name) {
    if constexpr (std::is_invocable_v<const F&, T*>) {
      if (only_name) {
        allowed += (allowed.empty() ? "one of " : ", ") + std::string(name);
      } else if (!done && array.holds<T>(kind)) {
        f(array.data<T>());
        done = true;
      }
    }
  };
  const auto all = [&](bool only_names) {
    one(static_cast<long*>(nullptr), 'i', "int64", only_names);
    one(static_cast<double*>(nullptr), 'f', "float64", only_names);
    one(static_cast<int*>(nullptr), 'i', "int32", only_names);
    one(static_cast<float*>(nullptr), 'f', "float32", only_names);
    one(static_cast<unsigned long*>(nullptr), 'u', "uint64", only_names);
    one(static_cast<unsigned int*>(nullptr), 'u', "uint32", only_names);
    one(static_cast<short*>(nullptr), 'i', "int16", only_names);
    one(static_cast<unsigned short*>(nullptr), 'u', "uint16", only_names);
    one(static_cast<signed char*>(nullptr), 'i', "int8", only_names);
    one(static_cast<unsigned char*>(nullptr), 'u', "uint8", only_names);
    one(static_cast<long double*>(nullptr), 'f', "longdouble", only_names);
    one(static_cast<phicoll_shmem_complexf*>(nullptr), 'c', "complex64", only_names);
    one(static_cast<phicoll_shmem_complexd*>(nullptr), 'c', "complex128", only_names);
  };
  all(false);
  if (done) return;
  all(true);
  throw ArgumentError(array.argument(), "an array of " + array.type_name(), allowed);
}

/// A whole number in a range. Throws ArgumentError(argument).
long long whole_number(const char* argument, const py::handle& object, long long least, long long most);
unsigned long long large_number(const char* argument, const py::handle& object);

/// A number as C's T.
template <class T>
T number(const char* argument, const py::handle& object) {
  if constexpr (std::is_floating_point_v<T>) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() == nullptr) return static_cast<T>(value);
    PyErr_Clear();
    refuse_object(argument, object, "a number");
  } else if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
    return static_cast<T>(large_number(argument, object));
  } else {
    return static_cast<T>(whole_number(argument, object,
                                       static_cast<long long>(std::numeric_limits<T>::min()),
                                       static_cast<long long>(std::numeric_limits<T>::max())));
  }
}
inline int pe_number(const char* argument, const py::handle& object) {
  return number<int>(argument, object);
}
/// The number of elements: `object`, at most `most`; `most` if it is None.
std::size_t element_count(const py::handle& object, std::size_t most);

/// The handles in Python's Ctx and Team; None: the default context, the world.
shmem_ctx_t context_handle(const py::handle& object);
shmem_team_t team_handle(const py::handle& object);

}  // namespace bindings
}  // namespace phicoll
