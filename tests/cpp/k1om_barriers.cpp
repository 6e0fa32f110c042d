// Every barrier, in the code that the card gets, on this host: the library is compiled for the card
// (PHICOLL_ARCH_K1OM), the card's instructions are emulated. Slow, and built only with
// -DPHICOLL_TEST_K1OM_EMULATED=ON.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "k1om_emulator.hpp"
#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/thread_group.hpp"

namespace {

using namespace k1om_emulator;
using namespace phicoll;

/// Each barrier with its defaults, and with each way to store a line where it has one and accepts it.
std::vector<std::string> every_spec() {
  std::vector<std::string> specs;
  for (const AlgorithmInfo& algorithm : family(Operation::barrier).algorithms()) {
    if (algorithm.name == "auto") continue;
    specs.push_back(algorithm.name);
    for (const ParameterInfo& parameter : algorithm.parameters) {
      if (parameter.name != "store") continue;
      for (const std::string& choice : parameter.choices) {
        const std::string spec = algorithm.name + ":store=" + choice;
        try {
          family(Operation::barrier).parse(spec);
          specs.push_back(spec);
        } catch (const ArgumentError&) {  // not with the default layout
        }
      }
    }
  }
  return specs;
}

TEST(K1omBarriers, NoRankLeavesBeforeAllHaveEntered) {
  ASSERT_EQ(std::string(arch::name()), "k1om");
  const Emulator emulator;
  constexpr int episodes = 50;
  for (const char* wait : {"pause", "adaptive"}) {
    GroupOptions options;
    options.wait = parse_wait_policy(wait);
    options.timeout_ms = 60000;
    for (int ranks : {2, 3, 5}) {
      ThreadGroup group(ranks, options);
      for (const std::string& spec : every_spec()) {
        std::vector<std::atomic<int>> entered(static_cast<std::size_t>(ranks));
        for (auto& each : entered) each = 0;
        std::atomic<int> early{0};
        group.run([&](Communicator& communicator) {
          zmm0();
          communicator.select(Operation::barrier, spec);
          for (int episode = 1; episode <= episodes; ++episode) {
            entered[static_cast<std::size_t>(communicator.rank())].store(episode, std::memory_order_relaxed);
            communicator.barrier();
            for (auto& each : entered) early += each.load(std::memory_order_relaxed) < episode;
          }
        });
        EXPECT_EQ(early, 0) << spec << ", " << ranks << " ranks, wait=" << wait;
      }
    }
  }
  EXPECT_EQ(record().misaligned, 0u);
  EXPECT_GT(record().executed[delay_eax], 0u);
  EXPECT_GT(record().executed[vmovnraps], 0u);
  EXPECT_GT(record().executed[vmovnrngoaps], 0u);
}

}  // namespace
