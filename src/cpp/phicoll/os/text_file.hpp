#pragma once

// Small files of /proc and /sys, and the number lists in them.

#include <cstdint>
#include <string>
#include <vector>

namespace phicoll {
namespace os {

/// Reads a whole file into `text`. Returns false (text empty) when it cannot be read.
bool read_text(const std::string& path, std::string* text);

/// The file without white space at its ends; "" when it cannot be read.
std::string read_trimmed(const std::string& path);

/// The integer that the file holds; `fallback` when there is none.
std::int64_t read_integer(const std::string& path, std::int64_t fallback);

/// The text without white space at its ends.
std::string trimmed(const std::string& text);

/// The lines of a text, without their ends.
std::vector<std::string> split_lines(const std::string& text);

/// The words of a line, separated by blanks.
std::vector<std::string> split_words(const std::string& line);

/// Parses the kernel's list format, `0,2,4-7`, in the order written. Returns false for anything else; "" is
/// an empty list.
bool parse_list(const std::string& text, std::vector<int>* numbers);

}  // namespace os
}  // namespace phicoll
