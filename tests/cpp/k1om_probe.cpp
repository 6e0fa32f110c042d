// What k1om_audit reads: every arch function for the card and every barrier on the native port, compiled with
// a host compiler that may not use SSE or MMX. Never run.

#include "phicoll/collectives/barrier/registry.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

template std::unique_ptr<AnyCollective<NativePort>> make_of<NativePort, Operation::barrier>(
    const AlgorithmSpec&, const Setup&);

std::uint64_t probe_arch(void* line, const void* source) {
  arch::store_line_plain(line, source);
  arch::store_line_no_read(line, source);
  arch::store_line_no_read_unordered(line, source);
  arch::order_no_read_stores();
  arch::full_fence();
  arch::pause();
  arch::evict_line(line);
  arch::prefetch_line(line);
  const std::uint64_t start = arch::cycles();
  arch::delay(1000);
  return arch::cycles() - start;
}

}  // namespace phicoll
