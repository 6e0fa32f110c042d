// What may spoil a measurement on this machine, as the kernel reports it; docs for each in
// phicoll/os/facts.hpp.

#include <pybind11/stl.h>

#include "bindings/laboratory/register.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::dict facts() {
  py::dict found;
  found["cpu_model"] = os::cpu_model();
  found["kernel"] = os::kernel_release();
  found["virtualisation"] = os::virtualisation();
  found["container"] = os::container();
  found["governor"] = os::frequency_governor();
  found["boost"] = os::frequency_boost();
  found["huge_pages"] = os::huge_pages();
  found["huge_pages_shared"] = os::huge_pages_shared();
  found["load"] = os::load_averages();
  found["memory_bytes"] = os::memory_total();
  found["ptrace_scope"] = os::ptrace_scope();
  found["perf_event_paranoid"] = os::perf_event_paranoid();
  found["numa_balancing"] = os::numa_balancing();
  found["smt_active"] = os::smt_active();
  const os::CrossCopyProbe copies = os::probe_cross_copy();
  found["cross_copy_child"] = copies.from_child;
  found["cross_copy_sibling"] = copies.from_sibling;
  found["membarrier"] = os::membarrier_available();
  found["memfd"] = os::memfd_available();
  found["pidfd"] = os::pidfd_available();
  return found;
}

/// Ticks since boot: (total, idle, steal), or None.
py::object cpu_times() {
  const os::CpuTimes times = os::cpu_times();
  if (!times.known) return py::none();
  return py::make_tuple(times.total, times.idle, times.steal);
}

}  // namespace

void register_doctor(py::module_& module) {
  module.def("facts", &facts);
  module.def("cpu_times", &cpu_times);
}

}  // namespace bindings
}  // namespace phicoll
