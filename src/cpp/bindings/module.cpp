#include "bindings/register.hpp"
#include "phicoll/version.hpp"

// Without an interpreter's lock (free-threaded Python) what threads share is guarded: see free_threading.hpp.
PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
  using namespace phicoll::bindings;
  module.doc() = "phicoll's C++ core: facts, rules and statistics. Measuring is phicoll-bench's.";
  module.attr("__version__") = PHICOLL_VERSION;
  register_errors(module);
  register_registry(module);
  register_machine(module);
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
  register_group(module);
  register_messages(module);
  register_plain_calls(module);
  register_request_object(module);
  register_shmem(module);
  register_shmem_calls(module);
  register_program(module);
  register_tuning(module);
  register_validation(module);
}
