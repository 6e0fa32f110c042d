#pragma once

// All scatter algorithms, one line each.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/scatter/mailbox.hpp"
#include "phicoll/collectives/scatter/single_copy.hpp"

namespace phicoll {

template <>
struct Registry<Operation::scatter> {
  using List = AlgorithmList<MailboxScatter, SingleCopyScatter>;
};

}  // namespace phicoll
