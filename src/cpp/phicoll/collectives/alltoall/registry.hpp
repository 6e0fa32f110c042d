#pragma once

// All alltoall algorithms, one line each.

#include "phicoll/collectives/alltoall/mailbox.hpp"
#include "phicoll/collectives/alltoall/one_shot.hpp"
#include "phicoll/collectives/alltoall/single_copy.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

template <>
struct Registry<Operation::alltoall> {
  using List = AlgorithmList<OneShotAlltoall,  //
                             MailboxAlltoall, SingleCopyAlltoall>;
};

}  // namespace phicoll
