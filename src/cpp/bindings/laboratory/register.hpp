#pragma once

// The laboratory's part of phicoll._core: what measures, simulates, models and explains. A build of the
// library alone is without it.

#include "bindings/register.hpp"

namespace phicoll {
namespace bindings {

void register_registry(py::module_& module);
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
void register_program(py::module_& module);
void register_tuning(py::module_& module);
void register_validation(py::module_& module);

}  // namespace bindings
}  // namespace phicoll
