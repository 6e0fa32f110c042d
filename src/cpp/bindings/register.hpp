#pragma once

// One function a topic; each adds its part of phicoll._core. `_core.pyi` lists what they make.

#include <pybind11/pybind11.h>

namespace phicoll {
namespace bindings {

namespace py = pybind11;

void register_errors(py::module_& module);
void register_registry(py::module_& module);
void register_machine(py::module_& module);
void register_machines(py::module_& module);
void register_optima(py::module_& module);
void register_machine_fit(py::module_& module);
void register_doctor(py::module_& module);
void register_statistics(py::module_& module);
void register_counting(py::module_& module);
void register_sweep(py::module_& module);
void register_simulation(py::module_& module);
void register_kernels(py::module_& module);
void register_explain(py::module_& module);
void register_group(py::module_& module);
void register_messages(py::module_& module);
void register_plain_calls(py::module_& module);
void register_request_object(py::module_& module);
void register_shmem(py::module_& module);
void register_shmem_calls(py::module_& module);
void register_program(py::module_& module);
void register_tuning(py::module_& module);
void register_validation(py::module_& module);

}  // namespace bindings
}  // namespace phicoll
