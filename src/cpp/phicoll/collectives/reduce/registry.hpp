#pragma once

// Every reduce there is, one line each.

#include "phicoll/collectives/reduce/mailbox.hpp"

namespace phicoll {

using ReduceList = AlgorithmList<MailboxReduce>;

}  // namespace phicoll
