#pragma once

// A block of memory shared by processes, through which the coordinator of a run tells the ranks of one set
// what to do next and gets back what they saw. Between two steps every rank sleeps in the kernel, so a
// subject costs nothing while others are measured. The coordinator sleeps while a step runs.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/measure/stamp.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace measure {

enum class StepKind : std::uint32_t {
  verify,       ///< does the subject keep its operation's promise?
  loop,         ///< back-to-back calls
  window,       ///< calls from a common start time
  probe_alone,  ///< one rank: an L1 hit, the empty loop
  probe_far,    ///< two ranks on distinct CPUs: a read, a ping-pong; all others sleep
  probe_near,   ///< two ranks on one CPU: a switch; all others sleep
  probe_copy,   ///< all ranks: the bytes that `work` must move
  stop          ///< leave
};

/// The largest random delay of a rank before a call of a window, or of verification.
constexpr double usual_jitter_ns = 1000;

/// What all ranks of the set do next. Plain data; times in ns.
struct Step {
  StepKind kind;
  Work work;                  ///< what the subject is called with
  char algorithm[448];        ///< the subject's text
  std::uint64_t place;        ///< byte offset in the group's region
  std::uint64_t calls;        ///< timed calls; verify: calls at most
  std::uint64_t warmups;      ///< untimed calls first; verify: calls that no cap cuts
  std::uint64_t seed;         ///< of the delays
  double delay_ns;            ///< loop: between barriers
  double imbalance_ns;        ///< loop: largest additional random delay of a rank
  double slack_ns;            ///< window: from the announcement to the start
  double jitter_ns;           ///< window: largest random delay after the start; verify: before a call
  std::uint64_t evict_bytes;  ///< window: bytes of the subject's memory to evict before each call
  double cap_ns;              ///< window, verify: stop after the call in which this time has passed
  std::int32_t pair[2];       ///< probe: the ranks that take part
};

/// Names the subject of a step. Throws ArgumentError("algorithm") for a text that is too long.
void set_algorithm(Step& step, const std::string& text);

/// What one rank saw in one step. `ticks` stamps follow in the rank's area.
struct alignas(arch::stride_bytes) RankReport {
  std::uint64_t calls;        ///< calls really made
  std::uint64_t ticks;        ///< loop: from the first to the last, delays included
  std::uint64_t ideal_ticks;  ///< loop: time of the delays (the slowest rank's in each call) and writes alone
  std::uint64_t start;        ///< loop of writes and calls: the stamp at which `ticks` began; otherwise 0
  std::uint64_t ideal_start;  ///< the same for `ideal_ticks`
  std::uint64_t late;         ///< window: calls whose start had passed when the rank looked
  std::uint64_t store_ticks;  ///< loop of a bare loop with stamps: in copies into rings
  std::uint64_t load_ticks;   ///< and out of them
  double call_ns;             ///< verify: the rough time of a call
  double write_ns;            ///< verify: the time of the write before a call
  double local_ns, read_ns, pingpong_ns, switch_ns, empty_ns;  ///< probe; negative: not measured by this rank
  std::int32_t cpu;                                            ///< where the rank ran at the end of the step
  std::int32_t failed;    ///< 1, with `error`, if the step and with it the rank failed
  std::int32_t violated;  ///< 1, with `error`, if the subject broke its promise
  char error[244];
  char note[256];  ///< verify: what the rank's program wants recorded (a library's path)
};

class StepBoard {
 public:
  /// Creates a board, as the coordinator does, for `ranks` ranks and steps that stamp at most `most_calls`
  /// calls. `config` is a text for the ranks to read. Throws ResourceError.
  static StepBoard create(int ranks, std::size_t most_calls, const StampClock& clock,
                          const std::string& config);
  /// Joins the board, as a rank's process does, by the inherited descriptor.
  static StepBoard join(int descriptor);

  int descriptor() const { return memory_.descriptor(); }
  int ranks() const { return layout_.ranks; }
  std::size_t most_calls() const { return static_cast<std::size_t>(layout_.most_calls); }
  const StampClock& clock() const;
  std::string config() const;

  // The coordinator's side.
  /// Hands the ranks a step and wakes them.
  void post(const Step& step);
  /// Sleeps until all ranks have done the step or `timeout_ns` have passed. Returns whether they have.
  bool wait_done(std::int64_t timeout_ns);

  // A rank's side.
  /// Sleeps until there is a step that this rank has not seen. `seen` is the number of the last step that it
  /// has, 0 at first.
  const Step& next(std::uint32_t* seen);
  void done();
  RankReport& report(int rank);
  /// Stamps of a rank's entries and exits, one per call.
  std::uint64_t* entries(int rank);
  std::uint64_t* exits(int rank);

  // Between ranks while a step runs.
  /// Starts of windows, one per call: 0 until rank 0 announces it, 1 for "no more".
  std::atomic<std::uint64_t>* starts();
  /// A rank's counter, a stride from the next: calls of a verification, windows, meetings, or phases of a
  /// probe.
  std::atomic<std::uint64_t>& counter(int rank);
  /// The number of a verification's last call, 0 until rank 0 knows it.
  std::atomic<std::uint64_t>& last_call();

 private:
  struct Header;
  StepBoard(os::SharedMemory memory, bool fresh, int ranks, std::size_t most_calls, const StampClock* clock,
            const std::string* config);
  Header& header() const { return *static_cast<Header*>(memory_.data()); }
  unsigned char* at(std::size_t offset) const { return static_cast<unsigned char*>(memory_.data()) + offset; }

  /// Where the block holds what. Each process has a copy of its own, since a rank may overwrite the block.
  struct Layout {
    std::int32_t ranks;
    std::uint64_t most_calls;
    std::uint64_t config_bytes;
    std::uint64_t config, reports, counters, starts, stamps, total;  ///< offsets in the block
  };

  os::SharedMemory memory_;
  Layout layout_;
};

}  // namespace measure
}  // namespace phicoll
