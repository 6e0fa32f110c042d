#include "bench/kernel_records.hpp"

namespace phicoll {
namespace bench {

using measure::JsonObject;

JsonObject kernel_fields(const KernelPoint& point, const kernels::KernelSamples& samples) {
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
      .add("machine", point.machine);
  if (point.machine_digest.empty())
    fields.null("machine_digest");
  else
    fields.add("machine_digest", point.machine_digest);
  fields.add("ranks", point.ranks)
      .add("where", point.where)
      .raw("cpus", measure::json_integers(point.contexts))
      .add("wait", point.wait)
      .add("samples", point.samples)
      .add("seed", point.seed)
      .add("ns_per_tick", samples.ns_per_tick, 9)
      .add("per_sample", samples.per_sample)
      .add("bytes", static_cast<std::uint64_t>(samples.bytes))
      .raw("gigabytes_a_second", measure::json_numbers(samples.gigabytes_a_second(), 4))
      .add("late", samples.late())
      .add("wrong", samples.wrong())
      .add("verified", samples.wrong() == 0);
  return fields;
}

JsonObject kernel_sample_fields(const KernelPoint& point, const kernels::KernelSamples& samples, int rank) {
  const kernels::RankSamples& mine = samples.ranks[static_cast<std::size_t>(rank)];
  std::vector<std::string> ticks;
  for (const std::int64_t value : mine.ticks) ticks.push_back(std::to_string(value));
  JsonObject fields;
  fields.add("point", point.number)
      .add("rank", rank)
      .raw("ticks", measure::json_list(ticks))
      .raw("ns", measure::json_numbers(samples.ns(rank), 2))
      .add("late", mine.late);
  return fields;
}

}  // namespace bench
}  // namespace phicoll
