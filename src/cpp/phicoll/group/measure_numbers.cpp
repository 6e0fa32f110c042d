// Measures the host's numbers with the collectives themselves, by the ways and parameters between which the
// numbers choose. The ranks (two with a CPU each, or all ranks of a group that share CPUs) rewrite what they
// send, as programs do.
//
// All ways take turns in rounds; a number leaves its default only where another way is faster in nearly every
// round. Rings and buffers that stay in the same pages would give every round the same luck (which lines of a
// cache they share), so half of the rounds have them in other pages.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/choose.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/support/aligned_vector.hpp"

// At the end the rules' choices with and without the numbers found are compared, by all operations whose
// choice differs, again in other pages; a number that makes one slower is undone. All ranks arrive at the
// same numbers: each time is that of the slowest rank, which an allreduce tells all.

// Other programs and a virtual machine's host take CPUs away, and its CPUs move. Numbers measured meanwhile
// would mislead for as long as they are kept. So each turn compares the CPU time of ranks that have a CPU
// each with the time that passed. Measuring ends with no result if they were without it for long, or if the
// CPUs were near at its beginning and far at its end. Ranks that share CPUs measure only if two of them, with
// a CPU each, have just found the machine quiet.
namespace phicoll {

namespace {

constexpr std::size_t kb = 1 << 10;
// The most bytes of data in the group's heap, which all ranks reach.
constexpr std::size_t most_reached = 2048 * kb;
// A way that is not ahead in all of the first rounds is not compared any longer. The others have their rings
// elsewhere.
constexpr std::size_t first_rounds = 4;
constexpr std::size_t all_rounds = 8;
// A choice by the numbers found is undone if it loses in the pages of this many places.
constexpr std::size_t proving_places = 3;
// The distance in the region from one place to the next; the few extra pages change the order of the rings'
// pages.
constexpr std::size_t elsewhere_bytes = 9 * 256 * kb + 3 * 4 * kb;
static_assert((std::size_t{16} << 20) + (proving_places - 1) * elsewhere_bytes + (1 << 20) <=
                  calibrating_memory,
              "room for the largest algorithm in the farthest place, and for small ones");
// Bytes that a round moves: small messages make more calls.
constexpr std::size_t round_bytes = 512 * kb;
// A ring's pages are touched, and its lines have left the caches, once it has turned.
constexpr std::size_t warming_bytes = 2048 * kb;
// A virtual machine's CPUs move, so before and after each round ranks with a CPU each look how long a barrier
// takes. While they stay near or far, that time varies by at most this percentage; between near and far it
// differs several times over.
constexpr std::int64_t alike_percent = 160;
constexpr int barriers_a_look = 16;
// A way is replaced only if it is slower by at least this many thousandths of its time.
constexpr std::int64_t clear_gain = 50;
// Ranks that share CPUs wait for the scheduler, so their times vary more, and on a busy machine few calls
// take long.
constexpr std::int64_t clear_shared_gain = 100;
constexpr std::size_t shared_calls = 8;
// Calls to warm up, before ranks look whether they are disturbed.
constexpr int calls_a_turn = 4;
// The part of the time for finding numbers and, where sizes are measured, for proving ways to copy; the rest
// is for proving what was found last.
constexpr std::int64_t finding_percent = 60;
constexpr Operation proved_operations[] = {
    Operation::allgather, Operation::allreduce, Operation::broadcast,
    Operation::alltoall,  Operation::reduce,    Operation::gather,
    Operation::scatter,   Operation::scan,      Operation::reduce_scatter};
constexpr std::size_t proved_sizes[] = {kb / 2,  kb,      2 * kb,   4 * kb,   8 * kb,  16 * kb,
                                        32 * kb, 64 * kb, 128 * kb, 256 * kb, 512 * kb};
// A way that loses so much at the largest size compared begins well beyond it.
constexpr std::int64_t far_beyond = 150;
// Time that the system's own work may take without counting as a disturbance.
constexpr std::int64_t lost_most_ns = 1000 * 1000;
// How long ranks look for other programs: the system leaves each its CPU for some milliseconds, and some
// systems for up to 12 milliseconds to one that has just slept.
constexpr std::int64_t looking_ns = calibrating_copies_ns;

using Sizes = std::vector<std::size_t>;
using Times = std::vector<std::int64_t>;  // a round each

std::int64_t median(Times times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

constexpr std::int64_t HostNumbers::*measured_sizes[] = {&HostNumbers::rotate,
                                                         &HostNumbers::cell,
                                                         &HostNumbers::ring,
                                                         &HostNumbers::pass_rotate,
                                                         &HostNumbers::pass_wide,
                                                         &HostNumbers::pair_wide,
                                                         &HostNumbers::slice,
                                                         &HostNumbers::direct,
                                                         &HostNumbers::single,
                                                         &HostNumbers::shared_combine,
                                                         &HostNumbers::shared_slice,
                                                         &HostNumbers::shared_levels,
                                                         &HostNumbers::shared_levels_wide,
                                                         &HostNumbers::shared_reduce,
                                                         &HostNumbers::shared_exchange,
                                                         &HostNumbers::shared_pieces,
                                                         &HostNumbers::shared_rotate,
                                                         &HostNumbers::shared_pass,
                                                         &HostNumbers::shared_send};
constexpr std::int64_t HostNumbers::*measured_ways[] = {&HostNumbers::near_copy, &HostNumbers::far_copy,
                                                        &HostNumbers::take_copy, &HostNumbers::few_copy};

}  // namespace

/// One rank's part in measuring.
class NumberTrials {
 public:
  NumberTrials(Communicator& ranks, const HostNumbers& from, const Calibrating& what)
      : ranks_(ranks),
        numbers_(from),
        seen_before_(from.numbers_seen),
        what_(what),
        began_ns_(os::now_ns()),
        most_ns_(what.most_ns),
        sum_(find_operator(Type::int32, Op::sum)),
        most_(find_operator(Type::int64, Op::max)) {}

  /// False if measuring was disturbed. Else the numbers are in `found`.
  bool run(HostNumbers* found) {
    const bool choice = arch::hand_over_bytes != SIZE_MAX;  // of how pieces are copied
    const bool far = far_now() && choice;
    barrier_ns_ = alone() ? barrier_ns() : 0;
    if (disturbed()) return false;
    const std::int64_t bit = H::seen_in(far, what_.sizes);
    const bool sizing = what_.sizes_too && (numbers_.sizes_seen & bit) == 0;
    // A pair of more ranks, which has less time, often finds a way to copy that it cannot prove. So two ranks
    // measure them again.
    const bool copying = what_.copies && (sizing || numbers_.*(far ? &H::far_seen : &H::near_seen) == 0);
    // Before all ranks of a group measure sizes, a pair of them checks whether that would be disturbed.
    const bool looking = what_.copies && (numbers_.sizes_seen & bit) == 0;
    if (!copying && !sizing && !looking) return true;
    most_ns_ = what_.most_ns / 100 * finding_percent;
    if (copying) {
      usual_ = unproved_ = numbers_;
      if (choice) copies(far);
      if (!sizing) most_ns_ = what_.most_ns;
      prove();
      numbers_.near_seen |= far ? 0 : 1;
      numbers_.far_seen |= far || !choice ? 1 : 0;
    }
    usual_ = unproved_ = numbers_;
    if (sizing) {
      if (what_.sizes == H::pair) {
        cells();
        sizes();
        in_place();
        single_copies();
      } else {
        shared_sizes();
      }
      numbers_.sizes_seen |= choice ? bit : bit | H::seen_in(true, what_.sizes);
    }
    most_ns_ = what_.most_ns;
    prove();
    do {
      if (!disturbed() && (far_now() && choice) != far) lost_ns_ = passed_ns_;  // all of it was in vain
    } while (looking && !disturbed() && passed_ns_ < looking_ns);
    if (disturbed()) return false;
    numbers_.disturbed = 0;
    numbers_.state = H::measured;
    *found = numbers_;
    return true;
  }

 private:
  using H = HostNumbers;
  struct Trial {
    Operation operation;
    std::string spec;
    H numbers;  // for the port's copies
    /// Equal names are equal trials.
    std::string name() const {
      std::string text = std::string(to_string(operation)) + " " + spec;
      for (std::int64_t H::*const way : measured_ways) text += " " + std::to_string(numbers.*way);
      return text;
    }
  };

  std::int64_t barrier_ns() {
    ranks_.barrier();
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < barriers_a_look; ++i) ranks_.barrier();
    return std::max<std::int64_t>(1, agreed(os::now_ns() - start));
  }
  /// Whether the CPUs are as near or far as at the beginning. If not, measuring ends: the numbers would
  /// differ each time.
  bool stayed() {
    if (!alone() || disturbed() || disturbed_percent() >= 100) return true;  // 100: never disturbed
    std::int64_t now = 0;
    for (int i = 0; i < 3; ++i) {  // an interrupt looks like a move
      now = barrier_ns();
      if (100 * now <= alike_percent * barrier_ns_ && 100 * barrier_ns_ <= alike_percent * now) return true;
    }
    moved_ = true;
    return false;
  }

  /// Whether the peers are far now.
  bool far_now() {
    const Trial look = {Operation::allgather, "one-shot:cell=16384:cells=4", numbers_};
    const AlgorithmSpec spec = family(look.operation).parse(look.spec);
    turns(look, spec, 16 * kb, 32);
    return agreed(static_cast<std::int64_t>(ranks_.hand_over_.percent())) >= numbers_.far;
  }

  // Measures a size: find() moves it from what it is now, and returns whether the time sufficed. A size that
  // was measured before, by another group or in the other state of the CPUs, is measured from its default,
  // and moves only if both agree, and then by the smaller change: what gains in one state can lose in the
  // other. If the time did not suffice it stays.
  template <class Find>
  void measure(std::int64_t H::*number, const Find& find) {
    const bool known = (numbers_.numbers_seen & seen_bit(number)) != 0;
    const std::int64_t before = numbers_.*number, from = known ? H().*number : before;
    std::int64_t& now = numbers_.*number;
    now = from;
    const bool whole = find();
    if (known && !whole) {
      now = before;
      return;
    }
    if (known)
      now = before >= from && now >= from   ? std::min(before, now)
            : before <= from && now <= from ? std::max(before, now)
                                            : from;
    usual_.*number = from;
    unproved_.*number = known ? now : from;
    if (whole || now != from) numbers_.numbers_seen |= seen_bit(number);
  }

  /// Where the choice by the numbers found is slower, numbers return to their usual values. Where it was not
  /// compared in time, only those do that no earlier measurement proved.
  void prove() {
    if (!moved_from(usual_)) return;
    std::vector<std::string> proved;
    bool late = false;
    for (bool undone = true; undone;) {
      undone = false;
      for (const Operation operation : proved_operations)
        for (const std::size_t bytes : proved_sizes) {
          const H& usual = late ? unproved_ : usual_;
          const Trial before = chosen(operation, bytes, usual), now = chosen(operation, bytes, numbers_);
          const std::string name = now.name() + " " + std::to_string(bytes);
          // If only the ways of copying differ, two sizes suffice, and one for few bytes.
          const bool few = before.numbers.few_copy != now.numbers.few_copy;
          const bool told = few ? bytes == 4 * kb : bytes == 32 * kb || bytes == 256 * kb;
          const bool skipped = before.spec == now.spec && !told;
          if (before.name() == now.name() || skipped ||
              std::find(proved.begin(), proved.end(), name) != proved.end())
            continue;
          if (proved.empty() && !undone) move_elsewhere();
          const Proof proof = late ? Proof::late : compare_all(before, now, bytes);
          if (proof == Proof::holds) {
            proved.push_back(name);
            continue;
          }
          late = proof == Proof::late;
          undo(operation, bytes, late ? unproved_ : usual_, late);
          undone = true;
        }
    }
  }
  enum class Proof { holds, loses, late };
  /// Whether the way found takes longer than the usual one, here and in other pages, or was not compared in
  /// time. Of so many comparisons of equal ways, some differ by 3 % in one place.
  Proof compare_all(const Trial& usual, const Trial& found, std::size_t bytes) {
    for (std::size_t place = 0; place < proving_places; ++place) {
      if (place != 0) move_elsewhere();
      const std::vector<Times> times = compare({usual, found}, bytes, 0, first_rounds);
      if (times.empty()) return Proof::late;
      if (thousandths(median(times[1]), median(times[0])) <= 1000 + clear() / 2) return Proof::holds;
    }
    return Proof::loses;
  }
  bool moved_from(const H& usual) const {
    const auto moved = [&](std::int64_t H::*number) { return numbers_.*number != usual.*number; };
    return std::any_of(std::begin(measured_ways), std::end(measured_ways), moved) ||
           std::any_of(std::begin(measured_sizes), std::end(measured_sizes), moved);
  }
  /// What the rules choose for private data.
  Trial chosen(Operation operation, std::size_t bytes, const H& numbers) const {
    H of = numbers;
    of.direct = H().direct;
    if (!arch::copies_few(bytes)) of.few_copy = H().few_copy;  // alike
    Shape shape = ranks_.shape();
    shape.set_host(of);
    CallFacts facts;
    facts.operation = operation;
    facts.bytes = bytes;
    return {operation, phicoll::choose(shape, facts).spec.text(), of};
  }
  // Resets one number after another until the choice is the usual one; if it never is, all numbers. A later
  // call that was not compared in time does not bring back what lost. What was not compared, `late`, counts
  // as not measured.
  void undo(Operation operation, std::size_t bytes, const H& usual, bool late) {
    const std::string wanted = chosen(operation, bytes, usual).name();
    for (const bool all : {false, true}) {
      const auto undo_one = [&](std::int64_t H::*number) {
        const std::string now = chosen(operation, bytes, numbers_).name();
        H without = numbers_;
        without.*number = usual.*number;
        if (now == wanted || (!all && chosen(operation, bytes, without).name() == now)) return;
        numbers_ = without;
        unproved_.*number = usual.*number;
        if (late) numbers_.numbers_seen &= seen_before_ | ~seen_bit(number);
      };
      for (std::int64_t H::*const way : measured_ways) undo_one(way);
      for (std::int64_t H::*const size : measured_sizes) undo_one(size);
    }
  }
  /// Rings and buffers are made anew in other pages.
  void move_elsewhere() {
    ranks_.collectives().release();
    warmed_.clear();
    Region& region = ranks_.region_;
    if (spacer_.bytes != 0) region.give_back(spacer_);
    place_ = (place_ + 1) % proving_places;
    spacer_ = place_ == 0 ? Region::Block{0, 0, false} : region.take(place_ * elsewhere_bytes);
    for (AlignedVector<unsigned char>* buffer : {&send_, &receive_})
      *buffer = AlignedVector<unsigned char>(buffer->size());  // made while the present one exists
  }

  // The best copy in the state in which the CPUs are.
  void copies(bool far) {
    const std::string middle = way(border(&H::rotate, Operation::allgather).second, numbers_);
    const auto choose_way = [&](std::int64_t H::*number, std::int64_t H::*other) {
      choose_copy(number, {4 * kb, 32 * kb, 256 * kb}, copy_ways(true), [&](std::int64_t way) {
        HostNumbers trial = numbers_;
        trial.*number = trial.*other = way;
        // Stores past the caches leave their lines in memory for the next way, so they get a ring of their
        // own: a size for `direct` that never occurs makes another instance.
        const bool past = way == static_cast<std::int64_t>(arch::CopyWay::past_caches);
        return Trial{Operation::allgather, past ? middle + ":direct=1073741824" : middle, trial};
      });
    };
    if (far)
      choose_way(&H::far_copy, &H::near_copy);
    else
      choose_way(&H::near_copy, &H::far_copy);
    // By the exchange that two ranks' calls use. A ring's pieces have left their writer's nearest cache, so
    // that the ways differ less.
    choose_copy(&H::take_copy, {32 * kb, 64 * kb, 256 * kb}, copy_ways(false), [&](std::int64_t way) {
      HostNumbers trial = numbers_;
      trial.take_copy = way;
      return Trial{Operation::allgather, swapping(), trial};
    });
    // For copies of each rank's own block, and of what it stores where it has just read.
    choose_copy(&H::few_copy, {4 * kb, 8 * kb}, copy_ways(false), [&](std::int64_t way) {
      HostNumbers trial = numbers_;
      trial.few_copy = way;
      return Trial{Operation::allgather, swapping(), trial};
    });
  }
  /// The ways to copy that this CPU has.
  static std::vector<std::int64_t> copy_ways(bool past_caches) {
    std::vector<std::int64_t> ways;
    for (std::int64_t way = 0; way < arch::copy_ways; ++way)
      if (arch::has_copy_way(static_cast<arch::CopyWay>(way)) &&
          (past_caches || way != static_cast<std::int64_t>(arch::CopyWay::past_caches)))
        ways.push_back(way);
    return ways;
  }

  template <class TrialOf>
  void choose_copy(std::int64_t H::*number, const Sizes& of, const std::vector<std::int64_t>& values,
                   const TrialOf& trial_of) {
    if (choose(number, of, values, trial_of)) numbers_.numbers_seen |= seen_bit(number);
  }

  /// Gives the number the value that takes clearly less time than its present one, if there is any. Returns
  /// whether all were compared in time.
  template <class TrialOf>
  bool choose(std::int64_t H::*number, const Sizes& of, const std::vector<std::int64_t>& values,
              const TrialOf& trial_of) {
    const auto now =
        static_cast<std::size_t>(std::find(values.begin(), values.end(), numbers_.*number) - values.begin());
    if (now == values.size()) return false;
    std::vector<std::vector<Times>> found;  // by size and value
    for (const std::size_t bytes : of) {
      std::vector<Trial> trials;
      for (const std::int64_t value : values) trials.push_back(trial_of(value));
      found.push_back(compare(trials, bytes, now));
      if (found.back().empty()) return false;
    }
    numbers_.*number = values[better(found, now)];
    return true;
  }

  // A cell's and a ring's sizes decide how exchanges rotate through them.
  void cells() {
    const auto with = [&](std::int64_t H::*number, const Sizes& of, const std::vector<std::int64_t>& values) {
      measure(number, [&] {
        return choose(number, of, values, [&](std::int64_t value) {
          HostNumbers trial = numbers_;
          trial.*number = value;
          return Trial{Operation::allgather, way(border(&H::rotate, Operation::allgather).second, trial),
                       numbers_};
        });
      });
    };
    with(&H::cell, {32 * kb, 256 * kb}, {16 << 10, 64 << 10, 128 << 10});
    with(&H::ring, {64 * kb, 256 * kb}, {256 << 10, 1 << 20, 2 << 20});
  }

  void sizes() {
    using O = Operation;
    cut(&H::rotate, O::allgather, {8 * kb, 16 * kb, 32 * kb, 64 * kb});
    cut(&H::pass_rotate, O::broadcast, {16 * kb, 32 * kb, 64 * kb, 128 * kb});
    cut(&H::pass_wide, O::broadcast, {256 * kb, 512 * kb, 1024 * kb});
    cut(&H::pair_wide, O::allgather, {128 * kb, 256 * kb, 512 * kb, 1024 * kb});
    // Not to 1 MB: from there on ranks try both.
    cut(&H::slice, O::allreduce, {128 * kb, 256 * kb, 512 * kb});
  }

  // Data in the group's heap: copied, or read where it lies.
  void in_place() {
    if (over()) return;
    reached_ = static_cast<unsigned char*>(heap(most_reached));
    if (reached_ == nullptr) return;
    const std::string copied = swapping();
    cut(&H::direct, Operation::allgather, {256 * kb, 512 * kb, 1024 * kb, 2048 * kb}, copied,
        copied + ":direct=1:far=copied");
    ranks_.release(reached_);
    reached_ = nullptr;
  }
  // On all ranks, or null on all.
  void* heap(std::size_t bytes) {
    void* memory = nullptr;
    try {
      memory = ranks_.allocate(bytes);
    } catch (const ResourceError&) {
      // The rest of the heap is in use.
    }
    if (agreed(memory == nullptr ? 1 : 0) == 0) return memory;
    if (memory != nullptr) ranks_.release(memory);
    return nullptr;
  }

  void single_copies() { cut(&H::single, Operation::gather, {2048 * kb, 4096 * kb}); }

  // Measured by all ranks, some of which share a CPU; the most decisive first.
  void shared_sizes() {
    using O = Operation;
    cut(&H::shared_exchange, O::allgather, {8 * kb, 16 * kb, 32 * kb});
    if (what_.sizes == H::few) {
      cut(&H::shared_combine, O::allreduce, {4 * kb, 8 * kb, 16 * kb});
      cut(&H::shared_slice, O::allreduce, {16 * kb, 32 * kb, 64 * kb});
    } else if (what_.sizes == H::many) {
      cut(&H::shared_levels, O::allreduce, {1 * kb, 2 * kb, 4 * kb});
      cut(&H::shared_levels_wide, O::allreduce, {32 * kb, 64 * kb, 128 * kb});
      cut(&H::shared_reduce, O::reduce, {256, 1 * kb, 4 * kb});
    }
    cut(&H::shared_pieces, O::alltoall, {1 * kb, 2 * kb, 4 * kb});
    cut(&H::shared_rotate, O::gather, {16 * kb, 32 * kb, 64 * kb});
    cut(&H::shared_pass, O::broadcast, {2 * kb, 4 * kb, 8 * kb});
    cut(&H::shared_send, O::scatter, {4 * kb, 8 * kb, 16 * kb});
  }

  using Border = std::pair<const TuningRow*, const TuningRow*>;
  /// The rules on both sides of the size at which a number switches an operation.
  static Border border(std::int64_t H::*number, Operation operation) {
    for (const HostNumberField& field : host_number_fields)
      if (field.value == number) return default_rules().border(operation, field);
    return {nullptr, nullptr};
  }
  /// A rule's algorithm for these ranks by such numbers.
  std::string way(const TuningRow* row, const H& numbers) const {
    Shape shape = ranks_.shape();
    shape.set_host(numbers);
    return row->expanded(shape);
  }
  /// How two ranks exchange blocks below the largest ones.
  std::string swapping() const { return way(border(&H::pair_wide, Operation::allgather).first, numbers_); }
  /// Moves the number over those sizes at which the rule on its other side is clearly faster.
  void cut(std::int64_t H::*number, Operation operation, const Sizes& of) {
    const Border rules = border(number, operation);
    cut(number, operation, of, way(rules.first, numbers_), way(rules.second, numbers_));
  }
  /// Moves the number over those sizes at which the way on the other side is clearly faster.
  void cut(std::int64_t H::*number, Operation operation, const Sizes& of, const std::string& below,
           const std::string& above) {
    for (const std::string& way : {below, above}) {
      CallFacts facts;
      facts.operation = operation;
      facts.bytes = of.front();
      facts.commutative = true;
      const Family& known = family(operation);
      if (!known.fits(known.parse(way), ranks_.shape(), facts)) return;
    }
    measure(number, [&] { return find_cut(number, operation, of, below, above); });
  }
  /// Returns whether the time sufficed.
  bool find_cut(std::int64_t H::*number, Operation operation, const Sizes& of, const std::string& below,
                const std::string& above) {
    std::size_t now = 0;
    while (now < of.size() && static_cast<std::int64_t>(of[now]) < numbers_.*number) ++now;
    std::size_t at = now;
    std::int64_t loss = 0;
    bool whole = true;
    const auto slower = [&](const std::string& present, const std::string& other, std::size_t bytes) {
      const std::vector<Times> found =
          compare({{operation, present, numbers_}, {operation, other, numbers_}}, bytes, 0);
      whole = !found.empty();
      if (!whole || !gains(found[1], found[0])) return false;
      loss = thousandths(median(found[0]), median(found[1])) - 1000;
      return true;
    };
    while (at > 0 && slower(below, above, of[at - 1])) --at;
    if (at == now && whole)
      while (at < of.size() && slower(above, below, of[at])) ++at;
    if (at == now) return whole;
    const std::size_t bytes = at == 0             ? of.front()
                              : at < of.size()    ? (of[at - 1] + of[at]) / 2
                              : loss > far_beyond ? of.back() * 8
                                                  : of.back() * 2;
    numbers_.*number = static_cast<std::int64_t>(bytes);
    return whole;
  }

  static std::int64_t thousandths(std::int64_t ns, std::int64_t least) {
    return 1000 * ns / std::max<std::int64_t>(1, least);
  }

  /// Whether a way takes clearly less time than another in all but an eighth of both ways' rounds.
  bool faster(const Times& way, const Times& other) const {
    const std::size_t rounds = std::min(way.size(), other.size());
    std::size_t misses = 0;
    for (std::size_t r = 0; r < rounds; ++r)
      if (thousandths(other[r], way[r]) < 1000 + clear()) ++misses;
    return misses <= rounds / 8;
  }
  /// The same in all rounds, half of which used other pages.
  bool gains(const Times& way, const Times& other) const {
    return way.size() == all_rounds && faster(way, other);
  }

  /// The way with the largest gain over the present one, clearly faster at half of the sizes at least and
  /// clearly slower at none; or the present one. `found` holds times by size and way.
  std::size_t better(const std::vector<std::vector<Times>>& found, std::size_t now) const {
    std::size_t best = now;
    std::int64_t most = static_cast<std::int64_t>(found.size()) * (1000 + clear());
    for (std::size_t way = 0; way < found[0].size(); ++way) {
      std::size_t ahead = 0, losses = 0;
      std::int64_t sum = 0;
      for (const std::vector<Times>& at : found) {
        ahead += gains(at[way], at[now]) ? 1 : 0;
        losses += faster(at[now], at[way]) ? 1 : 0;
        sum += thousandths(median(at[now]), median(at[way]));
      }
      if (2 * ahead < found.size() || losses != 0 || sum < most) continue;
      most = sum;
      best = way;
    }
    return best;
  }

  /// The largest of all ranks' values.
  std::int64_t agreed(std::int64_t value) {
    ranks_.allreduce(nullptr, &value, 1, most_);
    return value;
  }

  /// The times of each way, or nothing once the time is over or measuring is disturbed. `now`: the present
  /// way. If others are ahead of it in all of the first rounds, these and the present one go on elsewhere.
  std::vector<Times> compare(const std::vector<Trial>& trials, std::size_t bytes, std::size_t now,
                             std::size_t rounds = all_rounds) {
    std::vector<Times> times(trials.size());
    std::vector<AlgorithmSpec> specs;
    std::vector<std::size_t> taking_part;
    for (const Trial& trial : trials) {
      taking_part.push_back(specs.size());
      specs.push_back(family(trial.operation).parse(trial.spec));
    }
    const int calls = calls_of(round_bytes, bytes, alone() ? 64 : shared_calls);
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
          warm(trials[i], specs[i], bytes);
        }
      if (over()) return {};
      std::reverse(taking_part.begin(), taking_part.end());  // each way leaves the caches to the next one
      const std::int64_t writes = time(nullptr, nullptr, bytes, calls);
      for (const std::size_t i : taking_part) {
        ranks_.hand_over_.set_host(trials[i].numbers);
        times[i].push_back(std::max<std::int64_t>(1, time(&trials[i], &specs[i], bytes, calls) - writes));
      }
      if (!stayed()) return {};
    }
    return times;
  }
  bool over() { return disturbed() || agreed(os::now_ns() - began_ns_) > most_ns_; }
  bool disturbed() const {
    return moved_ || (lost_ns_ > lost_most_ns && 100 * lost_ns_ > disturbed_percent() * passed_ns_);
  }
  bool alone() const { return what_.sizes == H::pair || what_.copies; }
  std::int64_t clear() const { return alone() ? clear_gain : clear_shared_gain; }
  static int calls_of(std::size_t all, std::size_t bytes, std::size_t most) {
    return static_cast<int>(std::max<std::size_t>(2, std::min(most, all / bytes)));
  }

  /// Makes the algorithm at its first use, and turns its ring. Ranks that share CPUs do so, too: of two ways
  /// that are as fast, the one with the shorter ring would seem faster.
  void warm(const Trial& trial, const AlgorithmSpec& spec, std::size_t bytes) {
    const std::string key = std::string(to_string(trial.operation)) + trial.spec;
    const bool first = std::find(warmed_.begin(), warmed_.end(), key) == warmed_.end();
    if (first) {
      warmed_.push_back(key);
      repeat(&trial, &spec, bytes,
             1);  // not timed: ranks may sleep until all have made it, which does not count as disturbance
    }
    turns(trial, spec, bytes, first ? calls_of(warming_bytes, bytes, 512) : 2);
  }

  /// Few calls at a time: on a busy machine each may wait for the scheduler.
  void turns(const Trial& trial, const AlgorithmSpec& spec, std::size_t bytes, int calls) {
    for (int done = 0; done < calls && !disturbed(); done += calls_a_turn)
      time(&trial, &spec, bytes, std::min(calls_a_turn, calls - done));
  }

  void repeat(const Trial* trial, const AlgorithmSpec* spec, std::size_t bytes, int calls) {
    const Part sends = trial != nullptr ? row_of(trial->operation).sends : Part::block;
    const bool rooted = sends == Part::root_block || sends == Part::root_blocks;
    const auto blocks = static_cast<std::size_t>(blocks_of_part(sends, true, ranks_.size()));
    const std::size_t written = blocks * bytes;
    room(written, static_cast<std::size_t>(ranks_.size()) * bytes);
    unsigned char* const send = reached_ != nullptr ? reached_ : send_.data();
    for (int i = 0; i < calls; ++i) {
      // Only the root writes for a broadcast or a scatter, and runs ahead.
      if (!rooted || ranks_.rank() == 0) std::memset(send, i + 1, written);
      // Keeps the compiler from finding that nobody reads it.
      __asm__ __volatile__("" : : "r"(send) : "memory");
      if (trial != nullptr) call(trial->operation, send, bytes, spec);
    }
  }

  std::int64_t time(const Trial* trial, const AlgorithmSpec* spec, std::size_t bytes, int calls) {
    ranks_.barrier();
    const std::int64_t cpu = os::thread_cpu_ns(), start = os::now_ns();
    repeat(trial, spec, bytes, calls);
    const std::int64_t took = os::now_ns() - start;
    std::int64_t both[] = {took, took - (os::thread_cpu_ns() - cpu)};
    ranks_.allreduce(nullptr, both, 2, most_);
    passed_ns_ += both[0];
    if (alone()) lost_ns_ += both[1];  // ranks that share CPUs are without one most of the time
    return both[0];
  }

  void call(Operation operation, unsigned char* send, std::size_t bytes, const AlgorithmSpec* spec) {
    const bool message = row_of(operation).receives == Part::others_block;
    void* const receive = message && ranks_.rank() == 0 ? send : receive_.data();
    const std::size_t count = reduces(operation) ? bytes / sum_.element_bytes : bytes;
    Request request;
    request.operation = operation;
    request.send = send;
    request.receive = receive;
    request.count = count;
    request.op = &sum_;
    request.algorithm = spec;
    ranks_.call(request);
  }

  void room(std::size_t send, std::size_t receive) {
    if (send_.size() < send) send_.resize(send);
    if (receive_.size() < receive) receive_.resize(receive);
  }

  Communicator& ranks_;
  HostNumbers numbers_;
  HostNumbers usual_;     // with the values from which numbers were measured
  HostNumbers unproved_;  // the same; of numbers that were measured before, what both measurements gave
  const std::int64_t seen_before_;
  Calibrating what_;
  std::int64_t began_ns_;
  std::int64_t most_ns_;
  Operator sum_;
  Operator most_;
  std::int64_t passed_ns_ = 0;
  std::int64_t lost_ns_ = 0;
  std::int64_t barrier_ns_ = 0;
  bool moved_ = false;
  std::vector<std::string> warmed_;
  unsigned char* reached_ = nullptr;
  std::size_t place_ = 0;
  Region::Block spacer_ = {};  // before the rings, `place_` times elsewhere_bytes
  AlignedVector<unsigned char> send_;
  AlignedVector<unsigned char> receive_;
};

std::atomic<int>& disturbed_percent() {
  static std::atomic<int> percent(10);
  return percent;
}

bool measure_numbers(Communicator& ranks, HostNumbers* numbers, const Calibrating& what) {
  return NumberTrials(ranks, *numbers, what).run(numbers);
}

HostNumbers without_measured(HostNumbers numbers) {
  const HostNumbers usual;
  for (std::int64_t HostNumbers::*const size : measured_sizes) numbers.*size = usual.*size;
  for (std::int64_t HostNumbers::*const number : measured_ways) numbers.*number = usual.*number;
  for (std::int64_t HostNumbers::*const number : {&HostNumbers::near_seen, &HostNumbers::far_seen,
                                                  &HostNumbers::sizes_seen, &HostNumbers::numbers_seen})
    numbers.*number = usual.*number;
  return numbers;
}

}  // namespace phicoll
