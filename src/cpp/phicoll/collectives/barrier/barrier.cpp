#include "phicoll/collectives/barrier/barrier.hpp"

#include "phicoll/collectives/barrier/registry.hpp"
#include "phicoll/collectives/barrier/sets.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/entries.hpp"

namespace phicoll {

namespace {

// A barrier fits every call of one.
const char* fits_always(const AlgorithmSpec&, const Shape&, const CallFacts&) {
  return nullptr;
}

template <class Algorithm>
Family::Entry barrier_entry_of() {
  return Family::Entry{entries::info_of<Algorithm>(), entries::parse_as<Algorithm>,
                       entries::effective_as<Algorithm>, entries::footprint_as<Algorithm>, fits_always};
}

template <class... Algorithms>
std::vector<Family::Entry> barrier_entries(AlgorithmList<Algorithms...>) {
  return {barrier_entry_of<Algorithms>()...};
}

AlgorithmSpec resolve_auto(const AlgorithmSpec& spec, const Shape& shape) {
  AlgorithmSpec chosen = effective_barrier(automatic_barrier(shape).spec, shape);
  chosen.wait_as(spec);
  return chosen;
}

std::size_t footprint_auto(const AlgorithmSpec&, const Shape& shape) {
  return barrier_footprint(automatic_barrier(shape).spec, shape);
}

}  // namespace

const Family& barrier_family() {
  static const Family barriers = [] {
    std::vector<Family::Entry> list = barrier_entries(BarrierList{});
    Family::Entry chosen = entries::auto_entry();
    chosen.info.summary = "the one that a tuning table or rules take for the group's shape";
    chosen.effective = resolve_auto;
    chosen.footprint = footprint_auto;
    list.push_back(std::move(chosen));
    return Family(Operation::barrier, std::move(list), all_barrier_sets());
  }();
  return barriers;
}

const std::vector<AlgorithmInfo>& barrier_algorithms() {
  return barrier_family().algorithms();
}

AlgorithmSpec parse_barrier(const std::string& text) {
  return barrier_family().parse(text);
}

std::vector<AlgorithmSpec> parse_barriers(const std::string& text) {
  return barrier_family().parse_list(text);
}

std::vector<std::string> barrier_sets() {
  return barrier_family().set_names();
}

AlgorithmSpec effective_barrier(const AlgorithmSpec& spec, const Shape& shape) {
  return barrier_family().effective(spec, shape);
}

std::size_t barrier_footprint(const AlgorithmSpec& spec, const Shape& shape) {
  return barrier_family().footprint(spec, shape);
}

}  // namespace phicoll
