#pragma once

// All broadcast algorithms, one line each.

#include "phicoll/collectives/broadcast/binomial.hpp"
#include "phicoll/collectives/broadcast/centralized.hpp"
#include "phicoll/collectives/broadcast/double_buffered.hpp"
#include "phicoll/collectives/broadcast/fibonacci.hpp"
#include "phicoll/collectives/broadcast/flat.hpp"
#include "phicoll/collectives/broadcast/flat_large.hpp"
#include "phicoll/collectives/broadcast/hierarchical.hpp"
#include "phicoll/collectives/broadcast/k_nomial.hpp"
#include "phicoll/collectives/broadcast/local_store_tree.hpp"
#include "phicoll/collectives/broadcast/model_tree.hpp"
#include "phicoll/collectives/broadcast/one_to_all_shifted.hpp"
#include "phicoll/collectives/broadcast/paper_002.hpp"
#include "phicoll/collectives/broadcast/piece_per_rank.hpp"
#include "phicoll/collectives/broadcast/pipelined_slices.hpp"
#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/broadcast/root_copies.hpp"
#include "phicoll/collectives/broadcast/single_copy.hpp"
#include "phicoll/collectives/broadcast/tree_copy.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

template <>
struct Registry<Operation::broadcast> {
  using List = AlgorithmList<CentralizedBroadcast,      //
                             DoubleBufferedBroadcast,   //
                             TreeCopyBroadcast,         //
                             OneToAllShiftedBroadcast,  //
                             RootCopiesBroadcast,       //
                             PiecePerRankBroadcast,     //
                             LocalStoreTreeBroadcast,   //
                             Paper002Broadcast,         //
                             FlatBroadcast,             //
                             BinomialBroadcast,         //
                             KNomialBroadcast,          //
                             FibonacciBroadcast,        //
                             ModelTreeBroadcast,        //
                             PipelinedSlicesBroadcast,  //
                             FlatLargeBroadcast,        //
                             RingBroadcast, SingleCopyBroadcast, HierarchicalBroadcast>;
};

}  // namespace phicoll
