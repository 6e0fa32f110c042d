#include "phicoll/os/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace phicoll {
namespace os {

namespace {

// The longest line of a run with 1,024 ranks and 1,000 calls in a window has some 20 MB.
constexpr std::size_t most_line = std::size_t(64) << 20;
constexpr std::size_t chunk = std::size_t(64) << 10;
// A small compressed file can hold any number of zeros. Records shrink to a tenth, equal ones to a fiftieth.
constexpr std::uint64_t most_unpacked = std::uint64_t(8) << 30;
constexpr std::uint64_t always_unpacked = std::uint64_t(4) << 20;
constexpr std::uint64_t most_ratio = 250;

}  // namespace

// O_NONBLOCK: a FIFO without a writer is refused instead of waited for.
InputFile::InputFile(const std::string& path, bool unpacks)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status;
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0)
    fault_ = std::strerror(errno);
  else if (S_ISDIR(status.st_mode))
    fault_ = std::strerror(EISDIR);
  else if (!S_ISREG(status.st_mode))
    fault_ = "not a regular file";
  else
    left_ = size_ = static_cast<std::uint64_t>(status.st_size);
  unsigned char first[2] = {0, 0};
  if (unpacks && left_ > 2 && pread(descriptor_, first, 2, 0) == 2 && first[0] == 0x1f && first[1] == 0x8b)
    unpack();
}

InputFile::~InputFile() {
  if (unpacked_ != nullptr) pclose(unpacked_);
  if (descriptor_ >= 0) close(descriptor_);
}

void InputFile::unpack() {
  const int packed = dup(descriptor_);  // without O_CLOEXEC: the shell inherits it
  if (packed < 0) {
    fault_ = std::strerror(errno);
    return;
  }
  const std::string command = "exec gzip -dc 2>/dev/null <&" + std::to_string(packed);
  unpacked_ = popen(command.c_str(), "r");
  if (unpacked_ == nullptr) fault_ = std::string("gzip: ") + std::strerror(errno);
  close(packed);
  left_ = unpacked_size_ = std::min(most_unpacked, std::max(always_unpacked, most_ratio * size_));
}

void InputFile::check_unpacked() {
  if (left_ == 0) {
    fault_ = "more than " + std::to_string(unpacked_size_ >> 20) + " MB when unpacked, from " +
             std::to_string(size_) + " bytes";
    return;
  }
  if (pclose(unpacked_) != 0) fault_ = "a compressed file that is damaged or cut off, or there is no gzip";
  unpacked_ = nullptr;
}

bool InputFile::fill() {
  if (!fault_.empty() || left_ == 0) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t kept = buffer_.size();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, chunk));
  buffer_.resize(kept + wanted);
  ssize_t got = 0;
  const int from = unpacked_ != nullptr ? fileno(unpacked_) : descriptor_;
  do got = read(from, &buffer_[kept], wanted);
  while (got < 0 && errno == EINTR);
  buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) fault_ = std::strerror(errno);
  if (got > 0) left_ -= static_cast<std::uint64_t>(got);
  if (unpacked_ != nullptr && got >= 0 && (got == 0 || left_ == 0)) check_unpacked();
  if (got <= 0) left_ = 0;
  return got > 0;
}

bool InputFile::next_line(std::string* line) {
  line->clear();
  for (std::size_t seen = 0;;) {
    const std::size_t end = buffer_.find('\n', at_ + seen);
    if (end != std::string::npos) {
      line->assign(buffer_, at_, end - at_);
      at_ = end + 1;
      return true;
    }
    seen = buffer_.size() - at_;
    if (seen > most_line) {
      fault_ = "a line of more than " + std::to_string(most_line >> 20) + " MB";
      return false;
    }
    if (fill()) continue;
    if (!fault_.empty() || seen == 0) return false;
    line->assign(buffer_, at_, seen);
    at_ = buffer_.size();
    return true;
  }
}

bool InputFile::read_all(std::size_t most, std::string* text) {
  text->clear();
  if (fault_.empty() && size_ > most) fault_ = "more than " + std::to_string(most >> 20) + " MB";
  while (fill()) continue;
  if (!fault_.empty()) return false;
  text->assign(buffer_, at_, std::string::npos);
  return true;
}

bool InputFile::ends_with_line() const {
  char last = 0;
  return size_ > 0 && pread(descriptor_, &last, 1, static_cast<off_t>(size_ - 1)) == 1 && last == '\n';
}

}  // namespace os
}  // namespace phicoll
