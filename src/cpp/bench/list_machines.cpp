#include "bench/list_machines.hpp"

#include <cstdio>
#include <vector>

#include "phicoll/errors.hpp"

#ifdef PHICOLL_HAVE_SIM
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/machine/machine_listing.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/utf8.hpp"
#endif

namespace phicoll {
namespace bench {

#ifdef PHICOLL_HAVE_SIM

namespace {

JsonObject facts_of(const sim::Machine& machine) {
  JsonObject object;
  object.add("name", machine.name)
      .add("summary", machine.summary)
      .add("digest", machine.digest)
      .add("cores", machine.p.cores)
      .add("contexts", machine.contexts())
      .add("clock_mhz", machine.p.clock_mhz);
  return object;
}

std::string parameters_of(const sim::Machine& machine) {
  std::vector<std::string> parameters;
  for (const sim::MachineListing& line : sim::machine_listing(machine))
    parameters.push_back(JsonObject()
                             .add("name", line.info->name)
                             .raw("value", line.info->is_number() ? line.value : json_quote(line.value))
                             .add("unit", line.info->unit)
                             .add("range", line.info->range())
                             .add("kind", line.kind)
                             .add("source", line.source)
                             .add("meaning", line.info->meaning)
                             .text());
  return json_list(parameters);
}

void list_one(const sim::Machine& machine, bool as_json) {
  if (as_json) {
    std::puts(facts_of(machine).raw("parameters", parameters_of(machine)).text().c_str());
    return;
  }
  std::printf("%s\n%d cores, %d contexts, %d MHz; digest %s\n",
              printable_line(machine.name + ": " + machine.summary).c_str(), machine.p.cores,
              machine.contexts(), machine.p.clock_mhz, machine.digest.c_str());
  for (const sim::MachineListing& line : sim::machine_listing(machine)) {
    std::printf("%s = %s%s%s  (%s) %s\n", line.info->name.c_str(), printable_line(line.value).c_str(),
                line.info->unit.empty() ? "" : " ", line.info->unit.c_str(), line.kind.c_str(),
                line.info->meaning.c_str());
    if (!line.source.empty()) std::printf("    %s\n", printable_line(line.source).c_str());
  }
}

}  // namespace

void list_machines(const std::string& name, bool as_json) {
  if (!name.empty()) return list_one(sim::load_machine(name), as_json);
  std::vector<std::string> objects;
  for (const sim::Machine& machine : sim::shipped_machines()) {
    objects.push_back(facts_of(machine).text());
    if (!as_json)
      std::printf("%-22s %3d cores, %3d contexts  %s\n", machine.name.c_str(), machine.p.cores,
                  machine.contexts(), machine.summary.c_str());
  }
  if (as_json) std::puts(json_list(objects).c_str());
}

#else

void list_machines(const std::string&, bool) {
  throw ArgumentError("machine", "a phicoll-bench without simulated machines",
                      "one that was built for a host");
}

#endif

}  // namespace bench
}  // namespace phicoll
