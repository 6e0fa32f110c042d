// A port written from the contract alone: what ports/port.hpp demands, and nothing more. Every algorithm of
// every operation runs on it, so what algorithms use is in the contract, and what a port may leave out has a
// default that serves.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/allgather/registry.hpp"
#include "phicoll/collectives/allreduce/registry.hpp"
#include "phicoll/collectives/alltoall/registry.hpp"
#include "phicoll/collectives/barrier/registry.hpp"
#include "phicoll/collectives/broadcast/registry.hpp"
#include "phicoll/collectives/gather/registry.hpp"
#include "phicoll/collectives/reduce/registry.hpp"
#include "phicoll/collectives/reduce_scatter/registry.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/collectives/scan/registry.hpp"
#include "phicoll/collectives/scatter/registry.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/os/fiber.hpp"
#include "phicoll/ports/port.hpp"
#include "phicoll/sim/running/port_program.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {
namespace {

/// Ranks are fibers of one thread, so every access is in order.
class MinimalPort : public PortDefaults<MinimalPort> {
 public:
  MinimalPort(os::Fiber& fiber, int rank) : fiber_(&fiber), rank_(rank) {}
  int rank() const { return rank_; }

  template <class T>
  T load_relaxed(const Word<T>& word) const {
    return word.atomic().load();
  }
  template <class T>
  T load_acquire(const Word<T>& word) const {
    return word.atomic().load();
  }
  template <class T>
  void store_relaxed(Word<T>& word, T value) const {
    word.atomic().store(value);
  }
  template <class T>
  void store_release(Word<T>& word, T value) const {
    word.atomic().store(value);
  }
  template <class T>
  T exchange(Word<T>& word, T value) const {
    return word.atomic().exchange(value);
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired) const {
    return word.atomic().compare_exchange_strong(expected, desired);
  }
  template <class T>
  T fetch_add(Word<T>& word, T value) const {
    return word.atomic().fetch_add(value);
  }
  template <class T>
  T fetch_or(Word<T>& word, T value) const {
    return word.atomic().fetch_or(value);
  }
  template <class T>
  void signal(Word<T>& word, T value) const {
    word.atomic().store(value);
  }
  template <class T>
  T signal_add(Word<T>& word, T value) const {
    return word.atomic().fetch_add(value);
  }
  template <class T>
  T signal_or(Word<T>& word, T value) const {
    return word.atomic().fetch_or(value);
  }
  template <class T>
  void signal(SoleWriterLine<T>& line, T value, StorePolicy) const {
    signal(line.word, value);
  }
  void signal_bytes(ByteLine& line, std::uint8_t value) const {
    for (Word<std::uint8_t>& byte : line.bytes) byte.atomic().store(value);
  }
  template <class T>
  T wait(const Word<T>& word, Condition<T> condition, int = any_rank, Meanwhile = Meanwhile::little) const {
    while (!condition(load_acquire(word))) pause();
    return load_acquire(word);
  }
  void wait_line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int = any_rank) const {
    for (unsigned b = 0; b < arch::line_bytes; ++b)
      if ((mask >> b & 1) != 0) wait(line.bytes[b], equal(value));
  }
  void load_line(const void* line, void* destination) const {
    std::memcpy(destination, line, arch::line_bytes);
  }
  void store_line(void* line, const void* source, StorePolicy) const {
    std::memcpy(line, source, arch::line_bytes);
  }
  void fence() const {}
  void pause() const { fiber_->suspend(); }
  void copy(void* destination, const void* source, std::size_t bytes) const {
    std::memcpy(destination, source, bytes);
  }
  void move(Data to, Data from, std::size_t bytes, Stores = Stores::cached) const {
    if (bytes != 0) std::memcpy(to.at, from.at, bytes);
  }
  void combine(const Operator& op, Data to, Data left, Data right, std::size_t count) const {
    op.kernel(op.context, to.at, left.at, right.at, count);
  }

 private:
  os::Fiber* fiber_;
  int rank_;
};

/// The ranks' bodies in turns, from one pause to the next, until all have ended.
template <class Body>
void run_ranks(int ranks, const Body& body) {
  constexpr int most_turns = 100000;
  std::vector<os::Fiber> fibers(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    os::Fiber& fiber = fibers[static_cast<std::size_t>(rank)];
    fiber = os::Fiber([&body, &fiber, rank] {
      MinimalPort port(fiber, rank);
      body(port);
    });
  }
  int unfinished = ranks;
  for (int turn = 0; unfinished != 0; ++turn) {
    ASSERT_LT(turn, most_turns) << "ranks wait for ever";
    unfinished = 0;
    for (os::Fiber& fiber : fibers) {
      if (!fiber.finished()) fiber.resume();
      unfinished += fiber.finished() ? 0 : 1;
    }
  }
}

Program program_of(Operation operation, const AlgorithmSpec& spec, int ranks) {
  Program program;
  program.ranks = ranks;
  std::size_t send = 0, receive = 0;
  for (const int bytes : {8, 1200, 24}) {
    measure::Work work;
    work.operation = operation;
    work.bytes = bytes;
    ProgramCall call = measure::program_call(work, ranks, ranks - 1);
    call.algorithm = spec.text();
    call.fill = static_cast<std::uint64_t>(bytes);
    for (int r = 0; r < ranks; ++r) {
      send = std::max(send, program.send_bytes(call, r));
      receive = std::max(receive, program.receive_bytes(call, r));
    }
    program.calls.push_back(call);
  }
  program.buffers = {send, receive};
  return program;
}

struct Freed {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

void run_program(const Program& program) {
  const Shape shape = Shape::unknown(program.ranks);
  const sim::ProgramPlan plan(program, shape);
  const ProgramLayout layout(program);
  const auto ranks = static_cast<std::size_t>(program.ranks);
  const std::size_t bytes = plan.bytes() + ranks * layout.bytes();
  const std::unique_ptr<unsigned char, Freed> memory(static_cast<unsigned char*>(allocate_strided(bytes)));
  std::memset(memory.get(), 0, bytes);
  const auto memory_of = [&](int rank) {
    return memory.get() + plan.bytes() + static_cast<std::size_t>(rank) * layout.bytes();
  };
  int entered = 0;
  run_ranks(program.ranks, [&](MinimalPort& port) {
    const int rank = port.rank();
    sim::ProgramRank<MinimalPort> made(plan, rank, shape, memory.get());
    layout.prepare(program, rank, memory_of(rank));
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      const ProgramCall& call = program.calls[c];
      const Contribution part = program.contribution(call, rank);
      if (part.bytes != 0)
        program.filling(call, rank, layout.place(memory_of(rank), part.buffer, part.at).at);
      ++entered;
      made.call(port, program, plan, layout, c, memory_of(rank));
      if (call.operation == Operation::barrier) {
        EXPECT_GE(entered, program.ranks * static_cast<int>(c + 1));
      }
    }
  });
  std::vector<Buffers> found;
  for (int r = 0; r < program.ranks; ++r) found.push_back(layout.take(program, r, memory_of(r)));
  EXPECT_NO_THROW(check_same(program.expected(), found));
}

class MinimalPortRuns : public ::testing::TestWithParam<int> {};

TEST_P(MinimalPortRuns, EveryAlgorithm) {
  const auto operation = static_cast<Operation>(GetParam());
  int run = 0;
  for (const AlgorithmSpec& spec : family(operation).parse_list("all"))
    for (const int ranks : {2, 4, 5}) {
      if (spec.name == "auto") continue;
      const Program program = program_of(operation, spec, ranks);
      if (!family(operation).fits(spec, Shape::unknown(ranks), program.facts(program.calls[1]))) continue;
      SCOPED_TRACE(spec.text() + " ranks " + std::to_string(ranks));
      run_program(program);
      ++run;
    }
  EXPECT_GE(run, 3);
}

INSTANTIATE_TEST_SUITE_P(Operations, MinimalPortRuns, ::testing::Range(0, operations),
                         [](const ::testing::TestParamInfo<int>& one) {
                           return std::string(to_string(static_cast<Operation>(one.param)));
                         });

}  // namespace
}  // namespace phicoll
