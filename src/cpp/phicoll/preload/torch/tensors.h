#pragma once

// What phicoll needs to know of tensors: memory, counts, operators.

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/preload/engine.hpp"

namespace phicoll_torch {

using Tensors = std::vector<at::Tensor>;

inline std::size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.nbytes());
}

/// Throws for a tensor that is not plain memory of this process.
inline void check(const at::Tensor& tensor, const char* call) {
  const char* const got = !tensor.defined()                              ? "no tensor"
                          : tensor.is_sparse() || tensor.is_sparse_csr() ? "a sparse tensor"
                          : tensor.is_quantized()                        ? "a quantised tensor"
                          : tensor.is_conj() || tensor.is_neg() ? "a tensor with a lazy conjugate or negation"
                          : !tensor.device().is_cpu()           ? "a tensor that is not on the CPU"
                                                                : nullptr;
  TORCH_CHECK(got == nullptr, call, ": got ", got,
              "; allowed: a dense tensor on the CPU (give tensors of other devices a backend of their own: "
              "init_process_group(\"cpu:phicoll,cuda:nccl\"))");
}

inline void check_same_type(const at::Tensor& one, const at::Tensor& other, const char* call) {
  TORCH_CHECK(one.scalar_type() == other.scalar_type(), call, ": got tensors of ", one.scalar_type(), " and ",
              other.scalar_type(), "; allowed: tensors of one type");
}

inline const at::Tensor& single(const Tensors& tensors, const char* call) {
  TORCH_CHECK(tensors.size() == 1, call, ": got ", tensors.size(), " tensors; allowed: one");
  check(tensors[0], call);
  return tensors[0];
}

/// Throws unless there are tensors, all of one type and size: those that one call takes together.
inline void alike(const Tensors& tensors, const char* call) {
  TORCH_CHECK(!tensors.empty(), call, ": got no tensor; allowed: at least one");
  for (const at::Tensor& tensor : tensors) {
    check(tensor, call);
    check_same_type(tensor, tensors[0], call);
    TORCH_CHECK(tensor.sizes() == tensors[0].sizes(), call, ": got tensors of sizes ", tensor.sizes(),
                " and ", tensors[0].sizes(), "; allowed: tensors of one size");
  }
}

/// The same tensors, but copies of those that come again: each is summed in place once, as gloo does.
inline Tensors apart(Tensors tensors) {
  for (std::size_t i = 1; i < tensors.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (tensors[i].is_same(tensors[j])) {
        tensors[i] = tensors[i].clone();
        break;
      }
  return tensors;
}

/// Copies one of the tensors to the others.
inline void share(const at::Tensor& tensor, const Tensors& tensors) {
  for (const at::Tensor& other : tensors)
    if (!other.is_same(tensor)) other.copy_(tensor);
}

/// The blocks of one list, one for each rank; all like `like`, if that is defined.
inline const Tensors& single_list(const std::vector<Tensors>& lists, const char* call, const at::Tensor& like,
                                  int size) {
  TORCH_CHECK(lists.size() == 1 && static_cast<int>(lists[0].size()) == size, call, ": got ",
              lists.empty() ? 0 : lists[0].size(), " tensors; allowed: one for each of ", size, " ranks");
  for (const at::Tensor& block : lists[0]) {
    check(block, call);
    check_same_type(block, like.defined() ? like : lists[0][0], call);
    TORCH_CHECK(!like.defined() || block.numel() == like.numel(), call, ": got tensors of ", block.numel(),
                " and of ", like.numel(), " elements; allowed: tensors of equal size");
  }
  return lists[0];
}

inline void check_blocks(const at::Tensor& all, const at::Tensor& one, int size, const char* call) {
  check(all, call);
  check(one, call);
  check_same_type(all, one, call);
  TORCH_CHECK(all.numel() == one.numel() * size, call, ": got tensors of ", all.numel(), " and of ",
              one.numel(), " elements; allowed: ", size, " times as many in the one of all ranks");
}

inline bool meet(const at::Tensor& one, const at::Tensor& other) {
  const auto* const a = static_cast<const char*>(one.data_ptr());
  const auto* const b = static_cast<const char*>(other.data_ptr());
  return a < b + other.nbytes() && b < a + one.nbytes();
}

/// A tensor's elements side by side: its own memory, or a copy that deliver() brings back.
class Flat {
 public:
  explicit Flat(const at::Tensor& tensor) : tensor_(tensor), flat_(tensor.contiguous()) {}
  const at::Tensor& tensor() const { return flat_; }
  void* data() const { return flat_.data_ptr(); }
  std::size_t bytes() const { return bytes_of(flat_); }
  std::size_t element_bytes() const { return static_cast<std::size_t>(flat_.element_size()); }
  std::size_t count() const { return static_cast<std::size_t>(flat_.numel()); }
  void deliver() {
    if (!flat_.is_same(tensor_)) tensor_.copy_(flat_);
  }
  /// What to send of `block`: null if it is this rank's own block here, which is in place.
  const void* in_place(const at::Tensor& block, int rank) const {
    const void* const own =
        static_cast<const char*>(data()) + bytes_of(block) * static_cast<std::size_t>(rank);
    return block.data_ptr() == own ? nullptr : block.data_ptr();
  }

 private:
  at::Tensor tensor_, flat_;
};

/// The blocks of all ranks side by side, filled from the tensors if they are sent.
class Joined {
 public:
  Joined(const Tensors& blocks, bool filled) : blocks_(blocks) {
    if (blocks.empty()) return;
    std::int64_t count = 0;
    for (const at::Tensor& block : blocks) count += block.numel();
    joined_ = at::empty({count}, blocks[0].options());
    if (!filled) return;
    for (std::size_t i = 0; i < blocks.size(); ++i) part(i).copy_(blocks[i]);
  }
  const at::Tensor& tensor() const { return joined_; }
  void* data() const { return joined_.defined() ? joined_.data_ptr() : nullptr; }
  void deliver() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].copy_(part(i));
  }

  at::Tensor part(std::size_t index) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index; ++i) at += blocks_[i].numel();
    return joined_.narrow(0, at, blocks_[index].numel()).view(blocks_[index].sizes());
  }

 private:
  Tensors blocks_;
  at::Tensor joined_;
};

/// Each rank's part of an exchange, in bytes.
struct Splits {
  std::vector<std::size_t> bytes, places;

  Splits(const Tensors& tensors, int size) {
    TORCH_CHECK(static_cast<int>(tensors.size()) == size, "all_to_all: got ", tensors.size(),
                " tensors; allowed: one for each of ", size, " ranks");
    for (const at::Tensor& tensor : tensors) add(bytes_of(tensor));
  }
  /// Of rows of a tensor; none given: equal ones.
  Splits(const at::Tensor& tensor, const std::vector<std::int64_t>& rows, int size) {
    const std::int64_t all = tensor.dim() == 0 ? 1 : tensor.size(0);
    TORCH_CHECK(rows.empty() ? all % size == 0 : static_cast<int>(rows.size()) == size,
                "all_to_all_single: got ", rows.empty() ? all : static_cast<std::int64_t>(rows.size()),
                rows.empty() ? " rows without splits; allowed: a multiple of " : " splits; allowed: ", size);
    std::int64_t sum = 0;
    for (int rank = 0; rank < size; ++rank) {
      const std::int64_t own = rows.empty() ? all / size : rows[static_cast<std::size_t>(rank)];
      TORCH_CHECK(own >= 0, "all_to_all_single: got a split of ", own, "; allowed: 0 or more");
      sum += own;
      add(all == 0 ? 0 : bytes_of(tensor) / static_cast<std::size_t>(all) * static_cast<std::size_t>(own));
    }
    TORCH_CHECK(sum == all, "all_to_all_single: got splits of ", sum, " rows; allowed: of all ", all);
  }

 private:
  void add(std::size_t own) {
    places.push_back(bytes.empty() ? 0 : places.back() + bytes.back());
    bytes.push_back(own);
  }
};

/// An operator on the elements of a tensor, with what PyTorch adds before and after.
class Reduction {
 public:
  Reduction(const c10d::ReduceOp& op, const at::Tensor& tensor, int size) : kind_(op.op_), size_(size) {
    op_ = find(tensor.scalar_type(), kind_);
    TORCH_CHECK(op_ != nullptr, "op: got ", names[kind_], " of elements of type ", tensor.scalar_type(),
                "; allowed: sums, averages and products of numbers, least and greatest of real ones, bitwise "
                "operators of integers");
    TORCH_CHECK(kind_ != c10d::ReduceOp::AVG || !at::isIntegralType(tensor.scalar_type(), true),
                "op: got AVG of elements of type ", tensor.scalar_type(),
                "; allowed: floating-point numbers");
    if (kind_ == c10d::ReduceOp::PREMUL_SUM) {
      const auto* const given = static_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
      factor_ =
          given->tensor_factor.defined() ? given->tensor_factor.item() : at::Scalar(given->double_factor);
    }
  }
  const PhicollOperator* op() const { return op_; }
  /// Scales in place what is sent.
  const at::Tensor& before(const at::Tensor& sent) const {
    if (kind_ == c10d::ReduceOp::PREMUL_SUM) sent.mul_(factor_);
    return sent;
  }
  /// The same beside memory that stays as it is.
  at::Tensor scaled(const at::Tensor& sent) const {
    return kind_ == c10d::ReduceOp::PREMUL_SUM ? sent.mul(factor_) : sent;
  }
  /// Combines another tensor of this rank's into one.
  void combine(const at::Tensor& into, const at::Tensor& other) const {
    switch (kind_) {
      case c10d::ReduceOp::PRODUCT:
        into.mul_(other);
        return;
      case c10d::ReduceOp::MIN:
        into.copy_(at::minimum(into, other));
        return;
      case c10d::ReduceOp::MAX:
        into.copy_(at::maximum(into, other));
        return;
      case c10d::ReduceOp::BAND:
        into.bitwise_and_(other);
        return;
      case c10d::ReduceOp::BOR:
        into.bitwise_or_(other);
        return;
      case c10d::ReduceOp::BXOR:
        into.bitwise_xor_(other);
        return;
      default:
        into.add_(other);
    }
  }
  void after(const at::Tensor& result) const {
    if (kind_ == c10d::ReduceOp::AVG) result.div_(size_);
  }

 private:
  static constexpr int kinds = c10d::ReduceOp::UNUSED + 1;
  static constexpr int most_types = 64;
  /// Null where there is none. Looked up once, as a small call takes little longer than that.
  static const PhicollOperator* find(at::ScalarType type, c10d::ReduceOp::RedOpType kind) {
    struct Table {
      const PhicollOperator* of[most_types][kinds] = {};
      Table() {
        for (int t = 0; t < most_types; ++t)
          for (int k = 0; k < kinds; ++k) {
            const auto at = static_cast<at::ScalarType>(t);
            const char* const name = op_name(static_cast<c10d::ReduceOp::RedOpType>(k), at == at::kBool);
            const char* const element = type_name(at);
            if (name != nullptr && element != nullptr) of[t][k] = phicoll_preload_operator(element, name);
          }
      }
    };
    static const Table table;
    const int t = static_cast<int>(type);
    return t < most_types && kind < kinds ? table.of[t][kind] : nullptr;
  }
  static constexpr const char* names[] = {"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
                                          "BAND", "BOR", "BXOR",    "PREMUL_SUM", "no operator"};
  static const char* type_name(at::ScalarType type) {
    switch (type) {
      case at::kBool:
        return "bool8";
      case at::kChar:
        return "int8";
      case at::kByte:
        return "uint8";
      case at::kShort:
        return "int16";
      case at::kInt:
        return "int32";
      case at::kLong:
        return "int64";
      case at::kUInt16:
        return "uint16";
      case at::kUInt32:
        return "uint32";
      case at::kUInt64:
        return "uint64";
      case at::kHalf:
        return "float16";
      case at::kBFloat16:
        return "bfloat16";
      case at::kFloat:
        return "float32";
      case at::kDouble:
        return "float64";
      case at::kComplexFloat:
        return "complex64";
      case at::kComplexDouble:
        return "complex128";
      default:
        return nullptr;
    }
  }
  /// Of truth values sums and greatest are "or", products and least "and".
  static const char* op_name(c10d::ReduceOp::RedOpType kind, bool truth) {
    switch (kind) {
      case c10d::ReduceOp::SUM:
        return truth ? "lor" : "sum";
      case c10d::ReduceOp::AVG:
      case c10d::ReduceOp::PREMUL_SUM:
        return truth ? nullptr : "sum";
      case c10d::ReduceOp::PRODUCT:
        return truth ? "land" : "prod";
      case c10d::ReduceOp::MIN:
        return truth ? "land" : "min";
      case c10d::ReduceOp::MAX:
        return truth ? "lor" : "max";
      case c10d::ReduceOp::BAND:
        return truth ? "land" : "band";
      case c10d::ReduceOp::BOR:
        return truth ? "lor" : "bor";
      case c10d::ReduceOp::BXOR:
        return truth ? "lxor" : "bxor";
      default:
        return nullptr;
    }
  }

  c10d::ReduceOp::RedOpType kind_;
  int size_;
  at::Scalar factor_;
  const PhicollOperator* op_;
};

}  // namespace phicoll_torch
