#pragma once

// Every alltoall there is, one line each.

#include "phicoll/collectives/alltoall/mailbox.hpp"
#include "phicoll/collectives/alltoall/one_shot.hpp"
#include "phicoll/collectives/alltoall/single_copy.hpp"

namespace phicoll {

using AlltoallList = AlgorithmList<OneShotAlltoall,  //
                                   MailboxAlltoall, SingleCopyAlltoall>;

}  // namespace phicoll
