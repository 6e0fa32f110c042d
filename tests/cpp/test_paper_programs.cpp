// The papers' programs by threads and by processes: their checks pass with 1 to 17 ranks, and with every
// barrier. PHICOLL_TEST_LONG=1: all of it; a sample otherwise, in seconds. Classes that are not the smallest,
// and other ways, are Python's tests' matter.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <new>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/measure/program_step.hpp"
#include "phicoll/measure/step_board.hpp"
#include "phicoll/measure/work.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace measure {
namespace {
