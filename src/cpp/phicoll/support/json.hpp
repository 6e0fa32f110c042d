#pragma once

// JSON for records and machine files: writes one object per line, and reads such lines and files that people
// edit, with the line of an error. No dependency, so that the card's build can write records too.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace phicoll {

/// Quoted; control characters are escaped, all else above 127 is passed on (UTF-8).
std::string json_quote(const std::string& text);
/// Shortest of at most `decimals` decimals; `null` for NaN and infinities.
std::string json_number(double value, int decimals = 3);

/// Builds `{"a":1,...}`; each `add` is one field. `raw` takes JSON text.
class JsonObject {
 public:
  JsonObject& raw(const std::string& name, const std::string& json);
  JsonObject& add(const std::string& name, const std::string& text) { return raw(name, json_quote(text)); }
  JsonObject& add(const std::string& name, const char* text) { return raw(name, json_quote(text)); }
  JsonObject& add(const std::string& name, bool value) { return raw(name, value ? "true" : "false"); }
  JsonObject& add(const std::string& name, double value, int decimals = 3) {
    return raw(name, json_number(value, decimals));
  }
  JsonObject& add(const std::string& name, std::int64_t value) { return raw(name, std::to_string(value)); }
  JsonObject& add(const std::string& name, std::uint64_t value) { return raw(name, std::to_string(value)); }
  JsonObject& add(const std::string& name, int value) { return raw(name, std::to_string(value)); }
  JsonObject& null(const std::string& name) { return raw(name, "null"); }
  /// The value, or null if it is not known.
  template <class... Value>
  JsonObject& add_if(bool known, const std::string& name, const Value&... value) {
    return known ? add(name, value...) : null(name);
  }
  std::string text() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

std::string json_list(const std::vector<std::string>& parts);  ///< of JSON texts
std::string json_strings(const std::vector<std::string>& texts);
std::string json_integers(const std::vector<int>& values);
std::string json_numbers(const std::vector<double>& values, int decimals = 3);

/// The most values in a text that is parsed: each takes 60 times the memory of "0,". A window of 1,000 calls
/// of 1,024 ranks has half as many.
constexpr std::size_t json_most_values = std::size_t{4} << 20;

/// A fault in the text, and its line.
struct JsonFault {
  int line = 0;  ///< from 1
  std::string what;
};

/// A parsed value. Absent members and wrong types read as null, 0, "" or empty.
class JsonValue {
 public:
  enum class Type { null, boolean, number, string, list, object };
  Type type = Type::null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<JsonValue> list;
  std::map<std::string, JsonValue> object;
  int line = 0;  ///< where it begins, from 1; 0 for a value that was not parsed

  bool is_null() const { return type == Type::null; }
  const JsonValue& operator[](const std::string& name) const;
  /// Compact text with members in the order of their names: equal values have equal texts.
  std::string text() const;

  /// Returns false for anything that is not one whole JSON value, that holds a member twice or more than
  /// json_most_values; `fault`, if given, gets what is wrong and where.
  static bool parse(const std::string& text, JsonValue* value, JsonFault* fault = nullptr);
};

}  // namespace phicoll
