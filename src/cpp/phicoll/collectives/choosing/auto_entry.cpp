#include <utility>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/families.hpp"

namespace phicoll {

namespace {

/// The parameters of `auto`, which only reductions have.
template <bool reduces, class Visitor>
void describe(Visitor& visitor, YesNo& reproducible) {
  if (reduces)
    describe_yes_no(visitor, reproducible_parameter, reproducible,
                    "operands are combined one by one from rank 0 on, where the order matters");
}

/// The value is there only where it is `yes`: `auto` without it is that of all other operations.
template <bool reduces>
AlgorithmSpec parse(const std::string& name, const ParameterValues& given) {
  ParameterParser parser(name, given);
  YesNo reproducible = YesNo::no;
  describe<reduces>(parser, reproducible);
  parser.refuse_unknown();
  AlgorithmSpec spec;
  spec.name = name;
  if (reproducible == YesNo::yes) spec.values = given;
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
      parse<false>, [](const AlgorithmSpec& spec, const Shape&) { return spec; },
      [](const AlgorithmSpec&, const Shape&) { return std::size_t{0}; },
      [](const AlgorithmSpec&, const Shape&, const CallFacts&) -> const char* { return nullptr; }};
  if (row_of(operation).reduces) {
    entry.parse = parse<true>;
    ParameterLister lister;
    YesNo reproducible = YesNo::no;
    describe<true>(lister, reproducible);
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
