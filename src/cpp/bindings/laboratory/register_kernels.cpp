// The memory kernels, on threads of this process and on simulated machines. docs/kernels.md says what each
// measures.

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/kernels/kernel.hpp"
#include "phicoll/kernels/run_native.hpp"
#include "phicoll/sim/running/sim_kernels.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::list kernel_list() {
  py::list found;
  for (const kernels::KernelInfo& info : kernels::kernel_infos()) {
    py::list parameters;
    for (const ParameterInfo& parameter : info.parameters) {
      py::dict one;
      one["name"] = parameter.name;
      one["range"] = parameter.range();
      one["default"] = parameter.default_value;
      one["meaning"] = parameter.meaning;
      parameters.append(one);
    }
    py::dict kernel;
    kernel["name"] = info.name;
    kernel["source"] = info.source;
    kernel["summary"] = info.summary;
    kernel["sample"] = info.sample;
    kernel["parameters"] = parameters;
    found.append(kernel);
  }
  return found;
}

template <class T>
py::array_t<T> array_of(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::dict result_dict(const kernels::KernelSamples& samples) {
  py::list ns;
  py::list ticks;
  py::list empty;
  for (std::size_t r = 0; r < samples.ranks.size(); ++r) {
    ns.append(array_of(samples.ns(static_cast<int>(r))));
    ticks.append(array_of(samples.ranks[r].ticks));
    empty.append(array_of(samples.ranks[r].empty));
  }
  py::dict found;
  found["spec"] = samples.spec.text();
  found["ns"] = ns;
  found["ticks"] = ticks;
  found["empty_ticks"] = empty;
  found["empty_ns"] = samples.empty_ns();
  found["ns_per_tick"] = samples.ns_per_tick;
  found["per_sample"] = samples.per_sample;
  found["bytes"] = samples.bytes;
  found["gigabytes_a_second"] = array_of(samples.gigabytes_a_second());
  found["late"] = samples.late();
  found["wrong"] = samples.wrong();
  return found;
}

py::dict simulate(const std::string& machine, const std::string& spec, int ranks, const std::string& where,
                  int samples, std::uint64_t seed, const std::string& wait) {
  kernels::KernelSamples result;
  std::string name;
  {
    py::gil_scoped_release released;
    const sim::Machine loaded = sim::load_machine(machine);
    const kernels::KernelSpec parsed = kernels::parse_kernel(spec);
    kernels::check_kernel_ranks(parsed, ranks);
    sim::SimOptions options = sim::kernel_options(seed);
    options.wait = parse_wait_policy(wait);
    const std::string place = where.empty() ? kernels::kernel_where(parsed) : where;
    sim::check_kernel(loaded, parsed);
    result = sim::simulate_kernel(loaded, parsed, sim::kernel_shape(loaded, ranks, place), samples, options);
    name = loaded.name;
  }
  py::dict found = result_dict(result);
  found["machine"] = name;
  return found;
}

py::dict run(const std::string& spec, int ranks, const std::string& placement, int samples,
             std::uint64_t seed, const std::string& wait, std::int64_t timeout_ms, bool oversubscribe) {
  kernels::KernelSamples result;
  {
    py::gil_scoped_release released;
    kernels::NativeRun how;
    how.ranks = ranks;
    how.placement = placement;
    how.samples = samples;
    how.seed = seed;
    how.wait = parse_wait_policy(wait);
    how.timeout_ms = timeout_ms;
    const kernels::KernelSpec parsed = kernels::parse_kernel(spec);
    if (placement.empty()) how.placement = kernels::kernel_where(parsed);
    kernels::check_kernel_ranks(parsed, ranks);
    if (!oversubscribe) kernels::check_kernel_cpus(parsed, ranks);
    result = kernels::run_native(parsed, how);
  }
  return result_dict(result);
}

}  // namespace

void register_kernels(py::module_& module) {
  module.def("kernels", &kernel_list);
  module.def("parse_kernel", [](const std::string& text) { return kernels::parse_kernel(text).text(); });
  module.def("simulate_kernel", &simulate, py::arg("machine"), py::arg("spec"), py::arg("ranks"),
             py::arg("where"), py::arg("samples"), py::arg("seed") = 1, py::arg("wait") = "spin");
  module.def("run_kernel", &run, py::arg("spec"), py::arg("ranks"), py::arg("placement"), py::arg("samples"),
             py::arg("seed") = 1, py::arg("wait") = "spin", py::arg("timeout_ms") = 60000,
             py::arg("oversubscribe") = false);
}

}  // namespace bindings
}  // namespace phicoll
