#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/families.hpp"

namespace phicoll {

Family::Entry auto_entry(Operation operation) {
  Family::Entry entry{
      AlgorithmInfo{auto_name,
                    Origin::phicoll,
                    "phicoll",
                    "for each call the one that a tuning table or rules take",
                    {}},
      [](const std::string& name, const ParameterValues& given) {
        ParameterParser(name, given).refuse_unknown();
        AlgorithmSpec spec;
        spec.name = name;
        return spec;
      },
      [](const AlgorithmSpec& spec, const Shape&) { return spec; },
      [](const AlgorithmSpec&, const Shape&) { return std::size_t{0}; },
      [](const AlgorithmSpec&, const Shape&, const CallFacts&) -> const char* { return nullptr; }};
  if (!moves_data(operation)) {
    entry.effective = [](const AlgorithmSpec& spec, const Shape& shape) {
      return in_effect(spec, shape, CallFacts());
    };
    entry.footprint = [](const AlgorithmSpec& spec, const Shape& shape) {
      return family(Operation::barrier).footprint(in_effect(spec, shape, CallFacts()), shape);
    };
  }
  return entry;
}

}  // namespace phicoll
