#pragma once

// All barriers, one line each. The ports, the command line and the tests expand this list: adding an
// algorithm takes one file and one line here (docs/adding-an-algorithm.md).

#include "phicoll/collectives/barrier/all_to_all.hpp"
#include "phicoll/collectives/barrier/binomial_tree.hpp"
#include "phicoll/collectives/barrier/centralized_bytes.hpp"
#include "phicoll/collectives/barrier/centralized_lines.hpp"
#include "phicoll/collectives/barrier/combining_tree.hpp"
#include "phicoll/collectives/barrier/counter_tree_notify.hpp"
#include "phicoll/collectives/barrier/dissemination.hpp"
#include "phicoll/collectives/barrier/dissemination_acknowledged.hpp"
#include "phicoll/collectives/barrier/dynamic_tournament.hpp"
#include "phicoll/collectives/barrier/hybrid_dissemination.hpp"
#include "phicoll/collectives/barrier/k_nomial_tree.hpp"
#include "phicoll/collectives/barrier/libomp_hyper.hpp"
#include "phicoll/collectives/barrier/one_to_all.hpp"
#include "phicoll/collectives/barrier/pairwise_exchange.hpp"
#include "phicoll/collectives/barrier/sense_reversing.hpp"
#include "phicoll/collectives/barrier/signal_register.hpp"
#include "phicoll/collectives/barrier/simd_flags.hpp"
#include "phicoll/collectives/barrier/static_tournament.hpp"
#include "phicoll/collectives/barrier/tournament_tree.hpp"
#include "phicoll/collectives/barrier/tree.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

template <>
struct Registry<Operation::barrier> {
  using List = AlgorithmList<SenseReversing,             //
                             CombiningTree,              //
                             StaticTournament,           //
                             DynamicTournament,          //
                             Dissemination,              //
                             HybridDissemination,        //
                             CounterTreeNotify,          //
                             CentralizedBytes,           //
                             CentralizedLines,           //
                             Tree,                       //
                             KNomialTree,                //
                             TournamentTree,             //
                             BinomialTree,               //
                             OneToAll,                   //
                             SignalRegister,             //
                             PairwiseExchange,           //
                             AllToAll,                   //
                             DisseminationAcknowledged,  //
                             SimdFlags,                  //
                             LibompHyper>;
};

}  // namespace phicoll
