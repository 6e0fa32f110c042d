#pragma once

// Files that a user names: results, machine files, tuning tables.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace phicoll {
namespace os {

/// A file opened for reading. It must be a regular file: a device or a FIFO may never answer or never end. It
/// is read up to its size when opened, so that reading ends even while a program appends to it. If asked, a
/// file compressed by gzip is read through that program, up to 4 MB or 250 times its size, and 8 GB.
class InputFile {
 public:
  /// Does not throw: `fault` says why the file can't be read.
  explicit InputFile(const std::string& path, bool unpacks = false);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Why reading failed, "No such file or directory" or "a line of more than 64 MB"; "" while it has not.
  const std::string& fault() const { return fault_; }
  /// Reads the next line, without its end. Returns false at the end and after a fault.
  bool next_line(std::string* line);
  /// Reads all. Returns false after a fault, which a file of more than `most` bytes is.
  bool read_all(std::size_t most, std::string* text);
  /// Whether the last byte is a line's end.
  bool ends_with_line() const;

 private:
  bool fill();
  void unpack();
  void check_unpacked();

  int descriptor_;
  std::FILE* unpacked_ = nullptr;
  std::uint64_t left_ = 0;  ///< bytes of the file that are not in `buffer_` yet
  std::uint64_t size_ = 0;
  std::uint64_t unpacked_size_ = 0;  ///< the most that it may unpack to
  std::string buffer_;
  std::size_t at_ = 0;  ///< the first byte of `buffer_` that was not returned
  std::string fault_;
};

}  // namespace os
}  // namespace phicoll
