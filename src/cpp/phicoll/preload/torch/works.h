#pragma once

// What PyTorch gets of calls that were made or begun.

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/preload/torch/group.h"
#include "phicoll/preload/torch/tensors.h"

namespace phicoll_torch {

/// A call that has no Work, as PyTorch's profiler sees it.
class Recorded {
 public:
  Recorded(const char* title, const Tensors& inputs) : function_(at::RecordScope::USER_SCOPE) {
    if (!function_.isActive()) return;
    const std::vector<c10::IValue> values(inputs.begin(), inputs.end());
    function_.before(title, c10::ArrayRef<const c10::IValue>(values.data(), values.size()));
  }

 private:
  at::RecordFunction function_;
};

/// A collective call.
class CallWork : public c10d::Work {
 public:
  CallWork(int rank, c10d::OpType type, const char* title, const Tensors& inputs, Tensors results)
      : c10d::Work(rank, type, title, inputs), results_(std::move(results)) {}
  std::vector<at::Tensor> result() override { return results_; }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    const std::lock_guard<std::mutex> lock(future_mutex_);
    if (!future_) {
      future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
      if (over_) settle(*future_);
    }
    return future_;
  }

  /// Makes the call and ends the work, with whatever it throws.
  template <class Function>
  void run(const Function& function) {
    std::exception_ptr error;
    try {
      function();
    } catch (...) {
      error = std::current_exception();
    }
    finish(error);
    c10::intrusive_ptr<c10::ivalue::Future> asked;
    {
      const std::lock_guard<std::mutex> lock(future_mutex_);
      over_ = true;
      asked = future_;
    }
    if (asked) settle(*asked);  // without the lock: it may call Python
  }

 private:
  void settle(c10::ivalue::Future& future) {
    if (exception_)
      future.setError(exception_);
    else
      future.markCompleted(c10::IValue(results_));
  }

  Tensors results_;
  std::mutex future_mutex_;
  bool over_ = false;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// A message that was begun. It goes on while the rank waits in any call of its group.
class MessageWork : public c10d::Work {
 public:
  MessageWork(std::shared_ptr<Group> group, const at::Tensor& tensor, int peer, int tag, c10d::OpType type)
      : c10d::Work(group->rank(), type, title_of(type), Tensors{tensor}),
        group_(std::move(group)),
        peer_(peer),
        tag_(tag) {
    // The memory stays until the transfer has ended, whatever becomes of this.
    auto kept = std::make_unique<Flat>(tensor);
    flat_ = kept.get();
    const auto let_go = [](void* flat) { delete static_cast<Flat*>(flat); };
    const bool sends = type == c10d::OpType::SEND;
    void* const data = kept->data();
    const std::size_t bytes = kept->bytes();
    transfer_ = sends ? group_->begin_send(data, bytes, peer, tag, flat_, let_go)
                      : group_->begin_receive(data, bytes, peer, tag, flat_, let_go);
    kept.release();
  }
  ~MessageWork() override {
    if (transfer_ != nullptr) group_->drop(transfer_);
  }
  int sourceRank() const override { return source_; }
  bool isCompleted() override {
    const Locked lock(own_mutex_);
    return ended();
  }
  bool isSuccess() const override { return transfer_ == nullptr; }
  bool wait(std::chrono::milliseconds timeout) override {
    const std::int64_t limit = timeout.count() > 0 ? timeout.count() : group_->wait_ms();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit);
    const Locked lock(own_mutex_);
    for (Patience patience; !ended(); patience.wait())
      if (limit > 0 && std::chrono::steady_clock::now() > deadline) {
        const bool sends = opType_ == c10d::OpType::SEND;
        const std::string why = "rank " + std::to_string(rank_) + (sends ? " sent to " : " received from ") +
                                (peer_ < 0 ? "any rank" : "rank " + std::to_string(peer_)) + " with tag " +
                                std::to_string(tag_) + ", and nobody took part within " +
                                std::to_string(limit) + " ms";
        group_->break_off(why.c_str());
        raise(why);
      }
    return true;
  }

 private:
  static const char* title_of(c10d::OpType type) {
    return type == c10d::OpType::SEND   ? "phicoll:send"
           : type == c10d::OpType::RECV ? "phicoll:recv"
                                        : "phicoll:recvAnySource";
  }
  bool ended() {
    if (transfer_ == nullptr) return true;
    std::size_t bytes = 0;
    if (!group_->test(transfer_, &bytes, &source_)) return false;
    const bool receives = opType_ != c10d::OpType::SEND;
    const std::size_t room = flat_->bytes();
    if (receives && bytes == room) flat_->deliver();
    group_->drop(std::exchange(transfer_, nullptr));
    if (!receives || bytes == room) {
      finish();
      return true;
    }
    try {
      raise("rank " + std::to_string(rank_) + " received " + std::to_string(bytes) + " bytes from rank " +
            std::to_string(source_) + " into a tensor of " + std::to_string(room) + "; allowed: equal sizes");
    } catch (...) {
      finish(std::current_exception());
      throw;
    }
  }

  std::shared_ptr<Group> group_;
  int peer_, tag_;
  int source_ = -1;
  Flat* flat_ = nullptr;
  PhicollTransfer* transfer_ = nullptr;
  std::mutex own_mutex_;
};

}  // namespace phicoll_torch
