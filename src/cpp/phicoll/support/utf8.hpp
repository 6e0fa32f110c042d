#pragma once

#include <cstddef>
#include <string>

namespace phicoll {

/// The number of bytes before the first one that is not UTF-8; the text's size if all are. Surrogates and
/// overlong forms are not UTF-8.
std::size_t utf8_prefix(const std::string& text);

/// Appends the UTF-8 of a code point below 0x110000.
void append_utf8(std::string* text, unsigned long code);

/// The text with a question mark in place of each byte that is not UTF-8 and of control characters, which a
/// terminal would obey. Ends of lines and tabs stay.
std::string printable(const std::string& text);
/// The same as one line, such as a table's cell: without ends of lines and tabs.
std::string printable_line(const std::string& text);

}  // namespace phicoll
