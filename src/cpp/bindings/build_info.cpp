#include "bindings/build_info.hpp"

#if __has_include("phicoll_build.hpp")
#include "phicoll_build.hpp"
#endif

namespace phicoll {
namespace bindings {

measure::BuildInfo build_info() {
  measure::BuildInfo build;
  build.compiler_id = PHICOLL_COMPILER_ID;
  build.compiler_version = PHICOLL_COMPILER_VERSION;
  build.compiler_flags = PHICOLL_COMPILER_FLAGS;
#if defined(PHICOLL_GIT_COMMIT)
  build.git_commit = PHICOLL_GIT_COMMIT;
  build.git_dirty = PHICOLL_GIT_DIRTY;
#endif
  return build;
}

}  // namespace bindings
}  // namespace phicoll
