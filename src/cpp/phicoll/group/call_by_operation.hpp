#pragma once

// The calls of a Communicator by operation: the only place that knows the member function of each.

#include <cstddef>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

/// Hands `use` a function that makes the operation's plain call, or a scan without the rank's own elements:
///
///     with_call_of(operation, exclusive, [&](auto call) { call(comm, send, receive, count, op, root, algorithm); });
///
/// `count` is in elements of a reduction, in bytes otherwise. A broadcast's message is `receive`, on the root too.
/// Arguments that the operation does not take are ignored. The function has no state, so it inlines to the call.
template <class Use>
void with_call_of(Operation operation, bool exclusive, Use&& use) {
  using By = const AlgorithmSpec*;
  using With = const Operator&;
  using Size = std::size_t;
  switch (operation) {
    case Operation::barrier:
      return use([](Communicator& c, const void*, void*, Size, With, int, By) { c.barrier(); });
    case Operation::broadcast:
      return use([](Communicator& c, const void*, void* receive, Size count, With, int root, By by) {
        c.broadcast(receive, count, root, by);
      });
    case Operation::reduce:
      return use([](Communicator& c, const void* send, void* receive, Size count, With op, int root, By by) {
        c.reduce(send, receive, count, op, root, by);
      });
    case Operation::allreduce:
      return use([](Communicator& c, const void* send, void* receive, Size count, With op, int, By by) {
        c.allreduce(send, receive, count, op, by);
      });
    case Operation::gather:
      return use([](Communicator& c, const void* send, void* receive, Size count, With, int root, By by) {
        c.gather(send, receive, count, root, by);
      });
    case Operation::scatter:
      return use([](Communicator& c, const void* send, void* receive, Size count, With, int root, By by) {
        c.scatter(send, receive, count, root, by);
      });
    case Operation::allgather:
      return use([](Communicator& c, const void* send, void* receive, Size count, With, int, By by) {
        c.allgather(send, receive, count, by);
      });
    case Operation::alltoall:
      return use([](Communicator& c, const void* send, void* receive, Size count, With, int, By by) {
        c.alltoall(send, receive, count, by);
      });
    case Operation::scan:
      if (exclusive)
        return use([](Communicator& c, const void* send, void* receive, Size count, With op, int, By by) {
          c.exscan(send, receive, count, op, by);
        });
      return use([](Communicator& c, const void* send, void* receive, Size count, With op, int, By by) {
        c.scan(send, receive, count, op, by);
      });
    case Operation::reduce_scatter:
      return use([](Communicator& c, const void* send, void* receive, Size count, With op, int, By by) {
        c.reduce_scatter_block(send, receive, count, op, by);
      });
  }
}

/// The same for vector versions. The function takes `own`, the size of the rank's own block, in place of `count`, then the
/// blocks that the rank sends and those that it receives; an operation with blocks on one side only takes those of that side.
///
///     with_vector_call_of(operation, [&](auto call) { call(comm, send, receive, own, sent, received, op, root, algorithm); });
///
/// Throws ArgumentError("operation") for an operation without a vector version.
template <class Use>
void with_vector_call_of(Operation operation, Use&& use) {
  using By = const AlgorithmSpec*;
  using With = const Operator&;
  using Size = std::size_t;
  using Of = const Blocks&;
  switch (operation) {
    case Operation::gather:
      return use([](Communicator& c, const void* send, void* receive, Size own, Of, Of in, With, int root,
                    By by) { c.gatherv(send, own, receive, in.counts, in.displacements, root, by); });
    case Operation::scatter:
      return use([](Communicator& c, const void* send, void* receive, Size own, Of out, Of, With, int root,
                    By by) { c.scatterv(send, out.counts, out.displacements, receive, own, root, by); });
    case Operation::allgather:
      return use([](Communicator& c, const void* send, void* receive, Size own, Of, Of in, With, int, By by) {
        c.allgatherv(send, own, receive, in.counts, in.displacements, by);
      });
    case Operation::alltoall:
      return use([](Communicator& c, const void* send, void* receive, Size, Of out, Of in, With, int, By by) {
        c.alltoallv(send, out.counts, out.displacements, receive, in.counts, in.displacements, by);
      });
    case Operation::reduce_scatter:
      return use([](Communicator& c, const void* send, void* receive, Size, Of out, Of, With op, int, By by) {
        c.reduce_scatter(send, receive, out.counts, op, by);
      });
    default:
      throw ArgumentError("operation", to_string(operation), "one that has a version with counts");
  }
}

}  // namespace phicoll
