#include "bench/kernel_records.hpp"

namespace phicoll {
namespace bench {

namespace {

const char* const forward_on_host =
    "state F is what this machine's protocol makes of a line that its owner read last: MESIF has the state, "
    "in others the line is shared";

// The fields that say what was asked for, and where.
JsonObject asked_fields(const KernelPoint& point) {
  const kernels::KernelInfo* info = nullptr;
  for (const kernels::KernelInfo& one : kernels::kernel_infos())
    if (one.name == point.spec.name) info = &one;
  JsonObject parameters;
  for (const auto& value : point.spec.values) parameters.add(value.first, value.second);
  JsonObject fields;
  fields.add("point", point.number)
      .add("kernel", point.spec.name)
      .add("spec", point.spec.text())
      .raw("parameters", parameters.text())
      .add("source", info->source)
      .add("sample_is", info->sample)
      .add("mode", point.mode)
      .add("machine", point.machine)
      .add_if(!point.machine_digest.empty(), "machine_digest", point.machine_digest)
      .add("ranks", point.ranks)
      .add("where", point.where)
      .raw("cpus", json_integers(point.contexts))
      .add("wait", point.wait)
      .add("samples", point.samples)
      .add("seed", point.seed);
  return fields;
}

}  // namespace

JsonObject skipped_fields(const KernelPoint& point) {
  return asked_fields(point).add("skipped", point.skipped);
}

JsonObject kernel_fields(const KernelPoint& point, const kernels::KernelSamples& samples) {
  JsonObject fields = asked_fields(point);
  if (point.machine == "host" && kernels::asks_for_forward(point.spec)) fields.add("note", forward_on_host);
  fields.add("ns_per_tick", samples.ns_per_tick, 9)
      .add("per_sample", samples.per_sample)
      .add("empty_ns", samples.empty_ns(), 2)
      .add("bytes", static_cast<std::uint64_t>(samples.bytes))
      .raw("gigabytes_a_second", json_numbers(samples.gigabytes_a_second(), 4))
      .add("late", samples.late())
      .add("wrong", samples.wrong())
      .add("verified", samples.wrong() == 0);
  return fields;
}

JsonObject kernel_sample_fields(const KernelPoint& point, const kernels::KernelSamples& samples, int rank) {
  const kernels::RankSamples& mine = samples.ranks[static_cast<std::size_t>(rank)];
  const auto list = [](const std::vector<std::int64_t>& values) {
    std::vector<std::string> texts;
    for (const std::int64_t value : values) texts.push_back(std::to_string(value));
    return json_list(texts);
  };
  JsonObject fields;
  fields.add("point", point.number)
      .add("rank", rank)
      .raw("ticks", list(mine.ticks))
      .raw("ns", json_numbers(samples.ns(rank), 2))
      .raw("empty_ticks", list(mine.empty))
      .add("late", mine.late);
  return fields;
}

}  // namespace bench
}  // namespace phicoll
