#pragma once

// Where the ranks of a group are: which ranks share a CPU, a core, a cache or a memory node, and what lines
// cost between them. Every rank has the same Shape, so algorithms derive from it which rank signals which,
// without a message.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/line_costs.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct HostNumbers;  // host_numbers.hpp
struct Tuning;       // collectives/choosing/tuning_table.hpp

/// A CPU, which is a hardware context, and what it shares with others; SMT siblings share a `core`. Ids as
/// the machine numbers them; -1 where unknown.
struct CpuLocation {
  int cpu = -1;
  int core = -1;
  int l3 = -1;
  int numa = -1;
  int package = -1;
};

/// What ranks may share, the nearest first.
enum class Level : unsigned char { cpu, core, l3, numa, package };

/// Where the ranks of a group are, the same on every rank.
class Shape {
 public:
  Shape() = default;
  explicit Shape(std::vector<CpuLocation> places) : places_(std::move(places)) {}
  /// A shape of `ranks` ranks with no known place. `crowded`: there are more ranks than CPUs that they may
  /// use.
  static Shape unknown(int ranks, bool crowded = false) {
    Shape shape(std::vector<CpuLocation>(static_cast<std::size_t>(ranks)));
    shape.crowded_ = crowded;
    return shape;
  }

  int size() const { return static_cast<int>(places_.size()); }
  const CpuLocation& operator[](int rank) const {
    PHICOLL_ASSERT(ThisBuild, rank >= 0 && rank < size(), "the place of rank " + std::to_string(rank));
    return places_[static_cast<std::size_t>(rank)];
  }
  const std::vector<CpuLocation>& places() const { return places_; }

  /// Whether two ranks are known to run on one CPU.
  bool share_cpu(int a, int b) const { return (*this)[a].cpu >= 0 && (*this)[a].cpu == (*this)[b].cpu; }
  /// Each rank's group number at `level`; groups are numbered by their lowest rank. An unknown CPU or core is
  /// taken to be the rank's own; an unknown cache, node or package is taken to be common to all.
  std::vector<int> groups(Level level) const;
  /// Whether two ranks are known to share a CPU.
  bool oversubscribed() const;
  /// Whether some ranks must share a CPU, with the system deciding which.
  bool crowded() const { return crowded_; }
  /// Whether ranks share CPUs, as either says.
  bool sharing() const { return crowded_ || oversubscribed(); }

  /// What lines cost on the ranks' machine: those of the machine's model where it is known, otherwise the
  /// defaults. Algorithms designed by a model take their parameters from these costs. The same on every rank.
  const LineCosts& costs() const { return costs_; }
  void set_costs(const LineCosts& costs) { costs_ = costs; }

  /// How far apart the flags of a barrier or a broadcast lie, in bytes: whole lines, at most
  /// arch::stride_bytes. Less on machines that fetch no lines in pairs, such as the Xeon Phi.
  std::size_t stride() const { return stride_; }
  void set_stride(std::size_t bytes) {
    PHICOLL_ASSERT(ThisBuild, bytes % arch::line_bytes == 0 && bytes <= arch::stride_bytes,
                   "a stride of " + std::to_string(bytes) + " bytes");
    stride_ = bytes;
  }
  std::size_t whole_strides(std::size_t bytes) const { return (bytes + stride_ - 1) / stride_ * stride_; }

  /// The host's numbers, by which `auto` chooses where no table does. The same on every rank.
  const HostNumbers& host() const;
  void set_host(const HostNumbers& host);

  /// The tuning table that `auto` asks before its rules; null where there is none. The same on every rank.
  const std::shared_ptr<const Tuning>& tuning() const { return tuning_; }
  void set_tuning(std::shared_ptr<const Tuning> tuning) { tuning_ = std::move(tuning); }

 private:
  std::vector<CpuLocation> places_;
  LineCosts costs_;
  std::size_t stride_ = arch::flag_stride_bytes;
  std::shared_ptr<const HostNumbers> host_;  // null: the defaults
  std::shared_ptr<const Tuning> tuning_;
  bool crowded_ = false;
};

/// How ranks are laid out over the contexts of a machine. `compact` fills a core's contexts first. `scatter`
/// takes one core after another and then starts again. `balanced` spreads like scatter but keeps neighbouring
/// ranks on one core (paper 001, section 5.2). With more ranks than contexts, the assignment starts again
/// from the first context.
enum class Placement : unsigned char { compact, scatter, balanced };
/// Throws ArgumentError("placement").
Placement parse_placement(const std::string& text);
const char* to_string(Placement placement);

/// Places ranks over `contexts`, one CpuLocation for each context that may be used.
Shape place_ranks(int ranks, std::vector<CpuLocation> contexts, Placement placement);

/// The contexts of a machine like the Xeon Phi: `cores` cores with `contexts_per_core` contexts each, and one
/// memory node.
std::vector<CpuLocation> uniform_machine(int cores, int contexts_per_core);

}  // namespace phicoll
