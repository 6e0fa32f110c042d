#pragma once

// All gather algorithms, one line each.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/gather/mailbox.hpp"
#include "phicoll/collectives/gather/single_copy.hpp"

namespace phicoll {

template <>
struct Registry<Operation::gather> {
  using List = AlgorithmList<MailboxGather, SingleCopyGather>;
};

}  // namespace phicoll
