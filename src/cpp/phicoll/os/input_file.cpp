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

}  // namespace

// O_NONBLOCK: a FIFO without a writer is refused instead of waited for.
InputFile::InputFile(const std::string& path)
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
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool InputFile::fill() {
  if (!fault_.empty() || left_ == 0) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t kept = buffer_.size();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, chunk));
  buffer_.resize(kept + wanted);
  ssize_t got = 0;
  do got = read(descriptor_, &buffer_[kept], wanted);
  while (got < 0 && errno == EINTR);
  buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  left_ = got > 0 ? left_ - static_cast<std::uint64_t>(got) : 0;
  if (got < 0) fault_ = std::strerror(errno);
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
