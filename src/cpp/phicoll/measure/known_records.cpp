#include "phicoll/measure/known_records.hpp"

#include <algorithm>

namespace phicoll {
namespace measure {

namespace {

/// What tells a record from those that cannot be equal; all of a record without a place in the run.
std::string identity_of(const JsonValue& record) {
  const std::string& kind = record["kind"].string;
  std::string identity = kind + "\n" + record["run"].string;
  if (kind == "sample" || kind == "round" || kind == "point") {
    for (const char* const name : {"point", "launch", "round", "ranks"}) {
      const JsonValue& value = record[name];
      identity += "\n" + (value.is_null() ? std::string() : json_number(value.number));
    }
    const std::string& definition = record["definition"].string;
    identity += "\n" + record["mode"].string + "\n";
    return identity + (kind == "sample" && definition.empty() ? "loop" : definition);
  }
  return kind == "context" || kind == "end" ? identity : identity + "\n" + record.text();
}

}  // namespace

Known KnownRecords::add(const JsonValue& record) {
  std::vector<std::size_t>& places = places_[identity_of(record)];
  if (!places.empty()) {
    const std::string text = record.text();
    if (std::any_of(places.begin(), places.end(),
                    [&](std::size_t place) { return records_[place].text() == text; }))
      return Known::repeated;
    if (record["kind"].string == "sample") return Known::contradicted;
  }
  places.push_back(records_.size());
  return Known::is_new;
}

}  // namespace measure
}  // namespace phicoll
