#pragma once

// How far a process is that attaches to a group by name.

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {

/// Whether a process that attaches as rank 0 was the first, so that it made the group, and has its rank.
inline bool has_made_its_group(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
  DIR* const listed = opendir(folder.c_str());
  bool found = false;
  while (const dirent* const entry = listed != nullptr ? readdir(listed) : nullptr) {
    char target[256] = {};
    const std::string path = folder + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    if (std::string(target).find("(deleted)") == std::string::npos) continue;  // memory without a name
    try {
      const auto memory = os::SharedMemory::from_descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC), 0);
      if (memory.size() < GroupLayout::header_offset() + sizeof(ProcessHeader)) continue;
      const auto& header = *GroupLayout::header_at(memory.data());
      if (header.magic != ProcessHeader::expected_magic) continue;
      found = found || header.members[0].state.atomic().load() >= ProcessHeader::claimed;
    } catch (const Error&) {
    }  // it is still being made
  }
  if (listed != nullptr) closedir(listed);
  return found;
}

}  // namespace phicoll
