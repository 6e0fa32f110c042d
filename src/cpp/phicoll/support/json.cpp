#include "phicoll/support/json.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "phicoll/support/utf8.hpp"

namespace phicoll {

std::string json_quote(const std::string& text) {
  std::string result = "\"";
  const auto control = [&result](unsigned code) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
    result += escaped;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7f) {
      control(code);
    } else if (code == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, which terminals obey
      control(next);
      ++i;
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
    return at_ == end_ || fail("more after the end");
  }
  const JsonFault& fault() const { return fault_; }

 private:
  /// Remembers the first fault, which is the innermost.
  bool fail(const std::string& what) {
    if (fault_.line == 0) {
      fault_.line = line_;
      fault_.what = what;
    }
    return false;
  }
  void blanks() {
    for (; at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r'); ++at_)
      if (*at_ == '\n') ++line_;
  }
  bool word(const char* expected) {
    const char* p = at_;
    for (; *expected != 0; ++expected, ++p)
      if (p == end_ || *p != *expected) return false;
    at_ = p;
    return true;
  }
  bool parse(JsonValue* value, int depth) {
    if (depth > 64) return fail("nested too deeply");
    if (++values_ > json_most_values)
      return fail("more than " + std::to_string(json_most_values) + " values");
    blanks();
    if (at_ == end_) return fail("the text ends where a value is expected");
    value->line = line_;
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
        return word("true") || fail("a value is expected");
      case 'f':
        value->type = JsonValue::Type::boolean;
        return word("false") || fail("a value is expected");
      case 'n':
        return word("null") || fail("a value is expected");
      default:
        return parse_number(value);
    }
  }
  bool parse_number(JsonValue* value) {
    value->type = JsonValue::Type::number;
    const std::size_t length = std::strspn(at_, "+-.0123456789eE");  // strtod alone takes 0x10 and inf too
    char* after = nullptr;
    value->number = std::strtod(at_, &after);
    if (length == 0 || *at_ == '+' || after != at_ + length || after > end_)
      return fail("a value is expected");
    if (!std::isfinite(value->number)) return fail("a number out of range");
    at_ = after;
    return true;
  }
  bool parse_object(JsonValue* value, int depth) {
    value->type = JsonValue::Type::object;
    ++at_;
    blanks();
    if (word("}")) return true;
    for (;;) {
      blanks();
      std::string name;
      if (at_ == end_ || *at_ != '"') return fail("a field's name in quotes is expected");
      if (!parse_string(&name)) return false;
      blanks();
      if (!word(":")) return fail("':' is expected after \"" + name + "\"");
      if (value->object.count(name) != 0) return fail("\"" + name + "\" for the second time");
      if (!parse(&value->object[name], depth + 1)) return false;
      blanks();
      if (word("}")) return true;
      if (!word(",")) return fail("',' or '}' is expected after the value of \"" + name + "\"");
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
      if (!word(",")) return fail("',' or ']' is expected");
    }
  }
  /// The four digits after the u at `at_`, which is moved to the last of them.
  bool parse_unit(unsigned long* code) {
    const char* const digits = at_ + 1;
    if (end_ - digits < 4 || std::strspn(digits, "0123456789abcdefABCDEF") < 4)
      return fail("\\u without four digits");
    *code = std::strtoul(std::string(digits, 4).c_str(), nullptr, 16);
    at_ += 4;
    return true;
  }
  bool parse_string(std::string* text) {
    ++at_;
    for (; at_ < end_; ++at_) {
      if (*at_ == '"') {
        ++at_;
        return utf8_prefix(*text) == text->size() || fail("a text that is not UTF-8");
      }
      if (*at_ == '\n') return fail("a text without its closing quote");
      if (*at_ != '\\') {
        *text += *at_;
        continue;
      }
      if (++at_ == end_) break;
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
          unsigned long code = 0, low = 0;
          if (!parse_unit(&code)) return false;
          if (code >= 0xd800 && code < 0xdc00) {  // the first half of a code point above 0xffff
            ++at_;
            if (!word("\\") || at_ == end_ || *at_ != 'u') return fail("half a surrogate pair");
            if (!parse_unit(&low)) return false;
            if (low < 0xdc00 || low > 0xdfff) return fail("half a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          }
          append_utf8(text, code);
          break;
        }
        default:
          *text += *at_;
      }
    }
    return fail("a text without its closing quote");
  }

  const char* at_;
  const char* end_;
  int line_ = 1;
  std::size_t values_ = 0;
  JsonFault fault_;
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

bool JsonValue::parse(const std::string& text, JsonValue* value, JsonFault* fault) {
  *value = JsonValue();
  Parser parser(text);
  const bool good = parser.whole(value);
  if (!good && fault != nullptr) *fault = parser.fault();
  return good;
}

}  // namespace phicoll
