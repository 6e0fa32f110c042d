#pragma once

namespace phicoll {
namespace os {

/// Moves a descriptor that has the number of a standard stream, as one has that is made in a process that lacks the stream: what
/// the process prints would be written there, and a child has its own stream at that number. Returns the new number, or -1
/// with errno set. Leaves -1 and all other numbers as they are.
int beyond_standard_streams(int fd);

}  // namespace os
}  // namespace phicoll
