// The tests of os/ once more, with every fallback forced by the environment variable before anything asks for
// it.

#include <cstdlib>

#include "gtest/gtest.h"
#include "phicoll/os/fallbacks.hpp"

#include "test_os_facts.cpp"
#include "test_os_liveness.cpp"
#include "test_os_shared_memory.cpp"
#include "test_os_sync.cpp"
#include "test_os_topology.cpp"

namespace {

const int forced = setenv("PHICOLL_FORCE_FALLBACKS", "1", 1);

TEST(Fallbacks, AreForced) {
  ASSERT_EQ(forced, 0);
  EXPECT_TRUE(os::fallbacks_forced());
  EXPECT_FALSE(os::register_membarrier());
  EXPECT_FALSE(os::memfd_available());
  EXPECT_FALSE(os::pidfd_available());
  EXPECT_STREQ(os::topology_source(), "sysfs");
}

}  // namespace
