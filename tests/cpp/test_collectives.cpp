// Every data collective through Communicator, by every algorithm that is registered for it, against a plain
// computation: threads and processes, roots, counts around the borders of pieces, in place, vector versions,
// sequences without barriers between them.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

using Numbers = std::vector<std::int32_t>;

// Affine maps x -> a x + b over 32-bit integers, composed: associative, not commutative.
struct Affine {
  std::uint32_t a, b;
};
void compose(void*, void* to, const void* left, const void* right, std::size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* l = static_cast<const unsigned char*>(left);
  const auto* r = static_cast<const unsigned char*>(right);
  for (std::size_t i = 0; i < count; ++i) {
    Affine x, y;
    std::memcpy(&x, l + i * sizeof x, sizeof x);
    std::memcpy(&y, r + i * sizeof y, sizeof y);
    const Affine z{x.a * y.a, x.a * y.b + x.b};
    std::memcpy(out + i * sizeof z, &z, sizeof z);
  }
}
Operator composition() {
  Operator op;
  op.kernel = compose;
  op.element_bytes = sizeof(Affine);
  op.commutative = false;
  op.id = 4000;
  return op;
}

Operator sum() {
  return find_operator(Type::int32, Op::sum);
}

std::int32_t value(int rank, std::size_t i, int salt) {
  return static_cast<std::int32_t>(static_cast<unsigned>(rank + 1) * 1000003u +
                                   static_cast<unsigned>(i) * 7919u + static_cast<unsigned>(salt) * 31u);
}
std::uint32_t affine_part(int rank, std::size_t i, int salt) {
  return static_cast<std::uint32_t>(value(rank, i, salt)) | 1u;
}

/// A buffer at an odd address between zones that nobody may write.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes, unsigned char fill = 0xa5)
      : bytes_(bytes), memory_(bytes + 2 * zone + 1, guard) {
    std::memset(data(), fill, bytes);
  }
  unsigned char* data() { return memory_.data() + zone + 1; }
  bool whole() const {
    return std::all_of(memory_.begin(), memory_.begin() + zone + 1, is_guard) &&
           std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(zone + 1 + bytes_), memory_.end(),
                       is_guard);
  }

 private:
  static constexpr std::size_t zone = 96;
  static constexpr unsigned char guard = 0x5c;
  static bool is_guard(unsigned char byte) { return byte == guard; }
  std::size_t bytes_;
  std::vector<unsigned char> memory_;
};

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("check: " + what);
}
template <class T>
void expect_equal(const unsigned char* seen, const std::vector<T>& wanted, const std::string& what) {
  // As one: a sanitizer looks at each access of a loop.
  if (wanted.empty() || std::memcmp(seen, wanted.data(), wanted.size() * sizeof(T)) == 0) return;
  std::size_t i = 0;
  while (std::memcmp(seen + i * sizeof(T), &wanted[i], sizeof(T)) == 0) ++i;
  throw Error("check: " + what + ": element " + std::to_string(i));
}

Numbers input(int rank, std::size_t count, int salt) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = value(rank, i, salt);
  return numbers;
}
void put(Guarded& to, const Numbers& numbers) {
  if (!numbers.empty()) std::memcpy(to.data(), numbers.data(), numbers.size() * 4);
}
Numbers sums(int first, int end, std::size_t count, int salt) {
  Numbers result(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t total = 0;
    for (int r = first; r < end; ++r) total += static_cast<std::uint32_t>(value(r, i, salt));
    result[i] = static_cast<std::int32_t>(total);
  }
  return result;
}

/// The blocks of all ranks in a row.
Numbers blocks(int ranks, std::size_t count, int salt) {
  Numbers all;
  for (int r = 0; r < ranks; ++r) {
    const Numbers one = input(r, count, salt);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// One call of everything that the operation offers for a count, checked on this rank.
class Check {
 public:
  Check(Communicator& comm, Operation operation, const AlgorithmSpec& spec)
      : comm_(comm),
        operation_(operation),
        spec_(spec),
        name_(std::string(to_string(operation)) + " " + spec.text()) {}

  void operator()(std::size_t count, int root, int salt) {
    const std::string what = name_ + ", " + std::to_string(count) + " elements, root " +
                             std::to_string(root) + ", rank " + std::to_string(comm_.rank()) + " of " +
                             std::to_string(comm_.size());
    const auto p = static_cast<std::size_t>(comm_.size());
    const int rank = comm_.rank();
    const Numbers own = input(rank, count, salt);
    Guarded send(count * 4), receive(count * 4), send_all(count * 4 * p), receive_all(count * 4 * p);
    put(send, own);
    switch (operation_) {
      case Operation::broadcast:
        if (rank == root) put(receive, own);
        comm_.broadcast(receive.data(), count * 4, root, &spec_);
        expect_equal(receive.data(), input(root, count, salt), what);
        break;
      case Operation::reduce:
        comm_.reduce(send.data(), receive.data(), count, sum(), root, &spec_);
        if (rank == root) expect_equal(receive.data(), sums(0, comm_.size(), count, salt), what);
        put(receive, own);
        comm_.reduce(rank == root ? nullptr : send.data(), receive.data(), count, sum(), root, &spec_);
        if (rank == root)
          expect_equal(receive.data(), sums(0, comm_.size(), count, salt), what + ", in place");
        break;
      case Operation::allreduce:
        comm_.allreduce(send.data(), receive.data(), count, sum(), &spec_);
        expect_equal(receive.data(), sums(0, comm_.size(), count, salt), what);
        comm_.allreduce(nullptr, send.data(), count, sum(), &spec_);
        expect_equal(send.data(), sums(0, comm_.size(), count, salt), what + ", in place");
        break;
      case Operation::scan:
        comm_.scan(send.data(), receive.data(), count, sum(), &spec_);
        expect_equal(receive.data(), sums(0, rank + 1, count, salt), what);
        comm_.exscan(nullptr, send.data(), count, sum(), &spec_);
        expect_equal(send.data(), rank == 0 ? own : sums(0, rank, count, salt), what + ", exclusive");
        break;
      case Operation::gather:
        comm_.gather(send.data(), receive_all.data(), count * 4, root, &spec_);
        if (rank == root) expect_equal(receive_all.data(), blocks(comm_.size(), count, salt), what);
        break;
      case Operation::allgather:
        comm_.allgather(send.data(), receive_all.data(), count * 4, &spec_);
        expect_equal(receive_all.data(), blocks(comm_.size(), count, salt), what);
        break;
      case Operation::scatter:
        if (rank == root) put(send_all, blocks(comm_.size(), count, salt));
        comm_.scatter(send_all.data(), receive.data(), count * 4, root, &spec_);
        expect_equal(receive.data(), own, what);
        break;
      case Operation::alltoall: {
        Numbers out, in;
        for (int r = 0; r < comm_.size(); ++r) {
          const Numbers to = input(rank * 64 + r, count, salt), from = input(r * 64 + rank, count, salt);
          out.insert(out.end(), to.begin(), to.end());
          in.insert(in.end(), from.begin(), from.end());
        }
        put(send_all, out);
        comm_.alltoall(send_all.data(), receive_all.data(), count * 4, &spec_);
        expect_equal(receive_all.data(), in, what);
        comm_.alltoall(nullptr, send_all.data(), count * 4, &spec_);
        expect_equal(send_all.data(), in, what + ", in place");
        break;
      }
      case Operation::reduce_scatter: {
        const Numbers mine = input(rank, count * p, salt);
        put(send_all, mine);
        const Numbers total = sums(0, comm_.size(), count * p, salt);
        const auto first = total.begin() + static_cast<std::ptrdiff_t>(count) * rank;
        const Numbers wanted(first, first + static_cast<std::ptrdiff_t>(count));
        comm_.reduce_scatter_block(send_all.data(), receive.data(), count, sum(), &spec_);
        expect_equal(receive.data(), wanted, what);
        comm_.reduce_scatter_block(nullptr, send_all.data(), count, sum(), &spec_);
        expect_equal(send_all.data(), wanted, what + ", in place");
        break;
      }
      case Operation::barrier:
        break;
    }
    expect(send.whole() && receive.whole() && send_all.whole() && receive_all.whole(),
           what + ": a guard zone");
  }

 private:
  Communicator& comm_;
  Operation operation_;
  AlgorithmSpec spec_;
  std::string name_;
};

// 0, 1 and small ones, the borders of what fits beside a flag, of a line, of the default pieces and chunks.
const std::vector<std::size_t> counts = {0,   1,    2,    3,    11,   12,   13,    16,   17,
                                         255, 1023, 2048, 2049, 4096, 4100, 33000, 70001};

std::vector<std::pair<Operation, AlgorithmSpec>> everything(const Shape& shape) {
  std::vector<std::pair<Operation, AlgorithmSpec>> list;
  for (int o = 1; o < operations; ++o) {
    const auto operation = static_cast<Operation>(o);
    CallFacts facts;
    facts.operation = operation;
    for (const AlgorithmInfo& info : family(operation).algorithms()) {
      const AlgorithmSpec spec = family(operation).parse(info.name);
      if (family(operation).fits(spec, shape, facts)) list.emplace_back(operation, spec);
    }
  }
  return list;
}

// Beside a flag, of a cell, and of several pieces: for numbers of ranks that are there for trees and
// rounds.
const std::vector<std::size_t> few = {0, 1, 13, 255, 2049, 4100, 9001};
// A sanitizer takes many times as long: there PHICOLL_TEST_LONG=1 runs all counts, and these are the rule.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
const bool brief = std::getenv("PHICOLL_TEST_LONG") == nullptr;
#else
constexpr bool brief = false;
#endif

void all_algorithms(Communicator& comm) {
  const bool between = comm.size() == 6 || comm.size() == 9;
  for (const auto& one : everything(comm.shape())) {
    Check check(comm, one.first, one.second);
    int salt = 0;
    for (std::size_t count : between || brief ? few : counts) {
      ++salt;
      check(count, salt % comm.size(), salt);
    }
  }
  // The same again mixed, so that each call meets what the one before has left under way.
  std::vector<std::pair<Operation, AlgorithmSpec>> list = everything(comm.shape());
  for (int turn = 0; turn < 60; ++turn) {
    const auto& one = list[static_cast<std::size_t>(turn * 7) % list.size()];
    Check(comm, one.first, one.second)(counts[static_cast<std::size_t>(turn * 5) % 12], turn % comm.size(),
                                       turn);
  }
}

/// Room for every algorithm at once.
GroupOptions roomy() {
  GroupOptions options;
  options.memory_limit = std::size_t{512} << 20;
  return options;
}

class EveryAlgorithm : public ::testing::TestWithParam<int> {
 protected:
  /// Up to three ranks are threads and processes. More are threads if their number is even, else processes,
  /// and with PHICOLL_TEST_LONG=1 both.
  bool taken(bool threads) const {
    return std::getenv("PHICOLL_TEST_LONG") != nullptr || GetParam() <= 3 || threads == (GetParam() % 2 == 0);
  }
};

TEST_P(EveryAlgorithm, Threads) {
  if (!taken(true)) GTEST_SKIP() << "PHICOLL_TEST_LONG=1 runs it";
  ThreadGroup group(GetParam(), roomy());
  group.run(all_algorithms);
}
TEST_P(EveryAlgorithm, Processes) {
  if (!taken(false)) GTEST_SKIP() << "PHICOLL_TEST_LONG=1 runs it";
  fork_and_run(GetParam(), roomy(), all_algorithms);
}
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithm, ::testing::Values(3));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithm, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9));
#endif

TEST(Collectives, NonCommutativeOperatorsKeepTheRanksOrder) {
  ThreadGroup group(5, roomy());
  group.run([](Communicator& comm) {
    for (const auto& one : everything(comm.shape())) {
      CallFacts facts;
      facts.operation = one.first;
      facts.commutative = false;
      if (!family(one.first).fits(one.second, comm.shape(), facts)) continue;
      if (one.first != Operation::reduce && one.first != Operation::allreduce && one.first != Operation::scan)
        continue;
      for (std::size_t count : {1, 5, 3000}) {
        std::vector<Affine> mine(count), seen(count), wanted(count);
        const int last = one.first == Operation::scan ? comm.rank() : comm.size() - 1;
        for (std::size_t i = 0; i < count; ++i) {
          mine[i] = Affine{affine_part(comm.rank(), i, 1), affine_part(comm.rank(), i, 2)};
          Affine total{affine_part(0, i, 1), affine_part(0, i, 2)};
          for (int r = 1; r <= last; ++r) {
            const Affine next{affine_part(r, i, 1), affine_part(r, i, 2)};
            compose(nullptr, &total, &total, &next, 1);
          }
          wanted[i] = total;
        }
        const std::string what = std::string(to_string(one.first)) + " " + one.second.text();
        if (one.first == Operation::reduce)
          comm.reduce(mine.data(), seen.data(), count, composition(), 2, &one.second);
        if (one.first == Operation::allreduce)
          comm.allreduce(mine.data(), seen.data(), count, composition(), &one.second);
        if (one.first == Operation::scan)
          comm.scan(mine.data(), seen.data(), count, composition(), &one.second);
        if (one.first != Operation::reduce || comm.rank() == 2)
          expect_equal(reinterpret_cast<const unsigned char*>(seen.data()), wanted, what);
      }
    }
  });
}

// Blocks of unequal counts, some empty, with gaps between them that stay as they were.
void vectors(Communicator& comm) {
  const int ranks = comm.size(), rank = comm.rank();
  const auto p = static_cast<std::size_t>(ranks);
  const auto count_of = [](int from, int to) {
    return static_cast<std::size_t>((from * 5 + to * 3) % 4) * 4000 +
           static_cast<std::size_t>((from + to) % 3) * 4;
  };
  for (int root = 0; root < ranks; ++root) {
    std::vector<std::size_t> counts_(p), at(p), out_counts(p), out_at(p);
    std::size_t end = 0, out_end = 0;
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      counts_[i] = count_of(r, root);
      at[i] = end + 12;
      end = at[i] + counts_[i];
    }
    const std::size_t mine = counts_[static_cast<std::size_t>(rank)];
    const auto block = [](int from, int to, std::size_t bytes) {
      return input(from * 32 + to, bytes / 4, 9);
    };
    Guarded all(end), own(mine);
    put(own, block(rank, root, mine));
    const auto check_all = [&](const char* what) {
      for (int r = 0; r < ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        expect_equal(all.data() + at[i], block(r, root, counts_[i]), what);
        expect_equal(all.data() + at[i] - 12, std::vector<unsigned char>(12, 0xa5),
                     std::string(what) + ": a gap");
      }
    };
    comm.gatherv(own.data(), mine, all.data(), counts_.data(), at.data(), root);
    if (rank == root) check_all("gatherv");
    Guarded back(mine);
    comm.scatterv(all.data(), counts_.data(), at.data(), back.data(), mine, root);
    expect_equal(back.data(), block(rank, root, mine), "scatterv");
    Guarded fresh(end);
    std::memcpy(all.data(), fresh.data(), end);
    comm.allgatherv(own.data(), mine, all.data(), counts_.data(), at.data());
    check_all("allgatherv");
    std::size_t in_end = 0;
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      out_counts[i] = count_of(rank, r + root);
      out_at[i] = out_end + 4;
      out_end = out_at[i] + out_counts[i];
      counts_[i] = count_of(r, rank + root);
      at[i] = in_end + 8;
      in_end = at[i] + counts_[i];
    }
    Guarded out(out_end), in(in_end);
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const Numbers numbers = block(rank, r, out_counts[i]);
      if (!numbers.empty()) std::memcpy(out.data() + out_at[i], numbers.data(), out_counts[i]);
    }
    comm.alltoallv(out.data(), out_counts.data(), out_at.data(), in.data(), counts_.data(), at.data());
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      expect_equal(in.data() + at[i], block(r, rank, counts_[i]), "alltoallv");
    }
    std::vector<std::size_t> elements(p);
    std::size_t total = 0, first = 0;
    for (int r = 0; r < ranks; ++r) {
      elements[static_cast<std::size_t>(r)] = count_of(r, root) / 4;
      if (r < rank) first += count_of(r, root) / 4;
      total += count_of(r, root) / 4;
    }
    const std::size_t part = elements[static_cast<std::size_t>(rank)];
    Guarded send(total * 4), receive(part * 4);
    put(send, input(rank, total, root));
    comm.reduce_scatter(send.data(), receive.data(), elements.data(), sum());
    const Numbers result = sums(0, ranks, total, root);
    const auto begin = result.begin() + static_cast<std::ptrdiff_t>(first);
    expect_equal(receive.data(), Numbers(begin, begin + static_cast<std::ptrdiff_t>(part)), "reduce_scatter");
    expect(out.whole() && in.whole() && all.whole() && back.whole() && receive.whole(), "a guard zone");
  }
}

// Ranks that share a CPU are the parts; with three, two CPUs have parts of different size.
TEST(Collectives, ThroughTheLevelsOfTheMachine) {
  for (int ranks : {3, 5, 8}) {
    GroupOptions options = roomy();
    options.placement = "balanced";
    ThreadGroup group(ranks, options);
    group.run([](Communicator& comm) {
      for (const char* const text : {"hierarchical:group=cpu", "hierarchical:group=cpu:piece=1024:pieces=2",
                                     "hierarchical:group=package", "hierarchical:group=nested"}) {
        Check broadcast(comm, Operation::broadcast, family(Operation::broadcast).parse(text));
        Check reduce(comm, Operation::reduce, family(Operation::reduce).parse(text));
        const std::string where_it_lies = std::string(text) + ":direct=1024";
        Check allreduce(comm, Operation::allreduce, family(Operation::allreduce).parse(text));
        Check in_place(comm, Operation::allreduce, family(Operation::allreduce).parse(where_it_lies));
        int salt = 0;
        for (std::size_t count : brief ? few : counts) {
          ++salt;
          broadcast(count, salt % comm.size(), salt);
          reduce(count, salt % comm.size(), salt);
          allreduce(count, 0, salt);
          in_place(count, 0, salt);
        }
      }
    });
  }
}

// Ranks that share a CPU await each other before the rest; what auto takes then, too.
TEST(Collectives, OfRanksThatShareCpus) {
  for (int ranks : {3, 8}) {
    GroupOptions options = roomy();
    options.placement = "compact";
    fork_and_run(ranks, options, [](Communicator& comm) {
      for (const auto& one : everything(comm.shape())) {
        Check check(comm, one.first, one.second);
        int salt = 0;
        const std::vector<std::size_t> sizes = {1, 4100, 2, 17, 1023, 33000};
        for (std::size_t at = 0; at < (brief ? 2 : sizes.size()); ++at) {
          ++salt;
          check(sizes[at], salt % comm.size(), salt);
        }
      }
      vectors(comm);
    });
  }
}

// A part's memory is small: what auto takes fits into it.
TEST(Collectives, OfASubCommunicator) {
  ThreadGroup group(4);
  group.run([](Communicator& comm) {
    const std::unique_ptr<Communicator> half = comm.split(comm.rank() % 2, 0);
    const std::unique_ptr<Communicator> again = half->dup();
    for (Communicator* part : {half.get(), again.get()}) {
      for (int o = 1; o < operations; ++o) {
        const auto operation = static_cast<Operation>(o);
        Check check(*part, operation, family(operation).parse("auto"));
        for (std::size_t count : {1, 5000, 70001, 300000})
          if (!brief || count < 300000) check(count, o % part->size(), o);
      }
    }
  });
}

// They go through slots, in the same rings as larger ones and vector versions, which go through cells.
TEST(Collectives, OfAtMostEightBytes) {
  using Bytes = std::vector<unsigned char>;
  const auto calls = [](Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    const auto rank = static_cast<std::size_t>(comm.rank());
    const auto check = [](const Bytes& got, const Bytes& wanted, const char* what, std::size_t bytes) {
      if (got != wanted) throw Error(std::string(what) + " of " + std::to_string(bytes) + " bytes is wrong");
    };
    const Operator largest = user_operator(
        3, true,
        [](void*, void* to, const void* left, const void* right, std::size_t count) {
          for (std::size_t i = 0; i < 3 * count; ++i)
            static_cast<unsigned char*>(to)[i] = std::max(static_cast<const unsigned char*>(left)[i],
                                                          static_cast<const unsigned char*>(right)[i]);
        },
        nullptr);
    for (int turn = 0; turn < 30; ++turn)
      for (const std::size_t bytes : {1, 9, 3, 0, 5, 6, 40, 7, 8, 2}) {
        const int root = turn % comm.size();
        const bool is_root = comm.rank() == root;
        Bytes blocks(bytes * p), own(bytes);
        for (std::size_t i = 0; i < blocks.size(); ++i)
          blocks[i] = static_cast<unsigned char>(31 * static_cast<std::size_t>(turn) + 7 * i + bytes);
        std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(bytes * rank), bytes, own.begin());
        const std::vector<std::size_t> alike(p, bytes);
        std::vector<std::size_t> places(p);
        for (std::size_t r = 0; r < p; ++r) places[r] = bytes * r;

        Bytes block(bytes), all(is_root ? bytes * p : 0);
        comm.scatter(is_root ? blocks.data() : nullptr, block.data(), bytes, root);
        check(block, own, "scatter", bytes);
        comm.gather(own.data(), all.data(), bytes, root);
        if (is_root) check(all, blocks, "gather", bytes);
        std::fill(block.begin(), block.end(), static_cast<unsigned char>(0));
        comm.scatterv(is_root ? blocks.data() : nullptr, alike.data(), places.data(), block.data(), bytes,
                      root);
        check(block, own, "scatterv", bytes);
        std::fill(all.begin(), all.end(), static_cast<unsigned char>(0));
        comm.gatherv(own.data(), bytes, all.data(), alike.data(), places.data(), root);
        if (is_root) check(all, blocks, "gatherv", bytes);

        const std::size_t elements = bytes / 3;
        Bytes most(is_root ? 3 * elements : 0), wanted(most.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
          for (std::size_t r = 0; r < p; ++r) wanted[i] = std::max(wanted[i], blocks[bytes * r + i]);
        comm.reduce(own.data(), most.data(), elements, largest, root);
        if (is_root) check(most, wanted, "reduce", bytes);
      }
  };
  for (const int ranks : {1, 2, 3, 5}) ThreadGroup(ranks).run(calls);
  fork_and_run(4, GroupOptions(), calls);
}

// The root's blocks may lie where nobody may write.
TEST(Collectives, ScatterInPlaceWritesNothingOnTheRoot) {
  constexpr std::size_t page = 4096;
  void* const memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 7, page);
  ASSERT_EQ(mprotect(memory, page, PROT_READ), 0);
  for (const int ranks : {1, 2})
    ThreadGroup(ranks).run([&](Communicator& comm) {
      for (const std::size_t bytes : {1, 4, 8, 64, 2000}) {
        std::vector<unsigned char> block(bytes);
        comm.scatter(memory, comm.rank() == 0 ? nullptr : block.data(), bytes, 0);
        EXPECT_EQ(block.back(), comm.rank() == 0 ? 0 : 7);
      }
    });
  munmap(memory, page);
}

TEST(Collectives, VectorVersions) {
  for (int ranks : {1, 2, 3, 5}) {
    ThreadGroup group(ranks);
    group.run(vectors);
  }
  fork_and_run(4, GroupOptions(), vectors);
}

// No rank copies anything, and all go on together.
TEST(Collectives, AllgathersOfNothingByASingleCopy) {
  const auto calls = [](Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    const std::vector<std::size_t> none(p, 0), at(p, 12);
    for (const char* const text : {"single-copy", "single-copy:choose=1"}) {
      const AlgorithmSpec spec = family(Operation::allgather).parse(text);
      for (int turn = 0; turn < 12; ++turn) {
        comm.allgather(nullptr, nullptr, 0, &spec);
        Guarded nothing(0), gap(12);
        comm.allgatherv(nothing.data(), 0, gap.data(), none.data(), at.data(), &spec);
        comm.allgatherv(nullptr, 0, nullptr, none.data(), at.data(), &spec);
        expect_equal(gap.data(), std::vector<unsigned char>(12, 0xa5), "an empty block's place");
        expect(nothing.whole() && gap.whole(), "a guard zone");
        Check(comm, Operation::allgather, spec)(1000, 0, turn);
      }
    }
  };
  for (const int ranks : {1, 2, 3}) ThreadGroup(ranks).run(calls);
  fork_and_run(3, GroupOptions(), calls);
}

// Those without a spec share one record of a call.
TEST(Collectives, AllgathersAndAlltoallsByTurns) {
  const auto calls = [](Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    Check allgather(comm, Operation::allgather, family(Operation::allgather).parse("auto"));
    Check alltoall(comm, Operation::alltoall, family(Operation::alltoall).parse("auto"));
    int salt = 0;
    for (const std::size_t count : {2, 0, 16, 1, 1025, 2, 20000, 3}) {
      ++salt;
      alltoall(count, 0, salt);
      allgather(count + 1, 0, salt);
      allgather(count, 0, salt);
      alltoall(count, 0, -salt);
      // In place, and with counts.
      const Numbers wanted = blocks(comm.size(), count, salt);
      std::vector<std::size_t> counts_(p, 4 * count), at(p);
      for (std::size_t r = 0; r < p; ++r) at[r] = r * 4 * count;
      for (const bool vector : {true, false}) {
        Guarded all(4 * count * p);
        const Numbers own = input(comm.rank(), count, salt);
        if (count != 0)
          std::memcpy(all.data() + at[static_cast<std::size_t>(comm.rank())], own.data(), 4 * count);
        if (vector)
          comm.allgatherv(nullptr, 4 * count, all.data(), counts_.data(), at.data());
        else
          comm.allgather(nullptr, all.data(), 4 * count);
        expect_equal(all.data(), wanted, "in place");
        comm.alltoall(nullptr, all.data(), 4 * count);
        std::vector<unsigned char> turned(4 * count * p);
        comm.alltoall(all.data(), turned.data(), 4 * count);
        expect_equal(turned.data(), wanted, "there and back");
      }
    }
  };
  for (const int ranks : {1, 2, 3}) ThreadGroup(ranks).run(calls);
  fork_and_run(3, GroupOptions(), calls);
}

TEST(Collectives, WhatAllRanksSeeAlikeIsRefusedWithoutEffect) {
  ThreadGroup group(2);
  group.run([](Communicator& comm) {
    float x = 1;
    EXPECT_THROW(comm.broadcast(&x, 4, 2), ArgumentError);
    EXPECT_THROW(comm.broadcast(&x, 4, -1), ArgumentError);
    EXPECT_THROW(comm.reduce(&x, &x, 1, Operator(), 0), ArgumentError);
    EXPECT_THROW(comm.select(Operation::broadcast, "rinng"), ArgumentError);
    EXPECT_THROW(comm.gather(&x, nullptr, std::size_t{1} << 63, 0), ArgumentError);
    EXPECT_THROW(comm.allgather(&x, nullptr, std::size_t{1} << 63), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter_block(&x, &x, std::size_t{1} << 62, sum()), ArgumentError);
    float y = static_cast<float>(comm.rank());
    comm.broadcast(&y, 4, 1);
    EXPECT_EQ(y, 1.0f);
  });
}

TEST(Collectives, WhatOneRankSeesBreaksTheGroup) {
  ThreadGroup group(2);
  EXPECT_THROW(group.run([](Communicator& comm) {
    float x = 1;
    comm.broadcast(comm.rank() == 1 ? nullptr : &x, 4, 0);
    comm.barrier();
  }),
               ArgumentError);
  EXPECT_TRUE(group.broken());
}

// All operations together need more than the region; each of them fits.
TEST(Collectives, WhatIsNotCalledMakesRoomForWhatIs) {
  GroupOptions options;
  options.memory_limit = std::size_t{6} << 20;
  const auto calls = [](Communicator& comm) {
    for (int turn = 0; turn < 3; ++turn) {
      for (int o = 1; o < operations; ++o) {
        const auto operation = static_cast<Operation>(o);
        Check check(comm, operation, family(operation).parse("auto"));
        for (std::size_t count : {std::size_t{1}, std::size_t{5000}})
          check(count, turn % comm.size(), o + turn);
        if (o == 4) comm.barrier();
      }
      comm.select(Operation::barrier, turn == 0 ? "dissemination" : "auto");
      comm.barrier();
    }
    // What has no room at all is refused without effect.
    const AlgorithmSpec large = family(Operation::broadcast).parse("ring:cell=1048576:cells=64");
    std::int32_t x = comm.rank();
    try {
      comm.broadcast(&x, 4, 1, &large);
      expect(false, "64 MB in a region of 6");
    } catch (const ResourceError&) {
    }
    comm.broadcast(&x, 4, 1);
    expect(x == 1, "still usable");
  };
  ThreadGroup group(3, options);
  group.run(calls);
  fork_and_run(3, options, calls);
}

TEST(Collectives, AnOperatorThatRaisesBreaksTheGroup) {
  for (std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{50000}}) {
    ThreadGroup group(3);
    std::atomic<int> told{0};
    try {
      group.run([&](Communicator& comm) {
        Operator op = sum();
        if (comm.rank() == 1)
          op.kernel = [](void*, void*, const void*, const void*, std::size_t) {
            throw std::runtime_error("no such sum\nand more");
          };
        Numbers x(count, 1), y(count);
        bool raised = false;
        try {
          comm.allreduce(x.data(), y.data(), count, op);
        } catch (const BrokenGroupError&) {
        } catch (const std::runtime_error&) {
          raised = true;
        }
        EXPECT_EQ(raised, comm.rank() == 1);
        try {
          // Rank 1 comes no further, so the others wait for it here at the latest.
          for (int again = 0; again < 3; ++again) comm.allreduce(x.data(), y.data(), 1, sum());
        } catch (const BrokenGroupError& error) {
          EXPECT_EQ(error.rank(), 1);
          EXPECT_STREQ(error.what(), "group broken by rank 1: raised no such sum");
          ++told;
        }
      });
    } catch (const Error&) {
    }
    EXPECT_EQ(told, 3);
  }
}

TEST(Collectives, SelectionHoldsUntilTheNext) {
  ThreadGroup group(2);
  group.run([](Communicator& comm) {
    CallFacts facts;
    facts.operation = Operation::allreduce;
    facts.bytes = 64;
    comm.select(Operation::allreduce, "sliced:chunk=4096");
    EXPECT_EQ(comm.collectives().why(facts).spec.name, "sliced");
    Check(comm, Operation::allreduce, family(Operation::allreduce).parse("auto"))(3000, 0, 1);
    comm.select(Operation::allreduce, "auto");
    EXPECT_FALSE(comm.collectives().why(facts).why.empty());
    Numbers x = input(comm.rank(), 16, 1), y(16);
    comm.allreduce(x.data(), y.data(), 16, sum());
    EXPECT_EQ(y, sums(0, 2, 16, 1));
  });
}

TEST(Collectives, WhyAnswersForTheVeryCall) {
  ThreadGroup group(2);
  group.run([](Communicator& comm) {
    comm.select(Operation::allreduce, "sliced:chunk=4096");
    const AlgorithmSpec named = family(Operation::allreduce).parse("recursive-doubling");
    Numbers x = input(comm.rank(), 8, 1), y(8);
    const Operator op = sum();  // the request refers to it
    Request request = Request::allreduce(x.data(), y.data(), 8, op);
    EXPECT_EQ(comm.why(request).spec.name, "sliced");
    request.algorithm = &named;
    EXPECT_EQ(comm.why(request).spec, named);
    comm.call(request);
    EXPECT_EQ(y, sums(0, 2, 8, 1));
    EXPECT_EQ(comm.why().spec.name, comm.why(Request()).spec.name);
    // Of counts that all ranks know, the mean decides; of those that they do not, nothing.
    const std::size_t lengths[] = {8, 24}, at[] = {0, 8};
    EXPECT_EQ(facts_of(Request::allgatherv(nullptr, 8, nullptr, lengths, at), 2).bytes, 16u);
    EXPECT_EQ(facts_of(Request::reduce_scatter(nullptr, nullptr, lengths, sum()), 2).bytes,
              16u * sum().element_bytes);
    EXPECT_FALSE(facts_of(Request::alltoallv(nullptr, lengths, at, nullptr, lengths, at), 2).known);
  });
}

TEST(Collectives, OverlapIsInPlaceOrRefused) {
  unsigned char memory[64];
  const auto overlap = [&](const Request& request) { return overlaps(request, 1, 4); };
  const Operator op = find_operator(Type::uint8, Op::sum);
  EXPECT_FALSE(overlap(Request::allreduce(memory, memory, 8, op)));
  EXPECT_TRUE(overlap(Request::allreduce(memory, memory + 1, 8, op)));
  EXPECT_FALSE(overlap(Request::allreduce(memory, memory + 8, 8, op)));
  EXPECT_FALSE(overlap(Request::allreduce(memory, memory + 1, 0, op)));
  EXPECT_FALSE(overlap(Request::allreduce(nullptr, memory, 8, op)));
  EXPECT_TRUE(overlap(Request::reduce_scatter_block(memory, memory, 8, op)));
  EXPECT_FALSE(overlap(Request::allgather(memory + 8, memory, 8)));  // the rank's own block
  EXPECT_TRUE(overlap(Request::allgather(memory, memory, 8)));
  EXPECT_FALSE(overlap(Request::gather(memory, memory, 8, 0)));  // the root's alone
  EXPECT_TRUE(overlap(Request::gather(memory, memory, 8, 1)));
  EXPECT_FALSE(overlap(Request::scatter(memory, memory + 8, 8, 1)));
  EXPECT_TRUE(overlap(Request::alltoall(memory, memory + 16, 8)));
  EXPECT_FALSE(overlap(Request::broadcast(memory, 8, 1)));
}

}  // namespace
}  // namespace phicoll
