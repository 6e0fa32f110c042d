#include "phicoll/measure/record_schema.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace phicoll {
namespace measure {

namespace {

using FieldType = JsonValue::Type;

enum class Is { text, whole, number, flag, numbers, object };

struct Field {
  const char* kind;  ///< "": of every kind
  const char* name;
  Is is;
  bool required;
};

constexpr Field schema_fields[] = {
    {"", "schema", Is::whole, true},
    {"", "kind", Is::text, true},
    {"", "run", Is::text, false},
    {"context", "seed", Is::number, false},
    {"context", "settings", Is::object, false},
    {"point", "point", Is::whole, true},
    {"point", "operation", Is::text, false},
    {"point", "algorithm", Is::text, true},
    {"point", "spec", Is::text, false},
    {"point", "mode", Is::text, true},
    {"point", "machine", Is::text, false},
    {"point", "placement", Is::text, false},
    {"point", "ranks", Is::whole, true},
    {"point", "size_bytes", Is::number, false},
    {"point", "buffers", Is::text, false},
    {"point", "type", Is::text, false},
    {"point", "op", Is::text, false},
    {"point", "oversubscribed", Is::flag, false},
    {"point", "verified", Is::flag, false},
    {"point", "verification", Is::object, false},
    {"point", "machine_digest", Is::text, false},
    {"point", "start", Is::text, false},
    {"point", "wait", Is::text, false},
    {"point", "store", Is::text, false},
    {"point", "cpus", Is::numbers, false},
    {"round", "mode", Is::text, true},
    {"round", "ranks", Is::whole, true},
    {"round", "launch", Is::whole, true},
    {"round", "round", Is::whole, true},
    {"round", "label", Is::text, false},
    {"round", "t_s", Is::number, false},
    {"round", "pingpong_ns", Is::number, false},
    {"round", "switch_ns", Is::number, false},
    {"sample", "point", Is::whole, true},
    {"sample", "launch", Is::whole, true},
    {"sample", "round", Is::whole, true},
    {"sample", "definition", Is::text, false},
    {"sample", "ns", Is::numbers, true},
    {"sample", "value_ns", Is::number, false},
    {"sample", "value_cycles", Is::number, false},
    {"sample", "delay_ns", Is::number, false},
    {"sample", "imbalance_ns", Is::number, false},
    {"end", "elapsed_s", Is::number, false},
};

/// Seeds are the largest of our numbers.
bool is_number(const JsonValue& value) {
  return value.type == FieldType::number && std::abs(value.number) < 18446744073709551616.0;
}

bool fits(const JsonValue& value, Is is) {
  switch (is) {
    case Is::text:
      return value.type == FieldType::string;
    case Is::whole:
      return is_number(value) && value.number >= 0 && value.number <= std::numeric_limits<int>::max() &&
             std::floor(value.number) == value.number;
    case Is::number:
      return is_number(value);
    case Is::flag:
      return value.type == FieldType::boolean;
    case Is::numbers:
      return value.type == FieldType::list && std::all_of(value.list.begin(), value.list.end(), is_number);
    case Is::object:
      break;
  }
  return value.type == FieldType::object;
}

const char* words_of(Is is) {
  switch (is) {
    case Is::text:
      return "not a text";
    case Is::whole:
      return "not a whole number";
    case Is::number:
      return "not a number";
    case Is::flag:
      return "neither true nor false";
    case Is::numbers:
      return "not a list of numbers";
    case Is::object:
      break;
  }
  return "not an object";
}

}  // namespace

std::string record_fault(const JsonValue& record) {
  if (record.type != FieldType::object) return "not an object";
  for (const Field& field : schema_fields) {
    if (*field.kind != 0 && record["kind"].string != field.kind) continue;
    const JsonValue& value = record[field.name];
    if (value.is_null() && !field.required) continue;
    if (record.object.count(field.name) == 0) return "no field '" + std::string(field.name) + "'";
    if (!fits(value, field.is)) return "'" + std::string(field.name) + "' is " + words_of(field.is);
  }
  return "";
}

}  // namespace measure
}  // namespace phicoll
