#pragma once

// The papers' reductions with all values of their parameters, for tests.

#include <iterator>
#include <string>
#include <vector>

namespace phicoll {

// Pieces are small here, so that few bytes make several of them.
const char* const commutative_specs[] = {
    "local-store-tree",
    "local-store-tree:degree=1:piece=256",
    "local-store-tree:degree=2:piece=256:operand=direct",
    "local-store-tree:degree=3:piece=264",
    "local-store-tree:degree=4:piece=256:trailing=barrier",
    "local-store-tree:piece=256:buffers=1",
    "local-store-tree:degree=1024:piece=512:operand=direct",
    "piece-per-rank",
    "piece-per-rank:least=16:buffer=256",
    "piece-per-rank:least=1:buffer=264:trailing=barrier",
    "model-tree:piece=256",
    "model-tree:piece=256:ack=line-per-child",
    "model-tree:k1=2:k2=2:piece=264",
    "model-tree:k1=1:piece=256",
    "model-tree:k1=1024:ack=line-per-child",
    "model-tree:piece=256:buffers=parent",
    "model-tree:k1=2:k2=2:piece=264:buffers=parent:ack=line-per-child",
    "tree-reconstructed",
    "tree-reconstructed:degree=2:region=512",
    "tree-reconstructed:degree=3:region=528",
    "paper-002",
    "paper-002:pieces_from=300:pipeline_from=600:trailing=barrier",
};
const char* const ordered_specs[] = {
    "piece-per-rank:least=16:buffer=256:order=ranks",
    "piece-per-rank:order=ranks",
    "send-receive-tree",
    "send-receive-tree:degree=3:cell=256:cells=2",
    "send-receive-tree:degree=8:cell=264:cells=3:trailing=barrier",
    "model-tree:into=common:piece=256",
    "model-tree:into=common",
    "mailbox",
    "sliced",
    "sliced:chunk=1024:cells=4",
    "sliced:chunk=1032:cells=5",
    "sliced:chunk=1100:cells=6",
    "hierarchical",
    "hierarchical:piece=256:pieces=2",
    "rabenseifner:buffer=256",
    "rabenseifner:least=8",
    "rabenseifner:least=8:buffer=256",
    "rabenseifner:least=64:buffer=512",
    "rabenseifner:least=16777216",
};

inline std::vector<std::string> all_reduce_specs() {
  std::vector<std::string> specs(std::begin(commutative_specs), std::end(commutative_specs));
  specs.insert(specs.end(), std::begin(ordered_specs), std::end(ordered_specs));
  return specs;
}

}  // namespace phicoll
