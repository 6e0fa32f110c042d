#include "phicoll/sim/machine/machine_model.hpp"

#include <algorithm>
#include <cmath>

#include "phicoll/support/nearest.hpp"

namespace phicoll {
namespace sim {

namespace {

std::vector<ModelConstantInfo> all_constants() {
  std::vector<ModelConstantInfo> all;
  const auto add = [&](const std::string& name, const std::string& unit, const std::string& meaning,
                       bool may_be_negative = false) {
    ModelConstantInfo info;
    info.name = name;
    info.unit = unit;
    info.meaning = meaning;
    info.may_be_negative = may_be_negative;
    all.push_back(info);
  };
  add("line.local", "ns", "R_L: reading a line in the own core's cache");
  add("line.remote", "ns", "R_R: in another core's, whatever its state");
  add("line.memory", "ns", "R_I: in no cache");
  for (const char* state : {"M", "E", "S", "F"})
    add(std::string("line.remote.") + state, "ns", std::string("in another core's in state ") + state);
  for (const char* state : {"M", "E", "S", "F"})
    add(std::string("line.far.") + state, "ns", std::string("in another package in state ") + state);
  add("line.far.memory", "ns", "in another package's memory");
  add("overhead", "ns", "O: what a ping-pong takes beyond its reads", true);
  add("overhead.same-core", "ns", "O between two contexts of a core", true);
  for (const char* states : {"EE", "EI", "IE", "II"}) {
    const std::string multi = std::string("multi.") + states;
    add(multi + ".o", "ns", "of o N + q - p / N: each further line");
    add(multi + ".q", "ns", "of o N + q - p / N: the start", true);
    add(multi + ".p", "ns", "of o N + q - p / N: what the first lines share", true);
    const std::string contention = std::string("contention.") + states;
    add(contention + ".c", "ns", "of c n + b - a / n: each further reader of a line");
    add(contention + ".b", "ns", "of c n + b - a / n: the start", true);
    add(contention + ".a", "ns", "of c n + b - a / n: what the first readers share", true);
  }
  add("bandwidth.F", "1", "the factor of equation A.1");
  add("bandwidth.P", "1", "lines that a core asks for at once, of equation A.1");
  add("copy", "GB/s", "what a pair of ranks copies, of large messages");
  add("switch", "ns", "from one rank of a CPU to another");
  add("combine", "ns", "combining a line of one operand");
  return all;
}

}  // namespace

const std::vector<ModelConstantInfo>& model_constants() {
  static const std::vector<ModelConstantInfo> all = all_constants();
  return all;
}

const ModelConstantInfo* find_model_constant(const std::string& name) {
  for (const ModelConstantInfo& info : model_constants())
    if (info.name == name) return &info;
  return nullptr;
}

std::string nearest_model_constant(const std::string& name) {
  return nearest_item(name, model_constants());
}

LineCosts line_costs_of(const std::vector<ModelConstant>& model) {
  const LineCosts phi;
  const auto tenths = [&](const char* name) -> std::int64_t {
    for (const ModelConstant& one : model)
      if (one.name == name && one.known)
        return std::min<std::int64_t>(most_line_cost,
                                      std::max<std::int64_t>(1, std::llround(one.value * 10)));
    return 0;
  };
  LineCosts costs;
  costs.remote = 0;
  for (const bool assumed : {false, true})
    for (const char* name : {"line.remote", "line.remote.M"})
      for (const ModelConstant& one : model)
        if (costs.remote == 0 && one.name == name && one.known && (one.kind == "assumed") == assumed)
          costs.remote = tenths(name);
  if (costs.remote == 0) return phi;
  const auto or_as_on_phi = [&](const char* name, std::int64_t on_phi) {
    const std::int64_t found = tenths(name);
    return found != 0 ? found : std::max<std::int64_t>(1, on_phi * costs.remote / phi.remote);
  };
  costs.local = or_as_on_phi("line.local", phi.local);
  costs.memory = or_as_on_phi("line.memory", phi.memory);
  costs.contention = or_as_on_phi("contention.EE.c", phi.contention);
  costs.further_line = or_as_on_phi("multi.EE.o", phi.further_line);
  return costs;
}

}  // namespace sim
}  // namespace phicoll
