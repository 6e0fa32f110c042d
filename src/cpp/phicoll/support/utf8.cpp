#include "phicoll/support/utf8.hpp"

namespace phicoll {

std::size_t utf8_prefix(const std::string& text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4) return at;
    // The second byte decides overlong forms, surrogates and what is above 0x10ffff.
    const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(at + 1) < least || byte(at + 1) > most) return at;
    for (std::size_t i = 2; i <= more; ++i)
      if ((byte(at + i) & 0xc0) != 0x80) return at;
    at += more + 1;
  }
  return at;
}

void append_utf8(std::string* text, unsigned long code) {
  const auto put = [&](unsigned long byte) { *text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
  }
  if (code >= 0x80) put(0x80 | (code & 0x3f));
}

std::string printable(const std::string& text) {
  std::string whole, rest = text;
  for (std::size_t good; (good = utf8_prefix(rest)) < rest.size(); rest.erase(0, good + 1))
    whole.append(rest, 0, good) += '?';
  whole += rest;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto c = static_cast<unsigned char>(whole[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) whole[i] = '?';
    // U+0080 to U+009F: terminals take U+009B for ESC [.
    if (c == 0xc2 && static_cast<unsigned char>(whole[i + 1]) < 0xa0) whole.replace(i, 2, "?");
  }
  return whole;
}

std::string printable_line(const std::string& text) {
  std::string line = printable(text);
  for (char& c : line)
    if (c == '\n' || c == '\t') c = '?';
  return line;
}

}  // namespace phicoll
