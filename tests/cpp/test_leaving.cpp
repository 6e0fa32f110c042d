// A rank that leaves a collective by an exception keeps its buffers until no peer reads or writes them: its
// caller frees them while it unwinds.

#include <gtest/gtest.h>

#include <time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

void nap_ms(long ms) {
  const timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, nullptr);
}

// Of one rank: what its operator does.
struct Slow {
  std::atomic<int>* inside;
  std::atomic<bool>* freed;
  int reads;
  bool raises;
};

void slow_sum(void* context, void* to, const void* left, const void* right, std::size_t count) {
  auto& slow = *static_cast<Slow*>(context);
  if (slow.raises) {
    // Not before the others hold this rank's operand in their hands; not for ever.
    for (int k = 0; k < 2000 && slow.inside->load() < slow.reads; ++k) nap_ms(1);
    throw std::runtime_error("cannot add");
  }
  slow.inside->fetch_add(1);
  nap_ms(60);
  EXPECT_FALSE(slow.freed->load()) << "a buffer was freed while a peer read it";
  const auto* l = static_cast<const std::int64_t*>(left);
  const auto* r = static_cast<const std::int64_t*>(right);
  auto* out = static_cast<std::int64_t*>(to);
  for (std::size_t i = 0; i < count; ++i) out[i] = l[i] + r[i];
  EXPECT_FALSE(slow.freed->load()) << "a buffer was freed while a peer read it";
}

// Frees its memory as the exception passes, and says so.
struct Owned {
  Owned(std::size_t count, std::atomic<bool>* told) : numbers(new std::int64_t[count]()), freed(told) {}
  ~Owned() {
    if (freed != nullptr) freed->store(true);
  }
  std::unique_ptr<std::int64_t[]> numbers;
  std::atomic<bool>* freed;
};

TEST(Leaving, BuffersAreThereUntilNobodyReadsThem) {
  // All of them let peers read a rank's operand where it lies.
  const std::vector<std::string> specs = {
      "recursive-doubling:transfer=load-store",
      "all-reads-all:transfer=load-store",
      "rabenseifner:transfer=load-store",
      "one-shot:direct=1024",
      "sliced:direct=1024",
      "sliced:direct=1024:whole=512",
  };
  for (const std::string& text : specs) {
    SCOPED_TRACE(text);
    ThreadGroup group(2);
    std::atomic<int> inside{0};
    std::atomic<bool> freed{false};
    std::atomic<int> raised{0};
    EXPECT_THROW(group.run([&](Communicator& comm) {
      Slow slow{&inside, &freed, 1, comm.rank() == 1};
      Operator op;
      op.kernel = slow_sum;
      op.context = &slow;
      op.element_bytes = sizeof(std::int64_t);
      op.id = 4001;
      constexpr std::size_t count = 4096;
      const AlgorithmSpec spec = family(Operation::allreduce).parse(text);
      try {
        Owned send(count, comm.rank() == 1 ? &freed : nullptr);
        Owned receive(count, nullptr);
        comm.allreduce(send.numbers.get(), receive.numbers.get(), count, op, &spec);
      } catch (const std::exception&) {
        ++raised;
        throw;
      }
    }),
                 std::exception);
    EXPECT_GE(raised.load(), 1);
    EXPECT_GE(inside.load(), 1) << "nobody read";
    EXPECT_TRUE(group.broken());
  }
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t large = std::size_t{2} << 20;
#else
constexpr std::size_t large = std::size_t{32} << 20;
#endif

/// Breaks the group from outside of any call, while its ranks are in one, most likely in a copy.
class BreaksSoon {
 public:
  explicit BreaksSoon(Communicator& comm)
      : thread_([&comm] {
          nap_ms(25);
          comm.fail("cannot go on");
        }) {}
  ~BreaksSoon() { thread_.join(); }

 private:
  std::thread thread_;
};

/// Calls without an end, of buffers that are gone as soon as the exception passes.
void until_broken(Operation operation, const char* text, int ranks = 3) {
  SCOPED_TRACE(std::string(to_string(operation)) + " " + text);
  ThreadGroup group(ranks);
  EXPECT_THROW(group.run([&](Communicator& comm) {
    const AlgorithmSpec spec = family(operation).parse(text);
    std::unique_ptr<BreaksSoon> breaker;
    if (comm.rank() == ranks - 1) breaker.reset(new BreaksSoon(comm));
    std::unique_ptr<unsigned char[]> send(new unsigned char[large]());
    std::unique_ptr<unsigned char[]> receive(new unsigned char[large]());
    constexpr std::size_t block = large / 3 / 64 * 64;
    for (;;) {
      // A broadcast's message is what it receives.
      const std::size_t bytes = operation == Operation::broadcast ? large : block;
      const Operator op = find_operator(Type::uint8, Op::bxor);
      Request request;
      request.operation = operation;
      request.send = send.get();
      request.receive = receive.get();
      request.count = bytes;
      request.op = &op;
      request.algorithm = &spec;
      comm.call(request);
    }
  }),
               BrokenGroupError);
}

TEST(Leaving, BuffersAreThereUntilTheirReadersStop) {
  for (const char* const text :
       {"single-copy", "tree-copy", "root-copies", "piece-per-rank", "ring:direct=1024"})
    until_broken(Operation::broadcast, text);
  until_broken(Operation::gather, "mailbox:direct=1024");
  until_broken(Operation::gather, "mailbox:once=1:direct=1024:put=1024");
  until_broken(Operation::scatter, "mailbox:direct=1024");
  until_broken(Operation::alltoall, "mailbox:direct=1024");
  until_broken(Operation::alltoall, "one-shot:direct=1024");
  until_broken(Operation::alltoall, "one-shot:direct=1024:put=1024");
  until_broken(Operation::allgather, "one-shot:direct=1024");
  until_broken(Operation::allgather, "one-shot:direct=1024:put=1024");
  until_broken(Operation::reduce, "mailbox:direct=1024");
  until_broken(Operation::reduce, "mailbox:put=1024", 2);
  until_broken(Operation::allreduce, "one-shot:put=1024", 2);
  until_broken(Operation::allreduce, "sliced:put=1024", 2);
  until_broken(Operation::allreduce, "sliced:direct=1024");
  until_broken(Operation::allreduce, "sliced:direct=1024:whole=512");
}

TEST(Leaving, NobodyWaitsForWhoIsNotInTheCall) {
  ThreadGroup group(3);
  std::atomic<bool> go{false};
  std::atomic<bool> waited{true};
  EXPECT_THROW(group.run([&](Communicator& comm) {
    Operator op;
    op.kernel = [](void*, void*, const void*, const void*, std::size_t) { throw std::runtime_error("no"); };
    op.element_bytes = 8;
    op.id = 4002;
    std::int64_t x = 1, y = 0;
    comm.barrier();
    if (comm.rank() == 2) {
      // In no call as long as the others have not left theirs.
      for (int k = 0; k < 5000 && !go.load(); ++k) nap_ms(1);
      waited = !go.load();
      return;
    }
    try {
      comm.allreduce(&x, &y, 1, op);
    } catch (const std::exception&) {
      if (comm.rank() == 0) go = true;
      throw;
    }
  }),
               std::exception);
  EXPECT_FALSE(waited.load());
}

TEST(Leaving, ACallBoardKnowsWhoIsInside) {
  std::vector<unsigned char> memory(CallBoard::footprint(2) + 128);
  auto* const board =
      reinterpret_cast<CallBoard*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 127) / 128 * 128);
  EXPECT_FALSE(board->inside(0, 5));
  board->note(0, 5, 77, 1);
  EXPECT_TRUE(board->inside(0, 5));
  EXPECT_FALSE(board->inside(1, 5));
  EXPECT_FALSE(board->inside(0, 13));
  board->note(1, 5, 78, 2);
  board->done(0, 5);
  EXPECT_FALSE(board->inside(0, 5));
  CallMismatch found;
  EXPECT_TRUE(board->find_mismatch(1, 2, &found)) << "a call that is over is still compared";
  EXPECT_EQ(found.call, 5u);
  board->note(0, 6, 0, 3);  // a barrier touches nobody's buffers
  EXPECT_FALSE(board->inside(0, 6));
}

}  // namespace
}  // namespace phicoll
