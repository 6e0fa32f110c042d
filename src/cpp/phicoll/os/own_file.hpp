#pragma once

#include <string>

namespace phicoll {
namespace os {

/// Why a file may hold what another user put there, for a person: "'/home/a/.cache' belongs to user 1001"; "" if it cannot.
///
/// A file and the folder that it is in must belong to the effective user, and nobody else may write them. The folders above, and
/// the links on the way, must belong to that user or the system. Nobody else may write those folders, but for a group that is
/// the owner's own and for folders such as /tmp, where each removes what is his. Of a file that is not there its folders are
/// judged, as far as there are any. `path` is absolute. phicoll/foundations/own_files.py does the same.
std::string foreign_reason(const std::string& path);

}  // namespace os
}  // namespace phicoll
