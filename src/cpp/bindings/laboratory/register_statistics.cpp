// The statistics of phicoll/support/statistics.hpp: one implementation for both languages.

#include <pybind11/stl.h>

#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// (low, high, attained confidence)
py::tuple interval_tuple(const std::vector<double>& values, double confidence) {
  const Interval found = median_interval(values, confidence);
  return py::make_tuple(found.low, found.high, found.coverage);
}

/// (values, whether they are the launches' medians, the launches' share of the variance, number of launches)
py::tuple units_tuple(const std::vector<double>& values, const std::vector<int>& launches) {
  Units found = units_of(values, launches);
  return py::make_tuple(std::move(found.values), found.by_launch, found.launch_share, found.launches);
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
  module.def("holm_levels", &holm_levels, py::arg("p_values"), py::arg("confidence"));
  module.def("units_of", &units_tuple, py::arg("values"), py::arg("launches"));
  module.def("choose_best", &choose_best, py::arg("logs"), py::arg("rounds"));
  module.attr("SMALLEST_NS") = smallest_ns;
}

}  // namespace bindings
}  // namespace phicoll
