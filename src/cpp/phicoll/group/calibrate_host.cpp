// Measuring the host's numbers by groups of this process's threads, for a user who asks for it.

#include <string>

#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/environment.hpp"

namespace phicoll {

HostNumbers calibrate_host() {
  constexpr const char* variable = "PHICOLL_CALIBRATION";
  if (calibration_use() != CalibrationUse::on)
    throw ArgumentError(variable, std::string("'") + os::environment(variable) + "'",
                        "on, to measure the host's numbers");
  if (os::allowed_cpus().size() < 2)
    throw ResourceError("calibration: this process may use one CPU; two ranks need one each");
  const Shape cores = shape_on_host(2, "scatter");
  GroupOptions options;
  options.placement = std::to_string(cores[0].cpu) + "," + std::to_string(cores[1].cpu);
  options.tuning = "none";
  HostNumbers numbers;
  constexpr int attempts = 3;  // while something else disturbs them
  for (const int ranks : {2, 4, 8}) {
    ThreadGroup group(ranks, options);
    group.run([&](Communicator& comm) {
      for (int i = 0; i < attempts && (i == 0 || comm.shape().host().disturbed != 0); ++i)
        comm.calibrate(ranks == 2);
      if (comm.rank() == 0) numbers = comm.shape().host();
    });
  }
  return numbers;
}

}  // namespace phicoll
