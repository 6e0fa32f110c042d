#pragma once

// One rank's algorithms for the operations that move data. Finds the one that serves a call, and makes it at
// first use; the owner provides the shared memory.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

/// From this size of the count argument on, in bytes, a call is large: it takes microseconds, and the host's
/// numbers matter most.
constexpr std::size_t calibrating_bytes = std::size_t{32} << 10;

template <class Port>
class CollectiveSet {
 public:
  /// An algorithm with the port that it runs on (its wait policy is the spec's or the group's).
  struct Instance {
    std::unique_ptr<AnyCollective<Port>> algorithm;
    Port port;
    AlgorithmSpec spec;          ///< in effect for the group's shape
    SignatureWord by = 0;        ///< its Family::mark, for the signature of a call
    std::uint64_t last_use = 0;  ///< the owner's number of the last call that it served

    void operator()(const Call& call) { (*algorithm)(port, call); }
  };
  /// Makes an instance in fresh shared memory; all ranks call it in the same order. `spec` is effective.
  using Make = std::function<std::unique_ptr<Instance>(Operation, const AlgorithmSpec&)>;

  /// The buffers of algorithms that `auto` takes have at most `most` bytes, if their parameters allow that.
  CollectiveSet(const Shape& shape, Make make, std::size_t most = SIZE_MAX)
      : shape_(&shape), make_(std::move(make)), most_(most) {}

  /// The instance that serves such a call; null if no call has needed it yet.
  Instance* known(const CallFacts& facts) const {
    for (const Known& known : known_[static_cast<std::size_t>(facts.operation)])
      if (serves(known, facts)) return known.instance;
    return nullptr;
  }
  /// The last call of an operation, kept by the owner: the next call like it (call_signature::likeness) has
  /// the same instance and signature.
  struct Last {
    SignatureWord likeness = 0;  ///< 0: none
    std::size_t bytes = 0;
    Instance* instance = nullptr;
    SignatureWord signature = 0;
  };
  Last& last(Operation operation) { return last_[static_cast<std::size_t>(operation)]; }
  /// What will serve a call: an instance, or what is to be made.
  struct Found {
    Instance* instance;
    AlgorithmSpec effective;
    SignatureWord by;
    AlgorithmChoice choice;  ///< the set's own; its name is empty if the caller chose
  };
  /// The algorithm for such a call: `spec`, for this call only, unless that is null. Does not wait for other
  /// ranks. Throws ArgumentError if the algorithm selected or given cannot serve the call.
  Found find(const CallFacts& facts, const AlgorithmSpec* spec) const {
    if (spec == nullptr) {
      AlgorithmChoice choice = chosen(facts);
      if (choice.why.empty() || selected_[static_cast<std::size_t>(facts.operation)].name == choice.spec.name)
        family(facts.operation).check_fit(choice.spec, *shape_, facts);
      Found found = made(facts.operation, choice.spec);
      found.choice = std::move(choice);
      return found;
    }
    if (spec->is_auto()) return made(facts.operation, automatic(*spec, facts).spec);
    // A spec that was given before is found by comparison, in a tenth of the time of computing the values in
    // effect.
    for (const Given& one : given_[static_cast<std::size_t>(facts.operation)])
      if (one.kind == kind_of(facts) && one.spec == *spec)
        return Found{one.instance, AlgorithmSpec(), one.instance->by, AlgorithmChoice()};
    family(facts.operation).check_fit(*spec, *shape_, facts);  // by the call's kind, not by its size
    return made(facts.operation, *spec);
  }
  /// Whether the instance that serves such a call is to be chosen anew once the host's numbers are measured.
  bool awaits_numbers(const CallFacts& facts) const {
    if (!wants_numbers()) return false;
    for (const Known& known : known_[static_cast<std::size_t>(facts.operation)])
      if (serves(known, facts)) return known.awaits_numbers;
    return false;
  }
  /// Whether the host's numbers are still to be measured.
  bool wants_numbers() const { return shape_->host().state == HostNumbers::wanted; }
  /// Whether they are, and may change what was found.
  bool by_unmeasured(const Found& found) const { return wants_numbers() && !found.choice.numbers.empty(); }
  /// Forgets which instance serves which call: the host's numbers have changed.
  void choose_anew() {
    for (auto& known : known_) known.clear();
    last_.fill(Last());
  }
  /// The instance, made if need be, and remembered for calls like this one.
  Instance& take(const CallFacts& facts, const AlgorithmSpec* spec, Found& found) {
    if (found.instance == nullptr) {
      made_.emplace_back(key_of(facts.operation, found.effective), make_(facts.operation, found.effective));
      found.instance = made_.back().second.get();
      found.instance->by = found.by;
    }
    const auto o = static_cast<std::size_t>(facts.operation);
    if (!found.choice.spec.name.empty()) {
      if (known(facts) != nullptr) return *found.instance;  // a call that asked for the host's numbers
      // Until these are measured, small calls remember a choice made by them for small calls only.
      const bool small = by_unmeasured(found) && facts.bytes < calibrating_bytes;
      const std::size_t most = small ? calibrating_bytes - 1 : found.choice.most;
      known_[o].push_back(Known{found.choice.least, std::min(found.choice.most, most), kind_of(facts),
                                by_unmeasured(found) && !small, found.instance});
    } else if (!spec->is_auto() && !found.effective.name.empty()) {
      if (given_[o].size() == most_given) given_[o].erase(given_[o].begin());
      given_[o].push_back(Given{*spec, kind_of(facts), found.instance});
    }
    return *found.instance;
  }
  /// The instances in the order of making, each as the operation, a space and the spec in effect.
  std::vector<std::string> in_use() const {
    std::vector<std::string> names;
    for (const auto& made : made_) names.push_back(made.first);
    return names;
  }
  /// Sets what find takes from now on, `auto` or an algorithm, and the reason.
  void select(Operation operation, AlgorithmSpec spec, std::string why = "selected for the group") {
    const auto o = static_cast<std::size_t>(operation);
    known_[o].clear();
    last_[o] = Last();
    selected_[o] = std::move(spec);
    selected_why_[o] = std::move(why);
  }
  /// Ends every instance. The owner gives their shared memory back.
  void clear() {
    choose_anew();
    for (auto& given : given_) given.clear();
    made_.clear();
  }
  /// Ends one instance; a later call that it would serve makes another.
  void end(const Instance& one) {
    const auto of_this = [&one](const auto& found) { return found.instance == &one; };
    for (Last& last : last_)
      if (of_this(last)) last = Last();
    for (auto& known : known_) known.erase(std::remove_if(known.begin(), known.end(), of_this), known.end());
    for (auto& given : given_) given.erase(std::remove_if(given.begin(), given.end(), of_this), given.end());
    made_.erase(std::remove_if(made_.begin(), made_.end(),
                               [&one](const auto& made) { return made.second.get() == &one; }),
                made_.end());
  }
  /// The instance with this algorithm.
  Instance& instance_of(const AnyCollective<Port>& algorithm) const {
    for (const auto& made : made_)
      if (made.second->algorithm.get() == &algorithm) return *made.second;
    throw Error("an algorithm that is not in use");  // never: it is in a call
  }
  /// Whether `auto` serves the operation, by rules alone.
  bool by_rules(Operation operation) const {
    const AlgorithmSpec& selected = selected_[static_cast<std::size_t>(operation)];
    return (selected.name.empty() || selected.is_auto()) && shape_->tuning() == nullptr;
  }
  /// The algorithm that such a call would take, and why.
  AlgorithmChoice chosen(const CallFacts& facts) const {
    const auto o = static_cast<std::size_t>(facts.operation);
    if (!selected_[o].name.empty() && !selected_[o].is_auto()) return {selected_[o], selected_why_[o]};
    return automatic(selected_[o], facts);
  }

 private:
  AlgorithmChoice automatic(const AlgorithmSpec& asked, const CallFacts& facts) const {
    return automatic_choice(*shape_, asked_of(asked, facts), most_);
  }

  // What a choice may depend on, apart from the size.
  static unsigned kind_of(const CallFacts& f) {
    return (f.vector ? 1u : 0u) | (f.known ? 2u : 0u) | (f.commutative ? 4u : 0u) | (f.associative ? 8u : 0u);
  }
  struct Known {
    std::size_t least;
    std::size_t most;
    unsigned kind;
    bool awaits_numbers;
    Instance* instance;
  };
  static bool serves(const Known& known, const CallFacts& facts) {
    return facts.bytes >= known.least && facts.bytes <= known.most && known.kind == kind_of(facts);
  }
  // An instance that a caller chose.
  struct Given {
    AlgorithmSpec spec;
    unsigned kind;
    Instance* instance;
  };
  static constexpr std::size_t most_given = 16;  // per operation; callers use a few

  static std::string key_of(Operation operation, const AlgorithmSpec& effective) {
    return std::string(to_string(operation)) + " " + effective.text();
  }
  Found made(Operation operation, const AlgorithmSpec& spec) const {
    const Family& known = family(operation);
    Found found{nullptr, known.effective(spec, *shape_), 0, AlgorithmChoice()};
    found.by = known.mark(found.effective);
    const std::string key = key_of(operation, found.effective);
    for (const auto& made : made_)
      if (made.first == key) found.instance = made.second.get();
    return found;
  }

  std::array<Last, operations> last_;
  const Shape* shape_;
  Make make_;
  std::size_t most_;
  std::array<std::vector<Known>, operations> known_;
  std::array<std::vector<Given>, operations> given_;
  std::array<AlgorithmSpec, operations> selected_;
  std::array<std::string, operations> selected_why_;
  std::vector<std::pair<std::string, std::unique_ptr<Instance>>> made_;
};

}  // namespace phicoll
