// Broadcasts on a port that holds ranks up between any two of their steps, and that may deny others a rank's
// buffer: what one rank overwrites too early, another is then likely to be still reading.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "delay_port.hpp"
#include "patience.hpp"
#include "phicoll/collectives/broadcast/registry.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {
namespace {

struct Freed {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

unsigned char byte(std::size_t i, unsigned salt) {
  return static_cast<unsigned char>(i * 37 + i / 251 + salt * 11);
}

/// Calls of many sizes and all roots without anything between them; each rank fills its buffer anew at once.
void run(ThreadGroup& group, const AlgorithmSpec& spec, unsigned exposable) {
  const Family& broadcasts = family(Operation::broadcast);
  const std::size_t bytes = broadcasts.footprint(spec, group.shape());
  const std::unique_ptr<unsigned char, Freed> memory(static_cast<unsigned char*>(allocate_strided(bytes)));
  std::memset(memory.get(), 0, bytes);
  const AlgorithmSpec effective = broadcasts.effective(spec, group.shape());
  group.run([&](Communicator& comm) {
    const int rank = comm.rank();
    DelayPort port(comm.control(), rank, 4711u + 31u * static_cast<unsigned>(rank),
                   (exposable >> rank & 1u) != 0);
    const auto broadcast = make_from<DelayPort>(Registry<Operation::broadcast>::List{}, effective,
                                                Setup{rank, comm.shape(), memory.get()});
    const std::size_t counts[] = {1, 48, 49, 100, 130, 200, 250, 256, 257, 300, 700};
    std::vector<unsigned char> buffer(700);
    const unsigned turns = runs_all() ? 240 : 121;  // after which counts repeat
    for (unsigned turn = 0; turn < turns; ++turn) {
      Call call;
      // By threes the same root: both a root that goes on and one that takes over.
      call.root = static_cast<int>(turn / 3 * 5 + turn / 30) % comm.size();
      call.count = counts[(turn * 7 + turn / 11) % 11];
      call.receive = port.bind(buffer.data(), call.count);
      for (std::size_t i = 0; i < call.count; ++i)
        buffer[i] = rank == call.root ? byte(i, turn) : static_cast<unsigned char>(0xee);
      (*broadcast)(port, call);
      for (std::size_t i = 0; i < call.count; ++i)
        if (buffer[i] != byte(i, turn))
          throw Error("check: " + spec.text() + ", turn " + std::to_string(turn) + ", " +
                      std::to_string(call.count) + " bytes, root " + std::to_string(call.root) + ", rank " +
                      std::to_string(rank) + ": byte " + std::to_string(i));
    }
    comm.barrier();
  });
}

class DelayedBroadcast : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Algorithms, DelayedBroadcast,
    ::testing::Values("centralized:region=128", "centralized:region=128:reset=unset",
                      "double-buffered:region=256", "double-buffered:region=256:reset=unset",
                      "double-buffered:region=256:flags=bytes:reset=unset", "tree-copy:piece=64",
                      "one-to-all-shifted:shift=5", "root-copies:chunk=64", "piece-per-rank:minimum=64",
                      "local-store-tree:degree=1:piece=64", "local-store-tree:degree=3:piece=64:buffers=1",
                      "local-store-tree:piece=64:small=header", "paper-002:large=200:few=2", "flat:piece=64",
                      "binomial:complete=children:piece=64",
                      "k-nomial:ack=line-per-child:complete=children:piece=64", "fibonacci:piece=64",
                      "model-tree:k1=2:k2=2:driven=sender:ack=line-per-child:complete=children:piece=64",
                      "pipelined-slices:slice=64", "flat-large:piece=64", "ring:cell=64:cells=2",
                      "hierarchical:piece=64:pieces=2"),
    [](const auto& text) {
      std::string name = text.param;
      for (char& c : name)
        if (c == '-' || c == ':' || c == '=') c = '_';
      return name;
    });

TEST_P(DelayedBroadcast, NothingIsOverwrittenEarly) {
  const AlgorithmSpec spec = family(Operation::broadcast).parse(GetParam());
  GroupOptions options;
  options.heap_limit = 0;
  options.timeout_ms = 60000;
  ThreadGroup three(3, options), five(5, options);
  run(three, spec, 0x7);
  run(three, spec, 0x0);
  run(five, spec, 0x1f);
  run(five, spec, 0x0d);
  run(five, spec, 0x00);
}

}  // namespace
}  // namespace phicoll
