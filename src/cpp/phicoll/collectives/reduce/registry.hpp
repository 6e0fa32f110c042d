#pragma once

// All reduce algorithms, one line each.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/reduce/hierarchical.hpp"
#include "phicoll/collectives/reduce/local_store_tree.hpp"
#include "phicoll/collectives/reduce/mailbox.hpp"
#include "phicoll/collectives/reduce/model_tree.hpp"
#include "phicoll/collectives/reduce/paper_002.hpp"
#include "phicoll/collectives/reduce/piece_per_rank.hpp"
#include "phicoll/collectives/reduce/rabenseifner.hpp"
#include "phicoll/collectives/reduce/send_receive_tree.hpp"
#include "phicoll/collectives/reduce/sliced.hpp"
#include "phicoll/collectives/reduce/tree_reconstructed.hpp"

namespace phicoll {

template <>
struct Registry<Operation::reduce> {
  using List = AlgorithmList<LocalStoreTreeReduce, PiecePerRankReduce, SendReceiveTreeReduce, ModelTreeReduce,
                             TreeReconstructedReduce, Paper002Reduce, MailboxReduce, SlicedReduce,
                             RabenseifnerReduce, HierarchicalReduce>;
};

}  // namespace phicoll
