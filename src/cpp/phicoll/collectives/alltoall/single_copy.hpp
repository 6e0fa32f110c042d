#pragma once

// phicoll's alltoall for large blocks of one size, see single_copy_exchange.hpp.

#include "phicoll/collectives/alltoall/one_shot.hpp"
#include "phicoll/collectives/transport/single_copy_exchange.hpp"

namespace phicoll {

struct SingleCopyAlltoall : SingleCopyExchange<OneShotAlltoall, true> {
  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies its block of everyone's buffer from where it lies"};
  }
};

}  // namespace phicoll
