// The statistics of phicoll/support/statistics.hpp: one implementation for both languages.

#include <pybind11/stl.h>

#include <vector>

#include "bindings/register.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// (low, high, attained confidence)
py::tuple interval_tuple(const std::vector<double>& values, double confidence) {
  const Interval found = median_interval(values, confidence);
  return py::make_tuple(found.low, found.high, found.coverage);
}

/// Share of the launches in the variance, 0 to 1.
double launch_share(const std::vector<double>& values, const std::vector<int>& launches) {
  return variance_components(values, launches).between_share;
}

}  // namespace

void register_statistics(py::module_& module) {
  module.def("median", &median, py::arg("values"));
  module.def("midmean", &midmean, py::arg("values"));
  module.def("percentile", &percentile, py::arg("values"), py::arg("p"));
  module.def("geometric_mean", &geometric_mean, py::arg("values"));
  module.def("median_interval", &interval_tuple, py::arg("values"), py::arg("confidence"));
  module.def("least_count", &least_count, py::arg("confidence"));
  module.def("sign_test", &sign_test, py::arg("values"), py::arg("centre") = 0.0);
  module.def("holm", &holm, py::arg("p_values"));
  module.def("launch_share", &launch_share, py::arg("values"), py::arg("launches"));
}

}  // namespace bindings
}  // namespace phicoll
