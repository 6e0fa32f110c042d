#include "phicoll/measure/step_board.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "phicoll/errors.hpp"
#include "phicoll/os/futex.hpp"

namespace phicoll {
namespace measure {

struct StepBoard::Header {
  // The word on which the ranks sleep, the one on which the coordinator sleeps, and the step have lines of
  // their own, so that a rank that reports does not disturb one that still measures.
  alignas(arch::stride_bytes) std::atomic<std::uint32_t> sequence;
  alignas(arch::stride_bytes) std::atomic<std::uint32_t> done;
  alignas(
      arch::stride_bytes) std::atomic<std::uint32_t> finished;  ///< the last step that all ranks have done
  alignas(arch::stride_bytes) std::atomic<std::uint64_t> last_call;
  alignas(arch::stride_bytes) Step step;
  alignas(arch::stride_bytes) Layout layout;
  StampClock clock;
};

void set_algorithm(Step& step, const std::string& text) {
  if (text.size() >= sizeof step.algorithm)
    throw ArgumentError("algorithm",
                        "'" + text.substr(0, 40) + "...' of " + std::to_string(text.size()) + " characters",
                        "at most " + std::to_string(sizeof step.algorithm - 1));
  std::memcpy(step.algorithm, text.c_str(), text.size() + 1);
}

StepBoard::StepBoard(os::SharedMemory memory, bool fresh, int ranks, std::size_t most_calls,
                     const StampClock* clock, const std::string* config)
    : memory_(std::move(memory)) {
  if (!fresh) {
    layout_ = header().layout;
    return;
  }
  const auto size = static_cast<std::size_t>(ranks);
  Header* h = ::new (memory_.data()) Header();
  h->clock = *clock;
  layout_.ranks = ranks;
  layout_.most_calls = most_calls;
  layout_.config_bytes = config->size();
  layout_.config = arch::whole_strides(sizeof(Header));
  layout_.reports = arch::whole_strides(layout_.config + config->size());
  layout_.counters = layout_.reports + size * sizeof(RankReport);
  layout_.starts = layout_.counters + size * arch::stride_bytes;
  layout_.stamps = arch::whole_strides(layout_.starts + most_calls * sizeof(std::uint64_t));
  layout_.total = layout_.stamps + size * 2 * arch::whole_strides(most_calls * sizeof(std::uint64_t));
  h->layout = layout_;
  std::memcpy(at(layout_.config), config->data(), config->size());
}

StepBoard StepBoard::create(int ranks, std::size_t most_calls, const StampClock& clock,
                            const std::string& config) {
  const auto size = static_cast<std::size_t>(ranks);
  const std::size_t bytes = arch::whole_strides(sizeof(Header)) + arch::whole_strides(config.size()) +
                            size * (sizeof(RankReport) + arch::stride_bytes) +
                            (2 * size + 1) * arch::whole_strides(most_calls * sizeof(std::uint64_t)) + 4096;
  return StepBoard(os::SharedMemory::create("phicoll-steps", bytes), true, ranks, most_calls, &clock,
                   &config);
}

StepBoard StepBoard::join(int descriptor) {
  return StepBoard(os::SharedMemory::from_descriptor(descriptor, 0), false, 0, 0, nullptr, nullptr);
}

const StampClock& StepBoard::clock() const {
  return header().clock;
}
std::string StepBoard::config() const {
  return std::string(reinterpret_cast<const char*>(at(layout_.config)), layout_.config_bytes);
}

void StepBoard::post(const Step& step) {
  Header& h = header();
  h.step = step;
  h.done.store(0, std::memory_order_relaxed);
  h.last_call.store(0, std::memory_order_relaxed);
  if (step.kind == StepKind::window)
    for (std::size_t i = 0; i < layout_.most_calls && i <= step.calls; ++i)
      starts()[i].store(0, std::memory_order_relaxed);
  for (int r = 0; r < layout_.ranks; ++r) counter(r).store(0, std::memory_order_relaxed);
  // Release: a rank that sees the new number also sees the step and everything cleared for it.
  h.sequence.fetch_add(1, std::memory_order_release);
  os::futex_wake(&h.sequence, INT_MAX, true);
}

bool StepBoard::wait_done(std::int64_t timeout_ns) {
  Header& h = header();
  const std::uint32_t wanted = h.sequence.load(std::memory_order_relaxed);
  const std::uint32_t seen = h.finished.load(std::memory_order_acquire);
  if (seen == wanted) return true;
  os::futex_wait(&h.finished, seen, timeout_ns, true);
  return h.finished.load(std::memory_order_acquire) == wanted;
}

const Step& StepBoard::next(std::uint32_t* seen) {
  Header& h = header();
  std::uint32_t now = h.sequence.load(std::memory_order_acquire);
  while (now == *seen) {
    os::futex_wait(&h.sequence, now, -1, true);
    now = h.sequence.load(std::memory_order_acquire);
  }
  *seen = now;
  // This acquire makes what every rank did in the previous step visible to this one: `finished` was stored
  // (release) after every rank's `done`, and the coordinator, another process, posts only after that.
  static_cast<void>(h.finished.load(std::memory_order_acquire));
  return h.step;
}

void StepBoard::done() {
  Header& h = header();
  // acq_rel: the store of `finished` by the last rank also publishes what all other ranks have written.
  const std::uint32_t before = h.done.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 != static_cast<std::uint32_t>(layout_.ranks)) return;
  h.finished.store(h.sequence.load(std::memory_order_relaxed), std::memory_order_release);
  os::futex_wake(&h.finished, 1, true);
}

RankReport& StepBoard::report(int rank) {
  return reinterpret_cast<RankReport*>(at(layout_.reports))[rank];
}

std::uint64_t* StepBoard::entries(int rank) {
  const std::size_t area = arch::whole_strides(layout_.most_calls * sizeof(std::uint64_t));
  return reinterpret_cast<std::uint64_t*>(at(layout_.stamps + 2 * static_cast<std::size_t>(rank) * area));
}

std::uint64_t* StepBoard::exits(int rank) {
  const std::size_t area = arch::whole_strides(layout_.most_calls * sizeof(std::uint64_t));
  return reinterpret_cast<std::uint64_t*>(
      at(layout_.stamps + (2 * static_cast<std::size_t>(rank) + 1) * area));
}

std::atomic<std::uint64_t>* StepBoard::starts() {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(at(layout_.starts));
}

std::atomic<std::uint64_t>& StepBoard::counter(int rank) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(
      at(layout_.counters + static_cast<std::size_t>(rank) * arch::stride_bytes));
}

std::atomic<std::uint64_t>& StepBoard::last_call() {
  return header().last_call;
}

}  // namespace measure
}  // namespace phicoll
