// What the calls of a Communicator make of their arguments: counts beyond all memory, and buffers that are
// each other's own block.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("check: " + what);
}

constexpr std::size_t huge = SIZE_MAX / 2 - 1;

TEST(CallArguments, CountsBeyondAllMemoryAreRefusedOnAllRanksAlike) {
  ThreadGroup group(3);
  group.run([](Communicator& comm) {
    const Operator sum = find_operator(Type::float64, Op::sum);
    double x = 0;
    double y = 0;
    const auto refused = [&](const std::string& name, auto&& call) {
      try {
        call();
      } catch (const ArgumentError& error) {
        expect(error.argument() == name, name + ": " + error.what());
        return;
      }
      expect(false, "not refused: " + name);
    };
    // Together, or by the element, they wrap around to something small.
    const std::vector<std::size_t> wrap = {huge, huge, 4};
    const std::vector<std::size_t> elements = {SIZE_MAX / 8, 1, 1};
    const std::vector<std::size_t> none = {0, 0, 0};
    refused("counts", [&] { comm.reduce_scatter(&x, &y, wrap.data(), sum); });
    refused("count", [&] { comm.reduce_scatter(&x, &y, elements.data(), sum); });
    refused("count", [&] { comm.reduce_scatter_block(&x, &y, SIZE_MAX / 8, sum); });
    refused("counts", [&] { comm.allgatherv(&x, 8, &y, wrap.data(), none.data()); });
    comm.barrier();
    expect(!comm.control().broken(), "usable");
  });
}

TEST(CallArguments, ABlockThatWrapsAroundBreaksTheGroupOfWhoGaveIt) {
  for (const bool scatters : {false, true}) {
    ThreadGroup group(2);
    try {
      group.run([&](Communicator& comm) {
        const std::vector<std::size_t> counts = {8, 8};
        const std::vector<std::size_t> at = {0, SIZE_MAX - 3};
        double x[2] = {0, 0};
        double y[2] = {0, 0};
        if (scatters)
          comm.scatterv(x, counts.data(), at.data(), y, 8, 0);
        else
          comm.gatherv(x, 8, y, counts.data(), at.data(), 0);
      });
      ADD_FAILURE() << "not refused";
    } catch (const ArgumentError& error) {
      EXPECT_EQ(error.argument(), scatters ? "send" : "receive");
      EXPECT_NE(std::string(error.what()).find("for rank 1"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(group.broken());
  }
}

TEST(CallArguments, TheOwnBlockOfTheOtherBufferMeansInPlace) {
  ThreadGroup group(3);
  group.run([](Communicator& comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto own = static_cast<std::size_t>(comm.rank());
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{70000}}) {
      const std::size_t bytes = n * sizeof(std::int32_t);
      std::vector<std::int32_t> all(ranks * n, -1);
      std::vector<std::int32_t> block(n);
      std::vector<std::size_t> counts(ranks, bytes);
      std::vector<std::size_t> at(ranks);
      for (std::size_t r = 0; r < ranks; ++r) at[r] = r * bytes;
      const auto value = [n](std::size_t rank, std::size_t i) {
        return static_cast<std::int32_t>(rank * n + i);
      };
      const auto check_all = [&](const std::string& what) {
        for (std::size_t r = 0; r < ranks; ++r)
          for (std::size_t i = 0; i < n; ++i) expect(all[r * n + i] == value(r, i), what);
      };
      for (int root = 0; root < comm.size(); ++root) {
        const bool is_root = comm.rank() == root;
        std::int32_t* const mine = is_root ? &all[own * n] : block.data();
        for (const bool vector : {false, true}) {
          for (std::size_t i = 0; i < n; ++i) mine[i] = value(own, i);
          if (vector)
            comm.gatherv(mine, bytes, all.data(), counts.data(), at.data(), root);
          else
            comm.gather(mine, all.data(), bytes, root);
          if (is_root) check_all("gather");
          if (!is_root) block.assign(n, -1);
          if (vector)
            comm.scatterv(all.data(), counts.data(), at.data(), mine, bytes, root);
          else
            comm.scatter(all.data(), mine, bytes, root);
          for (std::size_t i = 0; i < n; ++i) expect(mine[i] == value(own, i), "scatter");
          all.assign(ranks * n, -1);
        }
      }
      for (const bool vector : {false, true}) {
        all.assign(ranks * n, -1);
        for (std::size_t i = 0; i < n; ++i) all[own * n + i] = value(own, i);
        if (vector)
          comm.allgatherv(&all[own * n], bytes, all.data(), counts.data(), at.data());
        else
          comm.allgather(&all[own * n], all.data(), bytes);
        check_all("allgather");
      }
    }
  });
  // Any other overlap is refused, as before.
  ThreadGroup other(2);
  EXPECT_THROW(other.run([](Communicator& comm) {
    std::int32_t all[3] = {0, 0, 0};
    comm.gather(
        comm.rank() == 0 ? reinterpret_cast<unsigned char*>(all) + 2 : reinterpret_cast<unsigned char*>(all),
        all, 4, 0);
  }),
               ArgumentError);
}

}  // namespace
}  // namespace phicoll
