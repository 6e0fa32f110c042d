#pragma once

// The operations of a Communicator that move data: arguments are checked, buffers bound, an algorithm found
// and run.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/collective_set.hpp"
#include "phicoll/memory/region.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

class Member;

/// One rank's side of the data collectives of one communicator. Every member function is collective.
class Collectives {
 public:
  explicit Collectives(Member& owner);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Sets what the operation uses from now on: `auto` or an algorithm. If `place` is not null, the
  /// algorithm's shared memory is at that byte of the group's region, and every algorithm in use, of any
  /// operation, ends and frees its memory.
  void select(Operation operation, const AlgorithmSpec& spec, const std::size_t* place);
  /// Ends every algorithm in use and frees its memory. A later call makes its algorithm again.
  void release();
  /// The algorithms that have memory, in the order of making, each as the operation, a space and the spec in
  /// effect.
  std::vector<std::string> in_use() const { return set_.in_use(); }
  /// Marks the memory of every algorithm in use as free in `region`, a copy of the owner's.
  void give_back_to(Region& region) const;
  /// Ends algorithms, the least recently used first, until `bytes` fit into the owner's `region`, but none
  /// whose memory would not help. Throws ResourceError, without effect, if ending all of them would not be
  /// enough.
  void make_room(const Region& region, std::size_t bytes);
  /// What a call with these facts would use, and why.
  AlgorithmChoice why(const CallFacts& facts) const { return set_.chosen(facts); }

  /// Whether `auto` serves the operation, without a tuning table.
  bool by_rules(Operation operation) const { return set_.by_rules(operation); }

  using Set = CollectiveSet<NativePort>;
  /// Whether the call is large and was decided by host's numbers that are not measured yet.
  bool wants_numbers(const CallFacts& facts, const Set::Found& found) const {
    return facts.bytes >= calibrating_bytes && set_.by_unmeasured(found);
  }
  /// Whether the call is large, and the host's numbers may change what serves it, once they are measured.
  bool counts_to_numbers(const CallFacts& facts) const {
    return facts.bytes >= calibrating_bytes && set_.awaits_numbers(facts);
  }
  /// Counts such a call, and says whether to ask for the numbers in it. All ranks count the same calls.
  bool asks_for_numbers() {
    if (++not_asked_ < ask_after_) return false;
    not_asked_ = 0;
    return true;
  }
  /// Asking takes a broadcast: doubles the calls from one that asks to the next, up to 64.
  void ask_for_numbers_later() { ask_after_ = ask_after_ < 64 ? 2 * ask_after_ : 64; }
  void choose_anew() {
    set_.choose_anew();
    ++changes_;
  }
  /// The number of changes so far of what serves calls: a call made after the last change is served by the
  /// same algorithm again.
  std::uint64_t changes() const { return changes_; }
  /// Counts a new barrier as such a change.
  void forget_made() { ++changes_; }
  Set::Instance& instance_of(const AnyCollective<NativePort>& algorithm) const {
    return set_.instance_of(algorithm);
  }
  /// The instance that serves such a call by the current selection; null if no call has needed it yet.
  Set::Instance* known(const CallFacts& facts) const { return set_.known(facts); }
  Set::Last& last(Operation operation) { return set_.last(operation); }
  /// Looks for the instance again, or for that of `spec`, for this call only, if `spec` is not null. Takes
  /// two steps, because the second may wait for the other ranks.
  Set::Found find(const CallFacts& facts, const AlgorithmSpec* spec) const { return set_.find(facts, spec); }
  Set::Instance& take(const CallFacts& facts, const AlgorithmSpec* spec, Set::Found& found) {
    return set_.take(facts, spec, found);
  }
  /// Runs call number `number`. An exception from the caller's operator breaks the group, because the others
  /// wait for what this rank did not do.
  void run(Set::Instance& instance, const Call& call, std::uint64_t number) {
    instance.last_use = number;
    try {
      instance(call);
    } catch (...) {
      leave_half_done(instance.last_use);
    }
  }
  /// Handles the exception that is about to leave call number `call`: breaks the group, unless the exception
  /// says that it is broken; waits, for a bounded time, until no peer reads or writes this rank's buffers in
  /// the call; throws it again.
  [[noreturn, gnu::noinline, gnu::cold]] void leave_half_done(std::uint64_t call);

 private:
  struct Placed {
    const Set::Instance* instance;  // null if it could not be made
    Region::Block block;
  };
  void wait_for_readers(std::uint64_t call);
  std::unique_ptr<Set::Instance> make(Operation operation, const AlgorithmSpec& spec);

  Member* owner_;
  Set set_;
  std::vector<Placed> placed_at_;  // in the order of making
  std::size_t place_ = 0;          // of the next instance, if it is placed
  bool placed_ = false;
  std::uint64_t changes_ = 1;
  unsigned not_asked_ = 0;  // large calls since one asked for the numbers
  unsigned ask_after_ = 1;
};

}  // namespace phicoll
