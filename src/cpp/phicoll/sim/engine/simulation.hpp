#pragma once

// A simulated machine with ranks on it: one fiber per rank, one clock in cycles, one order of all events. The
// same machine, ranks and seed give the same result to the cycle on any host. Simulations share nothing, so
// threads can run several at once.
//
// A rank runs ahead of the clock only while nothing else can happen: before every operation it lets events
// earlier than its own time happen first, so each operation sees memory as it is at its time.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/memory/software.hpp"
#include "phicoll/os/fiber.hpp"
#include "phicoll/sim/engine/coherence.hpp"
#include "phicoll/sim/engine/counters.hpp"
#include "phicoll/sim/engine/local_stores.hpp"
#include "phicoll/sim/engine/log.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/waiting/awaited.hpp"

namespace phicoll {
namespace sim {

struct SimOptions {
  std::uint64_t seed = 1;  ///< places lines, skews starts, draws noise
  WaitPolicy wait;         ///< `adaptive` and `yield` mean pause(1): nothing else runs on a simulated core
  Cycles start_skew = 0;   ///< the ranks of a run start within this time of each other
  bool shuffle = false;    ///< the seed also chooses the order of events of one time
  bool check = false;      ///< every change of a line, or order of commands, is checked by the rules; slow
  bool elide = true;       ///< false: every look of a waiting rank is simulated, for comparison
  bool log = false;        ///< keep a Log
  std::size_t log_limit =
      SIZE_MAX;  ///< bytes of the log, above which a rank's next operation throws ResourceError
  int log_call = Log::every_call;  ///< of this call alone, by the number of its marks
  /// Memory from this byte on is *ghost*: its lines have states and take time, but its bytes do not move.
  std::size_t ghost_from = SIZE_MAX;
  /// Memory from this byte on is ranks' data: a word of an algorithm there is an AssertionFailed.
  std::size_t words_until = SIZE_MAX;
  /// Of a machine with local stores: in which rank's each 16 bytes of the memory lie. The rest, and what is
  /// nobody's, lies in main memory.
  std::vector<LocalStores::Home> homes;
  /// Once true, run() throws StoppedError.
  const std::atomic<bool>* stop = nullptr;
};

/// The simulation was told to stop.
class StoppedError : public Error {
 public:
  StoppedError() : Error("simulation: stopped") {}
};

/// No rank can go on. The text says which ranks wait for what.
class DeadlockError : public Error {
 public:
  using Error::Error;
};

enum class Update : unsigned char { exchange, compare_exchange, add, bit_or };
/// Whether what a rank did before is visible before the store: total store order makes no difference.
enum class Order : unsigned char { relaxed, release };

class SimPort;

class Simulation final : private CoherenceListener {
 public:
  /// The places of `shape` are contexts of the machine (Machine::places). The shared memory has `bytes`
  /// zeroed bytes, which are in no cache. Throws ArgumentError("ranks"): more ranks than contexts, two ranks
  /// on one context, a place that the machine does not have.
  Simulation(const Machine& machine, const Shape& shape, std::size_t bytes, const SimOptions& options = {});
  ~Simulation() override;

  unsigned char* memory() { return memory_; }
  const Machine& machine() const { return machine_; }
  const Shape& shape() const { return shape_; }
  Cycles now() const { return wheel_.now(); }

  /// Lets every rank call `body` once, starting at the present time. Returns when all have returned and
  /// nothing is under way, or when the log of one call has all that it keeps. Throws what a body throws, and
  /// DeadlockError if ranks wait for ever. After an error, or where the log ended it first, no run may
  /// follow: it throws Error.
  void run(const std::function<void(SimPort&)>& body);

  Counters counters() const;  ///< gathered from all parts of the machine
  /// Null unless asked for.
  Log* log() { return log_.get(); }
  /// Whether the log of one call has all that belongs to it.
  bool log_closed() { return log_ && (log_->closed() || (log_->complete() >= 0 && close_log())); }
  /// The line of an address in the shared memory. Throws Error outside.
  LineId line_of(const void* place) const {
    const auto at = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_);
    if (__builtin_expect(at >= bytes_, 0)) throw_outside();
    return static_cast<LineId>(at / arch::line_bytes);
  }
  LineState state(int core, LineId line) const { return coherence_.state(core, line); }
  int core_of(int rank) const { return contexts_[static_cast<std::size_t>(rank)].core; }
  int directory_of(LineId line) const { return coherence_.directory_of(line); }
  /// Sets the line at `place` up as if `cores` had just read it (shared, exclusive) or written it (modified),
  /// or as held by no core (invalid). Between runs only.
  void place(const void* place, LineState state, const std::vector<int>& cores);
  /// Puts a mark into the log. Takes no simulated time.
  void mark(int rank, MarkKind kind, int call);

  // For SimPort: the operations of a rank, called on its fiber.
  std::uint64_t load(int rank, const void* word, unsigned bytes);
  void load_bytes(int rank, const void* from, void* destination, std::size_t bytes);
  void store(int rank, void* place, const void* value, unsigned bytes, StorePolicy policy,
             Order order = Order::release);
  bool has_local_stores() const { return local_ != nullptr; }
  /// With local stores: releases the value to all the places by a list of transfers; and to a word, with
  /// bytes that lie behind it in its line.
  void store_list(int rank, const std::vector<unsigned char*>& places, const void* value, unsigned bytes);
  void store_entry(int rank, void* word, const void* value, unsigned width, unsigned char* to,
                   const unsigned char* from, std::size_t bytes);
  std::uint64_t update(int rank, void* word, unsigned bytes, Update how, std::uint64_t value,
                       std::uint64_t expected);
  std::uint64_t wait(int rank, const Awaited& awaited);
  /// `streaming`: whole lines are stored without reading them.
  void copy(int rank, void* destination, const void* source, std::size_t bytes,
            Stores stores = Stores::cached);
  void combine(int rank, const Operator& op, void* to, const void* left, const void* right,
               std::size_t count);
  /// Stores `bytes` line by line, as a program writes its data.
  void write(int rank, void* to, const void* from, std::size_t bytes);
  /// At most 8 bytes, at any alignment.
  std::uint64_t read_value(int rank, const void* from, std::size_t bytes);
  /// What the rank would read there now, its own stores included. Takes no simulated time and changes no
  /// line.
  void peek(int rank, const void* from, void* into, std::size_t bytes);
  /// Whether the range lies in the simulated memory, and whether words do in the part of it that is for them.
  bool holds(const void* from, std::size_t bytes) const {
    const std::size_t at = offset_in_memory(from);
    return at <= bytes_ && bytes <= bytes_ - at;
  }
  bool holds_words(const void* word) const {
    return offset_in_memory(word) < std::min(bytes_, options_.words_until);
  }
  /// Whether the rest of a word's line is zero: what a store of the whole line would destroy.
  bool is_alone(const void* word, std::size_t bytes) const;
  bool ghost(const void* place) const { return offset_in_memory(place) >= options_.ghost_from; }
  void prefetch(int rank, const void* line);
  void evict(int rank, const void* line);
  void fence(int rank);
  void pause(int rank);
  void software(int rank, Software what);
  /// Instructions that touch no memory of the simulation.
  void compute(int rank, int instructions);
  std::int64_t ticks(int rank);
  void wait_until(int rank, std::int64_t ticks);
  std::int64_t nanoseconds(int rank);

 private:
  std::size_t offset_in_memory(const void* place) const {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_);
  }
  static constexpr int full_weight = 256;  // of a context that issues all the time

  // A rank that waits for a word whose line its core holds is parked until the line is taken away or written
  // on its core, and continues at the moment of its next look. So waiting costs the host nothing while
  // nothing changes; the looks' instructions are still charged to the core's issue port.
  enum class Mode : unsigned char { running, blocked, parked, waking, finished };
  enum class Needs : unsigned char { nothing, line, buffer_space, buffer_empty };
  /// What a rank does at its next event without its fiber, which goes on afterwards. A wait looks many times;
  /// and what a rank does after a store is mostly a wait, so a store that is to come later leaves the fiber
  /// running until then.
  enum class Step : unsigned char {
    none,         ///< nothing
    store,        ///< the next of its stores, and the wait if it has begun one
    start,        ///< when the clock has come to its time
    look,         ///< with a look at the word
    second_look,  ///< the same, but after what else happens in this cycle (without elision)
    drain,        ///< with its own stores, until all are visible
    read,         ///< with the load
    compare,      ///< with the value, as the line is there
  };

  struct Store {
    LineId line;
    int operation;
    int transfer;
    std::uint8_t offset;
    std::uint8_t bytes;
    bool no_read : 1;
    bool asked : 1;
    bool came : 1;  // the line was the core's once since it was asked for
    unsigned char data[64];
  };

  /// Of the prefetcher.
  struct Stream {
    LineId last_miss = UINT32_MAX;
    LineId end = 0;  // lines below have been prefetched
    int length = 0;  // misses in a row on neighbouring lines
  };

  /// What happens at an event, and what siblings look at, lies in the first line.
  struct alignas(arch::line_bytes) Context {
    Cycles time = 0;
    Cycles next_look = 0;
    Cycles look_period = 0;
    os::Fiber fiber;
    std::int16_t rank = 0;
    std::int16_t core = 0;
    int place = 0;     // among its core's ranks
    LineId line = 0;   // that it needs, or is parked on
    int weight = 0;    // of its instructions on the issue port; 256 for one that runs
    int position = 0;  // among those served together
    Mode mode = Mode::finished;
    Needs needs = Needs::nothing;
    Request kind = Request::read;
    Step step = Step::none;

    std::vector<Store> stores;  // a ring, in program order from first_store
    std::size_t first_store = 0;
    std::size_t store_count = 0;
    Stream streams[2];  // the second is a reduction's right operand's

    std::int64_t vain_loads = 0;  // since anything changed
    std::int64_t changes = 0;
    const Awaited* awaited = nullptr;
    LineId awaited_line = 0;
    int operation = -1;  // under way, in the log
    int transfer = -1;   // that served it last

    /// The last line that came from elsewhere with a word, with local stores: each of its words can be loaded
    /// once without asking again, until the rank waits.
    LineId seen_line = 0;
    std::uint64_t seen_bytes = 0;  // which of it, a bit each
    unsigned char seen[arch::line_bytes];
  };

  /// What the contexts of a core share, and what is asked of all of them at an event: in one line of the
  /// host's caches.
  struct alignas(arch::line_bytes) Core {
    Cycles issue_busy = 0;
    int load = 0;                             // sum of the contexts' weights
    std::uint8_t ranks = 0;                   // how many
    std::uint8_t parked = 0;                  // which of them, a bit each
    std::uint8_t several_stores = 0;          // which have more than one store that is not visible
    LineId line[max_contexts_per_core] = {};  // that a parked rank looks at
    std::int16_t rank[max_contexts_per_core] = {};
    /// Which ranks are parked on the line. Without a branch: it is seldom foreseen.
    unsigned parked_on(LineId which) const {
      using Four = LineId __attribute__((vector_size(16)));
      Four lines[2];
      static_assert(sizeof lines == sizeof line, "two vectors");
      std::memcpy(lines, line, sizeof lines);
      const Four found =
          ((lines[0] == which) & Four{1, 2, 4, 8}) | ((lines[1] == which) & Four{16, 32, 64, 128});
      return (found[0] | found[1] | found[2] | found[3]) & parked;
    }
    /// Calls each(place) for the bits set in `places`, in the order of the ranks.
    template <class Each>
    static void each(unsigned places, Each each) {
      for (; places != 0; places &= places - 1) each(static_cast<std::size_t>(__builtin_ctz(places)));
    }
  };
  static_assert(sizeof(Core) == arch::line_bytes, "see above");
  static_assert(max_contexts_per_core <= 8, "a bit each");

  // CoherenceListener
  void fulfilled(int rank, LineId line, Request kind, int position, int transfer) override;
  void all_told() override {
    if (!ready_.empty()) run_ready();
  }
  void taken(int core, LineId line) override;
  void due(int rank) override { resume(context(rank)); }
  void carried_out(std::uint32_t command) override;

  Context& context(int rank) { return contexts_[static_cast<std::size_t>(rank)]; }
  Core& core(const Context& c) { return cores_[static_cast<std::size_t>(c.core)]; }
  const Core& core(const Context& c) const { return cores_[static_cast<std::size_t>(c.core)]; }
  void sync(Context& c);
  /// Waits until the kept store, if there is one, has happened. Every operation but wait() begins with it.
  void settle(Context& c) {
    if (c.step == Step::store) c.fiber.suspend();
  }
  bool reaches_its_time(Context& c);
  void suspend(Context& c, Mode mode, int weight);
  void rest(Context& c, Mode mode, int weight);
  void resume(Context& c);
  void wake_at(Context& c, Cycles time);
  void make_ready(Context& c);
  /// The share of the issue port that the context's instructions take. Siblings that look at lines in a loop
  /// look more or less often from now on; when they look next stays.
  void set_weight(Context& c, int weight) {
    Core& own = core(c);
    const int before = own.load;
    own.load += weight - c.weight;
    c.weight = weight;
    if ((std::max(before, own.load) > calm_load_) & (own.parked != 0)) change_looks(c);
  }
  void change_looks(const Context& c);
  /// How long the core's issue port needs for a context's instructions: no context issues more often than
  /// every `issue_interval` cycles, and the contexts that issue take turns.
  Cycles issue(const Context& c, int instructions) const {
    const int interval = std::max(machine_.p.issue_interval * full_weight, core(c).load);
    return static_cast<Cycles>(instructions) * interval / full_weight;
  }
  void spend(Context& c, int instructions, Cycles least) {
    c.time += std::max(least, issue(c, instructions));
    core(c).issue_busy += instructions;
  }
  void wake_parked(int core, LineId line);

  void read_part(Context& c, const void* from, void* destination, std::size_t bytes, int stream);
  void read_line(Context& c, LineId line, int stream);
  bool reads_at_once(Context& c, LineId line, int stream);
  void own_line(Context& c, LineId line);
  void train_prefetcher(Context& c, LineId line, bool missed, int which) {
    if (missed || c.streams[which].length > 0) prefetch_stream(c, line, missed, which);
  }
  void prefetch_stream(Context& c, LineId line, bool missed, int which);
  void push_store(Context& c, LineId line, unsigned offset, const void* value, unsigned bytes, bool no_read);
  void fill_store(Context& c, LineId line, unsigned offset, const void* value, unsigned bytes, bool no_read);
  void enter_store(Context& c);
  void make_store(Context& c);
  void pump_stores(Context& c);
  void ask_for_stores(Context& c);
  void note_several_stores(Context& c) {
    Core& own = core(c);
    const unsigned bit = 1U << c.place;
    own.several_stores =
        static_cast<std::uint8_t>(c.store_count > 1 ? own.several_stores | bit : own.several_stores & ~bit);
  }
  void commit(Context& c, const Store& store);
  void drain(Context& c);
  enum class Own : unsigned char { none, whole, part };
  Own own_store(Context& c, LineId line, unsigned offset, unsigned bytes, void* value);
  Store& store_at(Context& c, std::size_t i) {
    const std::size_t at = c.first_store + i;  // a division would take longer than the rest
    return c.stores.data()[at < store_places() ? at : at - store_places()];
  }
  std::size_t store_places() const { return static_cast<std::size_t>(machine_.p.store_buffer); }
  std::uint64_t image(const void* place, unsigned bytes) const;
  unsigned offset_of(const void* place) const {
    return static_cast<unsigned>(
        static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_) % arch::line_bytes);
  }
  Cycles look_period(const Context& c) const;
  Cycles period_under(int others) const;
  void pass_looks(Context& c);
  bool go_on(Context& c);
  void look_again(Context& c, LineId line);
  void park(Context& c);
  int weight_of_looks(const Context& c) const;
  bool stores_there(Context& c, LineId line, const Awaited& a);
  // With local stores (simulation_local.cpp).
  bool at_hand(const Context& c, LineId line) const {
    return __builtin_expect(local_ != nullptr, 0) ? local_->home(c.rank, c.awaited->place) == c.rank
                                                  : coherence_.readable(c.core, line);
  }
  bool looks_at_once(Context& c);
  int enqueue(Context& c, DmaCommand command);
  DmaCommand signal_to(const Context& c, unsigned char* place, const void* value, unsigned bytes,
                       int home) const;
  void finish_command(Context& c, int slot);
  void drop_overwritten(Context& c, const unsigned char* to, std::size_t bytes) const;
  void finish_commands(Context& c, const void* from, std::size_t bytes);
  std::size_t entry_of(const unsigned char* place, const unsigned char** first) const;
  void see(Context& c, const unsigned char* first, std::size_t bytes);
  void local_load(Context& c, const unsigned char* from, unsigned char* to, std::size_t bytes, bool word);
  void note_command(std::uint32_t event);
  void heard(const Context& c, const void* word, std::size_t bytes);
  void accessed(const Context& c, const void* place, std::size_t bytes, bool writes, bool word);
  void local_store(Context& c, unsigned char* place, const void* value, unsigned bytes, Order order,
                   bool bit_or);
  std::uint64_t local_update(Context& c, unsigned char* word, unsigned bytes, Update how, std::uint64_t value,
                             std::uint64_t expected);
  void local_copy(Context& c, unsigned char* to, const unsigned char* from, std::size_t bytes);
  void local_combine(Context& c, const Operator& op, unsigned char* to, const unsigned char* left,
                     const unsigned char* right, std::size_t count);
  void local_write(Context& c, unsigned char* to, const unsigned char* from, std::size_t bytes);
  void note_change();
  void count_vain(Context& c);
  void handle_events();
  void run_ready();
  void look_for_stop(std::uint64_t turn) const {
    constexpr std::uint64_t between = 4096;  // some hundred microseconds
    if (__builtin_expect(turn % between == 0, 0)) throw_if_stopped();
  }
  void throw_if_stopped() const;
  [[noreturn]] void throw_stuck(const char* what) const;
  [[noreturn]] void throw_outside() const;

  int begin_operation(Context& c, OperationKind kind, LineId line) {
    return __builtin_expect(log_ != nullptr, 0) ? log_begin(c, kind, line) : -1;
  }
  void end_operation(Context& c, int cause) {
    if (__builtin_expect(log_ != nullptr, 0)) log_end(c, cause);
  }
  int log_begin(Context& c, OperationKind kind, LineId line);
  void log_end(Context& c, int cause);
  void drain_as_fence(Context& c);
  int cause_of(const void* place, unsigned bytes, std::uint64_t mask) const {
    return __builtin_expect(log_ != nullptr, 0) ? logged_cause(place, bytes, mask) : Log::none;
  }
  int logged_cause(const void* place, unsigned bytes, std::uint64_t mask) const;
  bool close_log();

  Machine machine_;
  Shape shape_;
  SimOptions options_;
  unsigned char* memory_ = nullptr;
  std::size_t bytes_;
  bool mapped_ = false;  // memory_, which has ghost parts that are never touched
  EventWheel wheel_;
  Counters counters_;
  std::unique_ptr<Log> log_;
  Random random_;
  Coherence coherence_;
  std::unique_ptr<LocalStores> local_;  // the other memory system: with it, coherence_ has no lines
  Cycles pause_;
  AlignedVector<Context> contexts_;
  AlignedVector<Core> cores_;
  int calm_load_ = 0;  // up to this load of a core, contexts look as often as if they were alone
  std::vector<Cycles> next_interruption_;
  std::vector<int> ready_;
  std::function<void(SimPort&)> body_;  // a copy: fibers that are unwound late still have it on their stacks
  int unfinished_ = 0;
  std::uint64_t operations_ = 0;  // begun by ranks
  std::int64_t vain_pauses_ = 0;  // polite turns since a store became visible or a rank returned
  std::int64_t vain_sleeps_ = 0;  // and waits for a time
  std::int64_t changes_ = 0;      // how often that happened
  Cycles sleeping_until_ = 0;     // a rank waits for a time and goes on then, whatever the others do
};

}  // namespace sim
}  // namespace phicoll
