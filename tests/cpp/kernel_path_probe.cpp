// The read-latency kernel on NativePort as the compiler makes it: test_kernel_path.py reads the disassembly
// of this unit.
#include "phicoll/kernels/read_latency.hpp"
#include "phicoll/ports/native_port.hpp"

extern "C" void phicoll_read_path(phicoll::NativePort& port,
                                  const phicoll::kernels::ReadLatency::Parameters& parameters,
                                  const phicoll::kernels::KernelRun& run,
                                  phicoll::kernels::RankSamples& samples) {
  phicoll::kernels::ReadLatency::run(port, parameters, run, samples);
}
