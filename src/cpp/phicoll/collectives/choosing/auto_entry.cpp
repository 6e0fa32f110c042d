#include <utility>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/families.hpp"

namespace phicoll {

namespace {

enum class Reproducible : unsigned char { no, yes };

template <class Visitor>
void describe(Visitor& visitor, Reproducible& reproducible) {
  visitor.choice(reproducible_parameter, reproducible, {"no", "yes"},
                 "operands are combined one by one from rank 0 on, where the order matters");
}

/// The value is there only where it is `yes`: `auto` without it is that of all other operations.
AlgorithmSpec parse_reducing(const std::string& name, const ParameterValues& given) {
  ParameterParser parser(name, given);
  Reproducible reproducible = Reproducible::no;
  describe(parser, reproducible);
  parser.refuse_unknown();
  AlgorithmSpec spec;
  spec.name = name;
  if (reproducible == Reproducible::yes) spec.values = {{reproducible_parameter, "yes"}};
  return spec;
}

}  // namespace

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
  if (row_of(operation).reduces) {
    entry.parse = parse_reducing;
    ParameterLister lister;
    Reproducible reproducible = Reproducible::no;
    describe(lister, reproducible);
    entry.info.parameters = std::move(lister.infos);
  }
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
