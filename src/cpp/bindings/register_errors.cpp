// Turns C++ errors into the classes of phicoll.errors, which Python code catches. The classes are looked up
// when an error is raised, as the package imports this module before it defines them.

#include <exception>
#include <string>

#include "bindings/register.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/utf8.hpp"

namespace phicoll {
namespace bindings {
namespace {

void raise(const char* name, const py::tuple& arguments) {
  const py::object type = py::module_::import("phicoll.errors").attr(name);
  const py::object error = type(*arguments);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const ArgumentError& error) {
    raise("ArgumentError",
          py::make_tuple(printable(error.argument()), printable(error.got()), printable(error.allowed())));
  } catch (const BrokenGroupError& error) {
    raise("BrokenGroupError", py::make_tuple(printable(error.what()), error.rank()));
  } catch (const ResourceError& error) {
    raise("ResourceError", py::make_tuple(printable(error.what())));
  } catch (const TimeoutError& error) {
    raise("TimeoutError", py::make_tuple(printable(error.what())));
  } catch (const Error& error) {
    raise("Error", py::make_tuple(printable(error.what())));
  }
}

}  // namespace

void register_errors(py::module_&) {
  py::register_exception_translator(&translate);
}

}  // namespace bindings
}  // namespace phicoll
