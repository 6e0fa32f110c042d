#include "phicoll/os/own_file.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace phicoll {
namespace os {

namespace {

constexpr int most_links = 40;

/// Judges what a path leads through, one part after the other.
class Way {
 public:
  explicit Way(const std::string& path) : user_(geteuid()) {
    struct stat root;
    // Where root is no user of the container, the system's files belong to the number that stands for all
    // others.
    system_ = lstat("/", &root) == 0 ? root.st_uid : 0;
    add(path);
  }

  std::string reason() {
    for (int links = 0; !parts_.empty();) {
      const std::string part = parts_.back();
      parts_.pop_back();
      if (part == "..") {
        at_.erase(at_.empty() ? 0 : at_.rfind('/'));
        continue;
      }
      const std::string next = at_ + "/" + part;
      struct stat facts;
      if (lstat(next.c_str(), &facts) != 0) {
        if (errno != ENOENT) return "'" + next + "': " + std::strerror(errno);
        return parts_.empty() ? own(at_) : "";
      }
      if (!trusted(facts.st_uid)) return belongs(next, facts);
      if (S_ISLNK(facts.st_mode)) {
        if (++links > most_links) return "'" + next + "': " + std::strerror(ELOOP);
        char target[PATH_MAX];
        const ssize_t size = readlink(next.c_str(), target, sizeof target);
        if (size <= 0) return "'" + next + "': " + std::strerror(errno);
        if (target[0] == '/') at_.clear();
        add(std::string(target, static_cast<std::size_t>(size)));
        continue;
      }
      if (parts_.empty()) {
        const std::string of_folder = own(at_);
        return of_folder.empty() ? own(next) : of_folder;
      }
      const bool own_group = facts.st_gid == facts.st_uid;
      const mode_t others = S_IWOTH | (own_group ? mode_t{0} : mode_t{S_IWGRP});
      if ((facts.st_mode & S_ISVTX) == 0 && (facts.st_mode & others) != 0) return writable(next);
      at_ = next;
    }
    return own(at_);
  }

 private:
  static std::string belongs(const std::string& path, const struct stat& facts) {
    return "'" + path + "' belongs to user " + std::to_string(facts.st_uid);
  }
  static std::string writable(const std::string& path) { return "others may write '" + path + "'"; }
  bool trusted(uid_t user) const { return user == user_ || user == 0 || user == system_; }
  /// Of the file or its folder.
  std::string own(const std::string& path) const {
    struct stat facts;
    if (lstat(path.empty() ? "/" : path.c_str(), &facts) != 0)
      return "'" + path + "': " + std::strerror(errno);
    if (facts.st_uid != user_) return belongs(path, facts);
    return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? writable(path) : "";
  }
  /// What is to be gone through next.
  void add(const std::string& path) {
    for (std::size_t end = path.size(); end > 0;) {
      const std::size_t slash = path.rfind('/', end - 1);
      const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
      const std::string part = path.substr(begin, end - begin);
      if (!part.empty() && part != ".") parts_.push_back(part);
      end = slash == std::string::npos ? 0 : slash;
    }
  }

  uid_t user_;
  uid_t system_ = 0;
  std::string at_;                  ///< the folder reached, without links; "" for the root
  std::vector<std::string> parts_;  ///< that follow, the next one last
};

}  // namespace

std::string foreign_reason(const std::string& path) {
  return Way(path).reason();
}

}  // namespace os
}  // namespace phicoll
