// Phicoll's own collectives, with few and small cells, on a port that holds ranks up between any two of their
// steps, and that may deny others a rank's buffer: what one rank overwrites too early, another is then likely
// to be still reading. Calls of any size and root follow each other without anything in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "delay_port.hpp"
#include "patience.hpp"
#include "phicoll/collectives/allgather/registry.hpp"
#include "phicoll/collectives/allreduce/hierarchical.hpp"
#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/allreduce/sliced.hpp"
#include "phicoll/collectives/alltoall/registry.hpp"
#include "phicoll/collectives/barrier/hybrid_dissemination.hpp"
#include "phicoll/collectives/barrier/sense_reversing.hpp"
#include "phicoll/collectives/broadcast/single_copy.hpp"
#include "phicoll/collectives/gather/registry.hpp"
#include "phicoll/collectives/reduce/mailbox.hpp"
#include "phicoll/collectives/reduce/rabenseifner.hpp"
#include "phicoll/collectives/reduce/sliced.hpp"
#include "phicoll/collectives/reduce_scatter/one_shot.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/collectives/scan/one_shot.hpp"
#include "phicoll/collectives/scatter/registry.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {
namespace {

// Affine maps x -> a x + b, composed: associative, not commutative.
struct Affine {
  std::uint32_t a, b;
};
Affine after(Affine l, Affine r) {
  return Affine{l.a * r.a, l.a * r.b + l.b};
}
void compose(void*, void* to, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Affine l, r;
    std::memcpy(&l, static_cast<const char*>(left) + i * sizeof l, sizeof l);
    std::memcpy(&r, static_cast<const char*>(right) + i * sizeof r, sizeof r);
    const Affine both = after(l, r);
    std::memcpy(static_cast<char*>(to) + i * sizeof both, &both, sizeof both);
  }
}
Operator composition() {
  Operator op;
  op.kernel = compose;
  op.element_bytes = sizeof(Affine);
  op.commutative = false;
  return op;
}
/// What `rank` has for rank `block` at element i.
Affine part(int rank, int block, std::size_t i, unsigned turn) {
  const auto mixed = static_cast<std::uint32_t>(i * 2654435761u) + static_cast<std::uint32_t>(rank) * 40503u +
                     static_cast<std::uint32_t>(block) * 97u + turn * 7919u;
  return Affine{mixed | 1u, mixed >> 3};
}

struct Subject {
  Operation operation;
  const char* spec;
};

std::unique_ptr<AnyCollective<DelayPort>> make(Operation operation, const AlgorithmSpec& spec,
                                               const Setup& setup) {
  switch (operation) {
    case Operation::broadcast:
      return make_from<DelayPort>(AlgorithmList<RingBroadcast, SingleCopyBroadcast>{}, spec, setup);
    case Operation::reduce:
      return make_from<DelayPort>(AlgorithmList<MailboxReduce, SlicedReduce, RabenseifnerReduce>{}, spec,
                                  setup);
    case Operation::allreduce:
      return make_from<DelayPort>(AlgorithmList<OneShotAllreduce, SlicedAllreduce, HierarchicalAllreduce>{},
                                  spec, setup);
    case Operation::gather:
      return make_from<DelayPort>(Registry<Operation::gather>::List{}, spec, setup);
    case Operation::scatter:
      return make_from<DelayPort>(Registry<Operation::scatter>::List{}, spec, setup);
    case Operation::allgather:
      return make_from<DelayPort>(Registry<Operation::allgather>::List{}, spec, setup);
    case Operation::alltoall:
      return make_from<DelayPort>(Registry<Operation::alltoall>::List{}, spec, setup);
    case Operation::scan:
      return make_from<DelayPort>(AlgorithmList<OneShotScan>{}, spec, setup);
    case Operation::reduce_scatter:
      return make_from<DelayPort>(AlgorithmList<OneShotReduceScatter>{}, spec, setup);
    case Operation::barrier:
      break;
  }
  return nullptr;
}

/// One rank's calls. All elements are of 8 bytes, of which counts are.
class Calls {
 public:
  /// `any_counts`: whether some scatters are vector versions.
  Calls(Communicator& comm, Operation operation, const std::string& name, bool any_counts)
      : operation_(operation),
        name_(name),
        rank_(comm.rank()),
        ranks_(comm.size()),
        any_counts_(any_counts && operation == Operation::scatter),
        counts_(static_cast<std::size_t>(ranks_)),
        displacements_(counts_.size()) {
    for (int r = 0; r < ranks_; ++r) order_.push_back(r);
  }
  /// Operands are combined CPU by CPU.
  void by_cpu(const Shape& shape) {
    const std::vector<int> cpus = shape.groups(Level::cpu);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return cpus[static_cast<std::size_t>(a)] < cpus[static_cast<std::size_t>(b)];
    });
  }

  void operator()(AnyCollective<DelayPort>& collective, DelayPort& port, unsigned turn) {
    const std::size_t counts[] = {1, 0, 2, 31, 32, 33, 1, 64, 150, 300, 7};
    count_ = counts[(turn * 7 + turn / 11) % 11];
    turn_ = turn;
    // By threes the same root: both a root that goes on and one that takes over.
    root_ = static_cast<int>(turn / 3 * 5 + turn / 30) % ranks_;
    in_place_ = turn % 2 == 1;
    vector_ = any_counts_ && turn / 2 % 5 >= 3;
    const std::size_t all = count_ * static_cast<std::size_t>(ranks_);
    send_.assign(all + 1, Affine{0xee, 0xee});
    receive_.assign(all + 1, Affine{0xee, 0xee});
    Call call;
    call.root = root_;
    call.count = count_ * sizeof(Affine);
    call.send = port.bind(send_.data(), all * sizeof(Affine));
    call.receive = port.bind(receive_.data(), all * sizeof(Affine));
    fill(call);
    collective(port, call);
    check();
  }

 private:
  void fill(Call& call) {
    const bool root = rank_ == root_;
    const std::size_t own = count_ * static_cast<std::size_t>(rank_);
    switch (operation_) {
      case Operation::broadcast:
        if (root) put(receive_, 0, 0);
        break;
      case Operation::scan:
        call.exclusive = turn_ % 3 == 0;
        exclusive_ = call.exclusive;
        reduction(call);
        break;
      case Operation::reduce:
        if (!root) {
          put(send_, 0, 0);
          call.receive = Data();
          call.op = composition();
          call.count = count_;
          break;
        }
        reduction(call);
        break;
      case Operation::allreduce:
        reduction(call);
        break;
      case Operation::gather:
        if (!root) call.receive = Data();
        if (root && in_place_) {
          put(receive_, own, 0);
          call.send = call.receive + own * sizeof(Affine);
        } else {
          put(send_, 0, 0);
        }
        break;
      case Operation::allgather:
        if (in_place_) {
          put(receive_, own, 0);
          call.send = call.receive + own * sizeof(Affine);
        } else {
          put(send_, 0, 0);
        }
        break;
      case Operation::scatter:
        if (!root) call.send = Data();
        if (root)
          for (int r = 0; r < ranks_; ++r) put(send_, count_ * static_cast<std::size_t>(r), r);
        if (vector_) scatterv(call);
        break;
      case Operation::reduce_scatter: {
        std::vector<Affine>& from = in_place_ ? receive_ : send_;
        for (int r = 0; r < ranks_; ++r) put(from, count_ * static_cast<std::size_t>(r), r);
        if (in_place_) call.send = call.receive;
        call.op = composition();
        call.count = count_;
        break;
      }
      case Operation::alltoall:
        for (int r = 0; r < ranks_; ++r) put(send_, count_ * static_cast<std::size_t>(r), r);
        break;
      case Operation::barrier:
        break;
    }
  }
  void reduction(Call& call) {
    put(in_place_ ? receive_ : send_, 0, 0);
    if (in_place_) call.send = call.receive;
    call.op = composition();
    call.count = count_;
  }
  // The beginnings of the blocks that the regular call would have. Only the root knows how long the others'
  // are.
  void scatterv(Call& call) {
    for (int r = 0; r < ranks_; ++r) {
      counts_[static_cast<std::size_t>(r)] = length(r) * sizeof(Affine);
      displacements_[static_cast<std::size_t>(r)] = static_cast<std::size_t>(r) * call.count;
    }
    blocks_ = Blocks{counts_.data(), displacements_.data()};
    call.vector = true;
    call.count = length(rank_) * sizeof(Affine);
    if (rank_ == root_) call.blocks = &blocks_;
  }
  std::size_t length(int r) const {
    return vector_ ? count_ * ((static_cast<unsigned>(r) + turn_) % 4) / 3 : count_;
  }
  void put(std::vector<Affine>& to, std::size_t at, int block) const {
    for (std::size_t i = 0; i < count_; ++i) to[at + i] = part(rank_, block, i, turn_);
  }

  void check() const {
    const bool root = rank_ == root_;
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = count_ * static_cast<std::size_t>(r);
      for (std::size_t i = 0; i < count_; ++i) {
        if (operation_ == Operation::gather && root) expect(at + i, part(r, 0, i, turn_));
        if (operation_ == Operation::allgather) expect(at + i, part(r, 0, i, turn_));
        if (operation_ == Operation::alltoall) expect(at + i, part(r, rank_, i, turn_));
      }
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (operation_ == Operation::broadcast) expect(i, part(root_, 0, i, turn_));
      if (operation_ == Operation::scatter && i < length(rank_)) expect(i, part(root_, rank_, i, turn_));
      if (operation_ == Operation::allreduce || (operation_ == Operation::reduce && root))
        expect(i, folded(ranks_, 0, i));
      if (operation_ == Operation::reduce_scatter) expect(i, folded(ranks_, rank_, i));
      if (operation_ == Operation::scan && (rank_ != 0 || !exclusive_))
        expect(i, folded(exclusive_ ? rank_ : rank_ + 1, 0, i));
    }
  }
  Affine folded(int end, int block, std::size_t i) const {
    Affine value = part(order_.front(), block, i, turn_);
    for (int r = 1; r < end; ++r)
      value = after(value, part(order_[static_cast<std::size_t>(r)], block, i, turn_));
    return value;
  }
  void expect(std::size_t at, Affine wanted) const {
    if (receive_[at].a == wanted.a && receive_[at].b == wanted.b) return;
    throw Error("check: " + name_ + ", turn " + std::to_string(turn_) + ", count " + std::to_string(count_) +
                ", root " + std::to_string(root_) + ", rank " + std::to_string(rank_) + " of " +
                std::to_string(ranks_) + ": element " + std::to_string(at));
  }

  Operation operation_;
  std::string name_;
  int rank_;
  int ranks_;
  std::vector<int> order_;  // of the operands
  unsigned turn_ = 0;
  std::size_t count_ = 0;
  int root_ = 0;
  bool in_place_ = false;
  bool exclusive_ = false;
  bool any_counts_;
  bool vector_ = false;
  std::vector<std::size_t> counts_, displacements_;
  Blocks blocks_;
  std::vector<Affine> send_;
  std::vector<Affine> receive_;
};

struct Freed {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

void run(ThreadGroup& group, const Subject& subject, unsigned exposable, unsigned turns = 120) {
  const Family& all = family(subject.operation);
  const AlgorithmSpec effective = all.effective(all.parse(subject.spec), group.shape());
  const std::size_t bytes = all.footprint(effective, group.shape());
  const std::unique_ptr<unsigned char, Freed> memory(static_cast<unsigned char*>(allocate_strided(bytes)));
  std::memset(memory.get(), 0, bytes);
  group.run([&](Communicator& comm) {
    const int rank = comm.rank();
    DelayPort port(comm.control(), rank, 1234567u + 7919u * static_cast<unsigned>(rank),
                   (exposable >> rank & 1u) != 0);
    const auto collective = make(subject.operation, effective, Setup{rank, comm.shape(), memory.get()});
    if (!collective) throw Error("check: no such algorithm here");
    Calls calls(comm, subject.operation, std::string(to_string(subject.operation)) + " " + effective.text(),
                effective.name == "mailbox");
    if (effective.name == "hierarchical") calls.by_cpu(comm.shape());
    for (unsigned turn = 0; turn < turns; ++turn) calls(*collective, port, turn);
    comm.barrier();
  });
}

class Delayed : public ::testing::TestWithParam<Subject> {};
constexpr Subject subjects[] = {{Operation::broadcast, "ring:cell=64:cells=2:slots=2"},
                                {Operation::broadcast, "ring:cell=64:cells=3:slots=5"},
                                {Operation::broadcast, "ring:cell=64:cells=3:direct=200"},
                                {Operation::broadcast, "single-copy:piece=4096"},
                                {Operation::reduce, "mailbox:cell=256:cells=2"},
                                {Operation::reduce, "mailbox:cell=256:cells=3"},
                                {Operation::reduce, "mailbox:cell=256:cells=2:direct=200"},
                                {Operation::reduce, "mailbox:cell=256:cells=2:put=200"},
                                {Operation::reduce, "mailbox:cell=256:cells=3:direct=200:put=200"},
                                {Operation::reduce, "sliced:chunk=1024:cells=4"},
                                {Operation::reduce, "sliced:chunk=1024:cells=6"},
                                {Operation::reduce, "sliced:chunk=1024:cells=4:direct=200"},
                                {Operation::reduce, "rabenseifner:least=8:buffer=1024"},
                                {Operation::reduce, "rabenseifner:least=512:buffer=1024"},
                                {Operation::allreduce, "one-shot:cell=256:cells=2"},
                                {Operation::allreduce, "one-shot:cell=256:cells=1"},
                                {Operation::allreduce, "one-shot:cell=256:cells=1:direct=200"},
                                {Operation::allreduce, "one-shot:cell=4096:cells=1"},
                                {Operation::allreduce, "one-shot:cell=256:cells=3"},
                                {Operation::allreduce, "one-shot:cell=256:cells=2:direct=200"},
                                {Operation::allreduce, "one-shot:cell=256:cells=1:put=200"},
                                {Operation::allreduce, "one-shot:cell=256:cells=2:direct=200:put=200"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=6"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:direct=200"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:put=200"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:direct=200:put=300"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:whole=256"},
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:whole=4"},  // as none
                                {Operation::allreduce, "sliced:chunk=1024:cells=4:whole=512:direct=200"},
                                {Operation::allreduce, "hierarchical:piece=256:pieces=2"},
                                {Operation::allreduce, "hierarchical:piece=256:pieces=2:direct=200"},
                                {Operation::allreduce, "hierarchical:piece=512:pieces=3:direct=1"},
                                {Operation::gather, "mailbox:cell=256:cells=2"},
                                {Operation::gather, "mailbox:cell=256:cells=2:direct=200"},
                                {Operation::gather, "mailbox:cell=256:cells=2:once=1:direct=200:put=200"},
                                {Operation::gather, "single-copy:piece=4096"},
                                {Operation::scatter, "mailbox:cell=256:cells=2"},
                                {Operation::scatter, "mailbox:cell=256:cells=5"},
                                {Operation::scatter, "mailbox:cell=256:cells=64"},
                                {Operation::scatter, "mailbox:cell=256:cells=5:direct=200"},
                                {Operation::scatter, "single-copy:piece=4096"},
                                {Operation::allgather, "one-shot:cell=64:cells=2"},
                                {Operation::allgather, "one-shot:cell=256:cells=1"},
                                {Operation::allgather, "one-shot:cell=256:cells=1:direct=200"},
                                {Operation::allgather, "one-shot:cell=4096:cells=1"},
                                {Operation::allgather, "one-shot:cell=64:cells=2:direct=200"},
                                {Operation::allgather, "one-shot:cell=256:cells=1:direct=200:put=200"},
                                {Operation::allgather, "one-shot:cell=64:cells=2:direct=200:put=200"},
                                {Operation::allgather, "single-copy:piece=4096"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=2"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=1"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=1:direct=200"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=2:direct=200"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=1:direct=200:put=200"},
                                {Operation::alltoall, "one-shot:cell=1024:cells=2:direct=200:put=200"},
                                {Operation::alltoall, "mailbox:cell=256:cells=2"},
                                {Operation::alltoall, "mailbox:cell=256:cells=3"},
                                {Operation::alltoall, "mailbox:cell=256:cells=3:direct=200"},
                                {Operation::alltoall, "mailbox:cell=256:cells=4"},
                                {Operation::alltoall, "mailbox:cell=256:cells=8"},
                                {Operation::alltoall, "mailbox:cell=256:cells=4:direct=200"},
                                {Operation::alltoall, "single-copy:piece=4096"},
                                {Operation::scan, "one-shot:cell=256:cells=2"},
                                {Operation::scan, "one-shot:cell=256:cells=3"},
                                {Operation::reduce_scatter, "one-shot:part=256"},
                                {Operation::reduce_scatter, "one-shot:part=256:direct=200"}};
INSTANTIATE_TEST_SUITE_P(Algorithms, Delayed, ::testing::ValuesIn(subjects), [](const auto& subject) {
  std::string name = std::string(to_string(subject.param.operation)) + "_" + subject.param.spec;
  for (char& c : name)
    if (c == '-' || c == ':' || c == '=') c = '_';
  return name;
});

/// However many there are: of more ranks most share theirs.
std::string two_cpus() {
  const std::vector<int> cpus = os::allowed_cpus();
  return std::to_string(cpus.front()) + (cpus.size() > 1 ? "," + std::to_string(cpus.back()) : "");
}

TEST_P(Delayed, NothingIsOverwrittenEarly) {
  GroupOptions options;
  options.heap_limit = 0;
  options.timeout_ms = 60000;
  ThreadGroup two(2, options), five(5, options);
  options.placement = two_cpus();
  ThreadGroup crowd(5, options);
  const unsigned turns = runs_all() ? 120 : 60;
  run(two, GetParam(), 0x3, turns);
  run(two, GetParam(), 0x1, turns);
  run(five, GetParam(), 0x1f, turns);
  run(five, GetParam(), 0x0d, turns);
  run(crowd, GetParam(), 0x16, turns);
}

// Each rank wishes at random, after both have tried each way.
TEST(Sliced, RanksThatJudgeDifferentlyTakeTheSameWay) {
  GroupOptions options;
  options.heap_limit = 0;
  options.timeout_ms = 60000;
  ThreadGroup two(2, options);
  for (const char* const spec :
       {"sliced:chunk=1024:cells=4:whole=512", "sliced:chunk=1024:cells=6:whole=256:direct=1200"})
    for (unsigned exposable = 0; exposable < 4; ++exposable)
      run(two, {Operation::allreduce, spec}, exposable, 600);
}

// The root's cells of one line have several readers, whose acknowledgements come in any order; one look takes
// all that have come.
TEST(Mailbox, TakesAcknowledgementsOfOneLineInAnyOrder) {
  constexpr int cells = 16;  // two lines of acknowledgements
  constexpr std::size_t bytes = 64;
  const Shape shape = Shape::unknown(3);
  const std::size_t all = mailbox_footprint(shape.size(), cells, bytes);
  const std::unique_ptr<unsigned char, Freed> memory(static_cast<unsigned char*>(allocate_strided(all)));
  std::memset(memory.get(), 0, all);
  ThreadGroup(1).run([&](Communicator& comm) {
    NativePort port(comm.control(), 0, comm.wait_policy());
    const auto side = [&](int rank) {
      return Mailbox<NativePort>(phicoll::Setup{rank, shape, memory.get()}, 0, cells, bytes);
    };
    Mailbox<NativePort> root = side(0);
    Mailbox<NativePort> readers[] = {side(1), side(2)};
    for (std::uint64_t round = 0; round < 60; ++round) {
      const std::uint64_t tag = 11 + round;
      for (std::uint64_t m = 0; m < cells; ++m) {
        ASSERT_TRUE(root.opens(port, m)) << "round " << round << ", message " << m;
        std::uint64_t value = 1000 * round + m;
        root.post_open(port, m, port.bind(&value, sizeof value), sizeof value, tag);
      }
      root.next_call(cells);
      bool read[cells] = {};
      for (std::uint64_t i = 0; i < cells; ++i) {
        const std::uint64_t m = (5 + (2 * (round % 8) + 1) * i) % cells;
        Mailbox<NativePort>& reader = readers[m % 2];
        ASSERT_EQ(reader.take(port, 0, m, tag), 1000 * round + m);
        ASSERT_FALSE(root.is_open(m));
        reader.finish(port, 0, m);
        read[m] = true;
        if (i % 3 != 0) continue;  // several come between two looks
        ASSERT_TRUE(root.opens(port, m));
        constexpr std::uint64_t in_line = arch::line_bytes / sizeof(std::uint64_t);
        for (std::uint64_t other = m / in_line * in_line; other < (m / in_line + 1) * in_line; ++other)
          ASSERT_EQ(root.is_open(other), read[other]) << "message " << other << " after " << m;
      }
      for (Mailbox<NativePort>& reader : readers) reader.next_call(cells);
    }
  });
}

// `Barrier` of five ranks on two CPUs, after broadcasts, reductions, allreduces and barriers with roots that
// change.
template <class Barrier>
void expect_no_rank_leaves_early(const typename Barrier::Parameters& p) {
  constexpr int ranks = 5;
  GroupOptions options;
  options.heap_limit = 0;
  options.timeout_ms = 60000;
  options.placement = two_cpus();
  ThreadGroup group(ranks, options);
  const std::size_t bytes = Barrier::footprint(p, group.shape());
  const std::unique_ptr<unsigned char, Freed> memory(static_cast<unsigned char*>(allocate_strided(bytes)));
  std::memset(memory.get(), 0, bytes);
  int entered[2][ranks] = {};  // in turns
  group.run([&](Communicator& comm) {
    const int rank = comm.rank();
    CallHistory history;
    DelayPort port(comm.control(), rank, 97u + 31u * static_cast<unsigned>(rank), true, &history);
    typename Barrier::template Rank<DelayPort> barrier(p, phicoll::Setup{rank, comm.shape(), memory.get()});
    for (int turn = 1; turn <= 300; ++turn) {
      CallFacts facts;
      facts.operation = turn % 7 == 3   ? Operation::allreduce
                        : turn % 3 == 1 ? Operation::reduce
                                        : Operation::broadcast;
      Call call;
      call.root = turn / 4 % ranks;
      if (turn % 5 != 2) history.begin(call_signature::of(facts, call, ranks, 0));
      history.begin();
      const SignatureWord before = port.call_before();
      EXPECT_EQ(call_signature::root_of(before), turn % 5 != 2 && turn % 7 != 3 ? call.root : any_rank);
      EXPECT_EQ(call_signature::root_gives(before), turn % 5 != 2 && turn % 7 != 3 && turn % 3 != 1);
      entered[turn % 2][rank] = turn;
      barrier(port);
      for (const int other : entered[turn % 2])
        if (other != turn) throw Error("check: rank " + std::to_string(rank) + " left too early");
    }
    comm.barrier();
  });
}

// The root of the broadcast just before acts for the ranks of its CPU, another rank if it was a reduction.
// The last arriver acts for the ranks of other CPUs, and for all where no call or an allreduce came before.
TEST(DelayedBarrier, HoldsWhicheverRankActsForItsCpu) {
  HybridDissemination::Parameters p;
  p.group = Level::cpu;
  expect_no_rank_leaves_early<HybridDissemination>(p);
}

// The root of the broadcast just before releases the others, whenever it comes; otherwise the last arriver
// does.
TEST(DelayedBarrier, HoldsWhicheverRankReleases) {
  SenseReversing::Parameters p;
  p.releases = SenseReversing::Releases::root;
  for (const Reset reset : {Reset::sense, Reset::episode}) {
    p.reset = reset;
    expect_no_rank_leaves_early<SenseReversing>(p);
  }
}

}  // namespace
}  // namespace phicoll
