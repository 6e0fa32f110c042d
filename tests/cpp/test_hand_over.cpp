// Whether data for another CPU is stored past the caches: by what a line from a peer took, and what one from
// memory takes. The times are given here; that real ones are taken is seen on a board that a peer writes.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "phicoll/memory/hand_over.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {

struct HandOverProbe {
  HandOver hand_over;

  bool after(std::uint32_t from_peer, std::uint32_t from_memory) {
    hand_over.judge(from_peer, from_memory);
    return hand_over.far_;
  }
  unsigned looks() const { return hand_over.looks_; }
  std::uint64_t looked_at() const { return hand_over.looked_at_; }
  /// As if the last look were long ago.
  void rest() { hand_over.looked_at_ = arch::cycles() - (std::uint64_t{1} << 62); }
  int peer() const { return hand_over.peer_; }
  std::uint32_t from_memory() const { return hand_over.from_memory_; }
};

namespace {

constexpr std::uint32_t memory = 300;
constexpr std::uint32_t near = 70;
constexpr std::uint32_t far = 320;
// Some thousand times of its lines are not over in a test.
constexpr std::uint32_t slow_memory = std::uint32_t{1} << 30;

TEST(HandOver, StoresPastTheCachesWhereALineFromAPeerTakesAsLongAsOneFromMemory) {
  HandOverProbe probe;
  EXPECT_FALSE(probe.after(near, memory));
  EXPECT_FALSE(probe.after(near, memory));
  EXPECT_FALSE(probe.after(memory / 2, memory));
  HandOverProbe other;
  EXPECT_TRUE(other.after(far, memory));
  EXPECT_TRUE(other.after(memory, memory));
}

TEST(HandOver, TheHostsNumberSaysFromWhichShareOn) {
  HandOverProbe probe;
  HostNumbers host;
  host.far = 120;
  host.near_copy = 1;
  probe.hand_over.set_host(host);
  EXPECT_FALSE(probe.after(far, memory)) << "107 percent";
  host.far = 20;
  probe.hand_over.set_host(host);
  EXPECT_TRUE(probe.after(near, memory)) << "23 percent, and the median of all is more";
}

TEST(HandOver, FewBytesAreCopiedInAWayOfTheirOwnWhereARankOnlyTakes) {
  HandOverProbe probe;
  HostNumbers host;
  host.take_copy = 1;
  host.few_copy = 0;
  probe.hand_over.set_host(host);
  EXPECT_EQ(probe.hand_over.few_way(), arch::CopyWay::ordinary);
  EXPECT_EQ(probe.hand_over.take_way(), arch::CopyWay::string);
  for (const std::size_t bytes : {std::size_t{64}, arch::string_copy_bytes, std::size_t{8193}})
    EXPECT_EQ(probe.hand_over.receive_way(bytes), arch::CopyWay::string) << bytes;
  for (const std::size_t bytes : {arch::string_copy_bytes + 1, std::size_t{8192}})
    EXPECT_EQ(probe.hand_over.receive_way(bytes), arch::CopyWay::ordinary) << bytes;
  // Where the CPU lacks the way, as without the number.
  host.few_copy = 4;
  probe.hand_over.set_host(host);
  const bool has = arch::has_copy_way(arch::CopyWay::vectors_64);
  EXPECT_EQ(probe.hand_over.few_way(), has ? arch::CopyWay::vectors_64 : arch::CopyWay::ordinary);
  EXPECT_EQ(probe.hand_over.receive_way(4096), has ? arch::CopyWay::vectors_64 : arch::CopyWay::string);
}

TEST(HandOver, OneLongReadMakesNoDecisionAndTwoDo) {
  HandOverProbe probe;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(probe.after(near, memory));
  EXPECT_FALSE(probe.after(100000, memory)) << "an interrupt";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(probe.after(near, memory));
  EXPECT_FALSE(probe.after(far, memory));
  EXPECT_TRUE(probe.after(far, memory)) << "the CPUs have moved apart";
  EXPECT_TRUE(probe.after(near, memory));
  EXPECT_FALSE(probe.after(near, memory)) << "and together again";
}

/// The control and the board of some ranks, on CPUs of their own unless said otherwise.
struct Ranks {
  struct alignas(arch::stride_bytes) Memory {
    unsigned char bytes[sizeof(Control) + 8 * arch::stride_bytes];
  };
  explicit Ranks(int ranks) : memory(new Memory()), control(reinterpret_cast<Control*>(memory->bytes)) {
    control->configure(ranks, false, 0, 0);
    control->set_board(sizeof(Control));
  }
  /// On another CPU: the line is not in this one's caches.
  void call(int rank, std::uint64_t number) { arch::evict_line(call_here(rank, number)); }
  void* call_here(int rank, std::uint64_t number) { return &control->board()->note(rank, number, 7, 7); }

  std::unique_ptr<Memory> memory;
  Control* control;
};

TEST(HandOver, LooksOnceACallAtAPeerThatHasWrittenSinceTheLastTime) {
  Ranks ranks(2);
  HandOverProbe probe;
  probe.hand_over.far(4096, *ranks.control, 0, 1);
  EXPECT_EQ(probe.looks(), 0u) << "the peer has made no call yet: nothing came from its cache";
  EXPECT_GT(probe.from_memory(), 0u);
  ranks.call(1, 1);
  probe.hand_over.far(4096, *ranks.control, 0, 1);
  EXPECT_EQ(probe.looks(), 0u) << "one look a call";
  probe.hand_over.far(4096, *ranks.control, 0, 2);
  EXPECT_EQ(probe.looks(), 1u);
  probe.hand_over.far(4096, *ranks.control, 0, 3);
  EXPECT_EQ(probe.looks(), 1u) << "what this rank has read itself is in its own cache";
  for (std::uint64_t call = 4; call < 8; ++call) {
    ranks.call(1, call);
    probe.hand_over.far(4096, *ranks.control, 0, call);
  }
  EXPECT_GE(probe.looks(), 4u);
}

TEST(HandOver, ALineThatWasFetchedWithTheOneBesideItIsNotTimed) {
  Ranks ranks(2);
  HandOverProbe probe;
  for (std::uint64_t call = 1; call < 8; ++call) ranks.call(1, call);  // both lines
  probe.hand_over.far(4096, *ranks.control, 0, 3);
  EXPECT_EQ(probe.looks(), 1u);
  probe.hand_over.far(4096, *ranks.control, 0, 4);
  EXPECT_EQ(probe.looks(), 1u) << "nothing was written to it since";
  ranks.call(1, 12);
  probe.hand_over.far(4096, *ranks.control, 0, 12);
  EXPECT_EQ(probe.looks(), 2u);
}

TEST(HandOver, LooksSeldomOnceItKnows) {
  Ranks ranks(2);
  HandOverProbe probe;
  const auto calls = [&](std::uint64_t from, std::uint64_t to, std::size_t bytes) {
    for (std::uint64_t call = from; call < to; ++call) {
      ranks.call(1, call);
      probe.rest();
      probe.hand_over.far(bytes, *ranks.control, 0, call);
    }
  };
  calls(1, 9, 4096);
  const unsigned first = probe.looks();
  calls(9, 9 + 320, 4096);
  EXPECT_LE(probe.looks(), first + 11) << "every 32 pieces";
  const unsigned second = probe.looks();
  calls(329, 329 + 64, std::size_t{256} << 10);
  EXPECT_GE(probe.looks(), second + 10) << "every megabyte";
}

TEST(HandOver, LooksNoSoonerThanSomeTimeAfterTheLastOneOnceItKnows) {
  Ranks ranks(2);
  HandOverProbe probe;
  const auto calls = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t call = from; call < to; ++call) {
      ranks.call(1, call);
      probe.hand_over.far(std::size_t{2} << 20, *ranks.control, 0, call);
    }
  };
  calls(1, 20);
  EXPECT_GE(probe.looks(), 4u) << "the first ones do not wait";
  probe.after(near, slow_memory);
  const std::uint64_t last = probe.looked_at();
  calls(20, 320);
  EXPECT_EQ(probe.looked_at(), last);
  probe.rest();
  const std::uint64_t rested = probe.looked_at();
  calls(320, 321);
  const std::uint64_t next = probe.looked_at();
  EXPECT_NE(next, rested);
  calls(321, 400);
  EXPECT_EQ(probe.looked_at(), next) << "the time begins anew";
}

TEST(HandOver, NorAtOnePeersWord) {
  struct alignas(arch::stride_bytes) Line {
    Word<std::uint64_t> taken;
  } line{};
  HandOverProbe probe;
  const auto pieces = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t piece = from; piece < to; ++piece) {
      line.taken.atomic().store(piece, std::memory_order_relaxed);
      arch::evict_line(&line);
      probe.hand_over.way(std::size_t{2} << 20, line.taken);
    }
  };
  pieces(1, 20);
  EXPECT_GE(probe.looks(), 4u);
  probe.after(near, slow_memory);
  const std::uint64_t last = probe.looked_at();
  pieces(20, 320);
  EXPECT_EQ(probe.looked_at(), last);
  probe.rest();
  const std::uint64_t rested = probe.looked_at();
  pieces(320, 321);
  EXPECT_NE(probe.looked_at(), rested);
}

TEST(HandOver, LooksAtEveryPeerInTurnButNotAtThoseOnItsOwnCpu) {
  Ranks ranks(4);
  for (int r = 0; r < 4; ++r) ranks.control->set_cpu(r, r % 3);  // 3 shares rank 0's
  HandOverProbe probe;
  std::vector<int> seen(4, 0);
  for (std::uint64_t call = 1; call < 2000; ++call) {
    for (int r = 1; r < 4; ++r) ranks.call(r, call);
    probe.rest();
    probe.hand_over.far(4096, *ranks.control, 0, call);
    ++seen[static_cast<std::size_t>(probe.peer())];
  }
  EXPECT_EQ(seen[0], 0);
  EXPECT_GT(seen[1], 0);
  EXPECT_GT(seen[2], 0);
  EXPECT_EQ(seen[3], 0);
}

TEST(HandOver, RanksThatRoamDoNotLookAtThoseNotedOnTheirCpu) {
  Ranks ranks(4);
  ranks.control->configure(4, false, 2, 0);
  HandOverProbe probe;
  std::vector<int> seen(4, 0);
  for (std::uint64_t call = 1; call < 2000; ++call) {
    const int here = os::current_cpu();
    ranks.control->note_cpu(1, here + 1);
    ranks.control->note_cpu(2, here);
    ranks.control->note_cpu(3, here + 1);
    for (int r = 1; r < 4; ++r) ranks.call(r, call);
    probe.rest();
    probe.hand_over.far(4096, *ranks.control, 0, call);
    if (os::current_cpu() == here) ++seen[static_cast<std::size_t>(probe.peer())];
  }
  EXPECT_GT(seen[1], 0);
  EXPECT_EQ(seen[2], 0);
  EXPECT_GT(seen[3], 0);
}

TEST(HandOver, RanksOfOneCpuBeginWithDifferentPeers) {
  Ranks ranks(4);
  std::vector<HandOverProbe> probes(4);
  for (int r = 0; r < 4; ++r) ranks.control->set_cpu(r, r / 2);
  for (int r = 0; r < 4; ++r) probes[static_cast<std::size_t>(r)].hand_over.far(4096, *ranks.control, r, 1);
  EXPECT_NE(probes[0].peer(), probes[1].peer());
  EXPECT_NE(probes[2].peer(), probes[3].peer());
}

// The first rank of a CPU to read a line from far away leaves it in the CPU's caches, so others believe it.
TEST(HandOver, WhereRanksShareCpusOneThatFindsOthersFarTellsAll) {
  for (const int cpus : {2, 3}) {
    Ranks ranks(3);
    ranks.control->configure(3, false, cpus, 0);
    HandOverProbe one;
    for (int i = 0; i < 4; ++i) one.after(40, 40);
    one.rest();
    ranks.call(1, 1);
    one.hand_over.far(std::size_t{1} << 20, *ranks.control, 0, 1);
    EXPECT_EQ(one.looks(), 5u);
    EXPECT_EQ(ranks.control->far_ns() != 0, cpus == 2);
  }
}

TEST(HandOver, WhereRanksShareCpusOneThatFindsOthersNearIsToldThatTheyAreFar) {
  for (const int cpus : {2, 3}) {
    Ranks ranks(3);
    ranks.control->configure(3, false, cpus, 0);
    HandOverProbe one;
    for (int i = 0; i < 4; ++i) one.after(near, memory);
    one.rest();
    ranks.control->note_far(os::now_ns() - std::int64_t{1000} * 1000 * 1000);
    EXPECT_FALSE(one.hand_over.far(std::size_t{1} << 20, *ranks.control, 0, 1)) << "long ago";
    ranks.control->note_far(os::now_ns() + std::int64_t{1000} * 1000 * 1000);
    one.rest();
    EXPECT_EQ(one.hand_over.far(std::size_t{1} << 20, *ranks.control, 0, 2), cpus == 2);
  }
}

TEST(HandOver, RanksAllOnOneCpuHaveNobodyToLookAt) {
  Ranks ranks(2);
  ranks.control->set_cpu(0, 0);
  ranks.control->set_cpu(1, 0);
  HandOverProbe probe;
  ranks.call(1, 1);
  for (std::uint64_t call = 1; call < 4; ++call)
    EXPECT_FALSE(probe.hand_over.far(4096, *ranks.control, 0, call));
  EXPECT_EQ(probe.looks(), 0u);
}

TEST(HandOver, ALineOfARankThatIsOnThisCpuForNowTellsNothing) {
  Ranks ranks(2);
  HandOverProbe probe;
  for (std::uint64_t call = 1; call <= 100; ++call) {
    ranks.call_here(1, call);
    probe.hand_over.far(4096, *ranks.control, 0, call);
  }
  EXPECT_LT(probe.looks(), 50u) << "but for interrupts";
}

TEST(HandOver, APieceForOnePeerGoesPastTheCachesOnceThePeerIsKnownToBeFar) {
  HandOverProbe probe;
  const Word<std::uint64_t> taken{};  // which nobody writes, so no look tells anything
  for (int piece = 0; piece < 3; ++piece)
    EXPECT_EQ(probe.hand_over.way(4096, taken), arch::CopyWay::ordinary);
  for (int i = 0; i < 5; ++i) probe.after(far, memory);
  EXPECT_EQ(probe.hand_over.way(4096, taken), arch::CopyWay::past_caches);
  for (int i = 0; i < 2; ++i) probe.after(near, memory);
  EXPECT_EQ(probe.hand_over.way(4096, taken), arch::CopyWay::ordinary);
}

}  // namespace
}  // namespace phicoll
