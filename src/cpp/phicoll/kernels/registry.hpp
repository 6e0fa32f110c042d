#pragma once

// Every kernel there is, a line each: threads, the simulated machine, the command line and the tests expand
// this list. docs/kernels.md says how to add one.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/kernels/contention.hpp"
#include "phicoll/kernels/multi_line.hpp"
#include "phicoll/kernels/one_sided.hpp"
#include "phicoll/kernels/pair_bandwidth.hpp"
#include "phicoll/kernels/ping_pong.hpp"
#include "phicoll/kernels/read_by_all.hpp"
#include "phicoll/kernels/read_latency.hpp"
#include "phicoll/kernels/remote_atomic.hpp"
#include "phicoll/kernels/stream.hpp"
#include "phicoll/kernels/switch.hpp"
#include "phicoll/kernels/wait_until.hpp"

namespace phicoll {
namespace kernels {

using KernelList = AlgorithmList<ReadLatency,    //
                                 PingPong,       //
                                 MultiLine,      //
                                 PairBandwidth,  //
                                 Put,            //
                                 Get,            //
                                 PutWord,        //
                                 GetWord,        //
                                 RemoteAtomic,   //
                                 WaitUntil,      //
                                 Contention,     //
                                 ReadByAll,      //
                                 Stream,         //
                                 Switch>;

}  // namespace kernels
}  // namespace phicoll
