#include "phicoll/measure/record_schema.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace phicoll {
namespace measure {

namespace {

using FieldType = JsonValue::Type;

enum class Is {
  text,
  whole,   ///< from 0 on
  count,   ///< from 1 on
  number,  ///< of any sign
  amount,  ///< from 0 on: times, sizes
  flag,
  amounts,  ///< a list of at least one
  wholes,   ///< a list
  object
};

enum class Need { required, may_be_absent, may_be_null };

struct Field {
  const char* kind;  ///< "": of every kind
  const char* name;
  Is is;
  Need need;
};

/// The longest list: the calls of a window are at most 100,000.
constexpr std::size_t most_listed = std::size_t{1} << 20;

constexpr Field schema_fields[] = {
    {"", "schema", Is::whole, Need::required},
    {"", "kind", Is::text, Need::required},
    {"", "run", Is::text, Need::may_be_absent},
    {"context", "seed", Is::number, Need::may_be_null},
    {"context", "settings", Is::object, Need::may_be_null},
    {"point", "point", Is::whole, Need::required},
    {"point", "operation", Is::text, Need::may_be_absent},
    {"point", "algorithm", Is::text, Need::required},
    {"point", "spec", Is::text, Need::may_be_null},
    {"point", "mode", Is::text, Need::required},
    {"point", "machine", Is::text, Need::may_be_absent},
    {"point", "placement", Is::text, Need::may_be_null},
    {"point", "ranks", Is::count, Need::required},
    {"point", "size_bytes", Is::amount, Need::may_be_null},
    {"point", "buffers", Is::text, Need::may_be_null},
    {"point", "type", Is::text, Need::may_be_null},
    {"point", "op", Is::text, Need::may_be_null},
    {"point", "oversubscribed", Is::flag, Need::may_be_null},
    {"point", "verified", Is::flag, Need::may_be_null},
    {"point", "verification", Is::object, Need::may_be_null},
    {"point", "machine_digest", Is::text, Need::may_be_null},
    {"point", "clock_mhz", Is::amount, Need::may_be_null},
    {"point", "moved_bytes", Is::amount, Need::may_be_null},
    {"point", "start", Is::text, Need::may_be_null},
    {"point", "wait", Is::text, Need::may_be_null},
    {"point", "store", Is::text, Need::may_be_null},
    {"point", "cpus", Is::wholes, Need::may_be_null},
    {"round", "mode", Is::text, Need::required},
    {"round", "ranks", Is::count, Need::required},
    {"round", "launch", Is::whole, Need::required},
    {"round", "round", Is::whole, Need::required},
    {"round", "place", Is::whole, Need::may_be_null},
    {"round", "label", Is::text, Need::may_be_null},
    {"round", "t_s", Is::amount, Need::may_be_null},
    {"round", "local_ns", Is::amount, Need::may_be_null},
    {"round", "read_ns", Is::amount, Need::may_be_null},
    {"round", "pingpong_ns", Is::amount, Need::may_be_null},
    {"round", "switch_ns", Is::amount, Need::may_be_null},
    {"round", "empty_ns", Is::amount, Need::may_be_null},
    {"sample", "point", Is::whole, Need::required},
    {"sample", "launch", Is::whole, Need::required},
    {"sample", "round", Is::whole, Need::required},
    {"sample", "order", Is::whole, Need::may_be_absent},
    {"sample", "definition", Is::text, Need::may_be_absent},
    {"sample", "calls", Is::count, Need::may_be_absent},
    {"sample", "capped", Is::flag, Need::may_be_absent},
    {"sample", "ns", Is::amounts, Need::required},
    {"sample", "value_ns", Is::amount, Need::may_be_absent},
    {"sample", "value_cycles", Is::amount, Need::may_be_absent},
    {"sample", "delay_ns", Is::amount, Need::may_be_absent},
    {"sample", "imbalance_ns", Is::amount, Need::may_be_absent},
    {"sample", "late", Is::whole, Need::may_be_absent},
    {"end", "reason", Is::text, Need::may_be_absent},
    {"end", "elapsed_s", Is::amount, Need::may_be_null},
    {"end", "steal_share", Is::number, Need::may_be_null},
    {"end", "error", Is::text, Need::may_be_null},
};

/// Seeds are the largest of our numbers.
bool is_number(const JsonValue& value) {
  return value.type == FieldType::number && std::abs(value.number) < 18446744073709551616.0;
}

bool is_amount(const JsonValue& value) {
  return is_number(value) && value.number >= 0;
}

bool is_whole(const JsonValue& value) {
  return is_amount(value) && value.number <= std::numeric_limits<int>::max() &&
         std::floor(value.number) == value.number;
}

bool is_list(const JsonValue& value, bool (*fits)(const JsonValue&)) {
  return value.type == FieldType::list && value.list.size() <= most_listed &&
         std::all_of(value.list.begin(), value.list.end(), fits);
}

bool fits(const JsonValue& value, Is is) {
  switch (is) {
    case Is::text:
      return value.type == FieldType::string;
    case Is::whole:
      return is_whole(value);
    case Is::count:
      return is_whole(value) && value.number >= 1;
    case Is::number:
      return is_number(value);
    case Is::amount:
      return is_amount(value);
    case Is::flag:
      return value.type == FieldType::boolean;
    case Is::amounts:
      return is_list(value, is_amount) && !value.list.empty();
    case Is::wholes:
      return is_list(value, is_whole);
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
      return "not a whole number from 0 on";
    case Is::count:
      return "not a whole number from 1 on";
    case Is::number:
      return "not a number";
    case Is::amount:
      return "not a number from 0 on";
    case Is::flag:
      return "neither true nor false";
    case Is::amounts:
      return "not a list of 1 to 1,048,576 numbers from 0 on";
    case Is::wholes:
      return "not a list of at most 1,048,576 whole numbers";
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
    const bool absent = record.object.count(field.name) == 0;
    if (value.is_null() && (absent ? field.need != Need::required : field.need == Need::may_be_null))
      continue;
    if (absent) return "no field '" + std::string(field.name) + "'";
    if (!fits(value, field.is)) return "'" + std::string(field.name) + "' is " + words_of(field.is);
  }
  return "";
}

}  // namespace measure
}  // namespace phicoll
