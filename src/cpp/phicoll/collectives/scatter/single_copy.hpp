#pragma once

// phicoll's scatter for large blocks, see single_copy_blocks.hpp.

#include "phicoll/collectives/scatter/mailbox.hpp"
#include "phicoll/collectives/transport/single_copy_blocks.hpp"

namespace phicoll {

struct SingleCopyScatter : SingleCopyBlocks<MailboxScatter, false> {
  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "one copy from the root's buffer to each rank's block, from both sides at once"};
  }
};

}  // namespace phicoll
