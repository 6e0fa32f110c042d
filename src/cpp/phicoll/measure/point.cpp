#include "phicoll/measure/point.hpp"

namespace phicoll {
namespace measure {

std::string values_json(const ParameterValues& values) {
  JsonObject object;
  for (const auto& value : values) {
    const bool digits =
        !value.second.empty() && value.second.find_first_not_of("0123456789") == std::string::npos;
    if (digits)
      object.raw(value.first, value.second);
    else
      object.add(value.first, value.second);
  }
  return object.text();
}

std::string parameter_value(const ParameterValues& values, const char* name, const char* otherwise) {
  for (const auto& value : values)
    if (value.first == name) return value.second;
  return otherwise;
}

std::string Point::title() const {
  return subject.work.before_algorithm() + subject.text() + " with " + std::to_string(ranks) + " ranks as " +
         mode;
}

JsonObject point_fields(const Point& point, const Shape& shape, const Settings& settings) {
  const Subject& subject = point.subject;
  JsonObject fields;
  fields.add("point", point.number).add("operation", subject.work.name()).add("algorithm", subject.info.name);
  fields.add("spec", subject.text());
  std::string wait = "none";
  std::string store = "plain";
  std::string chosen = "null";
  if (subject.reference) {
    fields.raw("parameters", values_json(subject.spec.values))
        .raw("effective", values_json(subject.spec.values));
  } else {
    const AlgorithmSpec effective = effective_subject(subject, shape);
    fields.raw("parameters", values_json(subject.spec.values))
        .raw("effective", values_json(effective.values));
    wait = effective.has_wait ? to_string(effective.wait) : settings.wait;
    store = parameter_value(effective.values, "store", "plain");
    if (subject.spec.is_auto())
      chosen = JsonObject().add("spec", effective.text()).add("why", choice_of(subject, shape).why).text();
  }
  fields.add("origin", to_string(subject.info.origin));
  fields.add("source",
             point.library.empty() ? subject.info.source : subject.info.source + ", " + point.library);
  fields.add("wait", wait).add("store", store).add("mode", point.mode).add("machine", "host");
  std::vector<int> cpus;
  for (const CpuLocation& place : shape.places()) cpus.push_back(place.cpu);
  fields.add("ranks", point.ranks)
      .raw("cpus", json_integers(cpus))
      .add("placement", settings.placement)
      .add("start", settings.start)
      .raw("observed_cpus", json_integers(point.observed))
      .add("oversubscribed", shape.oversubscribed())
      .add("size_bytes", subject.work.bytes)
      .raw("chosen", chosen);
  if (subject.work.moves_data()) {
    fields.add("buffers", subject.work.buffers());
    if (subject.work.reduces())
      fields.add("type", to_string(subject.work.type)).add("op", to_string(subject.work.op));
    fields.add("moved_bytes", moved_bytes(subject.work, point.ranks));
  }
  fields.add("verified", point.verified);
  JsonObject verification;
  verification.add("calls", point.verified_calls).add_if(!point.error.empty(), "error", point.error);
  fields.raw("verification", verification.text());
  return fields;
}

}  // namespace measure
}  // namespace phicoll
