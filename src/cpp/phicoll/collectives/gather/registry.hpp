#pragma once

// Every gather there is, one line each.

#include "phicoll/collectives/gather/mailbox.hpp"
#include "phicoll/collectives/gather/single_copy.hpp"

namespace phicoll {

using GatherList = AlgorithmList<MailboxGather, SingleCopyGather>;

}  // namespace phicoll
