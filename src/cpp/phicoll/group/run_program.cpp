#include "phicoll/group/run_program.hpp"

#include <sys/mman.h>

#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

namespace {

/// A rank's memory, as its owner allocates it: of its own, or in the heap of `owner`'s group.
class Memory {
 public:
  explicit Memory(std::size_t bytes, Communicator* owner = nullptr)
      : owner_(owner),
        at_(static_cast<unsigned char*>(owner != nullptr ? owner->allocate(bytes)
                                                         : allocate_strided(bytes))) {}
  ~Memory() {
    if (owner_ == nullptr) {
      std::free(at_);
    } else {
      try {
        owner_->release(at_);
      } catch (const Error&) {
        // The group is broken, and ends with its heap.
      }
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* at() const { return at_; }

 private:
  Communicator* owner_;
  unsigned char* at_;
};

/// What was made before the fork and is read after it.
class SharedResults {
 public:
  explicit SharedResults(std::size_t bytes) : bytes_(bytes) {
    void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      throw ResourceError("program: no memory for " + std::to_string(bytes) + " bytes of results");
    at_ = static_cast<unsigned char*>(mapping);
  }
  ~SharedResults() { munmap(at_, bytes_); }
  SharedResults(const SharedResults&) = delete;
  SharedResults& operator=(const SharedResults&) = delete;
  unsigned char* at() const { return at_; }

 private:
  unsigned char* at_;
  std::size_t bytes_;
};

void make_call(Communicator& comm, const Program& program, const ProgramCall& call, void* send,
               void* receive) {
  const AlgorithmSpec parsed =
      !moves_data(call.operation) ? AlgorithmSpec() : family(call.operation).parse(call.algorithm);
  const AlgorithmSpec* const by = call.algorithm == "auto" ? nullptr : &parsed;
  const Operator op = program.operator_of(call);
  const OperationRow& row = row_of(call.operation);
  if (call.in_place && (!row.rooted || comm.rank() == call.root)) {
    if (row.sends == Part::root_blocks)
      receive = nullptr;
    else
      send = nullptr;
  }
  Request request;
  request.operation = call.operation;
  request.exclusive = call.exclusive;
  request.root = call.root;
  request.send = send;
  request.receive = receive;
  request.count = call.count;
  request.op = &op;
  request.algorithm = by;
  if (call.counts.empty()) return comm.call(request);
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::size_t> to = call.counts, from = call.counts;
  if (exchanges_pairs(call.operation)) {
    to.resize(ranks);
    from.resize(ranks);
    for (std::size_t other = 0; other < ranks; ++other) {
      to[other] = call.counts[rank * ranks + other];
      from[other] = call.counts[other * ranks + rank];
    }
  }
  const std::vector<std::size_t> to_places = block_places(to, call.gap);
  const std::vector<std::size_t> from_places = block_places(from, call.gap);
  request.vector = true;
  request.count = call.counts[rank];
  request.send_blocks = Blocks{to.data(), to_places.data()};
  request.receive_blocks = Blocks{from.data(), from_places.data()};
  comm.call(request);
}

void run_rank(Communicator& comm, const Program& program, const ProgramLayout& layout,
              unsigned char* memory) {
  layout.prepare(program, comm.rank(), memory);
  for (const ProgramCall& call : program.calls) {
    if (call.fill != 0) {
      const Contribution part = program.contribution(call, comm.rank());
      if (part.bytes != 0) program.filling(call, comm.rank(), layout.place(memory, part.buffer, part.at).at);
    }
    if (!call.delays.empty())
      for (int turn = call.delays[static_cast<std::size_t>(comm.rank())]; turn > 0; --turn) arch::pause();
    make_call(comm, program, call, layout.place(memory, call.send, call.send_at).at,
              layout.place(memory, call.receive, call.receive_at).at);
  }
}

}  // namespace

std::vector<Buffers> run_program_by_threads(const Program& program, const GroupOptions& options) {
  program.check();
  const ProgramLayout layout(program);
  ThreadGroup group(program.ranks, options);
  std::vector<Buffers> found(static_cast<std::size_t>(program.ranks));
  group.run([&](Communicator& comm) {
    const Memory memory(layout.bytes());
    run_rank(comm, program, layout, memory.at());
    // A late peer may still write what it must not: compare only after hearing from all.
    comm.barrier();
    found[static_cast<std::size_t>(comm.rank())] = layout.take(program, comm.rank(), memory.at());
    comm.barrier();
  });
  return found;
}

std::vector<Buffers> run_program_by_processes(const Program& program, const GroupOptions& options,
                                              std::uint64_t in_heap) {
  program.check();
  const ProgramLayout layout(program);
  const auto ranks = static_cast<std::size_t>(program.ranks);
  const SharedResults results(ranks * layout.bytes());
  fork_and_run(program.ranks, options, [&](Communicator& comm) {
    const Memory memory(layout.bytes(), (in_heap >> (comm.rank() % 64) & 1) != 0 ? &comm : nullptr);
    run_rank(comm, program, layout, memory.at());
    comm.barrier();
    std::memcpy(results.at() + static_cast<std::size_t>(comm.rank()) * layout.bytes(), memory.at(),
                layout.scratch());
    comm.barrier();
  });
  std::vector<Buffers> found;
  for (std::size_t r = 0; r < ranks; ++r)
    found.push_back(layout.take(program, static_cast<int>(r), results.at() + r * layout.bytes()));
  return found;
}

}  // namespace phicoll
