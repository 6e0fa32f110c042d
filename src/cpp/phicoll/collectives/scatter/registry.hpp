#pragma once

// Every scatter there is, one line each.

#include "phicoll/collectives/scatter/mailbox.hpp"

namespace phicoll {

using ScatterList = AlgorithmList<MailboxScatter>;

}  // namespace phicoll
