#pragma once

// Every gather there is, one line each.

#include "phicoll/collectives/gather/mailbox.hpp"

namespace phicoll {

using GatherList = AlgorithmList<MailboxGather>;

}  // namespace phicoll
