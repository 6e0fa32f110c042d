#pragma once

// What the environment says: OpenSHMEM's variables and ours.

#include <cstddef>
#include <string>

namespace phicoll {
namespace shmem {

/// Whether a variable of ours is set, to anything but 0 or nothing.
bool setting(const char* name, bool otherwise = false);
/// A variable of OpenSHMEM's, SHMEM_<name> or the older SMA_<name>, or null.
const char* standard_setting(const char* name);
/// A number of bytes, as "20m" or "3.1M". Throws ArgumentError(name).
std::size_t parse_bytes(const std::string& name, const std::string& text);
/// SHMEM_SYMMETRIC_SIZE in bytes; 0 if it is not set. Throws ArgumentError.
std::size_t symmetric_size();
/// The group's messages in OpenSHMEM's words: its ranks are PEs.
std::string with_pes(std::string text);
/// What SHMEM_VERSION, SHMEM_INFO and SHMEM_DEBUG ask PE 0 to print.
void print_what_is_asked(std::size_t heap_bytes, int pes);

}  // namespace shmem
}  // namespace phicoll
