// The shared heap: what ranks take lies apart, what they give back can be had again, and what does not fit is
// an error.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

GroupOptions with_heap(std::size_t bytes) {
  GroupOptions options;
  options.memory_limit = megabyte;
  options.heap_limit = bytes;
  options.attach_timeout_ms = 60000;
  return options;
}

void in_threads_and_processes(int ranks, const GroupOptions& options,
                              const std::function<void(Communicator&)>& function) {
  {
    SCOPED_TRACE("threads");
    ThreadGroup(ranks, options).run(function);
  }
  SCOPED_TRACE("processes");
  // A failed expectation in a forked rank is seen by its exit status only.
  fork_and_run(ranks, options, [&](Communicator& communicator) {
    function(communicator);
    if (::testing::Test::HasFailure()) throw Error("expectations failed");
  });
}

TEST(Heap, BlocksAreApartAlignedAndInSharedMemory) {
  in_threads_and_processes(1, with_heap(megabyte), [](Communicator& communicator) {
    std::vector<unsigned char*> blocks;
    const std::size_t sizes[] = {0, 1, 255, 256, 257, 4095, 4096, 4097, 100000};
    for (std::size_t bytes : sizes) {
      blocks.push_back(static_cast<unsigned char*>(communicator.allocate(bytes)));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % 128, 0u);
      EXPECT_TRUE(communicator.in_shared_memory(blocks.back(), bytes));
      std::memset(blocks.back(), static_cast<int>(blocks.size()), bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (std::size_t b = 0; b < sizes[i]; ++b) ASSERT_EQ(blocks[i][b], i + 1);
    int own = 0;
    EXPECT_FALSE(communicator.in_shared_memory(&own, sizeof own));
    EXPECT_FALSE(communicator.in_shared_memory(blocks[0], 1024 * megabyte));
    for (unsigned char* block : blocks) communicator.release(block);
    EXPECT_EQ(communicator.heap_free_bytes(), communicator.heap_bytes());
  });
}

TEST(Heap, FreedNeighboursMerge) {
  ThreadGroup(1, with_heap(megabyte)).run([](Communicator& communicator) {
    const std::size_t all = communicator.heap_bytes();
    std::vector<void*> blocks;
    for (std::size_t at = 0; at < all; at += 65536) blocks.push_back(communicator.allocate(65536));
    EXPECT_THROW(communicator.allocate(1), ResourceError);
    for (std::size_t i = 0; i < blocks.size(); i += 2) communicator.release(blocks[i]);
    EXPECT_THROW(communicator.allocate(65537), ResourceError);
    for (std::size_t i = 1; i < blocks.size(); i += 2) communicator.release(blocks[i]);
    void* const whole = communicator.allocate(all);
    communicator.release(whole);
  });
}

TEST(Heap, WhatDoesNotFitIsRefusedWithItsSizeAndWhatIsFree) {
  in_threads_and_processes(1, with_heap(megabyte), [](Communicator& communicator) {
    communicator.allocate(megabyte / 2);
    for (std::size_t bytes : {megabyte, 100 * megabyte, SIZE_MAX}) try {
        communicator.allocate(bytes);
        ADD_FAILURE() << bytes;
      } catch (const ResourceError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find(std::to_string(bytes)), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(megabyte / 2)), std::string::npos) << text;
      }
  });
}

TEST(Heap, OnlyBlocksAreGivenBackAndOnce) {
  in_threads_and_processes(1, with_heap(megabyte), [](Communicator& communicator) {
    auto* const block = static_cast<unsigned char*>(communicator.allocate(1000));
    auto* const next = static_cast<unsigned char*>(communicator.allocate(1000));
    int own = 0;
    EXPECT_THROW(communicator.release(nullptr), ArgumentError);
    EXPECT_THROW(communicator.release(&own), ArgumentError);
    EXPECT_THROW(communicator.release(block + 1), ArgumentError);
    EXPECT_THROW(communicator.release(block + 256), ArgumentError);
    EXPECT_THROW(communicator.release(next + 4096), ArgumentError);
    communicator.release(block);
    EXPECT_THROW(communicator.release(block), ArgumentError);
    communicator.release(next);
    EXPECT_EQ(communicator.heap_free_bytes(), communicator.heap_bytes());
  });
}

TEST(Heap, AGroupWithoutAHeapSaysSo) {
  in_threads_and_processes(1, with_heap(0), [](Communicator& communicator) {
    EXPECT_EQ(communicator.heap_bytes(), 0u);
    EXPECT_THROW(communicator.allocate(1), ResourceError);
    EXPECT_THROW(communicator.release(&communicator), ArgumentError);
  });
}

// Every rank at any time: each fills its blocks with its own mark and finds them so when it gives them back.
TEST(Heap, RanksTakeAndGiveBackAtOnce) {
  in_threads_and_processes(4, with_heap(2 * megabyte), [](Communicator& communicator) {
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    struct Held {
      unsigned char* at;
      std::size_t bytes;
    };
    std::vector<Held> held;
    const auto mark = static_cast<unsigned char>(communicator.rank() + 1);
    const auto give_back = [&](std::size_t i) {
      for (std::size_t b = 0; b < held[i].bytes; ++b) ASSERT_EQ(held[i].at[b], mark);
      communicator.release(held[i].at);
      held[i] = held.back();
      held.pop_back();
    };
    communicator.barrier();
    for (int turn = 0; turn < 1500; ++turn) {
      if (!held.empty() && random() % 5 < 2) {
        give_back(random() % held.size());
        continue;
      }
      const std::size_t bytes = random() % (random() % 8 == 0 ? 60000 : 3000);
      try {
        held.push_back({static_cast<unsigned char*>(communicator.allocate(bytes)), bytes});
        std::memset(held.back().at, mark, bytes);
      } catch (const ResourceError&) {
        while (held.size() > 3) give_back(held.size() - 1);
      }
    }
    while (!held.empty()) give_back(held.size() - 1);
    communicator.barrier();
    EXPECT_EQ(communicator.heap_free_bytes(), communicator.heap_bytes());
  });
}

TEST(Heap, OneRankFillsAnotherRanksBlockAndGivesItBack) {
  in_threads_and_processes(2, with_heap(megabyte), [](Communicator& communicator) {
    // The first block of each rank in turn: both know where it lies in the group's memory.
    auto* const meeting = reinterpret_cast<Word<std::uint64_t>*>(communicator.region() + 512 * 1024);
    if (communicator.rank() == 0) {
      auto* const block = static_cast<unsigned char*>(communicator.allocate(100000));
      std::memset(block, 7, 100000);
      meeting->atomic().store(communicator.control().offset_of(block), std::memory_order_release);
    }
    communicator.barrier();
    if (communicator.rank() == 1) {
      auto* const block = communicator.control().at(meeting->atomic().load(std::memory_order_acquire));
      EXPECT_TRUE(communicator.in_shared_memory(block, 100000));
      EXPECT_EQ(block[0], 7);
      EXPECT_EQ(block[99999], 7);
      communicator.release(block);
      meeting->atomic().store(0, std::memory_order_relaxed);
    }
    communicator.barrier();
    EXPECT_EQ(communicator.heap_free_bytes(), communicator.heap_bytes());
  });
}

/// A heap of its own in memory of which only reserved pages may be touched, like a full /dev/shm.
class Pages {
 public:
  explicit Pages(std::size_t heap_bytes) : bytes_(Heap::footprint(heap_bytes)) {
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    open(0, 1);
    Heap::prepare(memory_, heap_bytes);
    control_.reset(new Control());
    control_->configure(1, false, 0, 0);
  }
  ~Pages() { munmap(memory_, bytes_); }
  void open(std::size_t offset, std::size_t bytes) {
    if (opened_ + bytes > limit) throw ResourceError("no pages left");
    opened_ += bytes;
    const std::size_t first = offset / 4096 * 4096;
    ASSERT_EQ(mprotect(memory_ + first, offset + bytes - first, PROT_READ | PROT_WRITE), 0);
  }
  Heap heap() {
    return Heap(*control_, 0, memory_,
                [this](std::size_t offset, std::size_t bytes) { open(offset, bytes); });
  }

  std::size_t limit = SIZE_MAX;

 private:
  std::size_t bytes_;
  std::size_t opened_ = 0;
  unsigned char* memory_;
  std::unique_ptr<Control> control_;
};

TEST(Heap, TouchesAndHandsOutOnlyPagesThatItReserved) {
  Pages pages(64 * megabyte);
  Heap heap = pages.heap();
  std::mt19937 random(5);
  std::vector<unsigned char*> blocks;
  for (int turn = 0; turn < 600; ++turn) {
    const std::size_t bytes = random() % (turn % 10 == 0 ? 3 * megabyte : 9000) + 1;
    const Heap::Block block = heap.take(bytes);
    for (std::size_t b = block.used_before; b < bytes; ++b) ASSERT_EQ(block.at[b], 0) << "not fresh";
    std::memset(block.at, 1, bytes);
    blocks.push_back(block.at);
    if (blocks.size() < 12) continue;
    const std::size_t which = random() % blocks.size();
    heap.give_back(blocks[which]);
    blocks[which] = blocks.back();
    blocks.pop_back();
  }
  for (unsigned char* block : blocks) heap.give_back(block);
  EXPECT_EQ(heap.free_bytes(), heap.bytes());
}

TEST(Heap, APageThatCannotBeHadIsAnErrorAndLeavesTheHeapAsItWas) {
  Pages pages(64 * megabyte);
  Heap heap = pages.heap();
  pages.limit = 2 * megabyte;
  void* const kept = heap.take(megabyte).at;
  const std::size_t free = heap.free_bytes();
  EXPECT_THROW(heap.take(2 * megabyte), ResourceError);
  EXPECT_THROW(heap.take(60 * megabyte), ResourceError);  // the bitmap's own pages
  EXPECT_EQ(heap.free_bytes(), free);
  void* const small = heap.take(1000).at;
  std::memset(small, 1, 1000);
  heap.give_back(small);
  pages.limit = SIZE_MAX;
  std::memset(heap.take(2 * megabyte).at, 1, 2 * megabyte);
  heap.give_back(kept);
}

// Large units: the whole bitmap stays small however large the heap is, and nothing is taken until it is used.
TEST(Heap, AHugeHeapCostsNothingUntilItIsUsed) {
  GroupOptions options = with_heap(std::size_t{1} << 40);
  ThreadGroup(1, options).run([](Communicator& communicator) {
    EXPECT_GT(communicator.heap_bytes(), megabyte);
    auto* const block = static_cast<unsigned char*>(communicator.allocate(10 * megabyte));
    block[0] = block[10 * megabyte - 1] = 1;
    communicator.release(block);
  });
}

TEST(Heap, ARankThatDiesWithTheHeapInItsHandsBreaksTheGroup) {
  const auto run = [] {
    fork_and_run(2, with_heap(megabyte), [](Communicator& communicator) {
      void* const block = communicator.allocate(1);
      communicator.barrier();
      if (communicator.rank() == 1) {
        // The heap's first word is its lock; it lies in the page in front of the bitmaps.
        unsigned char* at = static_cast<unsigned char*>(communicator.allocate(1));
        at -= reinterpret_cast<std::uintptr_t>(at) % 4096;
        while (reinterpret_cast<Word<std::uint32_t>*>(at)->atomic().load() != 0 ||
               *reinterpret_cast<std::uint64_t*>(at + 128) != 256)
          at -= 4096;
        reinterpret_cast<Word<std::uint32_t>*>(at)->atomic().store(2);
        communicator.barrier();
        kill(getpid(), SIGKILL);
      }
      communicator.barrier();
      communicator.release(block);
    });
  };
  try {
    run();
    FAIL() << "rank 0 took a lock that rank 1 held when it died";
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 1) << error.what();
  }
}

}  // namespace
}  // namespace phicoll
