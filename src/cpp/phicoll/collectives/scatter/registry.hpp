#pragma once

// Every scatter there is, one line each.

#include "phicoll/collectives/scatter/mailbox.hpp"
#include "phicoll/collectives/scatter/single_copy.hpp"

namespace phicoll {

using ScatterList = AlgorithmList<MailboxScatter, SingleCopyScatter>;

}  // namespace phicoll
