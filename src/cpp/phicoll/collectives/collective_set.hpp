#pragma once

// One rank's algorithms for the operations that move data: which serves a call, made at first use. The same
// on a native and on a simulated rank; the way to shared memory is the owner's.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/automatic.hpp"
#include "phicoll/collectives/family.hpp"
#include "phicoll/collectives/make.hpp"
#include "phicoll/collectives/operation.hpp"

namespace phicoll {

template <class Port>
class CollectiveSet {
 public:
  /// An algorithm with the port that it runs on (its wait policy is the spec's or the group's).
  struct Instance {
    std::unique_ptr<AnyCollective<Port>> algorithm;
    Port port;
    AlgorithmSpec spec;          ///< in effect for the group's shape
    std::uint64_t last_use = 0;  ///< the owner's number of the last call that it served

    void operator()(const Call& call) { (*algorithm)(port, call); }
  };
  /// Makes an instance in fresh shared memory; all ranks call it in the same order. `spec` is effective.
  using Make = std::function<std::unique_ptr<Instance>(Operation, const AlgorithmSpec&)>;

  /// What `auto` takes has buffers of at most `most` bytes, as far as its parameters reach.
  CollectiveSet(const Shape& shape, Make make, std::size_t most = SIZE_MAX)
      : shape_(&shape), make_(std::move(make)), most_(most) {}

  /// The instance that serves such a call, null where no call has needed it yet.
  Instance* known(const CallFacts& facts) const {
    for (const Known& known : known_[static_cast<std::size_t>(facts.operation)])
      if (facts.bytes >= known.least && facts.bytes <= known.most && known.kind == kind_of(facts))
        return known.instance;
    return nullptr;
  }
  /// The same, made if need be. Throws ArgumentError if what was selected cannot serve it.
  Instance& find(const CallFacts& facts) {
    Instance* const found = known(facts);
    return found != nullptr ? *found : resolve(facts);
  }
  /// The same for an algorithm of the caller's choice, this time only. What was asked for before is found by
  /// comparing specs, which takes a tenth of working out what is in effect.
  Instance& find(const CallFacts& facts, const AlgorithmSpec& spec) {
    if (spec.name == "auto") return instance_of(facts.operation, automatic(facts).spec);
    std::vector<Given>& given = given_[static_cast<std::size_t>(facts.operation)];
    for (const Given& one : given)
      if (one.kind == kind_of(facts) && one.spec == spec) return *one.instance;
    family(facts.operation)
        .check_fit(spec, *shape_, facts);  // hangs on the kind of the call, not on its size
    Instance& instance = instance_of(facts.operation, spec);
    if (given.size() == most_given) given.erase(given.begin());
    given.push_back(Given{spec, kind_of(facts), &instance});
    return instance;
  }
  /// Those that were made and have not ended: operation, a space, the spec in effect; in the order of making.
  std::vector<std::string> in_use() const {
    std::vector<std::string> names;
    for (const auto& made : made_) names.push_back(made.first);
    return names;
  }
  /// What find takes from now on, `auto` or an algorithm, and by whose choice.
  void select(Operation operation, AlgorithmSpec spec, std::string why = "selected for the group") {
    const auto o = static_cast<std::size_t>(operation);
    known_[o].clear();
    selected_[o] = std::move(spec);
    selected_why_[o] = std::move(why);
  }
  /// Ends every instance. Its shared memory is the owner's to give back.
  void clear() {
    for (auto& known : known_) known.clear();
    for (auto& given : given_) given.clear();
    made_.clear();
  }
  /// Ends one of them; a later call that it would serve makes another.
  void end(const Instance& one) {
    const auto of_this = [&one](const auto& found) { return found.instance == &one; };
    for (auto& known : known_) known.erase(std::remove_if(known.begin(), known.end(), of_this), known.end());
    for (auto& given : given_) given.erase(std::remove_if(given.begin(), given.end(), of_this), given.end());
    made_.erase(std::remove_if(made_.begin(), made_.end(),
                               [&one](const auto& made) { return made.second.get() == &one; }),
                made_.end());
  }
  /// What would be taken for such a call, and why.
  AlgorithmChoice chosen(const CallFacts& facts) const {
    const auto o = static_cast<std::size_t>(facts.operation);
    if (!selected_[o].name.empty() && selected_[o].name != "auto") return {selected_[o], selected_why_[o]};
    return automatic(facts);
  }

 private:
  AlgorithmChoice automatic(const CallFacts& facts) const { return automatic_choice(*shape_, facts, most_); }

  // Beside the size: what else a choice may hang on.
  static unsigned kind_of(const CallFacts& f) {
    return (f.vector ? 1u : 0u) | (f.known ? 2u : 0u) | (f.commutative ? 4u : 0u) | (f.associative ? 8u : 0u);
  }
  struct Known {
    std::size_t least;
    std::size_t most;
    unsigned kind;
    Instance* instance;
  };
  // What callers chose themselves.
  struct Given {
    AlgorithmSpec spec;
    unsigned kind;
    Instance* instance;
  };
  static constexpr std::size_t most_given = 16;  // of an operation; a caller has a few

  [[gnu::noinline, gnu::cold]] Instance& resolve(const CallFacts& facts) {
    const AlgorithmChoice choice = chosen(facts);
    if (choice.why.empty() || selected_[static_cast<std::size_t>(facts.operation)].name == choice.spec.name)
      family(facts.operation).check_fit(choice.spec, *shape_, facts);
    Instance& instance = instance_of(facts.operation, choice.spec);
    known_[static_cast<std::size_t>(facts.operation)].push_back(
        Known{choice.least, choice.most, kind_of(facts), &instance});
    return instance;
  }
  Instance& instance_of(Operation operation, const AlgorithmSpec& spec) {
    const AlgorithmSpec effective = family(operation).effective(spec, *shape_);
    std::string key = std::string(to_string(operation)) + " " + effective.text();
    for (auto& made : made_)
      if (made.first == key) return *made.second;
    made_.emplace_back(std::move(key), make_(operation, effective));
    return *made_.back().second;
  }

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
