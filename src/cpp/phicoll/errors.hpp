#pragma once

// What phicoll throws. Bad input is an ArgumentError (or a subclass of it) that names the argument, what it
// got and what is allowed, thrown before anything is started; a group that cannot go on is a BrokenGroupError
// on every rank.

#include <stdexcept>
#include <string>

namespace phicoll {

/// The base of all that phicoll throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input. `argument` is its name as the caller knows it.
class ArgumentError : public Error {
 public:
  ArgumentError(const std::string& argument, const std::string& got, const std::string& allowed)
      : Error(argument + ": got " + got + "; allowed: " + allowed),
        argument_(argument),
        got_(got),
        allowed_(allowed) {}
  const std::string& argument() const { return argument_; }
  const std::string& got() const { return got_; }
  const std::string& allowed() const { return allowed_; }

 private:
  std::string argument_;
  std::string got_;
  std::string allowed_;
};

/// A resource was missing or refused: not enough memory, a name in use, a failed system call.
class ResourceError : public Error {
 public:
  using Error::Error;
};

/// A rank died, left, raised or never came: the group is unusable from then on. `rank` is the first cause, -1
/// if unknown.
class BrokenGroupError : public Error {
 public:
  BrokenGroupError(int rank, const std::string& reason)
      : Error("group broken by rank " + std::to_string(rank) + ": " + reason), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// A wait that exceeded the group's timeout.
class TimeoutError : public Error {
 public:
  using Error::Error;
};

}  // namespace phicoll
