#pragma once

#include <string>

namespace phicoll {
namespace os {

/// Why a file may hold what another user put there, for a person; "" if it cannot. `path` is absolute.
/// phicoll/foundations/own_files.py applies the same rules:
///
/// - The file and its folder belong to the effective user, and nobody else may write them.
/// - The folders above it, and the links on the way, belong to that user or the system. Nobody else may write
///   those folders, except the owner's private group, and users of folders such as /tmp, who remove only
///   their own files.
/// - If the file does not exist, the existing folders on its path decide.
std::string foreign_reason(const std::string& path);

}  // namespace os
}  // namespace phicoll
