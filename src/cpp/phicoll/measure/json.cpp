#include "phicoll/measure/json.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace phicoll {
namespace measure {

std::string json_quote(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string json_number(double value, int decimals) {
  if (!std::isfinite(value)) return "null";
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string result(text);
  if (result.find('.') != std::string::npos) {
    while (result.back() == '0') result.pop_back();
    if (result.back() == '.') result.pop_back();
  }
  return result == "-0" ? "0" : result;
}

JsonObject& JsonObject::raw(const std::string& name, const std::string& json) {
  if (!fields_.empty()) fields_ += ',';
  fields_ += json_quote(name);
  fields_ += ':';
  fields_ += json;
  return *this;
}

std::string json_list(const std::vector<std::string>& parts) {
  std::string result = "[";
  for (const std::string& part : parts) {
    if (result.size() > 1) result += ',';
    result += part;
  }
  return result + "]";
}

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) parts.push_back(json_quote(text));
  return json_list(parts);
}

std::string json_integers(const std::vector<int>& values) {
  std::vector<std::string> parts;
  for (const int value : values) parts.push_back(std::to_string(value));
  return json_list(parts);
}

std::string json_numbers(const std::vector<double>& values, int decimals) {
  std::string result = "[";
  for (const double value : values) {
    if (result.size() > 1) result += ',';
    result += json_number(value, decimals);
  }
  return result + "]";
}

namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : at_(text.c_str()), end_(at_ + text.size()) {}

  bool whole(JsonValue* value) {
    if (!parse(value, 0)) return false;
    blanks();
    return at_ == end_;
  }

 private:
  void blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool word(const char* expected) {
    const char* p = at_;
    for (; *expected != 0; ++expected, ++p)
      if (p == end_ || *p != *expected) return false;
    at_ = p;
    return true;
  }
  bool parse(JsonValue* value, int depth) {
    if (depth > 64) return false;
    blanks();
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        return parse_object(value, depth);
      case '[':
        return parse_list(value, depth);
      case '"':
        value->type = JsonValue::Type::string;
        return parse_string(&value->string);
      case 't':
        value->type = JsonValue::Type::boolean;
        value->boolean = true;
        return word("true");
      case 'f':
        value->type = JsonValue::Type::boolean;
        return word("false");
      case 'n':
        return word("null");
      default: {
        value->type = JsonValue::Type::number;
        char* after = nullptr;
        value->number = std::strtod(at_, &after);
        if (after == at_ || after > end_) return false;
        at_ = after;
        return true;
      }
    }
  }
  bool parse_object(JsonValue* value, int depth) {
    value->type = JsonValue::Type::object;
    ++at_;
    blanks();
    if (word("}")) return true;
    for (;;) {
      blanks();
      std::string name;
      if (at_ == end_ || *at_ != '"' || !parse_string(&name)) return false;
      blanks();
      if (!word(":")) return false;
      if (!parse(&value->object[name], depth + 1)) return false;
      blanks();
      if (word("}")) return true;
      if (!word(",")) return false;
    }
  }
  bool parse_list(JsonValue* value, int depth) {
    value->type = JsonValue::Type::list;
    ++at_;
    blanks();
    if (word("]")) return true;
    for (;;) {
      value->list.emplace_back();
      if (!parse(&value->list.back(), depth + 1)) return false;
      blanks();
      if (word("]")) return true;
      if (!word(",")) return false;
    }
  }
  bool parse_string(std::string* text) {
    ++at_;
    for (; at_ < end_; ++at_) {
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ != '\\') {
        *text += *at_;
        continue;
      }
      if (++at_ == end_) return false;
      switch (*at_) {
        case 'n':
          *text += '\n';
          break;
        case 't':
          *text += '\t';
          break;
        case 'r':
          *text += '\r';
          break;
        case 'b':
          *text += '\b';
          break;
        case 'f':
          *text += '\f';
          break;
        case 'u': {
          if (end_ - at_ < 5) return false;
          const unsigned long code = std::strtoul(std::string(at_ + 1, 4).c_str(), nullptr, 16);
          // UTF-8 of the basic plane; surrogate halves come out as such, which our own lines never hold.
          if (code < 0x80) {
            *text += static_cast<char>(code);
          } else if (code < 0x800) {
            *text += static_cast<char>(0xc0 | (code >> 6));
            *text += static_cast<char>(0x80 | (code & 0x3f));
          } else {
            *text += static_cast<char>(0xe0 | (code >> 12));
            *text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
            *text += static_cast<char>(0x80 | (code & 0x3f));
          }
          at_ += 4;
          break;
        }
        default:
          *text += *at_;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

}  // namespace

const JsonValue& JsonValue::operator[](const std::string& name) const {
  static const JsonValue absent;
  const auto found = object.find(name);
  return found == object.end() ? absent : found->second;
}

std::string JsonValue::text() const {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return boolean ? "true" : "false";
    case Type::number:
      return json_number(number, 9);
    case Type::string:
      return json_quote(string);
    case Type::list: {
      std::vector<std::string> parts;
      for (const JsonValue& value : list) parts.push_back(value.text());
      return json_list(parts);
    }
    case Type::object:
      break;
  }
  JsonObject result;
  for (const auto& member : object) result.raw(member.first, member.second.text());
  return result.text();
}

bool JsonValue::parse(const std::string& text, JsonValue* value) {
  *value = JsonValue();
  return Parser(text).whole(value);
}

}  // namespace measure
}  // namespace phicoll
