// A backend of torch.distributed over libphicoll-preload: compiled where it runs, against PyTorch's headers.
// What its calls mean is PyTorch's (torch/csrc/distributed/c10d/Backend.hpp); docs/torch.md says what is
// served.

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/preload/torch/group.h"
#include "phicoll/preload/torch/hosts.h"
#include "phicoll/preload/torch/tensors.h"
#include "phicoll/preload/torch/works.h"

namespace phicoll_torch {

using c10d::OpType;
using c10d::ReduceOp;
using Tensors = std::vector<at::Tensor>;
using WorkRef = c10::intrusive_ptr<c10d::Work>;

/// The ranks of one process group, all of this host.
class Backend : public c10d::Backend {
 public:
  Backend(const std::string& name, int rank, int size, std::int64_t attach_ms, std::int64_t wait_ms,
          bool reproducible, int threads)
      : c10d::Backend(rank, size),
        group_(std::make_shared<Group>(name, rank, size, attach_ms, wait_ms, reproducible, threads)),
        options_(c10::make_intrusive<Options>("phicoll", std::chrono::milliseconds(wait_ms))) {}

  ~Backend() override {
    // The last owner joins the group's thread, which may be waiting for Python's lock.
    if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return;
    const pybind11::gil_scoped_release released;
    group_.reset();
  }

  const std::string getBackendName() const override { return "phicoll"; }
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return group_->calls(); }
  // Without "override", for releases that lack them.
  c10::intrusive_ptr<Options> getBackendOptions() { return options_; }
  void abort() { group_->break_off("the program aborted its process group"); }
  void shutdown() { group_->drain(); }

  WorkRef broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    alike(tensors, "broadcast");
    TORCH_CHECK(options.rootTensor >= 0 && options.rootTensor < static_cast<std::int64_t>(tensors.size()),
                "broadcast: got root tensor ", options.rootTensor, "; allowed: 0..", tensors.size() - 1);
    const at::Tensor tensor = tensors[static_cast<std::size_t>(options.rootTensor)];
    const int root = root_of(options.rootRank);
    return submit(OpType::BROADCAST, "phicoll:broadcast", way_of(options), tensors, tensors,
                  [=](Group& group) {
                    Flat flat(tensor);
                    PhicollRequest request = of(PHICOLL_broadcast, flat.bytes(), root);
                    request.receive = flat.data();
                    group.call_in_parts(request, 1);
                    flat.deliver();
                    share(tensor, tensors);
                  });
  }

  WorkRef allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    if (tensors.size() == 1) return allreduce_all(tensors, options, OpType::ALLREDUCE);
    alike(tensors, "all_reduce");  // one sum of all of them
    const Reduction reduction(options.reduceOp, tensors[0], getSize() * static_cast<int>(tensors.size()));
    return submit(OpType::ALLREDUCE, "phicoll:all_reduce", way_of(options), tensors, tensors,
                  [=](Group& group) {
                    const Tensors each = apart(tensors);
                    for (std::size_t i = 1; i < each.size(); ++i) reduction.combine(each[0], each[i]);
                    reduce_everywhere(group, each[0], reduction);
                    share(each[0], tensors);
                  });
  }
  WorkRef allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return allreduce_all(tensors, options, OpType::ALLREDUCE_COALESCED);
  }

  WorkRef reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    const at::Tensor tensor = single(tensors, "reduce");
    const Reduction reduction(options.reduceOp, tensor, getSize());
    const int root = root_of(options.rootRank);
    TORCH_CHECK(options.rootTensor == 0, "reduce: got root tensor ", options.rootTensor, "; allowed: 0");
    return submit(OpType::REDUCE, "phicoll:reduce", way_of(options), tensors, tensors, [=](Group& group) {
      Flat flat(tensor);
      const bool here = root == group.rank();
      const at::Tensor scaled = here ? reduction.before(flat.tensor()) : reduction.scaled(flat.tensor());
      PhicollRequest request = of(PHICOLL_reduce, flat.count(), root);
      request.op = reduction.op();
      request.send = here ? nullptr : scaled.data_ptr();
      request.receive = here ? flat.data() : nullptr;
      group.call_in_parts(request, flat.element_bytes());
      if (!here) return;
      reduction.after(flat.tensor());
      flat.deliver();
    });
  }

  WorkRef allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override {
    const at::Tensor input = single(inputs, "all_gather");
    return allgather_all({single_list(outputs, "all_gather", input, getSize())}, inputs, options,
                         OpType::ALLGATHER);
  }
  WorkRef _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    return allgather_tensors({output}, {input}, options, OpType::_ALLGATHER_BASE, "phicoll:_all_gather_base");
  }
  WorkRef allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override {
    return allgather_tensors(outputs, inputs, options, OpType::COALESCED, "phicoll:all_gather_into_tensors");
  }

  WorkRef allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override {
    TORCH_CHECK(static_cast<int>(outputs.size()) == getSize(), "all_gather_coalesced: got ", outputs.size(),
                " lists of outputs; allowed: one for each of ", getSize(), " ranks");
    std::vector<Tensors> lists;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check(inputs[i], "all_gather_coalesced");
      Tensors blocks;
      for (const Tensors& of_rank : outputs) blocks.push_back(of_rank.at(i));
      lists.push_back(single_list({blocks}, "all_gather_coalesced", inputs[i], getSize()));
    }
    return allgather_all(lists, inputs, options, OpType::COALESCED);
  }

  WorkRef gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override {
    const at::Tensor input = single(inputs, "gather");
    const int root = root_of(options.rootRank);
    const bool here = root == getRank();
    TORCH_CHECK(here || outputs.empty(), "gather: got outputs on a rank that is not the root; allowed: none");
    const Tensors blocks = here ? single_list(outputs, "gather", input, getSize()) : Tensors();
    return submit(OpType::GATHER, "phicoll:gather", way_of(options), inputs, blocks, [=](Group& group) {
      const at::Tensor sent = input.contiguous();
      Joined joined(blocks, false);
      PhicollRequest request = of(PHICOLL_gather, bytes_of(sent), root);
      request.send = sent.data_ptr();
      request.receive = here ? joined.data() : nullptr;
      group.call(request);
      joined.deliver();
    });
  }

  WorkRef scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override {
    const at::Tensor output = single(outputs, "scatter");
    const int root = root_of(options.rootRank);
    const bool here = root == getRank();
    TORCH_CHECK(here || inputs.empty(), "scatter: got inputs on a rank that is not the root; allowed: none");
    const Tensors blocks = here ? single_list(inputs, "scatter", output, getSize()) : Tensors();
    return submit(OpType::SCATTER, "phicoll:scatter", way_of(options), blocks, outputs, [=](Group& group) {
      const Joined joined(blocks, true);
      Flat flat(output);
      PhicollRequest request = of(PHICOLL_scatter, flat.bytes(), root);
      request.send = here ? joined.data() : nullptr;
      request.receive = flat.data();
      group.call(request);
      flat.deliver();
    });
  }

  WorkRef reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    const at::Tensor output = single(outputs, "reduce_scatter");
    const Tensors blocks = single_list(inputs, "reduce_scatter", at::Tensor(), getSize());
    const Reduction reduction(options.reduceOp, output, getSize());
    return submit(OpType::REDUCE_SCATTER, "phicoll:reduce_scatter", way_of(options), blocks, outputs,
                  [=](Group& group) {
                    const Joined joined(blocks, true);
                    Flat flat(output);
                    std::vector<std::size_t> counts;
                    for (const at::Tensor& block : blocks)
                      counts.push_back(static_cast<std::size_t>(block.numel()));
                    PhicollRequest request = of(PHICOLL_reduce_scatter, 0);
                    const at::Tensor scaled = reduction.scaled(joined.tensor());
                    request.vector = 1;
                    request.op = reduction.op();
                    request.send = scaled.data_ptr();
                    request.receive = flat.data();
                    request.send_counts = counts.data();
                    group.call_in_parts(request, flat.element_bytes());
                    reduction.after(flat.tensor());
                    flat.deliver();
                  });
  }

  WorkRef _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    return reduce_scatter_tensors({output}, {input}, options, OpType::_REDUCE_SCATTER_BASE,
                                  "phicoll:_reduce_scatter_base");
  }
  WorkRef reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override {
    return reduce_scatter_tensors(outputs, inputs, options, OpType::REDUCE_SCATTER_TENSOR_COALESCED,
                                  "phicoll:reduce_scatter_tensors");
  }

  WorkRef alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                        std::vector<std::int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override {
    check(output, "all_to_all_single");
    check(input, "all_to_all_single");
    check_same_type(output, input, "all_to_all_single");
    const Splits received(output, output_splits, getSize()), sent(input, input_splits, getSize());
    const at::Tensor from = input, to = output;
    return submit(OpType::ALLTOALL_BASE, "phicoll:all_to_all_single", way_of(options), {input}, {output},
                  [=](Group& group) {
                    const at::Tensor data = from.contiguous();
                    Flat flat(to);
                    PhicollRequest request = exchange(sent, received);
                    request.send = data.data_ptr();
                    request.receive = flat.data();
                    group.call_in_parts(request, 1);
                    flat.deliver();
                  });
  }

  WorkRef alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    for (const at::Tensor& tensor : outputs) check(tensor, "all_to_all");
    for (const at::Tensor& tensor : inputs) check(tensor, "all_to_all");
    const Splits received(outputs, getSize()), sent(inputs, getSize());
    const Tensors from = inputs, to = outputs;
    return submit(OpType::ALLTOALL, "phicoll:all_to_all", way_of(options), inputs, outputs,
                  [=](Group& group) {
                    const Joined data(from, true);
                    Joined joined(to, false);
                    PhicollRequest request = exchange(sent, received);
                    request.send = data.data();
                    request.receive = joined.data();
                    group.call_in_parts(request, 1);
                    joined.deliver();
                  });
  }

  WorkRef barrier(const c10d::BarrierOptions& options) override {
    return submit(OpType::BARRIER, "phicoll:barrier", way_of(options), {}, {},
                  [](Group& group) { group.call(of(PHICOLL_barrier, 0)); });
  }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) override {
    group_->monitored_barrier(options.timeout, wait_all);
  }

  WorkRef send(Tensors& tensors, int rank, int tag) override {
    return c10::make_intrusive<MessageWork>(group_, single(tensors, "send"), checked(rank, tag), tag,
                                            OpType::SEND);
  }
  WorkRef recv(Tensors& tensors, int rank, int tag) override {
    return c10::make_intrusive<MessageWork>(group_, single(tensors, "recv"), checked(rank, tag), tag,
                                            OpType::RECV);
  }
  WorkRef recvAnysource(Tensors& tensors, int tag) override {
    checked(0, tag);
    return c10::make_intrusive<MessageWork>(group_, single(tensors, "recv"), any_source, tag,
                                            OpType::RECVANYSOURCE);
  }

  /// What all_reduce(SUM) does, at once, without a Work.
  void sum(const at::Tensor& tensor) {
    check(tensor, "all_reduce_");
    const Reduction reduction(ReduceOp::SUM, tensor, getSize());
    group_->run([&](Group& group) { reduce_everywhere(group, tensor, reduction); });
  }

 private:
  /// Begun beside the program; or made before it returns, with no Work if PyTorch's options tell the two
  /// apart: to make one and to wait for it takes as long as a small call.
  enum class Way { begun, made, made_with_work };
  template <class Options>
  static Way way_of(const Options& options) {
    if constexpr (requires { options.asyncOp; })
      return options.asyncOp ? Way::begun : Way::made;
    else
      return Way::made_with_work;
  }
  static PhicollRequest of(PhicollOperation operation, std::size_t count, int root = 0) {
    PhicollRequest request = {};
    request.operation = static_cast<unsigned char>(operation);
    request.count = count;
    request.root = root;
    return request;
  }
  int root_of(std::int64_t root) const {
    TORCH_CHECK(root >= 0 && root < getSize(), "root: got ", root, "; allowed: 0..", getSize() - 1);
    return static_cast<int>(root);
  }
  static PhicollRequest exchange(const Splits& sent, const Splits& received) {
    PhicollRequest request = of(PHICOLL_alltoall, 0);
    request.vector = 1;
    request.send_counts = sent.bytes.data();
    request.send_displacements = sent.places.data();
    request.receive_counts = received.bytes.data();
    request.receive_displacements = received.places.data();
    return request;
  }
  static void reduce_everywhere(Group& group, const at::Tensor& tensor, const Reduction& reduction) {
    Flat flat(tensor);
    reduction.before(flat.tensor());
    PhicollRequest request = of(PHICOLL_allreduce, flat.count());
    request.op = reduction.op();
    request.receive = flat.data();
    group.call_in_parts(request, flat.element_bytes());
    reduction.after(flat.tensor());
    flat.deliver();
  }
  int checked(int rank, int tag) const {
    TORCH_CHECK(rank >= 0 && rank < getSize(), "rank: got ", rank, "; allowed: 0..", getSize() - 1);
    TORCH_CHECK(tag >= 0 && tag <= last_tag, "tag: got ", tag, "; allowed: 0..", last_tag);
    return rank;
  }

  /// Makes the call or begins it. `title` and `inputs` are for PyTorch's profiler.
  template <class Function>
  WorkRef submit(OpType type, const char* title, Way way, const Tensors& inputs, const Tensors& results,
                 Function function) {
    if (way == Way::made) {
      const Recorded recorded(title, inputs);
      const at::AutoDispatchBelowADInplaceOrView plain;  // no part of a gradient
      group_->run(function);
      return {};
    }
    auto work = c10::make_intrusive<CallWork>(getRank(), type, title, inputs, results);
    if (way == Way::begun)
      group_->begin([work, function](Group& group) {
        work->run([&] {
          const at::AutoDispatchBelowADInplaceOrView plain;
          function(group);
        });
      });
    else {
      const at::AutoDispatchBelowADInplaceOrView plain;
      group_->run(function);
      work->run([] {});
    }
    return work;
  }

  WorkRef allreduce_all(const Tensors& tensors, const c10d::AllreduceOptions& options, OpType type) {
    std::vector<Reduction> reductions;
    for (const at::Tensor& tensor : tensors) {
      check(tensor, "all_reduce");
      reductions.emplace_back(options.reduceOp, tensor, getSize());
    }
    return submit(type, "phicoll:all_reduce", way_of(options), tensors, tensors, [=](Group& group) {
      const Tensors each = apart(tensors);
      for (std::size_t i = 0; i < each.size(); ++i) reduce_everywhere(group, each[i], reductions[i]);
    });
  }

  /// Of each input the blocks of all ranks.
  WorkRef allgather_all(const std::vector<Tensors>& outputs, const Tensors& inputs,
                        const c10d::AllgatherOptions& options, OpType type) {
    Tensors results;
    for (const Tensors& blocks : outputs) results.insert(results.end(), blocks.begin(), blocks.end());
    return submit(type, "phicoll:all_gather", way_of(options), inputs, results, [=](Group& group) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const at::Tensor sent = inputs[i].contiguous();
        Joined joined(outputs[i], false);
        PhicollRequest request = of(PHICOLL_allgather, bytes_of(sent));
        request.send = sent.data_ptr();
        request.receive = joined.data();
        group.call_in_parts(request, 1);
        joined.deliver();
      }
    });
  }

  WorkRef allgather_tensors(const Tensors& outputs, const Tensors& inputs,
                            const c10d::AllgatherOptions& options, OpType type, const char* title) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_blocks(outputs[i], inputs.at(i), getSize(), "all_gather_into_tensor");
    return submit(type, title, way_of(options), inputs, outputs, [=](Group& group) {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const at::Tensor sent = inputs[i].contiguous();
        Flat flat(outputs[i]);
        PhicollRequest request = of(PHICOLL_allgather, bytes_of(sent));
        request.send = flat.in_place(sent, group.rank());
        request.receive = flat.data();
        group.call_in_parts(request, 1);
        flat.deliver();
      }
    });
  }

  WorkRef reduce_scatter_tensors(const Tensors& outputs, const Tensors& inputs,
                                 const c10d::ReduceScatterOptions& options, OpType type, const char* title) {
    std::vector<Reduction> reductions;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      check_blocks(inputs.at(i), outputs[i], getSize(), "reduce_scatter_tensor");
      reductions.emplace_back(options.reduceOp, outputs[i], getSize());
    }
    return submit(type, title, way_of(options), inputs, outputs, [=](Group& group) {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        at::Tensor scaled = reductions[i].scaled(inputs[i].contiguous());
        Flat flat(outputs[i]);
        if (meet(scaled, flat.tensor())) scaled = scaled.clone();
        PhicollRequest request = of(PHICOLL_reduce_scatter, flat.count());
        request.op = reductions[i].op();
        request.send = scaled.data_ptr();
        request.receive = flat.data();
        group.call_in_parts(request, flat.element_bytes());
        reductions[i].after(flat.tensor());
        flat.deliver();
      }
    });
  }

  std::shared_ptr<Group> group_;
  c10::intrusive_ptr<Options> options_;
};

c10::intrusive_ptr<c10d::Backend> create(const std::string& name, int rank, int size, std::int64_t attach_ms,
                                         std::int64_t wait_ms, bool reproducible, int threads) {
  return c10::make_intrusive<Backend>(name, rank, size, attach_ms, wait_ms, reproducible, threads);
}

using Ref = c10::intrusive_ptr<c10d::Backend>;
Ref join_hosts(const Ref& local, const Ref& between, const Ref& whole, const std::vector<int>& host_of,
               int rank) {
  return c10::make_intrusive<Hosts>(local, between, whole, host_of, rank);
}

/// all_reduce_(group, tensor): nothing but the call.
void all_reduce(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const at::Tensor& tensor) {
  const auto backend = group->getBackend(c10::DeviceType::CPU);
  if (auto* const own = dynamic_cast<Backend*>(backend.get())) return own->sum(tensor);
  auto* const hosts = dynamic_cast<Hosts*>(backend.get());
  TORCH_CHECK(hosts != nullptr, "group: got a group of ", backend->getBackendName(),
              "; allowed: one of phicoll");
  Tensors one{tensor};
  hosts->allreduce(one, c10d::AllreduceOptions());
}

/// The same as an operator, which a graph names its group by.
void all_reduce_of(const at::Tensor& tensor, const std::string& group_name) {
  const at::AutoDispatchBelowADInplaceOrView plain;
  all_reduce(c10d::resolve_process_group(group_name), tensor);
}

}  // namespace phicoll_torch

TORCH_LIBRARY(phicoll, library) {
  library.def("all_reduce_(Tensor(a!) tensor, str group_name) -> ()", {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(phicoll, CPU, library) {
  library.impl("all_reduce_", &phicoll_torch::all_reduce_of);
}
TORCH_LIBRARY_IMPL(phicoll, Meta, library) {
  library.impl("all_reduce_", [](const at::Tensor&, const std::string&) {});
}

PYBIND11_MODULE(PHICOLL_TORCH_MODULE, module) {
  using Released = pybind11::call_guard<pybind11::gil_scoped_release>;
  module.def("create", &phicoll_torch::create, Released());
  module.def("join_hosts", &phicoll_torch::join_hosts);
  module.def("all_reduce", &phicoll_torch::all_reduce, Released());
}
