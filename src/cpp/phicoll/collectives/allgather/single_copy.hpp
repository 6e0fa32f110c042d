#pragma once

// phicoll's allgather for large blocks, regular and vector, see single_copy_exchange.hpp.

#include "phicoll/collectives/allgather/one_shot.hpp"
#include "phicoll/collectives/transport/single_copy_exchange.hpp"

namespace phicoll {

struct SingleCopyAllgather : SingleCopyExchange<OneShotAllgather, false> {
  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies everyone's block from where it lies"};
  }
};

}  // namespace phicoll
