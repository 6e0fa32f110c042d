#include "build_info/build_info.hpp"

#include "phicoll_build.hpp"

namespace phicoll {

measure::BuildInfo build_info() {
  return {PHICOLL_COMPILER_ID, PHICOLL_COMPILER_VERSION, PHICOLL_COMPILER_FLAGS, PHICOLL_GIT_COMMIT,
          PHICOLL_GIT_DIRTY};
}

}  // namespace phicoll
