#pragma once

// The operations of a Communicator that move data: arguments checked, buffers bound, an algorithm found, and
// run.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/collective_set.hpp"
#include "phicoll/memory/native_port.hpp"
#include "phicoll/memory/region.hpp"

namespace phicoll {

class Communicator;

/// One rank's side of the data collectives of one communicator. Every member function is collective.
class Collectives {
 public:
  explicit Collectives(Communicator& owner);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// What the operation uses from now on: `auto` or an algorithm (Family::parse).
  void select(Operation operation, const std::string& spec);
  /// The same with its shared memory at byte `place` of the group's region: measurements move it. Every
  /// algorithm that was in use, of any operation, ends and gives its memory back.
  void select_at(Operation operation, const std::string& spec, std::size_t place);
  /// Ends every algorithm in use, which gives its memory back; a later call makes its own again.
  void release();
  /// The algorithms that have memory: operation, a space, the spec in effect; in the order of making.
  std::vector<std::string> in_use() const { return set_.in_use(); }
  /// Marks the memory of every algorithm in use as free in `region`, a copy of the owner's.
  void give_back_to(Region& region) const;
  /// Ends algorithms until `bytes` have room in the owner's `region`: who was used longest ago first, and
  /// nobody whose memory is not needed. Throws ResourceError without effect where all of them would not do.
  void make_room(const Region& region, std::size_t bytes);
  /// What a call with these facts would use, and why.
  AlgorithmChoice why(const CallFacts& facts) const { return set_.chosen(facts); }

  using Set = CollectiveSet<NativePort>;
  /// Who serves such a call, as selected; null where no call has needed it yet.
  Set::Instance* known(const CallFacts& facts) const { return set_.known(facts); }
  /// The same, looked for anew, and by `spec`, this time only, unless that is null: in two steps, as the
  /// second may wait for the other ranks.
  Set::Found find(const CallFacts& facts, const AlgorithmSpec* spec) const { return set_.find(facts, spec); }
  Set::Instance& take(const CallFacts& facts, const AlgorithmSpec* spec, Set::Found& found) {
    return set_.take(facts, spec, found);
  }
  /// Runs the call number `number`. An exception of the caller's operator breaks the group: the others wait
  /// for what this rank did not do.
  void run(Set::Instance& instance, const Call& call, std::uint64_t number) {
    instance.last_use = number;
    try {
      instance(call);
    } catch (...) {
      leave_half_done(number);
    }
  }

 private:
  struct Placed {
    const Set::Instance* instance;  // null where it could not be made
    Region::Block block;
  };
  /// The exception in hand is about to leave the call number `call`. Breaks the group, if it is not what the
  /// exception tells of, waits, not for ever, until no peer reads or writes this rank's buffers in the call,
  /// and throws it on.
  [[noreturn, gnu::noinline, gnu::cold]] void leave_half_done(std::uint64_t call);
  void wait_for_readers(std::uint64_t call);
  std::unique_ptr<Set::Instance> make(Operation operation, const AlgorithmSpec& spec);

  Communicator* owner_;
  Set set_;
  std::vector<Placed> placed_at_;  // in the order of making
  std::size_t place_ = 0;          // of the next instance, where it is placed
  bool placed_ = false;
};

}  // namespace phicoll
