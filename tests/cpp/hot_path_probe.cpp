// One dissemination barrier on NativePort as the compiler makes it: test_hot_path.py reads the disassembly of
// this unit.
#include "phicoll/collectives/barrier/dissemination.hpp"
#include "phicoll/ports/native_port.hpp"

extern "C" void phicoll_hot_path(phicoll::Dissemination::Rank<phicoll::NativePort>& barrier,
                                 phicoll::NativePort& port) {
  barrier(port);
}
