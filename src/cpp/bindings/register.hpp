#pragma once

// One function a topic; each adds its part of phicoll._core. `_core.pyi` lists what they make.

#include <pybind11/pybind11.h>

namespace phicoll {
namespace bindings {

namespace py = pybind11;

void register_errors(py::module_& module);
void register_laboratory(py::module_& module);
void register_machine(py::module_& module);
void register_options(py::module_& module);
void register_group(py::module_& module);
void register_messages(py::module_& module);
void register_plain_calls(py::module_& module);
void register_request_object(py::module_& module);
void register_shmem(py::module_& module);
void register_shmem_calls(py::module_& module);

}  // namespace bindings
}  // namespace phicoll
