#pragma once

// phicoll's gather for large blocks, see single_copy_blocks.hpp.

#include "phicoll/collectives/gather/mailbox.hpp"
#include "phicoll/collectives/transport/single_copy_blocks.hpp"

namespace phicoll {

struct SingleCopyGather : SingleCopyBlocks<MailboxGather, true> {
  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "one copy from each rank's block to the root's buffer, from both sides at once"};
  }
};

}  // namespace phicoll
