#pragma once

// Groups whose ranks are on several hosts: phicoll within each, another backend between.

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/preload/torch/tensors.h"
#include "phicoll/preload/torch/works.h"

namespace phicoll_torch {

/// A backend of ranks on several hosts. The first rank of each host leads it. Reductions, broadcasts,
/// allgathers and barriers go through the leaders, once between two hosts; all else goes through the other
/// backend. Every call is made before it returns.
class Hosts : public c10d::Backend {
 public:
  using Ref = c10::intrusive_ptr<c10d::Backend>;
  using WorkRef = c10::intrusive_ptr<c10d::Work>;
  using ReduceOp = c10d::ReduceOp;
  using OpType = c10d::OpType;

  /// `between` is the leaders' group, and null on all others; `whole` has all ranks. Host host_of[r] is rank
  /// r's.
  Hosts(Ref local, Ref between, Ref whole, std::vector<int> host_of, int rank)
      : c10d::Backend(rank, static_cast<int>(host_of.size())),
        local_(std::move(local)),
        between_(std::move(between)),
        whole_(std::move(whole)),
        host_of_(std::move(host_of)),
        host_(host_of_.at(static_cast<std::size_t>(rank))),
        hosts_(*std::max_element(host_of_.begin(), host_of_.end()) + 1) {}

  const std::string getBackendName() const override { return "phicoll"; }
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return calls_; }
  void abort() {
    for (const Ref& each : {local_, between_, whole_})
      if (each) each->abort();
  }

  WorkRef allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    single(tensors, "all_reduce");
    return allreduce_all(tensors, options);
  }
  WorkRef allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return allreduce_all(tensors, options);
  }
  WorkRef broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    const at::Tensor tensor = single(tensors, "broadcast");
    return made(OpType::BROADCAST, "phicoll:broadcast", tensors, tensors, [&] {
      Flat flat(tensor);
      const auto root = static_cast<int>(options.rootRank);
      const bool here = host(root) == host_;
      if (here) share(flat.tensor(), place_of(root));
      if (between_) send_out(flat.tensor(), host(root));
      if (!here) share(flat.tensor(), 0);
      flat.deliver();
    });
  }
  WorkRef reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    const at::Tensor tensor = single(tensors, "reduce");
    return made(OpType::REDUCE, "phicoll:reduce", tensors, tensors, [&] {
      // Only the root's tensor changes.
      at::Tensor sum = tensor.clone(at::MemoryFormat::Contiguous);
      reduce_everywhere(sum, options.reduceOp);
      if (options.rootRank == getRank()) tensor.copy_(sum);
    });
  }
  WorkRef _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    Tensors outputs{output}, inputs{input};
    return allgather_into_tensor_coalesced(outputs, inputs, options);
  }
  WorkRef allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& /*options*/) override {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_blocks(outputs[i], inputs.at(i), getSize(), "all_gather_into_tensor");
    return made(OpType::_ALLGATHER_BASE, "phicoll:_all_gather_base", inputs, outputs, [&] {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        Flat flat(outputs[i]);
        gather_all(flat.tensor(), inputs[i]);
        flat.deliver();
      }
    });
  }
  WorkRef allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& /*options*/) override {
    const at::Tensor input = single(inputs, "all_gather");
    const Tensors& blocks = single_list(outputs, "all_gather", input, getSize());
    return made(OpType::ALLGATHER, "phicoll:all_gather", inputs, blocks, [&] {
      Joined joined(blocks, false);
      gather_all(joined.tensor(), input);
      joined.deliver();
    });
  }
  WorkRef _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    Tensors outputs{output}, inputs{input};
    return reduce_scatter_tensor_coalesced(outputs, inputs, options);
  }
  WorkRef reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_blocks(inputs.at(i), outputs[i], getSize(), "reduce_scatter_tensor");
    return made(OpType::_REDUCE_SCATTER_BASE, "phicoll:_reduce_scatter_base", inputs, outputs, [&] {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const at::Tensor sum = inputs[i].clone(at::MemoryFormat::Contiguous);
        reduce_everywhere(sum, options.reduceOp);
        outputs[i].copy_(sum.view({getSize(), -1})[getRank()].view(outputs[i].sizes()));
      }
    });
  }
  WorkRef reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    const at::Tensor output = single(outputs, "reduce_scatter");
    const Tensors& blocks = single_list(inputs, "reduce_scatter", at::Tensor(), getSize());
    return made(OpType::REDUCE_SCATTER, "phicoll:reduce_scatter", blocks, outputs, [&] {
      const Joined joined(blocks, true);
      reduce_everywhere(joined.tensor(), options.reduceOp);
      output.copy_(joined.part(static_cast<std::size_t>(getRank())));
    });
  }
  WorkRef barrier(const c10d::BarrierOptions& /*options*/) override {
    return made(OpType::BARRIER, "phicoll:barrier", {}, {}, [&] {
      c10d::BarrierOptions plain;
      local_->barrier(plain)->wait();
      if (between_) between_->barrier(plain)->wait();
      local_->barrier(plain)->wait();
    });
  }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) override {
    whole_->monitoredBarrier(options, wait_all);
  }

  WorkRef gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override {
    return whole_->gather(outputs, inputs, options);
  }
  WorkRef scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override {
    return whole_->scatter(outputs, inputs, options);
  }
  WorkRef alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                        std::vector<std::int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override {
    return whole_->alltoall_base(output, input, output_splits, input_splits, options);
  }
  WorkRef alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return whole_->alltoall(outputs, inputs, options);
  }
  WorkRef send(Tensors& tensors, int rank, int tag) override { return whole_->send(tensors, rank, tag); }
  WorkRef recv(Tensors& tensors, int rank, int tag) override { return whole_->recv(tensors, rank, tag); }
  WorkRef recvAnysource(Tensors& tensors, int tag) override { return whole_->recvAnysource(tensors, tag); }

 private:
  template <class Function>
  WorkRef made(OpType type, const char* title, const Tensors& inputs, const Tensors& results,
               const Function& function) {
    auto work = c10::make_intrusive<CallWork>(getRank(), type, title, inputs, results);
    const std::lock_guard<std::mutex> lock(mutex_);
    ++calls_;
    const at::AutoDispatchBelowADInplaceOrView plain;
    function();
    work->run([] {});
    return work;
  }

  WorkRef allreduce_all(Tensors& tensors, const c10d::AllreduceOptions& options) {
    return made(OpType::ALLREDUCE, "phicoll:all_reduce", tensors, tensors, [&] {
      for (const at::Tensor& tensor : apart(tensors)) reduce_everywhere(tensor, options.reduceOp);
    });
  }

  int host(int rank) const { return host_of_.at(static_cast<std::size_t>(rank)); }
  /// A rank's number among those of its host.
  int place_of(int rank) const {
    return static_cast<int>(std::count(host_of_.begin(), host_of_.begin() + rank, host(rank)));
  }
  /// From the rank with this number among those of this host to the others there.
  void share(const at::Tensor& tensor, int from) {
    c10d::BroadcastOptions options;
    options.rootRank = from;
    Tensors bytes{tensor.view({-1}).view(at::kByte)};
    local_->broadcast(bytes, options)->wait();
  }
  /// From one leader to the others.
  void send_out(const at::Tensor& tensor, int from) {
    c10d::BroadcastOptions options;
    options.rootRank = from;
    Tensors bytes{tensor.view({-1}).view(at::kByte)};
    between_->broadcast(bytes, options)->wait();
  }

  /// Up to the leader, between the leaders, and back.
  void reduce_everywhere(const at::Tensor& tensor, const ReduceOp& op) {
    check(tensor, "all_reduce");
    const Reduction reduction(op, tensor, getSize());  // refuses what the leaders would
    Flat flat(tensor);
    Tensors one{flat.tensor()};
    // An average is divided by all ranks at the end; what is scaled is scaled on its way to the leader.
    const bool average = op.op_ == ReduceOp::AVG;
    c10d::ReduceOptions up;
    up.reduceOp = average ? ReduceOp(ReduceOp::SUM) : op;
    local_->reduce(one, up)->wait();
    if (between_) {
      c10d::AllreduceOptions across;
      across.reduceOp = average || op.op_ == ReduceOp::PREMUL_SUM ? ReduceOp(ReduceOp::SUM) : op;
      between_->allreduce(one, across)->wait();
    }
    share(flat.tensor(), 0);
    reduction.after(flat.tensor());
    flat.deliver();
  }

  /// `all` is contiguous.
  void gather_all(const at::Tensor& all, const at::Tensor& input) {
    const at::Tensor rows = all.view({getSize(), -1});
    for (int h = 0; h < hosts_; ++h) {
      const auto ranks = std::count(host_of_.begin(), host_of_.end(), h);
      at::Tensor block = at::empty({ranks * input.numel()}, all.options());
      if (h == host_) {
        at::Tensor own = input.contiguous();
        local_->_allgather_base(block, own)->wait();
      }
      if (between_) send_out(block, h);
      if (h != host_) share(block, 0);
      std::int64_t at = 0;
      for (int r = 0; r < getSize(); ++r)
        if (host(r) == h) rows[r].copy_(block.narrow(0, input.numel() * at++, input.numel()));
    }
  }

  Ref local_, between_, whole_;
  std::vector<int> host_of_;
  int host_, hosts_;
  std::uint64_t calls_ = 0;
  std::mutex mutex_;
};

}  // namespace phicoll_torch
