#pragma once

// How lines travel in a simulated machine: private caches, distributed tag directories, memory, and the ring
// between them. Values are not here: the simulation has one image of memory, changed when the storing core
// owns the line, so no fault of the protocol can silently give an algorithm a wrong value.
//
// A read miss asks the line's directory, which asks a cache that has the line. That cache sends the data to
// the requester and an acknowledgement to the directory, which gives the go-ahead (ramos-hoefler-2013 section
// 1.2.1). docs/simulator.md has all transactions and their costs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/engine/core_tags.hpp"
#include "phicoll/sim/engine/counters.hpp"
#include "phicoll/sim/engine/event_wheel.hpp"
#include "phicoll/sim/engine/log.hpp"
#include "phicoll/sim/engine/ring.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace sim {

/// A set of cores.
struct CoreSet {
  std::uint64_t bits[max_cores / 64] = {};
  bool has(int core) const { return (bits[core / 64] >> (core % 64) & 1) != 0; }
  void add(int core) { bits[core / 64] |= std::uint64_t{1} << core % 64; }
  void remove(int core) { bits[core / 64] &= ~(std::uint64_t{1} << core % 64); }
  bool empty() const { return (bits[0] | bits[1] | bits[2] | bits[3]) == 0; }
  int lowest() const { return lowest_but(-1); }  ///< -1 for none
  int lowest_but(int core) const;                ///< other than `core`
  template <class Each>
  void each(Each each) const {
    for (int word = 0; word < max_cores / 64; ++word)
      for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
        each(word * 64 + __builtin_ctzll(rest));
  }
};

/// Gets told what happens to lines.
class CoherenceListener {
 public:
  virtual ~CoherenceListener() = default;
  /// The request that `rank` waited for is fulfilled: its core has the line, unless it was taken away at
  /// once. `position` is how many ranks of the request were told before.
  virtual void fulfilled(int rank, LineId line, Request kind, int position, int transfer) = 0;
  /// All ranks of the request have been told.
  virtual void all_told() = 0;
  /// The core does not have the line any more.
  virtual void taken(int core, LineId line) = 0;
  /// The time has come at which the rank goes on.
  virtual void due(int rank) = 0;
  /// A command between local stores has been carried out.
  virtual void carried_out(std::uint32_t command) = 0;
};

// While a directory waits for an answer the line is busy: further requests for it queue in order of arrival.
// A write (a request for ownership) invalidates the other copies first.
//
// Invariant, which the tests check after every event: a line is held either exclusively or modified by one
// core, or shared by any number. A cache gives a line up when it takes up the invalidation, and a new owner
// has it only after all acknowledgements, so holders never overlap. A core that has asked to drop a line
// counts as not having it.
class Coherence {
 public:
  Coherence(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
            CoherenceListener& listener, Counters& counters);

  /// Makes `count` lines, which are in memory alone, before any request. The seed gives them their
  /// directories and channels.
  void add_lines(std::size_t count);
  std::size_t lines() const { return lines_.size(); }
  int directory_of(LineId line) const { return lines_[line].home; }
  void write_log(Log* log) {
    log_ = log;
    watching_ = true;
  }
  /// From now on every change of a line is checked at once.
  void check_always() { watching_ = checking_ = true; }

  LineState state(int core, LineId line) const {
    return static_cast<LineState>(states_[state_index(core, line)] & state_mask);
  }
  bool readable(int core, LineId line) const {
    const LineState s = state(core, line);
    return s != LineState::invalid && s != LineState::leaving;
  }
  bool writable(int core, LineId line) const {
    const LineState s = state(core, line);
    return s == LineState::exclusive || s == LineState::modified;
  }
  /// A write hit of a line that is writable: it is modified from now on.
  void modify(int core, LineId line) {
    if (capacity_matters_) hold_in_l1(core, line);
    if (state(core, line) != LineState::exclusive) return;
    set_state(core, line, LineState::modified);
    lines_[line].dirty = true;  // the owner would say so when it answers
  }
  /// What a read of a readable line costs.
  Cycles hit(int core, LineId line) {
    if (!capacity_matters_ || hold_in_l1(core, line)) {
      ++counters_.l1_hits;
      return p_.l1_hit;
    }
    ++counters_.l2_hits;
    return p_.l2_hit;
  }

  /// Makes a request of `rank` on `core`; fulfilled() tells when it has been served. A prefetch by rank -1
  /// tells no rank. Joins a request of the core for the same line if the machine merges them.
  void request(Request kind, int core, int rank, LineId line);
  /// Whether the core has asked for the line and not got it yet.
  bool asked(int core, LineId line) const { return states_[state_index(core, line)] >= one_asked; }
  /// Puts what the service centres have counted into `counters`.
  void count_services(Counters& counters) const;
  /// How many requests the core has under way.
  int outstanding(int core) const { return cores_[static_cast<std::size_t>(core)].outstanding; }

  /// Of any kind; a rank that is due is handed to the listener.
  void handle(EventKind kind, std::uint32_t t, int core);

  /// Throws Error with the line and the cores if two cores hold what only one may hold.
  void check(LineId line) const;
  /// Throws Error unless all has come to rest: nothing is busy or under way, all lines are sound, and the
  /// directories know exactly which core has what.
  void check_at_rest() const;
  /// With a log: whether a request that was made at `time` or before is still under way.
  bool has_asked_before(Cycles time) const;
  /// Sets a line up as if `cores` had read or written it, in a machine that is at rest. Throws ArgumentError
  /// for a core that the machine does not have, and for several that are to have the line alone.
  void place(LineId line, LineState state, const std::vector<int>& cores);

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr unsigned state_mask = 7, one_asked = 8;
  static_assert(2 * max_contexts_per_core < 256 / one_asked, "as many transactions are counted in states_");

  // A Line, a Transaction and a Core fill one line of the host's caches each. There are more of them than a
  // first-level cache holds, and misses there cost.
  struct alignas(arch::line_bytes) Line {
    CoreSet sharers;  // as the directory knows them: cores that have the line, the owner among them
    std::uint32_t waiting = none;  // requests in the order of their arrival
    std::uint32_t last = none;
    std::uint32_t deferred = none;  // reads that found the line being fetched from memory
    std::int16_t owner = -1;        // the core that answers
    std::uint16_t home = 0;
    std::uint16_t channel = 0;
    std::uint16_t fetching = 0;  // reads from memory that are not acknowledged
    std::int8_t package = -1;    // whose memory holds it: of the core that touched it first
    bool busy = false;
    bool owned = false;  // its only holder got it exclusively or to write it, and no other has read it since
    bool dirty : 1;      // memory has an older value
    bool joining : 1;    // deferred reads are being fetched
    bool alone : 1;      // a fetch gave the line exclusively
    bool homed : 1;
    Cycles memory_free = 0;

    Line() : dirty(false), joining(false), alone(false), homed(false) {}
  };
  static_assert(sizeof(Line) == arch::line_bytes, "see above");

  struct alignas(arch::line_bytes) Transaction {
    LineId line;
    std::uint32_t next;  // in the line's queue
    std::int16_t core;
    std::int16_t responder;
    Request kind;
    Source source;
    bool ordered : 1;  // the directory has counted the requester among the line's holders
    bool dropped : 1;  // the line was taken away before it came
    bool upgrade : 1;  // a write of a sharer: no data needed
    bool filled : 1;
    bool held_back : 1;     // not sent, as the core's window is full, or the line is leaving
    std::uint8_t ranks;     // contexts that wait
    std::uint16_t pending;  // caches that have not answered
    std::uint16_t invalidated;
    std::int16_t rank[max_contexts_per_core];
    Cycles data;
    Cycles go;   // when the requester may go on; before that, of a write, the latest acknowledgement so far
    Cycles due;  // when it will be filled, once that is known
  };
  static_assert(sizeof(Transaction) == arch::line_bytes, "see above");

  /// A service centre: takes up one request after another.
  struct Server {
    Cycles free = 0;
    ServiceCount count;
    /// The time at which it takes up a request that reaches it at `from`.
    Cycles serve(Cycles from, Cycles service) {
      const Cycles start = std::max(from, free);
      free = start + service;
      ++count.served;
      count.busy += service;
      count.queued += start - from;
      return start;
    }
  };

  /// A transaction under way at a core, found by its line.
  struct UnderWay {
    LineId line;
    std::uint32_t t;
  };

  struct alignas(arch::line_bytes) Core {
    Server cache;                     // its second-level cache, answering directories
    std::vector<UnderWay> under_way;  // oldest first
    std::int32_t outstanding = 0;     // how many of them have been sent
    std::int32_t held_back = 0;       // how many have not
  };
  static_assert(sizeof(Core) == arch::line_bytes, "see above");

  /// Facts of a transaction for the log alone.
  struct Steps {
    int record = -1;
    int ahead = 0;
    Cycles issued = -1, sent = -1, arrived = -1, taken_up = -1, begun = -1, resumed = -1, freed = -1;
    Cycles directed = -1, asked = -1, answered = -1,
           replied = -1;  // of the cache whose acknowledgement is last
    Cycles data_directed = -1, data_asked = -1, data_answered = -1;  // of the one that sent the data
    Cycles last_acknowledgement = -1;
  };

  std::size_t state_index(int core, LineId line) const {
    return (std::size_t{line} << state_shift_) + static_cast<std::size_t>(core);
  }
  void set_state(int core, LineId line, LineState to) {
    std::uint8_t& state = states_[state_index(core, line)];
    const auto from = static_cast<LineState>(state & state_mask);
    state = static_cast<std::uint8_t>((state & ~state_mask) | static_cast<unsigned>(to));
    if (__builtin_expect(watching_, 0)) watch_state(core, line, from, to);
  }
  void watch_state(int core, LineId line, LineState from, LineState to);
  Transaction& at(std::uint32_t t) { return transactions_[t]; }
  Core& core(int number) { return cores_[static_cast<std::size_t>(number)]; }
  const Core& core(int number) const { return cores_[static_cast<std::size_t>(number)]; }
  // The inline ones are called only in coherence.cpp, which defines them.
  inline std::uint32_t make(Request kind, int core, int rank, LineId line);
  inline void launch(std::uint32_t t);
  inline void leave_core(std::uint32_t t);
  void count_asked(int core, LineId line, unsigned more) {
    std::uint8_t& state = states_[state_index(core, line)];
    state = static_cast<std::uint8_t>(state + more);
  }
  void launch_held_back(Core& own);
  /// Notes a use of the line, which is in the first-level cache from now on. Returns whether it was there.
  bool hold_in_l1(int core, LineId line) {
    const auto c = static_cast<std::size_t>(core);
    if (l1_[c].hold(line)) return true;
    if (l2_matters_) l2_[c].touch(line);
    return false;
  }
  inline void fetch(std::uint32_t t, Cycles from);

  // What is noinline: handle() would save registers for it at every event.
  [[gnu::noinline]] void arrive(std::uint32_t t);
  inline void take_up(std::uint32_t t);
  inline void queue(std::uint32_t t);
  inline void begin(std::uint32_t t);
  inline void begin_read(std::uint32_t t, Cycles at);
  inline void begin_write(std::uint32_t t, Cycles at);
  inline void begin_evict(std::uint32_t t, Cycles at);
  void begin_table(std::uint32_t t);
  int package_of(int core) const {
    return static_cast<int>(static_cast<long>(core) * p_.packages / p_.cores);
  }
  int l3_of(int core) const {
    return static_cast<int>(static_cast<long>(core) * p_.packages * p_.l3_per_package / p_.cores);
  }
  Cycles queue_table(int from, int to, Source source, int home, Cycles at);
  [[gnu::noinline]] void forwarded(std::uint32_t t, int core);
  inline void answer(std::uint32_t t, int core);
  [[gnu::noinline]] void invalidate(std::uint32_t t, int core);
  inline void give_up(std::uint32_t t, int core);
  template <bool write>
  inline void acknowledged(std::uint32_t t);
  template <bool write>
  inline void fill(std::uint32_t t);
  static EventKind fill_event(Request kind) {
    return is_write(kind) ? EventKind::fill_write : EventKind::fill;
  }
  inline void released(std::uint32_t t);
  inline void pump(LineId line);
  inline void insert(int core, LineId line);
  void forget(int core, LineId line);
  inline int responder(const Line& line, int core) const;
  inline void drop_own_reads(int core, LineId line);
  inline bool still_coming(std::uint32_t t, int core, EventKind again);
  inline Cycles fill_time(const Transaction& t, Cycles end) const;
  void note_asked(std::uint32_t t, int core, Cycles start);
  void note_freed(std::uint32_t t);
  void record(std::uint32_t t);
  inline Cycles jitter();

  const MachineParameters p_;
  Ring ring_;
  EventWheel& wheel_;
  CoherenceListener& listener_;
  Counters& counters_;
  Log* log_ = nullptr;
  Random random_;
  std::uint64_t seed_;
  bool checking_ = false;
  bool watching_ = false;          // there is a log, or every change is checked
  bool capacity_matters_ = false;  // there are more lines than a first-level cache holds
  bool l2_matters_ = false;        // likewise of the second level: without it none drives another out
  AlignedVector<Line> lines_;
  // For each line and core: the state, and above it how many of the core's transactions for the line are
  // under way, evictions apart. Mostly none is, which saves a search. A context has at most one read and one
  // write.
  AlignedVector<std::uint8_t> states_;
  // The states of successive lines are 2^state_shift_ bytes apart, so one line's states span as few of the
  // host's lines as possible.
  int state_shift_ = 0;
  std::vector<CoreTags> l1_, l2_;
  AlignedVector<Core> cores_;
  AlignedVector<Server> directories_, channels_;
  std::vector<Cycles> l3_out_free_, l3_in_free_, package_out_free_;  // of a table
  AlignedVector<Transaction> transactions_;
  std::vector<Steps> steps_;  // of each transaction, with a log only
  std::uint32_t free_ = none;
};

}  // namespace sim
}  // namespace phicoll
