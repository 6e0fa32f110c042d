#pragma once

// Kernels by name, without a port: their list, parsing, and what they need. A kernel is written
// `name:parameter=value:...`, for example `ping-pong:state=E:receive=S`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/kernels/kernel_run.hpp"

namespace phicoll {
namespace kernels {

struct KernelInfo {
  std::string name;
  std::string source;
  std::string summary;
  std::string sample;
  std::vector<ParameterInfo> parameters;
};

/// A kernel with all its parameters given values.
struct KernelSpec {
  std::string name;
  ParameterValues values;  ///< all parameters, in the order of description
  std::string text() const;
};

/// All kernels, in the registry's order.
const std::vector<KernelInfo>& kernel_infos();

/// Throws ArgumentError: an unknown name, a parameter that the kernel does not take, a value out of range.
KernelSpec parse_kernel(const std::string& text);

/// Whether a parameter of the spec asks for state F, which only some protocols have.
bool asks_for_forward(const KernelSpec& spec);

/// Throws ArgumentError("ranks") if the kernel cannot run with that many.
void check_kernel_ranks(const KernelSpec& spec, int ranks);
/// Bytes of shared memory that it takes.
std::size_t kernel_footprint(const KernelSpec& spec, int ranks);
/// The default location of its ranks: a placement, or a place (kernels/places.hpp).
std::string kernel_where(const KernelSpec& spec);
/// The divisor of a sample in ticks: the accesses in it, or the ways of its round trip.
int kernel_per_sample(const KernelSpec& spec, int ranks);
/// Bytes that one rank moves in a sample, as the kernel counts them; 0 where none are counted.
std::size_t kernel_bytes(const KernelSpec& spec);

/// The result of a kernel's run: raw samples, and what they mean.
struct KernelSamples {
  KernelSpec spec;
  std::vector<RankSamples> ranks;
  double ns_per_tick = 1;
  int per_sample = 1;
  std::size_t bytes = 0;

  /// The samples of a rank in nanoseconds, each divided by what is in it.
  std::vector<double> ns(int rank) const;
  /// Nanoseconds between two stamps with nothing between them, the median over the ranks that measured. Every
  /// sample includes this time, before it is divided.
  double empty_ns() const;
  std::uint64_t late() const;
  std::uint64_t wrong() const;
  /// GB/s of all ranks that measured, one value per sample: their bytes over the slowest one's time. Empty if
  /// no bytes are counted.
  std::vector<double> gigabytes_a_second() const;
};

}  // namespace kernels
}  // namespace phicoll
