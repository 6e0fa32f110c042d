#include "phicoll/kernels/kernel.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/kernels/run_kernel.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace kernels {

namespace {

template <class Kernel>
KernelInfo info_of() {
  typename Kernel::Parameters parameters;
  ParameterLister lister;
  Kernel::describe(lister, parameters);
  const KernelFacts facts = Kernel::facts();
  return {facts.name, facts.source, facts.summary, facts.sample, lister.infos};
}

template <class... Kernels>
std::vector<KernelInfo> infos_of(AlgorithmList<Kernels...>) {
  return {info_of<Kernels>()...};
}

const KernelInfo& find_kernel(const std::string& name) {
  std::string allowed;
  for (const KernelInfo& info : kernel_infos()) {
    if (info.name == name) return info;
    allowed += (allowed.empty() ? "" : ", ") + info.name;
  }
  throw ArgumentError("kernel", "'" + name + "'", allowed);
}

}  // namespace

const std::vector<KernelInfo>& kernel_infos() {
  static const std::vector<KernelInfo> infos = infos_of(KernelList());
  return infos;
}

std::string KernelSpec::text() const {
  std::string text = name;
  for (const auto& value : values) text += ":" + value.first + "=" + value.second;
  return text;
}

KernelSpec parse_kernel(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const KernelInfo& info = find_kernel(parts.at(0));
  ParameterValues given;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string name = parts[i].substr(0, equals);
    std::string allowed;
    bool known = false;
    for (const ParameterInfo& parameter : info.parameters) {
      known = known || parameter.name == name;
      allowed += (allowed.empty() ? "" : ", ") + parameter.name;
    }
    if (!known || equals == std::string::npos)
      throw ArgumentError(info.name, "'" + parts[i] + "'", "parameter=value with one of " + allowed);
    for (const auto& earlier : given)
      if (earlier.first == name) throw ArgumentError(info.name + ":" + name, "two values", "one");
    given.emplace_back(name, parts[i].substr(equals + 1));
  }
  KernelSpec spec;
  spec.name = info.name;
  spec.values = given;
  use_kernel(KernelList(), spec, [&spec](auto kernel, auto parameters) {
    ParameterLister lister;
    decltype(kernel)::describe(lister, parameters);
    spec.values = lister.values;
  });
  return spec;
}

bool asks_for_forward(const KernelSpec& spec) {
  for (const auto& value : spec.values)
    if ((value.first == "state" || value.first == "receive") && value.second == "F") return true;
  return false;
}

void check_kernel_ranks(const KernelSpec& spec, int ranks) {
  use_kernel(KernelList(), spec, [&spec, ranks](auto kernel, const auto& parameters) {
    const char* const allowed = decltype(kernel)::ranks_allowed(parameters, ranks);
    if (allowed != nullptr)
      throw ArgumentError("ranks", std::to_string(ranks), std::string(allowed) + " (" + spec.name + ")");
  });
}

std::size_t kernel_footprint(const KernelSpec& spec, int ranks) {
  std::size_t bytes = 0;
  use_kernel(KernelList(), spec, [&bytes, ranks](auto kernel, const auto& parameters) {
    bytes = decltype(kernel)::footprint(parameters, ranks);
  });
  return bytes;
}

std::string kernel_where(const KernelSpec& spec) {
  std::string where;
  use_kernel(KernelList(), spec,
             [&where](auto kernel, const auto& parameters) { where = decltype(kernel)::where(parameters); });
  return where;
}

int kernel_per_sample(const KernelSpec& spec, int ranks) {
  int per = 1;
  use_kernel(KernelList(), spec, [&per, ranks](auto kernel, const auto& parameters) {
    per = decltype(kernel)::per_sample(parameters, ranks);
  });
  return per;
}

std::size_t kernel_bytes(const KernelSpec& spec) {
  std::size_t bytes = 0;
  use_kernel(KernelList(), spec,
             [&bytes](auto kernel, const auto& parameters) { bytes = decltype(kernel)::bytes(parameters); });
  return bytes;
}

std::vector<double> KernelSamples::ns(int rank) const {
  std::vector<double> values;
  for (const std::int64_t ticks : ranks.at(static_cast<std::size_t>(rank)).ticks)
    values.push_back(static_cast<double>(ticks) * ns_per_tick / per_sample);
  return values;
}

double KernelSamples::empty_ns() const {
  std::vector<std::int64_t> all;
  for (const RankSamples& rank : ranks)
    if (!rank.ticks.empty()) all.insert(all.end(), rank.empty.begin(), rank.empty.end());
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return static_cast<double>(*middle) * ns_per_tick;
}

std::uint64_t KernelSamples::late() const {
  std::uint64_t sum = 0;
  for (const RankSamples& rank : ranks) sum += rank.late;
  return sum;
}

std::uint64_t KernelSamples::wrong() const {
  std::uint64_t sum = 0;
  for (const RankSamples& rank : ranks) sum += rank.wrong;
  return sum;
}

std::vector<double> KernelSamples::gigabytes_a_second() const {
  std::vector<double> rates;
  std::size_t samples = 0;
  std::size_t measuring = 0;
  for (const RankSamples& rank : ranks) {
    samples = std::max(samples, rank.ticks.size());
    if (!rank.ticks.empty()) ++measuring;
  }
  if (bytes == 0) return rates;
  for (std::size_t s = 0; s < samples; ++s) {
    std::int64_t slowest = 1;
    for (const RankSamples& rank : ranks)
      if (s < rank.ticks.size()) slowest = std::max(slowest, rank.ticks[s]);
    const double ns = static_cast<double>(slowest) * ns_per_tick / per_sample;
    rates.push_back(static_cast<double>(bytes * measuring) / ns);
  }
  return rates;
}

}  // namespace kernels
}  // namespace phicoll
