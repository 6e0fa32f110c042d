#include "phicoll/collectives/registry/families.hpp"
#include "phicoll/collectives/contract/parameters.hpp"

#include "phicoll/collectives/choosing/automatic.hpp"

namespace phicoll {

const Family& family(Operation operation) {
  using Of = const Family& (*)();
  static constexpr Of families[operations] = {
      family_of<Operation::barrier>,       family_of<Operation::broadcast>, family_of<Operation::reduce>,
      family_of<Operation::allreduce>,     family_of<Operation::gather>,    family_of<Operation::scatter>,
      family_of<Operation::allgather>,     family_of<Operation::alltoall>,  family_of<Operation::scan>,
      family_of<Operation::reduce_scatter>};
  return families[static_cast<int>(operation)]();
}

Family::Entry auto_entry(Operation operation) {
  Family::Entry entry{
      AlgorithmInfo{
          "auto", Origin::phicoll, "phicoll", "for each call the one that a tuning table or rules take", {}},
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
