// Measures the host's numbers with the collectives themselves, by the ways and parameters between which the
// numbers choose.
//
// 1. A number leaves its default only where another way is faster in nearly every round.
// 2. At the end the rules' choices with and without the numbers found are compared, by all operations whose
//    choice differs, again in other pages. What makes one slower is undone.
// 3. Numbers measured amid disturbance would mislead for long, so they are dropped. Ranks that share
//    CPUs measure only if two of them, with a CPU each, have just found the machine quiet.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/number_trials.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

namespace {

using H = HostNumbers;
using Number = std::int64_t H::*;
using Sizes = std::vector<std::size_t>;

constexpr std::size_t kb = 1 << 10;
// The largest data in the group's heap, which all ranks reach.
constexpr std::size_t most_reached = 2048 * kb;
// What the rules choose by the numbers found is undone if it loses in the pages of so many places.
constexpr std::size_t proving_places = 3;
// The part of the time for finding numbers and, where sizes are measured, for proving ways to copy; the rest
// is for proving what was found last.
constexpr std::int64_t finding_percent = 60;
constexpr Operation proved_operations[] = {
    Operation::allgather, Operation::allreduce, Operation::broadcast,
    Operation::alltoall,  Operation::reduce,    Operation::gather,
    Operation::scatter,   Operation::scan,      Operation::reduce_scatter};
constexpr std::size_t least_proved = kb / 2, most_proved = 512 * kb;
// A way that loses so many thousandths at the largest size compared begins well beyond it.
constexpr std::int64_t far_beyond = 150;
// How long ranks look for other programs: the system leaves each its CPU for some milliseconds, and some
// systems for up to 12 milliseconds to one that has just slept.
constexpr std::int64_t looking_ns = calibrating_copies_ns;

/// A size that is measured: where an operation turns from one of its rules to the next.
struct TurningPoint {
  Number number;
  int whose;  ///< a sum of HostNumbers::Sharing
  Operation operation;
  Sizes at;  ///< the sizes compared
};
/// What decides most is measured first.
const std::vector<TurningPoint>& measured_turns() {
  using O = Operation;
  constexpr int sharing = H::few + H::many + H::unplaced;
  static const std::vector<TurningPoint> turns = {
      {&H::rotate, H::pair, O::allgather, {8 * kb, 16 * kb, 32 * kb, 64 * kb}},
      {&H::pass_rotate, H::pair, O::broadcast, {16 * kb, 32 * kb, 64 * kb, 128 * kb}},
      {&H::pass_wide, H::pair, O::broadcast, {256 * kb, 512 * kb, 1024 * kb}},
      {&H::pair_wide, H::pair, O::allgather, {128 * kb, 256 * kb, 512 * kb, 1024 * kb}},
      // Not to 1 MB: from there on ranks try both.
      {&H::slice, H::pair, O::allreduce, {128 * kb, 256 * kb, 512 * kb}},
      {&H::direct, H::pair, O::allgather, {256 * kb, 512 * kb, 1024 * kb, most_reached}},
      {&H::single, H::pair, O::gather, {2048 * kb, 4096 * kb}},
      {&H::shared_exchange, sharing, O::allgather, {8 * kb, 16 * kb, 32 * kb}},
      {&H::shared_combine, H::few, O::allreduce, {4 * kb, 8 * kb, 16 * kb}},
      {&H::shared_slice, H::few, O::allreduce, {16 * kb, 32 * kb, 64 * kb}},
      {&H::shared_levels, H::many, O::allreduce, {1 * kb, 2 * kb, 4 * kb}},
      {&H::shared_levels_wide, H::many, O::allreduce, {32 * kb, 64 * kb, 128 * kb}},
      {&H::shared_reduce, H::many, O::reduce, {kb / 4, 1 * kb, 4 * kb}},
      {&H::shared_pieces, sharing, O::alltoall, {1 * kb, 2 * kb, 4 * kb}},
      {&H::shared_rotate, sharing, O::gather, {16 * kb, 32 * kb, 64 * kb}},
      {&H::shared_pass, sharing, O::broadcast, {2 * kb, 4 * kb, 8 * kb}},
      {&H::shared_send, sharing, O::scatter, {4 * kb, 8 * kb, 16 * kb}},
  };
  return turns;
}

bool is_measured(Number number) {
  for (const TurningPoint& turn : measured_turns())
    if (turn.number == number) return true;
  return number == &H::cell || number == &H::ring ||
         std::find(std::begin(copy_numbers), std::end(copy_numbers), number) != std::end(copy_numbers);
}

H changed(H numbers, Number number, std::int64_t value) {
  numbers.*number = value;
  return numbers;
}

/// One rank's part in measuring.
class NumberSearch {
 public:
  NumberSearch(Communicator& ranks, const H& from, const Calibrating& what)
      : shape_(ranks.shape()),
        numbers_(from),
        seen_before_(from.numbers_seen),
        what_(what),
        trials_(ranks, what.copies || what.sizes == H::pair, what.most_ns) {
    shape_.set_tuning(nullptr);
  }

  /// False if measuring was disturbed. Else the numbers are in `found`.
  bool run(H* found) {
    const bool choice = arch::hand_over_bytes != SIZE_MAX;  // of how pieces are copied
    const bool far = far_now() && choice;
    trials_.begin();
    if (trials_.disturbed()) return false;
    const std::int64_t bit = H::seen_in(far, what_.sizes);
    const bool sizing = what_.sizes_too && (numbers_.sizes_seen & bit) == 0;
    // A pair of more ranks, which has less time, often finds a way to copy that it cannot prove. So two ranks
    // measure them again.
    const bool copying = what_.copies && (sizing || numbers_.*(far ? &H::far_seen : &H::near_seen) == 0);
    // Before all ranks of a group measure sizes, a pair of them checks whether that would be disturbed.
    const bool looking = what_.copies && (numbers_.sizes_seen & bit) == 0;
    if (!copying && !sizing && !looking) return true;
    trials_.end_after(what_.most_ns / 100 * finding_percent);
    usual_ = unproved_ = numbers_;
    if (copying) {
      if (choice) copies(far);
      if (!sizing) trials_.end_after(what_.most_ns);
      prove();
      numbers_.near_seen |= far ? 0 : 1;
      numbers_.far_seen |= far || !choice ? 1 : 0;
      usual_ = unproved_ = numbers_;
    }
    if (sizing) {
      if (what_.sizes == H::pair) cells();
      for (const TurningPoint& turn : measured_turns())
        if ((turn.whose & what_.sizes) != 0) move(turn);
      numbers_.sizes_seen |= choice ? bit : bit | H::seen_in(true, what_.sizes);
    }
    trials_.end_after(what_.most_ns);
    prove();
    do {
      if (!trials_.disturbed() && (far_now() && choice) != far) trials_.disturb();  // all of it was in vain
    } while (looking && !trials_.disturbed() && trials_.passed_ns() < looking_ns);
    if (trials_.disturbed()) return false;
    numbers_.disturbed = 0;
    numbers_.state = H::measured;
    *found = numbers_;
    return true;
  }

 private:
  /// A row's way by such numbers, of which the port copies by `copying`.
  Trial trial(const TuningRow* row, const H& numbers, const H& copying) const {
    return {row->operation, row->spec(with(numbers)), copying};
  }
  /// How pieces of an exchange go through a long ring.
  Trial rotating(const H& numbers, const H& copying) const {
    return trial(default_rules().border(Operation::allgather, &H::rotate).second, numbers, copying);
  }
  /// How two ranks exchange blocks below the largest ones.
  Trial swapping(const H& copying) const {
    return trial(default_rules().border(Operation::allgather, &H::pair_wide).first, numbers_, copying);
  }
  /// The same way, which reads data that all reach where it lies, from so many bytes on.
  Trial reading(Trial way, std::int64_t from) const {
    way.spec = with_direct(way.spec, with(changed(numbers_, &H::direct, from)), way.operation, ":put=");
    return way;
  }
  Shape with(const H& numbers) const {
    Shape shape = shape_;
    shape.set_host(numbers);
    return shape;
  }

  /// Whether the peers are far now.
  bool far_now() {
    const H small = changed(changed(numbers_, &H::cell, 16 << 10), &H::ring, 64 << 10);
    return trials_.line_percent(rotating(small, numbers_), 16 * kb) >= numbers_.far;
  }

  // Measures a size: find() moves it from what it is now, and returns whether the time sufficed. A size that
  // was measured before, by another group or in the other state of the CPUs, is measured from its default,
  // and moves only if both agree, and then by the smaller change: what gains in one state can lose in the
  // other. If the time did not suffice it stays.
  template <class Find>
  void measure(Number number, const Find& find) {
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

  /// Where what the rules choose by the numbers found takes longer, numbers get their usual values again.
  /// Where it was not compared in time, only those that no earlier measurement proved do.
  void prove() {
    if (std::none_of(std::begin(host_number_fields), std::end(host_number_fields),
                     [&](const HostNumberField& field) { return moved(field, usual_); }))
      return;
    std::vector<std::string> proved;
    bool late = false;
    for (bool undone = true; undone;) {
      undone = false;
      for (const Operation operation : proved_operations)
        for (std::size_t bytes = least_proved; bytes <= most_proved; bytes *= 2) {
          const H& usual = late ? unproved_ : usual_;
          const Trial before = chosen(operation, bytes, usual), now = chosen(operation, bytes, numbers_);
          const std::string name = now.name() + " " + std::to_string(bytes);
          // If only the copies differ, two sizes tell, and of few bytes one.
          const bool few = before.numbers.few_copy != now.numbers.few_copy;
          const bool told = few ? bytes == 4 * kb : bytes == 32 * kb || bytes == 256 * kb;
          const bool skipped = before.spec == now.spec && !told;
          if (before.name() == now.name() || skipped ||
              std::find(proved.begin(), proved.end(), name) != proved.end())
            continue;
          if (proved.empty() && !undone) trials_.move_elsewhere();
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
      if (place != 0) trials_.move_elsewhere();
      const std::vector<Times> times = trials_.compare({usual, found}, bytes, 0, NumberTrials::first_rounds);
      if (times.empty()) return Proof::late;
      if (thousandths(median(times[1]), median(times[0])) <= 1000 + trials_.clear_gain() / 2)
        return Proof::holds;
    }
    return Proof::loses;
  }
  bool moved(const HostNumberField& field, const H& usual) const {
    return !is_mark(field) && numbers_.*field.value != usual.*field.value;
  }
  /// What the rules choose for private data.
  Trial chosen(Operation operation, std::size_t bytes, const H& numbers) const {
    H of = changed(numbers, &H::direct, H().direct);
    if (!arch::copies_few(bytes)) of.few_copy = H().few_copy;  // alike
    return {operation, choose(with(of), call_of(operation, false, bytes)).spec, of};
  }
  // One number after another, until the choice is the usual one; if it never is, all numbers. A later call
  // that was not compared in time does not bring back what lost. What was not compared, `late`, counts as not
  // measured.
  void undo(Operation operation, std::size_t bytes, const H& usual, bool late) {
    const std::string wanted = chosen(operation, bytes, usual).name();
    for (const bool all : {false, true})
      for (const HostNumberField& field : host_number_fields) {
        if (!moved(field, usual)) continue;
        const std::string now = chosen(operation, bytes, numbers_).name();
        const H without = changed(numbers_, field.value, usual.*field.value);
        if (now == wanted || (!all && chosen(operation, bytes, without).name() == now)) continue;
        numbers_ = without;
        unproved_.*field.value = usual.*field.value;
        if (late) numbers_.numbers_seen &= seen_before_ | ~seen_bit(field.value);
      }
  }

  // The best copy in the state in which the CPUs are.
  void copies(bool far) {
    const Number here = far ? &H::far_copy : &H::near_copy;
    const std::int64_t past = static_cast<std::int64_t>(arch::CopyWay::past_caches);
    const auto choose_copy = [&](Number number, const Sizes& of, const TrialBy& trial_by) {
      std::vector<std::int64_t> ways;  // that this CPU has
      for (std::int64_t way = 0; way < arch::copy_ways; ++way)
        if (arch::has_copy_way(static_cast<arch::CopyWay>(way)) && (number == here || way != past))
          ways.push_back(way);
      if (pick(number, of, ways, trial_by)) numbers_.numbers_seen |= seen_bit(number);
    };
    choose_copy(here, {4 * kb, 32 * kb, 256 * kb}, [&](H numbers) {
      numbers.near_copy = numbers.far_copy = numbers.*here;
      const Trial way = rotating(numbers_, numbers);
      // What is stored past the caches leaves lines for the next way that are in memory, so that way has a
      // ring of its own. Such sizes of data that all reach do not occur, but make another instance.
      return numbers.*here == past ? reading(way, std::int64_t{1} << 30) : way;
    });
    // Measured by the exchange that two ranks' calls use. The pieces of a ring have left their writer's
    // nearest cache, so the ways differ less there.
    const auto swaps = [&](const H& numbers) { return swapping(numbers); };
    choose_copy(&H::take_copy, {32 * kb, 64 * kb, 256 * kb}, swaps);
    // Used for each rank's own block, and for what it stores where it has read.
    choose_copy(&H::few_copy, {4 * kb, 8 * kb}, swaps);
  }
  // A cell's and a ring's sizes decide how exchanges rotate through them.
  void cells() {
    const auto rotates = [&](const H& numbers) { return rotating(numbers, numbers_); };
    measure(&H::cell, [&] {
      return pick(&H::cell, {32 * kb, 256 * kb}, {16 << 10, 64 << 10, 128 << 10}, rotates);
    });
    measure(&H::ring, [&] {
      return pick(&H::ring, {64 * kb, 256 * kb}, {256 << 10, 1 << 20, 2 << 20}, rotates);
    });
  }
  using TrialBy = std::function<Trial(const H& numbers)>;
  /// Gives the number the value that takes clearly less time than its present one, if there is any. Returns
  /// whether all were compared in time.
  bool pick(Number number, const Sizes& of, const std::vector<std::int64_t>& values,
            const TrialBy& trial_by) {
    const auto now =
        static_cast<std::size_t>(std::find(values.begin(), values.end(), numbers_.*number) - values.begin());
    if (now == values.size()) return false;
    std::vector<Trial> trials;
    for (const std::int64_t value : values) trials.push_back(trial_by(changed(numbers_, number, value)));
    std::vector<std::vector<Times>> found;  // by size and value
    for (const std::size_t bytes : of) {
      found.push_back(trials_.compare(trials, bytes, now));
      if (found.back().empty()) return false;
    }
    numbers_.*number = values[better(found, now)];
    return true;
  }
  /// The way with the largest gain over the present one, clearly faster at half of the sizes at least and
  /// clearly slower at none; or the present one.
  std::size_t better(const std::vector<std::vector<Times>>& found, std::size_t now) const {
    std::size_t best = now;
    std::int64_t most = static_cast<std::int64_t>(found.size()) * (1000 + trials_.clear_gain());
    for (std::size_t way = 0; way < found[0].size(); ++way) {
      std::size_t ahead = 0, losses = 0;
      std::int64_t sum = 0;
      for (const std::vector<Times>& at : found) {
        ahead += trials_.gains(at[way], at[now]) ? 1 : 0;
        losses += trials_.faster(at[now], at[way]) ? 1 : 0;
        sum += thousandths(median(at[now]), median(at[way]));
      }
      if (2 * ahead < found.size() || losses != 0 || sum < most) continue;
      most = sum;
      best = way;
    }
    return best;
  }

  /// Measures where an operation turns: the rules on both sides of the number, or of data in the group's heap
  /// whether it is copied or read where it lies.
  void move(const TurningPoint& turn) {
    const bool in_heap = turn.number == &H::direct;
    if (in_heap && (trials_.over() || !trials_.reach(most_reached))) return;
    const auto rules = default_rules().border(turn.operation, turn.number);
    const Trial below = in_heap ? swapping(numbers_) : trial(rules.first, numbers_, numbers_);
    const Trial above = in_heap ? reading(below, 1) : trial(rules.second, numbers_, numbers_);
    const CallFacts facts = call_of(turn.operation, false, turn.at.front());
    const Family& known = family(turn.operation);
    if (known.fits(below.spec, shape_, facts) && known.fits(above.spec, shape_, facts))
      measure(turn.number, [&] { return find_turn(turn, below, above); });
    if (in_heap) trials_.reach(0);
  }
  /// Moves the number over those sizes at which the way on its other side is clearly faster. Returns whether
  /// the time sufficed.
  bool find_turn(const TurningPoint& turn, const Trial& below, const Trial& above) {
    const Sizes& of = turn.at;
    std::int64_t& number = numbers_.*turn.number;
    std::size_t now = 0;
    while (now < of.size() && static_cast<std::int64_t>(of[now]) < number) ++now;
    std::size_t at = now;
    std::int64_t loss = 0;
    bool whole = true;
    const auto slower = [&](const Trial& present, const Trial& other, std::size_t bytes) {
      const std::vector<Times> found = trials_.compare({present, other}, bytes, 0);
      whole = !found.empty();
      if (!whole || !trials_.gains(found[1], found[0])) return false;
      loss = thousandths(median(found[0]), median(found[1])) - 1000;
      return true;
    };
    while (at > 0 && slower(below, above, of[at - 1])) --at;
    if (at == now && whole)
      while (at < of.size() && slower(above, below, of[at])) ++at;
    if (at != now)
      number = static_cast<std::int64_t>(at == 0             ? of.front()
                                         : at < of.size()    ? (of[at - 1] + of[at]) / 2
                                         : loss > far_beyond ? of.back() * 8
                                                             : of.back() * 2);
    return whole;
  }

  Shape shape_;
  H numbers_;
  H usual_;     // with the values from which numbers were measured
  H unproved_;  // the same; of numbers that were measured before, what both measurements gave
  const std::int64_t seen_before_;
  const Calibrating what_;
  NumberTrials trials_;
};

}  // namespace

bool measure_numbers(Communicator& ranks, HostNumbers* numbers, const Calibrating& what) {
  return NumberSearch(ranks, *numbers, what).run(numbers);
}

HostNumbers without_measured(HostNumbers numbers) {
  const HostNumbers usual;
  for (const HostNumberField& field : host_number_fields)
    if (is_mark(field) || is_measured(field.value)) numbers.*field.value = usual.*field.value;
  return numbers;
}

}  // namespace phicoll
