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
      call.operation == Operation::barrier ? AlgorithmSpec() : family(call.operation).parse(call.algorithm);
  const AlgorithmSpec* const by = call.algorithm == "auto" ? nullptr : &parsed;
  const Operator op = program.operator_of(call);
  const bool root = comm.rank() == call.root;
  const bool vector = !call.counts.empty();
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  const void* const given = call.in_place ? nullptr : send;
  const void* const given_unless_root = call.in_place && root ? nullptr : send;
  const std::size_t* const counts = call.counts.data();
  switch (call.operation) {
    case Operation::barrier:
      comm.barrier();
      return;
    case Operation::broadcast:
      comm.broadcast(receive, call.count, call.root, by);
      return;
    case Operation::reduce:
      comm.reduce(given_unless_root, receive, call.count, op, call.root, by);
      return;
    case Operation::allreduce:
      comm.allreduce(given, receive, call.count, op, by);
      return;
    case Operation::scan:
      if (call.exclusive)
        comm.exscan(given, receive, call.count, op, by);
      else
        comm.scan(given, receive, call.count, op, by);
      return;
    case Operation::gather:
      if (vector)
        comm.gatherv(given_unless_root, call.counts[rank], receive, counts,
                     block_places(call.counts, call.gap).data(), call.root, by);
      else
        comm.gather(given_unless_root, receive, call.count, call.root, by);
      return;
    case Operation::scatter: {
      void* const own = call.in_place && root ? nullptr : receive;
      if (vector)
        comm.scatterv(send, counts, block_places(call.counts, call.gap).data(), own, call.counts[rank],
                      call.root, by);
      else
        comm.scatter(send, own, call.count, call.root, by);
      return;
    }
    case Operation::allgather:
      if (vector)
        comm.allgatherv(given, call.counts[rank], receive, counts, block_places(call.counts, call.gap).data(),
                        by);
      else
        comm.allgather(given, receive, call.count, by);
      return;
    case Operation::alltoall: {
      if (!vector) {
        comm.alltoall(given, receive, call.count, by);
        return;
      }
      std::vector<std::size_t> to(ranks), from(ranks);
      for (std::size_t other = 0; other < ranks; ++other) {
        to[other] = call.counts[rank * ranks + other];
        from[other] = call.counts[other * ranks + rank];
      }
      comm.alltoallv(given, to.data(), block_places(to, call.gap).data(), receive, from.data(),
                     block_places(from, call.gap).data(), by);
      return;
    }
    case Operation::reduce_scatter:
      if (vector)
        comm.reduce_scatter(given, receive, counts, op, by);
      else
        comm.reduce_scatter_block(given, receive, call.count, op, by);
      return;
  }
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
