#include "bindings/laboratory/register.hpp"

namespace phicoll {
namespace bindings {

void register_laboratory(py::module_& module) {
  register_registry(module);
  register_machines(module);
  register_optima(module);
  register_machine_fit(module);
  register_doctor(module);
  register_statistics(module);
  register_counting(module);
  register_sweep(module);
  register_simulation(module);
  register_kernels(module);
  register_explain(module);
  register_program(module);
  register_tuning(module);
  register_validation(module);
}

}  // namespace bindings
}  // namespace phicoll
