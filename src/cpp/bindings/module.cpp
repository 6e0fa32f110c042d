#include "bindings/register.hpp"
#include "phicoll/version.hpp"

// Without an interpreter's lock (free-threaded Python) what threads share is guarded: see free_threading.hpp.
PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
  using namespace phicoll::bindings;
  module.doc() = "phicoll's C++ core: facts, rules and statistics. Measuring is phicoll-bench's.";
  module.attr("__version__") = PHICOLL_VERSION;
  register_errors(module);
  register_machine(module);
  register_options(module);
  register_group(module);
  register_messages(module);
  register_plain_calls(module);
  register_request_object(module);
  register_shmem(module);
  register_shmem_calls(module);
#if defined(PHICOLL_HAVE_LABORATORY)
  register_laboratory(module);
#endif
}
