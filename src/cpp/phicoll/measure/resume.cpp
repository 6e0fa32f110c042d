#include "phicoll/measure/resume.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/os/facts.hpp"

namespace phicoll {
namespace measure {

namespace {

// Throws if `context` is of a run that another host measured. Such a context names its host. A cluster names
// this host, too, as its points have the name.
void check_host(const JsonValue& context) {
  if (context["clock"]["source"].string == "simulated") return;
  const std::string& name = context["host"]["name"].string;
  if (!name.empty())
    throw ArgumentError("resume", "a run of the host '" + name + "'",
                        "a run of this host, or --host " + name + "; another run is appended without it");
  const std::string& before = context["host"]["cpu_model"].string;
  const std::string here = os::cpu_model();
  if (!before.empty() && before != here)
    throw ArgumentError("resume", "a run of a host with another CPU, '" + before + "'",
                        "a run of this host, '" + here + "'; another run is appended without it");
}

}  // namespace

std::string run_to_resume(const RecordLines& file, const std::string& settings, std::uint64_t* seed,
                          bool seed_given) {
  const JsonValue* context = nullptr;
  for (const JsonValue& record : file.records)
    if (record["kind"].string == "context") context = &record;
  if (context == nullptr) throw ArgumentError("resume", "a file without a run", "a results file of phicoll");
  check_host(*context);
  const auto file_seed = static_cast<std::uint64_t>((*context)["seed"].number);
  if (!seed_given) *seed = file_seed;
  if (*seed != file_seed)
    throw ArgumentError("seed", std::to_string(*seed),
                        std::to_string(file_seed) + ", as the run to resume has it");
  JsonValue ours;
  JsonValue::parse(settings, &ours);
  const JsonValue& theirs = (*context)["settings"];
  const auto check = [&](const std::string& name) {
    const std::string before = theirs[name].text();
    if (before != ours[name].text())
      throw ArgumentError(name, ours[name].text(), before + ", as the run to resume has it");
  };
  check("modes");  // first, since a simulated run has different settings
  for (const auto& member : ours.object)
    if (member.first != "budget_s" && member.first != "target_width") check(member.first);
  return (*context)["run"].string;
}

}  // namespace measure
}  // namespace phicoll
