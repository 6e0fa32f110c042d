#pragma once

// Every barrier there is: one line each. The native build, the counting port, the simulator, the command line
// and the tests expand this list; adding an algorithm is one file and one line here.

#include "phicoll/collectives/algorithm.hpp"
#include "phicoll/collectives/barrier/dissemination.hpp"
#include "phicoll/collectives/barrier/sense_reversing.hpp"

namespace phicoll {

using BarrierList = AlgorithmList<SenseReversing,  //
                                  Dissemination>;

}  // namespace phicoll
