#include "phicoll/group/number_trials.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

namespace {

constexpr std::size_t kilobyte = 1 << 10;
// The places for rings and buffers, and the distance in the region from one to the next; the few extra pages
// change the order of the rings' pages.
constexpr std::size_t ring_places = 3;
constexpr std::size_t elsewhere_bytes = 9 * 256 * kilobyte + 3 * 4 * kilobyte;
static_assert((std::size_t{16} << 20) + (ring_places - 1) * elsewhere_bytes + (1 << 20) <= calibrating_memory,
              "room for the largest algorithm in the farthest place, and for small ones");
// Bytes that a round moves: small messages make more calls.
constexpr std::size_t round_bytes = 512 * kilobyte;
// A ring's pages are touched, and its lines have left the caches, once it has turned.
constexpr std::size_t warming_bytes = 2048 * kilobyte;
// Ranks with a CPU each look before and after each round how long a barrier takes. It is alike, within this
// percentage, as long as they stay near or far. Between near and far there are factors of 3 to 5.
constexpr std::int64_t alike_percent = 160;
constexpr int barriers_a_look = 16;
// Calls to warm up, before ranks look whether they are disturbed.
constexpr int calls_a_turn = 4;
// Ranks that share CPUs make fewer calls, which take long on a busy machine.
constexpr std::size_t calls_alone = 64, calls_sharing = 8;
// Time that the system's own work may take without counting as a disturbance.
constexpr std::int64_t lost_most_ns = 1000 * 1000;

int calls_of(std::size_t all, std::size_t bytes, std::size_t most) {
  return static_cast<int>(std::max<std::size_t>(2, std::min(most, all / bytes)));
}

}  // namespace

std::string Trial::name() const {
  std::string text = std::string(to_string(operation)) + " " + spec.text();
  for (std::int64_t HostNumbers::*const way : copy_numbers) text += " " + std::to_string(numbers.*way);
  return text;
}

std::int64_t median(Times times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::int64_t thousandths(std::int64_t ns, std::int64_t of_ns) {
  return 1000 * ns / std::max<std::int64_t>(1, of_ns);
}

std::atomic<int>& disturbed_percent() {
  static std::atomic<int> percent(10);
  return percent;
}

constexpr std::size_t NumberTrials::first_rounds;
constexpr std::size_t NumberTrials::all_rounds;

NumberTrials::NumberTrials(Communicator& ranks, bool alone, std::int64_t most_ns)
    : ranks_(ranks),
      alone_(alone),
      began_ns_(os::now_ns()),
      most_ns_(most_ns),
      sum_(find_operator(Type::int32, Op::sum)),
      most_(find_operator(Type::int64, Op::max)) {}

std::int64_t NumberTrials::since_ns() const {
  return os::now_ns() - began_ns_;
}

/// The largest of all ranks' values.
std::int64_t NumberTrials::agreed(std::int64_t value) {
  ranks_.allreduce(nullptr, &value, 1, most_);
  return value;
}

std::int64_t NumberTrials::line_percent(const Trial& look, std::size_t bytes) {
  turns(look, bytes, 32);
  return agreed(static_cast<std::int64_t>(ranks_.hand_over().percent()));
}

std::int64_t NumberTrials::barrier_ns() {
  ranks_.barrier();
  const std::int64_t start = os::now_ns();
  for (int i = 0; i < barriers_a_look; ++i) ranks_.barrier();
  return std::max<std::int64_t>(1, agreed(os::now_ns() - start));
}

/// Whether the CPUs are as near or far as at the beginning. If not, measuring ends: they would be others each
/// time.
bool NumberTrials::stayed() {
  if (!alone_ || disturbed() || disturbed_percent() >= 100) return true;  // 100: never disturbed
  for (int i = 0; i < 3; ++i) {                                           // an interrupt looks like a move
    const std::int64_t now = barrier_ns();
    if (100 * now <= alike_percent * barrier_ns_ && 100 * barrier_ns_ <= alike_percent * now) return true;
  }
  moved_ = true;
  return false;
}

bool NumberTrials::disturbed() const {
  return moved_ || (lost_ns_ > lost_most_ns && 100 * lost_ns_ > disturbed_percent() * passed_ns_);
}

bool NumberTrials::faster(const Times& way, const Times& other) const {
  const std::size_t rounds = std::min(way.size(), other.size());
  std::size_t misses = 0;
  for (std::size_t r = 0; r < rounds; ++r)
    if (thousandths(other[r], way[r]) < 1000 + clear_gain()) ++misses;
  return misses <= rounds / 8;
}

std::vector<Times> NumberTrials::compare(const std::vector<Trial>& trials, std::size_t bytes, std::size_t now,
                                         std::size_t rounds) {
  std::vector<Times> times(trials.size());
  std::vector<std::size_t> taking_part;
  for (std::size_t i = 0; i < trials.size(); ++i) taking_part.push_back(i);
  const int calls = calls_of(round_bytes, bytes, alone_ ? calls_alone : calls_sharing);
  for (std::size_t round = 0; round < rounds; ++round) {
    if (round == first_rounds) {
      taking_part = {now};
      for (std::size_t i = 0; i < times.size(); ++i)
        if (faster(times[i], times[now])) taking_part.push_back(i);
      if (taking_part.size() == 1) break;
      move_elsewhere();
    }
    if (round % first_rounds == 0)
      for (const std::size_t i : taking_part) {
        if (over()) return {};
        warm(trials[i], bytes);
      }
    if (over()) return {};
    std::reverse(taking_part.begin(), taking_part.end());  // each way leaves the caches to the next one
    const std::int64_t writes = time(nullptr, bytes, calls);
    for (const std::size_t i : taking_part) {
      ranks_.hand_over().set_host(trials[i].numbers);
      times[i].push_back(std::max<std::int64_t>(1, time(&trials[i], bytes, calls) - writes));
    }
    if (!stayed()) return {};
  }
  return times;
}

void NumberTrials::move_elsewhere() {
  ranks_.collectives().release();
  warmed_.clear();
  Region& region = ranks_.free_region();
  if (spacer_.bytes != 0) region.give_back(spacer_);
  place_ = (place_ + 1) % ring_places;
  spacer_ = place_ == 0 ? Region::Block{0, 0, false} : region.take(place_ * elsewhere_bytes);
  for (AlignedVector<unsigned char>* buffer : {&send_, &receive_})
    *buffer = AlignedVector<unsigned char>(buffer->size());  // made while the present one exists
}

bool NumberTrials::reach(std::size_t bytes) {
  if (reached_ != nullptr) ranks_.release(reached_);
  reached_ = nullptr;
  if (bytes == 0) return true;
  try {
    reached_ = static_cast<unsigned char*>(ranks_.allocate(bytes));
  } catch (const ResourceError&) {
    // The rest of the heap is in use.
  }
  return agreed(reached_ == nullptr ? 1 : 0) == 0 || !reach(0);
}

/// Makes the algorithm at its first use, and turns its ring. Ranks that share CPUs do so, too: of two ways
/// that are as fast, the one with the shorter ring would seem faster.
void NumberTrials::warm(const Trial& trial, std::size_t bytes) {
  const std::string key = to_string(trial.operation) + trial.spec.text();
  const bool first = std::find(warmed_.begin(), warmed_.end(), key) == warmed_.end();
  if (first) {
    warmed_.push_back(key);
    // Not timed: ranks may sleep until all have made it, which does not count as disturbance.
    repeat(&trial, bytes, 1);
  }
  turns(trial, bytes, first ? calls_of(warming_bytes, bytes, 512) : 2);
}

/// Few calls at a time: on a busy machine each may wait for the scheduler.
void NumberTrials::turns(const Trial& trial, std::size_t bytes, int calls) {
  for (int done = 0; done < calls && !disturbed(); done += calls_a_turn)
    time(&trial, bytes, std::min(calls_a_turn, calls - done));
}

/// The time of such calls, or of writing what they send if there is no trial.
std::int64_t NumberTrials::time(const Trial* trial, std::size_t bytes, int calls) {
  ranks_.barrier();
  const std::int64_t cpu = os::thread_cpu_ns(), start = os::now_ns();
  repeat(trial, bytes, calls);
  const std::int64_t took = os::now_ns() - start;
  std::int64_t both[] = {took, took - (os::thread_cpu_ns() - cpu)};
  ranks_.allreduce(nullptr, both, 2, most_);
  passed_ns_ += both[0];
  if (alone_) lost_ns_ += both[1];  // ranks that share CPUs are without one most of the time
  return both[0];
}

void NumberTrials::repeat(const Trial* trial, std::size_t bytes, int calls) {
  const Part sends = trial != nullptr ? row_of(trial->operation).sends : Part::block;
  const bool rooted = sends == Part::root_block || sends == Part::root_blocks;
  const std::size_t written = static_cast<std::size_t>(blocks_of_part(sends, true, ranks_.size())) * bytes;
  const std::size_t received = static_cast<std::size_t>(ranks_.size()) * bytes;
  if (send_.size() < written) send_.resize(written);
  if (receive_.size() < received) receive_.resize(received);
  unsigned char* const send = reached_ != nullptr ? reached_ : send_.data();
  for (int i = 0; i < calls; ++i) {
    // Only the root writes for a broadcast or a scatter, and runs ahead.
    if (!rooted || ranks_.rank() == 0) std::memset(send, i + 1, written);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler may not find that nobody reads it
    if (trial == nullptr) continue;
    const bool message = row_of(trial->operation).receives == Part::others_block;
    Request request;
    request.operation = trial->operation;
    request.send = send;
    request.receive = message && ranks_.rank() == 0 ? send : receive_.data();
    request.count = reduces(trial->operation) ? bytes / sum_.element_bytes : bytes;
    request.op = &sum_;
    request.algorithm = &trial->spec;
    ranks_.call(request);
  }
}

}  // namespace phicoll
