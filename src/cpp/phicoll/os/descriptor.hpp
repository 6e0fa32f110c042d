#pragma once

namespace phicoll {
namespace os {

/// Moves a descriptor off the numbers 0 to 2, which a new descriptor gets in a process that lacks a standard stream. Otherwise what
/// the process prints would be written to it, and a child has its own stream at that number. Returns the new number, or -1 with
/// errno set. Leaves -1 and all other numbers as they are.
int beyond_standard_streams(int fd);

}  // namespace os
}  // namespace phicoll
